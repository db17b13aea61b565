"""The lattice of full-domain generalizations: one level per column; a node is a tuple of levels.

`up` gives the groups of a node from those of the one below it (roll-up); `bound` is what a node costs at
least, from one-way counts alone: no row costs less than its cells do, and suppressing costs more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.histograms import ClassCells, Demands
from sfumato.anonymization.measure import Costs
from sfumato.anonymization.problem import Problem

Levels = tuple[int, ...]
_BITS = 63


@dataclass(frozen=True, eq=False)
class NodeGroups:
    """The classes of a node: packed nodes, rows, what a row costs. small: rows where it does not satisfy.

    contents: what is in the classes, where that is asked about.
    """

    key: NDArray[np.uint64]
    n: NDArray[np.int64]
    cost: NDArray[np.float64]
    small: int
    total: float
    contents: RolledUp | None = None


class RolledUp:
    """What is in the classes of a node, gathered from that of the node below when somebody asks.

    Two threads that ask at once gather the same twice.
    """

    def __init__(
        self, below: RolledUp | tuple[ClassCells, ...], into: NDArray[np.int32] | None = None, groups: int = 0
    ) -> None:
        self._known = below if isinstance(below, tuple) else None
        self._below, self._into, self._groups = below, into, groups

    def cells(self, demands: Demands, room: Room) -> tuple[ClassCells, ...]:
        """One for each column that is asked about."""
        if self._known is None:
            assert isinstance(self._below, RolledUp) and self._into is not None
            rooms = zip(self._below.cells(demands, room), room.histograms(demands), strict=True)
            self._known = tuple(c.gathered(self._into, self._groups, r) for c, r in rooms)
        return self._known


class Lattice:
    """A problem laid out for searching.

    costs: per column, what a cell released as a node costs. lost: what a suppressed row costs. demands: what
    is asked of the classes besides k rows.
    """

    def __init__(
        self, problem: Problem, costs: Costs, lost: float, k: int = 1, demands: Demands | None = None
    ) -> None:
        assert problem.max_level is not None
        self.problem, self.costs, self.lost, self.k = problem, costs, lost, k
        self.demands = demands if demands is not None and demands.checks else None
        hierarchies = problem.hierarchies
        self.top: Levels = tuple(
            int(min(most, h.height)) for most, h in zip(problem.max_level, hierarchies, strict=True)
        )
        self.size = math.prod(t + 1 for t in self.top)
        widths = [max(1, (len(h.leaves) - 1).bit_length()) for h in hierarchies]
        self.packs = sum(widths) <= _BITS
        self._shift = np.cumsum([0, *widths[:-1]]).astype(np.uint64)
        self._mask = np.array([(1 << w) - 1 for w in widths], np.uint64)
        fields = [h.height.bit_length() + 1 for h in hierarchies]  # of levels, each with a guard on top
        self.guarded = sum(fields) <= 64
        self._places = np.cumsum([0, *fields[:-1]]).astype(np.uint64)
        self._shifts = self._places.tolist()
        self._guards = sum(1 << int(end) - 1 for end in np.cumsum(fields)) if self.guarded else 0
        self.means = self._means()
        self._first = np.cumsum([0, *(len(h.leaves) for h in hierarchies[:-1])]).astype(np.int64)
        self.by_column = np.ascontiguousarray(problem.leaves.T)
        self._nothing = np.zeros(max(len(h.leaves) for h in hierarchies))
        self._steps = [[self._step(j, level) for level in range(h.height)] for j, h in enumerate(hierarchies)]

    def _means(self) -> list[list[float]]:
        """Per column and level, the mean cost of a cell."""
        rows = max(self.problem.rows, 1)
        means = []
        for j, h in enumerate(self.problem.hierarchies):
            one_way = np.bincount(self.problem.leaves[:, j], self.problem.n, len(h.leaves))
            means.append(
                [float(one_way @ self.costs[j][h.nodes[level]]) / rows for level in range(h.height + 1)]
            )
        return means

    def _step(self, j: int, level: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """From each node of a level to the one above it, and what a cell costs more there."""
        h = self.problem.hierarchies[j]
        above = np.zeros(len(h.labels[level]), np.int32)
        above[h.ancestors[level]] = h.ancestors[level + 1]
        here = self.costs[j][h.offsets[level] : h.offsets[level] + len(above)]
        return above, np.ascontiguousarray(self.costs[j][h.offsets[level + 1] + above] - here)

    # -- nodes -----------------------------------------------------------------------------------

    @property
    def bottom(self) -> Levels:
        """Nothing is generalized."""
        return (0,) * len(self.top)

    def bound(self, levels: Sequence[int]) -> float:
        """The mean cost of a row if nothing is suppressed: no generalization of the node costs less."""
        return sum(means[level] for means, level in zip(self.means, levels, strict=True))

    def nodes(self, levels: Sequence[int]) -> NDArray[np.int32]:
        """(combinations, columns): what each cell becomes on these levels."""
        return np.stack(
            [h.nodes[levels[j]][self.problem.leaves[:, j]] for j, h in enumerate(self.problem.hierarchies)],
            axis=1,
        )

    # -- groups ----------------------------------------------------------------------------------

    def base(self) -> NodeGroups:
        """The combinations themselves; such as are the same in all columns together."""
        from sfumato.anonymization import _kernels

        problem = self.problem
        key = np.empty(problem.combinations, np.uint64)
        _kernels.pack(problem.leaves, self._shift, key)
        cost = np.zeros(problem.combinations)
        for j, h in enumerate(problem.hierarchies):
            cost += self.costs[j][h.nodes[0][problem.leaves[:, j]]]
        contents = None if self.demands is None else RolledUp(self.demands.base())
        return self.leap(NodeGroups(key, problem.n, cost, 0, math.nan, contents), 0, 0, Room())

    def up(
        self,
        groups: NodeGroups,
        levels: Sequence[int],
        j: int,
        room: Room,
        worth: Callable[[int, float], bool] | None = None,
    ) -> NodeGroups:
        """One column one level up, from a node's groups.

        worth: whether a node that suppresses so many rows and costs so much may be wanted. Where it is not
        for its small classes alone, what is in the others is not looked at: both figures may then be too low.
        """
        above, dearer = self._steps[j][levels[j]]
        return self._rolled_up(groups, j, above, dearer, room, worth)

    def leap(self, groups: NodeGroups, j: int, level: int, room: Room) -> NodeGroups:
        """One column from the bottom to a level; costs stay those of the bottom."""
        above = self.problem.hierarchies[j].ancestors[level]
        return self._rolled_up(groups, j, above, self._nothing, room)

    def _rolled_up(
        self,
        groups: NodeGroups,
        j: int,
        above: NDArray[np.int32],
        dearer: NDArray[np.float64],
        room: Room,
        worth: Callable[[int, float], bool] | None = None,
    ) -> NodeGroups:
        from sfumato.anonymization import _kernels

        count = len(groups.key)
        slots, bits = room.slots(count)
        key, n, cost = np.empty(count, np.uint64), np.empty(count, np.int64), np.empty(count)
        into = np.empty(count, np.int32)
        found, small, total = _kernels.roll_up(
            groups.key, groups.n, groups.cost, self._shift[j], self._mask[j], above, dearer,
            slots, bits, self.k, self.lost, key, n, cost, into,
        )  # fmt: skip
        key, n, cost = key[:found], n[:found], cost[:found]
        if self.demands is None:
            return NodeGroups(key, n, cost, small, total)
        assert groups.contents is not None
        contents = RolledUp(groups.contents, into, found)
        if worth is None or worth(small, total):
            cells = contents.cells(self.demands, room)
            small, total = self.demands.weighed(n, cost, cells, self.lost)
        return NodeGroups(key, n, cost, small, total, contents)

    def agreement(self, one: int, out: NDArray[np.uint64]) -> None:
        """out: (combinations,), packed: for each column the lowest level on which it is as in `one`."""
        from sfumato.anonymization import _kernels

        leaves = self.problem.leaves[one]
        lowest = [
            (h.ancestors == h.ancestors[:, leaf, None]).argmax(axis=0).astype(np.uint64) << shift
            for h, leaf, shift in zip(self.problem.hierarchies, leaves, self._places, strict=True)
        ]
        _kernels.agreements(self.by_column, np.concatenate(lowest), self._first, out)

    def first_short(
        self, agreements: NDArray[np.uint64], order: NDArray[np.int64], levels: Levels, enough: int
    ) -> int:
        """The first place in order whose combination has fewer rows than `enough` in its class; or -1."""
        from sfumato.anonymization import _kernels

        packed = self._guards
        for level, shift in zip(levels, self._shifts, strict=True):
            packed += level << shift
        guards = np.uint64(self._guards)
        return _kernels.first_short(agreements, order, self.problem.n, np.uint64(packed), guards, enough)

    def member(self, key: np.uint64, levels: Levels) -> int:
        """A combination of the class with this key."""
        from sfumato.anonymization import _kernels

        first, above = self._maps(levels)
        order = self._parting(levels)
        return _kernels.first_with(self.by_column, self._shift, self._mask, order, first, above, key)

    def _parting(self, levels: Levels) -> NDArray[np.int64]:
        """The columns, those with many nodes on these levels first."""
        sizes = [-len(h.labels[level]) for h, level in zip(self.problem.hierarchies, levels, strict=True)]
        return np.array(sorted(range(len(sizes)), key=sizes.__getitem__), np.int64)

    def labels(self, levels: Levels, room: Room) -> NDArray[np.int64]:
        """(combinations,): the class of each on these levels."""
        problem = self.problem
        out = np.zeros(problem.combinations, np.int64)
        if not self.packs:  # more than 64 bits: one column after the other
            for j, h in enumerate(problem.hierarchies):
                code = h.ancestors[levels[j]][problem.leaves[:, j]]
                _, back = np.unique(out * np.int64(len(h.leaves)) + code, return_inverse=True)
                out = back.ravel().astype(np.int64)
            return out
        from sfumato.anonymization import _kernels

        first, above = self._maps(levels)
        slots, bits = room.slots(problem.combinations)
        seen = np.empty(problem.combinations, np.uint64)
        _kernels.label(problem.leaves, self._shift, first, above, slots, bits, seen, out)
        return out

    def _maps(self, levels: Levels) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The node of each leaf, all columns one after the other; where each column begins."""
        parts = [h.ancestors[level] for h, level in zip(self.problem.hierarchies, levels, strict=True)]
        return self._first, np.concatenate(parts)


class Room:
    """Hash slots that are used again and again; one per thread."""

    def __init__(self) -> None:
        self._slots: dict[int, NDArray[np.int64]] = {}
        self._histograms: tuple[NDArray[np.int64], ...] | None = None

    def slots(self, groups: int) -> tuple[NDArray[np.int64], Any]:
        """At least twice as many as groups, all -1; and how many bits count them."""
        bits = max(4, (2 * groups - 1).bit_length())
        if bits not in self._slots:
            self._slots[bits] = np.full(1 << bits, -1, np.int64)
        return self._slots[bits], np.uint64(bits)

    def histograms(self, demands: Demands) -> tuple[NDArray[np.int64], ...]:
        """For each column of the demands, a 0 for each of its levels."""
        if self._histograms is None:
            self._histograms = demands.rooms()
        return self._histograms
