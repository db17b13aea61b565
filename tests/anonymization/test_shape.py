"""Keeping the shape: what is kept, what is promised, and the uniforms that reveal a wrong sign."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from anonymization.shape_tables import QUASI, codes, members
from scipy import stats

from sfumato.anonymization.shape.cluster import Clustering
from sfumato.anonymization.shape.draws import Draws
from sfumato.anonymization.shape.gaussian import GaussianDither, GaussianMixture
from sfumato.anonymization.shape.methods import Centroid, ClusterDither, ClusterResample
from sfumato.anonymization.shape.reidentification import reidentified, simulate
from sfumato.criteria import KAnonymity, KMap
from sfumato.errors import DataError, ParameterError
from sfumato.release import Release, verify
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

K = KAnonymity(20)


def intersection(release: Release, table: Table) -> float:
    a, b = (t.counts(*QUASI).dense() / t.counts(*QUASI).total for t in (release, table))
    return float(np.minimum(a, b).sum())


@pytest.mark.parametrize("method", [ClusterResample(response="cost"), ClusterDither(response="cost")])
def test_the_law_of_the_quasi_identifiers_is_kept(method: ClusterResample | ClusterDither) -> None:
    # Histogram intersection over 480 cells; its spread over keys is about 0.005, so .88 is never reached
    # from above by chance (measured .90 to .92).
    table = members()
    assert intersection(method.release(table, K), table) >= 0.88
    assert intersection(Centroid(response="cost").release(table, K), table) < 0.80


def test_without_replacement_nothing_is_lost_or_added() -> None:
    table = members(1_003)
    release = ClusterResample(response="cost", replacement=False).release(table, KAnonymity(7))
    assert release.counts(*QUASI) == table.counts(*QUASI)
    assert (codes(release.data) != codes(table)).any()  # and yet rows were exchanged
    found = release.to_native().sort_by("cost").column("cost")
    assert found.equals(table.to_arrow().sort_by("cost").column("cost"))


def test_without_replacement_each_cluster_keeps_its_rows() -> None:
    label = np.random.default_rng(0).integers(0, 50, 1_000)
    donor = Draws(Key.from_seed(2)).shuffled_within("exchange", label)
    assert sorted(donor) == list(range(1_000)) and (label[donor] == label).all()


def test_with_replacement_rows_are_drawn_by_weight() -> None:
    # One cluster of three rows with weights 1, 2, 5; chi-square at a false-alarm rate of 1e-6.
    label, weights = np.zeros(30_000, np.int64), np.tile([1.0, 2.0, 5.0], 10_000)
    donor = Draws(Key.fresh()).drawn_within("exchange", label, weights)
    seen = np.bincount(donor % 3, minlength=3)
    assert stats.chisquare(seen, 30_000 * np.array([1, 2, 5]) / 8).pvalue > 1e-6


def test_all_exchanges_within_a_cluster_are_equally_likely() -> None:
    # 3 rows have 6 permutations; 6,000 clusters; chi-square at a false-alarm rate of 1e-6.
    label = np.repeat(np.arange(6_000), 3)
    donor = Draws(Key.fresh()).shuffled_within("exchange", label) % 3
    kinds = donor.reshape(-1, 3) @ [9, 3, 1]
    _, seen = np.unique(kinds, return_counts=True)
    assert len(seen) == 6 and stats.chisquare(seen).pvalue > 1e-6


# -- the dither ------------------------------------------------------------------------------------


def one_cluster(rows: int, correlation: float) -> tuple[GaussianMixture, np.ndarray]:
    draw = np.random.default_rng(5)
    cov = np.array([[1, correlation], [correlation, 1]])
    points = draw.multivariate_normal([0, 0], cov, rows)
    law = GaussianDither(loading=1e-6).fit(points, np.zeros(rows, np.int64), np.ones(rows))
    return law, law.draw(np.zeros(rows, np.int64), Draws(Key.fresh()))


def test_uniforms_are_uniform_and_uncorrelated_under_correlation() -> None:
    law, dithered = one_cluster(20_000, 0.9)
    u = law.uniforms(dithered)
    for column in u.T:  # Kolmogorov-Smirnov and correlation, each at a false-alarm rate of 1e-6
        assert stats.kstest(column, "uniform").pvalue > 1e-6
    assert stats.pearsonr(u[:, 0], u[:, 1]).pvalue > 1e-6
    wrong = GaussianMixture(law.mean, law.root * np.array([[1, 1], [-1, 1]]), law.share)  # the printed minus
    bad = wrong.uniforms(dithered)
    assert stats.pearsonr(bad[:, 0], bad[:, 1]).pvalue < 1e-6


def test_uniforms_of_a_mixture_are_uniform() -> None:
    draw = np.random.default_rng(8)
    label = np.repeat(np.arange(40), 250)
    points = draw.normal(size=(40, 3))[label] * 2 + draw.normal(size=(10_000, 3)) * 0.3
    law = GaussianDither().fit(points, label, np.ones(10_000))
    u = law.uniforms(law.draw(label, Draws(Key.fresh())))
    assert ((u > 0) & (u <= 1)).all()
    assert all(stats.kstest(column, "uniform").pvalue > 1e-6 for column in u.T)


def test_uniforms_equal_the_mixture_formulas() -> None:
    draw = np.random.default_rng(9)
    label = np.repeat(np.arange(4), 6)
    points = draw.normal(size=(24, 3))
    law = GaussianDither(0.5).fit(points, label, np.ones(24))
    x = draw.normal(size=(5, 3))
    covariance = law.root @ law.root.transpose(0, 2, 1)
    for row, found in zip(x, law.uniforms(x), strict=True):
        for j in range(3):  # Eq. (13) with the conditional normal written out, plus sign
            top = bottom = 0.0
            for c in range(4):
                s, rest = covariance[c], slice(0, j)
                p = law.share[c]
                if j:
                    p *= stats.multivariate_normal(law.mean[c, rest], s[rest, rest]).pdf(row[rest])
                    gain = s[j, rest] @ np.linalg.inv(s[rest, rest])
                    mean = law.mean[c, j] + gain @ (row[rest] - law.mean[c, rest])
                    var = s[j, j] - gain @ s[rest, j]
                else:
                    mean, var = law.mean[c, 0], s[0, 0]
                top, bottom = top + p * stats.norm.cdf(row[j], mean, var**0.5), bottom + p
            assert found[j] == pytest.approx(top / bottom, abs=1e-12)


def test_the_order_of_variables_is_the_users() -> None:
    table = members(500)
    release = ClusterDither(order=("income", "age", "gender", "education")).release(table, KAnonymity(10))
    assert release.internal is not None and release.internal.plan["order"][0] == "income"
    with pytest.raises(ParameterError, match="order must name each"):
        ClusterDither(order=("income",)).release(table, KAnonymity(10))


def test_numbers_dates_and_gaps_go_through() -> None:
    draw = np.random.default_rng(2)
    days = pa.array(draw.integers(10_000, 12_000, 400).astype("int32")).cast(pa.date32())
    number = pa.array(draw.normal(size=400), mask=draw.random(400) < 0.1)
    data = pa.table({"born": days, "bmi": number, "dx": pa.array(draw.choice(["a", "b", "c"], 400))})
    quasi = Role.QUASI_IDENTIFIER
    schema = Schema(
        (
            Column("born", Kind.DATE, quasi),
            Column("bmi", Kind.NUMERIC, quasi),
            Column("dx", Kind.NOMINAL, quasi),
        )
    )
    table = Table.from_arrow(data, schema)
    for method in (ClusterDither(), ClusterResample(), Centroid()):
        release = method.release(table, KAnonymity(8))
        out = release.data.to_arrow()
        assert out.num_rows == 400 and out.column("born").type == pa.date32()
        if not isinstance(method, Centroid):
            assert set(out.column("dx").to_pylist()) <= {"a", "b", "c"}


# -- what is promised ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ClusterResample(), ClusterResample(replacement=False), ClusterDither()])
def test_no_record_is_found_more_often_than_one_in_k(method: ClusterResample | ClusterDither) -> None:
    """Exactly (given the draw), and in plays of the attack: no record's lower bound exceeds 1/k."""
    from sfumato.anonymization.shape.exchange import group

    table, k = members(600), 5
    plays, hits = 60, np.zeros(600)
    original = codes(table)
    by_cost = np.argsort(table.to_arrow().column("cost").to_numpy())
    for play in range(plays):
        key = Key.fresh()
        release = method.release(table, KAnonymity(k), key=key)
        released = codes(release.data)
        grouped = group(
            table,
            KAnonymity(k),
            Clustering(),
            columns=None,
            response=None,
            weight=None,
            hierarchies={},
            key=key,
        )
        label = grouped.clusters.label[by_cost]
        assert reidentified(original, released, label).max() <= 1 / k + 1e-12
        hits += simulate(original, released, np.random.default_rng(play))
    low = stats.beta.ppf(1e-6 / 600, hits, plays - hits + 1)  # exact lower bounds, 1e-6 over all records
    assert np.nan_to_num(low).max() <= 1 / k


def test_the_plays_would_notice_rows_that_were_not_exchanged() -> None:
    original = np.random.default_rng(0).normal(size=(300, 3))
    hits = sum(simulate(original, original, np.random.default_rng(i)) for i in range(60))
    low = stats.beta.ppf(1e-6 / 300, hits, 60 - hits + 1)
    assert np.nan_to_num(low).max() > 1 / 5


def test_the_guarantee_says_what_is_bounded_and_what_is_not() -> None:
    release = ClusterResample(response="cost").release(members(300), KAnonymity(7))
    text = release.guarantee.text()
    assert "at most 1/7" in text and "released as they are" in text and "may occur once" in text
    seeded = ClusterResample().release(members(300), KAnonymity(7), key=Key.from_seed(3))
    assert "no guarantee (seeded)" in [c.title for c in seeded.guarantee.claims]


def test_centroids_are_k_anonymous_when_recounted(tmp_path: object) -> None:
    release = Centroid(response="cost").release(members(500), KAnonymity(9))
    release.save(f"{tmp_path}/out")
    assert verify(f"{tmp_path}/out").ok
    assert KAnonymity(9).holds(release.counts(*QUASI))


def test_rows_leave_in_another_order() -> None:
    table = members(400)
    out = ClusterResample(replacement=False).release(table, KAnonymity(5)).data.to_arrow()
    assert not out.column("cost").equals(table.to_arrow().column("cost"))


def test_bad_input_is_refused() -> None:
    table = members(100)
    with pytest.raises(ParameterError, match="response is one of"):
        ClusterResample(response="age").release(table, K)
    with pytest.raises(ParameterError, match="clusters can be asked for k"):
        ClusterResample().release(table, KAnonymity(5) & KMap(5, population=table))
    with pytest.raises(ParameterError, match="no column has the role"):
        ClusterResample(columns=()).release(table, K)
    with pytest.raises(DataError, match="cannot form"):
        ClusterResample().release(table, KAnonymity(101))
    with pytest.raises(ParameterError, match="loading"):
        GaussianDither(0.0)
    schema = Schema((*table.schema, Column("id", Kind.NOMINAL, Role.PERSON, type="integer")))
    twice = Table.from_arrow(table.to_arrow().append_column("id", pa.array([1, 1, *range(2, 100)])), schema)
    with pytest.raises(DataError, match="several rows"):
        ClusterResample().release(twice, K)
