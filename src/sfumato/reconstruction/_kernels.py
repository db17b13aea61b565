"""Inner loops of reconstruction: typed, free of I/O, imported when first needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def add_rows(rows: NDArray[np.int64], xt: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """The sums behind A X: xt (d, people), X', added to out (d, p) at the row of each person; -1 is nowhere.

    Column after column, so that the sums of one stay in the cache.
    """
    for j in range(xt.shape[0]):
        for i in range(xt.shape[1]):
            r = rows[i]
            if r >= 0:
                out[j, r] += xt[j, i]


@compiled
def reassign(
    cost: NDArray[np.float64],
    group: NDArray[np.int64],
    s: NDArray[np.float64],
    eta: NDArray[np.float64],
    stiff: NDArray[np.float64],
    members: NDArray[np.float64],
    z: NDArray[np.int64],
) -> int:
    """One greedy sweep of CUDIA with one-hot U: each person moves to the cluster that costs least.

    The cost of cluster b for person i is cost[i, b] = -log p(x_i | b) plus what the move does to
    sum over columns of stiff[p] (s[p] - sum_k members[p, k] eta[k] / N_p)^2, with stiff = 1 / (2 Sigma_p^2).
    cost: (n, K); s, stiff: (P, c); eta: (K, c); members: (P, K) and z: (n,) are updated. A person in group -1
    has no s. Returns the number of moves.
    """
    clusters = cost.shape[1]
    columns = s.shape[1]
    sizes = np.zeros(members.shape[0])
    mean = np.zeros((members.shape[0], columns))
    for p in range(members.shape[0]):
        for k in range(clusters):
            sizes[p] += members[p, k]
        for c in range(columns):
            for k in range(clusters):
                mean[p, c] += members[p, k] * eta[k, c]
            if sizes[p] > 0:
                mean[p, c] /= sizes[p]
    moves = 0
    for i in range(cost.shape[0]):
        p = group[i]
        now = z[i]
        best = now
        least = np.inf
        for b in range(clusters):
            total = cost[i, b]
            if p >= 0:
                for c in range(columns):
                    gap = s[p, c] - mean[p, c] - (eta[b, c] - eta[now, c]) / sizes[p]
                    total += stiff[p, c] * gap * gap
            if total < least - 1e-12:
                least = total
                best = b
        if best != now:
            moves += 1
            z[i] = best
            if p >= 0:
                members[p, now] -= 1.0
                members[p, best] += 1.0
                for c in range(columns):
                    mean[p, c] += (eta[best, c] - eta[now, c]) / sizes[p]
    return moves
