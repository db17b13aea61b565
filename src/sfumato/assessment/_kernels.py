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
    ranked: int,
    far: float,
    near: NDArray[np.float64],
    kernel: NDArray[np.float64],
    best: NDArray[np.float64],
) -> None:
    """Distances d = sum over columns, of each person to each row: counts, sums and minima of them.

    people: (n, columns); rows: (m, columns). The last `ranked` columns are numbers, the others codes, of
    which NaN equals nothing. near: (n, 3), rows with d <= 0, 1, 2; kernel: (n,), the sum of exp(-2 d) over
    rows with d <= far; best: (n,), the smallest d. The last three are added to.
    """
    width = people.shape[1]
    codes = width - ranked
    for i in range(people.shape[0]):
        for r in range(rows.shape[0]):
            differ = 0
            for j in range(codes):
                differ += people[i, j] != rows[r, j]  # no branch: half of them would be guessed wrong
            stop = max(best[i], far)
            d = float(differ)
            if d > stop:
                continue
            for j in range(codes, width):
                gap = abs(people[i, j] - rows[r, j])
                d += gap if gap < 1.0 else 1.0  # also where a gap is no number
            if d > stop:
                continue
            best[i] = min(best[i], d)
            if d <= far:
                kernel[i] += math.exp(-2.0 * d)
                for k in range(3):
                    if d <= k + 1e-6:
                        near[i, k] += 1.0


@numba.njit(nogil=True, cache=True)
def kendall_rows(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """PeGS 4.3, Kendall's tau-b of each row of p with the same row of q; NaN where one is constant.

    p, q: (rows, C). tau = (concordant - discordant) / sqrt(pairs untied in p * pairs untied in q).
    """
    rows, size = p.shape
    out = np.empty(rows)
    for r in range(rows):
        agree = 0
        untied_p = 0
        untied_q = 0
        for i in range(size):
            for j in range(i):
                a = int(p[r, i] > p[r, j]) - int(p[r, i] < p[r, j])
                b = int(q[r, i] > q[r, j]) - int(q[r, i] < q[r, j])
                agree += a * b
                untied_p += a * a
                untied_q += b * b
        scale = math.sqrt(float(untied_p)) * math.sqrt(float(untied_q))
        out[r] = agree / scale if scale > 0 else np.nan
    return out
