"""From a start to a better partition: pools of neighbouring classes are clustered anew, under annealing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.local.forest import HierarchyForest
from sfumato.anonymization.local.pace import Pace
from sfumato.anonymization.local.pieces import PiecePartition, frozen, thawed
from sfumato.anonymization.local.query import ClassQuery
from sfumato.anonymization.local.start import boxes, losses
from sfumato.progress import report

NEAR = 16  # neighbours of a combination whose classes may be pooled with its own
LOOKS = 200  # combinations looked at to find them in a section of a larger table, those beside it first
POOL = 4  # most classes in a pool
COLD = 0.0002  # last temperature, as a share of the mean loss of a class; the first is a run's own
KEEP = 0.001  # by how much less must be lost, as a share, for the partition to be kept: a copy takes time
CHUNKS = 200  # temperatures
LABEL = "re-clustering neighbours"


@dataclass(frozen=True, eq=False)
class Ground:
    """What does not change while a partition does."""

    forest: HierarchyForest
    leaves: NDArray[np.int32]
    n: NDArray[np.int64]
    k: int
    section: bool = False  # of a table too large to look for the nearest among all

    def neighbours(self, pace: Pace) -> NDArray[np.int32]:
        """(combinations, NEAR): the nearest of each, or near ones; of the first only, when time is up."""
        from sfumato.anonymization.local._kernels import neighbours as kernels

        items = np.arange(len(self.n))
        tree = kernels.planted_tree(self.forest, self.leaves, self.n, items, 6)
        most = LOOKS if self.section else len(items)
        found = [np.empty((0, min(NEAR, max(len(items) - 1, 1))), np.int32)]
        for start in range(0, len(items), 10_000):
            if pace.is_late():
                break
            part = items[start : start + 10_000]
            found.append(kernels.nearest_of(self.forest, tree, self.leaves, part, found[0].shape[1], most))
            report("finding neighbours", start + len(part), len(items))
        return np.concatenate(found)

    def partition(self, label: NDArray[np.int64]) -> PiecePartition:
        """Whole combinations in classes."""
        nodes = boxes(self.forest, self.leaves, label)
        size = np.bincount(label, self.n, len(nodes))
        total = float((size * losses(self.forest, nodes)).sum())
        return PiecePartition(np.arange(len(label)), self.n, label, nodes, total)


def per_move(k: int) -> float:
    """How long a pool takes, in units of its time at k = 1; measured."""
    return float(k**0.85)


def heat(partition: PiecePartition, hot: float, fraction: float) -> float:
    """Falls geometrically from `hot` to COLD times the loss of a mean class."""
    mean = partition.loss / max(len(partition.nodes), 1)
    return float(max(mean, 1e-9) * hot * (COLD / hot) ** fraction)


def annealed(ground: Ground, start: PiecePartition, pace: Pace, rng: NDArray[np.uint64]) -> PiecePartition:
    """The best partition met; rows alone decide, so combinations may be split. Ctrl-C ends it early."""
    from sfumato.anonymization.local._kernels import pools as kernels

    f, k, best = ground.forest, ground.k, start
    state = thawed(ground.leaves, start, losses(f, start.nodes), k)
    chunk = max(1, -(-pace.planned // CHUNKS))
    step = max(1, min(chunk, int(10_000 / per_move(k))))  # tenths of a second, so that Ctrl-C is heard
    loss = start.loss
    if pace.fraction() >= 1:
        return start
    try:
        near = ground.neighbours(pace)
        while (over := pace.fraction()) < 1:
            moves = pace.next_moves(step)
            loss += kernels.anneal(
                f, ground.leaves, state, near, k, POOL, moves, heat(start, pace.hot, over), rng
            )
            pace.done += moves
            report(LABEL, int(1000 * pace.fraction()), 1000)
            if over > 0.8 and loss < (1 - KEEP) * best.loss:
                best = frozen(state)
                loss = best.loss
    except KeyboardInterrupt:
        pace.interrupted = True
    last = frozen(state)
    return min(last, best, key=lambda p: p.loss)


def annealed_by_asking(
    ground: Ground, start: PiecePartition, ask: ClassQuery, pace: Pace, rng: NDArray[np.uint64]
) -> PiecePartition:
    """The same for any criterion: many pools are proposed, judged together, and each is taken or left."""
    found = [start]
    try:
        near = ground.neighbours(pace)
        _anneal_by_asking(ground, near, found, ask, pace, rng)
    except KeyboardInterrupt:
        pace.interrupted = True
    return found[-1]


def _anneal_by_asking(
    ground: Ground,
    near: NDArray[np.int32],
    found: list[PiecePartition],
    ask: ClassQuery,
    pace: Pace,
    rng: NDArray[np.uint64],
) -> None:
    """found: the last is the best so far."""
    from sfumato.anonymization.local._kernels import proposals as kernels

    f, n = ground.forest, ground.n
    start = now = found[-1]
    pools = max(1, len(start.nodes) // 12)
    old, new = np.zeros(pools), np.zeros(pools)
    while (over := pace.fraction()) < 1:
        state = thawed(ground.leaves, now, losses(f, now.nodes), ground.k)
        label, pool_of = now.label.copy(), np.full(len(n), -1, np.int64)
        tries = pace.next_moves(3 * pools)
        count = kernels.propose(
            f, ground.leaves, state, near, ground.k, POOL, tries, heat(start, pace.hot, over), rng, label,
            pool_of, old, new,
        )  # fmt: skip
        pace.done += tries
        report(LABEL, int(1000 * pace.fraction()), 1000)
        if count:
            label = _taken(ground, ask, now.label, label, pool_of)
            now = ground.partition(label)
            if now.loss < found[-1].loss - 1e-9:
                found[-1] = now


def _taken(
    ground: Ground,
    ask: ClassQuery,
    old: NDArray[np.int64],
    new: NDArray[np.int64],
    pool_of: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The labels with those pools changed whose classes all satisfy.

    What a class satisfies may hang on the others (rows that match anything), so what is taken is asked
    again; if it fails then, nothing is taken.
    """
    trial = np.unique(new, return_inverse=True)[1].reshape(-1).astype(np.int64)
    ok = ask(trial, boxes(ground.forest, ground.leaves, trial))
    failed = np.unique(pool_of[~ok[trial]])
    keep_old = (pool_of < 0) | np.isin(pool_of, failed)
    mixed = np.where(keep_old, old, new)
    mixed = np.unique(mixed, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if ask(mixed, boxes(ground.forest, ground.leaves, mixed)).all():
        return mixed
    return old
