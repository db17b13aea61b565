"""Columns as models see them: numbers, or codes of levels; and the way back to values.

    variables = look(table, ["age", "sex", "cost"])      # what each column is; all faults at once
    frame = variables.read(table)                        # {name: (rows,) numbers or codes}
    variables.features(frame, ["age", "sex"])            # (rows, p) for a model

A numeric column or a day is a number, missing is not-a-number. Every other column is a code, missing the
last one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import Codebook, canonical_type
from sfumato.errors import DataError, SchemaError, listed
from sfumato.schema import Column, Kind, Schema
from sfumato.synthesis.domain import chosen, unusable
from sfumato.synthesis.imputation.draws import Floats
from sfumato.table import Table

Frame = dict[str, Floats]
MOST_LEVELS = 500  # a model of more classes than this is a list of the people
_NUMBERS = (Kind.NUMERIC, Kind.DATE)


@dataclass(frozen=True, eq=False)
class ModelVariable:
    """One column. book: its codes, or None where it is a number.

    gaps: a number with missing cells. centre, scale: for the features of a number.
    """

    column: Column
    book: Codebook | None = None
    gaps: bool = False
    centre: float = 0.0
    scale: float = 1.0

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def size(self) -> int | None:
        """How many codes it has; None for a number."""
        return None if self.book is None else self.book.size

    @property
    def missing_code(self) -> int | None:
        """The code of missing, where there is one."""
        return len(self.book.levels) if self.book is not None and self.book.missing else None

    def empty(self, values: Floats) -> NDArray[np.bool_]:
        """Which cells are missing."""
        return np.isnan(values) if self.book is None else values == self.missing_code

    def numbers(self, array: pa.Array) -> Floats:
        """Cells in canonical form as numbers or codes."""
        if self.book is not None:
            return self.book.encode(array).astype(np.float64)
        if self.column.kind is Kind.DATE:
            array = array.cast(pa.int32() if self.column.type == "date" else pa.int64())
        return np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)

    def settled(self, values: Floats) -> Floats:
        """Numbers as the column can have them: within its declared ends, whole where it is whole."""
        if self.book is not None:
            return values
        low, high = self._ends
        kept = np.clip(values, low, high)
        whole = self.column.kind is Kind.DATE or self.column.type == "integer"
        return np.rint(kept) if whole else kept

    @property
    def _ends(self) -> tuple[float, float]:
        edges = self.column.edges
        if edges is None:
            far = 2.0**52 if self.column.kind is not Kind.DATE or self.column.type != "date" else 2.0**31 - 1
            return -far, far
        ends = pa.array([edges[0], edges[-1]], canonical_type(self.column))
        first, last = self.numbers(ends)
        return float(first), float(last)

    def arrow(self, values: Floats) -> pa.Array:
        """Numbers or codes as values of the column's type."""
        if self.book is not None:
            return self.book.decode(values.astype(np.int64))
        kind, gaps = canonical_type(self.column), np.isnan(values)
        mask = gaps if gaps.any() else None
        plain = np.where(gaps, 0.0, self.settled(values))
        if pa.types.is_floating(kind):
            return pa.array(plain, kind, mask=mask)
        if pa.types.is_decimal(kind):
            return pa.array(plain, mask=mask).cast(kind, safe=False)
        if pa.types.is_date32(kind):
            return pa.array(plain.astype(np.int32), mask=mask).cast(kind)
        return pa.array(plain.astype(np.int64), mask=mask).cast(kind)

    def features(self, values: Floats) -> Floats:
        """(rows, p): a number by its scale, 0 where missing, with a flag for that; a level by flags."""
        if self.book is not None:
            return np.asarray(values[:, None] == np.arange(1, self.book.size), np.float64)
        gaps = np.isnan(values)
        scaled: Floats = np.where(gaps, 0.0, (values - self.centre) / self.scale)
        return np.stack([scaled, gaps], axis=1) if self.gaps else scaled[:, None]


@dataclass(frozen=True, eq=False)
class Variables:
    """The columns of a table, in order."""

    columns: tuple[ModelVariable, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(v.name for v in self.columns)

    @property
    def schema(self) -> Schema:
        """Of released rows: missing codes are empty cells there."""
        return Schema(tuple(replace(v.column, missing_codes=(), reason="") for v in self.columns))

    @property
    def public(self) -> bool:
        """Whether every set of levels is public."""
        return all(v.book is None or v.column.public for v in self.columns)

    def __getitem__(self, name: str) -> ModelVariable:
        return self.columns[self.names.index(name)]

    def features(self, frame: Mapping[str, Floats], given: Iterable[str]) -> Floats:
        """The features of the given columns side by side: (rows, p)."""
        rows = len(next(iter(frame.values())))
        parts = [self[n].features(frame[n]) for n in given]
        return np.concatenate(parts, axis=1) if parts else np.empty((rows, 0))

    def batch(self, frame: Mapping[str, Floats]) -> pa.RecordBatch:
        """A frame as values."""
        fields = pa.schema([pa.field(v.name, canonical_type(v.column)) for v in self.columns])
        return pa.RecordBatch.from_arrays([v.arrow(frame[v.name]) for v in self.columns], schema=fields)


def look(table: Table, columns: Sequence[str] | None = None) -> tuple[Variables, Frame]:
    """What the columns are, and their cells. What the schema rules out is said before data are read."""
    wanted = chosen(table.schema, columns)
    _refuse(unusable(wanted, table.schema))
    _refuse(_narrow((c.name, c.size) for c in wanted if c.kind not in _NUMBERS))
    coded = [c.name for c in wanted if c.kind not in _NUMBERS]
    books = table.codebooks(coded)
    _refuse(_narrow((b.name, b.size) for b in books.values()))
    wide = [repr(b.name) for b in books.values() if b.size > MOST_LEVELS]
    _refuse([f"more than {MOST_LEVELS} levels are too many: {listed(wide)} (leave them out)"] if wide else [])
    names = [c.name for c in wanted]
    plain = [ModelVariable(c, books.get(c.name)) for c in wanted]
    parts: list[list[Floats]] = [[] for _ in wanted]
    for batch in table.batches(names):
        for part, variable, array in zip(parts, plain, batch.columns, strict=True):
            part.append(variable.numbers(array))
    frame = {n: np.concatenate(p) if p else np.empty(0) for n, p in zip(names, parts, strict=True)}
    _refuse_data(plain, frame)
    return Variables(tuple(_scaled(v, frame[v.name]) for v in plain)), frame


def usable(table: Table, asked: Sequence[str] = ()) -> list[str]:
    """Columns a model can look at: those asked for, and all others but names, texts and very many levels."""
    plain = [
        c.name
        for c in chosen(table.schema, None)
        if c.kind not in (Kind.CODES, Kind.TEXT) and c.name not in asked
    ]
    books = table.codebooks([n for n in plain if table.schema[n].kind not in _NUMBERS])
    fit = [n for n in plain if n not in books or 2 <= books[n].size <= MOST_LEVELS]
    return [n for n in table.schema.names if n in fit or n in asked]


def _scaled(variable: ModelVariable, values: Floats) -> ModelVariable:
    if variable.book is not None:
        return variable
    filled = values[~np.isnan(values)]
    scale = float(filled.std())
    return replace(
        variable,
        gaps=bool(len(filled) < len(values)),
        centre=float(filled.mean()),
        scale=scale if scale > 0 and math.isfinite(scale) else 1.0,
    )


def _narrow(sizes: Iterable[tuple[str, int | None]]) -> list[str]:
    single = [repr(n) for n, size in sizes if size is not None and size < 2]
    return [f"a domain of one level has nothing to draw: {listed(single)}"] if single else []


def _refuse(faults: list[str]) -> None:
    if faults:
        raise SchemaError(f"{'; '.join(faults)}.", hint="correct the schema, or choose columns")


def _refuse_data(variables: Sequence[ModelVariable], frame: Frame) -> None:
    faults = []
    if not len(next(iter(frame.values()))):
        raise DataError("the table has no rows.", hint="models are learnt from rows")
    bare = [repr(v.name) for v in variables if v.empty(frame[v.name]).all()]
    if bare:
        faults.append(f"no filled cell in {listed(bare)}")
    endless = [repr(v.name) for v in variables if np.isinf(frame[v.name]).any()]
    if endless:
        faults.append(f"infinite numbers in {listed(endless)}")
    if faults:
        raise DataError(f"{'; '.join(faults)}.", hint="leave these columns out, or correct them")


def rows_of(frame: Mapping[str, Any]) -> int:
    """How many rows a frame has."""
    return len(next(iter(frame.values())))
