"""Values to codes and back, the same for every engine.

A codebook gives each level of a column a small whole number. Missing is a category of its own, the
last code, whatever it looked like before: a null, NaN, or one of the schema's missing codes. Minus
zero is zero; categoricals, decimals and zoned timestamps are what they mean, not how they are stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts.values import canonical, canonical_type, missing_values
from sfumato.errors import DataError, SchemaError
from sfumato.schema import Column, Kind

_MANY = 65_536  # levels: from here on a batch is small against them
_LUT_SPAN = 65_536  # whole numbers within this span are looked up, not hashed

Codes = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Codebook:
    """The codes of one column: level i has code i, missing comes after the last level.

    levels: canonical values without nulls; for a binned column the bins as text.
    """

    column: Column
    levels: pa.Array
    missing: bool

    @classmethod
    def declared(cls, column: Column) -> Codebook:
        """From the levels or edges the schema declares."""
        if column.edges is not None:
            return cls(column, pa.array(_bin_names(column.edges), pa.string()), column.missing)
        try:
            levels = pa.array(list(column.levels or ()), canonical_type(column))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
            raise SchemaError(
                f"column '{column.name}': its levels are not of type {column.type}.",
                hint="change the levels or the type in the schema",
            ) from None
        return cls.of_values(column, levels, sort=False)

    @classmethod
    def of_values(cls, column: Column, values: pa.Array, *, sort: bool = True) -> Codebook:
        """From the values found in the data: distinct, sorted, without missing."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        levels = pc.unique(pc.drop_null(canonical(column, values)))
        if not sort and len(levels) != len(values):
            raise SchemaError(
                f"column '{column.name}': two declared levels mean the same.", hint="remove one of them"
            )
        return cls(column, levels.take(pc.sort_indices(levels)) if sort else levels, column.missing)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def size(self) -> int:
        """How many codes there are, the one for missing included."""
        return len(self.levels) + self.missing

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest unsigned type that holds the codes."""
        return np.dtype(np.uint8 if self.size <= 2**8 else np.uint16 if self.size <= 2**16 else np.uint32)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Codebook)
            and self.name == other.name
            and self.missing == other.missing
            and self.levels.equals(other.levels)
        )

    def __hash__(self) -> int:
        return hash((self.name, len(self.levels), self.missing))

    # -- values to codes -------------------------------------------------------------------------

    def encode(self, array: pa.Array) -> Codes:
        """The code of each cell; a cell outside the domain is refused, by number and not by value."""
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if pa.types.is_dictionary(array.type):
            return self._encode_dictionary(array)
        if self._plain and not array.null_count and pa.types.is_unsigned_integer(array.type):
            values = array.to_numpy()
            if not len(values) or values.max() < len(self.levels):
                narrow: Codes = values.astype(self.dtype, copy=False)
                return narrow
        return self.narrow(self.locate(array))

    def narrow(self, places: NDArray[np.int64]) -> Codes:
        """Places (-1 outside, past the levels missing) to codes, or the reason why not."""
        self._refuse(int((places < 0).sum()))
        self._refuse_missing(0 if self.missing else int((places == len(self.levels)).sum()))
        return places.astype(self.dtype)

    def _encode_dictionary(self, array: pa.Array) -> Codes:
        """Locate the few distinct values, then look the rows up."""
        places = np.append(self.locate(array.dictionary), len(self.levels))
        indices = array.indices
        if indices.null_count:  # the last place is missing's; narrow indices might not reach it
            indices = indices.cast(pa.int64()).fill_null(len(places) - 1)
        rows = indices.to_numpy(zero_copy_only=False)
        clean = self.missing and not (places < 0).any()
        codes: Codes = places.astype(self.dtype)[rows] if clean else self.narrow(places[rows])
        return codes

    def locate(self, array: pa.Array) -> NDArray[np.int64]:
        """The place of each cell among the levels: -1 outside, one past the last for missing."""
        if self.column.edges is not None:
            return self._locate_bins(array)
        if pa.types.is_integer(array.type) and self._lookup is not None and array.type != pa.uint64():
            return self._locate_integers(array)
        values = canonical(self.column, array)
        if self._numbers is not None:
            return self._locate_numbers(values)
        found = pc.index_in(values, value_set=self.levels).fill_null(-1)
        places: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
        if values.null_count:
            places[values.is_null().to_numpy(zero_copy_only=False)] = len(self.levels)
        return places

    @cached_property
    def _lookup(self) -> tuple[int, NDArray[np.int64]] | None:
        """Whole-number levels in a narrow span as a table: value - first -> place, -1 outside."""
        if not pa.types.is_integer(self.levels.type) or not len(self.levels):
            return None
        values = self.levels.to_numpy()
        gaps = missing_values(self.column, self.levels.type).to_numpy(zero_copy_only=False)
        every = np.concatenate([values, gaps.astype(np.int64)])
        first, last = int(every.min()), int(every.max())
        if last - first >= _LUT_SPAN:
            return None
        table = np.full(last - first + 1, -1, np.int64)
        table[values - first] = np.arange(len(values))
        table[gaps.astype(np.int64) - first] = len(self.levels)
        return first, table

    @cached_property
    def _plain(self) -> bool:
        """Levels 0, 1, 2, ...: the values are the codes already."""
        if self._lookup is None:
            return False
        first, table = self._lookup
        return first == 0 and len(table) == len(self.levels) and bool((table == np.arange(len(table))).all())

    def _locate_integers(self, array: pa.Array) -> NDArray[np.int64]:
        assert self._lookup is not None
        first, table = self._lookup
        gaps = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        values = (
            (array if gaps is None else array.fill_null(0)).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        inside = (values >= first) & (values < first + len(table))
        places = np.where(inside, table[np.where(inside, values - first, 0)], -1)
        if gaps is not None:
            places[gaps] = len(self.levels)
        return places

    @cached_property
    def _numbers(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Many numeric levels, sorted, and their places: Arrow would hash them anew for every batch."""
        if len(self.levels) < _MANY or not pa.types.is_primitive(self.levels.type):
            return None
        values = _as_numbers(self.levels)
        order = np.argsort(values, kind="stable")
        return values[order], order.astype(np.int64)

    def _locate_numbers(self, values: pa.Array) -> NDArray[np.int64]:
        assert self._numbers is not None
        levels, order = self._numbers
        numbers = _as_numbers(values)
        found = np.minimum(np.searchsorted(levels, numbers), len(levels) - 1)
        places = np.where(levels[found] == numbers, order[found], -1)
        places[values.is_null().to_numpy(zero_copy_only=False)] = len(self.levels)
        return places

    @property
    def wanted_rows(self) -> int:
        """How many rows should be encoded together, for hashing the levels to be worth it."""
        return 0 if len(self.levels) < _MANY or self._numbers is not None else len(self.levels)

    def _locate_bins(self, array: pa.Array) -> NDArray[np.int64]:
        """Bin i is [edge i, edge i+1), the last one closed."""
        values = canonical(self.column, array)
        numbers, edges = _comparable(values, self.column)
        bins = np.searchsorted(edges[:-1], numbers, side="right").astype(np.int64) - 1
        bins[numbers > edges[-1]] = len(edges) - 1
        return self.bin_places(bins, values.is_null().to_numpy(zero_copy_only=False))

    def numbers(self, array: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The cells of a binned column as numbers (days, microseconds), and which of them are missing."""
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        values = canonical(self.column, array)
        return _comparable(values, self.column)[0], values.is_null().to_numpy(zero_copy_only=False)

    def bin_places(self, bins: NDArray[np.int64], gaps: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Bins -1 .. k (below, inside, above) to places: clamped, or -1 for what lies outside."""
        last = len(self.levels) - 1
        places = np.clip(bins, 0, last) if self.column.clamp else np.where(bins > last, -1, bins)
        return np.where(gaps, len(self.levels), places)

    def _refuse(self, outside: int) -> None:
        if outside:
            raise DataError(
                f"column '{self.name}': {outside} cell{'s' * (outside > 1)} outside the declared domain.",
                hint="sfumato schema check lists all such columns; extend the domain, or set clamp = true",
            )

    def _refuse_missing(self, gaps: int) -> None:
        if gaps and not self.missing:
            raise DataError(
                f"column '{self.name}': {gaps} missing cell{'s' * (gaps > 1)}, "
                "but the schema says missing = false.",
                hint="set missing = true for this column",
            )

    # -- codes to values -------------------------------------------------------------------------

    def decode(self, codes: NDArray[Any]) -> pa.Array:
        """The level of each code; missing is null. Bins come back as text such as '[0, 5)'."""
        gaps = np.asarray(codes) >= len(self.levels)
        indices = pa.array(np.where(gaps, 0, codes).astype(np.int64), mask=gaps if gaps.any() else None)
        return self.levels.take(indices)

    def code_of(self, value: object) -> int:
        """The code of one value; None is missing."""
        if value is None and not self.missing:
            raise SchemaError(f"column '{self.name}' is never missing.", hint="ask for a level")
        if self.column.edges is not None and isinstance(value, str):
            found = pc.index(self.levels, pa.scalar(value)).as_py()
            if found >= 0:
                return int(found)
        try:
            return int(self.encode(pa.array([value], None if value is not None else self.levels.type))[0])
        except (DataError, pa.ArrowException, OverflowError, TypeError, ValueError):
            raise SchemaError(
                f"column '{self.name}' has no such level.", hint=f"it has {len(self.levels)} levels"
            ) from None


def _as_numbers(values: pa.Array) -> NDArray[Any]:
    """A primitive column as numbers, whatever stands for a null."""
    width = {1: pa.int8(), 8: pa.int8(), 32: pa.int32(), 64: pa.int64()}[values.type.bit_width]
    plain = values if pa.types.is_floating(values.type) else values.cast(width)
    numbers: NDArray[Any] = plain.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _comparable(values: pa.Array, column: Column) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values and edges as numbers that compare the same way; nulls as the first edge."""
    edges = column.edges or ()
    if column.kind is Kind.DATE:
        marks = pa.array(list(edges), values.type).cast(pa.int32() if column.type == "date" else pa.int64())
        plain = values.cast(marks.type)
        return plain.fill_null(marks[0].as_py()).to_numpy(zero_copy_only=False), marks.to_numpy()
    if column.type == "integer":  # exact past 2^53: a whole number reaches e where it reaches ceil(e)
        whole = [_whole(math.ceil, e) for e in edges[:-1]] + [_whole(math.floor, edges[-1])]
        return values.fill_null(0).to_numpy(zero_copy_only=False), np.array(whole, np.int64)
    numbers = values.cast(pa.float64(), safe=False)
    marks_real = np.array([float(e) for e in edges])  # type: ignore[arg-type]
    return numbers.fill_null(marks_real[0]).to_numpy(zero_copy_only=False), marks_real


def _whole(rounded: Callable[[Any], int], edge: Any) -> int:
    """An edge among the 64-bit numbers; an unbounded one at their end."""
    low, high = -(2**63), 2**63 - 1
    if math.isinf(edge):
        return high if edge > 0 else low
    return min(max(rounded(edge), low), high)


def _bin_names(edges: tuple[Any, ...]) -> list[str]:
    """'[0, 5)', '[5, 10]': the last bin is closed."""
    text = [str(e).removesuffix(".0") for e in edges]
    last = len(text) - 2
    return [f"[{a}, {b}{']' if i == last else ')'}" for i, (a, b) in enumerate(pairwise(text))]
