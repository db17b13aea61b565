"""Inner loops of the assessment, compiled. Loaded when first needed."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def surround(
    people: NDArray[np.float32],
    rows: NDArray[np.float32],
    ranked: NDArray[np.bool_],
    far: float,
    near: NDArray[np.float64],
    kernel: NDArray[np.float64],
    best: NDArray[np.float64],
) -> None:
    """Distances d = sum over columns, of each person to each row: counts, sums and minima of them.

    people: (n, columns); rows: (m, columns); near: (n, 3), rows with d <= 0, 1, 2; kernel: (n,), the sum of
    exp(-2 d) over rows with d <= far; best: (n,), the smallest d. The last three are added to.
    """
    for i in range(people.shape[0]):
        for r in range(rows.shape[0]):
            stop = max(best[i], far)
            d = 0.0
            for j in range(people.shape[1]):
                a, b = people[i, j], rows[r, j]
                if not ranked[j]:
                    # A category that nobody in the population has (-1) is no person's.
                    if a != b or b == -1:
                        d += 1.0
                elif math.isnan(a) or math.isnan(b):
                    if not (math.isnan(a) and math.isnan(b)):
                        d += 1.0
                else:
                    gap = abs(a - b)
                    d += gap if gap < 1.0 else 1.0
                if d > stop:
                    break
            if d > stop:
                continue
            best[i] = min(best[i], d)
            if d <= far:
                kernel[i] += math.exp(-2.0 * d)
                for k in range(3):
                    if d <= k + 1e-6:
                        near[i, k] += 1.0
