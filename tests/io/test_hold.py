"""Rows that are held are the same rows, wherever they are held."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from sfumato.io import hold
from sfumato.sources import BatchSource

BATCHES = [
    pa.record_batch({"n": pa.array(range(k, k + 50)), "word": pa.array(words * 25).dictionary_encode()})
    for k, words in ((0, ["a", "b"]), (50, ["c", None]), (100, ["b", "a"]))  # another dictionary each time
]
SOURCE = BatchSource(BATCHES[0].schema, lambda columns: (b.select(list(columns)) for b in BATCHES))


def cells(source: BatchSource, columns: Sequence[str] = ("n", "word")) -> list[dict[str, object]]:
    return [row for batch in source.batches(columns) for row in batch.to_pylist()]


@pytest.mark.parametrize("most", [0, 60, 10**6])
def test_the_rows_are_the_same(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "_CELLS", most)
    monkeypatch.setattr(hold, "_TOUCHED", 64)  # given back after each batch
    found = hold.held(SOURCE, ("n", "word"))
    assert found.rows == 150 and found.arrow_schema == SOURCE.arrow_schema
    assert cells(found) == cells(SOURCE) == cells(found)
    assert cells(found, ("word",)) == cells(SOURCE, ("word",))


def test_they_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = []

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        readings.append(columns)
        yield from BATCHES

    monkeypatch.setattr(hold, "_CELLS", 10)
    found = hold.held(BatchSource(SOURCE.arrow_schema, open_), ("n", "word"))
    cells(found), cells(found)
    assert len(readings) == 1


def test_nothing_is_held_of_no_rows() -> None:
    empty = BatchSource(SOURCE.arrow_schema, lambda columns: iter(()))
    assert hold.held(empty, ("n",)) is empty


@pytest.mark.skipif(sys.platform == "win32", reason="the limit is POSIX's")
def test_rows_stay_where_they_are_if_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(hold, "_CELLS", 10)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        found = hold.held(SOURCE, ("n", "word"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert found.rows == 150 and found.flavour == "file" and cells(found) == cells(SOURCE)
