"""Rows that are asked many questions: held in memory, or in a file of their own that is mapped.

To read a text file takes as long each time as the first time. Held, it is read once, however long it is.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import pyarrow as pa
import pyarrow.ipc

from sfumato.io.frames import in_memory
from sfumato.sources import BatchSource

_CELLS = 5_000_000  # of rows that are held in memory
_TOUCHED = 1 << 26  # bytes of the mapped file that readings leave in memory
_Open = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]


def held(source: BatchSource, columns: Sequence[str]) -> BatchSource:
    """The named columns of the same rows, where reading them again costs little. They are read once, now.

    Few rows are held in memory; many in a temporary file, which has no name that others could open it by and
    is gone with the process. Where the disk has no room for it the rows stay where they are, counted.
    """
    kept: list[pa.RecordBatch] = []
    coming, rows = source.batches(columns), 0
    for batch in coming:
        kept.append(batch)
        rows += batch.num_rows
        if rows * len(columns) > _CELLS:
            break
    else:
        return in_memory(pa.Table.from_batches(kept), "arrow", None) if kept else source
    rows, file = _written(chain(kept, coming), kept[0].schema)
    if file is None:
        return replace(source, rows=rows)
    return BatchSource(kept[0].schema, _mapped(file), "arrow", rows)


def _written(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> tuple[int, mmap.mmap | None]:
    """How many rows there are, and where: nowhere if the disk is full, when the rest is only counted."""
    rows, full = 0, False
    try:
        file = tempfile.TemporaryFile(prefix="sfumato-")  # noqa: SIM115  (closed below, on a full disk too)
        writer = pa.ipc.new_stream(file, schema)
    except OSError:
        return sum(batch.num_rows for batch in batches), None
    for batch in batches:  # what is wrong with them is no fault of the disk, and is told
        rows += batch.num_rows
        try:
            _ = full or writer.write_batch(batch)
        except (OSError, pa.ArrowInvalid):
            full = True
    try:
        with file:
            writer.close()
            file.flush()
            mapped = None if full else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError:
        return rows, None
    return rows, mapped


def _mapped(file: mmap.mmap) -> _Open:
    """Batches of a mapped file. What was looked at is given back to the system: it may be more than fits."""
    forget = getattr(mmap, "MADV_DONTNEED", None)  # not on every system
    touched = 0  # over all readings: single columns are read, thousands of times

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        nonlocal touched
        for batch in pa.ipc.open_stream(pa.py_buffer(file)):
            found = batch.select(list(columns))
            touched += found.nbytes
            yield found
            if touched > _TOUCHED and forget is not None:
                file.madvise(forget)
                touched = 0

    return open_
