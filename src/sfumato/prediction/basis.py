"""What a linear score sees of a row: for each feature a few numbers in [-1, 1], by public rules.

An ordered feature with K codes lies at x = 2c/(K - 1) - 1, a flag at -1 and 1. It bends by Chebyshev
polynomials of x: of all polynomials of a degree that stay within [-1, 1] they bend most, and noise is
measured by that range. Where the schema allows missing values they have 0 there and a coordinate of their
own, 1 if missing and -1 if not, whether or not anything is missing. Levels without order are one-hot: one
of their coordinates is 1, all others 0. The first coordinate of every row is 1, the intercept.

What the proof in objective.py needs of it, for every row there can be:
1. coordinates that are not one-hot (there are d_l, with the intercept) are in [-1, 1];
2. of the coordinates of each of F_b one-hot features exactly one is 1, all others are 0;
3. so |x|^2 <= d_l + F_b.
Each row is looked at alone, and its codes are the only thing looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.features.grid import Axis, Codes
from sfumato.schema import Kind

Floats = NDArray[np.float64]
STEEPNESS = 2.0  # of a centred feature: a quarter of its range is told apart on either side
ROWS_AT_ONCE = 8192  # whose coordinates are in memory together, where all rows' do not fit


class FeatureShape(StrEnum):
    """What is made of an ordered feature's x."""

    CENTRED = "centred"  # clip(2 (x - centre), -1, 1)
    QUADRATIC = "quadratic"  # x and 2x^2 - 1
    CUBIC = "cubic"  # x, 2x^2 - 1 and 4x^3 - 3x


@dataclass(frozen=True, eq=False)
class Basis:
    """The coordinates of all features.

    tables: of each feature the numbers that a code stands for, (codes, coordinates).
    one_hot: whether they are of levels without order.
    """

    tables: tuple[Floats, ...]
    one_hot: tuple[bool, ...]

    @classmethod
    def of(
        cls, axes: Sequence[Axis], shape: FeatureShape, centres: Mapping[int, float] | None = None
    ) -> Basis:
        """From public grids. centres: of ordered features by their place, in [-1, 1]; public or paid for."""
        tables = [_table(axis, shape, (centres or {}).get(j, 0.0)) for j, axis in enumerate(axes)]
        return cls(tuple(tables), tuple(is_one_hot(a) for a in axes))

    @property
    def width(self) -> int:
        """d: coordinates in all, the intercept among them."""
        return 1 + sum(int(t.shape[1]) for t in self.tables)

    @property
    def linear(self) -> int:
        """d_l: coordinates that are not one-hot, the intercept among them."""
        return 1 + sum(int(t.shape[1]) for t, hot in zip(self.tables, self.one_hot, strict=True) if not hot)

    @property
    def one_hot_features(self) -> int:
        """F_b: one-hot features."""
        return sum(self.one_hot)

    @property
    def is_one_hot(self) -> NDArray[np.bool_]:
        """Of each coordinate whether it is one-hot, (d,)."""
        parts = [np.full(t.shape[1], hot) for t, hot in zip(self.tables, self.one_hot, strict=True)]
        return np.concatenate([[False], *parts])

    def rows(self, codes: Codes) -> Floats:
        """The coordinates of rows, (rows, d), from codes (features, rows)."""
        ones = np.ones((codes.shape[1], 1))
        return np.hstack([ones, *(t[c] for t, c in zip(self.tables, codes, strict=True))])

    def parts(self, codes: Codes) -> Iterator[tuple[slice, Floats]]:
        """The coordinates of a few rows after another, with where they stand."""
        for start in range(0, codes.shape[1], ROWS_AT_ONCE):
            place = slice(start, start + ROWS_AT_ONCE)
            yield place, self.rows(codes[:, place])

    def split(self, coefficients: Floats) -> list[Floats]:
        """The coefficients of each feature; the intercept's is left out."""
        ends = np.cumsum([1, *(t.shape[1] for t in self.tables)])
        return [coefficients[a:b] for a, b in pairwise(ends)]


def is_one_hot(axis: Axis) -> bool:
    """Whether a feature's levels have no order; two levels need none."""
    return axis.book.column.kind is Kind.NOMINAL and axis.bins > 2


def places(axis: Axis) -> Floats:
    """x of each code but missing: from -1 to 1 in equal steps."""
    return np.linspace(-1.0, 1.0, axis.bins) if axis.bins > 1 else np.zeros(1)


def centred(axis: Axis) -> bool:
    """Whether a feature has a middle worth asking for: ordered, and more than two codes."""
    return axis.ordered and axis.bins > 2


def _table(axis: Axis, shape: FeatureShape, centre: float) -> Floats:
    if is_one_hot(axis):
        return np.eye(axis.bins + axis.book.missing)
    x = places(axis)
    columns = [] if axis.bins < 2 else [x]
    if centred(axis):
        if shape is FeatureShape.CENTRED:
            columns = [np.clip(STEEPNESS * (x - centre), -1.0, 1.0)]
        else:
            columns.append(2 * x**2 - 1)
        if shape is FeatureShape.CUBIC and axis.bins > 3:
            columns.append(4 * x**3 - 3 * x)
    table = np.stack(columns, axis=1) if columns else np.empty((axis.bins, 0))
    if axis.book.missing:
        table = np.vstack([table, np.zeros((1, table.shape[1]))])
        told = np.full((len(table), 1), -1.0)
        told[-1] = 1.0
        table = np.hstack([table, told])
    return np.clip(table, -1.0, 1.0)
