"""Groups of k similar numbers, or rows of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def optimal_cuts(x: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The group of each of sorted numbers x, groups of k to 2k - 1 neighbours; the least sum of squares.

    Hansen and Mukherjee (2003): an optimal grouping of numbers is one of neighbours in their order, and
    no group needs 2k or more. D(j) = min over i of D(i) + SSE(i, j), j - 2k < i <= j - k. SSE(i, j) is
    built up from j backwards (Welford), which does not cancel as sums of squares do.
    """
    n = len(x)
    best = np.full(n + 1, np.inf)
    come = np.zeros(n + 1, np.int64)
    best[0] = 0.0
    for j in range(k, n + 1):
        mean = 0.0
        sse = 0.0
        for size in range(1, min(2 * k - 1, j) + 1):
            i = j - size
            step = x[i] - mean
            mean += step / size
            sse += step * (x[i] - mean)
            if size >= k and best[i] + sse < best[j]:
                best[j] = best[i] + sse
                come[j] = i
    group = np.zeros(n, np.int64)
    j = n
    number = 0
    while j > 0:
        for i in range(come[j], j):
            group[i] = number
        number += 1
        j = come[j]
    return group


@compiled
def farthest(x: NDArray[np.float64], rows: NDArray[np.int64], m: int, c: NDArray[np.float64]) -> int:
    """The place of the row farthest from c, among the first m of `rows`."""
    most = -1.0
    found = 0
    for p in range(m):
        d = 0.0
        for j in range(x.shape[1]):
            d += (x[rows[p], j] - c[j]) ** 2
        if d > most:
            most = d
            found = p
    return found


@compiled
def take_nearest(
    x: NDArray[np.float64], rows: NDArray[np.int64], m: int, c: NDArray[np.float64], k: int,
    group: NDArray[np.int64], number: int,
) -> int:  # fmt: skip
    """The k rows nearest to c get the number and leave the first m of `rows`; how many stay."""
    d = np.zeros(m)
    for p in range(m):
        for j in range(x.shape[1]):
            d[p] += (x[rows[p], j] - c[j]) ** 2
    limit = np.partition(d, k - 1)[k - 1]
    taken = 0
    for p in range(m):
        if d[p] < limit:
            group[rows[p]] = number
            taken += 1
    kept = 0
    for p in range(m):
        if d[p] < limit:
            continue
        if d[p] == limit and taken < k:
            group[rows[p]] = number
            taken += 1
        else:
            rows[kept] = rows[p]
            kept += 1
    return kept


@compiled
def mdav(
    x: NDArray[np.float64], rows: NDArray[np.int64], k: int, group: NDArray[np.int64], number: int
) -> int:
    """MDAV (Domingo-Ferrer and Torra 2005) of the given rows, groups numbered from `number`; the next number.

    While 3k are left: r, farthest from their mean, and its k - 1 nearest; s, farthest from r, and its.
    With 2k or more: one around the farthest from the mean. The rest is a group.
    """
    rows = rows.copy()
    m = len(rows)
    q = x.shape[1]
    while m >= 2 * k:
        c = np.zeros(q)
        for p in range(m):
            for j in range(q):
                c[j] += x[rows[p], j] / m
        r = x[rows[farthest(x, rows, m, c)]].copy()
        both = m >= 3 * k
        m = take_nearest(x, rows, m, r, k, group, number)
        number += 1
        if both:
            s = x[rows[farthest(x, rows, m, r)]].copy()
            m = take_nearest(x, rows, m, s, k, group, number)
            number += 1
    if m:
        for p in range(m):
            group[rows[p]] = number
        number += 1
    return number
