"""All classes of two or three rows that lie near each other: the columns of a set partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.anonymization.local._kernels.boxes import copy_box, join, joined, loss_of
from sfumato.anonymization.local.forest import HierarchyForest


@compiled
def distances(f: HierarchyForest, x: NDArray[np.int32]) -> NDArray[np.float64]:
    """(combinations, combinations): L(x v y)."""
    m = len(x)
    found = np.empty((m, m), np.float64)
    for i in range(m):
        for j in range(i, m):
            found[i, j] = joined(f, x[i], x[j])
            found[j, i] = found[i, j]
    return found


@compiled_lean
def three(f: HierarchyForest, x: NDArray[np.int32], a: int, b: int, c: int, box: NDArray[np.int32]) -> float:
    """L(a v b v c)."""
    copy_box(box, x[a])
    join(f, box, x[b])
    join(f, box, x[c])
    return loss_of(f, box)


@compiled_lean
def listed(
    f: HierarchyForest, x: NDArray[np.int32], rows: NDArray[np.int64], near: NDArray[np.int64], few: int,
    box: NDArray[np.int32], who: NDArray[np.int64], cost: NDArray[np.float64],
) -> int:  # fmt: skip
    """Classes of two and three rows: each combination with those near it; how many. Some come twice.

    rows: (combinations,), how many each has. near: (combinations, many), the nearest of each; threes are made
    of the first `few`. who: (room, 3), members in ascending order, -1: none; cost: (room,), what all rows of
    the class lose.
    """
    at = 0
    for i in range(len(x)):
        own = loss_of(f, x[i])
        if rows[i] >= 2:
            who[at, 0], who[at, 1], who[at, 2] = i, i, -1
            cost[at] = 2 * own
            at += 1
        if rows[i] >= 3:
            who[at, 0], who[at, 1], who[at, 2] = i, i, i
            cost[at] = 3 * own
            at += 1
        for p in range(near.shape[1]):
            a = near[i, p]
            low, high = min(i, a), max(i, a)
            wide = joined(f, x[i], x[a])
            who[at, 0], who[at, 1], who[at, 2] = low, high, -1
            cost[at] = 2 * wide
            at += 1
            if p >= few:
                continue
            if rows[low] >= 2:
                who[at, 0], who[at, 1], who[at, 2] = low, low, high
                cost[at] = 3 * wide
                at += 1
            if rows[high] >= 2:
                who[at, 0], who[at, 1], who[at, 2] = low, high, high
                cost[at] = 3 * wide
                at += 1
            for r in range(p):
                b = near[i, r]
                least, most = min(low, b), max(high, b)
                who[at, 0], who[at, 1], who[at, 2] = least, i + a + b - least - most, most
                cost[at] = 3 * three(f, x, i, a, b, box)
                at += 1
    return at
