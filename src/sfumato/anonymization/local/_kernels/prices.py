"""Prices of rows: what no recoding can be below, for any k.

Guarantee: with prices u >= 0 such that in every box g with at least k rows the k largest u add up to at most
           k L(g), and no u above what a suppressed row loses, the sum of u over rows is at most the loss of
           every recoding with k rows in each class.
Because:   let S be a class, c = |S| >= k, and g the box it is released as: all of S lies in g. The mean of
           the k largest u in g is at most L(g), so the mean of any c >= k of them is too: the u of S add up
           to at most c L(g), what the class loses. Classes, and rows that are suppressed, add up.
           Scaled: where the k largest in g add up to T(g) > k L(g), every row of g times k L(g) / T(g), the
           least such factor of all its boxes, makes any prices such: k rows of g then add up to at most
           k L(g) / T(g) times T(g).
Tested by: tests/anonymization/test_local_bounds.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled_lean


@compiled_lean
def parted(
    order: NDArray[np.int32],
    start: NDArray[np.int32],
    leaves: NDArray[np.int32],
    node: NDArray[np.int32],
    n: NDArray[np.int64],
    u: NDArray[np.float64],
    k: int,
    rows: NDArray[np.int64],
    members: NDArray[np.int32],
    touched: NDArray[np.int32],
    out_order: NDArray[np.int32],
    out_start: NDArray[np.int32],
) -> tuple[int, int]:
    """Boxes split by one column: those with k rows, some of them with a price; how many, and of what length.

    leaves: (combinations,), of the column; node: (leaves of the column,), on the level it is split by. rows,
    members: (nodes,), room, all 0 before and after. The largest u stay first in each box.
    """
    boxes = 0
    place = 0
    out_start[0] = 0
    for c in range(len(start) - 1):
        many = 0
        for p in range(start[c], start[c + 1]):
            i = order[p]
            v = node[leaves[i]]
            if members[v] == 0:
                touched[many] = v if u[i] > 0.0 else -v - 1  # the first to come is the dearest
                many += 1
            rows[v] += n[i]
            members[v] += 1
        for t in range(many):
            free = touched[t] < 0
            v = -touched[t] - 1 if free else touched[t]
            touched[t] = v
            if free or rows[v] < k:
                members[v] = -1
            else:
                size = members[v]
                members[v] = place
                place += size
                boxes += 1
                out_start[boxes] = place
            rows[v] = 0
        for p in range(start[c], start[c + 1]):
            i = order[p]
            v = node[leaves[i]]
            if members[v] >= 0:
                out_order[members[v]] = i
                members[v] += 1
        for t in range(many):
            members[touched[t]] = 0
    return boxes, place


@compiled_lean
def cheapest_of(
    order: NDArray[np.int32],
    start: NDArray[np.int32],
    leaves: NDArray[np.int32],
    cell: NDArray[np.float64],
    first: NDArray[np.int64],
    cheapest: NDArray[np.float64],
) -> None:
    """cheapest: (combinations,), lowered to the least loss of a box with k rows. The rest as in `priced`."""
    for c in range(len(start) - 1):
        loss = 0.0
        for j in range(len(first)):
            loss += cell[first[j] + leaves[j, order[start[c]]]]
        for p in range(start[c], start[c + 1]):
            cheapest[order[p]] = min(cheapest[order[p]], loss)


@compiled_lean
def priced(
    order: NDArray[np.int32],
    start: NDArray[np.int32],
    leaves: NDArray[np.int32],
    n: NDArray[np.int64],
    cell: NDArray[np.float64],
    first: NDArray[np.int64],
    k: int,
    u: NDArray[np.float64],
    most: float,
    room: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> None:
    """The boxes of one combination of levels: what each leaves its rows.

    order, start: the combinations of each box with k rows, side by side, those with the largest u first.
    leaves: (columns, combinations); cell: what each leaf loses on the level of its column, column j's from
    first[j]. room: (combinations,), how far u may be raised by itself, `most` at most; scale: the least
    k L(g) / T(g); both lowered in place.
    """
    for c in range(len(start) - 1):
        one = order[start[c]]
        loss = 0.0
        for j in range(len(first)):
            loss += cell[first[j] + leaves[j, one]]
        if k * (loss - u[one]) >= most:  # nobody in it has a larger u
            continue
        rows = 0
        total = 0.0
        last = 0.0
        p = start[c]
        while rows < k:
            i = order[p]
            taken = min(n[i], k - rows)
            total += taken * u[i]
            rows += taken
            last = u[i]
            p += 1
        slack = k * loss - total
        if slack < 0:
            factor = k * loss / total
            for p in range(start[c], start[c + 1]):
                scale[order[p]] = min(scale[order[p]], factor)
        if slack < most:
            for p in range(start[c], start[c + 1]):
                i = order[p]
                left = slack + max(0.0, last - u[i])
                if left < room[i]:
                    room[i] = left
