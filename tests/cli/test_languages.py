"""--language on the command line: printed, written, and nothing of the data shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import CANARY, Sfumato

from sfumato.languages import listening

PLAN = """
sfumato_plan = 2
[input]
data = "d.csv"
schema = "schema.toml"
[[steps]]
method = "pseudonymize"
[assess]
skip = true
[outputs]
reports = ["html", "json"]
language = "de"
[review]
by = "A. Weber"
on = 2026-11-18
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [f"p{i},{20 + i % 50},{'fm'[i % 2]}" for i in range(60)]
    path = tmp_path / "d.csv"
    path.write_text("\n".join(["id,age,sex", f"{CANARY},30,f", *rows]) + "\n", encoding="utf-8")
    return path


def test_release_and_verdict_in_german(sfumato: Sfumato, data: Path) -> None:
    with listening() as missing:
        made = sfumato("pseudonymize", data, "--out", "r", "--language", "de")
        found = sfumato("verify", "r", "--language", "de")
    assert missing == []
    assert "Freigabe in r geschrieben: " in made.out
    assert "VOLLSTÄNDIG, ABER VON NIEMANDEM UNTERSCHRIEBEN" in found.out
    assert "WHOLE, BUT NOT SIGNED" in sfumato("verify", "r").out
    assert CANARY not in made.all + found.all
    refused = sfumato("verify", "r", "--language", "xx")
    assert (refused.code, "'xx'" in refused.err) == (2, True)


def test_what_json_says_is_english(sfumato: Sfumato, data: Path) -> None:
    sfumato("pseudonymize", data, "--out", "r")
    german, english = (sfumato("verify", "r", "--json", "--language", code).out for code in ("de", "en"))
    assert json.loads(german) == json.loads(english)


def test_a_judgement_in_german_misses_no_text(sfumato: Sfumato, data: Path) -> None:
    with listening() as missing:
        ask = ("--quasi-identifiers", "age,sex", "--max-risk", "0.1", "--effort", "quick", "--language", "de")
        found = sfumato("assess", data, data, *ask, "--report", "a.html", "--card", "c.html")
    assert missing == []
    assert found.code == 1
    assert "nicht eingehalten" in found.out
    assert CANARY not in found.all
    assert '<html lang="de">' in Path("a.html").read_text("utf-8")


def test_the_plan_says_the_language_and_the_option_another(sfumato: Sfumato, data: Path) -> None:
    sfumato("init", data, "--quiet")
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    made = sfumato("run", "plan.toml", "--out", "r")
    assert made.code == 0, made.all
    assert "in r geschrieben: " in made.out
    assert "# " in (card := Path("r/public/card.md").read_text("utf-8"))
    assert "Über diese Daten" in card or "über diese Daten" in card
    assert '<html lang="de">' in Path("r/internal/report.html").read_text("utf-8")
    assert "released" in json.dumps(json.loads(Path("r/internal/report.json").read_text("utf-8")))
    other = sfumato("run", "plan.toml", "--out", "e", "--language", "en")
    assert "written to e: " in other.out
    assert "bout this data" in Path("e/public/card.md").read_text("utf-8")
    Path("plan.toml").write_text(PLAN.replace('"de"', '"xx"'), encoding="utf-8")
    assert sfumato("plan", "check", "plan.toml").code == 1
