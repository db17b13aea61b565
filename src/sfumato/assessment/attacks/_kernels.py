"""The loops of the attacks. Typed, free of I/O; imported only when someone attacks.

The released records, as distinct rows of codes in lexicographic order, form a tree: level l holds the
distinct beginnings of length l + 1. A person is compared with a beginning once, however many records
share it, and a branch that cannot match is never entered.

codes, begin, end: all levels one after the other; node j has children begin[j] .. end[j] - 1, and the
last level holds the rows themselves. tables: one table (nodes, leaves) per level, flattened one after
the other from `offsets`, `widths` wide. Only `surround` knows no tree: it measures distances to rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def fitting_rows(
    people: NDArray[np.int64],
    codes: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    covers: NDArray[np.bool_],
    offsets: NDArray[np.int64],
    widths: NDArray[np.int64],
    roots: int,
    starts: NDArray[np.int64],
    out: NDArray[np.int32],
    found: NDArray[np.int64],
) -> None:
    """How many distinct released rows each person is compatible with.  people: (n, levels); found: (n,).

    The rows themselves are written to out[starts[i]:], unless out is empty.
    """
    levels = people.shape[1]
    first_row = len(codes) - end[len(end) - 1]
    position = np.empty(levels, np.int64)
    limit = np.empty(levels, np.int64)
    for i in range(people.shape[0]):
        level = 0
        position[0] = 0
        limit[0] = roots
        count = 0
        while level >= 0:
            j = position[level]
            if j == limit[level]:
                level -= 1
                continue
            position[level] += 1
            if covers[offsets[level] + codes[j] * widths[level] + people[i, level]]:
                if level == levels - 1:
                    if len(out):
                        out[starts[i] + count] = j - first_row
                    count += 1
                else:
                    level += 1
                    position[level] = begin[j]
                    limit[level] = end[j]
        found[i] = count


@compiled
def nearest_rows(
    people: NDArray[np.int64],
    codes: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    distances: NDArray[np.int64],
    offsets: NDArray[np.int64],
    widths: NDArray[np.int64],
    roots: int,
    first_row: int,
    weights: NDArray[np.int64],
    best: NDArray[np.int64],
    ties: NDArray[np.int64],
) -> None:
    """The smallest distance of each person to a released record, and how many records lie there.

    Distances are whole numbers (scaled), so that equal ones are equal; a branch whose sum exceeds the
    best so far is cut. The first descent goes to the nearest child of each node: a good first best.
    """
    levels = people.shape[1]
    position = np.empty(levels, np.int64)
    limit = np.empty(levels, np.int64)
    partial = np.zeros(levels + 1, np.int64)
    for i in range(people.shape[0]):
        low = 0
        high = roots
        bound = np.int64(0)
        for level in range(levels):
            nearest = -1
            smallest = np.int64(0)
            for j in range(low, high):
                step = distances[offsets[level] + codes[j] * widths[level] + people[i, level]]
                if nearest < 0 or step < smallest:
                    nearest = j
                    smallest = step
            bound += smallest
            low = begin[nearest]
            high = end[nearest]
        count = 0
        level = 0
        position[0] = 0
        limit[0] = roots
        while level >= 0:
            j = position[level]
            if j == limit[level]:
                level -= 1
                continue
            position[level] += 1
            total = partial[level] + distances[offsets[level] + codes[j] * widths[level] + people[i, level]]
            if total > bound:
                continue
            if level == levels - 1:
                if total < bound:
                    bound = total
                    count = 0
                count += weights[j - first_row]
            else:
                level += 1
                partial[level] = total
                position[level] = begin[j]
                limit[level] = end[j]
        best[i] = bound
        ties[i] = count


@compiled
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

    people: (n, columns); rows: (columns, m). The last `ranked` columns are numbers, the others codes, of
    which NaN equals nothing. near: (n, 3), rows with d <= 0, 1, 2; kernel: (n, 2), the sums of exp(-2 d) and
    of exp(-16 d) over rows with d <= far; best: (n,), the smallest d. The last three are added to.
    """
    width = people.shape[1]
    codes = width - ranked
    differ = np.empty(rows.shape[1], np.float32)
    for i in range(people.shape[0]):
        differ[:] = 0.0
        for j in range(codes):
            own, column = people[i, j], rows[j]
            for r in range(len(differ)):  # no branch and one column after the other: many rows at a time
                differ[r] += np.float32(1.0) if column[r] != own else np.float32(0.0)
        for r in range(len(differ)):
            stop = max(best[i], far)
            d = float(differ[r])
            if d > stop:
                continue
            for j in range(codes, width):
                gap = abs(people[i, j] - rows[j, r])
                d += gap if gap < 1.0 else 1.0  # also where a gap is no number
            if d > stop:
                continue
            best[i] = min(best[i], d)
            if d <= far:
                weight = math.exp(-2.0 * d)
                kernel[i, 0] += weight
                weight *= weight  # exp(-4 d), and twice more
                weight *= weight
                kernel[i, 1] += weight * weight
                for k in range(3):
                    if d <= k + 1e-6:
                        near[i, k] += 1.0
