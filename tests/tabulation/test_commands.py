"""sfumato tabulate: files in, a release out, and nothing where it cannot be."""

from __future__ import annotations

import json

import pyarrow.csv as csv
import pytest
from tabulation.test_tabulate import stays

from sfumato.cli.app import run


def test_tabulate_writes_a_release_that_verifies(tmp_path, capsys) -> None:
    csv.write_csv(stays(), tmp_path / "stays.csv")
    out = tmp_path / "tables"
    arguments = ["tabulate", str(tmp_path / "stays.csv"), "--by", "area>county,age", "--by", "sex"]
    more = ["--effort", "fast", "--keep", "all", "--sum", "charge"]
    assert run([*arguments, *more, "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["suppression"]["count"]["by program only"] == 0
    assert run(["verify", str(out), "--quiet"]) == 3  # whole, and not signed
    later = [*arguments, "--effort", "fast", "--earlier", str(out), "--out", str(tmp_path / "later")]
    assert run(later) == 0
    assert "cells withheld" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong", [["--by", "nowhere"], ["--by", "county", "--minimum", "1"], ["--by", "a>b>c"]]
)
def test_what_cannot_be_leaves_nothing(tmp_path, capsys, wrong) -> None:
    csv.write_csv(stays(), tmp_path / "stays.csv")
    out = tmp_path / "tables"
    assert run(["tabulate", str(tmp_path / "stays.csv"), *wrong, "--out", str(out)]) != 0
    assert not out.exists() and "Hint" in capsys.readouterr().err


def test_assess_tables_says_what_can_be_found(tmp_path, capsys) -> None:
    safe = "g,count\na,*\nb,*\nc,30\n_T,60\n"
    (tmp_path / "safe.csv").write_text(safe)
    assert run(["assess-tables", str(tmp_path / "safe.csv"), "--by", "g"]) == 0
    assert "Nothing is given away" in capsys.readouterr().out
    (tmp_path / "open.csv").write_text(safe.replace("b,*", "b,28"))
    assert run(["assess-tables", str(tmp_path / "open.csv"), "--by", "g", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "met": False,
        "shown": 0,
        "cells": 1,
        "known": 1,
        "narrowed": 0,
    }


def test_ranges_a_workbook_and_a_page(tmp_path, capsys) -> None:
    csv.write_csv(stays(), tmp_path / "stays.csv")
    start = ["tabulate", str(tmp_path / "stays.csv"), "--by", "county,age", "--effort", "fast"]
    beside = ["--workbook", str(tmp_path / "t.xlsx"), "--page", str(tmp_path / "t.html")]
    assert run([*start, "--ranges", *beside, "--out", str(tmp_path / "ranges")]) == 0
    assert (tmp_path / "t.xlsx").exists() and "must not leave" in (tmp_path / "t.html").read_text()
    assert "1-4" in (tmp_path / "ranges/public/data.csv").read_text()
    assert run([*start, *beside, "--out", str(tmp_path / "again")]) != 0  # the files are there
    assert not (tmp_path / "again").exists()
    capsys.readouterr()


def test_keys_are_taken_from_an_earlier_release(tmp_path, capsys) -> None:
    csv.write_csv(stays(), tmp_path / "stays.csv")
    start = ["tabulate", str(tmp_path / "stays.csv"), "--by", "county,age", "--method", "keys"]
    assert run([*start, "--out", str(tmp_path / "first")]) == 0
    assert run([*start, "--keys-of", str(tmp_path / "first"), "--out", str(tmp_path / "second")]) == 0
    first, second = ((tmp_path / n / "public/data.csv").read_text() for n in ("first", "second"))
    assert first == second
    capsys.readouterr()
    assert run([*start, "--ranges", "--out", str(tmp_path / "third")]) != 0
    assert run([*start, "--method", "magic", "--out", str(tmp_path / "third")]) != 0
    assert not (tmp_path / "third").exists() and "Hint" in capsys.readouterr().err
