"""Write a table by the suffix of its file: in chunks, beside the target, renamed when complete.

The same data gives the same bytes, however it was cut into batches (SPSS, Stata and SAS files hold
the time of writing: those are the exception). Nothing but the data and the schema goes into a file: no
notes of pandas or other libraries, no paths, and of the schema not the `reason` fields, which may
hold counts of the original.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.counts import canonical_type, watched
from sfumato.errors import DataError, OutputError, ParameterError, listed
from sfumato.io.atomic import atomic_directory, atomic_file, owner_only, write_text
from sfumato.io.file_checks import SCHEMA_KEY
from sfumato.io.formulas import marked
from sfumato.io.frames import from_frame
from sfumato.schema import Column, Schema
from sfumato.sources import BatchSource, EngineSource, Source, is_text
from sfumato.table import Table

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["atomic_directory", "atomic_file", "owner_only", "suffixes", "write", "write_text"]

CHUNK_ROWS = 131_072
"""Rows of a Parquet row group, and of every other chunk."""

# Formats that can say which values stand for missing, or say at least that they cannot. In the others, as in
# every release, a cell with such a value is empty.
_WITH_CODES = {".parquet", ".arrow", ".feather", ".sav", ".zsav", ".dta", ".xpt"}


@dataclass(frozen=True)
class _Options:
    """What only some formats look at."""

    delimiter: str
    escape_formulas: bool


_Writer = Callable[[Iterator[pa.Table], pa.Schema, Path, "Schema | None", _Options], None]


def write(
    data: object,
    path: str | Path,
    schema: Schema | str | Path | None = None,
    overwrite: bool = False,
    *,
    delimiter: str = ",",
    escape_formulas: bool = False,
) -> Path:
    """Write rows to a file whose suffix names the format, and give back its path.

    data: a Sfumato table, a source, an Arrow reader or iterable of batches, or any frame that `scan` reads. A
        Sfumato table whose cells lie outside a domain that its schema declares is refused.
    schema: labels, descriptions and missing codes for the formats that hold them, or the TOML file with them.
    overwrite: replace a file that exists.
    delimiter: between the cells of a CSV file, `,` or `;`.
    escape_formulas: put an apostrophe before CSV text that a spreadsheet would run as a formula.

    >>> people = sf.samples.members(100).select(["age", "sex", "cost"])
    >>> path = sf.write(people, "people.csv")
    >>> sf.scan(path).rows()
    100
    """
    path = Path(path)
    writer = _WRITERS[_suffix(path)]
    if delimiter not in (",", ";", "\t", "|"):
        raise ParameterError("the delimiter must be one of , ; | or a tab.", hint="delimiter=';'")
    if isinstance(schema, (str, Path)):
        schema = Schema.read(schema)
    allowed: Iterable[Column] = data.schema if isinstance(data, Table) else ()
    if isinstance(data, Table) and _suffix(path) in _WITH_CODES:
        schema = schema or data.schema
        data = _with_codes(data, schema)
    with atomic_file(path, overwrite) as draft:
        stored, batches, own = _stream(data, schema)
        batches = watched(batches, allowed)
        plain = _plain_schema(stored)
        meaning = schema or own
        if meaning is not None:
            meaning = Schema(tuple(c for c in meaning if c.name in plain.names))
        try:
            writer(
                _chunks(_readable(batches), plain),
                plain,
                draft,
                meaning,
                _Options(delimiter, escape_formulas),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise OutputError(
                f"{path.name}: a column holds what a {_suffix(path)} file cannot.",
                hint="write .parquet, or change the type of the column",
            ) from None
    return path


def suffixes() -> tuple[str, ...]:
    """The suffixes that can be written."""
    return tuple(_WRITERS)


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for suffix in sorted(_WRITERS, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    raise OutputError(
        f"{path.name}: the suffix names no format that can be written.",
        hint=f"one of {listed(list(_WRITERS), most=20)}",
    )


# -- rows of any origin --------------------------------------------------------------------------


def _stream(data: object, schema: Schema | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch], Schema | None]:
    """Arrow schema, batches, and the data's own Sfumato schema if it has one."""
    if isinstance(data, pa.RecordBatch):
        return data.schema, iter([data]), None
    if isinstance(data, pa.Table):
        return data.schema, iter(data.to_batches()), None
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, iter(data), None
    source = data if isinstance(data, (BatchSource, EngineSource)) else from_frame(data)
    if source is not None:
        return source.arrow_schema, source.batches(source.arrow_schema.names), None
    own = getattr(data, "schema", None)
    own = own if isinstance(own, Schema) else None
    batches = iter(data.batches() if hasattr(data, "batches") else _iterated(data))
    first = next(batches, None)
    if first is not None and not isinstance(first, pa.RecordBatch):
        raise _unknown(data)
    if first is not None:
        stored = _marked(first.schema, data.source) if isinstance(data, Table) else first.schema
        return stored, chain([first], batches), own
    known = own or schema
    if known is None:
        raise OutputError("there are no rows and no schema, so no columns.", hint="give schema=")
    return pa.schema([(c.name, canonical_type(c)) for c in known]), iter(()), own


def _with_codes(table: Table, meaning: Schema) -> Table:
    """The table with its missing codes as they stand in the source, where the file will say what they are."""
    codes = {c.name: set(c.missing_codes) - set(c.text_marks) for c in meaning}
    columns = [
        replace(c, missing_codes=tuple(v for v in c.missing_codes if v not in codes.get(c.name, ())))
        for c in table.schema
    ]
    return table.with_schema(Schema(tuple(columns)))


def _marked(schema: pa.Schema, source: Source) -> pa.Schema:
    """With what a statistical file says beyond the schema, where the column is still as it was there."""
    known = {f.name: f for f in source.arrow_schema}
    fields = [
        f.with_metadata(known[f.name].metadata) if f.name in known and known[f.name].type == f.type else f
        for f in schema
    ]
    return pa.schema(fields)


def _readable(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A failure to read the rows must not be told as a failure to write them."""
    try:
        yield from batches
    except OSError:
        raise DataError(
            "the rows to be written could not be read.", hint="check where they come from"
        ) from None


def _iterated(data: object) -> Iterable[pa.RecordBatch]:
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, dict)):
        return data
    raise _unknown(data)


def _unknown(data: object) -> OutputError:
    return OutputError(
        f"a {type(data).__name__} cannot be written.", hint="give a frame, Arrow batches or a Sfumato table"
    )


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """Without dictionaries, whose layout depends on the batches, and without anybody's notes.

    The marks of statistical files (see io/statistical.py) pass: they hold missing ranges and formats.
    """
    repeated = sorted({n for n in schema.names if schema.names.count(n) > 1})
    if repeated:
        raise OutputError(f"column names repeat: {listed([repr(n) for n in repeated])}.", hint="rename one")
    fields = []
    for field in schema:
        type_ = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        type_ = pa.string() if pa.types.is_string_view(type_) else type_
        marks = {k: v for k, v in (field.metadata or {}).items() if k.startswith(b"sfumato.")}
        fields.append(pa.field(field.name, type_, metadata=marks or None))
    return pa.schema(fields)


def _chunks(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Tables of `CHUNK_ROWS` rows, the last one shorter, whatever the batches were."""
    waiting: list[pa.Table] = []
    rows = 0
    for batch in batches:
        if batch.schema.names != schema.names:
            raise OutputError("the batches do not have the same columns.", hint="write one table at a time")
        table = pa.table(
            [_cast(c, f.type) for c, f in zip(batch.columns, schema, strict=True)], schema=schema
        )
        waiting.append(table)
        rows += table.num_rows
        while rows >= CHUNK_ROWS:
            waiting, full = _cut(waiting)
            rows -= CHUNK_ROWS
            yield full.pop()  # held by the writer alone, and only until the next one is asked for
    if rows:
        yield pa.concat_tables(waiting).combine_chunks()


def _cut(waiting: list[pa.Table]) -> tuple[list[pa.Table], list[pa.Table]]:
    """What stays, and a full chunk: a copy, so that the batches it came from can go."""
    together = pa.concat_tables(waiting)
    return [together.slice(CHUNK_ROWS)], [together.slice(0, CHUNK_ROWS).combine_chunks()]


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array if array.type == type_ else array.cast(type_)


# -- formats -------------------------------------------------------------------------------------


def _parquet(
    chunks: Iterator[pa.Table], arrow: pa.Schema, draft: Path, schema: Schema | None, options: _Options
) -> None:
    bare = pa.schema([f.remove_metadata() for f in arrow], metadata=_schema_note(arrow, schema))
    with pq.ParquetWriter(draft, bare, compression="zstd") as writer:
        for chunk in chunks:
            writer.write_table(chunk.cast(bare), row_group_size=CHUNK_ROWS)
            del chunk  # not held while the next one is gathered


def _schema_note(arrow: pa.Schema, schema: Schema | None) -> dict[bytes, bytes] | None:
    if schema is None or any(name not in schema for name in arrow.names):
        return None
    public = Schema(tuple(replace(c, reason="", confidence="") for c in schema.select(arrow.names)))
    return {SCHEMA_KEY: public.to_toml().encode("utf-8")}


def _arrow_file(
    chunks: Iterator[pa.Table], arrow: pa.Schema, draft: Path, schema: Schema | None, options: _Options
) -> None:
    bare = pa.schema([f.remove_metadata() for f in arrow], metadata=_schema_note(arrow, schema))
    settings = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(draft), "wb") as sink, pa.ipc.new_file(sink, bare, options=settings) as writer:
        for chunk in chunks:  # taken row by row: a slice would bring the bits around it along
            writer.write_table(chunk.cast(bare).take(pa.array(range(chunk.num_rows))))
            del chunk


def _csv(
    chunks: Iterator[pa.Table], arrow: pa.Schema, draft: Path, schema: Schema | None, options: _Options
) -> None:
    require_flat(arrow, draft)
    if draft.name.lower().endswith(".gz"):  # no name and no time in the header: the same bytes each time
        with open(draft, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as sink:
            _csv_rows(chunks, arrow, sink, options)
    else:
        with open(draft, "wb") as sink:
            _csv_rows(chunks, arrow, sink, options)


def _csv_rows(
    chunks: Iterator[pa.Table], arrow: pa.Schema, sink: BinaryIO | gzip.GzipFile, options: _Options
) -> None:
    empty = _as_text(arrow.empty_table(), options)
    settings = pyarrow.csv.WriteOptions(delimiter=options.delimiter, batch_size=8192)
    with pyarrow.csv.CSVWriter(sink, empty.schema, write_options=settings) as writer:
        for chunk in chunks:
            writer.write_table(_as_text(chunk, options))
            del chunk


def _as_text(table: pa.Table, options: _Options) -> pa.Table:
    """Cells as a CSV file has them: ISO instants, NaN empty; dates and numbers are right already."""
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            column = _iso(column)
        elif pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        elif options.escape_formulas and is_text(column.type):
            column = marked(column)
        if table.num_columns == 1:  # an empty line would be skipped by readers, "" is not
            column = column.cast(pa.string()).fill_null("")
        columns.append(column)
    names = table.schema.names
    if options.escape_formulas:
        names = marked(pa.array(names, pa.string())).to_pylist()
    return pa.table(columns, names=names)


def _iso(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    text = pc.replace_substring(column.cast(pa.string()), " ", "T", max_replacements=1)
    return pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")


def require_flat(arrow: pa.Schema, draft: Path) -> None:
    """Refuse columns that a cell of text or a number cannot hold, or that would come back by another name."""
    types = pa.types
    tests = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_date,
        types.is_timestamp, types.is_null, is_text,
    )  # fmt: skip
    wrong = [repr(f.name) for f in arrow if not any(test(f.type) for test in tests)]
    if wrong:
        raise OutputError(
            f"{draft.name}: {len(wrong)} column{'s' * (len(wrong) > 1)} of a type this format cannot hold: "
            f"{listed(wrong)}.",
            hint="write .parquet, or drop them",
        )
    spaced = [repr(f.name) for f in arrow if f.name != f.name.strip()]
    if spaced:
        raise OutputError(
            f"{draft.name}: {len(spaced)} column{'s' * (len(spaced) > 1)} with spaces around the name, which "
            f"readers of this format leave out: {listed(spaced)}.",
            hint="write .parquet, or take the spaces away",
        )


def _excel(
    chunks: Iterator[pa.Table], arrow: pa.Schema, draft: Path, schema: Schema | None, options: _Options
) -> None:
    from sfumato.io import excel

    require_flat(arrow, draft)
    excel.write_sheet(chunks, arrow.names, draft)


def _statistical(
    chunks: Iterator[pa.Table], arrow: pa.Schema, draft: Path, schema: Schema | None, options: _Options
) -> None:
    from sfumato.io import statistical_output

    require_flat(arrow, draft)
    table = pa.concat_tables([arrow.empty_table(), *chunks])
    statistical_output.write(table, draft, schema)


_WRITERS: dict[str, _Writer] = {
    ".parquet": _parquet, ".csv": _csv, ".csv.gz": _csv, ".xlsx": _excel, ".sav": _statistical,
    ".zsav": _statistical, ".dta": _statistical, ".xpt": _statistical, ".arrow": _arrow_file,
    ".feather": _arrow_file,
}  # fmt: skip
