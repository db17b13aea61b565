"""From noisy counts to log-odds: post-processing, and the part that makes small data useful.

The rate of a bin is drawn towards that of the half it lies in, that towards the whole, each the more the
less its rows stand out from the noise (dyadic shrinkage). Levels without order, and missing, are drawn
towards the whole at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STRENGTH = 8.0  # rows that a rate is drawn to its half with, in units of the noise of its count
PRIOR = 2.0  # and at least so many


def totals(tables: Sequence[Ints], scale: float, outcomes: Ints, own_scale: float) -> tuple[float, float]:
    """How many rows have each outcome: all noisy tables say so, the better the less noise they add up."""
    precisions = [1 / (2 * scale**2 * len(t)) for t in tables] + [1 / (2 * own_scale**2)]
    sums = np.array([*(t.sum(axis=0) for t in tables), outcomes], np.float64)
    mean = np.array(precisions) @ sums / sum(precisions)
    sigma = 1 / math.sqrt(sum(precisions))
    negative, positive = max(float(mean[0]), 0.0), max(float(mean[1]), 0.0)
    # Half a row of noise on each side: a rate of nothing but noise is one half, and none is 0 or 1.
    rate = (positive + 0.5 * sigma) / (positive + negative + sigma)
    rows = max(negative + positive, 2.0)
    return rows * (1 - rate), rows * rate


def log_odds_of(table: Ints, overall: float, scale: float, ordered: bool, missing: bool) -> Floats:
    """The log-odds that each bin adds.  table: (codes, 2) noisy counts; scale: of their noise.

    overall: the rate of the whole.
    """
    rates = np.full(len(table), overall)
    bins = len(table) - missing

    def settle(first: int, last: int, towards: float) -> None:
        """Rates of the bins first .. last - 1, drawn towards that of the range they lie in."""
        rate = drawn(table[first:last], towards, scale)
        if last - first == 1:
            rates[first] = rate
            return
        middle = (first + last) // 2
        settle(first, middle, rate)
        settle(middle, last, rate)

    if ordered and bins > 1:
        settle(0, bins // 2, overall)
        settle(bins // 2, bins, overall)
    for place in range(bins if ordered and bins > 1 else 0, len(table)):
        rates[place] = drawn(table[place : place + 1], overall, scale)
    odds: Floats = np.log(rates / (1 - rates)) - math.log(overall / (1 - overall))
    return odds


def drawn(counts: Ints, towards: float, scale: float, strength: float = STRENGTH) -> float:
    """A rate between what was counted and what is expected."""
    rows = float(max(counts.sum(), 0))
    positive = min(max(float(counts[:, 1].sum()), 0.0), rows)
    against = PRIOR + strength * scale * math.sqrt(len(counts))
    return (positive + against * towards) / (rows + against)


def monotone_weights(weights: Floats, table: Ints, direction: str, missing: bool) -> Floats:
    """The nearest weights in the order asked for, bins weighed by their rows; missing as it is."""
    from sklearn.isotonic import isotonic_regression

    bins = len(weights) - missing
    rows = np.maximum(table[:bins].sum(axis=1), 1).astype(np.float64)
    out = weights.copy()
    out[:bins] = isotonic_regression(weights[:bins], sample_weight=rows, increasing=direction == "increasing")
    return out
