"""From a bin back to a number or a day: drawn within the bin, as the column's `draw` says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook, canonical_type
from sfumato.schema import Draw, Kind
from sfumato.seeds import Key, uniform

if TYPE_CHECKING:
    from collections.abc import Callable

_FAR = 2**62  # stands for an unbounded end among whole numbers


@dataclass
class Drawn:
    """Values of one binned column: numbers, or whole days and microseconds for dates.

    low, high: (rows,) the ends of each row's bin; both may be drawn. whole: only whole numbers are.
    u: (rows,) uniform on [0, 1). gaps: (rows,) where the value is missing.
    """

    book: Codebook
    low: NDArray[Any]
    high: NDArray[Any]
    u: NDArray[np.float64]
    gaps: NDArray[np.bool_]
    whole: bool
    numbers: NDArray[Any]

    @classmethod
    def of(cls, book: Codebook, numbers: NDArray[Any]) -> Drawn:
        """These numbers, none of them missing."""
        none = np.zeros(len(numbers), bool)
        return cls(book, numbers, numbers, np.zeros(len(numbers)), none, ends(book)[2], numbers)

    def draw(self) -> None:
        """Fill in the numbers, by the column's rule."""
        rule = self.book.column.draw
        if rule is Draw.LOWER:
            self.numbers = self.low
        elif rule is Draw.MIDDLE:
            middle = self.low + (self.high - self.low) / 2
            self.numbers = np.floor(middle).astype(np.int64) if self.whole else middle
        elif self.whole:
            steps = np.floor(self.u * (self.high - self.low + 1)).astype(np.int64)
            self.numbers = np.minimum(self.low + steps, self.high)
        else:
            self.numbers = np.minimum(self.low + self.u * (self.high - self.low), self.high)

    def at_most(self, other: Drawn) -> None:
        """Not above the end of the other's bin, where both are there."""
        both = ~self.gaps & ~other.gaps
        self.high = np.where(both, np.maximum(np.minimum(self.high, other.high), self.low), self.high)
        self.draw()

    def at_least(self, other: Drawn) -> None:
        """Not below the other's value, where both are there."""
        both = ~self.gaps & ~other.gaps
        self.low = np.where(both, np.maximum(self.low, other.numbers), self.low)
        self.draw()

    def arrow(self) -> pa.Array:
        """The values in the column's type."""
        kind = canonical_type(self.book.column)
        mask = self.gaps if self.gaps.any() else None
        if pa.types.is_decimal(kind):
            return pa.array(self.numbers.astype(np.float64), mask=mask).cast(kind, safe=False)
        if pa.types.is_date32(kind):
            return pa.array(self.numbers.astype(np.int32), mask=mask).cast(kind)
        if self.whole:
            return pa.array(self.numbers.astype(np.int64), mask=mask).cast(kind)
        return pa.array(self.numbers, kind, mask=mask)


def draw_within(
    book: Codebook,
    codes: NDArray[Any],
    key: Key,
    first_row: int,
    cut: tuple[NDArray[Any], NDArray[Any]] | None = None,
) -> Drawn:
    """A value of each row's bin; row r's draw depends on the key and on r alone.

    cut: the ends of cells, where codes are those of cells finer than the bins.
    """
    low, high, whole = ends(book)
    low, high = (low, high) if cut is None else cut
    gaps = np.asarray(codes) >= len(low)
    places = np.where(gaps, 0, codes).astype(np.int64)
    u = uniform(key.words(0, first_row, len(places)))
    drawn = Drawn(book, low[places], high[places], u, gaps, whole, low[places])
    drawn.draw()
    return drawn


def ends(book: Codebook) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """The smallest and the largest value that may be drawn of each bin, and whether values are whole.

    Bins are open above, but for the last; an unbounded bin gives its finite end.
    """
    column = book.column
    edges: list[Any] = list(column.edges or ())
    if column.kind is Kind.DATE:
        marks = pa.array(edges, canonical_type(column))
        edges = marks.cast(pa.int32() if column.type == "date" else pa.int64()).to_pylist()
    whole = column.kind is Kind.DATE or column.type == "integer" or column.draw is Draw.INTEGER
    if whole:
        first = [_whole(math.ceil, e) for e in edges]
        low = np.array(first[:-1], np.int64)
        high = np.array([e - 1 for e in first[1:-1]] + [_whole(math.floor, edges[-1])], np.int64)
        low, high = np.where(low <= -_FAR, high, low), np.where(high >= _FAR, low, high)
        low, high = np.where(np.abs(low) >= _FAR, 0, low), np.where(np.abs(high) >= _FAR, 0, high)
        return low, np.maximum(low, high), True  # a bin without a whole number gives the next one
    real = np.array([float(e) for e in edges])
    low, high = real[:-1].copy(), np.nextafter(real[1:], -math.inf)
    high[-1] = real[-1]
    low, high = np.where(np.isinf(low), high, low), np.where(np.isinf(high), low, high)
    return np.where(np.isinf(low), 0.0, low), np.where(np.isinf(high), 0.0, high), False


def _whole(rounded: Callable[[float], int], edge: float) -> int:
    if math.isinf(edge):
        return _FAR if edge > 0 else -_FAR
    return int(rounded(edge))
