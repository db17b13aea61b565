"""The loops of the search from the top: classes are split by one column, and never hashed.

The combinations of a class lie side by side in `order`, from start[c] to start[c + 1]. Splitting one column
further puts those with the same node side by side within their class. Classes below k rows are left out: no
further splitting makes them larger. So time follows the rows that are still to be released, for any number
of columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def split(
    order: NDArray[np.int32],
    start: NDArray[np.int32],
    leaves: NDArray[np.int32],
    node: NDArray[np.int32],
    n: NDArray[np.int64],
    k: int,
    limit: int,
    rows: NDArray[np.int64],
    members: NDArray[np.int32],
    out_order: NDArray[np.int32],
    out_start: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Classes by a column's nodes. Gives how many classes and combinations are left, and the rows lost.

    leaves: (combinations,), of the column; node: (leaves of the column,), on the level it is split by.
    rows, members: (nodes,), room, all 0 before and after. Stops when more than `limit` rows are lost.
    """
    touched = np.empty(len(rows), np.int32)
    classes = 0
    place = 0
    lost = 0
    out_start[0] = 0
    for c in range(len(start) - 1):
        many = 0
        for p in range(start[c], start[c + 1]):
            i = order[p]
            v = node[leaves[i]]
            if members[v] == 0:
                touched[many] = v
                many += 1
            rows[v] += n[i]
            members[v] += 1
        for t in range(many):
            v = touched[t]
            if rows[v] < k:
                lost += rows[v]
                members[v] = -1
            else:
                size = members[v]
                members[v] = place
                place += size
                classes += 1
                out_start[classes] = place
            rows[v] = 0
        for p in range(start[c], start[c + 1]):
            i = order[p]
            v = node[leaves[i]]
            if members[v] >= 0:
                out_order[members[v]] = i
                members[v] += 1
        for t in range(many):
            members[touched[t]] = 0
        if lost > limit:
            break
    return classes, place, lost


@compiled
def tried(
    order: NDArray[np.int32],
    start: NDArray[np.int32],
    leaves: NDArray[np.int32],
    column: int,
    node: NDArray[np.int32],
    dearer: NDArray[np.float64],
    n: NDArray[np.int64],
    cell: NDArray[np.float64],
    first: NDArray[np.int64],
    k: int,
    limit: int,
    price: float,
    rows: NDArray[np.int64],
) -> tuple[int, float]:
    """What splitting a column would do: the rows it loses, and by how much the summed cost changes.

    leaves: (columns, combinations). dearer: (leaves of the column,), what a cell costs more then (below 0).
    cell: what each leaf costs now, column j's from first[j]. price: what a lost row costs. rows: (nodes,),
    room, all 0. Stops when more than `limit` rows are lost.
    """
    own = leaves[column]
    touched = np.empty(len(rows), np.int32)
    lost = 0
    change = 0.0
    for c in range(len(start) - 1):
        many = 0
        saved = 0.0
        for p in range(start[c], start[c + 1]):
            i = order[p]
            v = node[own[i]]
            if rows[v] == 0:
                touched[many] = v
                many += 1
            rows[v] += n[i]
            saved += n[i] * dearer[own[i]]
        change += saved
        short = False
        for t in range(many):
            if rows[touched[t]] < k:
                short = True
        if short:
            for p in range(start[c], start[c + 1]):
                i = order[p]
                if rows[node[own[i]]] < k:
                    paid = dearer[own[i]]
                    for j in range(len(first)):
                        paid += cell[first[j] + leaves[j, i]]
                    lost += n[i]
                    change += n[i] * (price - paid)
        for t in range(many):
            rows[touched[t]] = 0
        if lost > limit:
            break
    return lost, change
