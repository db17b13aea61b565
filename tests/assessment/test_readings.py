"""An assessment reads a file a few times, to understand it and to hold it, and never to count its rows."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.subject import Subject, open_files
from sfumato.io import hold
from sfumato.sources import BatchSource

_OPENED, _CLOSED = 0x20, 0x10 | 0x8  # of Linux: opened; closed after reading, after writing
_EVENT = struct.Struct("iIII")
COLUMNS = ["age", "sex", "region", "insurance", "cost"]


@contextmanager
def openings(*paths: Path) -> Iterator[Counter[str]]:
    """How often files are opened, by whatever part of the process: the system says it."""
    system = ctypes.CDLL(None, use_errno=True)
    queue = system.inotify_init1(os.O_NONBLOCK)
    watched = {system.inotify_add_watch(queue, bytes(p), _OPENED | _CLOSED): p.name for p in paths}
    assert queue >= 0 and min(watched) >= 0
    found: Counter[str] = Counter()
    try:
        yield found
        events, at = os.read(queue, 1 << 20), 0
        while at < len(events):
            watch, mask, _, length = _EVENT.unpack_from(events, at)
            found[watched[watch]] += bool(mask & _OPENED)
            at += _EVENT.size + length
    finally:
        os.close(queue)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("readings")
    first, second = (sf.samples.members(400, seed=seed).select(COLUMNS) for seed in (1, 2))
    return sf.write(first, folder / "original.csv"), sf.write(second, folder / "released.csv")


def judged(original: object, released: object, **more: Any) -> dict[str, float]:
    asked = {"effort": "quick", "thresholds": {"risk": 0.1}, "key": sf.Key.from_seed(1), **more}
    found = sf.assess(original, released, **asked)
    return {score.name: score.value for score in found.scores}


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what was opened")
def test_a_file_is_read_a_few_times_and_never_to_count_rows(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    read = BatchSource.batches

    def noted(self: BatchSource, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self.flavour == "file":
            asked.append(tuple(columns))
        return read(self, columns)

    monkeypatch.setattr(BatchSource, "batches", noted)
    found = []
    for cells in (hold._CELLS, 100):  # held in memory, and in a file
        monkeypatch.setattr(hold, "_CELLS", cells)
        with openings(*files) as opened:
            found.append(judged(*files))
        assert opened.keys() == {"original.csv", "released.csv"} and max(opened.values()) <= 6
        assert len(asked) == 4 and set(asked) == {tuple(COLUMNS)}  # guessing what columns mean, holding them
        asked.clear()
    assert found[0] == found[1]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what was opened")
def test_a_saved_release_is_read_a_few_times(files: tuple[Path, Path], tmp_path: Path) -> None:
    people = sf.scan(files[0]).select(["age", "sex", "cost"])
    release = sf.anonymize(
        people, sf.KAnonymity(3), method=sf.ClusterResample(), quasi_identifiers=["age", "sex"]
    )
    folder = release.save(tmp_path / "release")
    with openings(files[0], folder / "public" / "data.parquet") as opened:
        judged(files[0], folder)
    assert opened["data.parquet"] == 2 and 1 <= opened["original.csv"] <= 6  # what it holds, and its rows


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what was opened")
def test_a_control_and_earlier_people_are_read_no_more_often(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    control = sf.write(sf.samples.members(400, seed=3).select(COLUMNS), tmp_path / "control.csv")
    before = sf.write(sf.samples.members(300, seed=1).select(COLUMNS), tmp_path / "before.csv")
    with openings(*files, control, before) as opened:
        found = judged(*files, control=control, earlier=[(before, files[1])], scope="limits")
    assert set(opened) == {"original.csv", "released.csv", "control.csv", "before.csv"}
    assert max(opened["original.csv"], opened["control.csv"], opened["before.csv"]) <= 6
    assert opened["released.csv"] <= 12  # it was given twice
    tables = [sf.scan(path) for path in (*files, control, before)]
    again = judged(*tables[:2], control=tables[2], earlier=[(tables[3], tables[1])], scope="limits")
    assert again == found


def test_a_control_that_reads_otherwise_is_read_as_the_original(tmp_path: Path) -> None:
    cells = {"code": ["007", "012", "x1", "007"] * 30, "age": [30, 40, 50, 60] * 30}
    original = sf.write(pa.table(cells), tmp_path / "original.csv")
    numbers = {**cells, "code": [7, 12, 13, 7] * 30}  # without a letter a column of numbers
    for name, found in (("control", numbers), ("released", cells)):
        sf.write(pa.table(found), tmp_path / f"{name}.csv")
    files = open_files(
        Subject(
            original=original,
            released=tmp_path / "released.csv",
            control=tmp_path / "control.csv",
            quasi_identifiers=["code"],
        )
    )
    assert files.control is not None
    assert files.control.to_arrow()["code"].to_pylist()[:3] == ["7", "12", "13"]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_rows_are_remembered_while_a_file_is_the_same(suffix: str, tmp_path: Path) -> None:
    path = sf.write(sf.samples.members(50, seed=1), tmp_path / f"people.{suffix}")
    table = sf.scan(path)
    readings = []
    read = BatchSource.batches

    def noted(self: BatchSource, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        readings.append(self)
        return read(self, columns)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchSource, "batches", noted)
        levels = table.counts("sex").total
        assert [table.rows(), table.select(["age"]).rows(), levels] == [50] * 3
        assert len(readings) <= 2  # for levels, where nobody declared them, and to count; none for rows
    sf.write(sf.samples.members(60, seed=1), path, overwrite=True)
    for ask in (table.to_arrow, lambda: table.counts("sex")):
        with pytest.raises(sf.DataError, match=rf"people.{suffix} has changed since it was opened"):
            ask()
    assert sf.scan(path).rows() == 60


def test_a_file_that_changes_while_it_is_read_is_noticed(files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(files[0].read_bytes())
    batches = sf.scan(path).batches()
    next(batches)
    with path.open("a") as file:
        file.write("40,female,north,none,100\n")
    with pytest.raises(sf.DataError, match="has changed since it was opened"):
        list(batches)
