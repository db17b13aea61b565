"""Every bad input ends with exit code 2, one message, one hint, nothing written, and no cell shown."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import CANARY, PATIENCE, Answer, Sfumato, environment, everything, process

SCHEMA = '[columns.sex]\nkind = "nominal"\n[columns.dx]\nkind = "nominal"\n'


def refused(answer: Answer, *words: str) -> None:
    assert answer.code == 2, answer.all
    assert "Hint: " in answer.err
    assert "Error: " in answer.err and "fault of its own" not in answer.err
    assert "Traceback" not in answer.all
    assert CANARY not in answer.all
    assert not answer.out
    for word in words:
        assert word in answer.err


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def binary(folder: Path) -> Path:
    path = folder / "in.csv"
    path.write_bytes(bytes(range(256)) * 20 + CANARY.encode())
    return path


def latin(folder: Path) -> Path:
    path = folder / "in.csv"
    path.write_bytes(b"sex,dx\n" + f"F,{CANARY}-\xe9\nM,b\n".encode("latin-1") * 20)
    return path


def folder_of_files(folder: Path) -> Path:
    (folder / "in.csv").mkdir()
    return folder / "in.csv"


BAD: dict[str, tuple[Callable[[Path], Path], tuple[str, ...], str]] = {
    "missing file": (lambda f: f / "in.csv", (), "no file in.csv"),
    "no match": (lambda f: f / "in-*.csv", (), "no file matches"),
    "directory": (folder_of_files, (), "directory"),
    "binary": (binary, (), "binary"),
    "wrong encoding": (latin, ("--encoding", "utf-8"), "utf-8"),
    "unknown encoding": (latin, ("--encoding", "klingon"), "encoding"),
    "ragged rows": (
        lambda f: write(f / "in.csv", f"sex,dx\nF,a\nM\nF,{CANARY},{CANARY}\n"),
        (),
        "2 rows",
    ),
    "repeated names": (lambda f: write(f / "in.csv", f"sex,sex\nF,{CANARY}\n"), (), "'sex'"),
    "no rows": (lambda f: write(f / "in.csv", "sex,dx\n"), (), "no rows"),
    "empty": (lambda f: write(f / "in.csv", ""), (), "empty"),
    "unclosed quote": (
        lambda f: write(f / "in.csv", f'sex,dx\nF,"{CANARY}\nM,b\n'),
        (),
        "in.csv",
    ),
    "not a parquet file": (
        lambda f: write(f / "in.parquet", f"PAR1{CANARY * 99}PAR1"),
        (),
        "in.parquet",
    ),
    "separator and decimal alike": (
        lambda f: write(f / "in.csv", f"sex;dx\nF;{CANARY}\n"),
        ("--separator", ",", "--decimal", ","),
        "differ",
    ),
}


@pytest.mark.parametrize("command", ["describe", "convert", "schema update", "pseudonymize", "counts"])
@pytest.mark.parametrize("name", BAD)
def test_bad_data(name: str, command: str, tmp_path: Path, sfumato: Sfumato) -> None:
    make, options, words = BAD[name]
    data = make(tmp_path)
    arguments: dict[str, tuple[object, ...]] = {
        "describe": ("describe", data),
        "convert": ("convert", data, "new.parquet"),
        "schema update": ("schema", "update", "new.toml", data),
        "pseudonymize": ("pseudonymize", data, "--out", "new"),
        "counts": ("counts", data, "sex", "--out", "new.csv"),
    }
    before = everything(tmp_path)
    refused(sfumato(*arguments[command], *options), words)
    assert everything(tmp_path) == before


def test_a_schema_naming_unknown_columns(visits: Path, sfumato: Sfumato) -> None:
    write(visits.with_name("s.toml"), SCHEMA + '[columns.ghost]\nkind = "nominal"\n')
    for command in ("describe", "convert"):
        more = ["new.parquet"] if command == "convert" else []
        refused(sfumato(command, visits, *more, "--schema", "s.toml"), "'ghost'")
    assert not visits.with_name("new.parquet").exists()


@pytest.mark.parametrize(
    "text", ["not toml [", "x = 1", '[columns.sex]\nkind = "strange"\n', '[columns.sex]\nrole = "x"\n']
)
def test_a_schema_that_is_none(text: str, visits: Path, sfumato: Sfumato) -> None:
    write(visits.with_name("s.toml"), text)
    refused(sfumato("describe", visits, "--schema", "s.toml"), "s.toml")
    refused(sfumato("schema", "check", "s.toml", visits), "s.toml")
    refused(sfumato("schema", "update", "s.toml", visits), "s.toml")
    assert visits.with_name("s.toml").read_text() == text


def test_values_outside_a_declared_domain(visits: Path, sfumato: Sfumato) -> None:
    levels = ", ".join(f'"D{i}"' for i in range(5))
    write(visits.with_name("s.toml"), f'[columns.dx]\nkind = "nominal"\nlevels = [{levels}]\n')
    before = everything(visits.parent)
    refused(sfumato("counts", visits, "dx", "--schema", "s.toml", "--out", "new.csv"), "'dx'", "1 cell")
    checked = sfumato("schema", "check", "s.toml", visits)
    assert checked.code == 1 and "1 unlisted level in 1 cell" in checked.out
    assert CANARY not in checked.all
    assert everything(visits.parent) == before


def test_wrong_use_is_exit_code_2(visits: Path, sfumato: Sfumato) -> None:
    for arguments in (
        ["describe"],
        ["nonsense"],
        ["describe", visits, "--nonsense"],
        ["sample", "discharges", "0", "--out", "x.csv"],
        ["sample", "nonsense", "5", "--out", "x.csv"],
        ["pseudonymize", visits],
        ["counts", visits],
    ):
        answer = sfumato(*arguments)
        assert answer.code == 2 and "Traceback" not in answer.all
    assert everything(visits.parent) == {"visits.csv"}


def test_things_that_are_not_releases_or_ledgers(visits: Path, sfumato: Sfumato) -> None:
    refused(sfumato("verify", visits.parent))
    refused(sfumato("verify", "nowhere"))
    refused(sfumato("ledger", "show", visits))
    refused(sfumato("ledger", "show", "nowhere.ledger"))
    assert everything(visits.parent) == {"visits.csv"}


def test_options_that_mean_nothing_for_the_data(visits: Path, sfumato: Sfumato) -> None:
    refused(sfumato("describe", visits, "--sheet", "1"), "sheet")


# -- targets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [("convert", "visits.csv"), ("counts", "visits.csv", "sex", "--out"), ("sample", "members", 9, "--out")],
)
def test_unwritable_targets(arguments: tuple[object, ...], visits: Path, sfumato: Sfumato) -> None:
    (visits.parent / "there.csv").mkdir()
    before = everything(visits.parent)
    refused(sfumato(*arguments, "visits.csv"), "visits.csv")  # exists, and may be the data itself
    refused(sfumato(*arguments, "there.csv"), "directory")
    refused(sfumato(*arguments, "visits.csv/new.csv"), "not a directory")
    refused(sfumato(*arguments, "nowhere/new.csv"), "does not exist")
    refused(sfumato(*arguments, "new.strange"), "suffix")
    assert everything(visits.parent) == before


def test_a_release_is_not_written_over_other_things(visits: Path, sfumato: Sfumato) -> None:
    (visits.parent / "mine").mkdir()
    write(visits.parent / "mine" / "letter.txt", "dear")
    for more in ([], ["--overwrite"]):
        refused(sfumato("pseudonymize", visits, "--out", "mine", *more), "mine")
    assert everything(visits.parent) == {"visits.csv", "mine", "mine/letter.txt"}


@pytest.mark.parametrize("command", [("pseudonymize",), ("anonymize", "--k", 5, "--hierarchies", "h")])
def test_a_place_that_cannot_be_is_refused_before_the_data_is_read(
    command: tuple[object, ...], tmp_path: Path, sfumato: Sfumato
) -> None:
    name, *more = command
    for place, words in (("nowhere/new", "does not exist"), (".", "is there")):
        write(tmp_path / "letter.txt", "dear")
        refused(sfumato(name, "no-such-data.csv", "--out", place, *more), words)


def test_a_file_that_may_not_grow(visits: Path) -> None:
    """The same path through the code as a full disk, on every system."""
    before = everything(visits.parent)
    limited = ("sh", "-c", 'ulimit -f 8; exec "$@"', "sh")
    answer = process("sample", "discharges", 20_000, "--out", "new.csv", cwd=visits.parent, before=limited)
    refused(answer, "new.csv")
    assert everything(visits.parent) == before


def mounted(folder: Path, options: str, *arguments: object) -> tuple[Answer, str]:
    """A command whose folder `disk` is a small disk of its own; also what is on that disk afterwards."""
    apart = ("unshare", "--user", "--map-root-user", "--mount")
    disk = folder / "disk"
    disk.mkdir()
    probe = [*apart, "mount", "-t", "tmpfs", "tmpfs", str(disk)]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a disk of their own")
    script = f'mount -t tmpfs -o {options} tmpfs disk; "$@"; code=$?; ls -A disk > after.txt; exit $code'
    answer = process(*arguments, cwd=folder, before=(*apart, "sh", "-c", script, "sh"))
    return answer, (folder / "after.txt").read_text()


@pytest.mark.parametrize("target", ["new.csv", "new.parquet"])
def test_a_full_disk(target: str, tmp_path: Path) -> None:
    answer, after = mounted(tmp_path, "size=64k", "sample", "discharges", 20_000, "--out", f"disk/{target}")
    refused(answer, "the disk is full")
    assert after == ""


def test_a_full_disk_under_a_release(visits: Path) -> None:
    answer, after = mounted(visits.parent, "size=8k", "pseudonymize", visits.name, "--out", "disk/new")
    refused(answer, "the disk is full")
    assert after == ""


def test_a_disk_that_is_read_only(tmp_path: Path) -> None:
    answer, _ = mounted(tmp_path, "ro", "sample", "members", 50, "--out", "disk/new.csv")
    refused(answer, "read-only")


# -- Ctrl-C ----------------------------------------------------------------------------------------


def interrupted(folder: Path, *arguments: object, when: Callable[[], bool], sign: signal.Signals) -> Answer:
    """Start a command and send it a signal as soon as `when` holds."""
    command = [sys.executable, "-m", "sfumato", *map(str, arguments)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=folder
    )
    deadline = time.monotonic() + PATIENCE
    while not when() and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    running.send_signal(sign)
    out, err = running.communicate(timeout=PATIENCE)
    return Answer(running.returncode, out, err)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_half_way_leaves_nothing_behind(sign: signal.Signals, tmp_path: Path) -> None:
    data = tmp_path / "long.csv"
    block = "".join(f"F,{i % 90},{CANARY},{i}\n" for i in range(20_000))
    with data.open("w") as file:
        file.write("sex,age,dx,n\n")
        for _ in range(150):
            file.write(block)
    before = everything(tmp_path)
    half_way = lambda: any(p.name.startswith(".") for p in tmp_path.iterdir())  # noqa: E731
    answer = interrupted(tmp_path, "convert", data.name, "new.csv", when=half_way, sign=sign)
    assert answer.code == 130, answer.all
    assert "stopped; nothing was written" in answer.err
    assert "Traceback" not in answer.all and CANARY not in answer.all
    assert everything(tmp_path) == before


def test_a_reader_that_has_seen_enough_is_no_error(visits: Path) -> None:
    read, write_end = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "describe", visits.name],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=visits.parent,
    )
    os.close(write_end)
    assert done.returncode == 141 and done.stderr == ""
