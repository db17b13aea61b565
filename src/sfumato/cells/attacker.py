"""What can be told of cells from everything that was published.

Each target is a cell and an interval that a reader must not be able to narrow. The attacker starts from a
filling that fits everything published and looks for others: a movement that takes the cell to the end of its
interval is a witness that the reader cannot rule that end out. One movement takes many cells along, so most
targets need no program of their own. Where no movement goes far enough, a linear program without costs says
how far it goes: the interval a reader can tell. It is an outer one for counts, as it knows fractions; a whole
witness at an end proves that the end is real.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato import progress
from sfumato.cells.arithmetic import recovered
from sfumato.cells.coalitions import Coalitions, corner, opened
from sfumato.cells.movement import Movement, Movements
from sfumato.cells.publication import Published
from sfumato.errors import DataError

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEAR = 1e-6
_UP, _DOWN = 0, 1
_DRAWS = 4  # corners looked at before whole numbers are searched for
_SETTLED = 400  # targets for which whole numbers are searched for; the others are said to be by program


@dataclass(frozen=True)
class Target:
    """A cell of which a reader must be left with at least [low, high]."""

    cell: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Findings:
    """What a reader can tell, target by target.

    low, high: what is left possible; of a covered target perhaps more, unless `ends` were asked for.
    covered: the reader is left with all that was asked.  whole: with whole numbers at both ends; if not, by
    linear program only.  exact: known exactly.  arithmetic: by sums alone, no bound is needed (None: not
    examined).  victims: (contributor's cell, target's cell): whoever is alone in the one knows the other.
    coalitions: (cells, target's cell): the people of these cells, together, know it.  programs: how many
    were solved.
    """

    targets: tuple[Target, ...]
    low: Real
    high: Real
    covered: Flags
    whole: Flags
    exact: Flags
    arithmetic: Flags | None
    victims: tuple[tuple[int, int], ...] = ()
    coalitions: tuple[tuple[tuple[int, ...], int], ...] = ()
    programs: int = 0

    @property
    def found(self) -> int:
        """How many targets are opened too far, in one way or another."""
        opened = {t.cell for t, fine in zip(self.targets, self.covered, strict=True) if not fine}
        opened |= {cell for _, cell in self.victims} | {cell for _, cell in self.coalitions}
        return len(opened)

    @property
    def by_program_only(self) -> int:
        """How many covered targets have no whole-number witness at both ends."""
        return int((self.covered & ~self.whole).sum())


@dataclass(eq=False)
class _Left:
    """What is still to be shown, by cell and direction."""

    need: dict[tuple[int, int], float]
    whole: dict[tuple[int, int], bool] = field(default_factory=dict)
    reached: dict[tuple[int, int], float] = field(default_factory=dict)
    settled: dict[tuple[int, int], float] = field(default_factory=dict)  # in whole numbers
    smallest: float = 1.0

    def far(self, key: tuple[int, int]) -> float:
        """How far a cell can be moved."""
        return self.settled.get(key, self.reached.get(key, 0.0))

    def learn(self, movement: Movement, coalitions: Coalitions) -> None:
        """Note which targets a movement takes far enough."""
        along = []
        for cell, up, down in zip(movement.cells.tolist(), *movement.reach(), strict=True):
            for side, far in ((_UP, up), (_DOWN, down)):
                key = (cell, side)
                if key not in self.need:
                    continue
                self.reached[key] = max(self.reached.get(key, 0.0), far)
                if far >= self.need[key] - _NEAR:
                    self.whole[key] = self.whole.get(key, False) or movement.whole
                if far >= self.smallest - _NEAR:
                    along.append(cell)
        coalitions.learn(movement, along)


class Attacker:
    """Knows what was published, and nothing of how.

    filling: true cells, where they are known; else some that fit.
    """

    def __init__(self, published: Published, filling: Real | None = None) -> None:
        self.published = published
        if filling is None:
            filling = published.filling()
        outside = (filling < published.low - _room(published.low)) | (
            filling > published.high + _room(published.high)
        )
        if outside.any() or len(published.relations.broken(filling)):
            raise DataError(
                "the cells do not fit what was published of them.",
                hint="see whether totals are the sums of their parts",
            )
        self.filling = filling
        self.witnesses: list[tuple[Index, Real]] = []
        """Changes that were found in programs: hints for another look at more or less the same tables."""
        self._movements: Movements | None = None
        self._place = np.full(len(filling), -1)

    def _ways(self) -> Movements:
        if self._movements is None:
            from sfumato.cells.publication import Relations

            published, open_ = self.published, self.published.open
            part = published.relations.matrix[:, open_]
            rows = np.flatnonzero(np.diff(part.indptr))
            told = published.relations.matrix[rows] @ np.where(self._is_open(), 0.0, self.filling)
            relations = Relations(
                part[rows], published.relations.least[rows] - told, published.relations.most[rows] - told
            )
            self._place[open_] = np.arange(len(open_))
            start = self.filling[open_]
            self._movements = Movements(
                relations,
                np.maximum(published.high[open_] - start, 0.0),
                np.maximum(start - published.low[open_], 0.0),
                bool(published.whole[open_].all()),
                start,
            )
        return self._movements

    def _is_open(self) -> Flags:
        flags = np.zeros(len(self.filling), bool)
        flags[self.published.open] = True
        return flags

    def judge(
        self,
        targets: Iterable[Target],
        *,
        alone: Sequence[int] | Mapping[int, int] = (),
        coalition: int = 1,
        ends: bool = False,
        hints: Iterable[tuple[Index, Real]] = (),
    ) -> Findings:
        """What a reader can tell of each target.

        alone: cells with one contributor, each of whom is a reader who knows that cell; or how many people
        are in each cell, for a `coalition` of so many people who tell each other what they know.
        ends: find the whole interval of every target, not only whether it is wide enough.
        hints: changes (cells, by how much) that somebody says leave all that is published as it is. Each is
        checked here, so that a wrong one is worth nothing; a right one saves a program.
        """
        asked = tuple(targets)
        open_ = self._is_open()
        if not len(self.published.open):
            return self._all_told(asked)
        ways = self._ways()
        left = self._needs([t for t in asked if open_[t.cell]], ends)
        left.smallest = 1.0 if ways.whole else _NEAR * 10
        people = alone if isinstance(alone, Mapping) else dict.fromkeys(alone, 1)
        allied = Coalitions({int(self._place[c]): n for c, n in people.items() if open_[c]}, coalition)
        for cells, step in hints:
            if (moved := self._checked(ways, cells, step)) is not None:
                left.learn(ways.movement(moved), allied)
        keys = list(left.need)
        for done, key in enumerate(keys):
            if ends:
                self._end(ways, left, key, allied)
            elif left.reached.get(key, 0.0) < left.need[key] - _NEAR or not left.whole.get(key, False):
                self._reach(ways, left, key, allied)
            progress.report("looking into tables", done + 1, len(keys))
        places = [int(self._place[t.cell]) for t in asked if open_[t.cell]]
        found, movements = opened(ways, allied, places, left.smallest)
        for movement in movements:
            self._noted(movement)
        return self._findings(asked, open_, left, found, ways)

    def _noted(self, movement: Movement) -> Movement:
        self.witnesses.append((self.published.open[movement.cells], movement.step))
        return movement

    def _checked(self, ways: Movements, cells: Index, step: Real) -> Real | None:
        """A change of open cells that breaks no relation; None if it does."""
        place = self._place[cells]
        if (place < 0).any():
            return None
        moved = np.zeros(ways.cells)
        moved[place] = step
        return moved if ways.keeps(moved) else None

    def _reach(self, ways: Movements, left: _Left, key: tuple[int, int], allied: Coalitions) -> None:
        """Look for a movement that takes a target as far as asked; if there is none, see how far it goes."""
        cell, side = key
        sign, need = 1 if side == _UP else -1, left.need[key]
        ones = np.ones(ways.cells)
        moved = ways.cheapest(cell, sign * need, ones, ones) if need > _NEAR else None
        if moved is None:
            self._end(ways, left, key, allied)
            return
        left.learn(self._noted(ways.movement(moved)), allied)
        left.reached[key] = max(left.reached.get(key, 0.0), need)
        if ways.whole and not left.whole.get(key, False):
            self._settle(ways, left, key, float(np.ceil(need - _NEAR)), allied)

    def _end(self, ways: Movements, left: _Left, key: tuple[int, int], allied: Coalitions) -> None:
        """See how far a target goes."""
        cell, side = key
        far, moved = ways.farthest(cell, 1 if side == _UP else -1)
        left.reached[key] = far
        if moved is not None and moved.any():
            movement = self._noted(ways.movement(moved))
            left.learn(movement, allied)
            left.reached[key] = far
            if ways.whole and not movement.whole:
                self._settle(ways, left, key, far, allied)

    def _settle(
        self, ways: Movements, left: _Left, key: tuple[int, int], limit: float, allied: Coalitions
    ) -> None:
        """See how far a target goes in whole numbers, where a program with fractions does not say."""
        if len(left.settled) >= _SETTLED:
            return
        cell, side = key
        whole = float(np.floor(limit + _NEAR))
        tried: list[Real] = []
        for k in range(_DRAWS if np.isfinite(whole) and whole >= 1 else 0):  # another corner may be whole
            weights = corner(ways.cells, k)
            moved = ways.cheapest(cell, whole if side == _UP else -whole, weights, weights)
            if moved is None:
                break
            tried.append(moved)
            movement = ways.movement(moved)
            if movement.whole:
                left.learn(self._noted(movement), allied)
                left.settled[key], left.whole[key] = whole, True
                return
        far, moved, exact = ways.farthest_whole(cell, 1 if side == _UP else -1, limit, near=tried)
        if moved is not None and moved.any():
            left.learn(self._noted(ways.movement(moved)), allied)
        left.settled[key] = far
        left.whole[key] = left.whole.get(key, False) or exact

    def _needs(self, targets: Sequence[Target], ends: bool) -> _Left:
        need: dict[tuple[int, int], float] = {}
        whole: dict[tuple[int, int], bool] = {}
        for target in targets:
            place, start = int(self._place[target.cell]), float(self.filling[target.cell])
            for side, far in ((_UP, target.high - start), (_DOWN, start - target.low)):
                if far > _NEAR or ends:
                    need[place, side] = max(far, 0.0)
                if far <= _NEAR:
                    whole[place, side] = True  # the filling itself is a witness
        return _Left(need, whole)

    def _findings(
        self, asked: tuple[Target, ...], open_: Flags, left: _Left,
        opened_by: list[tuple[frozenset[int], int]], ways: Movements,
    ) -> Findings:  # fmt: skip
        n = len(asked)
        low, high = np.empty(n), np.empty(n)
        covered, whole = np.zeros(n, bool), np.zeros(n, bool)
        for i, target in enumerate(asked):
            start = float(self.filling[target.cell])
            if not open_[target.cell]:
                low[i] = high[i] = start
                covered[i] = whole[i] = target.low >= start - _NEAR and target.high <= start + _NEAR
                continue
            up, down = ((int(self._place[target.cell]), side) for side in (_UP, _DOWN))
            high[i] = start + left.far(up)
            low[i] = start - left.far(down)
            room = _NEAR * (1 + abs(start))
            covered[i] = high[i] >= target.high - room and low[i] <= target.low + room
            whole[i] = left.whole.get(up, False) and left.whole.get(down, False)
        by_sums = recovered(self.published)
        exact = ~covered & (high - low <= _NEAR * (1 + np.abs(low)))
        whole_cells = self.published.whole[[t.cell for t in asked]] if asked else np.zeros(0, bool)
        exact |= ~covered & whole_cells & (np.floor(high + _NEAR) <= np.ceil(low - _NEAR))
        arithmetic = (
            None if by_sums is None else by_sums[[t.cell for t in asked]] if asked else np.zeros(0, bool)
        )
        at = self.published.open
        named = sorted((tuple(sorted(at[list(cells)].tolist())), int(at[cell])) for cells, cell in opened_by)
        victims = tuple((cells[0], cell) for cells, cell in named if len(cells) == 1)
        several = tuple((cells, cell) for cells, cell in named if len(cells) != 1)
        return Findings(asked, low, high, covered, whole, exact, arithmetic, victims, several, ways.solved)

    def _all_told(self, asked: tuple[Target, ...]) -> Findings:
        at = self.filling[[t.cell for t in asked]] if asked else np.zeros(0)
        fine = np.array(
            [t.low >= x - _NEAR and t.high <= x + _NEAR for t, x in zip(asked, at, strict=True)], bool
        )
        return Findings(asked, at, at.copy(), fine, fine.copy(), ~fine, np.zeros(len(asked), bool))


def _room(bound: Real) -> Real:
    return np.where(np.isfinite(bound), _NEAR * (1 + np.abs(np.where(np.isfinite(bound), bound, 0.0))), 0.0)
