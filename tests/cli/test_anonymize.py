"""The command anonymize: a release from files, refusals that say what next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import CANARY

import sfumato as sf


@pytest.fixture
def hierarchies(tmp_path: Path) -> Path:
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "visits_age.csv").write_text("".join(f"{v};{v // 10 * 10}+;*\n" for v in range(20, 80)))
    return folder


def test_a_release_is_written_and_verified(sfumato, visits, hierarchies) -> None:
    asked = ["anonymize", visits, "--hierarchies", hierarchies, "--quasi-identifiers", "sex,age", "--k", 5]
    answer = sfumato(*asked, "--l", "dx=2", "--max-suppressed", 0.1, "--out", "r", "--json")
    assert answer.code == 0, answer.err
    said = json.loads(answer.out)
    assert said["search"]["optimal"] and said["rows"]["read"] == 200
    assert CANARY not in answer.out + answer.err
    assert sfumato("verify", "r").code == 0
    assert "patient_id" not in sf.Release.load("r").columns
    again = sfumato(*asked, "--out", "r")
    assert again.code != 0 and "is there already" in again.err
    for method in ("datafly", "optimal", "local", "mondrian"):
        again = sfumato(
            *asked, "--l", "dx=2", "--method", method, "--time-limit", 2, "--out", "r", "--overwrite"
        )
        assert again.code == 0, again.err
        assert sfumato("verify", "r").code == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "nothing is asked"),
        (["--k", 5, "--method", "magic"], "not known"),
        (["--k", 5, "--method", "local", "--loss", "entropy"], "minimizes loss only"),
        (["--k", 5, "--weight", "age"], "--weight takes a column and a number"),
        (["--k", 5, "--max-level", "age=x"], "--max-level takes a column and a number"),
        (["--k", 201], "fewer than the 201"),
        (["--k", 5, "--quasi-identifiers", "sex,dx"], "no hierarchy"),
        (["--k", 5, "--quasi-identifiers", "sex,height"], "unknown column"),
    ],
)
def test_refusals_say_what_and_leave_nothing(sfumato, visits, hierarchies, more, words) -> None:
    named = [] if "--quasi-identifiers" in more else ["--quasi-identifiers", "sex,age"]
    answer = sfumato("anonymize", visits, "--hierarchies", hierarchies, "--out", "r", *named, *more)
    assert answer.code != 0 and words in " ".join(answer.err.split())
    assert not Path("r").exists() and CANARY not in answer.err
