"""Windows: parts of a pattern that are chosen anew, as well as can be.

All cells outside a window stay as they are. Inside, a program in whole numbers chooses the cells at the least
cost so that every cut is kept (`cuts`); each requirement that used a cell of the window looks for a movement
under that choice; one that finds none says a cut. So it goes until all find one, and the pattern is cheaper,
or until no choice is left that would be.

Windows grow where nothing was gained, and shrink where a program took too long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import progress
from sfumato.cells import Movement, programs
from sfumato.tabulation.cuts import FEW, ChosenCells, Cuts, bridges
from sfumato.tabulation.search import PatternSearch

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEAR = 1e-6
_FIRST = 12.0  # cells of the pattern in the first window
_GROWS, _SHRINKS, _LEAST = 1.05, 0.8, 3.0
_OTHERS = 8  # cells beside each of them that may be chosen instead
_ROUNDS = 30  # of cuts
_NODES = 60  # of branch and bound
_MOVES = 2  # to each window
_IDLE = 10  # turns without a gain, and one more for each cell that hides others
_WORK = 20  # linear programs that one in whole numbers counts for


class _Program:
    """The program of a window: which of its cells to withhold at the least cost."""

    def __init__(self, windows: PatternWindows, free: Index, base: Real) -> None:
        search = windows.search
        self.free, self.base, self.size = free, base, len(free)
        self.cost = search.problem.cost[free]
        have = float(self.cost[search.used[free]].sum())
        fixed = search.problem.cost[~search.problem.sensitive]
        step = 1.0 if np.array_equal(fixed, np.rint(fixed)) else 1e-6 * have
        self.place = np.full(search.problem.size, -1)
        self.place[free] = np.arange(self.size)
        self.highs = programs.solver()
        matrix, least = windows.rows(free, base)
        zero, one = np.zeros(self.size), np.ones(self.size)
        whole = np.ones(self.size, bool)
        programs.load(self.highs, matrix, self.cost, zero, one, least, np.full(len(least), np.inf), whole)
        at = np.arange(self.size, dtype=np.int32)
        self.highs.addRow(-np.inf, have - step, self.size, at, self.cost)
        for option, value in (("mip_max_nodes", _NODES), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.99 * step)):
            self.highs.setOptionValue(option, value)
        self.stopped = False  # by the limit of nodes

    def add(self, cuts: Sequence[tuple[Index, Real]]) -> int:
        """Keep these from now on; how many this window can break."""
        count = 0
        for cells, coefficients in cuts:
            left = 1.0 - float(self.base[cells] @ coefficients)
            if left <= _NEAR:
                continue
            at = self.place[cells]
            inside = at >= 0
            values = np.minimum(coefficients[inside] / left, 1.0)
            self.highs.addRow(1.0, np.inf, len(values), at[inside].astype(np.int32), values)
            count += 1
        return count

    def solve(self) -> Real | None:
        """The cells of the table that are chosen; None where no cheaper choice was found."""
        status = programs.solved(self.highs)
        self.stopped = status == "stopped"
        found = status == "optimal" or (self.stopped and self.highs.getInfo().primal_solution_status == 2)
        if not found:
            return None
        chosen = self.base.copy()
        chosen[self.free] = np.clip(programs.values(self.highs), 0.0, 1.0)
        return chosen


class PatternWindows:
    """Makes a search's pattern cheaper, window by window."""

    def __init__(self, search: PatternSearch) -> None:
        self.search = search
        problem = search.problem
        self.cuts = Cuts(problem, search.ways)
        asking = {r.cell for r in search.requirements}
        self._bridges, self._least, self._lonely = bridges(problem, asking)
        self._by_cell = self._bridges.tocsc()
        self._rows = abs(problem.relations.matrix).tocsr()
        self._columns = self._rows.tocsc()
        self._relations = np.maximum(np.diff(self._columns.indptr), 1)
        self._allowed = ~problem.sensitive & ~problem.kept
        self._target = _FIRST
        self.idle = 0  # turns without a gain

    def rows(self, free: Index, base: Real) -> tuple[Any, Real]:
        """What a choice of these cells has to keep, as far as is known: rows, and their least sums."""
        from scipy.sparse import vstack

        cuts = self.cuts.matrix()
        left = 1.0 - cuts @ base
        broken = np.flatnonzero(left > _NEAR)
        part = cuts[broken][:, free].tocsr()
        scale = np.repeat(1.0 / left[broken], np.diff(part.indptr))
        part.data = np.minimum(part.data * scale, 1.0)
        touched = np.unique(self._by_cell[:, free].indices)
        touched = touched[(self._lonely[touched] < 0) | np.isin(self._lonely[touched], free)]
        bridged = self._bridges[touched]
        least = self._least[touched] - bridged @ base
        tight = np.flatnonzero(least > np.where(self._lonely[touched] < 0, 0.0, -1.0) + _NEAR)
        matrix = vstack([part, bridged[tight][:, free]]).tocsr()
        return matrix, np.concatenate([np.ones(len(broken)), least[tight]])

    # -- which cells -----------------------------------------------------------------------------

    def _window(self) -> Index:
        """Cells of the pattern near each other, and cells beside them."""
        search, random = self.search, self.search.random
        cells = np.flatnonzero(search.used)
        inside = {int(random.choice(cells))}
        related = random.random() < 0.5
        wanted = min(int(self._target), len(cells))
        for _ in range(20 * wanted):
            if len(inside) >= wanted:
                break
            one = sorted(inside)[int(random.integers(len(inside)))]
            inside |= self._related(one) if related else self._together(one)
        own = np.array(sorted(inside), np.int64)
        return np.union1d(own, self._beside(own))

    def _related(self, cell: int) -> set[int]:
        """Cells of the pattern that share a relation with one."""
        rows = self._columns.indices[self._columns.indptr[cell] : self._columns.indptr[cell + 1]]
        row = int(self.search.random.choice(rows))
        cells = self._rows.indices[self._rows.indptr[row] : self._rows.indptr[row + 1]]
        return set(cells[self.search.used[cells]].tolist())

    def _together(self, cell: int) -> set[int]:
        """Cells of the pattern that a requirement uses, which uses this one."""
        users = sorted(self.search.users[cell])
        witness = self.search.witness[users[int(self.search.random.integers(len(users)))]]
        cells = () if witness is None else tuple(witness.cells.tolist())
        return {c for c in cells if self.search.used[c]}

    def _beside(self, own: Index) -> Index:
        """Cells that share relations with these, first those whose relations hold another withheld cell: one
        that is alone in a relation hides nothing."""
        search = self.search
        withheld = search.withheld.astype(np.float64)
        held = (self._rows @ withheld) > 0
        near = np.zeros(self._rows.shape[0], bool)
        near[np.unique(self._columns[:, own].indices)] = True
        asked = [search.requirements[i].cell for c in own.tolist() for i in search.users[c]]
        near[np.unique(self._columns[:, np.unique(np.array(asked, np.int64))].indices)] = True
        closeness = (self._columns.T @ held.astype(np.float64)) / self._relations
        closeness += 0.5 * (self._columns.T @ near.astype(np.float64)) / self._relations
        fits = self._allowed & ~search.used & (self._columns.T @ near.astype(np.float64) > 0)
        cells = np.flatnonzero(fits)
        score = closeness[cells] + 0.3 * search.random.random(len(cells))
        return cells[np.argsort(-score)[: _OTHERS * len(own)]]

    # -- what to do with them --------------------------------------------------------------------

    def improve_one(self, going_on: Callable[[], bool] = lambda: True) -> bool:
        """Choose the cells of one window anew; whether the pattern is cheaper now."""
        search = self.search
        free = self._window()
        base = search.used.astype(np.float64)
        base[free] = 0.0
        numbers = sorted({i for c in free[search.used[free]].tolist() for i in search.users[c]})
        program = _Program(self, free, base)
        for _ in range(_ROUNDS):
            search.ways.solved += _WORK
            chosen = program.solve()
            if chosen is None and not program.stopped:
                self._target = min(self._target * _GROWS, float(search.used.sum()))
                return False
            if chosen is None or not going_on():
                break
            choice = ChosenCells(self.cuts, np.rint(chosen))
            if program.add(self._broken(numbers, choice)):
                continue
            found, cuts = self._fulfilled(numbers, choice)
            if found is not None:
                search.exchange(found)
                return True
            if not program.add(cuts):
                break
        self._target = max(self._target * _SHRINKS, _LEAST)
        return False

    def _broken(self, numbers: Sequence[int], choice: ChosenCells) -> list[tuple[Index, Real]]:
        """Cuts that a choice breaks, as far as a short look finds them."""
        search = self.search
        found = []
        for number in numbers:
            if search.inside(number, choice.withheld) is not None:
                continue
            moved, cut = self.cuts.look(search.requirements[number], choice, FEW)
            if moved is not None:
                search.remember(moved)
            elif cut is not None:
                found.append(cut)
        return self.cuts.keep(found)

    def _fulfilled(
        self, numbers: Sequence[int], choice: ChosenCells
    ) -> tuple[dict[int, Movement] | None, list[tuple[Index, Real]]]:
        """Movements for all requirements under a choice, or cuts; no movements and no cuts where it cannot be
        said."""
        search = self.search
        found: dict[int, Movement] = {}
        cuts = []
        for number in numbers:
            movement, cut = search.inside(number, choice.withheld), None
            if movement is None:
                movement, cut = self._movement(number, choice)
            if cut is not None:
                cuts.append(cut)
            elif movement is None:
                return None, self.cuts.keep(cuts)
            else:
                found[number] = movement
        return (None, self.cuts.keep(cuts)) if cuts else (found, [])

    def _movement(
        self, number: int, choice: ChosenCells
    ) -> tuple[Movement | None, tuple[Index, Real] | None]:
        """A movement in whole numbers where they are asked for, or a cut; neither where it takes long."""
        search, asked = self.search, self.search.requirements[number]
        moved, cut = self.cuts.look(asked, choice)
        if moved is None:
            return None, cut
        movement = search.ways.movement(moved)
        if search.ways.whole and not movement.whole:
            signed = float(np.rint(moved[asked.cell]))
            whole = search.ways.whole_around(asked.cell, signed, asked.still, [moved], choice.withheld)
            if whole is None:
                return None, None
            moved, movement = whole, search.ways.movement(whole)
        search.remember(moved)
        return movement, None


def improve(windows: PatternWindows, going_on: Callable[[], bool]) -> bool:
    """Make the pattern cheaper for as long as it may, by moves and by windows in turn.

    True where it ended by itself, as nothing was gained for long.
    """
    search = windows.search
    while going_on():
        if windows.idle >= _IDLE + int(search.used.sum()) or not search.used.any():
            return True
        before = search.extra
        for _ in range(_MOVES):
            search.move()
        windows.improve_one(going_on)
        windows.idle = 0 if search.extra < before - _NEAR else windows.idle + 1
        progress.report("withholding fewer cells", int(search.extra))
    return False
