"""What a reader is told: bounds on each cell, and relations that hold among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Relations:
    """Sparse rows over cells: least <= sum of coefficient * cell <= most. Most are sums: both are zero.

    matrix: (relations, cells), compressed by rows.  least, most: (relations,).
    """

    matrix: Any
    least: Real
    most: Real

    @classmethod
    def of_sums(cls, cells: int, sums: Iterable[tuple[int, Sequence[int]]]) -> Relations:
        """Each total is the sum of its parts: (total, parts)."""
        rows: list[int] = []
        columns: list[int] = []
        signs: list[float] = []
        count = 0
        for total, parts in sums:
            rows += [count] * (1 + len(parts))
            columns += [total, *parts]
            signs += [-1.0] + [1.0] * len(parts)
            count += 1
        zero = np.zeros(count)
        return cls.of_entries(count, cells, rows, columns, signs, zero, zero)

    @classmethod
    def of_entries(
        cls,
        rows: int,
        cells: int,
        row: ArrayLike,
        column: ArrayLike,
        coefficient: ArrayLike,
        least: Real,
        most: Real,
    ) -> Relations:
        """From the entries that are not zero."""
        from scipy.sparse import csr_matrix

        at = np.asarray(column, np.int64)
        if len(at) and (at.min() < 0 or at.max() >= cells):
            raise ParameterError("a relation names a cell that is not there.", hint="number cells from 0")
        matrix = csr_matrix((np.asarray(coefficient, np.float64), (row, at)), shape=(rows, cells))
        matrix.eliminate_zeros()
        return cls(matrix, np.asarray(least, np.float64), np.asarray(most, np.float64))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return int(self.matrix.shape[1])

    def broken(self, values: Real, *, within: float = _NEAR) -> Index:
        """The relations that these values do not keep."""
        sums = self.matrix @ values
        room = within * (1 + abs(self.matrix) @ np.abs(values))
        wrong = (sums < self.least - room) | (sums > self.most + room)
        return np.flatnonzero(wrong)

    def joined(self, other: Relations) -> Relations:
        """Both, over the same cells."""
        from scipy.sparse import vstack

        matrix = vstack([self.matrix, other.matrix]).tocsr()
        return Relations(
            matrix, np.concatenate([self.least, other.least]), np.concatenate([self.most, other.most])
        )


@dataclass(frozen=True, eq=False)
class Published:
    """What a reader knows before any reckoning: each cell lies in [low, high], and the relations hold.

    A published cell has low = high; a rounded one the values that are rounded to it; a withheld one what
    its kind allows: a count is whole and at least 0, or at least 1 where every zero is published; a sum may
    be negative.
    whole: which cells are whole numbers.
    """

    relations: Relations
    low: Real
    high: Real
    whole: Flags

    def __post_init__(self) -> None:
        n = self.relations.cells
        if not len(self.low) == len(self.high) == len(self.whole) == n:
            raise ParameterError("each cell needs its bounds.", hint=f"give {n} lower and upper bounds")
        if np.isnan(self.low).any() or np.isnan(self.high).any():
            raise ParameterError("a bound is not a number.", hint="use -inf or inf where nothing is known")
        crossed = int((self.low > self.high + _NEAR * (1 + np.abs(self.high))).sum())
        if crossed:
            raise DataError(
                f"{crossed} cell{'s' * (crossed > 1)} with a lower bound above the upper one.",
                hint="see what was published of them",
            )

    @classmethod
    def of_values(
        cls,
        relations: Relations,
        values: Real,
        withheld: Flags,
        *,
        least: float | Real = 0.0,
        whole: bool = True,
    ) -> Published:
        """Cells as they are, but for withheld ones, of which a reader knows that they are not below `least`.

        values: of withheld cells anything, as they are not looked at.
        """
        values = np.asarray(values, np.float64)
        floor = np.broadcast_to(np.asarray(least, np.float64), values.shape)
        low = np.where(withheld, floor, values)
        high = np.where(withheld, np.inf, values)
        return cls(relations, low, high, np.full(len(values), whole))

    @property
    def open(self) -> Index:
        """The cells that are not told outright."""
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        size = np.abs(np.where(bounded, self.low, 0.0))
        return np.flatnonzero(~bounded | (self.high - self.low > _NEAR * (1 + size)))

    def impossible(self) -> int:
        """How many relations no cells keep that lie within what is told of them: totals that are not the sum
        of their parts."""
        matrix = self.relations.matrix
        rises, falls = matrix.maximum(0), -matrix.minimum(0)

        def ends(rising: Real, falling: Real) -> Real:
            """The sums where cells are at these ends; an end that is not bounded bounds no sum."""
            free = np.isinf(rising), np.isinf(falling)
            sums = rises @ np.where(free[0], 0.0, rising) - falls @ np.where(free[1], 0.0, falling)
            return np.asarray(np.where(rises @ (free[0] * 1.0) + falls @ (free[1] * 1.0) > 0, np.nan, sums))

        least, most = ends(self.low, self.high), ends(self.high, self.low)
        size = _NEAR * (1 + np.abs(np.nan_to_num(least)) + np.abs(np.nan_to_num(most)))
        with np.errstate(invalid="ignore"):
            wrong = (least > self.relations.most + size) | (most < self.relations.least - size)
        return int(wrong.sum())

    def filling(self) -> Real:
        """Some values that fit everything that was published, whole ones where that can be.

        Raises an error where there are none: the tables do not add up.
        """
        from sfumato.cells.programs import feasible

        return feasible(self)
