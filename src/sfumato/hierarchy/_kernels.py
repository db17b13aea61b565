"""The loops over bit matrices. Typed, free of I/O; imported only when something is joined.

up[a] is a row of words; bit b (word b // 64, bit b % 64) says a <= b. Nodes are numbered so that a < b in
the order implies a smaller number, hence the lowest common bit is a least upper bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def first_bit(word: np.uint64) -> int:
    """The number of the lowest bit that is set; word is not 0."""
    found = 0
    rest = word
    for width in (32, 16, 8, 4, 2, 1):
        low = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
        if rest & low == np.uint64(0):
            rest = rest >> np.uint64(width)
            found += width
    return found


@compiled
def join(up: NDArray[np.uint64], nodes: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    """out[i] = the lowest node above all of nodes[i].  up: (N, words); nodes: (rows, members)."""
    rows, members = nodes.shape
    words = up.shape[1]
    for i in range(rows):
        # No common bit lies below the highest member.
        highest = nodes[i, 0]
        for j in range(1, members):
            highest = max(highest, nodes[i, j])
        for w in range(highest // 64, words):
            common = up[nodes[i, 0], w]
            for j in range(1, members):
                common &= up[nodes[i, j], w]
            if common != np.uint64(0):
                out[i] = w * 64 + first_bit(common)
                break


@compiled
def pairs(up: NDArray[np.uint64], out: NDArray[np.int32]) -> bool:
    """out[a, b] = the lowest node above both; whether it is the only least one of all pairs.  out: (N, N)."""
    size, words = up.shape
    single = True
    for a in range(size):
        out[a, a] = a
        for b in range(a + 1, size):
            found = -1
            for w in range(b // 64, words):
                common = up[a, w] & up[b, w]
                if common == np.uint64(0):
                    continue
                if found < 0:
                    found = w * 64 + first_bit(common)
                if common & ~up[found, w] != np.uint64(0):
                    single = False
                    break
            out[a, b] = found
            out[b, a] = found
    return single
