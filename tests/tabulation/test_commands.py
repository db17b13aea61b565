"""sfumato tabulate: files in, a release out, and nothing where it cannot be."""

from __future__ import annotations

import json

import pyarrow.compute as pc
import pyarrow.csv as csv
import pytest
from tabulation.test_tabulate import by_quarter, stays

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


def test_a_quarter_is_named_that_was_published_before(tmp_path, capsys) -> None:
    both = by_quarter()
    csv.write_csv(both, tmp_path / "both.csv")
    csv.write_csv(both.filter(pc.equal(both["quarter"], "q1")), tmp_path / "first.csv")
    fast = ["--effort", "fast", "--quiet", "--out"]
    assert (
        run(["tabulate", str(tmp_path / "first.csv"), "--by", "county,age", *fast, str(tmp_path / "q1")]) == 0
    )
    both_quarters = ["tabulate", str(tmp_path / "both.csv"), "--by", "quarter,county"]
    before = f"{tmp_path / 'q1'} where quarter=q1"
    assert run([*both_quarters, "--earlier", before, *fast, str(tmp_path / "year")]) == 0
    wrong = tmp_path / "wrong"
    assert run([*both_quarters, "--earlier", str(tmp_path / "q1"), *fast, str(wrong)]) != 0
    assert "not the same people" in capsys.readouterr().err and not wrong.exists()
    assert run([*both_quarters, "--earlier", f"{tmp_path / 'q1'} where quarter", *fast, str(wrong)]) != 0
    assert "of whom" in capsys.readouterr().err


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
