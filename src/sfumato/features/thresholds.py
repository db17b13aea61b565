"""Thresholds that cut a range, stated or read off the data."""

from __future__ import annotations

import numpy as np

from sfumato.features.numbers import Floats


def steps(low: float, high: float, count: int) -> tuple[float, ...]:
    """Thresholds that cut the stated range into equal parts."""
    return tuple(float(t) for t in np.unique(np.linspace(low, high, count + 2)[1:-1]))


def quantiles(numbers: Floats, count: int) -> tuple[float, ...]:
    """At most so many thresholds read off the data: midway between neighbours, so none hits a value."""
    distinct = np.unique(numbers)
    if len(distinct) < 2:
        return ()
    middles = distinct[:-1] + np.diff(distinct) / 2
    if len(middles) > count:
        wanted = np.quantile(numbers, np.linspace(0, 1, count + 2)[1:-1])
        middles = middles[np.unique(np.searchsorted(middles, wanted).clip(0, len(middles) - 1))]
    return tuple(float(m) for m in np.unique(middles))
