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
    place: NDArray[np.int32],
    scale: NDArray[np.int32],
    general: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    starts: NDArray[np.int64],
    shown_place: NDArray[np.int32],
    shown_scale: NDArray[np.int32],
    shown_general: NDArray[np.bool_],
    shown_equal: NDArray[np.float32],
    at: NDArray[np.int64],
    near: NDArray[np.float32],
    gains: NDArray[np.float32],
    top: NDArray[np.float32],
) -> None:
    """gains[b] = w_c(person[c], b) for the levels b that released rows have, and per column the most."""
    for c in range(len(person)):
        own = first[c] + person[c]
        here, far = place[own], scale[own]
        low, high = starts[c], starts[c + 1]
        if general[own]:
            gains[low:high] = 0
        elif numeric[c] and here >= 0:
            for b in range(low, high):
                other = shown_place[b]
                gap = min(abs(other - here), abs(shown_scale[b] - far)) if other >= 0 else STEPS
                gains[b] = np.float32(0) if shown_general[b] else near[gap]
        else:
            for b in range(low, high):
                gains[b] = np.float32(0) if shown_general[b] else near[STEPS]
        if at[own] >= 0 and not general[own]:
            gains[at[own]] = shown_equal[at[own]]
        top[c] = -np.inf
        for b in range(low, high):
            top[c] = max(top[c], gains[b])


@compiled
def differing(
    person: NDArray[np.int32],
    row: NDArray[np.int32],
    first: NDArray[np.int64],
    place: NDArray[np.int32],
    scale: NDArray[np.int32],
    general: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    starts: NDArray[np.int64],
    shown_place: NDArray[np.int32],
    shown_scale: NDArray[np.int32],
    shown_general: NDArray[np.bool_],
    at: NDArray[np.int64],
) -> int:
    """In how many columns a row clearly differs from a person: general levels do not, nor do near numbers."""
    differ = 0
    for c in range(len(person)):
        own, other = first[c] + person[c], starts[c] + row[c]
        if at[own] == other or general[own] or shown_general[other]:
            continue
        apart = STEPS
        if numeric[c] and place[own] >= 0 and shown_place[other] >= 0:
            apart = min(abs(place[own] - shown_place[other]), abs(scale[own] - shown_scale[other]))
        if apart > STEPS // 4:
            differ += 1
    return differ


@compiled
def strongest(
    people: NDArray[np.int32],
    released: NDArray[np.int32],
    first: NDArray[np.int64],
    place: NDArray[np.int32],
    scale: NDArray[np.int32],
    general: NDArray[np.bool_],
    numeric: NDArray[np.bool_],
    starts: NDArray[np.int64],
    shown_place: NDArray[np.int32],
    shown_scale: NDArray[np.int32],
    shown_general: NDArray[np.bool_],
    shown_equal: NDArray[np.float32],
    at: NDArray[np.int64],
    near: NDArray[np.float32],
    few: int,
    itself: NDArray[np.int64],
    best: NDArray[np.float32],
    row: NDArray[np.int64],
) -> None:
    """best[i] = max_j sum_c w_c(people[i, c], released[c, j]) and the j of it; -inf if too much differs.

    people: (rows, columns). place, scale, general: per level, those of column c from first[c]. shown_*: of
    the levels that released rows have, those of column c from starts[c]; at: the place of a level among them,
    -1 for one that no row has. released: (columns, rows), levels counted from starts[c].
    w is 0 where either level is general, equal[a] for the same one, near[steps apart] for numbers (by rank or
    by value, whichever is nearer), and near[STEPS] else. few: columns that may differ; general levels
    do not.
    itself: the row that is person i, with which they are not compared; -1 for none.

    Columns are taken as the person's values tell, most first. After some of them the best row so far is added
    up, and only rows that could still pass it by all that is left are added up as well: the answer is that of
    all rows.
    """
    columns, rows = released.shape
    gains = np.empty(starts[columns], np.float32)
    total = np.empty(rows, np.float32)
    top = np.empty(columns, np.float32)
    rest = np.empty(columns + 1, np.float32)
    for i in range(len(people)):
        weigh(
            people[i], first, place, scale, general, numeric, starts, shown_place, shown_scale, shown_general,
            shown_equal, at, near, gains, top,
        )  # fmt: skip
        order = np.argsort(-top)
        rest[columns] = 0
        for c in range(columns - 1, -1, -1):
            rest[c] = rest[c + 1] + top[order[c]]
        total[:] = 0
        some = 0
        while some < columns and (some == 0 or rest[some] > (1 - PART) * rest[0]):
            part = gains[starts[order[some]] : starts[order[some] + 1]]
            codes = released[order[some]]
            for j in range(rows):
                total[j] += part[codes[j]]
            some += 1
        if itself[i] >= 0:
            total[itself[i]] = -np.inf
        k = np.argmax(total)
        most = total[k]
        for c in range(some, columns):
            most += gains[starts[order[c]] + released[order[c], k]]
        for j in range(rows):
            if total[j] == -np.inf or total[j] + rest[some] + SLACK < most:
                continue
            reached = total[j]
            c = some
            while c < columns and reached + rest[c] + SLACK >= most:
                reached += gains[starts[order[c]] + released[order[c], j]]
                c += 1
            if c == columns and (reached > most or (reached == most and j < k)):
                most, k = reached, np.int64(j)
        differ = differing(
            people[i], released[:, k], first, place, scale, general, numeric, starts, shown_place,
            shown_scale, shown_general, at,
        )  # fmt: skip
        best[i] = most if differ <= few else -np.inf
        row[i] = k
