"""Posets on arrays: numbers, closures, joins, against walks along the parents."""

from __future__ import annotations

import time
from collections.abc import Hashable
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from posets import graphs, least, rows

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import DateOfBirth, Finite, Hierarchy, Interval, Matrix, PowerSet, Range, _kernels

Parents = dict[Hashable, list[Hashable]]


def above(parents: Parents, node: Hashable) -> set[Hashable]:
    """A node and all that a walk up reaches."""
    return {node}.union(*(above(parents, p) for p in parents[node]))


def check_finite(poset: Finite, data: st.DataObject) -> None:
    """What searches on arrays rely on."""
    nodes = range(poset.size)
    leq = np.array([[poset.leq(a, b) for b in nodes] for a in nodes])
    assert (np.triu(leq) == leq).all() and leq[:, poset.root].all()  # numbers grow upwards
    assert poset.top == poset.root == poset.size - 1
    assert poset.leaves == poset.node_labels[: poset.domain]
    assert {n for n in nodes if not leq[:n, n].any()} == set(range(int(poset.domain)))
    assert (poset.leaf_counts == leq[: int(poset.domain)].sum(axis=0)).all()
    steps = {tuple(edge) for edge in poset.covers.tolist()}
    strict = leq & ~np.eye(poset.size, dtype=bool)
    assert steps == {(int(a), int(b)) for a, b in np.argwhere(strict & ~(strict.astype(int) @ strict > 0))}
    assert all(poset.ranks[a] < poset.ranks[b] for a, b in steps) and poset.ranks[-1] == poset.height
    members = data.draw(
        st.lists(st.lists(st.sampled_from(nodes), min_size=3, max_size=3), min_size=1, max_size=9)
    )
    joined = poset.join(np.array(members))
    for found, of in zip(joined.tolist(), members, strict=True):
        bounds = least(poset, nodes, of)
        assert found in bounds
        assert poset.leaf_counts[found] == min(poset.leaf_counts[b] for b in bounds)
    pairs = np.array(np.meshgrid(nodes, nodes)).reshape(2, -1).T
    single = all(len(poset.lub(a, b)) == 1 for a, b in pairs.tolist())
    assert poset.semilattice == single
    if isinstance(poset, Matrix):
        assert (poset.join(pairs) == poset.pairs[pairs[:, 0], pairs[:, 1]]).all()


@settings(max_examples=60)
@given(rows(), st.data())
def test_a_hierarchy_is_finite(table: list[list[str]], data: st.DataObject) -> None:
    check_finite(Hierarchy.of_rows(table), data)


@settings(max_examples=60)
@given(graphs(), st.data())
def test_a_matrix_is_finite(parents: Parents, data: st.DataObject) -> None:
    check_finite(Matrix.of(parents), data)


@settings(max_examples=100)
@given(graphs(most=20))
def test_the_closure_is_what_walks_reach(parents: Parents) -> None:
    poset = Matrix.of(parents)
    by_name = {name: i for i, name in enumerate(poset.node_labels)}
    for node in parents:
        reached = {str(n) for n in above(parents, node)}
        row = {poset.node_labels[b] for b in range(poset.size) if poset.leq(by_name[str(node)], b)}
        assert row == reached


@given(st.integers(1, 2**64 - 1))
def test_the_lowest_bit(word: int) -> None:
    lowest = (word & -word).bit_length() - 1
    assert _kernels.first_bit(np.uint64(word)) == _kernels.first_bit.py_func(np.uint64(word)) == lowest  # type: ignore[attr-defined]


@settings(max_examples=30)
@given(graphs(most=90), st.data())
def test_kernels_and_their_python_agree(parents: Parents, data: st.DataObject) -> None:
    poset = Matrix.of(parents)  # more than one word of bits
    members = np.array(
        data.draw(st.lists(st.tuples(*[st.integers(0, poset.size - 1)] * 2), min_size=1, max_size=5)),
        np.int64,
    )
    slow = np.empty(len(members), np.int32)
    _kernels.join.py_func(poset.up, members, slow)  # type: ignore[attr-defined]
    assert (poset.join(members) == slow).all()
    assert all(int(j) in poset.lub(*m) for j, m in zip(slow, members.tolist(), strict=True))


def test_folding_can_end_higher_than_the_bound_of_all() -> None:
    """Two bounds of a and b, of which one is also above c: a fold that picks the other goes too high."""
    poset = Matrix.of(
        {"a": ["p", "q"], "b": ["p", "q"], "c": ["q"], "d": ["p"], "p": ["*"], "q": ["*"], "*": []}
    )
    a, b, c = (poset.node(x) for x in "abc")
    assert {poset.label(n) for n in poset.lub(a, b)} == {"p", "q"}
    assert {poset.label(n) for n in poset.lub(a, b, c)} == {"q"}
    p = next(n for n in poset.lub(a, b) if poset.label(n) == "p")
    assert {poset.label(n) for n in poset.lub(p, c)} == {"*"}
    assert not poset.semilattice


def test_ranges_power_sets_and_births_over_values_have_the_same_bounds() -> None:
    years = Range(0, 100, max_width=30)
    numbered = years.over([3, 10, 40, 12, None])
    for values in ([3, 10], [3, 40], [10, 12, 40], [40]):
        (found,) = years.lub(*map(years.node, values))
        (same,) = numbered.lub(*map(numbered.node, values))
        assert numbered.label(same) == ("*" if found == years.top else years.label(found))
    bits = PowerSet(3)
    cells = ["010", "011", "111"]
    (star,) = bits.over(cells).lub(*map(bits.over(cells).node, cells))
    assert bits.over(cells).label(star) == "*1*"
    assert bits.join(np.array([[[0, 1, 0], [0, 1, 1]]])).tolist() == [[0, 1, -1]]
    days = ["1975-01-02", "1975-12-20", "1976-02-01"]
    for reckoned in ("by year", "by day"):
        born = DateOfBirth(date(2006, 6, 1), (30, 60), reckoned)  # type: ignore[arg-type]
        over = born.over(days)
        for some in (days, days[:2], days[:1], days[1:]):
            mine = {born.label(n) for n in born.lub(*map(born.node, some))}
            assert mine == {over.label(n) for n in over.lub(*map(over.node, some))}
        assert isinstance(over, Hierarchy) == (reckoned == "by year")


def test_of_several_bounds_join_takes_the_one_of_fewest_leaves() -> None:
    """p is one step above a and b, q two steps above a; q has fewer leaves."""
    parents: Parents = {
        "a": ["p", "y"], "b": ["p", "q"], "c": ["p"], "y": ["q"], "p": ["*"], "q": ["*"], "*": [],
    }  # fmt: skip
    poset = Matrix.of(parents)
    assert poset.label(int(poset.join(np.array([poset.node("a"), poset.node("b")])))) == "q"


def test_arrays_of_ranges() -> None:
    poset = Range(0, 10, max_width=4)
    ends = np.array([[[1, 1], [3, 4]], [[1, 1], [9, 9]]], float)
    assert poset.join(ends).tolist() == [[1, 4], [0, 10]]
    assert poset.label(Interval(1, 4)) == "[1, 4]"


def test_a_graph_lists_all_its_faults_at_once() -> None:
    with pytest.raises(DataError) as refused:
        Matrix.of({"r": [], "s": [], "a": ["b"], "b": ["c"], "c": ["a"], "d": ["nowhere", "r"]})
    for part in ("1 parents are not nodes", "2 roots", "3 nodes lie on cycles"):
        assert part in refused.value.message
    assert "nowhere" not in str(refused.value) and "nowhere" in refused.value.values
    with pytest.raises(DataError, match="more than once"):
        Matrix.of({1: [3], 2: [3], 3: []}, names={1: "x", 2: "x", 3: "*"})
    with pytest.raises(DataError, match="it is empty"):
        Matrix.of({})
    with pytest.raises(DataError, match="0 roots"):
        Matrix.of({"a": ["b"], "b": ["a"]})
    with pytest.raises(DataError, match="its own parent"):
        Matrix.of({"a": ["a", "r"], "r": []})
    with pytest.raises(ParameterError, match="no greater number"):
        Matrix(("a", "b", "*"), ((2,), (0,), ()))


def refused_after(length: int) -> float:
    """Processor time until a cycle below a chain of that length is found; the least of three."""

    def once() -> float:
        chain: Parents = {i: [i + 1] for i in range(length)}
        chain[length] = []
        chain["x"], chain["y"] = ["y"], ["x", 0]
        start = time.process_time()
        with pytest.raises(DataError, match="2 nodes lie on cycles"):
            Matrix.of(chain)
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.usefixtures("uncollected")
def test_a_long_chain_above_a_cycle_is_found_quickly() -> None:
    """Ten times as long takes ten times the time, not a hundred times: whatever the machine."""
    assert refused_after(20_000) < 40 * max(refused_after(2_000), 1e-3)


def test_numbers_and_days_written_in_two_ways() -> None:
    with pytest.raises(DataError, match="1 values are numbers that others are too"):
        Range(0, 9).over([1, "1.0", 3])
    with pytest.raises(DataError, match="2 of 3 values are not numbers within"):
        Range(0, 9).over([1, 10, "x"])
    born = DateOfBirth(date(2006, 6, 1), (30, 60), "by day").over(["19750102", "1975-01-02"])
    assert born.domain == 2 and {born.label(n) for n in born.lub(0, 1)} == {"1975-01"}


def test_values_that_are_not_there_are_counted_not_shown() -> None:
    for poset in (Hierarchy.of_rows([["a", "*"], ["b", "*"]]), Matrix.of({"a": ["*"], "b": ["*"], "*": []})):
        assert poset.over(["a", None, "b"]) is poset
        with pytest.raises(DataError) as refused:
            poset.over(["a", "zebra", "c"])
        assert "2 of 3 values" in refused.value.message and "zebra" not in str(refused.value)
        assert set(refused.value.values) == {"zebra", "c"}


def test_twenty_thousand_codes_are_built_and_joined_quickly() -> None:
    from sfumato.hierarchy import Prefixes

    codes = [f"{i:05d}" for i in range(20_000)]
    recipe = Prefixes((4, 3, 2))
    start = time.process_time()
    h = recipe.over(codes)
    built = time.process_time() - start
    pairs = np.arange(200_000).reshape(-1, 2) * 7919 % 20_000
    start = time.process_time()
    joined = h.join(pairs)
    taken = time.process_time() - start
    for (a, b), found in zip(pairs[::1009].tolist(), joined[::1009].tolist(), strict=True):
        same = next((k for k in (5, 4, 3, 2) if codes[a][:k] == codes[b][:k]), 0)
        assert h.label(found) == (codes[a][:same].ljust(5, "*") if same else "*")
    assert built < 1.0 and taken < 0.5, (built, taken)
