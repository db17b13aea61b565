"""Pairs and threes, solved: at k = 2 a region of neighbouring classes is divided anew as well as it can be.

No class of four rows or more is needed at k = 2, as parts of it lose no more. So a region is a set partition:
each row is in one of the classes of two or three rows, near each other, that there are. HiGHS solves it; what
comes out is taken where it loses less than before.

Guarantee: a region's rows stay in classes of two rows or more, and never lose more than before.
Because:   a column is a class of two or three rows; every row is in exactly one column that is chosen. What
           the region loses is added up anew, and compared.
Tested by: tests/anonymization/test_local.py::test_regions_at_two_are_solved
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.local.improve import Ground
from sfumato.anonymization.local.pace import Pace
from sfumato.anonymization.local.pieces import PiecePartition
from sfumato.anonymization.local.start import boxes, losses
from sfumato.progress import report

REGION = 100  # combinations, or so: larger ones gain little more, and take three times as long
MANY, FEW = 12, 8  # neighbours that a pair, and a three, are made of
COST = 200  # moves that a combination's part of a region takes as long as
BRANCHES = 300  # nodes of the solver's own tree: a limit of time would not be the same everywhere
PASSES = 3
_LABEL = "solving regions"


def solved(ground: Ground, start: PiecePartition, pace: Pace) -> PiecePartition:
    """The partition with all regions solved, three times, with borders elsewhere each time.

    Ends early with the pace, and on Ctrl-C.
    """
    found = start
    try:
        for turn in range(PASSES):
            regions = _regions(ground, found, turn / PASSES)
            label = np.full(len(found.nodes), -1, np.int64)
            for at, classes in enumerate(regions):
                label[classes] = at
            of_region = label[found.label]
            changed: list[tuple[NDArray[np.bool_], _Division]] = []
            for at in range(len(regions)):
                if pace.fraction() >= 1:
                    break
                mine = of_region == at
                division = _divided(ground, found, mine)
                pace.done += COST * len(np.unique(found.of[mine]))
                report(_LABEL, turn * len(regions) + at + 1, PASSES * len(regions))
                if division is not None:
                    changed.append((mine, division))
            found = _put_together(ground, found, changed)
    except KeyboardInterrupt:
        pace.interrupted = True
    return found


def _regions(ground: Ground, partition: PiecePartition, shift: float) -> list[NDArray[np.int64]]:
    """Classes that lie together in a tree, about REGION combinations at once; shift: of the first border."""
    from sfumato.anonymization.local._kernels import neighbours as kernels

    size = np.bincount(partition.label, partition.n, len(partition.nodes)).astype(np.int64)
    items = np.arange(len(size))
    order = kernels.planted_tree(ground.forest, partition.nodes, size, items, 6).order
    pieces = np.bincount(partition.label, minlength=len(size))[order]
    place = (np.cumsum(pieces) - pieces + shift * REGION) // REGION
    return np.split(order, np.flatnonzero(np.diff(place)) + 1)


class _Division:
    """New classes of a region: of, n, label of each piece. label: from 0."""

    def __init__(self, of: NDArray[np.int64], n: NDArray[np.int64], label: NDArray[np.int64]) -> None:
        self.of, self.n, self.label = of, n, label


def _divided(ground: Ground, partition: PiecePartition, mine: NDArray[np.bool_]) -> _Division | None:
    """The pieces in a region divided anew; None where that is no better, or takes too long."""
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp
    from scipy.sparse import csc_array

    items, back = np.unique(partition.of[mine], return_inverse=True)
    rows = np.bincount(back.reshape(-1), partition.n[mine]).astype(np.int64)
    lost = losses(ground.forest, partition.nodes)[partition.label[mine]]
    before = float(lost @ partition.n[mine])
    if before <= 0 or len(items) < 3:
        return None
    who, cost = _columns(ground, items, rows)
    there = who >= 0
    column, _ = np.nonzero(there)
    matrix = csc_array((np.ones(len(column)), (who[there], column)), shape=(len(items), len(who)))
    relaxed = linprog(cost, A_eq=matrix, b_eq=rows.astype(float), bounds=(0, None), method="highs")
    if relaxed.status != 0 or relaxed.fun >= before - 1e-9:
        return None
    dearer = cost - matrix.T @ relaxed.eqlin.marginals
    kept = np.flatnonzero(dearer <= before - relaxed.fun + 1e-9)  # no other is in a better division
    found = milp(
        cost[kept],
        integrality=np.ones(len(kept)),
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(matrix[:, kept], rows, rows),
        options={"node_limit": BRANCHES, "mip_rel_gap": 1e-3},
    )
    if found.x is None:
        return None
    times = np.rint(found.x).astype(np.int64)
    chosen = np.repeat(kept, times)
    if (matrix[:, kept] @ times != rows).any() or float(cost[chosen].sum()) >= before - 1e-9:
        return None
    label = np.repeat(np.arange(len(chosen)), there[chosen].sum(axis=1))
    of = who[chosen][there[chosen]]
    pairs, n = np.unique(np.stack([label, of]), axis=1, return_counts=True)
    return _Division(items[pairs[1]], n, pairs[0])


def _columns(
    ground: Ground, items: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(classes, 3) members, -1 for none, and (classes,) what each loses; each class once."""
    from sfumato.anonymization.local._kernels import small_classes as kernels

    x = np.ascontiguousarray(ground.leaves[items])
    far = kernels.distances(ground.forest, x)
    np.fill_diagonal(far, np.inf)
    near = np.argsort(far, axis=1, kind="stable")[:, : min(MANY, len(items) - 1)].astype(np.int64)
    room = len(items) * (2 + MANY + 2 * FEW + FEW * (FEW - 1) // 2)
    who, cost = np.full((room, 3), -1, np.int64), np.empty(room)
    box = np.empty(x.shape[1], np.int32)
    count = kernels.listed(ground.forest, x, rows, near, FEW, box, who, cost)
    m = len(items) + 1
    key = ((who[:count, 0] + 1) * m + who[:count, 1] + 1) * m + who[:count, 2] + 1
    _, first = np.unique(key, return_index=True)
    return who[first], cost[first]


def _put_together(
    ground: Ground, partition: PiecePartition, changed: list[tuple[NDArray[np.bool_], _Division]]
) -> PiecePartition:
    """The partition with the new classes of some regions in the place of the old."""
    if not changed:
        return partition
    old = ~np.logical_or.reduce([mine for mine, _ in changed])
    of, n, label = [partition.of[old]], [partition.n[old]], [partition.label[old]]
    first = len(partition.nodes)
    for _, division in changed:
        of.append(division.of)
        n.append(division.n)
        label.append(division.label + first)
        first += int(division.label.max()) + 1
    joint = PiecePartition(
        np.concatenate(of), np.concatenate(n), np.concatenate(label), partition.nodes, partition.loss
    )
    order = np.lexsort((joint.label, joint.of))
    number = np.unique(joint.label, return_inverse=True)[1].reshape(-1).astype(np.int64)[order]
    nodes = boxes(ground.forest, ground.leaves[joint.of[order]], number)
    size = np.bincount(number, joint.n[order], len(nodes))
    loss = float((size * losses(ground.forest, nodes)).sum())
    return replace(joint, of=joint.of[order], n=joint.n[order], label=number, nodes=nodes, loss=loss)
