"""Damaged files: each is a table that can be counted, or an error of ours with a hint and no cell in it."""

from __future__ import annotations

import random
import shutil
import time
import warnings
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.plan import Plan

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


# -- whole runs --------------------------------------------------------------------------------------

PLAN = """\
sfumato_plan = 2
title = "a title"
[review]
by = "A. Miller"
on = 2026-03-01
[input]
data = "data.csv"
schema = "schema.toml"
missing = ["?", "NA"]
[columns]
sex = { role = "quasi-identifier", hierarchy = "suppress", weight = 0.5 }
age = { role = "quasi-identifier", hierarchy = { recipe = "ages", widths = [5, 20] }, top = 90 }
dx = { role = "quasi-identifier", hierarchy = { recipe = "levels", file = "dx.csv" }, reviewed = true }
day = { role = "other", drop = true }
charge = { top = 1e4 }
[prepare]
redundant = "report"
[[steps]]
name = "first"
method = "optimal"
k = 3
max_suppressed = 0.9
loss = "entropy"
[[steps]]
of = "first"
method = "marginals"
rows = 20
domain = "data"
columns = ["sex", "dx"]
[assess]
skip = true
[outputs]
format = "csv"
reports = ["md", "json"]
"""
LEVELS = "a;common;*\nb;common;*\nzebra7319;rare;*\n"
_WORDS = [
    "optimal", "local", "mondrian", "datafly", "greedy", "partition", "resample", "dither", "centroid",
    "pegs", "lugs", "imputation", "pseudonymize", "suppress", "ages", "bands", "zip", "calendar", "icd9",
    "true", "false", "0", "-1", "1e308", "nan", "[]", "{}", '""', "'input'", "sex", "dx", "note",
    "../dx.csv", "sensitive", "person", "identifier",
]  # fmt: skip


def misworded(text: str, rng: random.Random) -> str:
    """Words of a plan in the places of others, lines lost or doubled: TOML still, more often than not."""
    lines = text.split("\n")
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines))
        change = rng.randrange(5)
        if change == 0:
            del lines[at]
        elif change == 1:
            lines.insert(at, rng.choice(lines))
        else:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice([*_WORDS, rng.choice(lines).split(" ")[-1]])
            lines[at] = " ".join(words)
    return "\n".join(lines)


# Changes that keep the form: what is asked, of what, and of which kind.
_CHANGES = {
    "plan.toml": [
        *(('"optimal"', f'"{m}"') for m in ("local", "mondrian", "datafly", "greedy", "partition")),
        ('method = "optimal"\nk = 3\nmax_suppressed = 0.9\nloss = "entropy"', 'method = "resample"\nk = 3'),
        ('method = "optimal"\nk = 3\nmax_suppressed = 0.9\nloss = "entropy"', 'method = "centroid"\nk = 2'),
        ('of = "first"\n', 'of = "input"\n'), ("k = 3", "k = 1000"), ("k = 3", "k = 3\nl = { note = 2 }"),
        ("k = 3", "k = 3\nt = { charge = 0.5 }"), ("k = 3", "k = 2\ndrop_rarer_than = 4"),
        ("max_suppressed = 0.9", "max_suppressed = 0"), ('domain = "data"', 'domain = "public"'),
        ('method = "marginals"', 'method = "table"'), ('columns = ["sex", "dx"]', ""),
        ('method = "marginals"\nrows = 20', 'method = "lugs"\nrows = 20\nlog_l = 0.1\ncap = true'),
        ('redundant = "report"', 'redundant = "drop"'),
        ('redundant = "report"', 'target = "dx"\nleast_information = 1.0'),
        ('recipe = "ages", widths = [5, 20]', 'recipe = "intervals", edges = [[0, 50, 91]]'),
        ('recipe = "ages", widths = [5, 20]', 'recipe = "prefixes", keep = [1]'),
        ('recipe = "ages", widths = [5, 20]', 'recipe = "bands"'), ('format = "csv"', 'format = "xlsx"'),
        ("top = 90", "top = 10, bottom = 5"), ("drop = true", "drop = false"),
        ("skip = true", "skip = true\n[drift]\nmost = 0.1\n[register]\nfolder = 'register'"),
    ],
    "schema.toml": [
        ('kind = "flag"', 'kind = "nominal"'), ('levels = ["F", "M"]', 'levels = ["M"]'),
        ('kind = "numeric"\n[columns.note]', 'kind = "text"\n[columns.note]'),
        ("missing_codes = [-9]", "missing = false"), ("[0, 20, 40, 200]", "[0, 20]"),
        ('kind = "codes"', 'kind = "codes"\nrole = "identifier"'), ('kind = "codes"', 'kind = "text"'),
        ('type = "integer"', 'type = "real"'), ('kind = "date"', 'kind = "nominal"'),
    ],
    "dx.csv": [(";*", ";all"), ("a;common;*\n", ""), ("rare", "common"), (";rare", ";zebra7319")],
}  # fmt: skip


def changed(name: str, text: str, rng: random.Random) -> bytes:
    """One of the files of a run with a change or two, the milder the likelier."""
    draw = rng.random()
    if draw < 0.65:
        for _ in range(rng.randrange(1, 3)):
            text = text.replace(*rng.choice(_CHANGES[name]))
        return text.encode()
    if draw < 0.85 and name == "plan.toml":
        return misworded(text, rng).encode()
    return damaged(text.encode(), rng)


def check_run(folder: Path, case: int) -> str:
    """Damage a file of a run, or two: a release that verifies, or an error of ours; what it came to."""
    rng = random.Random(case)
    texts = {"plan.toml": PLAN, "schema.toml": SCHEMA, "dx.csv": LEVELS}
    files = {"data.csv": plain_csv(rng), **{name: text.encode() for name, text in texts.items()}}
    for name in rng.sample(["plan.toml", *files], rng.choice([1, 1, 2])):
        if name == "data.csv":
            files[name] = damaged(files[name], rng, len(HEADER) + 1)
        else:
            files[name] = changed(name, texts[name], rng)
    folder = folder / f"case-{case}"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SfumatoWarning)
        try:
            done = Plan.read(folder / "plan.toml").run(folder / "release")
            assert all(sf.verify(release).ok for release in done.releases.values()) and done.releases
            kind = "release"
        except SfumatoError as error:
            assert error.hint, error.message
            assert CANARY not in str(error)
            assert not (folder / "release").exists()
            kind = type(error).__name__
    assert not any(CANARY in str(w.message) for w in told)
    assert time.process_time() - start < 60
    shutil.rmtree(folder)
    return kind


@pytest.mark.parametrize("part", [pytest.param(i, marks=pytest.mark.soak if i > 1 else ()) for i in range(5)])
def test_damaged_runs(tmp_path: Path, part: int) -> None:
    came_to = [check_run(tmp_path, case) for case in range(part * 50, part * 50 + 50)]
    assert {"release", "PlanError"} < set(came_to)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_many_damaged_runs(tmp_path: Path, part: int) -> None:
    for case in range(1_000 + part * 500, 1_500 + part * 500):
        check_run(tmp_path, case)
