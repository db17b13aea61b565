"""The loops of the lattice search. Typed, free of I/O; imported only when something is searched.

A group is a set of combinations that are the same on the levels at hand. Its key packs one node number
per column into bit fields, `shift[j]` from the right. Rolling up turns the groups of one node of the lattice
into those of a more general one, without going back to the table: there are fewer and fewer of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled
def pack(leaves: NDArray[np.int32], shift: NDArray[np.uint64], key: NDArray[np.uint64]) -> None:
    """key[i] = sum of leaves[i, j] << shift[j].  leaves: (combinations, columns)."""
    for i in range(leaves.shape[0]):
        packed = np.uint64(0)
        for j in range(leaves.shape[1]):
            packed |= np.uint64(leaves[i, j]) << shift[j]
        key[i] = packed


@compiled
def roll_up(
    key: NDArray[np.uint64],
    n: NDArray[np.int64],
    cost: NDArray[np.float64],
    shift: np.uint64,
    mask: np.uint64,
    above: NDArray[np.int32],
    dearer: NDArray[np.float64],
    slots: NDArray[np.int64],
    bits: np.uint64,
    k: int,
    lost: float,
    out_key: NDArray[np.uint64],
    out_n: NDArray[np.int64],
    out_cost: NDArray[np.float64],
    into: NDArray[np.int32],
) -> tuple[int, int, float]:
    """One column one level up (or, with `above` the identity, the same groups looked at).

    key, n, cost: (groups,), packed nodes, rows, and what a row costs there. above: (nodes of the column,),
    the node over each; dearer: what a cell costs more there. slots: (2**bits,), all -1 before and after.
    into: (groups,), becomes the group that each goes to.
    Gives the groups, the rows in groups below k, and the cost of all rows, `lost` for each of those.
    """
    groups = 0
    turn = np.uint64(64) - bits
    wrap = np.int64(len(slots) - 1)
    field = mask << shift
    for i in range(len(key)):
        node = (key[i] >> shift) & mask
        higher = (key[i] & ~field) | (np.uint64(above[node]) << shift)
        place = np.int64((higher * _GOLDEN) >> turn)
        while True:
            found = slots[place]
            if found < 0:
                slots[place] = groups
                out_key[groups] = higher
                out_n[groups] = n[i]
                out_cost[groups] = cost[i] + dearer[node]
                into[i] = groups
                groups += 1
                break
            if out_key[found] == higher:
                out_n[found] += n[i]
                into[i] = found
                break
            place = (place + 1) & wrap
    for g in range(groups):  # leave the slots as they were found
        place = np.int64((out_key[g] * _GOLDEN) >> turn)
        while slots[place] != g:
            place = (place + 1) & wrap
        slots[place] = -1
    small = 0
    total = 0.0
    for g in range(groups):
        if out_n[g] < k:
            small += out_n[g]
            total += out_n[g] * lost
        else:
            total += out_n[g] * out_cost[g]
    return groups, small, total


@compiled
def agreements(
    leaves: NDArray[np.int32], lowest: NDArray[np.uint64], first: NDArray[np.int64], out: NDArray[np.uint64]
) -> None:
    """out[i] = sum over columns of lowest[first[j] + leaves[j, i]].  leaves: (columns, combinations).

    lowest: the lowest level on which each leaf has the node of one combination's, shifted to its field.
    """
    for i in range(leaves.shape[1]):
        out[i] = lowest[first[0] + leaves[0, i]]
    for j in range(1, leaves.shape[0]):
        for i in range(leaves.shape[1]):
            out[i] += lowest[first[j] + leaves[j, i]]


@compiled
def first_short(
    agreements: NDArray[np.uint64],
    order: NDArray[np.int64],
    n: NDArray[np.int64],
    levels: np.uint64,
    guards: np.uint64,
    enough: int,
) -> int:
    """The first place in `order` whose agreements have fewer than `enough` rows within `levels`; or -1.

    agreements: (combinations asked, combinations). A row is within where no field is above that of `levels`:
    the highest bit of each field is its guard, set in `levels`, not in agreements; it survives the
    subtraction where the field is not exceeded, and nothing is borrowed from the next field.
    """
    for place in range(len(order)):
        near = agreements[order[place]]
        total = 0
        for start in range(0, len(n), 1024):
            for i in range(start, min(start + 1024, len(n))):
                total += n[i] if (levels - near[i]) & guards == guards else 0
            if total >= enough:
                break
        if total < enough:
            return place
    return -1


@compiled
def first_with(
    leaves: NDArray[np.int32],
    shift: NDArray[np.uint64],
    mask: NDArray[np.uint64],
    columns: NDArray[np.int64],
    first: NDArray[np.int64],
    above: NDArray[np.int32],
    key: np.uint64,
) -> int:
    """The first combination in the class with a packed key; -1 if there is none.

    leaves: (columns, combinations). columns: the order in which they are compared; those that part most
    rows first. above: the maps of all columns one after the other, column j's from first[j].
    """
    for i in range(leaves.shape[1]):
        same = True
        for j in columns:
            if np.uint64(above[first[j] + leaves[j, i]]) != ((key >> shift[j]) & mask[j]):
                same = False
                break
        if same:
            return i
    return -1


@compiled
def label(
    leaves: NDArray[np.int32],
    shift: NDArray[np.uint64],
    first: NDArray[np.int64],
    above: NDArray[np.int32],
    slots: NDArray[np.int64],
    bits: np.uint64,
    seen: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> int:
    """The class of each combination on given levels, numbered as they come. seen: (combinations,), room."""
    groups = 0
    turn = np.uint64(64) - bits
    wrap = np.int64(len(slots) - 1)
    for i in range(leaves.shape[0]):
        higher = np.uint64(0)
        for j in range(leaves.shape[1]):
            higher |= np.uint64(above[first[j] + leaves[i, j]]) << shift[j]
        place = np.int64((higher * _GOLDEN) >> turn)
        while True:
            found = slots[place]
            if found < 0:
                slots[place] = groups
                seen[groups] = higher
                out[i] = groups
                groups += 1
                break
            if seen[found] == higher:
                out[i] = found
                break
            place = (place + 1) & wrap
    for g in range(groups):
        place = np.int64((seen[g] * _GOLDEN) >> turn)
        while slots[place] != g:
            place = (place + 1) & wrap
        slots[place] = -1
    return groups
