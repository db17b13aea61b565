"""The bound is proven: no table, however small, may have a better recoding."""

from __future__ import annotations

import numpy as np
import pytest
from anonymization.local_oracles import cheapest_box, optimum, random_problem, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymization.local._kernels import bounds, neighbours, prices
from sfumato.anonymization.local.bounds import bounded, bounded_by_prices, least_lost
from sfumato.anonymization.local.forest import planted
from sfumato.anonymization.local.improve import Ground
from sfumato.anonymization.local.prices import BoxWalk, raised
from sfumato.anonymization.problem import Problem


@given(seeds, st.integers(2, 6), st.sampled_from([0, 20, 10**9]))
@settings(max_examples=40, deadline=None)
def test_each_row_has_its_cheapest_box_or_less(seed: int, k: int, budget: int) -> None:
    problem = random_problem(seed, 25)
    if problem.rows < k:
        return
    forest, x, n = planted(problem), problem.leaves, problem.n
    tree = neighbours.planted_tree(forest, x, n, np.arange(len(n)), 3)
    upper, least = np.full(len(n), 1.0 + 1e-9), np.zeros(len(n))
    order = np.arange(x.shape[1])
    bounds.cheapest_boxes(forest, tree, x, n, k, upper, least, 0, len(n), len(n), budget, order)
    expected = np.array([cheapest_box(problem, i, k) for i in range(len(n))])
    assert (least <= expected + 1e-9).all()
    if budget == 10**9:
        assert least == pytest.approx(expected, abs=1e-8)


@given(seeds, st.integers(2, 3))
@settings(max_examples=30, deadline=None)
def test_never_above_the_optimum(seed: int, k: int) -> None:
    problem = random_problem(seed, 4, most=2)
    if not k <= problem.rows <= 8:
        return
    ground = Ground(planted(problem), problem.leaves, problem.n, k)
    start = ground.partition(np.zeros(problem.combinations, np.int64))
    upper = least_lost(ground.forest, start, problem.combinations)
    bound = bounded(ground.forest, problem.leaves, problem.n, upper, k, None) / problem.rows
    assert bound <= optimum(problem, k) + 1e-9


def walk_of(problem: Problem, k: int) -> BoxWalk:
    forest = planted(problem)
    losses = [forest.loss[a:b] for a, b in zip(forest.base[:-1], forest.base[1:], strict=True)]
    return BoxWalk(problem.hierarchies, losses, problem.max_level, problem.leaves, problem.n, k)


@given(seeds, st.integers(2, 3), st.integers(0, 12))
@settings(max_examples=40, deadline=None)
def test_prices_never_add_up_to_more_than_the_optimum(seed: int, k: int, passes: int) -> None:
    problem = random_problem(seed, 4, most=2)
    if not k <= problem.rows <= 8:
        return
    found = raised(walk_of(problem, k), None, passes) / problem.rows
    assert found <= optimum(problem, k) + 1e-9


@given(seeds, st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_prices_are_fair_in_every_box(seed: int, k: int) -> None:
    """By the definition: all boxes, k dearest rows each. Raised, they are at least the cheapest boxes."""
    problem = random_problem(seed, 20)
    if problem.rows < k:
        return
    walk = walk_of(problem, k)
    u = walk.cheapest()
    assert u == pytest.approx([cheapest_box(problem, i, k) for i in range(problem.combinations)])
    before = float(problem.n @ u)
    for step in (0.5, 1.0, 0.5):
        room, _ = walk.fairness(u)
        u = u + step * np.maximum(room, 0.0)
        u = u * walk.fairness(u)[1]
    share = problem.weights / problem.weights.sum()
    for levels in np.ndindex(*(h.height + 1 for h in problem.hierarchies)):
        both = enumerate(zip(problem.hierarchies, levels, strict=True))
        nodes = np.stack([h.nodes[v][problem.leaves[:, j]] for j, (h, v) in both])
        for box in np.unique(nodes, axis=1).T:
            inside = (nodes == box[:, None]).all(axis=0)
            dearest = np.sort(np.repeat(u[inside], problem.n[inside]))[::-1][:k]
            loss = sum(w * h.loss[v] for w, h, v in zip(share, problem.hierarchies, box, strict=True))
            assert len(dearest) < k or dearest.sum() <= k * loss + 1e-9
    best = raised(walk, None, 8)
    assert best >= before * (1 - 1e-9)
    by_effort = bounded_by_prices(problem, planted(problem), np.arange(problem.combinations), k, None, 0.2)
    assert by_effort is None or by_effort >= before * (1 - 1e-9)


def test_prices_know_the_companions() -> None:
    """Each row chooses its cheapest box by itself; prices let its companions have a say, which costs more."""
    problem = random_problem(11, 30)
    walk = walk_of(problem, 4)
    assert raised(walk, None, 15) > 1.02 * float(problem.n @ walk.cheapest())


@given(seeds, st.integers(2, 4))
@settings(max_examples=10, deadline=None)
def test_loops_of_prices_do_the_same_uncompiled(seed: int, k: int) -> None:
    problem = random_problem(seed, 12)
    walk = walk_of(problem, k)
    u = walk.cheapest() + 0.1 * np.random.default_rng(seed).random(problem.combinations)
    for order, start, levels in walk.boxes(u):
        given_ = (order, start, walk.leaves, problem.n, walk.cell(levels), walk.first, k, u, 0.5)
        ours, theirs = ([np.full(problem.combinations, 0.5), np.ones(problem.combinations)] for _ in range(2))
        prices.priced(*given_, *ours)
        prices.priced.py_func(*given_, *theirs)
        assert ours[0] == pytest.approx(theirs[0]) and ours[1] == pytest.approx(theirs[1])
