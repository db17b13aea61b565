"""Predictive tagging: for a criterion that generalizing keeps, and no row suppressed.

Nodes that satisfy it lie above a boundary. A check of one node tags all above it or all below it. Nodes
are taken in the order of their bound, which is their score here; from each a path goes up as long as it is
cheaper than the best, and binary search finds where it crosses the boundary.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.incumbent import TIE, Incumbent
from sfumato.anonymization.lattice import Lattice, Levels, NodeGroups, Room
from sfumato.anonymization.limits import INTERRUPTED

_UNKNOWN, _YES, _NO = 0, 1, 2
_KEPT = 20_000_000  # groups that are kept to roll up from
_BLOCK = 4096
_WITNESSES = 20  # combinations that are asked first
Check = Callable[[Levels], bool]


def search_boundary(lattice: Lattice, check: Check, found: Incumbent) -> None:
    """Find the cheapest node that `check` accepts; `check` must accept all generalizations of such a node."""
    shape = tuple(t + 1 for t in lattice.top)
    tags = np.zeros(shape, np.int8)
    bounds = _bounds(lattice)
    flat = bounds.reshape(-1)
    order, plain = np.argsort(flat, kind="stable"), flat.tolist()
    sizes = [(math.prod(shape[j + 1 :]), size) for j, size in enumerate(shape)]
    try:
        found.look(always=True)
        if not _tagged(lattice.top, check, tags, bounds, found):
            return
        at = _next(order, 0, tags)
        while at < len(order) and not found.hopeless(float(flat[order[at]])) and not found.stopped:
            path = _path(int(order[at]), sizes, tags.reshape(-1), plain, found.best)
            _cross(path, check, tags, bounds, found)
            at = _next(order, at, tags)
    except KeyboardInterrupt:
        found.stop(INTERRUPTED)
    if found.stopped:
        found.leave(float(flat[tags.reshape(-1) == _UNKNOWN].min(initial=np.inf)))
    for place in np.flatnonzero((tags.reshape(-1) == _YES) & (flat <= found.best + TIE)):
        levels = _levels(int(place), shape)
        if levels not in found.ties:
            found.offer(levels, float(flat[place]))


def _next(order: NDArray[np.int64], at: int, tags: NDArray[np.int8]) -> int:
    """The first node in order, from `at` on, that nothing is known of."""
    known = tags.reshape(-1)
    while at < len(order):
        unknown = known[order[at : at + _BLOCK]] == _UNKNOWN
        if unknown.any():
            return at + int(unknown.argmax())
        at += _BLOCK
    return at


def _bounds(lattice: Lattice) -> NDArray[np.float64]:
    """The bound of every node, one axis per column."""
    total = np.zeros((1,) * len(lattice.top))
    for j, top in enumerate(lattice.top):
        axis = [1] * len(lattice.top)
        axis[j] = top + 1
        total = total + np.array(lattice.means[j][: top + 1]).reshape(axis)
    return total


def _levels(place: int, shape: tuple[int, ...]) -> Levels:
    levels = []
    for size in reversed(shape):
        place, level = divmod(place, size)
        levels.append(level)
    return tuple(reversed(levels))


def _path(
    start: int, sizes: list[tuple[int, int]], tags: NDArray[np.int8], bounds: list[float], best: float
) -> list[int]:
    """Upwards from a node by the cheapest steps, through nodes nothing is known of, below the best score.

    Nodes are places in the flat lattice, as `tags` and `bounds` are. sizes: the stride and the levels of each
    column.
    """
    path, here = [start], start
    while True:
        cheapest, step = best + TIE, -1
        for stride, size in sizes:
            higher = here + stride
            if here // stride % size < size - 1 and bounds[higher] < cheapest and tags[higher] == _UNKNOWN:
                cheapest, step = bounds[higher], higher
        if step < 0:
            return path
        path.append(step)
        here = step


def _cross(
    path: list[int],
    check: Check,
    tags: NDArray[np.int8],
    bounds: NDArray[np.float64],
    found: Incumbent,
) -> None:
    """Where a path crosses the boundary. Its top first: once the best is known, most paths stay below."""
    if not found.look() or not _tagged(_levels(path[-1], tags.shape), check, tags, bounds, found):
        return
    low, high = 0, len(path) - 2
    while low <= high and found.look():
        middle = (low + high) // 2
        if _tagged(_levels(path[middle], tags.shape), check, tags, bounds, found):
            high = middle - 1
        else:
            low = middle + 1


def _tagged(
    levels: Levels, check: Check, tags: NDArray[np.int8], bounds: NDArray[np.float64], found: Incumbent
) -> bool:
    """Check a node, and tag all that follows from it."""
    if check(levels):
        tags[tuple(slice(level, None) for level in levels)] = _YES
        found.offer(levels, float(bounds[levels]))
        return True
    below = tags[tuple(slice(None, level + 1) for level in levels)]
    below[...] = _NO
    return False


class RollUpCheck:
    """Whether every class has k rows, and what else is asked of its contents.

    Rare rows are rare at many nodes: those that were too few before are asked first. If they do not refute
    a node, it is reached from the bottom by raising one column after the other, those with many values
    first; what such a way has passed is kept, as other nodes begin with the same steps.
    """

    def __init__(self, lattice: Lattice) -> None:
        self._lattice, self._room = lattice, Room()
        hierarchies = lattice.problem.hierarchies
        self._order = sorted(range(len(lattice.top)), key=lambda j: (-len(hierarchies[j].leaves), j))
        self._base = lattice.base()
        self._known: dict[Levels, NodeGroups] = {}
        self._held = 0
        self._near = np.empty((_WITNESSES if lattice.guarded else 0, lattice.problem.combinations), np.uint64)
        self._rare = np.empty(0, np.int64)  # places in it, those who refuted last first

    def __call__(self, levels: Levels) -> bool:
        """Whether the node has no class below k."""
        lattice = self._lattice
        place = lattice.first_short(self._near, self._rare, levels, lattice.k)
        if place >= 0:
            if place:  # who refutes today refutes tomorrow
                self._rare[: place + 1] = np.roll(self._rare[: place + 1], 1)
            return False
        groups = self._groups(levels)
        rare = int(np.argmin(groups.n)) if len(groups.n) else 0
        if groups.small and len(self._near) and groups.n[rare] < lattice.k:
            full = len(self._rare) == len(self._near)
            free = self._rare[-1] if full else len(self._rare)
            self._rare = np.insert(self._rare[:-1] if full else self._rare, 0, free)
            lattice.agreement(lattice.member(groups.key[rare], levels), self._near[free])
        return groups.small == 0

    def _groups(self, levels: Levels) -> NodeGroups:
        groups, passed = self._base, list(self._lattice.bottom)
        for j in self._order:
            if not levels[j]:
                continue
            passed[j] = levels[j]
            name = tuple(passed)
            known = self._known.get(name)
            if known is None:
                known = self._lattice.leap(groups, j, levels[j], self._room)
                self._keep(name, known)
            groups = known
        return groups

    def _keep(self, name: Levels, groups: NodeGroups) -> None:
        self._held += len(groups.key)
        if self._held > _KEPT:
            self._known.clear()
            self._held = len(groups.key)
        self._known[name] = groups
