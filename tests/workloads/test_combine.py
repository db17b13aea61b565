"""Combining rules: the formulas by hand, and their coverage where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.workloads.combination import combine_estimates


def test_fully_synthetic_by_hand() -> None:
    found = combine_estimates([1.0, 2.0, 6.0], [0.5, 0.7, 0.6])
    assert found.estimate == 3 and found.between == 7 and found.within == pytest.approx(0.6)
    assert found.variance == pytest.approx(4 / 3 * 7 - 0.6)
    assert found.df == pytest.approx(2 * (1 - 0.6 / (28 / 3)) ** 2)
    low, high = found.interval(0.9)
    half = stats.t.ppf(0.95, found.df) * math.sqrt(found.variance)
    assert (low, high) == (pytest.approx(3 - half), pytest.approx(3 + half))


def test_a_negative_variance_becomes_the_variant() -> None:
    found = combine_estimates([1.0, 1.1], [2.0, 4.0], size_ratio=0.5)
    assert found.non_negative and found.variance == 1.5 and math.isinf(found.df)


def test_partially_synthetic_by_hand() -> None:
    found = combine_estimates([1.0, 2.0, 6.0], [0.5, 0.7, 0.6], kind="partially")
    assert found.variance == pytest.approx(7 / 3 + 0.6)
    assert found.df == pytest.approx(2 * (1 + 0.6 * 3 / 7) ** 2)
    assert combine_estimates([1.0, 1.0], [1.0, 1.0], kind="partially").df == math.inf


def test_missing_cells_filled_by_hand() -> None:
    found = combine_estimates([1.0, 2.0, 6.0], [0.5, 0.7, 0.6], kind="missing")
    assert found.variance == pytest.approx(4 / 3 * 7 + 0.6)
    assert found.df == pytest.approx(2 * (1 + 0.6 / (28 / 3)) ** 2)


def test_intervals_cover_the_mean() -> None:
    """Normal data, ten synthetic files drawn from the posterior; 2,000 worlds, false-alarm rate 1e-6."""
    draw = np.random.default_rng(4)
    worlds, n, m, hits = 2_000, 100, 10, 0
    for _ in range(worlds):
        data = draw.normal(1.0, 2.0, n)
        centre, spread = data.mean(), data.std(ddof=1)
        sigma = spread * np.sqrt((n - 1) / draw.chisquare(n - 1, m))
        mu = draw.normal(centre, sigma / np.sqrt(n))
        files = draw.normal(mu[:, None], sigma[:, None], (m, n))
        low, high = combine_estimates(files.mean(axis=1), files.var(axis=1, ddof=1) / n).interval(0.95)
        hits += low <= 1.0 <= high
    # The t law is an approximation: nominal 95% must not be refuted by more than three points.
    assert stats.binomtest(hits, worlds, 0.92, alternative="less").pvalue > 1e-6
    assert stats.binomtest(hits, worlds, 0.995, alternative="greater").pvalue > 1e-6


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="two at least"):
        combine_estimates([1.0], [1.0])
    with pytest.raises(ParameterError, match="not negative"):
        combine_estimates([1.0, 2.0], [1.0, -1.0])
    with pytest.raises(ParameterError, match="kind is fully, partially or missing"):
        combine_estimates([1.0, 2.0], [1.0, 1.0], kind="half")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="confidence"):
        combine_estimates([1.0, 2.0], [1.0, 1.0]).interval(1.0)
