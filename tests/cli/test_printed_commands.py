"""The commands that pages print run as they stand, on files of the names that the pages use.

The quickstarts are played in processes of their own, with pictures: tests/test_quickstarts.py. What serves,
installs, needs a cluster or a cloud is left to the tests of those rooms.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from architecture import ROOT
from cli_support import Sfumato
from printed import commands_of
from pyarrow import csv

import sfumato as sf

KNOWN = ["age", "sex", "zip", "mdc"]


def lines(page: str) -> list[list[str]]:
    """Each command of a page as words; what is no command of Sfumato's is left out."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = (shlex.split(re.sub(r"\\\n", " ", c), comments=True) for c in commands_of(text))
    return [words[1:] for words in found if words[:1] == ["sfumato"]]


def people(name: str, seed: int, rows: int = 400, columns: list[str] | None = None) -> None:
    table = sf.samples.discharges(rows, seed=seed).select(columns or KNOWN)
    csv.write_csv(table.to_arrow(), name)


def named(name: str, old: list[str]) -> None:
    """The same columns under the names of the page."""
    table = csv.read_csv(name)
    csv.write_csv(table.rename_columns(old), name)


@pytest.fixture(autouse=True)
def own_trust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a test trusts is no business of this machine's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))


def played(sfumato: Sfumato, page: str, codes: dict[str, int], leave: tuple[str, ...] = ()) -> int:
    """Each command, once, ends as its page says. codes: of those that do not end with 0."""
    count = 0
    for line, words in {" ".join(words): words for words in lines(page)}.items():
        if any(part in line for part in leave):
            continue
        ended = sfumato(*words)
        expected = next((c for w, c in codes.items() if w in line), 0)
        assert ended.code == expected, f"{line}: {ended.code}\n{ended.all[-1500:]}"
        count += 1
    return count


@pytest.mark.soak
def test_pages_about_one_file(sfumato: Sfumato) -> None:
    people("data.csv", 1)
    draft = {"anonymize": 1, "verify": 3}  # a proposed plan has limits, and misses one
    assert played(sfumato, "languages", draft) == 5
    shutil.rmtree("release")
    shutil.rmtree("release-plan", ignore_errors=True)
    assert played(sfumato, "coming-from", draft) == 1
    for made in Path().glob("determination.*"):
        made.unlink()
    people("holdout.csv", 2)
    assert played(sfumato, "determination", {"assess": 1}, leave=("run plan.toml",)) == 3


@pytest.mark.soak
def test_pages_about_hierarchies_domains_and_r(sfumato: Sfumato) -> None:
    people("visits.csv", 1, 1_000, ["zip", "sex", "dx", "charge"])
    assert played(sfumato, "hierarchies", {}) == 4
    sfumato("schema", "update", "visits.toml", "visits.csv")
    sfumato("trust", "key", "weiss.key")
    assert played(sfumato, "domains", {}) == 3
    Path("release/public").mkdir(parents=True)
    sfumato("convert", "visits.csv", "release/public/data.parquet")
    assert played(sfumato, "from-r", {}) == 3


@pytest.mark.soak
def test_pages_about_keys_and_models(sfumato: Sfumato) -> None:
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
    assert played(sfumato, "artefact", {}, leave=("model score",)) == 5
    signing = {"verify release": 3, "verify received": 3}
    assert played(sfumato, "signing", signing) == 11


@pytest.mark.soak
def test_pages_about_tables(sfumato: Sfumato) -> None:
    table = sf.samples.discharges(600, seed=1).to_arrow().select(["zip", "pay", "age", "sex"])
    csv.write_csv(table.rename_columns(["county", "area", "age", "sex"]), "stays.csv")
    csv.write_csv(
        table.rename_columns(["county", "area", "age", "sex"]).select(["county", "age"]), "plain.csv"
    )
    assert played(sfumato, "tables", {}, leave=("area>county", "--method noise", "verify tables/")) == 2
