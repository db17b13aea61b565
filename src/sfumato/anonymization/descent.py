"""Nodes of the lattice reached from the top, one column split after the other, for any number of columns.

Going down, classes only split. A class with fewer than k rows never satisfies again, whatever is asked
besides: its rows are lost there and everywhere below. So what is lost at a node is lost below it, and a
node that loses too much rules out all below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.lattice import Lattice, Levels, Room


@dataclass(frozen=True, eq=False)
class SplitClasses:
    """The classes of a node that have k rows: combinations side by side. lost: rows of the others.

    suppressed: rows that are lost, or in a class without what is asked besides. total: what all rows cost.
    """

    levels: Levels
    order: NDArray[np.int32]
    start: NDArray[np.int32]
    lost: int
    suppressed: int
    total: float


class Descent:
    """Splits classes of a problem; `part` is the same for some combinations that stand for more rows."""

    def __init__(self, lattice: Lattice, leaves: NDArray[np.int32], n: NDArray[np.int64]) -> None:
        self.lattice, self.leaves, self.n = lattice, leaves, n
        hierarchies = lattice.problem.hierarchies
        self._first = np.cumsum([0, *(len(h.leaves) for h in hierarchies[:-1])]).astype(np.int64)
        most = max(len(h.leaves) for h in hierarchies)
        self._rows, self._members = np.zeros(most, np.int64), np.zeros(most, np.int32)
        self._cells = [
            [np.ascontiguousarray(lattice.costs[j][h.nodes[level]]) for level in range(h.height + 1)]
            for j, h in enumerate(hierarchies)
        ]
        self.rows = int(n.sum())
        self._room = Room()

    @classmethod
    def of(cls, lattice: Lattice) -> Descent:
        """All combinations of a problem."""
        return cls(lattice, lattice.by_column, lattice.problem.n)

    def whole(self, k: int, limit: int) -> SplitClasses:
        """The most general node."""
        return self.reach(self.lattice.top, k, limit)

    def _all(self) -> SplitClasses:
        """All rows in one class: above every node."""
        count = len(self.n)
        order, start = np.arange(count, dtype=np.int32), np.array([0, count], np.int32)
        return SplitClasses(self.lattice.top, order, start, 0, 0, 0.0)

    def reach(self, levels: Levels, k: int, limit: int, columns: Sequence[int] | None = None) -> SplitClasses:
        """A node, from the top: the columns in this order, none beyond the first that loses too much."""
        found = self._all()
        order, start, lost = found.order, found.start, 0
        for j in self.sequence if columns is None else columns:
            if levels[j] == self.lattice.problem.hierarchies[j].height:
                continue
            order, start, more = self._split(order, start, j, levels[j], k, limit - lost)
            lost += more
            if lost > limit:
                break
        if lost > limit:
            return SplitClasses(levels, order, start, lost, lost, np.inf)
        return SplitClasses(levels, order, start, lost, *self._figures(levels, order, start, lost))

    @property
    def sequence(self) -> list[int]:
        """The columns, those with few values first: late splits are of few rows."""
        hierarchies = self.lattice.problem.hierarchies
        return sorted(range(len(hierarchies)), key=lambda j: (len(hierarchies[j].leaves), j))

    def _split(
        self, order: NDArray[np.int32], start: NDArray[np.int32], j: int, level: int, k: int, limit: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
        from sfumato.anonymization import _descent_kernels as kernels

        new, ends = np.empty(len(order), np.int32), np.empty(len(order) + 2, np.int32)
        node = self.lattice.problem.hierarchies[j].ancestors[level]
        classes, kept, lost = kernels.split(
            order, start, self.leaves[j], node, self.n, k, limit, self._rows, self._members, new, ends
        )
        return new[:kept].copy(), ends[: classes + 1].copy(), int(lost)

    def _figures(
        self, levels: Levels, order: NDArray[np.int32], start: NDArray[np.int32], lost: int
    ) -> tuple[int, float]:
        """Rows that are suppressed, and what all rows cost."""
        if self.lattice.demands is not None:
            return self._asked(levels, order, start, lost)
        gone = np.ones(len(self.n), bool)
        gone[order] = False
        items = np.flatnonzero(gone)
        more = float(self.n[items] @ (self.lattice.lost - self._paid(levels, items)))
        return lost, self.lattice.bound(levels) * self.rows + more

    def _paid(self, levels: Levels, items: NDArray[np.integer]) -> NDArray[np.float64]:
        """(items,): what a row of each combination costs on these levels."""
        paid = np.zeros(len(items))
        for j, level in enumerate(levels):
            paid += self._cells[j][level][self.leaves[j, items]]
        return paid

    def _asked(
        self, levels: Levels, order: NDArray[np.int32], start: NDArray[np.int32], lost: int
    ) -> tuple[int, float]:
        """The same where the contents of classes are asked about."""
        demands = self.lattice.demands
        assert demands is not None
        price = self.lattice.lost
        if not len(order):
            return lost, lost * price
        groups = len(start) - 1
        into = np.full(len(self.n), -1, np.int32)
        into[order] = np.repeat(np.arange(groups, dtype=np.int32), np.diff(start))
        cells = tuple(
            c.gathered(into, groups, r)
            for c, r in zip(demands.base(), self._room.histograms(demands), strict=True)
        )
        rows = np.add.reduceat(self.n[order], start[:-1])
        short, total = demands.weighed(rows, self._paid(levels, order[start[:-1]]), cells, price)
        return lost + short, total + lost * price

    def down(
        self, above: SplitClasses, j: int, k: int, limit: int, suppressed: int, total: float
    ) -> SplitClasses:
        """One column one level down. suppressed, total: as `tried` found them."""
        level = above.levels[j] - 1
        order, start, more = self._split(above.order, above.start, j, level, k, limit - above.lost)
        levels = (*above.levels[:j], level, *above.levels[j + 1 :])
        return SplitClasses(levels, order, start, above.lost + more, suppressed, total)

    def lowered(self, above: SplitClasses, j: int, level: int, k: int, limit: int) -> SplitClasses:
        """One column down to a level, for the rows that are lost alone."""
        order, start, more = self._split(above.order, above.start, j, level, k, limit - above.lost)
        levels = (*above.levels[:j], level, *above.levels[j + 1 :])
        return SplitClasses(levels, order, start, above.lost + more, 0, np.inf)

    def tried(self, above: SplitClasses, j: int, k: int, limit: int) -> tuple[int, float]:
        """The rows that would be suppressed with one column one level down, and what all rows would cost."""
        from sfumato.anonymization import _descent_kernels as kernels

        level = above.levels[j] - 1
        if self.lattice.demands is not None:
            order, start, more = self._split(above.order, above.start, j, level, k, limit - above.lost)
            levels = (*above.levels[:j], level, *above.levels[j + 1 :])
            lost = above.lost + more
            return (lost, np.inf) if lost > limit else self._asked(levels, order, start, lost)
        here = [self._cells[i][lv] for i, lv in enumerate(above.levels)]
        lost, change = kernels.tried(
            above.order, above.start, self.leaves, j, self.lattice.problem.hierarchies[j].ancestors[level],
            self._cells[j][level] - here[j], self.n, np.concatenate(here), self._first, k,
            limit - above.lost, self.lattice.lost, self._rows,
        )  # fmt: skip
        return above.lost + int(lost), above.total + float(change)

    def part(self, levels: Levels, columns: Sequence[int]) -> Descent:
        """The combinations that differ in these columns on these levels, each once, with all of its rows."""
        found = self._all()
        order, start = found.order, found.start
        for j in columns:
            order, start, _ = self._split(order, start, j, levels[j], 1, self.rows)
        n = np.add.reduceat(self.n[order], start[:-1]) if len(order) else self.n[:0]
        return Descent(self.lattice, np.ascontiguousarray(self.leaves[:, order[start[:-1]]]), n)
