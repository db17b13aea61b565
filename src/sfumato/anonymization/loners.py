"""What no node can be below, by the rows that are far from all others.

Guarantee: a node that loses at most `cap` rows costs at least `Loners.bound`.
Because:   let c(v) be the sum over columns of the mean cost of a cell on v's level: what v costs at least.
           A row that is not lost at v agrees there with k - 1 others at least: for one of them, y, that is
           no nearer than the k-th row, v is at or above the lowest levels on which the row and y agree, so
           c(v) >= c(those levels) >= d, the k-th smallest such cost over all rows. If more than `cap` rows
           have a d of x or more, one of them is not lost, and c(v) >= x. Rows that were not looked at count
           as 0.
Tested by: tests/anonymization/test_wide.py::test_loners_bound_every_node_that_loses_few_rows
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.lattice import Lattice
from sfumato.anonymization.local.forest import grown

CHUNK = 128  # rows looked at in one turn
_ENOUGH = 2  # times as many rows as may be lost


class Loners:
    """Looks at rows one after the other, those with rare values first."""

    def __init__(self, lattice: Lattice) -> None:
        from sfumato.anonymization.local._kernels import neighbours

        problem = lattice.problem
        self._k, self._n, self._leaves = lattice.k, problem.n, problem.leaves
        losses = []
        for j, h in enumerate(problem.hierarchies):
            cost = np.array(lattice.means[j])
            cost[lattice.top[j] + 1 :] = 1e9  # a level that may not be reached joins nobody
            losses.append(cost[h.level_of])
        self._forest = grown(problem.hierarchies, losses)
        self._tree = neighbours.planted_tree(self._forest, self._leaves, self._n, np.arange(len(self._n)), 6)
        self._order = np.argsort(-self._rarity(), kind="stable")
        self._far = np.zeros(0)
        self.bound = lattice.bound(lattice.bottom)

    def _rarity(self) -> NDArray[np.float64]:
        """(combinations,): how rare the values are, all columns together."""
        found = np.zeros(len(self._n))
        for j in range(self._leaves.shape[1]):
            rows = np.bincount(self._leaves[:, j], self._n)
            found -= np.log(rows[self._leaves[:, j]])
        return found

    def done(self, cap: int) -> bool:
        """Whether looking at more rows is hardly worth it: rare ones came first, and `cap` of them matter."""
        return len(self._far) >= min(len(self._n), _ENOUGH * (cap + CHUNK))

    def look(self, count: int = CHUNK) -> int:
        """Look at some more rows; how many."""
        from sfumato.anonymization.local._kernels import neighbours

        items = self._order[len(self._far) : len(self._far) + count]
        few = max(1, min(self._k - 1, len(self._n) - 1))
        found = neighbours.nearest_of(self._forest, self._tree, self._leaves, items, few, len(self._n))
        near: NDArray[np.int64] = found.astype(np.int64)
        cost = neighbours.joined_with(self._forest, self._leaves, items, near)
        rows = np.cumsum(np.where(near >= 0, self._n[near], 0), axis=1) + self._n[items][:, None]
        far = np.where((near >= 0) & (rows >= self._k), cost, np.inf).min(axis=1, initial=np.inf)
        own = self._n[items] >= self._k
        base = neighbours.joined_with(self._forest, self._leaves, items, items[:, None])[:, 0]
        self._far = np.concatenate([self._far, np.where(own, base, far)])
        return len(items)

    def prove(self, cap: int) -> float:
        """What a node costs that loses at most `cap` rows, as far as is known."""
        seen = self._order[: len(self._far)]
        dear = np.argsort(-self._far, kind="stable")
        place = int(np.searchsorted(np.cumsum(self._n[seen][dear]), cap, side="right"))
        if place < len(dear):
            self.bound = max(self.bound, float(self._far[dear[place]]))
        return self.bound
