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
