"""The loop of nearness: for each person the released row that speaks most for being theirs. Typed, no I/O."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

STEPS = 1024  # of a place on a column's scale from 0 to 1


PART = 0.8  # of what a person's columns could tell: the rest is asked only of rows that may still win
SLACK = np.float32(1e-3)  # by which sums of single precision may be off


@compiled
def weigh(
    person: NDArray[np.int32],
    first: NDArray[np.int64],
    shown: NDArray[np.int64],
    starts: NDArray[np.int64],
    equal: NDArray[np.float32],
    place: NDArray[np.int32],
    scale: NDArray[np.int32],
    general: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    near: NDArray[np.float32],
    gains: NDArray[np.float32],
    top: NDArray[np.float32],
) -> None:
    """gains[b] = w_c(person[c], b) for the levels b that released rows have, and per column the most."""
    for c in range(len(person)):
        own = first[c] + person[c]
        here, far = place[own], scale[own]
        top[c] = -np.inf
        for b in shown[starts[c] : starts[c + 1]]:
            if general[b] or general[own]:
                gains[b] = 0
            elif b == own:
                gains[b] = equal[b]
            elif numeric[c] and here >= 0 and place[b] >= 0:
                gains[b] = near[min(abs(place[b] - here), abs(scale[b] - far))]
            else:
                gains[b] = near[STEPS]
            top[c] = max(top[c], gains[b])


@compiled
def strongest(
    people: NDArray[np.int32],
    released: NDArray[np.int32],
    first: NDArray[np.int64],
    shown: NDArray[np.int64],
    starts: NDArray[np.int64],
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
    column c from first[c]. shown: the levels that released rows have, those of column c from starts[c].
    w is 0 where either level is general, equal[a] for the same one, near[steps apart] for numbers (by rank or
    by value, whichever is nearer), and near[STEPS] else. few: columns that may differ; general levels
    do not.
    itself: the row that is person i, with which they are not compared; -1 for none.

    Columns are taken as the person's values tell, most first. After some of them the best row so far is added
    up, and only rows that could still pass it by all that is left are added up as well: the answer is that of
    all rows.
    """
    columns, rows = released.shape
    gains = np.empty(first[columns], np.float32)
    total = np.empty(rows, np.float32)
    top = np.empty(columns, np.float32)
    rest = np.empty(columns + 1, np.float32)
    for i in range(len(people)):
        weigh(people[i], first, shown, starts, equal, place, scale, general, numeric, near, gains, top)
        order = np.argsort(-top)
        rest[columns] = 0
        for c in range(columns - 1, -1, -1):
            rest[c] = rest[c + 1] + top[order[c]]
        total[:] = 0
        some = 0
        while some < columns and (some == 0 or rest[some] > (1 - PART) * rest[0]):
            part = gains[first[order[some]] : first[order[some] + 1]]
            codes = released[order[some]]
            for j in range(rows):
                total[j] += part[codes[j]]
            some += 1
        if itself[i] >= 0:
            total[itself[i]] = -np.inf
        k = np.argmax(total)
        most = total[k]
        for c in range(some, columns):
            most += gains[first[order[c]] + released[order[c], k]]
        for j in range(rows):
            if total[j] == -np.inf or total[j] + rest[some] + SLACK < most:
                continue
            reached = total[j]
            c = some
            while c < columns and reached + rest[c] + SLACK >= most:
                reached += gains[first[order[c]] + released[order[c], j]]
                c += 1
            if c == columns and (reached > most or (reached == most and j < k)):
                most, k = reached, np.int64(j)
        differ = 0
        for c in range(columns):
            low, own, other = first[c], people[i, c], released[c, k]
            if own == other or general[low + own] or general[low + other]:
                continue
            apart = STEPS
            if numeric[c] and place[low + own] >= 0 and place[low + other] >= 0:
                apart = min(
                    abs(place[low + own] - place[low + other]), abs(scale[low + own] - scale[low + other])
                )
            if apart > STEPS // 4:
                differ += 1
        best[i] = most if differ <= few else -np.inf
        at[i] = k
