"""The time of day of dates that have one: drawn, but never before a birth or an admission of the same day.

Which day a date has is drawn elsewhere; here a day becomes a value. Dates without a time need none of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import canonical_type
from sfumato.schema.column import Column
from sfumato.seeds import Key, uniform
from sfumato.synthesis.people.axes import MICROSECONDS, NO_DAY, Floats, Ints

_SECOND = 1_000_000


@dataclass(frozen=True, eq=False)
class TimeBounds:
    """Between which moments the dates of rows lie: microseconds since 1970, NO_DAY where nothing is known.

    None where the dates have no time of day: then the day says all.
    """

    low: Ints | None = None
    high: Ints | None = None

    @classmethod
    def between(cls, low: pa.Array | None, high: pa.Array | None) -> TimeBounds:
        """From two columns, such as births and deaths."""
        return cls(moments_of(low), moments_of(high))

    def below(self, parent: Ints) -> TimeBounds:
        """Of rows below."""
        return TimeBounds(*(None if end is None else end[parent] for end in (self.low, self.high)))

    def after(self, dates: pa.Array) -> TimeBounds:
        """Not before these dates, either."""
        found = moments_of(dates)
        if found is None or self.low is None:
            return TimeBounds(self.low if found is None else found, self.high)
        return TimeBounds(np.where(found == NO_DAY, self.low, found), self.high)


def moments_of(array: pa.Array | None) -> Ints | None:
    """Of a column of dates."""
    if array is None or pa.types.is_date32(array.type):
        return None
    stamps = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(pc.fill_null(stamps, NO_DAY), np.int64)


def as_dates(column: Column, days: Ints, u: Floats, between: TimeBounds | None = None) -> pa.Array:
    """Days in the column's own type.  u: (R,) the time of each day, as a share of what is open of it."""
    gone = days == NO_DAY
    plain = np.where(gone, 0, days)
    if column.type == "date":
        return pa.array(plain.astype(np.int32), mask=gone).cast(pa.date32())
    start = plain * MICROSECONDS
    first, last = start.copy(), start + MICROSECONDS - _SECOND
    bounds = TimeBounds() if between is None else between
    for end, bound in ((first, bounds.low), (last, bounds.high)):
        if bound is not None:
            same = (bound >= start) & (bound < start + MICROSECONDS)
            end[same] = bound[same]
    seconds = np.floor(u * ((last - first) // _SECOND + 1)).astype(np.int64)
    stamps = pa.array(np.minimum(first + seconds * _SECOND, last), mask=gone).cast(pa.timestamp("us"))
    return stamps.cast(canonical_type(column), safe=False)


def times(key: Key, rows: int) -> Floats:
    """A share of a day for each row."""
    return uniform(key.words(0, 0, rows))


def rising(u: Floats, parent: Ints, days: Ints) -> Floats:
    """The same numbers, those of one parent and day in the order of the rows."""
    out = np.empty_like(u)
    out[np.lexsort((days, parent))] = u[np.lexsort((u, days, parent))]
    return out
