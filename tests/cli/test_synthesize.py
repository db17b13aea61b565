"""sfumato synthesize: a release from the command line, refusals, no cell shown."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_support import CANARY, Sfumato, everything
from declared import signed

from sfumato.cli.exit_codes import NOT_TRUSTED
from sfumato.privacy import Budget, Ledger
from sfumato.samples import discharges


@pytest.fixture
def stays(tmp_path: Path) -> list[object]:
    """Simulated discharges with their schema, as arguments."""
    table = discharges(500, 1).select(["sex", "mdc", "los_days"])
    pq.write_table(table.to_arrow(), tmp_path / "stays.parquet")
    (tmp_path / "stays.toml").write_text(signed(table.schema).to_toml())
    return [tmp_path / "stays.parquet", "--schema", tmp_path / "stays.toml"]


def test_a_release_is_written_and_verified(sfumato: Sfumato, stays: list[object], tmp_path: Path) -> None:
    answer = sfumato("synthesize", *stays, "--method", "pegs", "--epsilon", 2, "--rows", 60, "--out", "new")
    assert answer.code == 0, answer.all
    assert "60 synthetic rows" in answer.out and "epsilon = 2" in answer.out
    assert pq.read_table(tmp_path / "new" / "public" / "data.parquet").num_rows == 60
    assert sfumato("verify", "new").code == NOT_TRUSTED
    again = sfumato("synthesize", *stays, "--method", "pegs", "--epsilon", 2, "--rows", 60, "--out", "new")
    assert again.code == 2 and "new" in again.err


def test_json_says_the_total(sfumato: Sfumato, stays: list[object]) -> None:
    answer = sfumato(
        "synthesize", *stays, "--method", "pegs", "--epsilon-per-row", 0.1, "--block", 10,
        "--parents", 0, "--rows", 20, "--out", "new", "--json",
    )  # fmt: skip
    found = json.loads(answer.out)
    assert found["rows"] == 20 and found["guarantee"]["claims"][0]["epsilon"] == 2.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "pegs", "--epsilon", "0", "--rows", "5"], "above 0"),
        (["--method", "pegs", "--rows", "5"], "one of epsilon"),
        (["--method", "pegs", "--epsilon", "1"], "how many rows"),
        (["--epsilon", "1", "--rows", "0"], "--rows"),
        (["--epsilon", "1", "--rows", "5", "--method", "magic"], "no such method"),
        (
            ["--method", "pegs", "--epsilon", "1", "--rows", "5", "--delta", "1e-9"],
            "pegs has no use for --delta",
        ),
        (["--method", "pegs", "--epsilon", "1", "--rows", "5", "--models", "charge"], "NAME=VALUE"),
        (["--target", "nowhere"], "not among the columns"),
        (["--constraints", "nowhere.toml"], "cannot be read"),
        (["--epsilon", "1", "--rows", "5", "--columns", "nowhere", "--columns", "sex"], "unknown column"),
    ],
)
def test_bad_input_leaves_nothing(
    sfumato: Sfumato, stays: list[object], tmp_path: Path, arguments: list[str], words: str
) -> None:
    before = everything(tmp_path)
    answer = sfumato("synthesize", *stays, *arguments, "--out", "new")
    assert answer.code == 2 and words in answer.err
    assert everything(tmp_path) == before


def test_a_guessed_domain_is_refused_without_its_values(sfumato: Sfumato, visits: Path) -> None:
    answer = sfumato("synthesize", visits, "--epsilon", 1, "--rows", 5, "--out", "new")
    assert answer.code == 2 and "without a public domain" in answer.err
    assert CANARY not in answer.all


def test_private_rows_keep_the_table(sfumato: Sfumato, stays: list[object], tmp_path: Path) -> None:
    command = ["synthesize", *stays, "--method", "private", "--epsilon", 20, "--rows", 400]
    answer = sfumato(*command, "--out", "new")
    assert answer.code == 0, answer.all
    assert "400 synthetic rows" in answer.out and "epsilon = 20, delta = 1e-9" in answer.out
    made = pq.read_table(tmp_path / "new" / "public" / "data.parquet")
    real = pq.read_table(tmp_path / "stays.parquet")
    shares = [t.column("sex").to_pylist().count(1) / t.num_rows for t in (made, real)]
    assert made.num_rows == 400 and abs(shares[0] - shares[1]) < 0.1
    assert sfumato("verify", "new").code == NOT_TRUSTED
    pure = sfumato(*command, "--delta", 0, "--out", "pure", "--json")
    assert json.loads(pure.out)["guarantee"]["claims"][0]["epsilon"] == 20.0


def test_a_ledger_is_debited_once_the_place_is_sure(
    sfumato: Sfumato, stays: list[object], tmp_path: Path
) -> None:
    Ledger.open(tmp_path / "study.ledger", Budget(rho=1.0))
    command = ["synthesize", *stays, "--rows", 50, "--ledger", "study.ledger"]
    for wrong in (["--out", "nowhere/new"], ["--method", "lugs", "--out", "new"]):
        assert sfumato(*command, *wrong).code == 2
    assert Ledger.open(tmp_path / "study.ledger").spent == 0
    answer = sfumato(*command, "--weight", "los_days", "--columns", "sex", "--columns", "mdc", "--out", "new")
    assert answer.code == 0, answer.all
    assert 0 < Ledger.open(tmp_path / "study.ledger").spent < 0.02  # rho of epsilon = 1, delta = 1e-9
    assert sfumato(*command, "--epsilon", 20, "--out", "more").code == 2  # more than is left
    assert sfumato(*command, "--out", "new").code == 2  # it is there already
    assert Ledger.open(tmp_path / "study.ledger").spent < 0.02 and not (tmp_path / "more").exists()


def test_lugs_says_what_it_is_not(sfumato: Sfumato, stays: list[object], tmp_path: Path) -> None:
    answer = sfumato("synthesize", *stays, "--method", "lugs", "--log-l", 0.4, "--rows", 150, "--out", "new")
    assert answer.code == 0, answer.all
    assert "ot differentially private" in answer.out
    assert pq.read_table(tmp_path / "new" / "public" / "data.parquet").num_rows == 150
    assert sfumato("verify", "new").code == NOT_TRUSTED


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "private", "--epsilon", "0"], "--epsilon must be at least 0.001"),
        (
            ["--method", "private", "--epsilon", "1", "--delta", "2"],
            "--delta must be at least 0 and at most 0.001",
        ),
        (["--method", "private", "--epsilon", "1", "--parents", "2"], "private has no use for --parents"),
        (["--method", "lugs", "--epsilon", "1"], "lugs has no use for --epsilon"),
        (["--method", "lugs", "--log-l", "2"], "too few values"),
        (["--method", "pegs", "--epsilon", "1", "--target", "sex"], "pegs has no use for --target"),
        (["--method", "lugs", "--max-rows-per-person", "3"], "lugs has no use for --max-rows-per-person"),
    ],
)
def test_other_methods_refuse_too(
    sfumato: Sfumato, stays: list[object], tmp_path: Path, arguments: list[str], words: str
) -> None:
    before = everything(tmp_path)
    answer = sfumato("synthesize", *stays, *arguments, "--rows", 5, "--out", "new")
    assert answer.code == 2 and words in answer.err
    assert everything(tmp_path) == before


def test_the_default_is_the_private_synthesizer_with_all_it_can_be_told(
    sfumato: Sfumato, stays: list[object], tmp_path: Path
) -> None:
    (tmp_path / "rules.toml").write_text('[[never]]\nsex = "male"\nmdc = [13, 14]\n')
    answer = sfumato(
        "synthesize", *stays, "--target", "mdc", "--max-rows-per-person", 2, "--declared-rows", 400,
        "--constraints", tmp_path / "rules.toml", "--out", "new", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.all
    found = json.loads(answer.out)
    claim = found["guarantee"]["claims"][0]
    assert found["rows"] == 400 and claim["epsilon"] == pytest.approx(1.0)
    assert "person" in json.dumps(claim) and "constraints are public" in json.dumps(claim)
    made = pq.read_table(tmp_path / "new" / "public" / "data.parquet").to_pylist()
    assert len(made) == 400 and not any(r["sex"] == "male" and r["mdc"] in (13, 14) for r in made)
    written = "".join(p.read_text() for p in (tmp_path / "new" / "internal").glob("*.json"))
    assert '"target": "mdc"' in written and '"max_rows_per_person": 2' in written


def test_pegs_takes_what_it_can_be_told(sfumato: Sfumato, stays: list[object], tmp_path: Path) -> None:
    answer = sfumato(
        "synthesize", *stays, "--method", "pegs", "--epsilon", 4, "--rows", 30, "--sweeps", 2,
        "--parents", "auto", "--declared-rows", 500, "--smoothing", 2, "--neighbours", "replace",
        "--models", "los_days=poisson", "--out", "new", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.all
    claim = json.loads(answer.out)["guarantee"]["claims"][0]
    assert claim["epsilon"] == 4.0 and claim["neighbours"] == "replace"
    assert any("models of los_days" in text for text in claim["assumptions"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[never]]\nsex = 'male'", "at least two columns"),
        ("[[always]]\nsex = 'male'", "no constraint is called 'always'"),
        ("[[ordered]]\nfirst = 'a'", "first and second"),
        ("never = [", "not TOML"),
    ],
)
def test_constraints_are_read_with_care(
    sfumato: Sfumato, stays: list[object], tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "rules.toml").write_text(text)
    answer = sfumato("synthesize", *stays, "--constraints", tmp_path / "rules.toml", "--out", "new")
    assert answer.code == 2 and words in answer.err and not (tmp_path / "new").exists()
