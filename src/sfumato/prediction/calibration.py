"""Turning a sum of log-odds into a probability that means what it says, from one more noisy histogram.

Adding up the log-odds of features that say the same thing counts it twice: sums are too sure of themselves.
So the sums are counted in eight bins by outcome, with noise, and a slope and a base are fitted to the counts.
The bins lie where the released tables say that sums will fall, so they tell nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# In units of the spread of the sums: where bins end, and where their rows are on average.
_CUTS = np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
_MIDDLES = np.array([-2.0, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 2.0])
BINS = len(_MIDDLES)
_SLOPE_SPREAD = 0.6  # in log units
_BASE_SPREAD = 1.0
_SLOPES = np.exp(np.linspace(-2.3, 1.4, 50))  # as a multiple of the expected one
_BASES = np.linspace(-2.0, 2.0, 81)


def moments(shares: Sequence[Floats], values: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Mean and variance of each part of a sum.  shares: noisy counts of its values."""
    means, variances = [], []
    for share, value in zip(shares, values, strict=True):
        weight = np.maximum(share, 0) + 1e-9
        weight = weight / weight.sum()
        means.append(float(weight @ value))
        variances.append(max(float(weight @ value**2) - means[-1] ** 2, 0.0))
    return np.array(means), np.array(variances)


def where(sums: Floats, centre: float, spread: float) -> NDArray[np.int64]:
    """The bin of each sum: of each row on its own."""
    return np.searchsorted(centre + (spread + 1e-6) * _CUTS, sums).astype(np.int64)


def fitted(
    counts: Ints, scale: float, centre: float, spread: float, base: float, slope: float
) -> tuple[float, float]:
    """Base and slope: the mean of what is believed after seeing noisy counts (bins, 2) of that scale.

    On a grid of both, with the noise in the likelihood, so that little evidence moves little.
    base, slope: what is expected before looking.
    """
    rows = np.maximum(counts.sum(axis=1), 0).astype(np.float64)
    bases, slopes = base + _BASES, slope * _SLOPES
    middles = centre + (spread + 1e-6) * _MIDDLES
    p = 1 / (1 + np.exp(-(bases[:, None, None] + slopes[None, :, None] * middles)))
    variance = rows * p * (1 - p) + 2 * scale**2 * ((1 - p) ** 2 + p**2) + 1e-9
    gap = counts[:, 1] - p * counts.sum(axis=1)
    belief = -0.5 * (gap**2 / variance + np.log(variance)).sum(axis=-1)
    belief -= 0.5 * (np.log(_SLOPES) / _SLOPE_SPREAD)[None, :] ** 2
    belief -= 0.5 * (_BASES / _BASE_SPREAD)[:, None] ** 2
    mass = np.exp(belief - belief.max())
    mass /= mass.sum()
    return float(mass.sum(axis=1) @ bases), float(np.exp(mass.sum(axis=0) @ np.log(slopes)))
