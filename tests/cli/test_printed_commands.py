"""The commands that pages about one file print run as they stand, on files of the names that the pages use.

The quickstarts are played in processes of their own, with pictures: tests/test_quickstarts.py. What two
lists leave out (tests/unplayed.py) is what CI runs itself, and what cannot be had here.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from architecture import ROOT
from cli_support import Sfumato
from printed import Play, commands_of, left_to_tests, pages, players, printed
from pyarrow import csv
from unplayed import BY_CI, UNPLAYED

import sfumato as sf

KNOWN = ["age", "sex", "zip", "mdc"]


def people(name: str, seed: int, rows: int = 400, columns: list[str] | None = None) -> None:
    table = sf.samples.discharges(rows, seed=seed).select(columns or KNOWN)
    csv.write_csv(table.to_arrow(), name)


# -- every command is played, or said not to be ---------------------------------------------------------


def test_every_printed_command_is_played_or_it_says_why_not() -> None:
    played = players()
    silent = [page for page in pages() if left_to_tests(page) and page not in played]
    assert silent == [], (
        "print commands that no test plays: a test with Play(...), or a reason in tests/unplayed.py"
    )
    assert [page for page in played if not left_to_tests(page)] == []
    count = {page: len(printed(page)) for page in pages()}
    unplayed = sum(len(reasons) for reasons in UNPLAYED.values())
    assert sum(count.values()) > 200 and unplayed <= 16


def test_what_is_left_out_is_printed_once_and_has_a_reason() -> None:
    for page, reasons in UNPLAYED.items():
        for beginning, reason in reasons.items():
            assert sum(c.startswith(beginning) for c in printed(page)) == 1, (page, beginning)
            assert len(reason) > 10
            for path in re.findall(r"\btests/\S+", reason):
                assert (ROOT / path).exists(), path
    run, make = ((ROOT / name).read_text(encoding="utf-8") for name in (".ci/run", "Makefile"))
    made = make.replace("$(PIP)", ".venv/bin/python -m pip").replace("$(BIN)", ".venv/bin")
    made = made.replace("$(SIDE_BY_SIDE)", "-n auto --dist loadgroup")
    for page, beginnings in BY_CI.items():
        for beginning in beginnings:
            assert any(c.startswith(beginning) for c in printed(page)), (page, beginning)
            there = re.search(rf"^[^#\n]*\b{re.escape(beginning)}\b", run, re.MULTILINE)
            assert there or beginning in made, beginning


def test_commands_are_found_as_they_are_printed() -> None:
    page = (
        "```console\n$ a --x  # why\nits output\n$ b \\\n    -c\nmore\n$ d <<'END'\nx\n$ y\nEND\n$ e\n"
        "$ f -d '{1,\n  2}'\n{3}\n> g # don't\nh\n```\n"
    )
    found = ["a --x  # why", "b \\\n    -c", "d <<'END'\nx\n$ y\nEND", "e", "f -d '{1,\n  2}'", "g # don't"]
    assert commands_of(page) == found
    assert commands_of("```python\n$ no\n```\n") == []


# -- played ---------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def own_trust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a test trusts is no business of this machine's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.soak
def test_pages_about_one_file(sfumato: Sfumato) -> None:
    with Play("languages", "coming-from", "determination").inside(sfumato) as play:
        people("data.csv", 1)
        draft = {"anonymize": 1, "verify": 3}  # a proposed plan has limits, and misses one
        play.rest("languages", draft)
        shutil.rmtree("release")
        shutil.rmtree("release-plan", ignore_errors=True)
        play.rest("coming-from", draft)
        for made in Path().glob("determination.*"):
            made.unlink()
        people("holdout.csv", 2)
        play.next("determination", "sfumato determination new")
        play.rest("determination", {"assess": 1}, until="sfumato determination new")
        shutil.rmtree("release")
        Path("determination.toml").unlink()
        assert sfumato("init", "data.csv").code == 0
        play.next("determination", "sfumato determination new")
        plan = Path("plan.toml").read_text("utf-8")
        outputs = "[outputs]\ndetermination = 'determination.toml'\n"
        assert "[outputs]" not in plan or plan.count("[outputs]\n") == 1
        Path("plan.toml").write_text(
            plan.replace("[outputs]\n", outputs) if "[outputs]\n" in plan else plan + outputs, "utf-8"
        )
        play.next("determination", "sfumato run", 1)
        assert Path("release", "internal", "determination.html").exists()


@pytest.mark.soak
def test_pages_about_hierarchies_domains_and_r(sfumato: Sfumato) -> None:
    with Play("hierarchies", "domains", "from-r").inside(sfumato) as play:
        people("visits.csv", 1, 1_000, ["zip", "sex", "dx", "charge"])
        play.rest("hierarchies")
        sfumato("schema", "update", "visits.toml", "visits.csv")
        sfumato("trust", "key", "weiss.key")
        play.rest("domains")
        Path("release/public").mkdir(parents=True)
        sfumato("convert", "visits.csv", "release/public/data.parquet")
        play.rest("from-r")


@pytest.mark.soak
def test_pages_about_keys_and_models(sfumato: Sfumato) -> None:
    with Play("artefact", "signing").inside(sfumato) as play:
        people("data.csv", 1, columns=["id", *KNOWN])
        sfumato("pseudonymize", "data.csv", "--out", "release")
        shutil.copytree("release", "received")
        for words in (
            ("sample", "diabetes", "1500", "--out", "checkups.csv", "--schema", "checkups.toml"),
            ("sample", "diabetes", "500", "--seed", "9", "--out", "holdout.csv"),
            ("trust", "key", "new.key"),
            ("fit", "checkups.csv", "--schema", "checkups.toml", "--target", "diabetes", "--epsilon", "1",
             "--sign", "new.key", "--out", "earlier.sfm"),
            ("ledger", "new", "study.ledger", "--data-set", "check-ups", "--epsilon", "5"),
        ):  # fmt: skip
            assert sfumato(*words).code == 0, words
        shutil.copy("earlier.sfm", "readmission.sfm")
        play.rest("artefact")
        play.rest("signing", {"verify release": 3, "verify received": 3})
