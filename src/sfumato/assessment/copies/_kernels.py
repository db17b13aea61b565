"""The loop of nearness: for each person the released row that speaks most for being theirs. Typed, no I/O."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

STEPS = 1024  # of a place on a column's scale from 0 to 1


@compiled
def strongest(
    people: NDArray[np.int32],
    released: NDArray[np.int32],
    first: NDArray[np.int64],
    equal: NDArray[np.float32],
    place: NDArray[np.int32],
    scale: NDArray[np.int32],
    general: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    near: NDArray[np.float32],
    few: int,
    itself: NDArray[np.int64],
    best: NDArray[np.float32],
    at: NDArray[np.int64],
) -> None:
    """best[i] = max_j sum_c w_c(people[i, c], released[c, j]) and the j of it; -inf if too much differs.

    people: (rows, columns). released: (columns, rows). equal, place, scale, general: per level, those of
    column c from first[c]. w is 0 where either level is general, equal[a] for the same one, near[steps
    apart] for numbers (by rank or by value, whichever is nearer), and near[STEPS] else. few: columns that may
    differ.
    itself: the row that is person i, with which they are not compared; -1 for none.
    """
    columns, rows = released.shape
    widest = 0
    for c in range(columns):
        widest = max(widest, first[c + 1] - first[c])
    row = np.empty(widest, np.float32)
    total = np.empty(rows, np.float32)
    for i in range(len(people)):
        total[:] = 0
        for c in range(columns):
            low, size, own = first[c], first[c + 1] - first[c], people[i, c]
            here, there = place[low + own], scale[low + own]
            for b in range(size):
                if general[low + b] or general[low + own]:
                    row[b] = 0
                elif numeric[c] and here >= 0 and place[low + b] >= 0:
                    row[b] = near[min(abs(place[low + b] - here), abs(scale[low + b] - there))]
                else:
                    row[b] = near[STEPS]
            if not general[low + own]:
                row[own] = equal[low + own]
            codes = released[c]
            for j in range(rows):
                total[j] += row[codes[j]]
        if itself[i] >= 0:
            total[itself[i]] = -np.inf
        k = np.argmax(total)
        differ = 0
        for c in range(columns):
            low, own, other = first[c], people[i, c], released[c, k]
            if own == other:
                continue
            apart = STEPS
            if numeric[c] and place[low + own] >= 0 and place[low + other] >= 0:
                apart = min(
                    abs(place[low + own] - place[low + other]), abs(scale[low + own] - scale[low + other])
                )
            if apart > STEPS // 4:
                differ += 1
        best[i] = total[k] if differ <= few else -np.inf
        at[i] = k
