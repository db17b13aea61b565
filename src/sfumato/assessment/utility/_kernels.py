"""Inner loops of utility: typed, free of I/O, imported when first needed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
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


@compiled
def spearman_rows(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """PeGS 4.3, Spearman's rho of each row of p with the same row of q; NaN where one is constant.

    p, q: (rows, C). Ranks are means over ties: less + (equal + 1) / 2, here less their mean (C + 1) / 2.
    """
    rows, size = p.shape
    out = np.empty(rows)
    centre = (size + 1) / 2
    for r in range(rows):
        both = 0.0
        first = 0.0
        second = 0.0
        for i in range(size):
            a = 0.5 - centre
            b = 0.5 - centre
            for j in range(size):
                a += int(p[r, j] < p[r, i]) + 0.5 * int(p[r, j] == p[r, i])
                b += int(q[r, j] < q[r, i]) + 0.5 * int(q[r, j] == q[r, i])
            both += a * b
            first += a * a
            second += b * b
        scale = math.sqrt(first) * math.sqrt(second)
        out[r] = both / scale if scale > 0 else np.nan
    return out
