"""The generic path: any poset, several least upper bounds, and the rule that chooses among them."""

from __future__ import annotations

from datetime import date

import greedy_tables as gt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization.greedy.posets import drawn_up, generalize
from sfumato.criteria import KAnonymity
from sfumato.errors import ParameterError
from sfumato.hierarchy.births import DateOfBirth
from sfumato.hierarchy.bits import PowerSet
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.ranges import Range
from sfumato.hierarchy.rows import Suppression

METHODS = [sf.Greedy(), sf.Partition(), sf.Partition(rule="printed")]
# Blocks a and b share a ZIP code and a town; the town holds c besides, the ZIP code c and d.
CENSUS = Matrix.of(
    {"a": ["zip", "town"], "b": ["zip", "town"], "c": ["zip", "town"], "d": ["zip"], "e": ["*"],
     "zip": ["*"], "town": ["*"], "*": []}
)  # fmt: skip


def rows(seed: int, count: int) -> list[tuple[object, ...]]:
    rng = np.random.default_rng(seed)
    days = [date.fromordinal(int(d)) for d in rng.integers(711_000, 730_000, count)]
    bits = [tuple(int(b) for b in row) for row in rng.integers(0, 2, (count, 2))]
    return [
        ("abcde"[rng.integers(5)], int(rng.integers(0, 90)), "fm"[rng.integers(2)], bits[i], days[i])
        for i in range(count)
    ]


POSETS = {
    "block": CENSUS,
    "age": Range(0, 120, whole=True),
    "sex": Suppression(("f", "m")),
    "sick": PowerSet(2),
    "born": DateOfBirth(date(2006, 1, 1), (5, 30, 50, 70, 90)),
}


@given(st.integers(0, 2**32), st.integers(1, 18), st.integers(1, 5), st.sampled_from(METHODS))
@settings(max_examples=40)
def test_classes_of_any_posets_hold_k_and_lie_above_their_rows(
    seed: int, count: int, k: int, method: object
) -> None:
    given_rows = rows(seed, count)
    found = generalize(given_rows, POSETS, k, method=method)
    assert found.claim == "classes"
    if count < k:
        assert (found.label == -1).all() and set(found.labels()[0].values()) <= {"*", "**"}
        return
    assert np.bincount(found.label).min() >= k
    for row, nodes in zip(given_rows, found.nodes, strict=True):
        for cell, node, poset in zip(row, nodes, POSETS.values(), strict=True):
            assert poset.leq(poset.node(cell), node)


def test_literal_sets_cover_k_and_are_called_ambiguity() -> None:
    given_rows = rows(1, 25)
    found = generalize(given_rows, POSETS, 4, method=sf.Greedy(closed=False))
    assert found.claim == "ambiguity"
    for nodes in found.nodes:
        covered = sum(
            all(p.leq(p.node(c), x) for p, c, x in zip(POSETS.values(), row, nodes, strict=True))
            for row in given_rows
        )
        assert covered >= 4


def test_of_several_bounds_the_one_that_loses_least_is_taken() -> None:
    """a and b lie under the ZIP code and the town, both one step up: the town has fewer blocks."""
    bounds, _, _ = drawn_up([("a",), ("b",), ("d",)], {"block": CENSUS}, {})
    assert len(CENSUS.lub(CENSUS.node("a"), CENSUS.node("b"))) == 2
    assert bounds.orders[0].label(bounds.bound([0, 1])[0]) == "town"
    assert bounds.orders[0].label(bounds.bound([0, 2])[0]) == "zip"


def test_the_bound_is_taken_over_the_original_members() -> None:
    """Folded, a and b give the town, and the town and d the root; together they lie under the ZIP code."""
    found = generalize([("a",), ("b",), ("d",)], {"block": CENSUS}, 3)
    assert {row["block"] for row in found.labels()} == {"zip"}


def test_the_order_of_rows_does_not_change_a_bound() -> None:
    given_rows = rows(3, 6)
    ways = [generalize(r, POSETS, 6).labels()[0] for r in (given_rows, given_rows[::-1])]
    assert ways[0] == ways[1]


@pytest.mark.parametrize("method", [sf.Greedy(closed=False), *METHODS[1:]], ids=["greedy", "part", "printed"])
def test_on_hierarchies_with_levels_both_paths_agree(method: object) -> None:
    """The measure of each released row is the same; ties may go another way in Partition only."""
    p = gt.drawn(2, 40, 3)
    posets = {c: Matrix.of_hierarchy(h) for c, h in zip(p.columns, p.hierarchies, strict=True)}
    cells = [
        tuple(h.leaves[x] for h, x in zip(p.hierarchies, row, strict=True))
        for row, n in zip(p.leaves, p.n, strict=True)
        for _ in range(n)
    ]
    slow = generalize(cells, posets, 4, method=method).measure
    quick = method.search(p, KAnonymity(4)).about["score"]
    assert slow == pytest.approx(quick)


def test_what_the_generic_path_does_not_do_is_refused() -> None:
    with pytest.raises(ParameterError, match="beam"):
        generalize(rows(0, 5), POSETS, 2, method=sf.Beam(width=2))
    with pytest.raises(ParameterError, match="height"):
        generalize(rows(0, 5), POSETS, 2, method=sf.Greedy(loss=sf.ColumnMI("y")))
    with pytest.raises(ParameterError, match="at least 1"):
        generalize(rows(0, 5), POSETS, 0)
