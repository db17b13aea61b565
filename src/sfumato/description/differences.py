"""Where data and schema differ: everything at once, in names and numbers.

The data is counted with its domains open, and compared here, because a table that knows its declared
domain refuses at the first column that does not fit. The values themselves travel beside the words
and are shown to the person at the terminal only (`--show-values`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import Codebook, Counts, canonical
from sfumato.description.one_way import gaps, one_way, opened
from sfumato.errors import DataError, SchemaError, SfumatoWarning, listed
from sfumato.io import csv, scan
from sfumato.io.cells import clean, convert
from sfumato.io.csv import TextFiles
from sfumato.io.spark import is_spark
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.sources import BatchSource, DataLike, EngineSource, Source
from sfumato.table import Table

if TYPE_CHECKING:
    from rich.console import Group

_SHOWN = 40  # columns named in one message


@dataclass(frozen=True)
class Difference:
    """One thing that differs. note: worth knowing, but the data can be used as it is."""

    column: str
    what: str
    cells: int = 0
    note: bool = False
    values: tuple[object, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"'{self.column}' ({self.what})"


@dataclass(frozen=True)
class Differences:
    """All differences between a schema and data. schema: the name the schema goes by."""

    schema: str
    items: tuple[Difference, ...] = ()

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What has to be put right."""
        return tuple(d for d in self.items if not d.note)

    @property
    def notes(self) -> tuple[Difference, ...]:
        """What is worth knowing."""
        return tuple(d for d in self.items if d.note)

    @property
    def ok(self) -> bool:
        """Whether the data is what the schema says."""
        return not self.differences

    @property
    def values(self) -> dict[str, tuple[object, ...]]:
        """The values behind the numbers, by column: for the eyes of the person at the terminal."""
        found: dict[str, tuple[object, ...]] = {}
        for d in self.items:
            if d.values:
                found[d.column] = (*found.get(d.column, ()), *d.values)
        return found

    @property
    def message(self) -> str:
        """One sentence that names every column that differs."""
        by_column: dict[str, list[str]] = {}
        for d in self.differences:
            by_column.setdefault(d.column, []).append(d.what)
        if not by_column:
            return f"the data is what {self.schema} says."
        columns = [f"'{name}' ({', '.join(what)})" for name, what in by_column.items()]
        verb = "column differs" if len(columns) == 1 else "columns differ"
        return f"{len(columns)} {verb} from {self.schema}: {listed(columns, _SHOWN)}."

    @property
    def hint(self) -> str:
        """What to do next."""
        if self.ok:
            return ""
        extend = f"sfumato schema update {self.schema} DATA --extend"
        return f"correct the data, or the schema; {extend} takes over what the data has"

    def raise_if_any(self) -> None:
        """Raise one `SchemaError` that lists everything."""
        if not self.ok:
            raise SchemaError(self.message, hint=self.hint)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON; without the values of cells."""

        def plain(d: Difference) -> dict[str, Any]:
            return {"column": d.column, "what": d.what, "cells": d.cells}

        return {
            "schema": self.schema,
            "ok": self.ok,
            "differences": [plain(d) for d in self.differences],
            "notes": [plain(d) for d in self.notes],
        }

    def __str__(self) -> str:
        if self.ok:
            return self.message
        return f"SchemaError: {self.message} Hint: {self.hint}"

    def __rich__(self) -> Group:
        from sfumato.description.display import rich_differences

        return rich_differences(self)


def check(data: Table | Source, schema: Schema, *, name: str = "the schema") -> Differences:
    """Compare a table with a schema and list everything that differs.

    data: a table, whose own schema is not looked at, or a source. A text file should be scanned with the
    types of `schema`, so that its codes keep their leading zeros.
    name: what the schema is called in messages, usually its file name.
    """
    source = data.source if isinstance(data, Table) else data
    if not isinstance(source, (BatchSource, EngineSource)):
        raise SchemaError("only a table or a source can be checked.", hint="check(sf.scan(...), schema)")
    stored = set(source.arrow_schema.names)
    found = [Difference(c.name, "not in the data") for c in schema if c.name not in stored]
    found += [Difference(n, "not in the schema") for n in source.arrow_schema.names if n not in schema]
    common = [c for c in schema if c.name in stored]
    found += [
        Difference(c.name, "free text: left out when the data is scanned", note=True)
        for c in common
        if c.kind is Kind.TEXT
    ]
    counted_there = [c for c in common if c.kind is not Kind.TEXT and not _too_many(source, c)]
    table = Table(source, Schema(tuple(opened(c) for c in counted_there)))
    counted, refused = one_way(table)
    found += [_unreadable(source, schema[n]) for n in refused]
    for column in common:
        if column.name in counted:
            found += _compared(column, counted[column.name])
    order = {n: i for i, n in enumerate([*schema.names, *source.arrow_schema.names])}
    return Differences(name, tuple(sorted(found, key=lambda d: (d.note, order[d.column]))))


def _too_many(source: Source, column: Column) -> bool:
    """Ids of a Spark table are not fetched one by one to see whether they repeat."""
    return is_spark(source) and column.role is Role.IDENTIFIER and column.levels is None


def _unreadable(source: Source, column: Column) -> Difference:
    number = sum(_misfits(source, column))
    cells = _number(number, "cell") if number else "cells"
    return Difference(column.name, f"{cells} that cannot be read as {column.type}", number)


def _misfits(source: Source, column: Column) -> Iterator[int]:
    """How many cells cannot be read as the column's type, batch by batch."""
    if isinstance(source.origin, TextFiles):
        dialect = source.origin.dialect
        as_text = Schema((Column(column.name, Kind.NOMINAL),))
        text, _ = csv.read(
            source.origin.paths, schema=as_text, partitions=source.origin.partitions, **asdict(dialect)
        )
        for batch in text.batches([column.name]):
            cells = clean(batch.column(0), dialect, column.text_marks)
            yield convert(cells, column.type, dialect, strict=False).misfits
        return
    for batch in source.batches([column.name]):
        array = batch.column(0)
        wrong = [v for v in pc.unique(array) if not _readable(column, v)]
        if wrong:
            yield int(pc.sum(pc.is_in(array, value_set=pa.array(wrong, array.type))).as_py())


def _readable(column: Column, value: pa.Scalar) -> bool:
    try:
        canonical(opened(column), pa.array([value.as_py()], value.type))
    except DataError:
        return False
    return True


def _compared(column: Column, counts: Counts) -> Iterator[Difference]:
    """One column against what was found in it."""
    missing = gaps(counts)
    if missing and not column.missing:
        yield Difference(column.name, f"{_number(missing, 'missing cell')}, but missing = false", missing)
    elif missing and column.role is Role.PERSON:
        yield Difference(column.name, f"{_number(missing, 'row')} of no person", missing, note=True)
    if column.levels is not None:
        yield from _levels(column, counts)
    if column.edges is not None:
        yield from _edges(column, counts)
    filled = counts.n[counts.codes[:, 0] < len(counts.codebooks[0].levels)]
    if column.role is Role.IDENTIFIER and (filled > 1).any():
        repeated = int((filled > 1).sum())
        what = f"an identifier of which {_number(repeated, 'value')} repeat{'s' * (repeated == 1)}"
        yield Difference(column.name, what, int(filled[filled > 1].sum()), note=True)
    if column.role is Role.WEIGHT:
        yield from _weights(column, counts, missing)


def _levels(column: Column, counts: Counts) -> Iterator[Difference]:
    values = counts.codebooks[0].levels.to_pylist()
    cells: Counter[object] = Counter()
    for code, n in zip(counts.codes[:, 0].tolist(), counts.n.tolist(), strict=True):
        if code < len(values):
            value = values[code]
            for part in set(value.split(column.separator)) if column.kind is Kind.CODES else (value,):
                cells[part] += n
    single = replace(column, kind=Kind.NOMINAL) if column.kind is Kind.CODES else column
    try:
        declared = Codebook.declared(single).levels.to_pylist()
    except SchemaError:
        yield Difference(column.name, f"its declared levels are not all of type {column.type}, each once")
        return
    unlisted = [v for v in cells if v not in set(declared)]
    if unlisted:
        number = sum(cells[v] for v in unlisted)
        word = "unlisted code" if column.kind is Kind.CODES else "unlisted level"
        what = f"{_number(len(unlisted), word)} in {_number(number, 'cell')}"
        read = column.other is not None  # as the level for all others: worth knowing, and no fault
        what += ", read as the level for others" * read
        yield Difference(column.name, what, number, note=read, values=tuple(unlisted))
    unseen = [v for v in declared if v not in cells]
    if unseen:
        what = f"{len(unseen):,} of {_number(len(declared), 'level')} not observed"
        yield Difference(column.name, what, note=True, values=tuple(unseen))


def _edges(column: Column, counts: Counts) -> Iterator[Difference]:
    edges = column.edges or ()
    levels = counts.codebooks[0].levels
    if column.kind is Kind.NUMERIC:
        plain, ends = levels.cast(pa.float64(), safe=False), pa.array([float(e) for e in edges])  # type: ignore[arg-type]
    else:
        plain, ends = levels, pa.array(list(edges), levels.type)
    out = pc.or_(pc.less(plain, ends[0]), pc.greater(plain, ends[-1]))
    outside = np.append(out.to_numpy(zero_copy_only=False), False)[counts.codes[:, 0]].astype(bool)
    if outside.any():
        number = int(counts.n[outside].sum())
        what = f"{_number(number, 'cell')} outside the edges" + ", clamped" * column.clamp
        values = tuple(levels.take(pa.array(counts.codes[outside, 0])).to_pylist())
        yield Difference(column.name, what, number, note=column.clamp, values=values)


def _weights(column: Column, counts: Counts, missing: int) -> Iterator[Difference]:
    values = counts.codebooks[0].levels.to_pylist()
    negative = sum(
        n for code, n in zip(counts.codes[:, 0].tolist(), counts.n.tolist(), strict=True)
        if code < len(values) and values[code] < 0
    )  # fmt: skip
    if negative or (missing and column.missing):
        number = negative + (missing if column.missing else 0)
        yield Difference(column.name, f"{_number(number, 'missing or negative weight')}", number)


def _number(n: int, word: str) -> str:
    """'1 cell', '1,204 cells'."""
    return f"{n:,} {word}{'s' * (n != 1)}"


def scan_as(data: DataLike, schema: Schema | None, **options: Any) -> Table:
    """The data with the types of the schema where it names a column, and guesses for the rest.

    To compare the two, neither may refuse the other.

    All columns are kept, free text too; names of the schema that the data lacks are left out.
    """
    guessed = scan(data, keep_text=True, **options)
    if schema is None or not any(name in guessed.schema for name in schema.names):
        return guessed
    known = {c.name: c for c in schema}
    merged = Schema(tuple(known.get(c.name, c) for c in guessed.schema))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)  # said at the first look
        return scan(data, merged, keep_text=True, **options)
