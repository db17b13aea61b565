"""One reading of a table whose levels nobody knows yet: what occurs, how often, and the codes of the rows.

Codes need levels, and levels need a look at every row, so counting an open domain used to read the data
twice. Here a row is first given the number of its value in the order of appearance; once the levels are
settled, a small table turns these numbers into codes, and the data is not read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts.codebook import Codebook, Codes
from sfumato.counts.tables import Counts
from sfumato.counts.tally import Tally
from sfumato.counts.values import canonical, canonical_type
from sfumato.schema import Column

MOST_VALUES = 2**16 - 1  # of a column whose rows are remembered: two bytes a row, with missing
_SPAN = 1_024  # whole numbers within such a span are numbered by their distance: ages, days, codes


class Survey:
    """Several columns, batch by batch. Memory follows the distinct values, and `most_bytes` for the rows.

    A column with more than `MOST_VALUES` values is only tallied, and so is every column once the rows would
    need more than `most_bytes`: their codes then cost another reading.
    """

    def __init__(self, columns: Sequence[Column], most_bytes: int) -> None:
        self._columns = {c.name: _Surveyed(c) for c in columns}
        self._left = most_bytes
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """One batch, as stored, with the columns in their order."""
        for column, array in zip(self._columns.values(), batch.columns, strict=True):
            self._left -= column.add(array)
        self.rows += batch.num_rows
        if self._left < 0:
            for column in self._columns.values():
                column.forget()

    def counts(self) -> dict[str, Counts]:
        """The counts of each column, over levels that are exactly the values that occur."""
        return {name: column.counts() for name, column in self._columns.items()}

    def remembers(self, name: str) -> bool:
        """Whether the rows of a column can be encoded without another reading."""
        return self._columns[name].remembers

    def encode(self, book: Codebook, out: Codes) -> None:
        """The rows of a column in the codes of a codebook.  out: (rows,)."""
        self._columns[book.name].encode(book, out)

    def column(self, name: str) -> pa.ChunkedArray:
        """The rows of a column that is remembered, as a dictionary of its canonical values."""
        return self._columns[name].chunks()


class _Surveyed:
    """One column: its values in the order of appearance, from 1 on; 0 is missing."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self._values = pa.array([], canonical_type(column))
        self._n = np.zeros(1, np.int64)
        self._rows: list[NDArray[Any]] = []
        self._tally: Tally | None = None
        self._last: tuple[pa.Array, NDArray[Any]] | None = None

    def add(self, array: pa.Array) -> int:
        """Take in one batch; the bytes it needs to be remembered."""
        if self._tally is not None:
            self._tally.add(array)
            return 0
        from sfumato.counts import _kernels

        stored, numbers = _distinct(self.column, array)
        places = self._places(stored)
        if len(self._values) > MOST_VALUES:
            self.forget()
            return self.add(array)
        rows = np.empty(len(numbers), places.dtype)
        _kernels.renumber(numbers, places, rows, self._n)
        self._rows.append(rows)
        return int(rows.nbytes)

    def _places(self, stored: pa.Array) -> NDArray[Any]:
        """The number of each distinct cell, then that of missing; batches often have the same cells."""
        if self._last is None or not self._last[0].equals(stored):
            places = np.append(self._numbered(canonical(self.column, stored)), 0)
            self._last = stored, places.astype(np.uint8 if len(self._n) <= 2**8 else np.uint16)
        return self._last[1]

    def _numbered(self, values: pa.Array) -> NDArray[np.int64]:
        """The number of each value; new ones come after those seen before."""
        found = pc.index_in(values, value_set=self._values)
        new = pc.unique(values.filter(pc.and_(found.is_null(), values.is_valid())))
        if len(new):
            self._values = pa.concat_arrays([self._values, new])
            self._n = np.concatenate([self._n, np.zeros(len(new), np.int64)])
            found = pc.index_in(values, value_set=self._values)
        found = pc.if_else(values.is_valid(), found, pa.scalar(None, found.type))
        places: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
        return places

    def forget(self) -> None:
        """From here on only count: what was counted so far goes over to a tally."""
        if self._tally is None:
            self._tally = Tally(self.column)
            self._tally.include(*self._tallied())
            self._rows = []

    def _tallied(self) -> tuple[pa.Array, NDArray[np.int64]]:
        """The values that occur, missing among them, and their numbers."""
        values = pa.concat_arrays([pa.nulls(1, self._values.type), self._values])
        used = np.flatnonzero(self._n)
        return values.take(pa.array(used)), self._n[used]

    def counts(self) -> Counts:
        tally = self._tally
        if tally is None:
            tally = Tally(self.column)
            tally.include(*self._tallied())
        return tally.counts()

    @property
    def remembers(self) -> bool:
        return self._tally is None

    def chunks(self) -> pa.ChunkedArray:
        kind = pa.dictionary(pa.int32(), self._values.type)
        pieces = [
            pa.DictionaryArray.from_arrays(pa.array(rows.astype(np.int32) - 1, mask=rows == 0), self._values)
            for rows in self._rows
        ]
        return pa.chunked_array(pieces, kind)

    def encode(self, book: Codebook, out: Codes) -> None:
        from sfumato.counts import _kernels

        used = self._n > 0
        places = np.append(len(book.levels), book.locate(self._values))
        places[used] = book.narrow(places[used])  # a value that no row holds needs no code
        start = 0
        for rows in self._rows:
            _kernels.look_up(rows, places, out[start : start + len(rows)])
            start += len(rows)


def _distinct(column: Column, array: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """Cells that a batch may hold, and for each row the number of its own; one past the last for a null."""
    if pa.types.is_integer(array.type) and (whole := _narrow_span(array)) is not None:
        return whole
    if not pa.types.is_dictionary(array.type):
        try:
            array = pc.dictionary_encode(array)
        except pa.ArrowNotImplementedError:  # lists of codes, halves of a float
            array = pc.dictionary_encode(canonical(column, array))
    stored, indices = array.dictionary, array.indices.cast(pa.int32())
    if indices.null_count:  # to fill copies, and most columns are whole
        indices = indices.fill_null(len(stored))
    return stored, indices.to_numpy(zero_copy_only=False)


def _narrow_span(array: pa.Array) -> tuple[pa.Array, NDArray[np.int32]] | None:
    """Whole numbers that lie close together, by their distance from the smallest: nothing is hashed."""
    low, high = (pc.min_max(array)[end].as_py() for end in ("min", "max"))
    if low is None or high - low >= _SPAN or high >= 2**62:
        return None
    numbers = array.cast(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(high + 1)
    return pa.array(np.arange(low, high + 1)).cast(array.type), (numbers.to_numpy() - low).astype(np.int32)
