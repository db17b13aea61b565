"""From cells to small whole numbers and back: levels, bins, days after another day.

A column of names has its levels, a number or a date of the persons its bins. A further date of a row is seen
as days after the row's first one, and that as days after the record before: what a gap is counted in is fixed
here, for all data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import Codebook, canonical_type
from sfumato.schema.column import Column
from sfumato.seeds import Key
from sfumato.synthesis.bin_values import draw_within

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_DAY = np.iinfo(np.int64).min  # of a row without a date
MICROSECONDS = 86_400_000_000  # of a day

# Days from one record to the next, and from the first date of a row to its further ones.
_GAPS = (*range(8), 10, 14, 21, 30, 31, 45, 60, 75, 90, 120, 150, 180, 240, 300, 365, 455, 547, 730, 1095,
         1826, 3652)  # fmt: skip
_SPANS = (31, 91, 366)  # days from which gaps are another group: within a month, a quarter, a year
_OFFSETS = (*range(11), 12, 14, 17, 21, 28, 35, 45, 60, 90, 180, 365, 730)
_LEFT = (0, 1, 7, 14, 30, 60, 90, 135, 180, 270, 365, 545, 730, 1095, 1826, 3652)


@dataclass(frozen=True)
class ValueAxis:
    """A column whose levels or bins stand for themselves."""

    book: Codebook

    @property
    def column(self) -> Column:
        """What it is of."""
        return self.book.column

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return max(self.book.size, 1)

    def encode(self, array: pa.Array) -> Ints:
        """The code of each cell."""
        return np.asarray(self.book.encode(array), np.int64)

    def decode(self, codes: Ints, key: Key) -> pa.Array:
        """A value for each code."""
        if self.column.edges is not None:
            return draw_within(self.book, codes, key, 0).arrow()
        return self.book.decode(codes.astype(self.book.dtype)).cast(canonical_type(self.column))


@dataclass(frozen=True)
class DayAxis:
    """Days after another day, in bins that are the same for all data; the last code is for no date.

    edges: the first day of each bin; the last bin has no end.
    """

    edges: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.edges) + 1

    def encode(self, days: Ints, there: NDArray[np.bool_]) -> Ints:
        """The bin of each number of days; what is below the first edge is in the first bin."""
        place = np.searchsorted(np.asarray(self.edges), days, side="right") - 1
        return np.where(there, np.maximum(place, 0), len(self.edges)).astype(np.int64)

    def draw(self, codes: Ints, u: Floats, most: Ints) -> Ints:
        """Days of each bin, none more than `most`; NO_DAY where there is no date."""
        first = np.append(self.edges, 0)[codes]
        last = np.append(self.edges[1:], [2 * self.edges[-1], 0])[codes] - 1
        last = np.maximum(np.minimum(last, most), np.minimum(first, np.maximum(most, 0)))
        first = np.minimum(first, last)
        days = np.minimum(first + np.floor(u * (last - first + 1)).astype(np.int64), last)
        return np.where(codes == len(self.edges), NO_DAY, days)


@dataclass(frozen=True)
class SplitAxis:
    """Days that mean another thing for the first row of a parent: it has the second half of the codes."""

    days: DayAxis

    @property
    def size(self) -> int:
        """How many codes there are."""
        return 2 * self.days.size

    @property
    def first(self) -> NDArray[np.bool_]:
        """Which codes are of first rows."""
        return np.arange(self.size) >= self.days.size

    def encode(self, days: Ints, there: NDArray[np.bool_], first: NDArray[np.bool_]) -> Ints:
        """The bin of each number of days."""
        return self.days.encode(days, there) + self.days.size * first.astype(np.int64)

    def draw(self, codes: Ints, u: Floats, most: Ints) -> Ints:
        """Days of each bin, as `DayAxis.draw`."""
        return self.days.draw(codes % self.days.size, u, most)


OFFSETS, GAPS, LEFT = DayAxis(_OFFSETS), SplitAxis(DayAxis(_GAPS)), SplitAxis(DayAxis(_LEFT))
# The group of each gap, no date by itself: readmission within 30 days is counted as one.
GAP_GROUPS = np.append(np.searchsorted(_SPANS, _GAPS, side="right"), len(_SPANS) + 1).astype(np.int64)


def declared_axis(column: Column) -> ValueAxis:
    """From the levels or edges that the schema declares."""
    return ValueAxis(Codebook.declared(column))


def days_of(array: pa.Array) -> tuple[Ints, NDArray[np.bool_]]:
    """Whole days since 1970, and which are there."""
    there = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)
    if pa.types.is_date32(array.type):
        return np.asarray(pc.fill_null(array.cast(pa.int32()), 0), np.int64), there
    stamps = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(pc.fill_null(stamps, 0), np.int64) // MICROSECONDS, there
