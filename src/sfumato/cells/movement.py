"""Movements: changes of cells that no relation forbids, each another filling that a reader cannot rule out.

The program behind it: minimize the summed cost of what moves, where one cell must move by a given amount and
no relation breaks. It is solved by the dual simplex from the basis in which nothing moves. From there a few
dozen steps in the neighbourhood of the cell are mostly enough: `_kernels` takes them without a look at the
rest of the table. Where they are not, HiGHS solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import programs
from sfumato.cells.publication import Relations

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_NEAR = 1e-6
_EXACT = 1e-9  # what sums of changes may be off by reckoning
_FEASIBLE = 2  # HiGHS' word for a solution that fits
_PIVOTS = 250  # in a cell's neighbourhood; what takes more is HiGHS' work
_AROUND = 600  # cells among which whole numbers are looked for first
_DENOMINATOR = 5040.0  # of weights
_NODES = 50  # of branch and bound, for a change in whole numbers


@dataclass(frozen=True, eq=False)
class Movement:
    """A step that can be taken forth and back so many times, starting from the filling it belongs to.

    cells, step: which cells change, and by how much in one step.  forth, back: how often it can be taken.
    whole: each step, and the number of times, are whole numbers.
    """

    cells: Index
    step: Real
    forth: float
    back: float
    whole: bool

    def reach(self) -> tuple[Real, Real]:
        """How far each of the cells can be moved up, and down."""
        rises = self.step > 0
        up = np.where(rises, self.step * self.forth, -self.step * self.back)
        down = np.where(rises, self.step * self.back, -self.step * self.forth)
        return up, down


class Movements:
    """All changes d with the relations kept and -down <= d <= up.

    filling: the cells that are moved from; needed where a relation is more than a sum.
    solved: how many programs were.
    """

    def __init__(
        self, relations: Relations, up: Real, down: Real, whole: bool, filling: Real | None = None
    ) -> None:
        from scipy.sparse import hstack

        self.up, self.down, self.whole = up, down, whole
        self._relations = relations
        self.cells = relations.cells
        self.solved = 0
        sums = relations.matrix @ filling if filling is not None else np.zeros(relations.matrix.shape[0])
        strict = relations.least == relations.most
        least = np.where(strict, 0.0, np.minimum(relations.least - sums, 0.0))
        most = np.where(strict, 0.0, np.maximum(relations.most - sums, 0.0))
        self._highs = programs.solver()
        for option, value in (
            ("presolve", "off"),
            ("dual_simplex_cost_perturbation_multiplier", 0.0),
            ("simplex_scale_strategy", 0),
        ):
            self._highs.setOptionValue(option, value)
        n = self.cells
        programs.load(
            self._highs, hstack([relations.matrix, -relations.matrix]), np.zeros(2 * n),
            np.zeros(2 * n), np.concatenate([up, down]), least, most,
        )  # fmt: skip
        self._columns = np.arange(2 * n, dtype=np.int32)
        self._still = self._basis(len(least))
        by_row, by_column = relations.matrix.tocsr(), relations.matrix.tocsc()
        self._sparse = (
            (by_row.indptr, by_row.indices, by_row.data),
            (by_column.indptr, by_column.indices, by_column.data),
            np.concatenate([up, down]).astype(np.float64),
        )
        self._strict = bool(strict.all())

    def _basis(self, rows: int) -> object:
        import highspy

        basis = highspy.HighsBasis()
        basis.col_status = [highspy.HighsBasisStatus.kLower] * (2 * self.cells)
        basis.row_status = [highspy.HighsBasisStatus.kBasic] * rows
        basis.valid = True
        return basis

    def keeps(self, moved: Real) -> bool:
        """Whether a change leaves every relation's sum as it is."""
        left = self._relations.matrix @ moved
        return bool(np.all(np.abs(left) <= _EXACT * max(1.0, float(np.abs(moved).max(initial=0.0)))))

    def equals(self) -> Index:
        """A number for each cell, the same for cells that a relation says are equal: a total and
        its only part."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        matrix, n = self._relations.matrix, self.cells
        strict = (self._relations.least == 0) & (self._relations.most == 0)
        pairs = np.flatnonzero(strict & (np.diff(matrix.indptr) == 2))
        first = matrix.indptr[pairs]
        pairs, first = (x[matrix.data[first] == -matrix.data[first + 1]] for x in (pairs, first))
        edges = (np.ones(len(pairs)), (matrix.indices[first], matrix.indices[first + 1]))
        return np.asarray(connected_components(csr_matrix(edges, shape=(n, n)), directed=False)[1], np.int64)

    def cheapest(
        self,
        cell: int,
        amount: float,
        up_cost: Real,
        down_cost: Real,
        *,
        still: Sequence[int] = (),
        nearby: bool = False,
    ) -> Real | None:
        """The cheapest change that moves a cell by an amount (negative: down), or None where there is none.

        up_cost, down_cost: above 0.  still: cells that do not move.  nearby: give up where
        it is not found in the neighbourhood.
        """
        from sfumato.cells import _kernels  # numba is loaded when it is needed

        cost = np.concatenate([up_cost, down_cost])
        if self._strict and abs(amount) <= (self.up if amount > 0 else self.down)[cell] + _NEAR:
            moved = np.zeros(self.cells)
            by_row, by_column, room = self._sparse
            if still:
                room = room.copy()
                room[[*still, *(c + self.cells for c in still)]] = 0.0
            self.solved += 1
            if _kernels.cheapest(by_row, by_column, room, cost, cell, amount, _PIVOTS, moved):
                moved[np.abs(moved) < _NEAR] = 0.0
                if self.keeps(moved):
                    return moved
        return None if nearby else self._run(cell, amount, cost, still, exactly=True)

    def within(
        self, cell: int, amount: float, room: Real, cost: Real, pivots: int = _PIVOTS
    ) -> tuple[Real | None, Real | None]:
        """A change that moves a cell by an amount and no other farther than its room, or a proof that there
        is none (a weight for each relation, see `does`). Neither where both take more steps than `pivots`.

        room, cost: of rises, then of falls; the cell's own is not looked at.
        """
        from sfumato.cells import _kernels

        by_row, by_column, _ = self._sparse
        moved, ray = np.zeros(self.cells), np.zeros(len(by_row[0]) - 1)
        self.solved += 1
        if not self._strict:
            return None, None
        asked = (by_row, by_column, room, cost, cell, amount, pivots, moved, ray)
        ended = _kernels.cheapest_or_ray(*asked)
        if ended == _kernels.FOUND:
            moved[np.abs(moved) < _NEAR] = 0.0
            return (moved if self.keeps(moved) else None), None
        return None, ray if ended == _kernels.NONE else None

    def does(
        self, ray: Real, cell: int, amount: float, given: NDArray[np.bool_], still: NDArray[np.bool_]
    ) -> tuple[Real, float]:
        """What each cell does for a movement with all its room, as a ray weighs it, and how much is needed.

        given: cells that do it in any case: their part is taken off what is needed.  still: cells that do
        not. Weights that are fractions with small denominators are taken as such, so that reckoning adds
        nothing.
        """
        from sfumato.cells import _kernels

        _, by_column, room = self._sparse
        exact = np.rint(ray * _DENOMINATOR)
        near = bool(np.abs(exact - ray * _DENOMINATOR).max(initial=0.0) < 1e-4)
        does = np.zeros(self.cells)
        weights = exact if near else ray
        left = _kernels.shortfall(by_column, weights, room, given, still, cell, amount, _EXACT, does)
        return does, float(left)

    def farthest(self, cell: int, sign: int, *, still: Sequence[int] = ()) -> tuple[float, Real | None]:
        """How far a cell can be moved up (1) or down (-1), and a change that does it. Or inf and None."""
        cost = np.zeros(2 * self.cells)
        cost[cell + (0 if sign > 0 else self.cells)] = -1.0
        moved = self._run(cell, float(sign), cost, still, exactly=False)
        return (np.inf, None) if moved is None else (abs(float(moved[cell])), moved)

    def _run(
        self, cell: int, amount: float, cost: Real, still: Sequence[int], *, exactly: bool
    ) -> Real | None:
        column = cell + (0 if amount > 0 else self.cells)
        most = float((self.up if amount > 0 else self.down)[cell])
        if not exactly:
            return self._solve(cell, amount, cost, still)[1]
        if abs(amount) > most + _NEAR:
            return None
        self._highs.changeColBounds(column, abs(amount), abs(amount))
        moved = self._solve(cell, amount, cost, still)[1]
        self._highs.changeColBounds(column, 0.0, most)
        return moved

    def _solve(self, cell: int, amount: float, cost: Real, still: Sequence[int]) -> tuple[str, Real | None]:
        """Solve with these costs; the cell moves in one direction alone, others not at all."""
        highs, n = self._highs, self.cells
        highs.changeColsCost(2 * n, self._columns, cost)
        barred = [cell + n if amount > 0 else cell, *still, *(c + n for c in still)]
        for column in barred:
            highs.changeColBounds(column, 0.0, 0.0)
        highs.setBasis(self._still)
        status = programs.solved(highs)
        self.solved += 1
        moved = None
        if status == "optimal" or (
            status == "stopped" and highs.getInfo().primal_solution_status == _FEASIBLE
        ):
            found = programs.values(highs)
            moved = found[:n] - found[n:]
            moved[np.abs(moved) < _NEAR] = 0.0
        for column in barred:
            most = self.up[column] if column < n else self.down[column - n]
            highs.changeColBounds(column, 0.0, float(most))
        return status, moved

    def farthest_whole(
        self, cell: int, sign: int, limit: float, *, still: Sequence[int] = (), near: Sequence[Real] = ()
    ) -> tuple[float, Real | None, bool]:
        """How far a cell can be moved in whole numbers, up to a limit; a change that goes as far as was
        found; and whether no other goes farther. Where a short search does not settle it, the first number is
        an outer one.

        near: changes in fractions that go so far. Whole ones are looked for among the cells around them
        first, which is much less than the whole table.
        """
        highs, n = self._highs, self.cells
        column = cell + (0 if sign > 0 else n)
        most = float((self.up if sign > 0 else self.down)[cell])
        limit = float(np.floor(min(limit, most) + _NEAR))
        if (
            near
            and np.isfinite(limit)
            and (found := self.whole_around(cell, sign * limit, still, near)) is not None
        ):
            return limit, found, True
        cost = np.full(2 * n, 1e-6)  # among changes that go as far, a short one
        cost[column] = -1.0
        highs.changeColsIntegrality(2 * n, self._columns, self._kinds(True))
        highs.setOptionValue("mip_max_nodes", _NODES)
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.changeColBounds(column, 0.0, limit)
        try:
            status, moved = self._solve(cell, float(sign), cost, still)
            if status == "optimal" and moved is not None and self.keeps(np.rint(moved)):
                return float(np.rint(abs(moved[cell]))), np.rint(moved), True
            bound = -float(highs.getInfo().mip_dual_bound) + 0.5  # what moves costs a little
            outer = float(np.floor(min(bound, limit))) if np.isfinite(bound) else limit
            whole = None if moved is None or not self.keeps(np.rint(moved)) else np.rint(moved)
            return outer, whole, False
        finally:
            highs.changeColBounds(column, 0.0, most)
            highs.changeColsIntegrality(2 * n, self._columns, self._kinds(False))

    def whole_around(
        self,
        cell: int,
        amount: float,
        still: Sequence[int],
        near: Sequence[Real],
        among: NDArray[np.bool_] | None = None,
    ) -> Real | None:
        """A change in whole numbers that moves a cell by an amount, among the cells of some changes and those
        that share a relation with one of their fractions; None where a short search finds none.

        among: cells that may move, beside that one; all if it is not given.
        """
        matrix = self._relations.matrix
        inside = np.any([moved != 0 for moved in near], axis=0)
        odd = np.any([np.abs(moved - np.rint(moved)) > _NEAR for moved in near], axis=0)
        rows = np.flatnonzero(abs(matrix) @ odd.astype(np.float64))
        ring = np.unique(matrix[rows].indices)
        ring = ring if among is None else ring[among[ring]]
        inside[ring[: max(_AROUND - int(inside.sum()), 0)]] = True
        inside[cell] = True
        inside[list(still)] = False
        area = np.flatnonzero(inside)
        part = matrix[:, area]
        part = part[np.flatnonzero(np.diff(part.indptr))]
        low, high = -self.down[area], self.up[area].copy()
        at = int(np.searchsorted(area, cell))
        low[at] = high[at] = amount
        highs, zero = programs.solver(), np.zeros(part.shape[0])
        programs.load(highs, part, np.zeros(len(area)), low, high, zero, zero, np.ones(len(area), bool))
        highs.setOptionValue("mip_max_nodes", _NODES)
        highs.setOptionValue("mip_max_improving_sols", 1)
        self.solved += 1
        programs.solved(highs)
        if highs.getInfo().primal_solution_status != _FEASIBLE:
            return None
        moved = np.zeros(self.cells)
        moved[area] = np.rint(programs.values(highs))
        fits = np.all((moved <= self.up + _NEAR) & (moved >= -self.down - _NEAR))
        return moved if fits and moved[cell] == amount and self.keeps(moved) else None

    def _kinds(self, whole: bool) -> object:
        import highspy

        kind = highspy.HighsVarType.kInteger if whole else highspy.HighsVarType.kContinuous
        return np.array([kind] * (2 * self.cells))

    def movement(self, moved: Real) -> Movement:
        """What a change says: how far it can be taken in both directions."""
        cells = np.flatnonzero(moved)
        step = moved[cells]
        whole = self.whole and programs.is_whole(step)
        if whole:
            step = np.rint(step)
            step /= np.gcd.reduce(step.astype(np.int64)) if len(step) else 1.0
        forth = self._times(cells, step)
        back = self._times(cells, -step)
        if whole:
            forth, back = float(np.floor(forth + _NEAR)), float(np.floor(back + _NEAR))
        return Movement(cells, step, forth, back, whole)

    def _times(self, cells: Index, step: Real) -> float:
        limit = np.where(step > 0, self.up[cells], self.down[cells])
        return float(min((limit / np.abs(step)).min(initial=np.inf), 1e12))
