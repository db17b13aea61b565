"""Distinct rows under any posets, and bounds of sets of them: what the searches without kernels ask for.

A set of values may have several least upper bounds. **The rule**: of a LUB set that node is released which
loses least by the measure; among equals the one with the smaller share of the leaves; then the one whose
label comes first. The n-ary bound is taken over the original members, never over earlier bounds, unless the
poset has single bounds, for which that is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.hierarchy.levels import Hierarchy
from sfumato.hierarchy.node_numbers import Numbered

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
_ROWS = 2_000  # values of a column whose table of pairs is kept
MEASURES = ("height", "loss")


class Bounds:
    """Rows as numbers of leaves.

    leaves: (rows, columns); n: (rows,), how often each occurs. weights: of the columns. measure: "height",
    w rank / height; or "loss", w (share - 1/D) / (1 - 1/D). most: the highest rank a column may reach; what
    is above it costs infinitely much.
    """

    def __init__(
        self,
        orders: Sequence[Hierarchy],
        leaves: NDArray[np.integer],
        n: Longs,
        weights: Floats,
        measure: str = "height",
        most: Floats | None = None,
    ) -> None:
        self.orders, self.leaves, self.n = tuple(orders), np.asarray(leaves, np.int64), n
        self.weights, self.by_loss = weights, measure == "loss"
        self.most = np.full(len(self.orders), math.inf) if most is None else most
        found = [np.unique(self.leaves[:, j], return_inverse=True) for j in range(len(self.orders))]
        self.values = [values.tolist() for values, _ in found]
        self.cells = np.stack([place.ravel() for _, place in found], axis=1)
        self._costs: list[dict[int, float]] = [{} for _ in self.orders]
        self._known: list[dict[frozenset[int], tuple[int, float]]] = [{} for _ in self.orders]
        self._pairs: list[dict[int, Floats]] = [{} for _ in self.orders]

    @property
    def columns(self) -> range:
        """Their places."""
        return range(len(self.orders))

    def cost(self, j: int, node: int) -> float:
        """What a cell of column j costs as a node."""
        known = self._costs[j]
        if node not in known:
            known[node] = self._cost(j, node)
        return known[node]

    def _cost(self, j: int, node: int) -> float:
        order = self.orders[j]
        return float(self.weights[j]) * (_lost(order, node) if self.by_loss else _height(order, node))

    def cell(self, j: int, members: frozenset[int]) -> tuple[int, float]:
        """The bound of these nodes in a column, by the rule above, and its cost; a single one stays."""
        known = self._known[j]
        found = known.get(members)
        if found is None:
            order = self.orders[j]
            bounds = order.lub(*members)
            best = next(iter(bounds))
            if len(bounds) > 1:
                best = min(bounds, key=lambda x: (self.cost(j, x), order.share(x), order.label(x)))
            changed = any(order.lub(m) != {best} for m in members)
            too_high = changed and order.rank(best) > self.most[j]
            found = known[members] = best, math.inf if too_high else self.cost(j, best)
        return found

    def grown(self, j: int, members: frozenset[int], value: int) -> frozenset[int]:
        """A set and one value more; where bounds are single, the set is its bound."""
        if _folds(self.orders[j]):
            return frozenset((self.cell(j, members)[0], value)) if len(members) > 1 else members | {value}
        return members | {value}

    def bound(self, rows: Sequence[int]) -> tuple[int, ...]:
        """The n-ary least upper bound over the original members."""
        return tuple(self.cell(j, frozenset(self.leaves[list(rows), j].tolist()))[0] for j in self.columns)

    def measure(self, rows: Sequence[int]) -> float:
        """What a row costs that is released as the bound of these; infinite where that is too high."""
        return sum(self.cell(j, frozenset(self.leaves[list(rows), j].tolist()))[1] for j in self.columns)

    @cached_property
    def own(self) -> Floats:
        """(rows,): the measure of each as it stands."""
        return np.array([self.measure([t]) for t in range(len(self.n))])

    def prices(self, j: int, members: frozenset[int]) -> Floats:
        """(values of column j,): the cost of the bound of the members with each."""
        single = next(iter(members)) if len(members) == 1 else -1
        kept = self._pairs[j]
        if single in kept:
            return kept[single]
        found = np.array([self.cell(j, self.grown(j, members, v))[1] for v in self.values[j]])
        if single >= 0 and len(self.values[j]) <= _ROWS:
            kept[single] = found
        return found

    def together(self, row: int, others: Longs) -> Floats:
        """(others,): Measure(LUB(row, other))."""
        total = np.zeros(len(others))
        for j in self.columns:
            total += self.prices(j, frozenset((int(self.leaves[row, j]),)))[self.cells[others, j]]
        return total

    def covered(self, nodes: Sequence[int]) -> int:
        """How many of the rows lie under a released row."""
        fits = np.ones(len(self.n), bool)
        for j, node in enumerate(nodes):
            below = np.array([self.orders[j].leq(v, node) for v in self.values[j]])
            fits &= below[self.cells[:, j]]
        return int(self.n[fits].sum())


def _lost(order: Hierarchy, node: int) -> float:
    return order.lost(node) if isinstance(order, Numbered) else float(order.loss[node])


def _height(order: Hierarchy, node: int) -> float:
    return order.rank(node) / (tallest(order) or 1.0)


def _folds(order: Hierarchy) -> bool:
    return not isinstance(order, Numbered) or order.folds


def tallest(order: Hierarchy) -> float:
    """The rank of the root."""
    return order.most if isinstance(order, Numbered) else order.height
