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

import pyarrow as pa
import pytest

import sfumato as sf
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


def judged(original: object, released: object) -> dict[str, float]:
    found = sf.assess(original, released, effort="quick", thresholds={"risk": 0.1}, key=sf.Key.from_seed(1))
    return {score.name: score.value for score in found.scores}


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what was opened")
@pytest.mark.parametrize("many", [False, True], ids=["held in memory", "held in a file"])
def test_a_file_is_read_a_few_times_and_never_to_count_rows(
    files: tuple[Path, Path], many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    read = BatchSource.batches

    def noted(self: BatchSource, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self.flavour == "file":
            asked.append(tuple(columns))
        return read(self, columns)

    monkeypatch.setattr(BatchSource, "batches", noted)
    monkeypatch.setattr(hold, "_CELLS", 100 if many else hold._CELLS)
    with openings(*files) as opened:
        judged(*files)
    assert opened.keys() == {"original.csv", "released.csv"} and max(opened.values()) <= 6
    assert len(asked) == 4 and set(asked) == {tuple(COLUMNS)}  # guessing what columns mean, and holding them


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what was opened")
def test_a_saved_release_is_read_a_few_times(files: tuple[Path, Path], tmp_path: Path) -> None:
    people = sf.scan(files[0]).select(["age", "sex", "cost"])
    release = sf.anonymize(
        people, sf.KAnonymity(3), method=sf.ClusterResample(), quasi_identifiers=["age", "sex"]
    )
    folder = release.save(tmp_path / "release")
    with openings(files[0], folder / "public" / "data.parquet") as opened:
        judged(files[0], folder)
    assert 1 <= opened["data.parquet"] <= 6 and 1 <= opened["original.csv"] <= 6


def test_where_rows_are_held_changes_nothing(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = judged(*files)
    monkeypatch.setattr(hold, "_CELLS", 100)
    assert judged(*files) == before
