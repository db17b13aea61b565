"""Movements: changes of cells that no relation forbids, each another filling that a reader cannot rule out.

The program behind it: minimize the summed cost of what moves, where one cell must move by a given amount and
no relation breaks. It is solved by the dual simplex from the basis in which nothing moves. From there a few
dozen steps in the neighbourhood of the cell are enough, so that a table of thousands of cells takes
milliseconds; a basis left by another cell takes several times as long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import programs
from sfumato.cells.publication import Relations

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_NEAR = 1e-6
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

    def _basis(self, rows: int) -> object:
        import highspy

        basis = highspy.HighsBasis()
        basis.col_status = [highspy.HighsBasisStatus.kLower] * (2 * self.cells)
        basis.row_status = [highspy.HighsBasisStatus.kBasic] * rows
        basis.valid = True
        return basis

    def cheapest(
        self, cell: int, amount: float, up_cost: Real, down_cost: Real, *, fixed: int | None = None
    ) -> Real | None:
        """The cheapest change that moves a cell by an amount (negative: down), or None where there is none.

        fixed: a cell that does not move.
        """
        return self._run(cell, amount, np.concatenate([up_cost, down_cost]), fixed, exactly=True)

    def farthest(self, cell: int, sign: int, *, fixed: int | None = None) -> tuple[float, Real | None]:
        """How far a cell can be moved up (1) or down (-1), and a change that does it. Or inf and None."""
        cost = np.zeros(2 * self.cells)
        cost[cell + (0 if sign > 0 else self.cells)] = -1.0
        moved = self._run(cell, float(sign), cost, fixed, exactly=False)
        return (np.inf, None) if moved is None else (abs(float(moved[cell])), moved)

    def _run(self, cell: int, amount: float, cost: Real, fixed: int | None, *, exactly: bool) -> Real | None:
        highs, n = self._highs, self.cells
        if exactly and abs(amount) > (self.up if amount > 0 else self.down)[cell] + _NEAR:
            return None
        highs.changeColsCost(2 * n, self._columns, cost)
        wanted, other = (cell, cell + n) if amount > 0 else (cell + n, cell)
        changed = [other]
        if exactly:
            highs.changeColBounds(wanted, abs(amount), abs(amount))
            changed.append(wanted)
        highs.changeColBounds(other, 0.0, 0.0)
        if fixed is not None:
            for column in (fixed, fixed + n):
                highs.changeColBounds(column, 0.0, 0.0)
                changed.append(column)
        highs.setBasis(self._still)
        status = programs.solved(highs)
        self.solved += 1
        moved = None
        if status == "optimal":
            found = programs.values(highs)
            moved = found[:n] - found[n:]
            moved[np.abs(moved) < _NEAR] = 0.0
        for column in changed:
            most = self.up[column] if column < n else self.down[column - n]
            highs.changeColBounds(column, 0.0, float(most))
        return moved

    def whole_change(self, cell: int, amount: float) -> Real | None:
        """A change in whole numbers that moves a cell by an amount; None where a short search finds none."""
        highs, n = self._highs, self.cells
        integer = self._kinds(True)
        highs.changeColsIntegrality(2 * n, self._columns, integer)
        highs.setOptionValue("mip_max_nodes", _NODES)
        ones = np.ones(n)
        try:
            return self.cheapest(cell, amount, ones, ones)
        finally:
            highs.changeColsIntegrality(2 * n, self._columns, self._kinds(False))

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
