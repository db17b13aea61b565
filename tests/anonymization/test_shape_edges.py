"""Keeping the shape where tables are odd: every cluster has k rows, and no record is found above 1/k."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from anonymization.shape_tables import QUASI as NAMES
from anonymization.shape_tables import members
from cli_support import PATIENCE
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymization.shape.cluster import Clustering, _blocks, k_member
from sfumato.anonymization.shape.draws import Draws
from sfumato.anonymization.shape.exchange import group
from sfumato.anonymization.shape.methods import Centroid, ClusterDither, ClusterResample
from sfumato.anonymization.shape.reidentification import Nearest, reidentified
from sfumato.criteria import KAnonymity, LDiversity
from sfumato.errors import SfumatoWarning
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.table import Table

QUASI = Role.QUASI_IDENTIFIER
METHODS = (ClusterResample(), ClusterResample(replacement=False), ClusterDither(), Centroid())


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_k_beyond_half_of_a_block_ends() -> None:
    # Cutting 70,000 rows for k = 36,000 has no two halves: it went on for ever.
    with at_most(PATIENCE):
        parts = _blocks(np.random.default_rng(0).normal(size=(70_000, 1)), np.arange(70_000), 36_000, 64_000)
    assert [len(p) for p in parts] == [70_000]


def odd(name: str, rows: int, draw: np.random.Generator) -> pa.Array:
    """A column that is unlike what one thinks of: one value, few, far apart, tiny, with gaps or all gaps."""
    values = {
        "one value": np.full(rows, 0.1),
        "few": draw.integers(0, 2, rows).astype(float),
        "enormous": np.where(draw.random(rows) < 0.5, 1e308, -1e308),
        "tiny": draw.normal(size=rows) * 1e-200,
        "skewed": np.exp(draw.normal(size=rows) * 20),
    }
    if name == "all gaps":
        return pa.nulls(rows, pa.float64())
    if name == "gaps":
        return pa.array(draw.normal(size=rows), mask=draw.random(rows) < 0.5)
    return pa.array(values[name])


def clusters(table: Table, k: int, key: Key) -> np.ndarray:
    """The cluster of each row, as a release with this key has them."""
    plain = {"columns": None, "response": None, "weight": None, "hierarchies": {}}
    return group(table, KAnonymity(k), Clustering(), **plain, key=key).clusters.label


ODD = ("one value", "few", "enormous", "tiny", "skewed", "gaps", "all gaps")


@settings(max_examples=40)
@given(
    rows=st.integers(2, 70),
    k=st.integers(1, 70),
    kinds=st.lists(st.sampled_from(ODD), min_size=1, max_size=3),
    weighted=st.booleans(),
    which=st.sampled_from(range(len(METHODS))),
    seed=st.integers(0, 10**6),
)
def test_odd_tables(rows: int, k: int, kinds: list[str], weighted: bool, which: int, seed: int) -> None:
    k = min(k, rows)
    draw = np.random.default_rng(seed)
    data = {f"q{i}": odd(kind, rows, draw) for i, kind in enumerate(kinds)}
    columns = [Column(name, Kind.NUMERIC, QUASI) for name in data]
    data["cost"] = pa.array(np.arange(rows, dtype=float))
    columns.append(Column("cost", Kind.NUMERIC, Role.SENSITIVE))
    if weighted:
        data["w"] = pa.array(10.0 ** draw.integers(-100, 100, rows))
        columns.append(Column("w", Kind.NUMERIC, Role.WEIGHT))
    table, key = Table.from_arrow(pa.table(data), Schema(tuple(columns))), Key.fresh()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        release = METHODS[which].release(table, KAnonymity(k), key=key)
    (claim,) = release.guarantee.claims
    assert claim.k >= k  # type: ignore[attr-defined]
    label = clusters(table, k, key)
    assert np.bincount(label).min() >= k
    out = release.data.to_arrow().sort_by("cost")
    assert out["cost"].to_pylist() == list(range(rows))
    names = [f"q{i}" for i in range(len(kinds))]
    before, after = (
        np.stack([_ranked(table.to_arrow()[n], t[n]) for n in names], axis=1) for t in (table.to_arrow(), out)
    )
    assert reidentified(before, after, label).max() <= 1 / k + 1e-12


def _ranked(known: pa.ChunkedArray, values: pa.ChunkedArray) -> np.ndarray:
    """Numbers of any size as ranks among the original's, so that distances can be measured."""
    ladder = np.unique(known.fill_null(np.inf).to_numpy())
    return np.searchsorted(ladder, values.fill_null(np.inf).to_numpy()).astype(float)


def test_units_do_not_matter_however_small_or_large() -> None:
    draw = np.random.default_rng(4)
    values = draw.normal(size=(200, 2))
    columns = [Column(n, Kind.NUMERIC, QUASI) for n in "ab"]
    labels = []
    for scale in (1.0, 2.0**-700, 2.0**900):
        data = pa.table({"a": values[:, 0] * scale, "b": values[:, 1]})
        table = Table.from_arrow(data, Schema(tuple(columns)))
        asked = {
            "columns": None,
            "response": None,
            "weight": None,
            "hierarchies": {},
            "key": Key.from_seed(1),
        }
        labels.append(group(table, KAnonymity(5), Clustering(), **asked).clusters.label)
    assert (labels[0] == labels[1]).all() and (labels[0] == labels[2]).all()


def test_clusters_have_the_variety_that_was_asked() -> None:
    # Counted anew from the clusters, not by the code that widened them: ten bins of cost, four in each.
    table = members(600)
    asked = KAnonymity(5) & LDiversity(4, "cost")
    found = group(
        table,
        asked,
        Clustering(),
        columns=None,
        response="cost",
        weight=None,
        hierarchies={},
        key=Key.fresh(),
    )
    cost = table.to_arrow()["cost"].to_numpy()
    bins = np.searchsorted(np.quantile(cost, np.arange(1, 10) / 10), cost, side="right")
    label = found.clusters.label
    assert min(len(np.unique(bins[label == c])) for c in range(label.max() + 1)) >= 4
    assert np.bincount(label).min() >= 5


def test_a_response_that_intruders_know_is_told() -> None:
    table = members(100)
    with pytest.warns(SfumatoWarning, match="'income' is a quasi-identifier by role and stays as it is"):
        ClusterResample(response="income", columns=("gender", "age", "education")).release(
            table, KAnonymity(5)
        )


def test_the_chance_of_the_own_row_by_hand() -> None:
    # People at 0, 0, 5; released at 1, 9, 1. Nearest to 0 are rows 0 and 2; nearest to 5 all, 4 away.
    original, released = np.array([[0.0], [0.0], [5.0]]), np.array([[1.0], [9.0], [1.0]])
    near = Nearest.of(original, released)
    assert near.own().tolist() == [1 / 2, 0.0, 1 / 3]
    assert near.share(np.array([0, 0, 1])).tolist() == [1 / 2, 1 / 2, 1 / 3]


def test_all_rows_alike_are_clusters_all_the_same() -> None:
    found = k_member(np.zeros((23, 3)), 5)
    assert len(found.sizes) == 4 and found.sizes.min() == 5 and found.distortion == 0


def test_the_sample_that_judges_blocks_is_weighted_too() -> None:
    # Two thirds of the rows count next to nothing: what the blocks do with them must not show.
    from sfumato.anonymization.shape.cluster import against_exact

    draw = np.random.default_rng(6)
    points = draw.normal(size=(20_000, 3))
    weights = np.where(draw.random(20_000) < 1 / 3, 1.0, 1e-9)
    found = [against_exact(points, 5, Clustering(), np.random.default_rng(1), own) for own in (None, weights)]
    assert None not in found and found[0] != found[1]


def test_blocks_are_judged_for_larger_k_too() -> None:
    # For k = 20 nothing was said: a sample of 10,000 rows has too few clusters. One of 16,000 has enough.
    from sfumato.anonymization.shape.cluster import against_exact

    points = np.random.default_rng(7).normal(size=(17_000, 2)).round(1)
    ratio = against_exact(points, 20, Clustering(), np.random.default_rng(1))
    assert ratio is not None and 0.9 < ratio < 1.15
    assert against_exact(points, 51, Clustering(), np.random.default_rng(1)) is None


class Flat:
    """A dither that has nothing to do with the rows: uniform numbers, which are their own CDF."""

    def __init__(self, width: int = 0) -> None:
        self.width = width

    def fit(self, points: np.ndarray, label: np.ndarray, weights: np.ndarray) -> Flat:
        return Flat(points.shape[1])

    def draw(self, label: np.ndarray, draws: Draws) -> np.ndarray:
        return np.stack([draws.uniform(f"flat {j}", len(label)) for j in range(self.width)], axis=1)

    def uniforms(self, dithered: np.ndarray) -> np.ndarray:
        return dithered


def test_any_continuous_law_can_be_plugged_in() -> None:
    # The law of the original is kept whatever the dither was (Rosenblatt's transformation), over 480 cells.
    table = members(5_000)
    release = ClusterDither(response="cost", dither=Flat()).release(table, KAnonymity(20))
    a, b = (t.counts(*NAMES).dense() / 5_000 for t in (release, table))
    assert np.minimum(a, b).sum() >= 0.88
