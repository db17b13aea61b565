"""The loops of risk: who is alone in a class, and how near the nearest record is. Typed, free of I/O."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

_BLOCK = 4096  # rows compared together: their codes stay in the second-level cache


@compiled
def alone(keys: NDArray[np.uint64], owner: NDArray[np.int64], many: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """out[i]: nobody but owner[i] has keys[i].  keys, owner, many: (cells,).

    many[i]: cell i has several members by itself. One open hash table with linear probing: each slot
    remembers its key, the first owner, and whether another one came.
    """
    cells = len(keys)
    bits = 4
    while (1 << bits) < 2 * cells:
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    shift = np.uint64(64 - bits)
    first = np.full(1 << bits, -1, np.int32)
    crowded = np.zeros(1 << bits, np.bool_)
    place = np.empty(cells, np.int32)
    for i in range(cells):
        slot = (keys[i] * np.uint64(0x9E3779B97F4A7C15)) >> shift
        while first[slot] >= 0 and keys[first[slot]] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if first[slot] < 0:
            first[slot] = i
            crowded[slot] = many[i]
        elif many[i] or owner[first[slot]] != owner[i]:
            crowded[slot] = True
        place[i] = slot
    out = np.empty(cells, np.bool_)
    for i in range(cells):
        out[i] = not crowded[place[i]]
    return out


@compiled
def numbered(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Keys as 0, 1, 2, ... in the order in which they first come.  keys: (cells,)."""
    cells = len(keys)
    bits = 4
    while (1 << bits) < 2 * cells:
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    shift = np.uint64(64 - bits)
    first = np.full(1 << bits, -1, np.int32)
    out = np.empty(cells, np.int64)
    found = 0
    for i in range(cells):
        slot = (keys[i] * np.uint64(0x9E3779B97F4A7C15)) >> shift
        while first[slot] >= 0 and keys[first[slot]] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if first[slot] < 0:
            first[slot] = i
            out[i] = found
            found += 1
        else:
            out[i] = out[first[slot]]
    return out


@compiled
def nearest(
    numbers: NDArray[np.float32],
    codes: NDArray[np.unsignedinteger],
    other_numbers: NDArray[np.float32],
    other_codes: NDArray[np.unsignedinteger],
) -> NDArray[np.float64]:
    """The smallest distance of each row to the other rows, as a sum over columns.

    numbers: (a, rows), scaled to their range, NaN missing: |x - y|, at most 1; one missing costs 1.
    codes: (b, rows): 0 where equal, else 1. Differing codes are counted for a block of rows at once (the
    compiler makes vectors of it); numbers are looked at only where these leave room below the best.
    """
    rows, others = codes.shape[1], other_codes.shape[1]
    out = np.full(rows, np.inf)
    differ = np.empty(_BLOCK, np.uint16)
    for start in range(0, others, _BLOCK):
        length = min(_BLOCK, others - start)
        for i in range(rows):
            differ[:length] = 0
            for c in range(codes.shape[0]):
                mine = codes[c, i]
                part = other_codes[c, start : start + length]
                for j in range(length):
                    differ[j] += np.uint16(part[j] != mine)
            best = out[i]
            for j in range(length):
                if differ[j] >= best:
                    continue
                d = float(differ[j])
                for c in range(numbers.shape[0]):
                    x, y = numbers[c, i], other_numbers[c, start + j]
                    if np.isnan(x) or np.isnan(y):
                        d += np.isnan(x) != np.isnan(y)
                    else:
                        d += min(1.0, float(abs(x - y)))
                if d < best:
                    best = d
            out[i] = best
    return out
