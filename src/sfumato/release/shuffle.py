"""The order of rows gives people away: files are sorted by name, by ward, by day. So it is drawn anew.

Guarantee: every order of the rows is equally likely to whoever does not hold the key.
Because:   each row is sent to a part by a word of its own, and parts are put in the order of a second
           word; both come from the release's secret key (ties in 64 bits aside).
Limits:    a table of up to `_WHOLE` rows is permuted in memory. A larger one goes through parts on disk,
           in a folder only its owner can enter, removed at the end: as much space as the release takes and
           8 bytes a row, and the memory of one part. With a seed, whoever guesses it can undo the order.
Tested by: tests/anonymization/test_writing.py::test_rows_are_shuffled_alike_in_memory_and_on_disk
"""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato._system import permissions
from sfumato.seeds import Key, bounded

_WHOLE = 1_048_576  # rows up to which all are permuted in memory
_PART = 262_144  # rows of a part on disk, about
_CHUNK = 65_536


def shuffled(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int, key: Key, whole: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The same rows in an order that hangs on the key alone. rows: how many there are, or more."""
    whole = _WHOLE if whole is None else whole
    if rows <= whole:
        table = pa.Table.from_batches(list(batches), schema)
        yield from _permuted(table, _words(key, 0, table.num_rows)[:, 1])
        return
    folder = Path(tempfile.mkdtemp(prefix="sfumato-"))
    try:
        permissions.set_mode(folder, stat.S_IRWXU)
        parts = -(-rows // min(whole, _PART))
        yield from _read_back(_scatter(batches, schema, folder, parts, key))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _words(key: Key, first: int, rows: int) -> NDArray[np.uint64]:
    """(rows, 2): one word for the part, one for the place in it."""
    return key.words(0, first, rows, 2).reshape(rows, 2)


def _permuted(table: pa.Table, words: NDArray[np.uint64]) -> Iterator[pa.RecordBatch]:
    order = np.argsort(words, kind="stable")
    for start in range(0, table.num_rows, _CHUNK):
        part = table.take(pa.array(order[start : start + _CHUNK]))
        yield from part.combine_chunks().to_batches()


def _scatter(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, folder: Path, parts: int, key: Key
) -> list[Path]:
    """Rows to their parts, with the words for the places inside in a file beside each."""
    paths = [folder / f"{i:05d}.arrow" for i in range(parts)]
    writers: list[pa.ipc.RecordBatchFileWriter] = []
    first = 0
    try:
        for path in paths:
            writers.append(pa.ipc.new_file(str(path), schema))
        for batch in _gathered(batches, schema):
            words = _words(key, first, batch.num_rows)
            first += batch.num_rows
            part = bounded(words[:, 0], parts)
            order = np.argsort(part, kind="stable")
            ends = np.searchsorted(part[order], np.arange(parts + 1))
            ordered = batch.take(pa.array(order))
            for i in np.flatnonzero(np.diff(ends)):
                writers[i].write_table(ordered.slice(ends[i], ends[i + 1] - ends[i]).combine_chunks())
                with _places(paths[i]).open("ab") as file:
                    file.write(words[order[ends[i] : ends[i + 1]], 1].tobytes())
    finally:
        for writer in writers:
            writer.close()
    return paths


def _places(path: Path) -> Path:
    return path.with_suffix(".places")


def _gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Enough rows at once for each part to get many: small pieces are slow to write."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        if held >= 4 * _CHUNK:
            yield pa.Table.from_batches(waiting, schema)
            waiting, held = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


def _read_back(parts: list[Path]) -> Iterator[pa.RecordBatch]:
    for path in parts:
        places = _places(path)
        words = np.fromfile(places, np.uint64) if places.exists() else np.empty(0, np.uint64)
        with pa.OSFile(str(path), "rb") as file:
            table = pa.ipc.open_file(file).read_all()
        path.unlink()
        places.unlink(missing_ok=True)
        yield from _permuted(table, words)
