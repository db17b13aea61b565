"""Cuts hold for every pattern that hides what it must, and windows make patterns cheaper, never open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cells.cell_tables import two_way
from cells.test_catalogue import cube
from tabulation.test_suppression import opened, problem_of

from sfumato.cells import Attacker, Target
from sfumato.tabulation import CellSuppression
from sfumato.tabulation.cuts import ChosenCells, Cuts, bridges
from sfumato.tabulation.problem import HidingProblem
from sfumato.tabulation.requirement import Requirement
from sfumato.tabulation.search import PatternSearch
from sfumato.tabulation.windows import PatternWindows


def fulfils(problem: HidingProblem, withheld: np.ndarray, cell: int, amount: float) -> bool:
    """The attacker's word: whether a cell may be so much more, or less."""
    value = problem.values[cell]
    target = Target(cell, min(value, value + amount), max(value, value + amount))
    return bool(Attacker(problem.published(withheld), problem.values).judge([target]).covered[0])


@pytest.mark.parametrize("seed", range(3))
def test_every_pattern_that_fulfils_a_requirement_keeps_its_cuts(seed: int) -> None:
    random = np.random.default_rng(seed)
    inner = np.array([[2, 20, 9], [30, 8, 3], [9, 14, 11]], float)[random.permutation(3)]
    problem = problem_of(inner, kept=(3, 12, 15))  # a row's total, a column's, and the grand total
    search = PatternSearch(problem, seed=seed)
    cuts = Cuts(problem, search.ways)
    free = np.flatnonzero(~problem.sensitive & ~problem.kept)
    every = [np.isin(np.arange(problem.size), chosen) | problem.sensitive
             for size in range(len(free) + 1) for chosen in itertools.combinations(free, size)]  # fmt: skip
    every = [every[i] for i in random.permutation(len(every))[:80]]
    found = 0
    for asked in search.requirements[:2]:
        good = [w for w in every if fulfils(problem, w, asked.cell, asked.amount)]
        for part in (*random.random((8, problem.size)), *(w * 1.0 for w in every[:8])):
            moved, cut = cuts.look(asked, ChosenCells(cuts, part))
            assert moved is None or cut is None
            if cut is None:
                continue
            found += 1
            assert all(cut[1] @ w[cut[0]] >= 1 - 1e-9 for w in good)
    assert found > 5


def test_a_choice_that_hides_a_cell_has_a_movement_and_another_a_cut() -> None:
    problem = problem_of(np.array([[2, 20, 9], [30, 8, 30], [9, 14, 11]], float))
    search = PatternSearch(problem)
    cuts = Cuts(problem, search.ways)
    asked = search.requirements[0]
    for withheld in (problem.sensitive, np.ones(problem.size, bool)):
        moved, cut = cuts.look(asked, ChosenCells(cuts, withheld * 1.0))
        assert (moved is not None) == fulfils(problem, withheld, asked.cell, asked.amount)
        assert (cut is None) == (moved is not None)
        if moved is not None:
            assert moved[asked.cell] == asked.amount and search.ways.keeps(moved)


def test_bridges_are_kept_by_the_least_pattern() -> None:
    """Of all patterns of a small table that hide what they must, one of the least keeps them."""
    inner = np.array([[1, 20, 9], [30, 2, 8], [9, 14, 11]], float)
    problem = problem_of(inner, kept=tuple(i for i in range(16) if i % 4 == 3 or i >= 12))
    matrix, least, _ = bridges(problem, np.flatnonzero(problem.sensitive).tolist())
    free = np.flatnonzero(~problem.sensitive & ~problem.kept)
    for size in range(len(free) + 1):
        every = [np.isin(np.arange(16), chosen) | problem.sensitive
                 for chosen in itertools.combinations(free, size)]  # fmt: skip
        good = [w for w in every if opened(problem, w) == 0]
        if good:
            chosen = [np.where(problem.sensitive, 0.0, w) for w in good]
            assert any(np.all(matrix @ w >= least) for w in chosen)
            return
    raise AssertionError("no pattern hides them")


def hidden(seed: int) -> HidingProblem:
    """A table of three ways with its totals."""
    counts = np.random.default_rng(seed).choice([1, 2, 7, 9, 12, 20, 40], (4, 4, 3))
    relations, values, _ = cube(counts)
    values = values.astype(float)
    least = cube(np.ones_like(counts))[1].astype(float)
    sensitive = (values > 0) & (values < 5)
    return HidingProblem(
        relations, values, least, sensitive, least, np.maximum(4, least + 1), np.ones(len(values)),
        np.zeros(len(values), bool), values == 1,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_a_window_never_makes_a_pattern_dearer_or_leaves_a_requirement(seed: int) -> None:
    search = PatternSearch(hidden(seed), seed=seed)
    search.start()
    windows, before = PatternWindows(search), search.extra
    gained = 0
    for _ in range(12):
        had = search.extra
        better = windows.improve_one()
        assert (search.extra < had) == better and search.extra <= had
        gained += better
        withheld = search.withheld
        for asked, witness in zip(search.requirements, search.witness, strict=True):
            assert witness is not None and withheld[witness.cells].all()
            assert any(c == asked.cell and asked.met(up, down)
                       for c, up, down in zip(witness.cells, *witness.reach(), strict=True))  # fmt: skip
    assert search.extra <= before and gained > 0
    assert opened(search.problem, search.withheld) == 0


def test_exact_is_no_dearer_than_any_pattern_that_was_found_and_no_less_than_its_bound() -> None:
    problem = hidden(1)
    plain = CellSuppression(effort="fast", contributors=False).protect(problem)
    best = CellSuppression(effort="exact", contributors=False, work_limit=4000, time_limit=60).protect(
        problem
    )
    assert plain.cost >= best.cost >= best.bound and best.gap == 0
    assert opened(problem, best.withheld) == 0


def test_windows_hide_cells_from_contributors_too() -> None:
    """Each contributor's requirement may move its cell either way, while another cell stays."""
    problem = hidden(0)
    pattern = CellSuppression(work_limit=2000).protect(problem)
    assert opened(problem, pattern.withheld, alone=True) == 0
    assert pattern.cost <= CellSuppression(effort="fast").protect(problem).cost
    search = PatternSearch(problem)
    either = Requirement(search.requirements[0].cell, 1.0, (), either=True)
    assert either.directions(np.full(problem.size, 9.0), np.zeros(problem.size)) == [1.0]
    assert either.directions(np.full(problem.size, 9.0), np.full(problem.size, 1.0)) == [1.0, -1.0]


def test_a_table_without_anything_to_withhold_has_no_cuts() -> None:
    relations, values = two_way(np.full((2, 2), 20.0))
    nobody = np.zeros(len(values), bool)
    problem = HidingProblem(relations, values, np.ones(len(values)), nobody, values, values,
                            np.ones(len(values)), nobody, nobody)  # fmt: skip
    assert CellSuppression(effort="exact", time_limit=5).protect(problem).cost == 0
