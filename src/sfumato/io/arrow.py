"""Arrow files (.arrow, .feather), in either of their two forms: batches as they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from sfumato.errors import DataError
from sfumato.io import file_checks
from sfumato.schema import Schema
from sfumato.sources import BatchSource

_BATCH = 262_144
_FILE_MARK = b"ARROW1"


def read(paths: Sequence[Path]) -> tuple[BatchSource, Schema | None]:
    """Files of the same columns as one source, and the schema they carry if Sfumato wrote it."""
    file_checks.require_files(paths)
    same = file_checks.require_same(paths)
    files = [file_checks.StoredColumns(path, _schema(path)) for path in paths]
    file_checks.require_same_columns(files)
    fields = file_checks.common_schema(files)

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([fields.field(name) for name in columns])
        for path in paths if columns else ():
            for batch in _batches(path, wanted):
                for first in range(0, batch.num_rows, _BATCH):
                    yield batch.slice(first, _BATCH)

    source = BatchSource(fields, open_, origin=tuple(paths), require_same=same)
    return source, file_checks.stored_schema(files)


def _schema(path: Path) -> pa.Schema:
    with pa.OSFile(str(path)) as file:
        try:
            schema = _reader(file).schema
        except (pa.ArrowException, OSError, ValueError):
            raise _damaged(path) from None
    file_checks.require_names(schema.names, path.name)
    return schema


def _reader(
    file: pa.NativeFile, positions: list[int] | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    """The form with a table of contents, or the one that is read from front to back."""
    options = pa.ipc.IpcReadOptions(included_fields=positions)
    has_contents = file.read(len(_FILE_MARK)) == _FILE_MARK
    file.seek(0)
    open_ = pa.ipc.open_file if has_contents else pa.ipc.open_stream
    return open_(file, options=options)


def _batches(path: Path, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The wanted columns. Arrow's own words are left out, for they may quote what they stumbled over."""
    try:
        with pa.OSFile(str(path)) as file:
            names = _reader(file).schema.names
            file.seek(0)
            reader = _reader(file, sorted(names.index(name) for name in wanted.names))
            number = getattr(reader, "num_record_batches", None)
            for batch in reader if number is None else map(reader.get_batch, range(number)):
                batch.validate(full=True)  # a damaged index would lead out of its dictionary
                arrays = [file_checks.as_type(batch.column(field.name), field.type) for field in wanted]
                yield pa.RecordBatch.from_arrays(arrays, schema=wanted)
    except (pa.ArrowException, OSError, ValueError):
        raise _damaged(path) from None


def _damaged(path: Path) -> DataError:
    return DataError(
        f"{path.name} is not an Arrow file, or is damaged or cut short.",
        hint="copy it again from where it came",
    )
