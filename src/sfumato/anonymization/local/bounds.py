"""What no recoding can be better than; the proof is beside the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import limits
from sfumato.anonymization.local.forest import HierarchyForest
from sfumato.anonymization.local.pieces import PiecePartition
from sfumato.anonymization.local.start import losses
from sfumato.anonymization.problem import Problem
from sfumato.progress import report

ROOM = 30_000  # candidates a row may have before its search is given up
BUDGET = 60_000  # looks at candidates per row
PER_NODE, PER_COMBINATION = 60e-6, 12e-9  # seconds of a pass over all boxes; measured
PASSES = 40
STEP = 256  # combinations at once where the clock is not asked


def bounded(
    f: HierarchyForest,
    leaves: NDArray[np.int32],
    n: NDArray[np.int64],
    upper: NDArray[np.float64],
    k: int,
    seconds: float | None,
    items: int | None = None,
) -> float:
    """No partition into classes of k rows has a smaller summed loss.

    upper: (combinations,), what some row of each loses where each class has k rows. Ends after `seconds` on
    the clock, and after so many combinations; then with less. None: after all.
    """
    from sfumato.anonymization.local._kernels import bounds as kernels
    from sfumato.anonymization.local._kernels import neighbours

    if k <= 1 or n.sum() < k:
        return 0.0
    tree = neighbours.planted_tree(f, leaves, n, np.arange(len(n)), 6)
    least = np.zeros(len(n))
    order = _order(f, leaves)
    room = min(ROOM, len(n))
    until = None if seconds is None else limits.clock() + seconds
    most = len(n) if items is None else min(items, len(n))

    def boxes(start: int, stop: int) -> None:
        kernels.cheapest_boxes(f, tree, leaves, n, k, upper, least, start, stop, room, BUDGET, order)

    def pairs(start: int, stop: int) -> None:
        kernels.raise_pairs(f, tree, leaves, n, least, high, start, stop)

    try:
        _in_steps(boxes, most, until, "bounding from below")
        if k == 2:
            high = kernels.highest(tree, least)
            _in_steps(pairs, most, until, "raising the bound")
    except KeyboardInterrupt:
        pass
    return float((least * n).sum())


def least_lost(f: HierarchyForest, partition: PiecePartition, combinations: int) -> NDArray[np.float64]:
    """(combinations,): the least that a row of each loses in a partition."""
    found = np.full(combinations, np.inf)
    np.minimum.at(found, partition.of, losses(f, partition.nodes)[partition.label])
    return found


def bounded_by_prices(
    problem: Problem,
    f: HierarchyForest,
    members: NDArray[np.int64],
    k: int,
    seconds: float | None,
    effort: float,
) -> float | None:
    """The same by prices; None where going through all boxes twice would take longer than there is time for.

    Without `seconds` the clock is not asked: as many passes are made as take about `effort` seconds.
    """
    from sfumato.anonymization.local.prices import BoxWalk, raised

    assert problem.max_level is not None
    hierarchies = problem.hierarchies
    top = [min(int(m), h.height) for m, h in zip(problem.max_level, hierarchies, strict=True)]
    nodes = math.prod(t + 1 for t in top)
    one = nodes * (PER_NODE + PER_COMBINATION * len(members))
    allowed = effort if seconds is None else seconds
    if k <= 1 or problem.n[members].sum() < k or 2 * one > allowed:
        return None
    losses = [f.loss[f.base[j] : f.base[j + 1]] for j in range(len(hierarchies))]
    walk = BoxWalk(hierarchies, losses, top, problem.leaves[members], problem.n[members], k)
    return raised(walk, seconds, PASSES if seconds is not None else max(1, min(PASSES, int(allowed / one))))


def _in_steps(work: Callable[[int, int], None], items: int, until: float | None, label: str) -> None:
    """Steps of about a twentieth of a second; none begins that would end after `until` if it took as long.

    Without `until` the clock is not asked, and all are done.
    """
    if until is None:
        for start in range(0, items, STEP):
            work(start, min(start + STEP, items))
            report(label, min(start + STEP, items), items)
        return
    start, step, took = 0, 8, 0.0
    while start < items and (began := limits.clock()) + took < until:
        stop = min(start + step, items)
        work(start, stop)
        took = limits.clock() - began
        start, step = stop, max(1, min(int(step * 0.05 / max(took, 1e-3)), 4 * step))
        report(label, start, items)


def _order(f: HierarchyForest, leaves: NDArray[np.int32]) -> NDArray[np.int64]:
    """Columns whose first step up costs most come first: they rule most out."""
    q = leaves.shape[1]
    first = [f.loss[f.base[j] + f.parent[f.base[j] + leaves[:, j]]].mean() for j in range(q)]
    return np.argsort(-np.array(first), kind="stable").astype(np.int64)
