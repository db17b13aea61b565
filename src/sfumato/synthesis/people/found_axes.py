"""Levels and bins that are read off the data, batch by batch and wherever the rows are.

For synthesis without a promise: with one every domain is public, and nothing is read here. What is found does
not depend on how the rows were divided. Memory follows the levels; of numbers at most `_MOST` are told apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import Codebook, canonical_type
from sfumato.schema import Kind
from sfumato.schema.column import Column, Value
from sfumato.synthesis.people.axes import Floats, Ints, ValueAxis, days_of, declared_axis
from sfumato.synthesis.people.structure import DATES, Branch

_FEW = 40  # different numbers up to which each is a level
_BINS = 20  # of numbers and dates whose bins are read off the data
_HEAVY = 0.02  # share of the rows from which a number is a bin by itself
_MOST = 1_048_576  # numbers of a column that are told apart
_DROPPED = (0, 12, 20, 28, 36, 44)  # last bits of a number that are dropped where it has more; of 52
_WAITING = 1_048_576  # numbers that may wait before they are put together
_EPOCH = date(1970, 1, 1)


@dataclass
class LevelsFound:
    """The different values of a column."""

    column: Column
    values: pa.Array | None = None

    def add(self, array: pa.Array) -> None:
        """Some rows, in canonical form."""
        self._include(array.drop_null())

    def include(self, other: LevelsFound) -> None:
        """What was found elsewhere."""
        if other.values is not None:
            self._include(other.values)

    def axis(self) -> ValueAxis:
        """Its levels, in order."""
        values = pa.array([], canonical_type(self.column)) if self.values is None else self.values
        return ValueAxis(Codebook.of_values(self.column, values))

    def _include(self, values: pa.Array) -> None:
        met = pc.unique(values)
        self.values = met if self.values is None else pc.unique(pa.concat_arrays([self.values, met]))


@dataclass
class NumbersFound:
    """The different numbers of a column and how often each occurs; of few also the values themselves.

    dropped: how many last bits of each number are 0, since there would be more than `_MOST` otherwise. It is
    the least that suffices for all rows together, in whatever order they came. ends: the smallest and the
    largest, whole.
    """

    column: Column
    levels: LevelsFound
    numbers: Floats = field(default_factory=lambda: np.empty(0))
    many: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    dropped: int = 0
    ends: tuple[float, float] = (np.inf, -np.inf)

    def __post_init__(self) -> None:
        self._parts: list[tuple[Floats, Ints]] = []
        self._waiting = 0

    def add(self, array: pa.Array) -> None:
        """Some rows, in canonical form."""
        numbers, many = np.unique(_numbers(self.column, array), return_counts=True)
        self._include(numbers, many.astype(np.int64))
        if self.few:
            self.levels.add(array)

    def include(self, other: NumbersFound) -> None:
        """What was found elsewhere."""
        other.settled()
        self.ends = min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])
        self._drop(other.dropped)
        self._include(other.numbers, other.many)
        self.levels.include(other.levels)

    @property
    def few(self) -> bool:
        """Whether each number is a level, as far as is known."""
        return not self.dropped and len(self.numbers) <= _FEW

    def settled(self) -> NumbersFound:
        """The same, with nothing waiting."""
        parts = [(self.numbers, self.many), *self._parts]
        self._parts, self._waiting = [], 0
        self._put([np.concatenate(p) for p in zip(*parts, strict=True)])
        step = _DROPPED.index(self.dropped)
        while len(self.numbers) > _MOST:
            step += 1
            self._drop(_DROPPED[step])
        return self

    def axis(self) -> ValueAxis:
        """A level for each of few numbers, else bins of about equally many rows."""
        self.settled()
        if self.few:
            return self.levels.axis()
        edges = edges_of(self.column, self.numbers, self.many, self.ends)
        return declared_axis(replace(self.column, edges=edges, clamp=True, provenance=None))

    def _include(self, numbers: Floats, many: Ints) -> None:
        if len(numbers):
            self.ends = min(self.ends[0], float(numbers[0])), max(self.ends[1], float(numbers[-1]))
        self._parts.append((_shortened(numbers, self.dropped), many))
        self._waiting += len(numbers)
        if self.few or self._waiting > _WAITING:
            self.settled()

    def _drop(self, bits: int) -> None:
        if bits > self.dropped:
            self.dropped = bits
            self._parts = [(_shortened(n, bits), m) for n, m in self._parts]
            self._put([_shortened(self.numbers, bits), self.many])

    def _put(self, parts: list[np.ndarray]) -> None:
        self.numbers, place = np.unique(parts[0], return_inverse=True)
        self.many = np.bincount(place, parts[1], minlength=len(self.numbers)).astype(np.int64)


@dataclass
class AxesFound:
    """All columns of a table whose levels or bins nobody has declared."""

    columns: dict[str, LevelsFound | NumbersFound]

    @classmethod
    def of(cls, branch: Branch) -> AxesFound:
        """Nothing found yet."""
        found: dict[str, LevelsFound | NumbersFound] = {}
        for column in branch.columns:
            if column.declared or (branch.link is not None and column.type in DATES):
                continue
            levels = LevelsFound(column)
            number = column.kind in (Kind.NUMERIC, Kind.DATE)
            found[column.name] = NumbersFound(column, levels) if number else levels
        return cls(found)

    def read(self, batches: Iterable[pa.RecordBatch]) -> AxesFound:
        """All batches, which have these columns in canonical form."""
        for batch in batches:
            for name, found in self.columns.items():
                found.add(batch.column(name))
        return self

    def axes(self, branch: Branch) -> dict[str, ValueAxis]:
        """The axis of each column of the table, but of dates below the persons."""
        dated = branch.link is not None
        return {
            c.name: self.columns[c.name].axis() if c.name in self.columns else declared_axis(c)
            for c in branch.columns
            if not (dated and c.type in DATES)
        }

    def include(self, other: AxesFound) -> AxesFound:
        """What was found elsewhere."""
        for name, found in self.columns.items():
            found.include(other.columns[name])  # type: ignore[arg-type]
        return self


def _numbers(column: Column, values: pa.Array) -> Floats:
    if column.type in DATES:
        days, there = days_of(values)
        return days[there].astype(np.float64)
    read = np.asarray(values.cast(pa.float64(), safe=False).drop_null().to_numpy(), np.float64)
    return read[np.isfinite(read)] + 0.0


def _shortened(numbers: Floats, bits: int) -> Floats:
    """The numbers with so many last bits of their fractions 0: a whole one stays whole."""
    if not bits:
        return numbers
    raw = np.ascontiguousarray(numbers).view(np.uint64)
    return (raw & ~np.uint64(2**bits - 1)).view(np.float64) + 0.0


def quantiles(numbers: Floats, many: Ints, shares: Floats) -> Floats:
    """As `np.quantile` of the rows, from the sorted numbers and how often each occurs."""
    upto = np.cumsum(many)
    at = shares * (upto[-1] - 1)
    low = np.floor(at).astype(np.int64)
    a = numbers[np.searchsorted(upto, low, side="right")]
    b = numbers[np.searchsorted(upto, np.minimum(low + 1, upto[-1] - 1), side="right")]
    t = at - low
    return np.asarray(np.where(t >= 0.5, b - (b - a) * (1 - t), a + (b - a) * t), np.float64)


def edges_of(column: Column, numbers: Floats, many: Ints, ends: tuple[float, float]) -> tuple[Value, ...]:
    """The ends of bins with about equally many rows each; of numbers that are frequent, bins of their own."""
    whole = column.type in (*DATES, "integer")
    marks = quantiles(numbers, many, np.linspace(0, 1, _BINS + 1))
    heavy = numbers[many > _HEAVY * many.sum()]
    after = heavy + 1 if whole else np.nextafter(heavy, np.inf)
    marks = np.concatenate([np.floor(marks) if whole else marks, heavy, after])
    edges = np.unique(np.append(np.clip(marks, *ends), ends))
    if column.type in DATES:
        days = [_EPOCH + timedelta(int(d)) for d in edges]
        return tuple(days if column.type == "date" else [datetime(d.year, d.month, d.day) for d in days])
    return tuple(int(e) for e in edges) if whole else tuple(float(e) for e in edges)
