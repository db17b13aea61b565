"""Whole files or none: full disks, read-only disks, Ctrl-C; and the same bytes for the same data."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cli_support import PATIENCE

from sfumato.errors import DataError, OutputError, ParameterError
from sfumato.io import output
from sfumato.io.atomic import atomic_file, explained

SMALL = pa.table({"a": [1, 2, None], "b": ["x", None, "z"]})


SUFFIXES = output.suffixes()


def a_few_of(*suffixes: str) -> list[Any]:
    """All write through the same code: an ordinary run tries one of rows, of columns, of statistics."""
    usual = (".csv", ".parquet", ".sav")
    return [pytest.param(s, marks=() if s in usual else pytest.mark.soak) for s in suffixes]


# Every format, written until the disk or the limit says no; prints the error or "written".
FILL = """
import os, sys, pyarrow as pa, numpy as np
from sfumato.errors import OutputError
from sfumato.io import output
target = sys.argv[1]
words = np.random.default_rng(1).integers(0, 2**52, 30_000)
data = pa.table({"n": words, "t": [f"{w:x}" for w in words]})
try:
    output.write(data, target, overwrite=True)
    print("written")
except OutputError as error:
    print(error)
"""


def in_private_mount(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount: what it mounts is seen by nobody else and goes with it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed")
    spaces = [unshare, "--map-root-user", "--mount"]
    if subprocess.run([*spaces, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True).returncode:
        pytest.skip("this system does not let a test mount")
    return subprocess.run([*spaces, "sh", "-c", script, "sh", *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("suffix", a_few_of(*(s for s in SUFFIXES if s not in (".feather", ".zsav"))))
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    script = """
    mount -t tmpfs -o size=256k none "$1" && printf old > "$1/t$2"
    "$3" -c "$4" "$1/t$2"; ls -A "$1"; cat "$1/t$2"
    """
    done = in_private_mount(script, str(tmp_path), suffix, sys.executable, FILL)
    lines = done.stdout.splitlines()
    assert "the disk is full" in lines[0] and "free some space" in lines[0], done.stdout + done.stderr
    assert lines[1:] == [f"t{suffix}", "old"]
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr, done.stderr


@pytest.mark.parametrize("suffix", a_few_of(".parquet", ".csv", ".sav", ".xpt"))
def test_a_file_size_limit_is_explained(tmp_path: Path, suffix: str) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n" + FILL
    done = subprocess.run(
        [sys.executable, "-c", limited, str(tmp_path / f"t{suffix}")], capture_output=True, text=True
    )
    assert "beyond what is allowed" in done.stdout, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_disk_is_explained(tmp_path: Path) -> None:
    script = """
    mount -t tmpfs none "$1" && printf old > "$1/t.csv" && mount -o remount,ro "$1"
    "$2" -c "$3" "$1/t.csv"; ls -A "$1"; cat "$1/t.csv"
    """
    done = in_private_mount(script, str(tmp_path), sys.executable, FILL)
    lines = done.stdout.splitlines()
    assert "the disk is read-only" in lines[0], done.stdout + done.stderr
    assert lines[1:] == ["t.csv", "old"]


def test_a_directory_without_permission_is_explained(tmp_path: Path) -> None:
    program = [sys.executable, "-c", FILL, str(tmp_path / "t.csv")]
    if os.geteuid() == 0:  # root may write anywhere, unless that power is taken away
        if shutil.which("setpriv") is None:
            pytest.skip("root may write anywhere, and setpriv is not installed")
        program = ["setpriv", "--bounding-set=-dac_override", *program]
    tmp_path.chmod(0o500)
    try:
        done = subprocess.run(program, capture_output=True, text=True)
    finally:
        tmp_path.chmod(0o700)
    assert "permission is denied" in done.stdout, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


INTERRUPTED = """
import itertools, sys, pyarrow as pa
from sfumato.io import output
output.CHUNK_ROWS = 16_384
batch = pa.record_batch({"n": list(range(16_384)), "t": ["abcdef"] * 16_384})
def endless():
    for i in itertools.count():
        if i == 2:  # a chunk has been written
            print("writing", flush=True)
        yield batch
output.write(endless(), sys.argv[1], overwrite=True)
"""


@pytest.mark.parametrize("suffix", a_few_of(".parquet", ".csv", ".csv.gz", ".xlsx", ".arrow"))
def test_ctrl_c_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"t{suffix}"
    target.write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(target)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as writer:  # fmt: skip
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "writing\n"
            assert len(list(tmp_path.iterdir())) == 2, "the draft lies beside"
            time.sleep(0.1)
            writer.send_signal(signal.SIGINT)
            _, words = writer.communicate(timeout=PATIENCE)
        finally:
            writer.kill()  # it would write without end
    assert writer.returncode != 0 and words.rstrip().endswith("KeyboardInterrupt"), words
    assert [p.name for p in tmp_path.iterdir()] == [target.name] and target.read_text() == "old"


class Stopped(KeyboardInterrupt):
    """Ctrl-C from inside."""


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("fault", [Stopped, RuntimeError])
def test_any_failure_of_the_data_leaves_nothing(tmp_path: Path, suffix: str, fault: type) -> None:
    def batches() -> Any:
        yield SMALL.to_batches()[0]
        raise fault

    with pytest.raises(fault):
        output.write(batches(), tmp_path / f"t{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_to_read_is_not_told_as_a_failure_to_write(tmp_path: Path) -> None:
    def batches() -> Any:
        yield SMALL.to_batches()[0]
        raise OSError(errno.EACCES, "Permission denied", "/somewhere/else")

    with pytest.raises(DataError, match="could not be read"):
        output.write(batches(), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


# -- refusals ------------------------------------------------------------------------------------


def test_paths_that_cannot_be_written_are_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.csv").write_text("old")
    for path, words in (
        ("missing/t.csv", "directory does not exist.*make the directory"),
        ("file/t.csv", "part of the path is a file"),
        ("file/deeper/t.csv", "part of the path is a file"),
        ("folder.csv", "it is a directory"),
        ("there.csv", "exists already.*overwrite=True"),
        ("t.txt", "suffix names no format.*parquet"),
        ("x" * 300 + ".csv", "name is too long"),
    ):
        with pytest.raises(OutputError, match=words):
            output.write(SMALL, tmp_path / path)
    assert (tmp_path / "there.csv").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EFBIG, errno.EDQUOT, 9999])
def test_every_system_error_has_a_hint_and_no_path(code: int) -> None:
    error = explained(OSError(code, "x", "somebody/t.csv"), Path("somebody/t.csv"))
    assert error.hint and "somebody" not in str(error)


def test_a_file_that_comes_up_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "t.csv"

    def batches() -> Any:
        yield SMALL.to_batches()[0]
        target.write_text("somebody else's")

    with pytest.raises(OutputError, match="exists already"):
        output.write(batches(), target)
    assert target.read_text() == "somebody else's" and len(list(tmp_path.iterdir())) == 1


def test_overwriting_keeps_the_mode_and_follows_a_link(tmp_path: Path) -> None:
    output.write(SMALL, tmp_path / "t.csv")
    output.owner_only(tmp_path / "t.csv")
    (tmp_path / "link.csv").symlink_to("t.csv")
    output.write(SMALL.slice(0, 1), tmp_path / "link.csv", overwrite=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o600
    assert (tmp_path / "t.csv").read_text().count("\n") == 2


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    other = pa.record_batch({"other": [1]})
    for data, words in (
        (42, "a int cannot be written"),
        ([], "no rows and no schema"),
        ([SMALL.to_batches()[0], other], "same columns"),
        (pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]), "names repeat: 'a'"),
        ([1, 2], "a list cannot be written"),
    ):
        with pytest.raises(OutputError, match=words):
            output.write(data, tmp_path / "t.parquet")
    with pytest.raises(OutputError, match="'a'"):
        output.write(pa.table({"a": [[1]]}), tmp_path / "t.csv")
    for name in ("t.csv", "t.xlsx"):
        with pytest.raises(OutputError, match=r"spaces around the name.*' a'"):
            output.write(pa.table({" a": [1]}), tmp_path / name)
    with pytest.raises(ParameterError, match="delimiter"):
        output.write(SMALL, tmp_path / "t.csv", delimiter="x")
    assert list(tmp_path.iterdir()) == []


# -- directories and small files -----------------------------------------------------------------


def test_a_directory_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "release"
    with output.atomic_directory(target) as draft:
        (draft / "public").mkdir()
        (draft / "public" / "a.txt").write_text("a")
        assert not target.exists() and draft.parent.name.startswith(".release.")
    assert (target / "public" / "a.txt").read_text() == "a"
    with pytest.raises(OutputError, match="exists already"), output.atomic_directory(target):
        pass
    for fault in (Stopped, RuntimeError):
        with pytest.raises(fault), output.atomic_directory(target, overwrite=True) as draft:
            (draft / "b.txt").write_text("b")
            raise fault
    assert [p.name for p in tmp_path.iterdir()] == ["release"] and (target / "public").exists()
    with output.atomic_directory(target, overwrite=True) as draft:
        (draft / "b.txt").write_text("b")
    assert [p.name for p in target.iterdir()] == ["b.txt"] and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("steps", [1, 2])
def test_ctrl_c_between_the_renames_loses_no_directory(tmp_path: Path, monkeypatch: Any, steps: int) -> None:
    target, rename, done = tmp_path / "out", os.rename, []
    target.mkdir()
    (target / "version").write_text("old")

    def interrupted(source: Path, destination: Path) -> None:
        rename(source, destination)
        done.append(source)
        if len(done) == steps:
            raise Stopped

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(Stopped), output.atomic_directory(target, overwrite=True) as draft:
        (draft / "version").write_text("new")
    assert (target / "version").read_text() == ("old" if steps == 1 else "new")
    assert list(tmp_path.iterdir()) == [target]


def test_precious_directories_and_files_are_not_replaced(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "work" / "deep").mkdir(parents=True)
    (tmp_path / "file").write_text("old")
    monkeypatch.chdir(tmp_path / "work" / "deep")
    for path in (tmp_path / "work", Path(), Path.home()):
        with pytest.raises(OutputError, match="not replaced"), output.atomic_directory(path, overwrite=True):
            pass
    with (
        pytest.raises(OutputError, match="is a file"),
        output.atomic_directory(tmp_path / "file", overwrite=True),
    ):
        pass
    with pytest.raises(OutputError, match="does not exist"), output.atomic_directory(tmp_path / "no" / "x"):
        pass
    assert (tmp_path / "work" / "deep").is_dir() and (tmp_path / "file").read_text() == "old"


def test_errors_inside_the_block_are_explained(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="the disk is full"), atomic_file(tmp_path / "t") as draft:
        draft.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_text_files_and_private_ones(tmp_path: Path) -> None:
    path = output.write_text(tmp_path / "t.txt", "é\r\n", private=True)
    assert path.read_bytes() == "é\r\n".encode() and stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)  # what was there before was for everyone: what comes now is not
    output.write_text(path, "secret", overwrite=True, private=True)
    assert path.read_text() == "secret" and stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(OutputError, match="exists already"):
        output.write_text(path, "other")
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_text("x")
    output.owner_only(tmp_path / "d")
    modes = [stat.S_IMODE((tmp_path / p).stat().st_mode) for p in ("d", "d/e", "d/e/f")]
    assert modes == [0o700, 0o700, 0o600]
    with pytest.raises(OutputError, match="does not exist"):
        output.owner_only(tmp_path / "nothing")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_what_was_written_is_not_held(tmp_path: Path, suffix: str) -> None:
    """While rows are asked for, no more than the chunk that is being gathered is in memory."""
    held, start, rows = [], pa.total_allocated_bytes(), output.CHUNK_ROWS // 4

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(14):
            held.append(pa.total_allocated_bytes() - start)
            column = pa.nulls(rows, pa.float64()).fill_null(float(i))
            yield pa.record_batch({f"x{j}": pc.add(column, float(j)) for j in range(8)})

    output.write(batches(), tmp_path / f"x{suffix}")
    assert max(held) < 1.7 * 4 * rows * 8 * 8  # a chunk gathered from four batches, and a batch more
