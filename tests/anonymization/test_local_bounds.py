"""The bound is proven: no table, however small, may have a better recoding."""

from __future__ import annotations

import numpy as np
import pytest
from anonymization.local_oracles import cheapest_box, optimum, random_problem, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymization.local._kernels import bounds, neighbours
from sfumato.anonymization.local.bounds import bounded
from sfumato.anonymization.local.forest import planted
from sfumato.anonymization.local.improve import Ground


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
    bound = bounded(ground.forest, problem.leaves, problem.n, start, k, None) / problem.rows
    assert bound <= optimum(problem, k) + 1e-9
