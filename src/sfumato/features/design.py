"""Columns of a table as a matrix X: a constant first, then numbers as they are, then categories dummy-coded.

Missing categories are a level of their own. Missing numbers stand as zero, beside a matrix that says which
they are: what to put there is for who uses X.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import DataError, ParameterError, listed
from sfumato.features.columns import telling
from sfumato.features.numbers import Floats, numbers, require_finite
from sfumato.schema import Column, Kind
from sfumato.sources import EngineSource
from sfumato.table import Table

Cells: TypeAlias = Mapping[str, pa.Array] | pa.Table
MOST_LEVELS = 200
"""Levels of one category that are dummy-coded; more say little each and cost a column each."""
_UNFIT = (Kind.TEXT, Kind.CODES)


@dataclass(frozen=True, eq=False)
class Design:
    """Which columns of a table make up X, and how.

    numbers: numeric columns and dates, in order.  books: the categories, each with a column per level.
    shift: taken off the numbers before they are summed, so that large numbers lose no digits.
    seen: levels are those that people had, the first of them is what the others are compared with and has no
        column, and a level that nobody had counts as none. Otherwise every level has a column, and one that
        the codebook does not know is refused.
    """

    numbers: tuple[Column, ...]
    books: tuple[Codebook, ...]
    shift: Floats
    seen: bool = False

    @classmethod
    def of_people(cls, table: Table, columns: Sequence[str] | None, without: Sequence[str]) -> Design:
        """The columns named, or else all that say something of a person: no ids, weights, groups or text."""
        if columns is None:
            names = [c.name for c in telling(table.schema, without) if c.kind not in _UNFIT]
        else:
            names = [columns] if isinstance(columns, str) else list(columns)
            table.schema.require(names)
            if len(set(names)) < len(names):
                raise ParameterError("a column of X is named once.", hint="correct columns=[...]")
        chosen = [table.schema[n] for n in names]
        unfit = [repr(c.name) for c in chosen if c.kind in _UNFIT]
        if unfit:
            raise ParameterError(
                f"free text and lists of codes cannot be a column of X: {listed(unfit)}.",
                hint="name other columns=[...]",
            )
        numeric, others = _parted(chosen)
        books = _few(table.codebooks([c.name for c in others]).values())
        if not names:
            raise ParameterError("no column says anything about a person.", hint="name some: columns=[...]")
        return cls(numeric, books, _middle(table, numeric))

    @classmethod
    def of_seen(cls, rows: pa.Table, columns: Sequence[Column]) -> Design:
        """X of these rows, for a model that is then asked about others."""
        numeric, others = _parted(columns)
        found = [(c, pc.unique(rows.column(c.name).combine_chunks())) for c in others]
        books = [Codebook.of_values(replace(c, missing=bool(v.null_count)), v) for c, v in found]
        return cls(numeric, _few(books), np.zeros(len(numeric)), seen=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        return (*(c.name for c in self.numbers), *(b.name for b in self.books))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of X, the constant first. Levels are numbered: their names may be cells."""
        dummies = [f"{b.name}[{k}]" for b in self.books for k in range(self.seen, b.size)]
        return ("1", *(c.name for c in self.numbers), *dummies)

    @property
    def width(self) -> int:
        """How many columns X has, the constant included."""
        return 1 + len(self.numbers) + sum(b.size - self.seen for b in self.books)

    def measured(self, cells: Cells) -> tuple[Floats, NDArray[np.bool_]]:
        """The numbers (people, numbers), shifted, zero where missing, and which are missing."""
        found = np.empty((len(self.numbers), _rows(cells)))
        return found.T, self._measure(cells, found).T

    def _measure(self, cells: Cells, found: Floats) -> NDArray[np.bool_]:
        gaps = np.zeros(found.shape, bool)
        for j, column in enumerate(self.numbers):
            read = require_finite(numbers(cells[column.name], column), f"column '{column.name}'")
            np.subtract(read, self.shift[j], out=found[j])
            np.isnan(read, out=gaps[j])
            if gaps[j].any():
                found[j, gaps[j]] = 0.0
        return gaps

    def codes(self, cells: Cells) -> NDArray[np.int64]:
        """The codes of the categories, (people, categories)."""
        found = [b.encode(cells[b.name]).astype(np.int64) for b in self.books]
        return np.column_stack(found) if found else np.empty((_rows(cells), 0), np.int64)

    def matrix(self, cells: Cells) -> tuple[Floats, NDArray[np.bool_]]:
        """X (people, width) with zeros for missing numbers, and which numbers are missing.

        Each column of X lies in one piece, as the columns of the table do.
        """
        rows = _rows(cells)
        xt = np.zeros((self.width, rows))
        xt[0] = 1.0
        first = 1 + len(self.numbers)
        gaps = self._measure(cells, xt[1:first])
        everyone = np.arange(rows)
        for book in self.books:
            if self.seen:
                array = cells[book.name]
                places = book.locate(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)
                there = (places >= 1) & (places < book.size)
                xt[first - 1 + places[there], everyone[there]] = 1.0
            else:
                xt[first + book.encode(cells[book.name]).astype(np.int64), everyone] = 1.0
            first += book.size - self.seen
        return xt.T, gaps.T

    def complete(self, cells: Cells) -> Floats:
        """X of people of whom every number is known; others are refused."""
        x, gaps = self.matrix(cells)
        if gaps.any():
            raise DataError("a number of X is missing.", hint="leave the people or the column out first")
        return x


def one_hot(codes: NDArray[np.int64], sizes: Sequence[int], *, first: int = 0) -> Floats:
    """Codes (rows, columns) as a 0/1 column for each level from `first` on."""
    parts = [np.eye(size)[codes[:, j]][:, first:] for j, size in enumerate(sizes)]
    return np.hstack([np.empty((len(codes), 0)), *parts])


def _rows(cells: Cells) -> int:
    if isinstance(cells, pa.Table):
        return int(cells.num_rows)
    return len(next(iter(cells.values()))) if cells else 0


def _parted(columns: Sequence[Column]) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Numbers and dates, and categories."""
    numeric = tuple(c for c in columns if c.kind in (Kind.NUMERIC, Kind.DATE))
    return numeric, tuple(c for c in columns if c not in numeric)


def _few(books: Iterable[Codebook]) -> tuple[Codebook, ...]:
    found = tuple(books)
    large = [f"'{b.name}' ({b.size})" for b in found if b.size > MOST_LEVELS]
    if large:
        raise ParameterError(
            f"columns with more than {MOST_LEVELS} levels: {listed(large)}.",
            hint="name the columns to use without them, or generalize them",
        )
    return found


def _middle(table: Table, columns: Sequence[Column]) -> Floats:
    """About the middle of each numeric column: the mean of the first rows."""
    shift = np.zeros(len(columns))
    # The first rows of an engine may be far away; nothing hangs on them.
    if not columns or isinstance(table.source, EngineSource):
        return shift
    for batch in table.batches([c.name for c in columns]):
        for j, column in enumerate(columns):
            found = require_finite(numbers(batch.column(j), column), f"column '{column.name}'")
            shift[j] = np.rint(np.nanmean(found)) if (~np.isnan(found)).any() else 0.0
        break
    return shift
