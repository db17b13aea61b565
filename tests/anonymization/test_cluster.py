"""k-member clustering: the greedy rule against a plain one, blocks, weights, and what is asked besides k."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from anonymization.shape_tables import members
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymization.shape.cluster import Clustering, against_exact, distortion, k_member
from sfumato.anonymization.shape.space import space
from sfumato.criteria import KAnonymity, LDiversity, TCloseness
from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Column, Kind


def plain_greedy(points: np.ndarray, k: int, weights: np.ndarray, from_centroid: bool) -> list[set[int]]:
    """The algorithm as it is told, row by row: furthest start, least distortion, lowest number first."""
    left = list(range(len(points)))
    target, clusters, last = points[0], [], 0
    while len(left) >= k:
        far = [round(float(((points[i] - target) ** 2).sum()), 9) for i in left]
        start = left[far.index(max(far))]
        members_ = [start]
        left.remove(start)
        while len(members_) < k:
            mass = weights[members_].sum()
            mean = np.average(points[members_], axis=0, weights=weights[members_])
            added = [
                round(float(((points[i] - mean) ** 2).sum() * weights[i] / (mass + weights[i])), 9)
                for i in left
            ]
            nearest = left[added.index(min(added))]
            members_.append(nearest)
            left.remove(nearest)
        clusters.append(members_)
        last = start
        target = (
            np.average(points[members_], axis=0, weights=weights[members_]) if from_centroid else points[last]
        )
    for row in left:
        costs = []
        for own in clusters:
            mass = weights[own].sum()
            mean = np.average(points[own], axis=0, weights=weights[own])
            gap = ((points[row] - mean) ** 2).sum()
            costs.append(round(float(gap * mass * weights[row] / (mass + weights[row])), 9))
        clusters[costs.index(min(costs))].append(row)
    return [set(c) for c in clusters]


@settings(max_examples=40)
@given(
    rows=st.integers(4, 40),
    k=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    centroid=st.booleans(),
    weighted=st.booleans(),
)
def test_the_kernel_is_the_plain_rule(rows: int, k: int, seed: int, centroid: bool, weighted: bool) -> None:
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(rows, 3))  # without ties: both must choose the same rows
    weights = draw.uniform(0.5, 2, rows) if weighted else np.ones(rows)
    how = Clustering(block=None, furthest_from="centroid" if centroid else "start")
    found = k_member(points, k, how, weights=weights if weighted else None)
    ours = {frozenset(np.flatnonzero(found.label == c)) for c in range(len(found.sizes))}
    assert ours == {frozenset(c) for c in plain_greedy(points, k, weights, centroid)}


@pytest.mark.parametrize("weighted", [False, True])
def test_the_tree_finds_what_a_look_at_all_points_finds(weighted: bool) -> None:
    draw = np.random.default_rng(5)  # a lattice, so that nearly every choice is a tie
    points = draw.permutation(np.stack(np.meshgrid(*[np.arange(11.0)] * 3), axis=-1).reshape(-1, 3))
    weights = draw.choice([0.5, 1.0, 3.0], len(points)) if weighted else np.ones(len(points))
    k, left, target, expected = 4, np.ones(len(points), bool), points[0], []

    def gaps(to: np.ndarray) -> np.ndarray:
        sides = [(column - value) ** 2 for column, value in zip(points.T, to, strict=True)]
        return sides[0] + sides[1] + sides[2]

    while left.sum() >= k:
        chosen = int(np.argmax(np.where(left, gaps(target), -1.0)))
        target, own, mean, mass = points[chosen], [], np.zeros(3), 0.0
        while True:
            own.append(chosen)
            left[chosen] = False
            mean = mean + (points[chosen] - mean) * (weights[chosen] / (mass + weights[chosen]))
            mass += weights[chosen]
            if len(own) == k:
                break
            added = gaps(mean) * (weights / (mass + weights))
            chosen = int(np.argmin(np.where(left, added, np.inf)))
        expected.append(frozenset(own))
    found = k_member(points, k, Clustering(block=None), weights=weights if weighted else None).label
    same = sum(bool(len(set(found[list(own)])) == 1) for own in expected)
    assert same == len(expected) == len(points) // k


@settings(max_examples=30)
@given(rows=st.integers(5, 600), k=st.integers(1, 5), block=st.integers(2, 80), seed=st.integers(0, 10**6))
def test_there_are_as_many_clusters_as_there_can_be(rows: int, k: int, block: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    points = draw.integers(0, 4, (rows, 2)).astype(float)  # many rows alike
    for how in (Clustering(block=None), Clustering(block=block), Clustering(ties="random")):
        found = k_member(points, k, how, generator=draw)
        assert len(found.sizes) == rows // k and found.sizes.min() >= k and found.sizes.sum() == rows
        assert (np.bincount(found.label) == found.sizes).all()
        assert math.isclose(found.distortion, distortion(points, found.label))


def test_blocks_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.anonymization.shape import cluster

    monkeypatch.setattr(cluster, "_PER_BLOCK", 1)  # as cut as a million rows would be
    points = np.random.default_rng(3).normal(size=(15_000, 5))
    exact = k_member(points, 5, Clustering(block=None))
    cut = k_member(points, 5, Clustering(block=4_000))
    assert len(cut.sizes) == len(exact.sizes) == 3_000
    assert cut.distortion < 1.10 * exact.distortion
    found = against_exact(points, 5, Clustering(block=4_000), np.random.default_rng(0))
    assert found is not None and 0.9 < found < 1.15


def test_few_rows_are_refused() -> None:
    with pytest.raises(DataError, match="cannot form a cluster of 5"):
        k_member(np.zeros((4, 1)), 5)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"response_weight": -1.0}, "response_weight"),
        ({"block": 1}, "block"),
        ({"furthest_from": "moon"}, "furthest_from"),
        ({"ties": "all"}, "ties"),
    ],
)
def test_clustering_checks_itself(wrong: dict, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Clustering(**wrong)


def test_nominal_values_are_as_far_apart_as_they_meet_high() -> None:
    rows = [["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"]]
    column = Column("dx", Kind.NOMINAL, levels=("a1", "a2", "b1"))
    data = pa.table({"dx": ["a1", "a2", "b1", None]})
    found = space(data, [column], None, 1.0, {"dx": Hierarchy.of_rows(rows)}).points

    def gap(i: int, j: int) -> float:
        return float(((found[i] - found[j]) ** 2).sum())

    assert gap(0, 2) == pytest.approx(2 * gap(0, 1)) and gap(1, 2) == pytest.approx(gap(0, 2))
    assert gap(3, 0) == pytest.approx(gap(3, 2)) == pytest.approx(gap(0, 2))  # missing: at the root only


def test_standardizing_makes_units_irrelevant() -> None:
    data = pa.table({"cm": [150.0, 160.0, 190.0], "x": [1.0, 2.0, 4.0]})
    metres = data.set_column(0, "cm", pa.array([1.5, 1.6, 1.9]))
    columns = [Column("cm", Kind.NUMERIC), Column("x", Kind.NUMERIC)]
    a, b = (space(d, columns, None, 1.0, {}).points for d in (data, metres))
    assert np.allclose(a, b) and np.allclose(a.var(axis=0), 1)


@pytest.mark.parametrize(
    "asked", [LDiversity(4, "cost"), LDiversity(3, "cost", "entropy"), TCloseness(0.3, "cost")]
)
def test_clusters_are_widened_until_they_are_varied(asked: object) -> None:
    from sfumato.anonymization.shape.methods import ClusterResample
    from sfumato.seeds import Key

    table = members(1_000)
    plain = ClusterResample(response="cost").release(table, KAnonymity(5), key=Key.from_seed(1))
    wide = ClusterResample(response="cost").release(table, KAnonymity(5) & asked, key=Key.from_seed(1))
    assert plain.internal is not None and wide.internal is not None
    few, many = (r.internal.tables["clusters"].num_rows for r in (wide, plain))
    assert few < many == 200
    with pytest.raises(DataError, match="not even all rows together"):
        ClusterResample().release(table, KAnonymity(5) & LDiversity(11, "cost"))
