"""Read files, frames, databases and engines as tables, write tables, give results back as they came.

`scan` and `write` are here. Readers, by suffix (`files`): `csv` (with `heads`, `dialect`, `cells`),
`parquet`, `arrow`, `excel`, `statistical`; of what is in memory `frames`; of databases and Spark
`engines`, `addresses`, `spark`, `guests`; `file_checks` is what all ask first. Writers: `output`,
`statistical_output`, whole or not at all (`atomic`); `native` gives results back in the user's own kind of
frame. It knows files and engines; what the rows mean is for the schema.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.counts import shown_type
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning, listed, offered
from sfumato.io.addresses import is_cloud, is_url, local_path
from sfumato.io.cloud import read_cloud
from sfumato.io.csv import TextFiles
from sfumato.io.dialect import Dialect
from sfumato.io.engines import from_url
from sfumato.io.files import FORMATS, files_of, format_of, read_files, refuse
from sfumato.io.frames import from_frame
from sfumato.io.guests import guest_source
from sfumato.io.native import to_native
from sfumato.io.output import write
from sfumato.schema import Kind, Schema
from sfumato.sources import DataLike, EngineSource, Source
from sfumato.table import Table

__all__ = ["Dialect", "scan", "to_native", "write"]

_WRITTEN = ("separator", "decimal", "encoding", "date_order", "missing", "header", "units")
_SAMPLE_ROWS = 100_000
_ENGINE_SAMPLE_ROWS = 10_000  # an engine may be far away


def scan(
    data: DataLike,
    schema: Schema | str | Path | None = None,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    dates: str | None = None,
    missing: Sequence[str] | str | None = None,
    header: int | None = None,
    units: bool | None = None,
    table: str | None = None,
    sheet: str | int | None = None,
    columns: Sequence[str] | None = None,
    keep_text: bool = False,
    memory_limit: str | None = None,
) -> Table:
    """A table over data wherever it is; only its head is read now.

    data: a path, a pattern or a list of paths; a pandas, polars, Arrow, DuckDB, Ibis or Spark frame; a
        database URL with `table` (a name or a SELECT); an s3, gs, abfs or https address, which is connected
        to and copied (docs/files.md).
    schema: what the columns mean, or the path of a TOML file that says so. It names exactly the columns
        that are read. Without one the meaning is guessed from the head, and marked as a guess.
    separator, decimal, encoding, dates ("YMD", "DMY", "MDY"), missing: how text files are written; found
        by looking if not given.
    header: the line of a text file, or the row of a sheet, that holds the names, from 1; 0 if there are no
        names. Titles and comments above the names are found by looking, and said.
    units: whether the row below the names holds units and is no data; found by looking, and said.
    columns: read these only.
    keep_text: keep columns of free text, which are otherwise dropped with a warning.
    memory_limit: what counting may use before it spills to disk, such as "4GB".

    >>> import pyarrow as pa
    >>> stays = sf.scan(pa.table({"sex": ["f", "m", "f"], "days": [3, 5, 2]}))
    >>> stays
    Table(arrow; sex: flag, days: numeric)
    """
    given = Schema.read(schema) if isinstance(schema, (str, Path)) else schema
    _require_schema(given)
    several = isinstance(missing, Iterable) and not isinstance(missing, str)
    marks = missing if several or missing is None else (missing,)
    written: dict[str, Any] = {"separator": separator, "decimal": decimal, "encoding": encoding}
    written |= {"date_order": dates, "missing": None if marks is None else tuple(marks)}
    written |= {"header": header, "units": units}
    source, hints = _open(data, given, written, table, sheet)
    chosen = _chosen(source, columns)
    _require_known_types(source, chosen)
    meant = _guessed(source, chosen, hints) if given is None else _covering(given, chosen)
    if not keep_text:
        meant = _without_text(meant)
    return Table(source, meant, memory_limit)


def stored_schema(data: DataLike, *, table: str | None = None) -> pa.Schema:
    """The columns of data as they are stored, without a look at what they mean."""
    source, _ = _open(data, None, dict.fromkeys(_WRITTEN), table, None)
    return source.arrow_schema


def _require_schema(schema: object) -> None:
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError(
            f"schema is a {type(schema).__name__}.", hint="give a Schema or the path of a TOML file"
        )


# -- where the data is -----------------------------------------------------------------------------


def _open(
    data: object,
    schema: Schema | None,
    written: Mapping[str, Any],
    table: str | None,
    sheet: str | int | None,
) -> tuple[Source, Schema | None]:
    """The source, and what a file says about its columns. Options that have no meaning here are refused."""
    options = {**written, "table": table, "sheet": sheet}
    if isinstance(data, str) and is_url(data):
        if is_cloud(data):
            return read_cloud(data, schema, options)
        local = local_path(data)
        if local is None:
            refuse(options, {"table"}, "a database")
            return guest_source(data, table) or from_url(data, table), None
        data = Path(local)
    found = files_of(data)
    if found is not None:
        paths, partitions = found
        kind = format_of(paths)
        refuse(options, set(FORMATS[kind].options), f"a {FORMATS[kind].words}")
        return read_files(paths, kind, schema, options, partitions)
    refuse(options, set(), "a frame")
    source = from_frame(data)
    if source is None:
        what = type(data)
        raise DataError(
            f"data of type {what.__module__}.{what.__qualname__} cannot be read.",
            hint="give a path, a URL, or a pandas, polars, Arrow, DuckDB, Ibis or Spark frame",
        )
    return source, None


# -- what it means ---------------------------------------------------------------------------------


def _chosen(source: Source, columns: Sequence[str] | None) -> list[str]:
    names = list(source.arrow_schema.names)
    if columns is None:
        return names
    wanted = [columns] if isinstance(columns, str) else list(columns)
    unknown = [repr(name) for name in wanted if name not in names]
    if unknown or not wanted:
        raise DataError(
            f"the data has no column {listed(unknown)}." if unknown else "no column was chosen.",
            hint=offered([name for name in wanted if name not in names], names),
        )
    return list(dict.fromkeys(wanted))


def _require_known_types(source: Source, columns: Sequence[str]) -> None:
    """Refuse what no kind of column can hold: structures, bytes, durations."""
    unfit = [
        f"'{name}' ({shown_type(source.arrow_schema.field(name).type)})"
        for name in columns
        if _is_unfit(source.arrow_schema.field(name).type)
    ]
    if unfit:
        raise DataError(
            f"{len(unfit)} column{'s' * (len(unfit) > 1)} of a type without a kind: {listed(unfit)}.",
            hint="convert them, or choose others with columns=[...]",
        )


def _is_unfit(type_: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(type_):
        return _is_unfit(type_.value_type)
    if types.is_list(type_) or types.is_large_list(type_):
        return bool(types.is_nested(type_.value_type)) or _is_unfit(type_.value_type)
    tests = (
        types.is_nested, types.is_binary, types.is_large_binary, types.is_binary_view,
        types.is_fixed_size_binary, types.is_duration, types.is_interval,
    )  # fmt: skip
    return any(test(type_) for test in tests) or isinstance(type_, pa.BaseExtensionType)


def _guessed(source: Source, columns: Sequence[str], hints: Schema | None) -> Schema:
    from sfumato.inference import infer  # its word lists take a tenth of a second to load

    sample = _sample(source, columns)
    most = _ENGINE_SAMPLE_ROWS if isinstance(source, EngineSource) else _SAMPLE_ROWS
    origin = source.origin
    points = not (isinstance(origin, TextFiles) and origin.dialect.decimal == ",")
    return infer(sample, hints=hints, whole=sample.num_rows < most, points=points)


def _sample(source: Source, columns: Sequence[str]) -> pa.Table:
    """The head of the data, categories kept only where someone declared them."""
    fields = pa.schema([source.arrow_schema.field(name) for name in columns])
    if isinstance(source, EngineSource):
        head = replace(source, frame=source.frame.head(_ENGINE_SAMPLE_ROWS))
        batches = list(head.batches(columns))
    else:
        batches, rows = [], 0
        for batch in source.batches(columns):
            batches.append(batch.slice(0, _SAMPLE_ROWS - rows))
            rows += batch.num_rows
            if rows >= _SAMPLE_ROWS:
                break
    if not any(batch.num_rows for batch in batches):
        raise DataError("the data has no rows.", hint="give data with rows, or a schema")
    fields = batches[0].schema if isinstance(source, EngineSource) else fields
    sample = pa.Table.from_batches(batches, schema=fields)
    return _with_declared_categories_only(sample, source.flavour)


def _with_declared_categories_only(sample: pa.Table, flavour: str) -> pa.Table:
    """A dictionary in a file is a way to store values; in pandas, DuckDB or when ordered it is a domain."""
    if flavour in ("pandas", "duckdb"):
        return sample
    for k, field in enumerate(sample.schema):
        if pa.types.is_dictionary(field.type) and not field.type.ordered:
            sample = sample.set_column(k, field.name, sample.column(k).cast(field.type.value_type))
    return sample


def _covering(schema: Schema, columns: Sequence[str]) -> Schema:
    """The schema, if it names exactly the columns that are read; every difference at once otherwise."""
    read, named = set(columns), set(schema.names)
    unknown = [repr(name) for name in schema.names if name not in read]
    unnamed = [repr(name) for name in columns if name not in named]
    faults = []
    if unknown:
        faults.append(f"{len(unknown)} named by the schema but not read: {listed(unknown)}")
    if unnamed:
        faults.append(f"{len(unnamed)} in the data but not in the schema: {listed(unnamed)}")
    if faults:
        raise SchemaError(
            f"schema and data differ in {len(unknown) + len(unnamed)} columns: {'; '.join(faults)}.",
            hint="correct the schema; to leave columns out name those that are wanted: columns=[...]",
        )
    return schema


def _without_text(schema: Schema) -> Schema:
    text = [c.name for c in schema if c.kind is Kind.TEXT]
    if not text:
        return schema
    if len(text) == len(schema):
        raise DataError("every column is free text.", hint="say keep_text=True to keep them")
    warnings.warn(
        f"{len(text)} column{'s' * (len(text) > 1)} of free text dropped: {listed([repr(n) for n in text])}. "
        "Free text names people; keep_text=True keeps it.",
        SfumatoWarning,
        stacklevel=3,
    )
    return schema.drop(text)
