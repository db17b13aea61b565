"""The bound of a local recoding by prices on rows; the proof is beside the kernel.

A box is a class of one combination of levels, so going through all combinations of levels, from the top down,
goes through all boxes. Classes below k rows are left behind on the way: what is below them has fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import limits
from sfumato.hierarchy import Hierarchy
from sfumato.progress import report

Prices = NDArray[np.float64]
Levels = tuple[int, ...]
_STEP = 2.5  # of its k-th part of the room, by how much each price is raised at once


class BoxWalk:
    """All boxes of some combinations, one combination of levels after the other."""

    def __init__(
        self, hierarchies: Sequence[Hierarchy], losses: Sequence[Prices], top: Sequence[int],
        leaves: NDArray[np.int32], n: NDArray[np.int64], k: int,
    ) -> None:  # fmt: skip
        self.hierarchies, self.top, self.n, self.k = hierarchies, tuple(top), n, k
        self.leaves = np.ascontiguousarray(leaves.T)
        self.first = np.cumsum([0, *(len(h.leaves) for h in hierarchies[:-1])]).astype(np.int64)
        self._cells = [
            [np.ascontiguousarray(loss[h.nodes[level]]) for level in range(h.height + 1)]
            for h, loss in zip(hierarchies, losses, strict=True)
        ]
        widest = max(len(h.leaves) for h in hierarchies)
        self._rows, self._members = np.zeros(widest, np.int64), np.zeros(widest, np.int32)
        self._touched = np.empty(widest, np.int32)
        self._least = [[float(cell.min()) for cell in levels] for levels in self._cells]
        # Columns that part most rows are lowered first, so that most nodes have few rows left.
        self._order = sorted(range(len(self.top)), key=lambda j: (-self._levels(j), j))

    def _levels(self, j: int) -> int:
        return len(self.hierarchies[j].leaves)

    def _split(
        self, order: NDArray[np.int32], start: NDArray[np.int32], j: int, level: int, u: Prices
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        from sfumato.anonymization.local._kernels import prices as kernels

        new, ends = np.empty(len(order), np.int32), np.empty(len(order) + 2, np.int32)
        boxes, kept = kernels.parted(
            order, start, self.leaves[j], self.hierarchies[j].ancestors[level], self.n, u, self.k,
            self._rows, self._members, self._touched, new, ends,
        )  # fmt: skip
        return new[:kept], ends[: boxes + 1]

    def boxes(self, u: Prices) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], Levels]]:
        """(order, start, levels) of each combination of levels that has a box with k rows and some price."""
        order = np.argsort(-u, kind="stable").astype(np.int32)
        start = np.array([0, len(order)], np.int32)
        for j in self._order:
            if self.top[j] < self.hierarchies[j].height:
                order, start = self._split(order, start, j, self.top[j], u)
        stack = [(order, start, self.top, 0)]
        while stack:
            order, start, levels, rank = stack.pop()
            yield order, start, levels
            for at in range(rank, len(self._order)):
                j = self._order[at]
                if levels[j]:
                    lower = (*levels[:j], levels[j] - 1, *levels[j + 1 :])
                    found = self._split(order, start, j, levels[j] - 1, u)
                    if len(found[0]):
                        stack.append((*found, lower, at))

    def cell(self, levels: Levels) -> Prices:
        """What each leaf loses, all columns one after the other."""
        return np.concatenate([self._cells[j][level] for j, level in enumerate(levels)])

    def least(self, levels: Levels) -> float:
        """What every box on these levels loses at least."""
        return sum(float(self._least[j][level]) for j, level in enumerate(levels))

    def cheapest(self) -> Prices:
        """(combinations,): the least loss of a box with k rows around each; 1 where there is none."""
        from sfumato.anonymization.local._kernels import prices as kernels

        found = np.ones(len(self.n))
        for order, start, levels in self.boxes(np.ones(len(self.n))):
            kernels.cheapest_of(order, start, self.leaves, self.cell(levels), self.first, found)
        return found

    def fairness(self, u: Prices) -> tuple[Prices, Prices]:
        """(combinations,): how far each price may be raised by itself; the factor that makes it fair."""
        from sfumato.anonymization.local._kernels import prices as kernels

        highest = float(u.max(initial=0.0))
        room, scale = np.full(len(self.n), highest), np.ones(len(self.n))
        for order, start, levels in self.boxes(u):
            if self.k * (self.least(levels) - highest) < highest:
                kernels.priced(
                    order, start, self.leaves, self.n, self.cell(levels), self.first, self.k, u, highest,
                    room, scale,
                )  # fmt: skip
        return room, scale


def raised(walk: BoxWalk, seconds: float | None, passes: int) -> float:
    """The sum of the best prices found: no recoding with k rows in each class loses less.

    Ends after so many passes, after `seconds` on the clock, and on Ctrl-C; then with less.
    """
    n, best, took = walk.n, 0.0, 0.0
    until = None if seconds is None else limits.clock() + seconds
    try:
        u = walk.cheapest()
        best = float(n @ u)
        for done in range(passes):
            began = limits.clock()
            if until is not None and began + took > until:
                break
            room, scale = walk.fairness(u)
            took = limits.clock() - began
            u = u * scale
            best = max(best, float(n @ u))
            u = np.minimum(u + min(1.0, _STEP / walk.k) * np.maximum(room, 0.0), 1.0)
            report("raising the bound", done + 1, passes)
    except KeyboardInterrupt:
        pass
    return best * (1 - 1e-12)
