"""A table: a source with a schema. It answers counts, sums and rows, wherever the data lives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import Codebook, Coded, Counts, Survey, canonical, canonical_type, shown_type, type_name
from sfumato.counts import accumulator as counting
from sfumato.counts.tables import check_set, checked_sets
from sfumato.counts.tally import Tally
from sfumato.errors import DataError, ParameterError, SchemaError, listed
from sfumato.progress import track
from sfumato.schema import Column, Kind, Schema
from sfumato.sources import BatchSource, EngineSource, Source

if TYPE_CHECKING:
    from sfumato.counts.moments import CrossProducts, Sums

_BATCH = 65_536
_SIZE = re.compile(  # as DuckDB reads it
    r"\s*\d+(\.\d+)?\s*([kmgt]i?b|[kmgt]|b|((kilo|mega|giga|tera)?bytes?)|%)\s*", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and what they mean. Lazy: nothing is read before it is asked for, and only codebooks are kept.

    memory_limit: for counts of many cells, how much memory DuckDB may use before it spills to disk.

    >>> people = sf.samples.members(100).select(["age", "sex"])
    >>> people
    Table(arrow; age: numeric, sex: nominal)
    >>> people.counts("sex").total
    100
    >>> people.head(2).to_pylist()
    [{'age': 46, 'sex': 'female'}, {'age': 22, 'sex': 'female'}]
    """

    source: Source
    schema: Schema
    memory_limit: str | None = None
    _books: dict[str, Codebook] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.memory_limit is not None and not _SIZE.fullmatch(str(self.memory_limit)):
            raise ParameterError("memory_limit is not a size.", hint="such as '2GB' or '500MB'")
        stored = set(self.source.arrow_schema.names)
        unknown = [repr(n) for n in self.schema.names if n not in stored]
        if unknown:
            raise SchemaError(
                f"the schema names {len(unknown)} column{'s' * (len(unknown) > 1)} the data does not have: "
                f"{listed(unknown)}.",
                hint=f"the data has {listed([repr(n) for n in self.source.arrow_schema.names])}",
            )

    @classmethod
    def from_arrow(cls, table: pa.Table, schema: Schema | None = None) -> Table:
        """An Arrow table in memory; without a schema every column is what its type says."""
        if schema is None:
            schema = Schema(tuple(plain_column(f) for f in table.schema))

        def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            yield from table.select(list(columns)).to_batches(max_chunksize=1_048_576)

        return cls(BatchSource(table.schema, open_, "arrow", table.num_rows, table), schema)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.schema.names

    def rows(self) -> int:
        """How many rows there are; reads the data only if nobody knows."""
        if isinstance(self.source, EngineSource):
            from sfumato.counts import pushdown

            return pushdown.rows(self.source)
        known = self.source.known_rows()
        if known is not None:
            return known
        return sum(b.num_rows for b in self.source.batches(self.columns[:1]))

    def __repr__(self) -> str:
        kinds = ", ".join(f"{c.name}: {c.kind}" for c in self.schema.columns[:6])
        more = f", {len(self.columns) - 6} more" if len(self.columns) > 6 else ""
        return f"Table({self.source.flavour}; {kinds}{more})"

    def _repr_html_(self) -> str:
        """The columns and what they mean; no cell, as notebooks are kept and passed on."""
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(c.name)}</td><td>{c.kind}</td><td>{c.role}</td><td>{c.type}</td></tr>"
            for c in self.schema
        )
        head = "<tr><th>column</th><th>kind</th><th>role</th><th>type</th></tr>"
        caption = f"<caption>Table ({escape(self.source.flavour)}, {len(self.columns)} columns)</caption>"
        return f"<table>{caption}<thead>{head}</thead><tbody>{rows}</tbody></table>"

    def select(self, names: Iterable[str]) -> Table:
        """The named columns only."""
        return replace(self, schema=self.schema.select(names))

    def drop(self, names: Iterable[str]) -> Table:
        """All columns but the named ones."""
        return replace(self, schema=self.schema.drop(names))

    def with_schema(self, schema: Schema) -> Table:
        """The same rows under another schema."""
        return replace(self, schema=schema, _books={})

    def with_source(self, source: Source) -> Table:
        """Other rows of the same columns; levels that were found in the old ones are forgotten."""
        return replace(self, source=source, _books={})

    def with_codebooks(self, books: Iterable[Codebook], *, beside: Sequence[str] = ()) -> Table:
        """The same rows in exactly these codes, whatever the schema declares.

        The columns are those the codebooks describe, and those named in `beside` as they are.
        """
        given = {book.name: book for book in books}
        columns = [*(book.column for book in given.values()), *(self.schema[n] for n in beside)]
        return replace(self, schema=Schema(tuple(columns)), _books=given)

    # -- rows ------------------------------------------------------------------------------------

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in canonical form: one kind of missing, one type per kind of value."""
        names = list(self.columns if columns is None else columns)
        self.schema.require(names)
        described = [self.schema[n] for n in names]
        fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in described])
        for batch in self._raw(names, "reading"):
            arrays = [canonical(c, batch.column(i)) for i, c in enumerate(described)]
            yield pa.RecordBatch.from_arrays(arrays, schema=fields)

    def to_arrow(self) -> pa.Table:
        """All rows in memory, in canonical form."""
        fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in self.schema])
        return pa.Table.from_batches(list(self.batches()), schema=fields)

    def head(self, rows: int = 10) -> pa.Table:
        """The first rows."""
        if rows < 0:
            raise ParameterError("a head has no rows before the first.", hint="head(10)")
        kept: list[pa.RecordBatch] = []
        for batch in self.batches():
            kept.append(batch.slice(0, rows - sum(b.num_rows for b in kept)))
            if sum(b.num_rows for b in kept) >= rows:
                break
        fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in self.schema])
        return pa.Table.from_batches(kept, schema=fields)

    def _raw(self, names: Sequence[str], label: str) -> Iterator[pa.RecordBatch]:
        total = self.source.known_rows() if isinstance(self.source, BatchSource) else None
        return track(self.source.batches(names), label, total)

    # -- codes -----------------------------------------------------------------------------------

    def codebooks(self, columns: Sequence[str]) -> dict[str, Codebook]:
        """The codes of the named columns: from the schema, or else from one look at the data."""
        self.schema.require(columns)
        open_ = []
        for name in columns:
            column = self.schema[name]
            if name in self._books:
                continue
            if column.declared and column.kind is not Kind.CODES:
                self._books[name] = Codebook.declared(column)
            else:
                open_.append(column)
        if open_:
            for column, values in zip(open_, self._distinct(open_), strict=True):
                self._books[column.name] = _inferred(column, values)
        return {name: self._books[name] for name in columns}

    def _distinct(self, columns: Sequence[Column]) -> list[pa.Array]:
        """The canonical values that occur, column by column."""
        if isinstance(self.source, EngineSource):
            from sfumato.counts import pushdown

            found_there = pushdown.distinct(self.source, [c.name for c in columns])
            return [canonical(c, values) for c, values in zip(columns, found_there, strict=True)]
        found: list[list[pa.Array]] = [[] for _ in columns]
        for batch in self._raw([c.name for c in columns], "looking for levels"):
            for i, column in enumerate(columns):
                array = batch.column(i)
                if pa.types.is_dictionary(array.type):
                    array = array.dictionary.take(pc.unique(array.indices))
                found[i].append(pc.unique(canonical(column, array)))
                if sum(map(len, found[i][1:])) > max(len(found[i][0]), _BATCH):  # merge before it grows
                    found[i] = [pc.unique(pa.concat_arrays(found[i]))]
        return [
            pa.concat_arrays(f) if f else pa.array([], canonical_type(c))
            for f, c in zip(found, columns, strict=True)
        ]

    def encode(self, columns: Sequence[str] | None = None) -> Coded:
        """The named columns as codes in memory."""
        names = tuple(self.columns if columns is None else columns)
        books = self.codebooks(names)
        parts = [codes for codes, _ in self._matrices(names, books, None)]
        width = np.result_type(np.uint8, *[b.dtype for b in books.values()])
        codes = np.concatenate(parts, axis=1) if parts else np.empty((len(names), 0), width)
        return Coded(tuple(books.values()), codes)

    def _matrices(
        self, names: Sequence[str], books: dict[str, Codebook], weight: Column | None
    ) -> Iterator[counting.Matrix]:
        from sfumato.counts import pushdown

        wanted = [*names, weight.name] if weight else list(names)
        ordered = [books[n] for n in names]
        enough = max((b.wanted_rows for b in ordered), default=0)
        for batch in _gathered(self._raw(wanted, "counting"), enough):
            weights = pushdown.batch_weights(weight, batch.column(len(names))) if weight else None
            yield counting.encode_batch(batch, ordered), weights

    # -- counts ----------------------------------------------------------------------------------

    def counts(self, *columns: str, weight: str | None = None) -> Counts:
        """How many rows have each combination of levels of the named columns."""
        return self.tabulate([columns], weight=weight)[columns]

    def tabulate(
        self, sets: Iterable[Sequence[str]], *, weight: str | None = None
    ) -> dict[tuple[str, ...], Counts]:
        """Many joint counts at once: the planner covers them by few passes (see docs/counts.md)."""
        wanted = checked_sets(sets, self.columns)
        if not wanted:
            raise ParameterError("no set of columns was named.", hint="tabulate([('sex', 'age'), ...])")
        books = self.codebooks(list(dict.fromkeys(c for s in wanted for c in s)))
        weigh = self._weight(weight)
        if isinstance(self.source, EngineSource):
            from sfumato.counts import pushdown

            return pushdown.tabulate(self.source, wanted, books, weigh)

        def matrices(names: Sequence[str]) -> Iterator[counting.Matrix]:
            return self._matrices(names, books, weigh)

        return counting.tabulate(
            wanted, books, matrices, weighted=weigh is not None, memory_limit=self.memory_limit
        )

    def one_way(self, columns: Sequence[str] | None = None) -> dict[str, Counts]:
        """The counts of each column by itself, over the values that occur: one pass, no domain needed."""
        names = list(self.columns if columns is None else columns)
        check_set(names, self.columns)
        if isinstance(self.source, EngineSource):
            return {s[0]: counts for s, counts in self.tabulate([(n,) for n in names]).items()}
        tallies = [Tally(self.schema[n]) for n in names]
        for batch in self._raw(names, "counting"):
            for tally, array in zip(tallies, batch.columns, strict=True):
                tally.add(array)
        return {name: tally.counts() for name, tally in zip(names, tallies, strict=True)}

    def survey(self, columns: Sequence[str] | None = None, *, most_bytes: int = 2**29) -> Survey:
        """What occurs in each column, and the rows in a form that any codebook can encode: one reading.

        most_bytes: what the rows may take up; with 0 they are only counted. Rows of an engine stay there.
        """
        names = list(self.columns if columns is None else columns)
        check_set(names, self.columns)
        found = Survey([self.schema[n] for n in names], most_bytes)
        for batch in self._raw(names, "reading"):
            found.add(batch)
        return found

    def cross_products(self, columns: Sequence[str], *, weight: str | None = None) -> CrossProducts:
        """X'X of the named numeric columns with a constant, over complete rows: `CrossProducts`."""
        from sfumato.counts import moments

        described = self._numeric(columns)
        weigh = self._weight(weight)
        if isinstance(self.source, EngineSource):
            return moments.cross_products_of_engine(self.source, described, weigh)
        names = [*columns, weight] if weight else list(columns)
        return moments.cross_products_of_batches(self._raw(names, "summing"), described, weigh)

    def sums(self, *by: str, of: Sequence[str], weight: str | None = None) -> Sums:
        """Sums of numeric columns and the number of complete rows, per group: `Sums`."""
        from sfumato.counts import moments

        described = self._numeric(of)
        check_set(by, self.columns)
        books = list(self.codebooks(by).values())
        weigh = self._weight(weight)
        if isinstance(self.source, EngineSource):
            return moments.sums_of_engine(self.source, described, books, weigh)
        names = [*of, *by, weight] if weight else [*of, *by]
        return moments.sums_of_batches(self._raw(names, "summing"), described, books, weigh)

    def _numeric(self, columns: Sequence[str]) -> list[Column]:
        from sfumato.counts import moments

        check_set(columns, self.columns)
        described = [self.schema[c] for c in columns]
        moments.require_numeric(described)
        return described

    def _weight(self, name: str | None) -> Column | None:
        if name is None:
            return None
        column = self.schema[name]
        if column.kind is not Kind.NUMERIC:
            raise ParameterError(f"weight column '{name}' is not numeric.", hint="name a numeric column")
        return column


def _gathered(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches joined until they have at least so many rows, unless their dictionaries are too many."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= rows:
            yield from _joined(waiting)
            waiting = []
    yield from _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    try:
        return [pa.concat_batches(batches)]
    except pa.ArrowInvalid:  # all their categories together outnumber what, say, 8 bits can count
        return batches


def plain_column(stored: pa.Field) -> Column:
    """What a column is when only its Arrow type is known."""
    name = type_name(stored.type)
    kind = {"integer": Kind.NUMERIC, "real": Kind.NUMERIC, "decimal": Kind.NUMERIC, "boolean": Kind.FLAG}.get(
        name
    )
    if kind is None:
        kind = Kind.NOMINAL if name == "text" else Kind.DATE
    return Column(stored.name, kind, type=name, reason=f"its type is {shown_type(stored.type)}")


def _inferred(column: Column, values: pa.Array) -> Codebook:
    """A codebook of what was found; declared single codes bound what a cell of codes may hold."""
    book = Codebook.of_values(column, values)
    if column.kind is Kind.CODES and column.levels is not None:
        known = {str(v) for v in column.levels}
        outside = {c for cell in book.levels.to_pylist() for c in cell.split(column.separator)} - known
        if outside:
            raise DataError(
                f"column '{column.name}': {len(outside)} codes outside the declared domain.",
                hint="extend the levels in the schema",
            )
    return book
