"""Several tables on one footing: the same codes for the same values, and the columns a model is fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import DataError, ParameterError
from sfumato.features.design import one_hot
from sfumato.features.numbers import Floats
from sfumato.schema import Column
from sfumato.table import Table

Ints = NDArray[np.int64]
Coding = Literal["dummy", "numeric"]
_MOST = 1_000  # levels of one column


@dataclass(frozen=True, eq=False)
class Aligned:
    """codes: for each table (rows, columns); sizes: the number of codes of each column, missing included."""

    columns: tuple[str, ...]
    codes: tuple[Ints, ...]
    sizes: tuple[int, ...]
    books: tuple[Codebook, ...]

    def joint(self, which: int) -> Ints:
        """(rows,): the number of each row's combination of codes."""
        return np.asarray(np.ravel_multi_index(tuple(self.codes[which].T), self.sizes), np.int64)

    @property
    def cells(self) -> int:
        """How many combinations there can be."""
        return int(np.prod(self.sizes))

    def design(self, which: int, coding: Coding = "dummy") -> Floats:
        """(rows, features): a 0/1 column for each level but the first, or the codes as numbers."""
        codes = self.codes[which]
        if coding == "numeric":
            return codes.astype(np.float64)
        if coding != "dummy":
            raise ParameterError("coding must be dummy or numeric.", hint="coding='dummy'")
        return one_hot(codes, self.sizes, first=1)


def align(tables: Sequence[Table], columns: Sequence[str]) -> Aligned:
    """Encode the named columns of all tables with common codes: declared ones, or all that occur."""
    names = tuple(columns)
    if not names or not tables:
        raise ParameterError("no column was named.", hint='columns=["sex", "age"]')
    for table in tables:
        table.schema.require(names)
    data = [table.select(names).to_arrow() for table in tables]
    if any(d.num_rows == 0 for d in data):
        raise DataError("a table has no rows.", hint="give tables with people in them")
    books = [_book([t.schema[name] for t in tables], [d.column(name) for d in data]) for name in names]
    wide = [repr(b.name) for b in books if b.size > _MOST]
    if wide:
        raise ParameterError(
            f"{', '.join(wide)} have more than {_MOST} levels.", hint="give edges in the schema, or coarsen"
        )
    codes = tuple(
        np.stack([b.encode(d.column(b.name).combine_chunks()) for b in books], axis=1).astype(np.int64)
        for d in data
    )
    # Missing is a code only where it occurs: a dummy column of zeros would say nothing.
    sizes = tuple(max(int(c[:, j].max()) for c in codes) + 1 for j in range(len(names)))
    return Aligned(names, codes, sizes, tuple(books))


def _book(described: Sequence[Column], arrays: Sequence[pa.ChunkedArray]) -> Codebook:
    first = described[0]
    if first.declared and all((c.levels, c.edges) == (first.levels, first.edges) for c in described):
        return Codebook.declared(first)
    if any(c.edges is not None for c in described):
        raise DataError(
            f"column '{first.name}' has edges in one table and not the same in another.",
            hint="use one schema for all tables",
        )
    values = pa.concat_arrays([pc.unique(a.combine_chunks()) for a in arrays])
    return Codebook.of_values(first, values)
