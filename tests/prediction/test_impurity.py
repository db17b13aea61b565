"""The score of a split: what its privacy rests on holds exactly, for every alpha and every count."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.assessment.audit import exact_epsilon
from sfumato.errors import ParameterError
from sfumato.prediction.forest import AlphaForest
from sfumato.prediction.impurity import MOST_ROWS, UNIT, Impurity
from sfumato.privacy import Ledger

ALPHAS = st.one_of(st.floats(1.01, 64), st.sampled_from([1.01, 1.5, 2.0, 3.0, 64.0]))
COUNTS = st.integers(0, 5_000_000)


def oracle(n0: int, n1: int, alpha: float) -> float:
    n = n0 + n1
    return n * (1 - (n0 / n) ** alpha - (n1 / n) ** alpha) / (alpha - 1) if n else 0.0


@given(ALPHAS, COUNTS, COUNTS, st.integers(0, 1))
def test_a_row_raises_the_impurity_by_0_to_its_sensitivity(alpha: float, n0: int, n1: int, y: int) -> None:
    impurity = Impurity.of(alpha)
    counts = np.array([n0, n1])
    step = impurity.of_counts(counts + np.eye(2, dtype=int)[y]) - impurity.of_counts(counts)
    assert 0 <= step <= impurity.sensitivity
    assert impurity.sensitivity <= math.ceil(UNIT * alpha / (alpha - 1))


@given(st.floats(1.05, 64), st.integers(0, 10_000), st.integers(0, 10_000))
def test_it_is_the_alpha_impurity_but_for_what_noise_hides(alpha: float, n0: int, n1: int) -> None:
    found = int(Impurity.of(alpha).of_counts(np.array([n0, n1]))) / UNIT
    # Planes 1/256 apart leave a gap of f''/8 (1/256)^2 a row, the largest f'' being about alpha^2 here.
    assert found - oracle(n0, n1, alpha) <= (n0 + n1) * (alpha * alpha / 8 / 256**2 + 2 / UNIT) + 1e-6
    assert found - oracle(n0, n1, alpha) >= -(n0 + n1) * 2 / UNIT


@given(ALPHAS)
def test_the_most_rows_are_summed_without_wrapping_around(alpha: float) -> None:
    impurity = Impurity.of(alpha)
    for counts in ([MOST_ROWS, 0], [0, MOST_ROWS], [MOST_ROWS // 2, MOST_ROWS // 2]):
        exact = min(a * counts[0] + b * counts[1] for a, b in impurity.planes.tolist())
        assert int(impurity.of_counts(np.array(counts))) == exact
    with pytest.raises(ParameterError):
        Impurity(2.0, np.array([[2**50, 0], [0, 2**50]]))


@pytest.mark.parametrize("alpha", [1 + 1e-15, 1.0001, 1.0, math.nan])
def test_a_forest_refuses_such_an_alpha_before_it_spends(alpha: float) -> None:
    ledger = Ledger.in_memory(1.0)
    with pytest.raises(ParameterError, match=r"1\.01"):
        AlphaForest(1.0, (0.0, 1.0), alpha=alpha, anyway=True).fit(
            np.zeros((20, 1)), [0, 1] * 10, ledger=ledger
        )
    assert ledger.spent == 0


@pytest.mark.parametrize("alpha", [1.0, 0.5, 1.0001, 65.0, math.nan])
def test_alpha_must_be_above_one(alpha: float) -> None:
    with pytest.raises(ParameterError):
        Impurity.of(alpha)


def test_planes_that_could_fall_are_refused() -> None:
    with pytest.raises(ParameterError):
        Impurity(2.0, np.array([[0, -1]]))


def permute_and_flip(scores: list[int], scale: float) -> list[float]:
    """Its exact law: walk through every order; accept each in turn with exp((score - best) / scale)."""
    best = max(scores)
    accept = [math.exp((s - best) / scale) for s in scores]
    law = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        open_ = 1.0
        for i in order:
            law[i] += open_ * accept[i] / len(orders)
            open_ *= 1 - accept[i]
    return law


TABLES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2, max_size=2)


@given(
    st.sampled_from([1.2, 2.0, 4.0]),
    st.lists(TABLES, min_size=2, max_size=4),
    st.lists(st.integers(0, 1), min_size=4, max_size=4),
    st.integers(0, 1),
    st.sampled_from([0.1, 1.0, 4.0]),
)
def test_a_choice_among_splits_keeps_its_epsilon_exactly(
    alpha: float, tables: list[list[tuple[int, int]]], sides: list[int], y: int, epsilon: float
) -> None:
    """One row more, on whatever side of each split: the two exact laws are within epsilon, without a 2."""
    impurity = Impurity.of(alpha)
    before, after = [], []
    for table, side in zip(tables, sides, strict=False):
        cells = np.array(table)
        before.append(int(impurity.score(cells[0], cells.sum(axis=0))))
        cells[side, y] += 1
        after.append(int(impurity.score(cells[0], cells.sum(axis=0))))
    assert all(a <= b for a, b in zip(after, before, strict=True))  # monotone
    scale = impurity.sensitivity / epsilon
    found = exact_epsilon(permute_and_flip(before, scale), permute_and_flip(after, scale))
    assert found <= epsilon * (1 + 1e-9)


def level_laws(
    impurity: Impurity,
    nodes: list[list[tuple[int, int]]],
    rows: list[tuple[int, int, int, int]],
    scale: float,
) -> tuple[list[float], list[float]]:
    """The laws of all choices of a level without and with a person's rows, (node, split sides and outcome).

    nodes: of each, the cells (both sides, by outcome) under two candidate splits, one after the other.
    """
    without, with_rows = [1.0], [1.0]
    for place, cells in enumerate(nodes):
        before = np.array(cells).reshape(2, 2, 2)
        after = before.copy()
        for node, first, second, y in rows:
            if node == place:
                after[0, first, y] += 1
                after[1, second, y] += 1
        for law, counts in ((without, before), (with_rows, after)):
            scores = [int(impurity.score(c[0], c.sum(axis=0))) for c in counts]
            law[:] = [p * q for p in law for q in permute_and_flip(scores, scale)]
    return without, with_rows


CELL = st.tuples(st.integers(0, 20), st.integers(0, 20))
ROWS = st.lists(st.tuples(st.integers(0, 1), *[st.integers(0, 1)] * 3), min_size=1, max_size=3)


@given(
    st.sampled_from([1.2, 2.0, 4.0]),
    st.lists(st.lists(CELL, min_size=4, max_size=4), min_size=2, max_size=2),
    ROWS,
    st.sampled_from([0.1, 1.0, 4.0]),
)
def test_a_level_keeps_its_epsilon_for_a_person_exactly(
    alpha: float,
    nodes: list[list[tuple[int, int]]],
    rows: list[tuple[int, int, int, int]],
    epsilon: float,
) -> None:
    """Up to three rows, in one node or both; each spends all of epsilon, at three times a row's scale."""
    impurity = Impurity.of(alpha)
    laws = level_laws(impurity, nodes, rows, 3 * impurity.sensitivity / epsilon)
    assert exact_epsilon(*laws) <= epsilon * (1 + 1e-9)


def test_a_level_at_the_scale_of_one_row_would_not() -> None:
    impurity = Impurity.of(2.0)
    node = [(20, 0), (0, 20), (10, 10), (10, 10)]  # one split that tells all, one that tells nothing
    rows = [(place, 0, 0, 1) for place in (0, 1)]  # a row in each node, against what the first split tells
    one, two = (level_laws(impurity, [node, node], rows, k * impurity.sensitivity / 1.0) for k in (1, 2))
    assert exact_epsilon(*two) <= 1.0 < exact_epsilon(*one)
