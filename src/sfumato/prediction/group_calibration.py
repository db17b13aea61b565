"""Holding a score's calibration within groups: as many cases as it predicts, in each of them.

For each level g of a group, with r = y - p and w = p(1 - p) at the published score, two sums are asked:
R_g = sum r and W_g = sum w. The log-odds of the level are moved by R_g / W_g, one Newton step, drawn to
zero by the noise and by how far groups usually are apart.

Guarantee: grant.epsilon-DP.
Because:   a row is in one level of each of G groups, where it adds |y - p| + p(1 - p) = u + u(1 - u) <= 1
           in L1
           (u = |y - p|); each of the two terms is rounded to 2^-10 of that, by at most half a step. So the
           sums change by at most G (2^10 + 1) steps, L rows by L times that; discrete Laplace noise.
Assumes:   the score was published before; the levels are public, as a feature's are.
Tested by: tests/prediction/test_group_calibration.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.features.grid import Codes
from sfumato.privacy.grants import Grant
from sfumato.privacy.noise import laplace

Floats = NDArray[np.float64]
_STEPS = 2**10
_USUAL = 0.3  # how far in log-odds a group is usually off


class Shift(NamedTuple):
    """What is done to a group. moves: added to its levels' log-odds. enough: whether rows say anything."""

    moves: Floats
    enough: NDArray[np.bool_]


def shifts(
    codes: Sequence[Codes], sizes: Sequence[int], scores: Floats, outcome: Codes, most: int, grant: Grant
) -> list[Shift]:
    """Of each group (its codes, its number of levels) what to add to each level's log-odds."""
    p = 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
    residual = np.rint((outcome - p) * _STEPS).astype(np.int64)
    weight = np.rint(p * (1 - p) * _STEPS).astype(np.int64)
    parts = []
    for code, size in zip(codes, sizes, strict=True):
        sums = np.zeros((2, size), dtype=np.int64)
        np.add.at(sums[0], code, residual)
        np.add.at(sums[1], code, weight)
        parts.append(sums.T)
    noisy = laplace(np.vstack(parts), most * len(sizes) * (_STEPS + 1), grant)
    values, sigma = noisy.values / _STEPS, noisy.sigma / _STEPS
    return [_shift(v, sigma) for v in np.split(values, np.cumsum(sizes)[:-1])]


def _shift(sums: Floats, sigma: float) -> Shift:
    """sums: R and W of each level. R has the noise's variance and W of its own, what people differ by."""
    residual, weight = sums[:, 0], np.maximum(sums[:, 1], 0.0)
    signal = weight * _USUAL**2
    moves = residual * signal / (weight * signal + weight + sigma**2)
    return Shift(np.clip(moves, -1.0, 1.0), weight > 3 * sigma)


def table_of(groups: Sequence[str], sizes: Mapping[str, int], found: Sequence[Shift]) -> dict[str, Any]:
    """The shifts as a card says them."""
    return {
        name: {
            "moved": [float(v) for v in shift.moves],
            "too_small_to_say": [bool(v) for v in ~shift.enough],
        }
        for name, shift in zip(groups, found, strict=True)
        if sizes[name]
    }
