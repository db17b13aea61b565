"""A memorizing release is caught, one that ignores the data is not accused; same key, same scores.

Statistical tests have a false-alarm rate of 1e-6 or less, for any seed.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato import samples
from sfumato.assessment.attacks import _kernels, game, points
from sfumato.assessment.attacks.membership import density_membership, shadow_membership
from sfumato.assessment.audit import intervals
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

SURE = 1 - 1e-6


def by_name(scores: list[Score]) -> dict[str, Score]:
    assert all(s.section == "attack" and s.knowledge and s.control is not None for s in scores)
    assert len({s.name for s in scores}) == len(scores)
    return {s.name: s for s in scores}


@pytest.fixture
def key() -> Key:
    return Key.from_seed(secrets.randbelow(2**62))


@pytest.fixture(scope="module")
def population() -> Table:
    return samples.discharges(1_200, seed=5).select(samples.DISCHARGE_VARIABLES)


def people(n: int, first: int) -> Table:
    table = samples.members(6_000, seed=2)
    return Table.from_arrow(table.to_arrow().slice(first, n), table.schema)


def columnwise(table: Table, key: Key) -> pa.Table:
    """Each column drawn by itself: keeps marginals, forgets people."""
    rows, generator = table.to_arrow(), key.generator("columns")
    n = rows.num_rows
    return pa.table({c: rows[c].take(pa.array(generator.integers(0, n, n))) for c in rows.column_names})


# -- shadow releases -------------------------------------------------------------------------------


def test_a_memorizer_is_caught(population: Table, key: Key) -> None:
    scores = by_name(shadow_membership(lambda t, _: t, population, key=key, size=200))
    area = scores["membership by shadow releases, area under the curve"]
    assert area.value > 0.95 and area.low is not None and area.low > 0.8
    assert scores["membership by shadow releases, found at 0.1 false alarms"].value > 0.8
    assert scores["membership by shadow releases, advantage"].value > 0.8


def test_a_release_that_ignores_the_data_is_not_accused(population: Table, key: Key) -> None:
    fixed = samples.discharges(2_000, seed=6).select(samples.DISCHARGE_VARIABLES).to_arrow()

    def make(_: Table, key: Key) -> pa.Table:
        return fixed.take(pa.array(key.generator("rows").integers(0, 2_000, 150)))

    for score in shadow_membership(make, population, key=key, size=100, shadows=16, confidence=SURE):
        assert score.low is not None and score.high is not None and score.baseline is not None
        if "false alarms" not in score.name:  # those have their own rate as the baseline, see control
            assert score.low <= score.baseline <= score.high


def test_a_partial_leak_lies_between(population: Table, key: Key) -> None:
    """One row in ten is released as it is: at most a tenth of the members can be found for sure."""

    def make(table: Table, key: Key) -> pa.Table:
        rows = columnwise(table, key)
        keep = table.to_arrow().slice(0, table.rows() // 10)  # rows come in random order
        return pa.concat_tables([rows.slice(keep.num_rows), keep.cast(rows.schema)])

    scores = by_name(shadow_membership(make, population, key=key, size=200))
    area = scores["membership by shadow releases, area under the curve"].value
    assert area < 0.9


def test_chosen_targets_and_the_same_key(population: Table) -> None:
    def run(seed: int) -> list[Score]:
        return shadow_membership(
            columnwise,
            population,
            key=Key.from_seed(seed),
            targets=[3, 1, 4, 15],
            size=60,
            shadows=8,
            trials=8,
            columns=("sex", "agecat10") if "agecat10" in population.columns else population.columns[:2],
        )

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_wrong_parameters_are_refused(population: Table) -> None:
    for wrong in (
        {"targets": 0},
        {"targets": 5_000},
        {"targets": [1, 1]},
        {"targets": [-1]},
        {"size": 0},
        {"size": 5_000},
        {"shadows": 1},
        {"trials": 0},
        {"rates": (1.5,)},
        {"confidence": 1.0},
    ):
        with pytest.raises(ParameterError):
            shadow_membership(columnwise, population, key=Key.from_seed(0), **wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no rows"):
        shadow_membership(lambda t, _: t.to_arrow().slice(0, 0), population, key=Key.from_seed(0))
    with pytest.raises(DataError, match="missing"):
        shadow_membership(
            lambda t, _: t.to_arrow().select([0]), population, key=Key.from_seed(0), shadows=4, trials=1
        )


# -- density on files ------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", [False, True])
def test_a_released_copy_is_caught_by_density(key: Key, reference: bool) -> None:
    members, holdout = people(500, 0), people(500, 500)
    other = people(500, 1_000) if reference else None
    scores = by_name(density_membership(members, members, holdout, key=key, reference=other))
    for name in ("density", "nearest row"):
        area = scores[f"membership by {name}, area under the curve"]
        assert area.value > 0.97 and area.low is not None and area.low > 0.9
        assert scores[f"membership by {name}, advantage"].value > 0.8


def test_an_independent_file_is_not_accused_by_density(key: Key) -> None:
    """Who is a member is drawn anew each time, so that the test holds for any seed."""
    everyone = people(1_500, 0)
    rows = everyone.to_arrow().take(pa.array(np.random.default_rng().permutation(1_500)))
    members, holdout = (Table.from_arrow(rows.slice(i, 750), everyone.schema) for i in (0, 750))
    scores = density_membership(people(1_500, 3_000), members, holdout, key=key, confidence=SURE)
    for score in scores:
        assert score.low is not None and score.high is not None and score.baseline is not None
        if "false alarms" not in score.name:
            assert score.low <= score.baseline <= score.high


def test_density_takes_generalized_and_missing_cells(key: Key) -> None:
    table = pa.table({"age": [30, 41, None, 55, 60, 72], "sex": ["f", "m", "f", None, "m", "f"]})
    released = pa.table({"age": ["[20, 40)", "41", "*", None], "sex": ["f", "*", "m", "f"]})
    original = Table.from_arrow(table)
    scores = density_membership(Table.from_arrow(released), original, original, key=key)
    assert all(0 <= s.value <= 1 or "advantage" in s.name for s in scores)


def test_density_refuses_what_cannot_be_compared(key: Key) -> None:
    members = people(50, 0)
    with pytest.raises(DataError, match="share no columns"):
        density_membership(Table.from_arrow(pa.table({"x": [1]})), members, members, key=key)
    with pytest.raises(DataError, match="4 members"):
        density_membership(members, people(2, 0), people(2, 2), key=key)
    with pytest.raises(SchemaError):
        density_membership(members, members, members, key=key, columns=["no such column"])
    with pytest.raises(ParameterError):
        density_membership(members, members, members, key=key, most=1)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 9))
def test_the_kernel_agrees_with_the_obvious_loop(seed: int, width: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    ranked = generator.random(width) < 0.5
    odd = np.array([3.0, np.inf, 0.0, 0.5], np.float32)  # 3 is missing, infinity cannot be read
    ranked.sort()
    people, rows = (
        np.where(
            ranked,
            np.where(generator.random((k, width)) < 0.3, generator.choice(odd, (k, width)), 0.25),
            generator.choice([-1.0, 0.0, 1.0, np.nan], (k, width)),
        ).astype(np.float32)
        for k in (3, n)
    )
    near, kernel, best = np.zeros((3, 3)), np.zeros((3, 2)), np.full(3, np.inf)
    for function in (_kernels.surround, _kernels.surround.py_func):
        near[:], kernel[:], best[:] = 0, 0, np.inf
        with np.errstate(invalid="ignore"):
            function(people, np.ascontiguousarray(rows.T), int(ranked.sum()), 6.0, near, kernel, best)
        d = sum(points._gaps(people, rows, ranked, j).astype(float) for j in range(width))
        assert best == pytest.approx(d.min(axis=1))
        for i, b in enumerate((2, 16)):
            assert kernel[:, i] == pytest.approx(np.exp(-b * d).sum(axis=1))
        for k in range(3):
            assert (near[:, k] == (d <= k + 1e-6).sum(axis=1)).all()


# -- intervals -------------------------------------------------------------------------------------


def test_shares_agree_with_scipy() -> None:
    for hits, trials in ((0, 10), (3, 10), (10, 10), (50, 1_000)):
        interval = stats.binomtest(hits, trials).proportion_ci(0.95, "exact")
        assert intervals.share(hits, trials, 0.95)[1:] == pytest.approx((interval.low, interval.high))


def test_the_interval_of_the_area_covers_it() -> None:
    """Two normal laws one apart: area Phi(1/sqrt 2). Repeated at confidence 0.7; binomial at 1e-6."""
    generator = np.random.default_rng()
    truth, times, missed = stats.norm.cdf(np.sqrt(0.5)), 300, 0
    for _ in range(times):
        _, low, high = intervals.area(generator.normal(1, 1, 40), generator.normal(0, 1, 60), 0.7, generator)
        missed += not low <= truth <= high
    assert missed <= stats.binom.isf(1e-6, times, 0.3)


def test_the_area_of_known_orders() -> None:
    generator: Any = np.random.default_rng(0)
    assert intervals.area(np.array([2.0, 3.0]), np.array([0.0, 1.0]), 0.9, generator)[0] == 1
    assert intervals.area(np.array([0.0, 1.0]), np.array([2.0, 3.0]), 0.9, generator)[0] == 0
    assert intervals.area(np.ones(5), np.ones(4), 0.9, generator)[0] == 0.5


def test_ties_are_tossed() -> None:
    """Two thousand ties: the tossed pairs stay within 0.1 of a half, at 1e-12."""
    value, low, high = intervals.area(np.ones(2_000), np.ones(2_000), 0.95, np.random.default_rng())
    assert value == 0.5 and 0.35 < low <= high < 0.65


# -- ties and false alarms -------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.floats(0.001, 0.999))
def test_the_rate_of_false_alarms_holds_whatever_ties(scores: list[int], wished: float) -> None:
    """Whoever of m + 1 is judged by the others: the mean chance to be named is the rate, exactly."""
    whole = np.array(scores, float)
    chances = []
    for i in range(len(whole)):
        ((alarm, _),) = game.alarms(np.delete(whole, i), [wished])
        chances.append(alarm.named(whole[i : i + 1])[0])
    assert np.mean(chances) == pytest.approx(max(wished, 1 / len(whole)))


def test_everybody_in_a_copy_is_found_and_nobody_by_a_release_of_stars(key: Key) -> None:
    members, holdout = people(1_000, 0), people(1_000, 1_000)
    for name, score in by_name(density_membership(members, members, holdout, key=key)).items():
        if "found at" in name:
            assert score.value > 0.95, name
    stars = Table.from_arrow(pa.table({c: ["*"] * 300 for c in members.columns}))
    for score in density_membership(stars, members, holdout, key=key):
        expected = 0.0 if "advantage" in score.name else score.baseline
        assert score.value == pytest.approx(expected), score.name
        if "found at 0.01" in score.name:
            assert score.low is not None and score.high is not None and score.high - score.low < 0.05


def test_strangers_who_look_like_members_are_named_as_often_as_was_said(key: Key) -> None:
    """Rows of two values: most of the holdout is equal to a released row, and the tie is tossed."""
    generator = np.random.default_rng()
    members, holdout = (
        Table.from_arrow(pa.table({c: generator.choice(["u", "v"], 2_000).tolist() for c in "ab"}))
        for _ in range(2)
    )
    for score in density_membership(members, members, holdout, key=key, most=2_000, confidence=SURE):
        assert score.low is not None and score.high is not None and score.baseline is not None
        assert score.low <= score.baseline <= score.high, score.name
        if "found at" in score.name:
            alarms = stats.binom.isf(1e-6, 1_000, score.baseline)
            assert score.control is not None and score.control < 2 * alarms / 1_000
