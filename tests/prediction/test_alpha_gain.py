"""The alpha-gain: against eighty digits, the chapter's named divergences, and every case of Table 5.1."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tree_oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from sfumato.prediction import _kernels

counts = st.integers(0, 40)
tables = st.tuples(counts, counts, counts, counts)
alphas = st.floats(-4, 5).filter(lambda a: a == 0 or abs(a) > 1e-20)  # the oracle has eighty digits
NEAR = [0.0, 1.0, 0.5, -1.0, 2.0, -1e-12, 1e-9, 1 - 1e-12, 1 + 1e-9, 3.0, 0.1]


@given(tables, st.one_of(alphas, st.sampled_from(NEAR)))
@example((5, 0, 3, 7), 1.0)
@example((5, 0, 3, 7), 0.0)
@example((1, 39, 40, 1), 1 - 1e-15)
@settings(max_examples=200, deadline=None)
def test_kernel_and_oracle_agree(table: tuple[int, int, int, int], alpha: float) -> None:
    slow = tree_oracle.gain(table, alpha)
    for gain in (_kernels.alpha_gain, _kernels.alpha_gain.py_func):  # type: ignore[attr-defined]
        found = gain(*table, alpha)
        assert found == slow if math.isinf(slow) else found == pytest.approx(slow, rel=1e-9, abs=1e-14)


def laws(table: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    p = np.array(table, float).reshape(2, 2) / sum(table)
    return p, np.outer(p.sum(1), p.sum(0))


FULL = (13, 4, 6, 21)


def test_the_named_divergences() -> None:
    """Equations (5.3) to (5.7)."""
    p, q = laws(FULL)
    named = {
        -1.0: ((q - p) ** 2 / p).sum() / 2,
        0.0: (q * np.log(q / p)).sum(),
        0.5: 2 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(),
        1.0: (p * np.log(p / q)).sum(),
        2.0: ((p - q) ** 2 / q).sum() / 2,
    }
    for alpha, value in named.items():
        assert _kernels.alpha_gain(*FULL, alpha) == pytest.approx(value, rel=1e-12)


def test_alpha_one_is_the_information_gain_of_c45() -> None:
    x = np.repeat([1, 1, 0, 0], FULL)
    y = np.repeat([1, 0, 1, 0], FULL)
    assert _kernels.alpha_gain(*FULL, 1.0) == pytest.approx(mutual_info_score(x, y), rel=1e-12)


@given(tables, st.sampled_from([0.0, 1.0]))
@settings(max_examples=50, deadline=None)
def test_the_limits_are_reached_without_a_jump(table: tuple[int, int, int, int], limit: float) -> None:
    at = _kernels.alpha_gain(*table, limit)
    if math.isfinite(at):
        for step in (1e-5, -1e-5, 1e-8, -1e-8, 1e-13):
            near = _kernels.alpha_gain(*table, limit + step)
            assert math.isinf(near) or near == pytest.approx(at, rel=200 * abs(step), abs=1e-13)


@given(tables, alphas)
@settings(max_examples=100, deadline=None)
def test_laws(table: tuple[int, int, int, int], alpha: float) -> None:
    """Not negative, zero for independence, and the same when classes, sides or both are exchanged."""
    a, b, c, d = table
    gain = _kernels.alpha_gain(*table, alpha)
    assert gain >= 0
    same = [(c, d, a, b), (b, a, d, c), (d, c, b, a), (a, c, b, d)]
    for other in same:
        other_gain = _kernels.alpha_gain(*other, alpha)
        assert other_gain == gain or other_gain == pytest.approx(gain, rel=1e-9, abs=1e-15)
    assert _kernels.alpha_gain(2 * a, 2 * b, 3 * a, 3 * b, alpha) == 0


@pytest.mark.parametrize("alpha", [1e-300, -5e-324, 1e-96])
def test_an_alpha_next_to_nothing_is_zero(alpha: float) -> None:
    assert _kernels.alpha_gain(*FULL, alpha) == pytest.approx(_kernels.alpha_gain(*FULL, 0.0), rel=1e-12)


def test_large_counts_do_not_overflow() -> None:
    big = 10**9
    assert _kernels.alpha_gain(big, big, big, big, 0.3) == 0
    assert _kernels.alpha_gain(big, 0, 0, big, 2.0) == pytest.approx(0.5, rel=1e-12)


@given(tables, st.one_of(st.sampled_from([0.5, 1.0, 2.0]), st.floats(0.05, 3)))
@settings(max_examples=100, deadline=None)
def test_the_range_over_the_eight_cases(table: tuple[int, int, int, int], alpha: float) -> None:
    gains = [tree_oracle.gain(case, alpha) for case in tree_oracle.cases(table)]
    kappa, lambda_ = _kernels.gain_range(*table, alpha)
    assert kappa == pytest.approx(min(gains), rel=1e-9, abs=1e-14)
    assert lambda_ == pytest.approx(max(gains), rel=1e-9, abs=1e-14)


def test_a_row_that_is_not_there_cannot_go() -> None:
    assert len(tree_oracle.cases((0, 0, 2, 2))) == 6
    # Taking from an empty cell would give a negative count, and a NaN or a larger gain than any.
    assert _kernels.gain_range(0, 0, 2, 2, 2.0) == (0.0, pytest.approx(1 / 12))
