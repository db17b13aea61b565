"""The loops of risk: who is alone in a class, and how near the nearest record is. Typed, free of I/O."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
def nearest(
    numbers: NDArray[np.float32],
    codes: NDArray[np.int32],
    other_numbers: NDArray[np.float32],
    other_codes: NDArray[np.int32],
) -> NDArray[np.float64]:
    """The smallest distance of each row to the other rows, as a sum over columns.

    numbers: (rows, a), scaled to their range, NaN missing: |x - y|, at most 1; one missing costs 1.
    codes: (rows, b): 0 where equal, else 1. A row is left as soon as it lies farther than the best one.
    """
    rows, others = len(codes), len(other_codes)
    out = np.empty(rows, np.float64)
    for i in range(rows):
        best = np.inf
        for j in range(others):
            d = 0.0
            for c in range(codes.shape[1]):
                d += codes[i, c] != other_codes[j, c]
            if d >= best:
                continue
            for c in range(numbers.shape[1]):
                x, y = numbers[i, c], other_numbers[j, c]
                if np.isnan(x) or np.isnan(y):
                    d += np.isnan(x) != np.isnan(y)
                else:
                    d += min(1.0, float(abs(x - y)))
            if d < best:
                best = d
                if best == 0.0:
                    break
        out[i] = best
    return out
