"""Compiled loops over histograms against the criteria themselves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from anonymization.local_oracles import random_problem, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymization import _histogram_kernels as kernels
from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.histograms import ClassCells, Demands
from sfumato.anonymization.lattice import Lattice, Room
from sfumato.anonymization.problem import Problem, Sparse

TREE = sf.Hierarchy.of_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])
CRITERIA = [
    sf.LDiversity(2, "dx"),
    sf.LDiversity(3, "dx"),
    sf.LDiversity(1.7, "dx", "entropy"),
    sf.LDiversity(2, "dx", "recursive", c=1.5),
    sf.LDiversity(1, "dx", "recursive", c=1.5),
    sf.LDiversity(4, "dx", "recursive", c=3),
    sf.AlphaK(0.5, 2, "dx"),
    sf.TCloseness(0.3, "dx"),
    sf.TCloseness(0.2, "dx", "ordered"),
    sf.TCloseness(0.2, "dx", "hierarchical", TREE),
    sf.KAnonymity(3, persons=True),
    sf.KAnonymity(2) & sf.JAnonymity(3, 0.1, 0.5) & sf.TCloseness(0.4, "dx") & sf.LDiversity(2, "dx"),
]


def peopled(seed: int, missing: bool) -> Problem:
    """A tiny table whose rows are of few persons, some of nobody."""
    problem = random_problem(seed, 14, sensitive=True)
    g = np.random.default_rng(seed)
    codes = [np.unique(g.integers(0, 9, rows)) for rows in problem.n]
    start = np.append(0, np.cumsum([len(c) for c in codes]))
    code = np.concatenate(codes).astype(np.int32)
    persons = Sparse("id", 9, start, code, np.ones(len(code), np.int64), (), missing)
    return Problem(
        problem.columns, problem.hierarchies, problem.leaves, problem.n, problem.sensitive, persons=persons
    )


@given(seeds, st.sampled_from(CRITERIA), st.booleans(), st.integers(1, 5))
@settings(max_examples=120, deadline=None)
def test_each_class_is_judged_as_the_criterion_judges_it(seed, criterion, missing, classes) -> None:
    problem = peopled(seed, missing)
    label = np.random.default_rng(seed).integers(0, classes, problem.combinations)
    label = np.unique(label, return_inverse=True)[1].astype(np.int32)
    groups = int(label.max()) + 1
    demands = Demands.of(criterion, problem)
    assert demands is not None
    cells = [c.gathered(label, groups, r) for c, r in zip(demands.base(), demands.rooms(), strict=True)]
    rows = np.bincount(label, problem.n, groups).astype(np.int64)
    expected = criterion.satisfied(classes_of(problem, label.astype(np.int64)))
    assert demands.good(rows, cells).tolist() == expected.tolist()


@given(seeds, st.data())
@settings(max_examples=40, deadline=None)
def test_histograms_rolled_up_are_those_counted_at_the_node(seed, data) -> None:
    problem = peopled(seed, False)
    demands = Demands.of(sf.LDiversity(2, "dx"), problem)
    lattice = Lattice(problem, sf.Loss().cost(problem), 1.0, 1, demands)
    groups, levels, room = lattice.base(), lattice.bottom, Room()
    for j, top in enumerate(lattice.top):
        for _ in range(data.draw(st.integers(0, top))):
            groups = lattice.up(groups, levels, j, room)
            levels = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
    label = lattice.labels(levels, room)
    want = classes_of(problem, label).tables["dx"]
    assert groups.contents is not None
    found = groups.contents.cells(demands, room)[0]

    def by_class(start, code, n) -> list[list[tuple[int, int]]]:
        parts = [(code[a:b].tolist(), n[a:b].tolist()) for a, b in pairwise(start)]
        return sorted(sorted(zip(*part, strict=True)) for part in parts)

    assert by_class(found.start, found.code, found.n) == by_class(want.start, want.code, want.n)
    bad = ~sf.LDiversity(2, "dx").satisfied(classes_of(problem, label))
    assert groups.small == problem.n[bad[label]].sum()


@pytest.mark.parametrize(
    "criterion",
    [
        sf.KMap(3, weight="w"),
        sf.KAnonymity(2, missing="matches anything"),
        sf.JAnonymity(3, weight="w"),
        sf.LDiversity(2, "dx") & sf.KMap(3, weight="w"),
    ],
)
def test_what_has_no_loop_is_left_to_the_criterion(criterion) -> None:
    problem = random_problem(1, 10, sensitive=True)
    assert Demands.of(criterion, problem) is None


def test_loops_do_the_same_uncompiled() -> None:
    g = np.random.default_rng(4)
    start = np.append(0, np.cumsum(g.integers(1, 5, 12)))
    code = np.concatenate([g.permutation(6)[: b - a] for a, b in pairwise(start)])
    cells = ClassCells(start, code.astype(np.int32), g.integers(1, 5, start[-1]))
    into = np.array([0, 1, 2, -1, 0, 1, 2, 0, 0, 2, 1, -1], np.int32)

    def rolled(run) -> list[np.ndarray]:
        out = [
            np.zeros(6, np.int64),
            np.zeros(4, np.int64),
            np.zeros(start[-1], np.int32),
            np.zeros(start[-1], np.int64),
        ]
        run(into, 3, cells.start, cells.code, cells.n, *out)
        return out

    for a, b in zip(rolled(kernels.gather), rolled(kernels.gather.py_func), strict=True):
        assert (a == b).all()
    rows = np.add.reduceat(cells.n, start[:-1])
    q = np.full(6, 1 / 6)
    above, first = np.array([[0, 0, 1, 1, 2, 2]], np.int32), np.array([0, 3])
    calls = [
        (kernels.distinct, (cells.start, cells.code, 5, 2)),
        (kernels.entropic, (cells.start, cells.n, rows, 0.7)),
        (kernels.recursive, (cells.start, cells.n, 1.5, 2)),
        (kernels.mixed, (cells.start, cells.n, rows, 0.5)),
        (kernels.equal_close, (cells.start, cells.code, cells.n, rows, q, 0.6)),
        (kernels.ordered_close, (cells.start, cells.code, cells.n, rows, np.arange(6), q, 0.2)),
        (kernels.tree_close, (cells.start, cells.code, cells.n, rows, above, np.full(3, 1 / 3), first, 0.2)),
    ]
    for run, given_ in calls:
        ours, theirs = np.ones(12, bool), np.ones(12, bool)
        run(*given_, ours)
        run.py_func(*given_, theirs)
        assert (ours == theirs).all() and 0 < ours.sum() < 12, run
        good = ours
    assert kernels.weighed(rows, np.full(12, 0.5), good, 1.0) == kernels.weighed.py_func(
        rows, np.full(12, 0.5), good, 1.0
    )
