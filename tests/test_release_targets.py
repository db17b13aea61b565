"""Where a release is written: what is there already, breaks off, or cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from releases import released

from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.release import Release, verify
from sfumato.sources import BatchSource
from sfumato.table import Table


def _bursting(error: BaseException) -> Release:
    """A release whose data breaks off after its first batch."""
    whole = released()

    def open_(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from whole.data.source.batches(names)
        raise error

    source = BatchSource(whole.data.source.arrow_schema, open_)
    return replace(whole, data=Table(source, whole.schema))


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), DataError("broken"), MemoryError(), OSError(28, "full")]
)
def test_nothing_is_left_when_it_breaks_off(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(DataError if isinstance(error, OSError) else type(error)):
        _bursting(error).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_old_release_stays_when_the_new_one_breaks_off(tmp_path: Path) -> None:
    old = released()
    old.save(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        _bursting(KeyboardInterrupt()).save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == old
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_existing_release_is_replaced_only_if_asked(tmp_path: Path) -> None:
    released().save(tmp_path / "out")
    new = released()
    with pytest.raises(OutputError, match="exists") as caught:
        new.save(tmp_path / "out")
    assert "overwrite=True" in caught.value.hint
    new.save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == new


def test_a_release_can_replace_the_one_it_was_loaded_from(tmp_path: Path) -> None:
    old = released()
    Release.load(old.save(tmp_path / "out")).save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == old


def test_overwrite_never_deletes_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").write_text("work of years")
    with pytest.raises(OutputError, match="not a release"):
        released().save(tmp_path / "thesis", overwrite=True)
    assert (tmp_path / "thesis" / "chapter1").exists()
    both = released().save(tmp_path / "both")
    (both / "chapter2").write_text("work of a month")
    with pytest.raises(OutputError, match="more than a release"):
        released().save(both, overwrite=True)
    assert (both / "chapter2").exists() and verify(both).ok


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_target_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="permission"):
            released().save(tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("room", [200, 1_500])
def test_a_disk_without_room_leaves_nothing(tmp_path: Path, room: int) -> None:
    """The system itself refuses to write on: first within the data, then after it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(OutputError, match="could not be written") as caught:
            released().save(tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.hint and list(tmp_path.iterdir()) == []


def test_a_target_below_a_file_or_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for target in (tmp_path / "file" / "out", tmp_path / "no" / "such" / "out", tmp_path / "file"):
        with pytest.raises(OutputError):
            released().save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_an_unknown_format_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="format must be one of parquet"):
        _bursting(AssertionError()).save(tmp_path / "out", format="pdf")


def test_loading_what_is_no_release_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no release in"):
        Release.load(tmp_path)
    target = released().save(tmp_path / "out")
    (target / "public" / "guarantee.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match="guarantee"):
        Release.load(target)
    (target / "public" / "manifest.json").write_text('{"files": {}, "data": "../../secret.parquet"}')
    with pytest.raises(DataError, match="outside"):
        Release.load(target)


def test_a_public_part_alone_does_not_replace_a_release_with_its_keys(tmp_path: Path) -> None:
    released().save(tmp_path / "out")
    whole = Release.load(tmp_path / "out")
    with pytest.raises(OutputError, match="internal record"):
        replace(whole, internal=None).save(tmp_path / "out", overwrite=True)
    assert Release.load(tmp_path / "out") == whole
