"""Contributors as readers: who is alone in a cell knows it, and so do two who are its only people.

A coalition of at most c people knows the cells whose people are all in it. It opens a target where no
movement takes that one along while all cells of the coalition stay. Each movement that is known says which
of these cells it needs; only a coalition that stops every known movement is worth a program, and the
program's answer is one more movement, or the coalition is found. So most targets need none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.cells.movement import Movement, Movements

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Cells = frozenset[int]

_NEAR = 1e-6
_DRAWS, _GOLDEN = 4, 0.6180339887498949  # corners looked at before whole numbers are searched for
_KEPT = 40  # movements of a target that are kept, where coalitions are of several cells


class Coalitions:
    """Which coalitions stop which targets, as far as movements are known.

    people: how many are in each cell that a coalition may know.  size: people in a coalition, at most.
    """

    def __init__(self, people: Mapping[int, int], size: int) -> None:
        self.people = {cell: n for cell, n in people.items() if 1 <= n <= size}
        self.size = size
        self._known = frozenset(self.people)
        self._needs: dict[int, list[Cells]] = {}

    def learn(self, movement: Movement, targets: Iterable[int]) -> None:
        """A movement takes these targets along, and needs the cells that it moves."""
        if not self._known:
            return
        passed = self._known.intersection(movement.cells.tolist())
        for target in targets:
            self._add(target, passed - {target})

    def _add(self, target: int, needed: Cells) -> None:
        known = self._needs.setdefault(target, [])
        if self.size == 1:  # what all of them need says everything
            known[:] = [needed & known[0] if known else needed]
        elif not any(k <= needed for k in known):
            known[:] = [*[k for k in known if not needed <= k][-_KEPT + 1 :], needed]

    def stopping(self, target: int, without: Cells) -> Iterator[Cells]:
        """Coalitions that stop every known movement of a target, small ones first where there is a choice;
        cells in `without` are no part of any."""
        known = [k - without for k in self._needs.get(target, [self._known - {target}])]
        found: list[Cells] = []
        for coalition in self._hitting(known, frozenset(), self.size):
            if not any(f <= coalition for f in found):
                found.append(coalition)
                yield coalition

    def _hitting(self, known: list[Cells], chosen: Cells, room: int) -> Iterator[Cells]:
        missed = next((k for k in known if not k & chosen), None)
        if missed is None:
            yield chosen
            return
        for cell in sorted(missed):
            if self.people[cell] <= room:
                yield from self._hitting(known, chosen | {cell}, room - self.people[cell])


def opened(
    ways: Movements, coalitions: Coalitions, targets: Iterable[int], smallest: float
) -> tuple[list[tuple[Cells, int]], list[Movement]]:
    """Pairs of a coalition's cells and a target that it knows exactly; and the movements that were found."""
    found: list[tuple[Cells, int]] = []
    movements: list[Movement] = []
    if not coalitions.people:
        return found, movements
    same = ways.equals()
    by_group: dict[int, list[int]] = {}
    for cell in coalitions.people:
        by_group.setdefault(int(same[cell]), []).append(cell)
    for target in dict.fromkeys(targets):
        own = frozenset(by_group.get(int(same[target]), []))  # a total of him alone is himself
        settled: list[Cells] = []
        while (asked := _next(coalitions.stopping(target, own), settled)) is not None:
            moved = moved_without(ways, target, tuple(sorted(asked)), smallest)
            if moved is None:
                settled.append(asked)
                found.append((asked, target))
            else:
                movements.append(ways.movement(moved))
                coalitions.learn(movements[-1], [target])
    return found, movements


def _next(coalitions: Iterator[Cells], settled: list[Cells]) -> Cells | None:
    return next((c for c in coalitions if not any(s <= c for s in settled)), None)


def moved_without(ways: Movements, cell: int, still: tuple[int, ...], smallest: float) -> Real | None:
    """Some movement of a cell while others stay; None where there is none."""
    ones = np.ones(ways.cells)
    for sign in (1, -1):
        if smallest > (ways.up if sign > 0 else ways.down)[cell] + _NEAR:
            continue
        moved = ways.cheapest(cell, sign * smallest, ones, ones, still=still)
        tried = [] if moved is None else [moved]
        for k in range(_DRAWS):  # another corner may be whole
            if moved is None or not ways.whole or ways.movement(moved).whole:
                break
            weights = corner(ways.cells, k)
            moved = ways.cheapest(cell, sign * smallest, weights, weights, still=still)
            tried += [] if moved is None else [moved]
        if moved is not None and ways.whole and not ways.movement(moved).whole:
            far, found, exact = ways.farthest_whole(cell, sign, 1.0, still=still, near=tried)
            moved = found if exact and far >= 1 else None if exact else moved
        if moved is not None:
            return moved
    return None


def corner(cells: int, number: int) -> Real:
    """Costs that lead to another corner of the same program."""
    return np.asarray(1 + np.modf(np.arange(1, cells + 1) * (number + 1) * _GOLDEN)[0], np.float64)
