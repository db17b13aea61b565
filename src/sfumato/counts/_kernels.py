"""The loops that count. Typed, free of I/O; imported only when something is counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

BLOCK = 4096  # rows whose keys are formed together, so that they never leave the first cache


@compiled
def tally(
    codes: NDArray[np.unsignedinteger],
    columns: NDArray[np.int64],
    sizes: NDArray[np.unsignedinteger],
    banks: NDArray[np.uint32],
    keys: NDArray[np.unsignedinteger],
) -> None:
    """Add each row to its cell: key = (..(c0 * s1 + c1) * s2 + c2..), banks[i % 2, key] += 1.

    codes: (all columns, rows); columns, sizes: those of the joint; banks: (2, cells), summed later;
    keys: (BLOCK,) room for keys, as narrow as the cells allow: twice as many fit a vector of 16 bits.
    Keys are formed column by column (the compiler makes vectors of it). Neighbouring rows often
    fall in the same cell, and two banks keep one increment from waiting for the other.
    """
    rows = codes.shape[1]
    even = banks[0]
    odd = banks[1]
    for start in range(0, rows, len(keys)):
        length = min(len(keys), rows - start)
        part = codes[columns[0], start : start + length]
        for i in range(length):
            keys[i] = part[i]
        for j in range(1, len(columns)):
            size = sizes[j]
            part = codes[columns[j], start : start + length]
            for i in range(length):
                keys[i] = keys[i] * size + part[i]
        for i in range(0, length - 1, 2):
            even[keys[i]] += np.uint32(1)
            odd[keys[i + 1]] += np.uint32(1)
        if length & 1:
            even[keys[length - 1]] += np.uint32(1)


@compiled
def tally_weighted(
    codes: NDArray[np.unsignedinteger],
    columns: NDArray[np.int64],
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
    table: NDArray[np.float64],
) -> None:
    """As `tally`, with table[key] += weight.  table: (cells,)."""
    for i in range(codes.shape[1]):
        key = np.uint64(0)
        for j in range(len(columns)):
            key = key * np.uint64(sizes[j]) + np.uint64(codes[columns[j], i])
        table[key] += weights[i]


@compiled
def renumber(
    indices: NDArray[np.int32],
    places: NDArray[np.unsignedinteger],
    rows: NDArray[np.unsignedinteger],
    n: NDArray[np.int64],
) -> None:
    """rows[i] = places[indices[i]], and n[rows[i]] += 1: the number of each row's value, and how often it is.

    indices, rows: (batch,); places: (distinct cells of the batch,); n: (values seen so far,).
    """
    for i in range(len(indices)):
        place = places[indices[i]]
        rows[i] = place
        n[place] += 1


@compiled
def look_up(
    rows: NDArray[np.unsignedinteger], codes: NDArray[np.int64], out: NDArray[np.unsignedinteger]
) -> None:
    """out[i] = codes[rows[i]].  rows, out: (batch,); codes: (values seen,)."""
    for i in range(len(rows)):
        out[i] = codes[rows[i]]
