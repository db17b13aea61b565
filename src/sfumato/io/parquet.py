"""Parquet: the hot path. Row groups are streamed, only the wanted columns, the next batch while you work.

Memory does not grow with the file or with its row groups: column chunks are read through small
buffers and given out in batches. Text columns that the file keeps as dictionaries stay dictionaries,
which is several times faster than spelling every cell; columns of all-different text are left as
text, because building a dictionary of them is several times slower.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Full, Queue

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import DataError, listed
from sfumato.io import file_checks
from sfumato.io.partitions import NO_PARTITIONS, Partitions, table_files
from sfumato.schema import Schema
from sfumato.sources import BatchSource, is_text

BATCH_ROWS = 131_072
_BATCH_BYTES = 8 << 20  # wide rows come in smaller batches: several are held at a time
_BUFFER_BYTES = 1 << 20  # without it, Arrow holds every column chunk of a row group whole
_AHEAD = 2  # batches decoded while the consumer works


@dataclass(frozen=True)
class _File(file_checks.StoredColumns):
    """What the footer of a file says."""

    metadata: pq.FileMetaData


def read(paths: Sequence[Path], partitions: Partitions = NO_PARTITIONS) -> tuple[BatchSource, Schema | None]:
    """Files of the same columns as one source, and the schema they carry if Sfumato wrote it.

    partitions: columns that the names of their folders hold.
    """
    found = [file for path in paths for file in _files(Path(path))]
    same = file_checks.require_same(found)
    files = [_footer(file) for file in found]
    if not files:
        raise DataError("no Parquet file was given.", hint="check the path or the pattern")
    file_checks.require_same_columns(files)
    dictionaries = _worth_a_dictionary(files)
    schema = partitions.widened(_as_read(files, dictionaries))
    source = BatchSource(
        arrow_schema=schema,
        open=lambda columns: _open(files, dictionaries, list(columns), partitions),
        rows=sum(file.metadata.num_rows for file in files),
        origin=tuple(file.path for file in files),
        require_same=same,
    )
    return source, None if partitions.fields else file_checks.stored_schema(files)


def _files(path: Path) -> list[Path]:
    """A file, or the part files of a folder in the order of their names, as Spark writes them."""
    if not path.is_dir():
        return [path]
    found = table_files(path, (".parquet", ".pq"))
    if not found:
        raise DataError(f"the folder {path.name} holds no Parquet file.", hint="name a file, or its folder")
    return found


# -- footers -------------------------------------------------------------------------------------


def _footer(path: Path) -> _File:
    with _parquet_file(path) as file:
        file_checks.require_names(file.schema_arrow.names, path.name)
        return _File(path, file.schema_arrow, file.metadata)


def _parquet_file(path: Path, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a file; Arrow's own words are left out, for they may quote what they stumbled over."""
    try:
        return pq.ParquetFile(
            path, read_dictionary=list(dictionaries), buffer_size=_BUFFER_BYTES, pre_buffer=False
        )
    except (pa.ArrowException, OSError, ValueError):
        file_checks.require_files([path])
        raise DataError(
            f"{path.name} is not a Parquet file, or is damaged or cut short.",
            hint="copy it again from where it came",
        ) from None


def _worth_a_dictionary(files: Sequence[_File]) -> list[str]:
    """Text columns stored as dictionaries throughout.

    Plain text takes at least four bytes for the length of each cell, so less than that for an
    average cell shows that the writer did not give the dictionary up half-way.
    """
    sizes: dict[str, int] = {}
    cells: dict[str, int] = {}
    plain: set[str] = set()
    text = {f.name for f in files[0].schema if all(is_text(file.schema.field(f.name).type) for file in files)}
    for file in files:
        positions = _text_positions(file, text)
        for g in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(g)
            for name, i in positions.items():
                chunk = group.column(i)
                sizes[name] = sizes.get(name, 0) + chunk.total_uncompressed_size
                cells[name] = cells.get(name, 0) + chunk.num_values
                if not chunk.has_dictionary_page and chunk.num_values:
                    plain.add(name)
    return [n for n in files[0].schema.names if n in sizes and n not in plain and sizes[n] < 4 * cells[n]]


def _text_positions(file: _File, text: set[str]) -> dict[str, int]:
    """Where the text columns are among the leaves of the file."""
    leaves = file.metadata.schema
    positions = {leaves.column(i).path: i for i in range(len(leaves))}
    return {name: positions[name] for name in text if name in positions}


def _as_read(files: Sequence[_File], dictionaries: Sequence[str]) -> pa.Schema:
    """The stored types, text in dictionaries marked as such; what the writer noted is left out."""
    in_dictionary = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            f.with_type(in_dictionary) if f.name in dictionaries else f
            for f in file_checks.common_schema(files)
        ]
    )


# -- rows ----------------------------------------------------------------------------------------


def _open(
    files: Sequence[_File], dictionaries: list[str], columns: list[str], partitions: Partitions
) -> Iterator[pa.RecordBatch]:
    known = [*files[0].schema.names, *partitions.names]
    unknown = [repr(name) for name in columns if name not in known]
    if unknown:
        raise DataError(
            f"{files[0].path.name} has no column {listed(unknown)}.",
            hint=f"it has {listed([repr(n) for n in known])}",
        )
    if not columns:
        return iter(())
    wanted = _as_read(files, dictionaries)
    inside = partitions.stored(columns) or files[0].schema.names[:1]  # one of them counts the rows
    schema = pa.schema([wanted.field(name) for name in inside])
    rows = sum(file.metadata.num_rows for file in files)
    batches = _decode(files, dictionaries, schema, partitions, columns)
    return batches if rows <= BATCH_ROWS else _ahead(batches)


def _decode(
    files: Sequence[_File],
    dictionaries: list[str],
    schema: pa.Schema,
    partitions: Partitions,
    columns: list[str],
) -> Generator[pa.RecordBatch, None, None]:
    for file in files:
        done = 0
        with _parquet_file(file.path, dictionaries) as opened:
            if opened.metadata.num_rows != file.metadata.num_rows or not opened.schema_arrow.equals(
                _with_dictionaries(file.schema, opened.schema_arrow)
            ):
                raise DataError(
                    f"{file.path.name} changed since it was opened.", hint="scan it again once it is complete"
                )
            try:
                for batch in opened.iter_batches(
                    batch_size=_batch_rows(file), columns=schema.names, use_threads=True
                ):
                    ordered = _ordered(batch, schema)
                    yield partitions.filled(ordered, file.path, columns) if partitions.fields else ordered
                    done += batch.num_rows
            except (pa.ArrowException, OSError, ValueError, MemoryError):
                raise DataError(
                    f"{file.path.name} cannot be decoded after row {done}: it is damaged.",
                    hint="copy it again from where it came",
                ) from None


def _with_dictionaries(stored: pa.Schema, opened: pa.Schema) -> pa.Schema:
    """The stored schema with those fields taken over that only differ by being read as dictionaries."""
    if stored.names != opened.names:
        return stored
    fields = [
        o if is_text(s.type) and pa.types.is_dictionary(o.type) else s
        for s, o in zip(stored, opened, strict=True)
    ]
    return pa.schema(fields)


def _ordered(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns in the order asked for; structs whose leaves share a name with a column fall away."""
    arrays = [batch.column(batch.schema.get_field_index(name)) for name in schema.names]
    fitting = [file_checks.as_type(a, f.type) for a, f in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(fitting, schema=schema)


def _batch_rows(file: _File) -> int:
    metadata = file.metadata
    size = sum(metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups))
    width = max(1, size // max(1, metadata.num_rows))
    return int(min(BATCH_ROWS, max(1024, _BATCH_BYTES // width)))


def _ahead(batches: Generator[pa.RecordBatch, None, None]) -> Iterator[pa.RecordBatch]:
    """Decode in a second thread while the consumer works; at most `_AHEAD` batches wait."""
    waiting: Queue[pa.RecordBatch | BaseException | None] = Queue(_AHEAD)
    stop = threading.Event()

    def put(item: pa.RecordBatch | BaseException | None) -> None:
        while not stop.is_set():
            try:
                return waiting.put(item, timeout=0.05)
            except Full:
                continue

    def work() -> None:
        try:
            for batch in batches:
                put(batch)
                if stop.is_set():
                    return
            put(None)
        except BaseException as error:  # handed to the consumer, which raises it
            put(error)
        finally:
            batches.close()

    thread = threading.Thread(target=work, name="sfumato-parquet", daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        while True:
            try:
                waiting.get_nowait()
            except Empty:
                break
        thread.join()
