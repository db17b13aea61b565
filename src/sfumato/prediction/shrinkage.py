"""From noisy counts to log-odds: post-processing, and the part that makes small data useful.

The rate of a bin is drawn towards that of the half it lies in, that towards the whole, each the more the
less its rows stand out from the noise (dyadic shrinkage). Levels without order, and missing, are drawn
towards the whole at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STRENGTH = 3.0  # rows that a rate is drawn to its half with, in units of the noise of its count
PRIOR = 2.0  # and at least so many


def totals(tables: Sequence[Ints], rows: float) -> tuple[float, float]:
    """How many rows have each outcome: every table says so, the better the fewer cells it has."""
    weights = np.array([1 / len(t) for t in tables])
    sums = np.array([t.sum(axis=0) for t in tables], np.float64)
    mean = (weights[:, None] * sums).sum(axis=0) / weights.sum()
    floor = max(1.0, 0.001 * rows)
    return float(max(mean[0], floor)), float(max(mean[1], floor))


def log_odds_of(
    table: Ints, negative: float, positive: float, scale: float, ordered: bool, missing: bool
) -> Floats:
    """The log-odds that each bin adds.  table: (codes, 2) noisy counts; scale: of their noise."""
    overall = positive / (positive + negative)
    rates = np.full(len(table), overall)
    bins = len(table) - missing

    def settle(first: int, last: int, towards: float) -> None:
        """Rates of the bins first .. last - 1, drawn towards that of the range they lie in."""
        rate = _drawn(table[first:last], towards, scale)
        if last - first == 1:
            rates[first] = rate
            return
        middle = (first + last) // 2
        settle(first, middle, rate)
        settle(middle, last, rate)

    if ordered and bins > 1:
        settle(0, bins // 2, overall)
        settle(bins // 2, bins, overall)
    single = range(bins, len(table)) if ordered and bins > 1 else range(len(table))
    for place in single:
        rates[place] = _drawn(table[place : place + 1], overall, scale)
    odds: Floats = np.log(rates / (1 - rates)) - np.log(overall / (1 - overall))
    return odds


def _drawn(counts: Ints, towards: float, scale: float) -> float:
    """A rate between what was counted and what is expected."""
    rows = float(max(counts.sum(), 0))
    positive = min(max(float(counts[:, 1].sum()), 0.0), rows)
    strength = PRIOR + STRENGTH * scale * np.sqrt(len(counts))
    return float((positive + strength * towards) / (rows + strength))


def monotone_weights(weights: Floats, table: Ints, direction: str, missing: bool) -> Floats:
    """The nearest weights in the order asked for, bins weighed by their rows; missing as it is."""
    from sklearn.isotonic import isotonic_regression

    bins = len(weights) - missing
    rows = np.maximum(table[:bins].sum(axis=1), 1).astype(np.float64)
    out = weights.copy()
    out[:bins] = isotonic_regression(
        weights[:bins], sample_weight=rows, increasing=direction == "increasing"
    )  # fmt: skip
    return out
