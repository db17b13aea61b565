"""Lattices too large to be walked through: never worse than a greedy walk, and a bound that holds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from anonymization.local_oracles import random_problem, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization import _descent_kernels as kernels
from sfumato.anonymization.branch_and_bound import branch
from sfumato.anonymization.clauses import Clauses, RuledOut
from sfumato.anonymization.descent import Descent
from sfumato.anonymization.histograms import Demands
from sfumato.anonymization.incumbent import Incumbent
from sfumato.anonymization.lattice import Lattice
from sfumato.anonymization.limits import SearchLimits
from sfumato.anonymization.loners import Loners
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.top_down import search_top_down
from sfumato.errors import ParameterError, SfumatoWarning

shares = st.sampled_from([0.0, 0.05, 0.2, 1.0])
CRITERIA = [
    sf.KAnonymity(3),
    sf.KAnonymity(2) & sf.LDiversity(2, "dx"),
    sf.LDiversity(2.2, "dx", "entropy"),
    sf.KAnonymity(2) & sf.TCloseness(0.4, "dx"),
    sf.AlphaK(0.7, 2, "dx"),
]


def laid_out(problem: Problem, criterion: sf.Criterion, measure=None) -> Lattice:
    costs = (measure or sf.Loss()).cost(problem)
    roots = zip(costs, problem.hierarchies, strict=True)
    lost = 1.0 if measure is None else sum(float(c[h.root]) for c, h in roots)
    return Lattice(problem, costs, lost, criterion.k, Demands.of(criterion, problem))


@given(seeds, st.sampled_from(CRITERIA), shares, st.booleans(), st.sampled_from([None, 1, 7, 40]))
@settings(max_examples=30, deadline=None)
def test_it_ends_at_the_optimum_and_never_claims_more(seed, criterion, share, by_entropy, work) -> None:
    """The exact search of small lattices is the judge; stopped early, the bound still holds."""
    problem = random_problem(seed, 20, columns=2 + (seed % 4 == 0), sensitive=True)
    lattice = laid_out(problem, criterion, sf.Entropy() if by_entropy else None)
    limit = math.floor(share * problem.rows + 1e-9)
    exact, found = Incumbent(), Incumbent(SearchLimits(None, work))
    branch(lattice, limit, exact)
    search_top_down(lattice, limit, found)
    if work is None:
        assert bool(found.ties) == bool(exact.ties)
    if found.ties:
        assert found.bound <= exact.best + 1e-9 <= found.best + 2e-9
        if work is None:
            assert found.best == pytest.approx(exact.best, abs=1e-9) and set(found.ties) <= set(exact.ties)
            assert found.bound >= exact.best - 1e-4 * max(1.0, lattice.lost)


@given(seeds, st.integers(1, 5), shares, st.data())
@settings(max_examples=40, deadline=None)
def test_a_node_reached_from_the_top_is_the_one_counted_by_definition(seed, k, share, data) -> None:
    """Rows lost and cost, step by step or at once, against groups made by numpy; limits on levels too."""
    problem = random_problem(seed, 25)
    most = np.array([data.draw(st.integers(0, h.height)) for h in problem.hierarchies], np.int32)
    problem = Problem(problem.columns, problem.hierarchies, problem.leaves, problem.n, max_level=most)
    lattice = laid_out(problem, sf.KAnonymity(k))
    levels = tuple(data.draw(st.integers(0, t)) for t in lattice.top)
    nodes = lattice.nodes(levels)
    _, back = np.unique(nodes, axis=0, return_inverse=True)
    small = np.bincount(back.ravel(), problem.n)[back.ravel()] < k
    cost = sum(lattice.costs[j][nodes[:, j]] for j in range(len(levels)))
    total = float(problem.n @ np.where(small, 1.0, cost))
    descent = Descent.of(lattice)
    found = descent.reach(levels, k, problem.rows)
    assert found.lost == found.suppressed == problem.n[small].sum()
    assert found.total == pytest.approx(total)
    state = descent.whole(k, problem.rows)
    for j, level in enumerate(levels):
        while state.levels[j] > level:
            figures = descent.tried(state, j, k, problem.rows)
            state = descent.down(state, j, k, problem.rows, *figures)
            assert figures[0] == state.lost
    assert (state.lost, state.total) == (found.lost, pytest.approx(total))
    cap = math.floor(share * problem.rows)
    above = RuledOut(descent, k, Incumbent()).above(levels, cap)
    assert (above is None) == (found.lost <= cap)
    if above is not None:  # it loses too much, and nothing above it does
        assert all(a >= b for a, b in zip(above, levels, strict=True))
        assert descent.reach(above, k, problem.rows).lost > cap
        for j, level in enumerate(above):
            if level < lattice.top[j]:
                higher = (*above[:j], level + 1, *above[j + 1 :])
                assert descent.reach(higher, k, problem.rows).lost <= cap


@given(seeds, st.integers(1, 5), st.integers(0, 12), st.integers(1, 20), st.data())
@settings(max_examples=40, deadline=None)
def test_loners_bound_every_node_that_loses_few_rows(seed, k, cap, looked, data) -> None:
    """All nodes by the definition, whatever part of the rows was looked at, with limits on levels too."""
    problem = random_problem(seed, 20)
    most = np.array([data.draw(st.integers(0, h.height)) for h in problem.hierarchies], np.int32)
    problem = Problem(problem.columns, problem.hierarchies, problem.leaves, problem.n, max_level=most)
    lattice = laid_out(problem, sf.KAnonymity(k))
    loners, descent = Loners(lattice), Descent.of(lattice)
    loners.look(looked)
    bound = loners.prove(cap)
    for levels in np.ndindex(*(t + 1 for t in lattice.top)):
        if descent.reach(levels, k, problem.rows).lost <= cap:
            assert bound <= lattice.bound(levels) + 1e-12


def wide(columns: int, rows: int, values: int = 6, seed: int = 3) -> Problem:
    """Columns that go with each other, so that greedy steps mislead."""
    g = np.random.default_rng(seed)
    tree = sf.Hierarchy.of_rows([[str(v), f"{v // 2}'", f"{v // 4}''", "*"] for v in range(values)])
    hidden = g.integers(0, values, (rows, 3))
    cells = np.where(g.random((rows, columns)) < 0.7, hidden[:, g.integers(0, 3, columns)], 0)
    leaves, n = np.unique(cells.astype(np.int32), axis=0, return_counts=True)
    return Problem(tuple(f"c{j}" for j in range(columns)), (tree,) * columns, leaves, n)


def greedy(problem: Problem, k: int, limit: int) -> float:
    """The walk of the benchmark: from the top, always the step that loses least, by numpy alone."""
    q, n = len(problem.columns), problem.n

    def judged(levels: list[int]) -> float | None:
        cells = [h.nodes[level][problem.leaves[:, j]]
                 for j, (h, level) in enumerate(zip(problem.hierarchies, levels, strict=True))]  # fmt: skip
        _, back = np.unique(np.stack(cells, axis=1), axis=0, return_inverse=True)
        small = np.bincount(back.ravel(), n)[back.ravel()] < k
        loss = sum(h.loss[c] for h, c in zip(problem.hierarchies, cells, strict=True)) / q
        return None if n[small].sum() > limit else float(n @ np.where(small, 1.0, loss)) / n.sum()

    levels, best = [h.height for h in problem.hierarchies], 1.0
    while True:
        steps = [(s, j) for j in range(q) if levels[j]
                 if (s := judged([*levels[:j], levels[j] - 1, *levels[j + 1 :]])) is not None]  # fmt: skip
        if not steps or min(steps)[0] >= best:
            return best
        best, j = min(steps)
        levels[j] -= 1


@pytest.mark.parametrize(("columns", "share"), [(15, 0.05), (24, 0.0), (40, 0.05)])
def test_never_worse_than_a_greedy_walk(columns, share) -> None:
    """40 columns of 6 values are more than 64 bits hold. The bound is not zero."""
    problem = wide(columns, 400)
    with pytest.warns(SfumatoWarning, match="work limit"):
        method = sf.OptimalRecoding(max_suppressed=share, work_limit=6_000)
        recoding = method.search(problem, sf.KAnonymity(5))
    about = recoding.about
    assert about["way"] == "top-down" and about["nodes"] == 4**columns and about["checked"] <= 6_000 + 1
    assert 0 < about["bound"] <= about["score"] <= greedy(problem, 5, int(share * problem.rows)) + 1e-12
    assert about["score"] == pytest.approx(recoding.loss()) and recoding.classes()[1].min() >= 5
    assert recoding.n[recoding.suppressed].sum() == about["suppressed"] <= share * problem.rows


def test_more_work_is_never_worse_and_the_same_work_gives_the_same() -> None:
    problem = wide(16, 300)
    found = []
    for work in (300, 2_000, 2_000, 8_000):
        with pytest.warns(SfumatoWarning, match=f"work limit of {work}"):
            method = sf.OptimalRecoding(max_suppressed=0.05, work_limit=work)
            found.append(method.search(problem, sf.KAnonymity(4)).about)
    scores, bounds = [f["score"] for f in found], [f["bound"] for f in found]
    assert scores == sorted(scores, reverse=True)
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(bounds))
    assert found[1] == found[2]


def test_what_no_node_can_do_is_said() -> None:
    """Nine columns that may not be touched leave too few rows alike."""
    problem = wide(24, 60)
    most = np.array([0] * 9 + [3] * 15, np.int32)
    kept = Problem(problem.columns, problem.hierarchies, problem.leaves, problem.n, max_level=most)
    with pytest.raises(ParameterError, match="no combination of levels"):
        sf.OptimalRecoding(work_limit=5_000).search(kept, sf.KAnonymity(50))


def test_other_criteria_go_the_same_way() -> None:
    problem = wide(20, 400)
    g = np.random.default_rng(2)
    code = g.integers(0, 3, problem.combinations).astype(np.int32)
    from sfumato.anonymization.problem import Sparse

    cells = Sparse("dx", 3, np.arange(problem.combinations + 1), code, problem.n, ("a", "b", "c"))
    asked = Problem(problem.columns, problem.hierarchies, problem.leaves, problem.n, {"dx": cells})
    criterion = sf.KAnonymity(3) & sf.LDiversity(2, "dx") & sf.TCloseness(0.5, "dx")
    with pytest.warns(SfumatoWarning, match="work limit"):
        method = sf.OptimalRecoding(max_suppressed=0.1, work_limit=1_500)
        recoding = method.search(asked, criterion)
    label, sizes = recoding.classes()
    assert recoding.about["way"] == "top-down" and recoding.about["score"] < 1 and sizes.min() >= 3
    for c in range(len(sizes)):  # recounted by hand
        rows = np.bincount(code[label == c], problem.n[label == c], 3)
        whole = np.bincount(code, problem.n, 3) / problem.rows
        assert (rows > 0).sum() >= 2 and np.abs(rows / rows.sum() - whole).sum() / 2 <= 0.5 + 1e-9


@given(seeds, st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_loops_do_the_same_uncompiled(seed, k) -> None:
    problem = random_problem(seed, 15)
    descent = Descent.of(laid_out(problem, sf.KAnonymity(k)))
    order, start = (
        np.arange(problem.combinations, dtype=np.int32),
        np.array([0, problem.combinations], np.int32),
    )
    node = problem.hierarchies[0].ancestors[0]
    given = (order, start, descent.leaves[0], node, problem.n, k, problem.rows)

    def room() -> list[np.ndarray]:
        size, items = len(node), len(order)
        return [np.zeros(size, np.int64), np.zeros(size, np.int32), np.empty(items, np.int32),
                np.empty(items + 2, np.int32)]  # fmt: skip

    ours, theirs = room(), room()
    found = kernels.split(*given, *ours)
    assert found == kernels.split.py_func(*given, *theirs)
    assert (ours[2][: found[1]] == theirs[2][: found[1]]).all()
    assert (ours[3][: found[0] + 1] == theirs[3][: found[0] + 1]).all()


def test_clauses_say_what_they_leave() -> None:
    """By hand: two columns of two steps; no node at or below (0, 1) or (1, 0) is worth having."""
    tree = sf.Hierarchy.of_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c'", "*"]])
    leaves = np.array([[0, 0], [1, 1], [2, 2]], np.int32)
    problem = Problem(("x", "y"), (tree, tree), leaves, np.ones(3, np.int64))
    clauses = Clauses(laid_out(problem, sf.KAnonymity(2)))
    assert clauses.solve() == (0.0, (0, 0))
    clauses.below += [(0, 1), (1, 0)]
    bound, levels = clauses.solve()
    assert levels == (1, 1) and clauses.allows((1, 1)) and not clauses.allows((0, 1))
    assert bound == pytest.approx(clauses.lattice.bound((1, 1)), abs=1e-5)
    clauses.known.append((1, 1))
    assert clauses.solve()[1] in {(2, 0), (0, 2), (1, 2), (2, 1)}
    clauses.below.append((2, 2))
    assert clauses.solve() == (math.inf, None)
