"""How often each value of a column occurs, gathered in one pass, whatever the values are.

Counting by codes needs the levels first, so a domain that is not declared costs a pass of its own. For
single columns the values can be tallied as they come, and the levels follow from the tally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.codebook import Codebook
from sfumato.counts.tables import Counts
from sfumato.counts.values import canonical
from sfumato.schema import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MERGE = 2**17  # values that may wait before they are merged: columns of ids have a value per row


class Tally:
    """Values and their numbers, batch by batch. Memory follows the distinct values."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self._parts: list[pa.Table] = []
        self._merged = self._waiting = 0

    def add(self, array: pa.Array) -> None:
        """One batch, as stored."""
        values, n = _dictionary_tally(array) if pa.types.is_dictionary(array.type) else _tally(array)
        self.include(canonical(self.column, values), n)

    def include(self, values: pa.Array, n: pa.Array | NDArray[np.int64]) -> None:
        """Canonical values, and how often each was seen."""
        self._parts.append(pa.table({"value": values, "n": n}))
        self._waiting += len(values)
        if self._waiting > max(self._merged, _MERGE):
            self._parts = [self._sum()]
            self._merged, self._waiting = self._parts[0].num_rows, 0

    def counts(self) -> Counts:
        """The counts, over levels that are exactly the values that occur."""
        if not self._parts:
            book = Codebook.of_values(self.column, pa.array([], pa.null()).cast(pa.string()))
            return Counts.of_cells([book], np.empty((0, 1), np.uint32), np.empty(0, np.int64))
        # One part needs no merging: codebook and counts put equal values together themselves.
        table = self._parts[0] if len(self._parts) == 1 else self._sum()
        values = table.column("value").combine_chunks()
        book = Codebook.of_values(self.column, values)
        codes = book.encode(values).reshape(-1, 1)
        return Counts.of_cells([book], codes, table.column("n").to_numpy())

    def _sum(self) -> pa.Table:
        summed = pa.concat_tables(self._parts).group_by("value", use_threads=False).aggregate([("n", "sum")])
        return summed.select(["value", "n_sum"]).rename_columns(["value", "n"])


def _tally(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    values, n = pc.value_counts(array).flatten()
    return values, n


def _dictionary_tally(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Count the indices, then look up the few values that occur."""
    indices = array.indices.cast(pa.int64())
    n = np.bincount(indices.drop_null().to_numpy(zero_copy_only=False), minlength=len(array.dictionary))
    used = np.flatnonzero(n)
    places = pa.array(used)
    values = array.dictionary.take(places)
    if not indices.null_count:
        return values, pa.array(n[used])
    values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return values, pa.array(np.append(n[used], indices.null_count))
