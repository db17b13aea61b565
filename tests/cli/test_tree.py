"""sfumato tree: prints, draws, keeps a confidential file, and refuses before it works."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from cli_support import Sfumato, everything

from sfumato.prediction.confidential import load_confidential


@pytest.fixture
def data(sfumato: Sfumato) -> None:
    assert sfumato("sample", "diabetes", 400, "--out", "d.csv", "--schema", "d.toml").code == 0


def test_prints_and_draws_a_tree(sfumato: Sfumato, data: None, tmp_path: Path) -> None:
    done = sfumato("tree", "d.csv", "--schema", "d.toml", "--target", "diabetes", "--alpha", 2,
                   "--max-depth", 2, "--report", "tree.html")  # fmt: skip
    assert done.code == 0 and done.out.startswith("all rows: ") and "glucose > " in done.out
    assert "tree.html written (internal)" in done.out and done.err == ""
    page = (tmp_path / "tree.html").read_text()
    assert (
        "INTERNAL" in page
        and "<svg" in page
        and stat.S_IMODE((tmp_path / "tree.html").stat().st_mode) == 0o600
    )
    again = sfumato("tree", "d.csv", "--schema", "d.toml", "--target", "diabetes", "--report", "tree.html")
    assert again.code == 2 and "exists already" in again.err and "--overwrite" in again.err


def test_guessed_columns_are_said_to_be_guessed(sfumato: Sfumato, data: None) -> None:
    done = sfumato("tree", "d.csv", "--target", "diabetes", "--columns", "glucose, bmi", "--json")
    rules = json.loads(done.out)["trees"][0]["rules"]
    assert done.code == 0 and sum(r["rows"] for r in rules) == 400 and "read off the data" in done.err
    assert all(set(r["rule"].split()) & {"glucose", "bmi"} for r in rules)


@pytest.mark.parametrize("method", ["dpat", "edpat"])
def test_keeps_a_confidential_file(sfumato: Sfumato, data: None, tmp_path: Path, method: str) -> None:
    done = sfumato("tree", "d.csv", "--schema", "d.toml", "--target", "diabetes", "--method", method,
                   "--epsilon-per-call", 2, "--out", "m.dpat", "--name", "risk",
                   "--report", "m.svg")  # fmt: skip
    assert done.code == 0 and "claim is false" in " ".join(done.out.split())
    assert "m.dpat written (confidential" in done.out and (tmp_path / "m.svg").read_text().startswith("<svg")
    model = load_confidential(tmp_path / "m.dpat")
    assert (model.name, model.claimed_epsilon, model.target) == ("risk", 2.0, "diabetes")
    assert stat.S_IMODE((tmp_path / "m.dpat").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "nothing"], "unknown column"),
        (["--target", "smoking"], "missing in"),
        (["--target", "activity"], "binary"),
        (["--target", "diabetes", "--out", "x.dpat"], "no file of its own"),
        (["--target", "diabetes", "--method", "dpat", "--out", "x.sfm"], ".dpat"),
        (["--target", "diabetes", "--method", "dpat", "--epsilon-per-call", "0"], "epsilon"),
        (["--target", "diabetes", "--alpha", "nan"], "--alpha must be a number"),
        (["--target", "diabetes", "--columns", "glucose,other"], "unknown column"),
        (["--target", "diabetes", "--report", "x.pdf"], ".html"),
    ],
)
def test_refusals_leave_nothing_behind(
    sfumato: Sfumato, data: None, tmp_path: Path, arguments: list[str], said: str
) -> None:
    before = everything(tmp_path)
    done = sfumato("tree", "d.csv", "--schema", "d.toml", *arguments)
    assert done.code == 2 and said in done.err and "Hint" in done.err
    assert everything(tmp_path) == before
