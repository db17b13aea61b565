"""Damaged files: each is a table that can be counted, or an error of ours with a hint and no cell in it."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import SfumatoError, SfumatoWarning

CANARY = "zebra7319"
HEADER = "sex,age,dx,day,charge,note"
ROW = "{sex},{age},{dx},2020-01-{day:02},{charge:.2f},{note}"
SCHEMA = """\
[columns.sex]
kind = "flag"
levels = ["F", "M"]
[columns.age]
kind = "numeric"
type = "integer"
edges = [0, 20, 40, 200]
missing_codes = [-9]
[columns.dx]
kind = "nominal"
labels = { zebra7319 = "rare", a = "common" }
[columns.day]
kind = "date"
edges = [2020-01-01, 2020-02-01]
[columns.charge]
kind = "numeric"
[columns.note]
kind = "codes"
"""
SNIPPETS = [
    b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n\r\n", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf",
    b"\xff\xfe", b"NaN", b"1e999", b"0x1F", b"9" * 30, b"-0", b"2020-02-31", b"0000-00-00", b"+99:99",
    b"true", b"=[[", b"]", b"{", b"}", b"#", b"nan", b"inf", b" ", b"\xe2\x80\xa8", b"\\",
]  # fmt: skip


def plain_csv(rng: random.Random) -> bytes:
    """A sound file whose rare values must not show."""
    rows = [
        ROW.format(
            sex=rng.choice("FM"), age=rng.randrange(100), dx=rng.choice([CANARY, "a", "b"]),
            day=rng.randrange(1, 29), charge=rng.random() * 1e4, note=rng.choice([f"a;{CANARY}", "b", ""]),
        )
        for _ in range(rng.randrange(1, 40))
    ]  # fmt: skip
    return "\n".join([HEADER, *rows, ""]).encode()


def damaged(data: bytes, rng: random.Random, first: int = 0) -> bytes:
    """A few bytes cut out, put in, doubled or turned, from the byte `first` on."""
    out = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(first, len(out) + 1)
        end = min(len(out), at + rng.randrange(1, 20))
        change = rng.randrange(4)
        if change == 0:
            del out[at:end]
        elif change == 1:
            out[at:at] = rng.choice(SNIPPETS)
        elif change == 2:
            out[at:at] = out[at:end]
        elif at < len(out):
            out[at] = rng.randrange(256)
    return bytes(out)


def check(folder: Path, case: int) -> None:
    """Names of columns may be shown, so the header stays whole where cells could slip into it."""
    rng = random.Random(case)
    data, schema = plain_csv(rng), folder / "schema.toml"
    path = folder / rng.choice(["data.csv", "data.csv", "data.csv.gz"])
    path.write_bytes(damaged(data, rng, len(HEADER) + 1) if case % 3 else data)
    schema.write_bytes(SCHEMA.encode() if case % 3 else damaged(SCHEMA.encode(), rng))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SfumatoWarning)
        try:
            table = sf.scan(path, schema=schema if case % 2 else None, keep_text=True)
            rows = table.rows()
            counted = table.tabulate([(name,) for name in table.columns])
            assert all(counts.total == rows for counts in counted.values())
        except SfumatoError as error:
            assert error.hint
            assert CANARY not in str(error)
    assert not any(CANARY in str(w.message) for w in told)


@pytest.mark.parametrize("part", range(5))
def test_damaged_files(tmp_path: Path, part: int) -> None:
    for case in range(part * 50, part * 50 + 50):
        check(tmp_path, case)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_many_damaged_files(tmp_path: Path, part: int) -> None:
    for case in range(1_000 + part * 500, 1_500 + part * 500):
        check(tmp_path, case)
