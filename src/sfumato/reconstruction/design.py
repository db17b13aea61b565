"""What is known of each person as a matrix X: numbers as they are, categories dummy-coded, a constant first.

Missing categories are a level of their own. Missing numbers stand as zero until the moments say what to put
there: an indicator beside them, or their expectation given the rest of the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook, canonical
from sfumato.errors import DataError, ParameterError, listed
from sfumato.schema import Column, Kind, Role
from sfumato.table import Table

Real = NDArray[np.float64]
Missing = Literal["indicator", "em", "refuse"]

MOST_LEVELS = 200
"""Levels of one category that are dummy-coded; more say little each and cost a column each."""
_LEFT_OUT = (Role.IDENTIFIER, Role.PERSON, Role.WEIGHT)


class ReconstructionRule(Protocol):
    """What turns the columns of a batch into reconstructed values."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    def __call__(self, columns: Mapping[str, pa.Array]) -> Real:
        """Values, (people, masked columns)."""
        ...


@dataclass(frozen=True, eq=False)
class Design:
    """Which columns of a table make up X, and how.

    numbers: numeric columns and dates, in order.  books: the categories, each with a column per level.
    shift: taken off the numbers before they are summed, so that large numbers lose no digits.
    """

    numbers: tuple[Column, ...]
    books: tuple[Codebook, ...]
    shift: Real

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        return (*(c.name for c in self.numbers), *(b.name for b in self.books))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of X, the constant first. Levels are numbered: their names may be cells."""
        dummies = [f"{b.name}[{k}]" for b in self.books for k in range(b.size)]
        return ("1", *(c.name for c in self.numbers), *dummies)

    @property
    def width(self) -> int:
        """How many columns X has, the constant included."""
        return 1 + len(self.numbers) + sum(b.size for b in self.books)

    def matrix(self, columns: Mapping[str, pa.Array]) -> tuple[Real, NDArray[np.bool_]]:
        """X (people, width) with zeros for missing numbers, and which numbers are missing.

        Each column of X lies in one piece, as the columns of the table do.
        """
        rows = len(next(iter(columns.values()))) if columns else 0
        xt = np.zeros((self.width, rows))
        xt[0] = 1.0
        gaps = np.zeros((len(self.numbers), rows), bool)
        for j, column in enumerate(self.numbers):
            numbers = as_numbers(column, columns[column.name])
            np.subtract(numbers, self.shift[j], out=xt[1 + j])
            np.isnan(numbers, out=gaps[j])
            if gaps[j].any():
                xt[1 + j, gaps[j]] = 0.0
        first = 1 + len(self.numbers)
        everyone = np.arange(rows)
        for book in self.books:
            xt[first + book.encode(columns[book.name]).astype(np.int64), everyone] = 1.0
            first += book.size
        return xt.T, gaps.T


def as_numbers(column: Column, array: pa.Array) -> Real:
    """A numeric column or date as real numbers, NaN for missing."""
    # Real numbers are as they should be already: NaN is what stands for missing here, too.
    ready = array.type == pa.float64() and column.kind is Kind.NUMERIC and not column.missing_codes
    values = array if ready else canonical(column, array)
    if column.kind is Kind.DATE:
        values = values.cast(pa.int32() if column.type == "date" else pa.int64())
    reals = values if values.type == pa.float64() else values.cast(pa.float64(), safe=False)
    if reals.null_count:
        reals = reals.fill_null(np.nan)
    numbers: Real = reals.to_numpy(zero_copy_only=False)
    if np.isinf(numbers).any():
        raise DataError(
            f"column '{column.name}' holds {int(np.isinf(numbers).sum())} infinite values.",
            hint="correct them",
        )
    return numbers


def design_of(table: Table, columns: Sequence[str] | None, without: Sequence[str]) -> Design:
    """The columns named, or else all that say something of a person: no ids, weights, groups or free text."""
    if columns is None:
        names = [
            c.name
            for c in table.schema
            if c.name not in without and c.role not in _LEFT_OUT and c.kind not in (Kind.TEXT, Kind.CODES)
        ]
    else:
        names = [columns] if isinstance(columns, str) else list(columns)
        table.schema.require(names)
        if len(set(names)) < len(names):
            raise ParameterError("a column of X is named once.", hint="correct columns=[...]")
    unfit = [repr(n) for n in names if table.schema[n].kind in (Kind.TEXT, Kind.CODES)]
    if unfit:
        raise ParameterError(
            f"free text and lists of codes cannot be a column of X: {listed(unfit)}.",
            hint="name other columns=[...]",
        )
    numbers = tuple(table.schema[n] for n in names if table.schema[n].kind in (Kind.NUMERIC, Kind.DATE))
    books = tuple(table.codebooks([n for n in names if n not in {c.name for c in numbers}]).values())
    large = [f"'{b.name}' ({b.size})" for b in books if b.size > MOST_LEVELS]
    if large:
        raise ParameterError(
            f"columns with more than {MOST_LEVELS} levels: {listed(large)}.",
            hint="name the columns to use without them, or generalize them",
        )
    if not names:
        raise ParameterError("no column says anything about a person.", hint="name some: columns=[...]")
    return Design(numbers, books, _shift(table, numbers))


def _shift(table: Table, numbers: Sequence[Column]) -> Real:
    """About the middle of each numeric column: the mean of the first rows."""
    shift = np.zeros(len(numbers))
    if not numbers:
        return shift
    names = [c.name for c in numbers]
    from sfumato.sources import EngineSource

    if isinstance(table.source, EngineSource):  # its first rows may be far away; nothing hangs on them
        return shift
    for batch in table.batches(names):
        for j, column in enumerate(numbers):
            values = as_numbers(column, batch.column(j))
            shift[j] = np.rint(np.nanmean(values)) if (~np.isnan(values)).any() else 0.0
        break
    return shift
