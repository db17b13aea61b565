"""Suppression: nothing is given out that the attacker opens, and small tables get the least there is."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cells.cell_tables import two_way
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.cells import Attacker, Published, Target
from sfumato.errors import DataError, ParameterError
from sfumato.tabulation import CellSuppression
from sfumato.tabulation.problem import HidingProblem, merge

QUICK = CellSuppression(effort="fast")


def problem_of(inner: np.ndarray, m: int = 5, *, kept: tuple[int, ...] = ()) -> HidingProblem:
    """A table of two ways with totals, in which 1 to m - 1 is sensitive."""
    relations, values = two_way(inner)
    counts = np.ones(inner.shape)
    least = two_way(np.where(inner > 0, counts, 0))[1]
    keep = np.zeros(len(values), bool)
    keep[list(kept)] = True
    sensitive = (values > 0) & (values < m)
    keep |= values == 0  # zeros are published
    return HidingProblem(
        relations, values, least, sensitive, least, np.maximum(m - 1, least + 1), np.ones(len(values)),
        keep & ~sensitive, values == 1,
    )  # fmt: skip


def opened(problem: HidingProblem, withheld: np.ndarray, *, alone: bool = False) -> int:
    attacker = Attacker(problem.published(withheld), problem.values)
    return attacker.judge(problem.targets(), alone=np.flatnonzero(problem.alone) if alone else ()).found


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=16, max_size=16))
def test_nothing_is_left_open(inner) -> None:
    problem = problem_of(np.array(inner, float).reshape(4, 4))
    try:
        pattern = QUICK.protect(problem)
    except DataError as error:
        assert "cannot be hidden" in error.message
        return
    assert opened(problem, pattern.withheld, alone=True) == 0
    assert pattern.withheld[problem.sensitive].all() and not pattern.withheld[problem.kept].any()


def test_exact_is_the_least_of_all_patterns() -> None:
    inner = np.array([[1, 20, 9], [30, 2, 8], [9, 14, 11]], float)
    totals = tuple(i for i in range(16) if i % 4 == 3 or i >= 12)
    problem = problem_of(inner, kept=totals)
    method = CellSuppression(effort="exact", contributors=False, work_limit=300, time_limit=20)
    pattern = method.protect(problem)
    free = [i for i in range(16) if not problem.sensitive[i] and i not in totals]
    least = min(
        int(withheld.sum())
        for size in range(int(pattern.cost))
        for chosen in itertools.combinations(free, size)
        if (withheld := problem.sensitive | np.isin(np.arange(16), chosen)).sum() <= pattern.cost
        and opened(problem, withheld) == 0
    )
    assert pattern.cost == least == pattern.bound and pattern.gap == 0


def test_a_total_and_its_only_part_are_one() -> None:
    problem = problem_of(np.array([[3], [9], [9]], float))
    merged = merge(problem)
    assert merged.of[0] == merged.of[1]  # the row's only part, and its total
    assert merged.problem.size == 4 and merged.problem.cost.tolist() == [2, 2, 2, 2]
    assert QUICK.protect(problem).withheld[[0, 1]].all()


def test_a_contributor_who_is_alone_finds_nothing() -> None:
    """Two cells of one person each in a row hide each other, but not from either of the two persons."""
    inner = np.array([[1, 1, 30, 30], [40, 40, 30, 30], [40, 40, 30, 30]], float)
    problem = problem_of(inner)
    careless = CellSuppression(effort="fast", contributors=False).protect(problem).withheld
    careful = QUICK.protect(problem)
    assert opened(problem, careful.withheld, alone=True) == 0
    assert careful.withheld.sum() >= careless.sum()


def known_by_some_coalition(problem: HidingProblem, withheld: np.ndarray, size: int) -> set[int]:
    """The slow, obvious way: every set of cells whose people are at most so many, by a program of its own."""
    published = problem.published(withheld)
    people = problem.known_to(size)
    cells = [c for c in people if withheld[c]]
    found = set()
    for number in range(1, size + 1):
        for chosen in itertools.combinations(cells, number):
            if sum(people[c] for c in chosen) > size:
                continue
            low, high = published.low.copy(), published.high.copy()
            low[list(chosen)] = high[list(chosen)] = problem.values[list(chosen)]
            told = Attacker(Published(published.relations, low, high, published.whole), problem.values)
            for target in problem.targets():
                if target.cell not in chosen:
                    seen = told.judge([Target(target.cell, -np.inf, np.inf)], ends=True)
                    if seen.high[0] - seen.low[0] < 0.5:
                        found.add(target.cell)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_coalition_finds_what_all_coalitions_by_hand_find(seed: int) -> None:
    inner = np.random.default_rng(seed).choice([1, 1, 2, 20, 30, 40, 50], (3, 4)).astype(float)
    problem = replace(problem_of(inner), people=two_way(inner)[1].astype(np.int64))
    withheld = CellSuppression(effort="fast").protect(problem).withheld  # safe against one, not against two
    found = Attacker(problem.published(withheld), problem.values).judge(
        problem.targets(), alone=problem.known_to(2), coalition=2
    )
    opened_cells = {c for _, c in found.victims} | {c for _, c in found.coalitions}
    assert opened_cells == known_by_some_coalition(problem, withheld, 2)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_who_tell_each_other_find_nothing(seed: int) -> None:
    inner = np.random.default_rng(seed).choice([1, 1, 2, 20, 30, 40, 50], (3, 4)).astype(float)
    problem = replace(problem_of(inner), people=two_way(inner)[1].astype(np.int64))
    pair = CellSuppression(effort="fast", coalition=2).protect(problem)
    assert pair.cost >= CellSuppression(effort="fast").protect(problem).cost
    assert not known_by_some_coalition(problem, pair.withheld, 2)


def test_what_must_stay_and_cannot_is_said_with_its_price() -> None:
    inner = np.array([[2, 20], [30, 40]], float)
    with pytest.raises(DataError, match="1 sensitive cell cannot be hidden while") as caught:
        QUICK.protect(problem_of(inner, kept=(1, 2, 5, 6, 7, 8)))
    assert "withholding" in caught.value.hint
    with pytest.raises(DataError, match="must be published are sensitive"):
        problem = problem_of(inner)
        problem.kept[0] = True
        QUICK.protect(problem)


def test_costs_follow_what_is_kept_low() -> None:
    counts = np.array([0.0, 1.0, 100.0])
    assert CellSuppression(cost="cells").costs(counts).tolist() == [1, 1, 1]
    assert CellSuppression(cost="counts").costs(counts).tolist() == [1, 1, 100]
    assert CellSuppression(cost="log counts").costs(counts)[2] == pytest.approx(1 + np.log(100))


@pytest.mark.parametrize(
    "wrong",
    [
        {"effort": "hard"},
        {"cost": "money"},
        {"time_limit": 0},
        {"work_limit": 0},
        {"work_limit": True},
        {"coalition": 0},
    ],
)
def test_settings_are_checked(wrong) -> None:
    with pytest.raises(ParameterError):
        CellSuppression(**wrong)


def test_work_limit_gives_the_same_pattern_again() -> None:
    inner = np.random.default_rng(3).integers(0, 15, (6, 6)).astype(float)
    method = CellSuppression(work_limit=200)
    first, second = (method.protect(problem_of(inner)) for _ in range(2))
    assert np.array_equal(first.withheld, second.withheld)
    assert first.cost <= QUICK.protect(problem_of(inner)).cost
    assert isinstance(problem_of(inner).targets()[0], Target)
