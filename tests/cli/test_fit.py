"""fit and model at the command line: from rows to a signed score and back."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pyarrow.csv
import pytest
from cli_support import Sfumato
from declared import signed
from score_tables import MIXED, mixed

from sfumato.cli.exit_codes import NOT_TRUSTED
from sfumato.errors import ParameterError
from sfumato.privacy import Budget, Ledger
from sfumato.privacy.signatures import SigningKey


@pytest.fixture
def folder(sfumato: Sfumato, tmp_path: Path) -> Path:
    for name, rows, seed in (("people", 800, 0), ("test", 300, 1)):
        pyarrow.csv.write_csv(mixed(rows, seed).to_arrow(), tmp_path / f"{name}.csv")
    (tmp_path / "people.toml").write_text(signed(MIXED).to_toml())
    assert sfumato("model", "key", "my.key").code == 0
    return tmp_path


FIT = (
    "fit",
    "people.csv",
    "--schema",
    "people.toml",
    "--target",
    "sick",
    "--sign",
    "my.key",
    "--out",
    "m.sfm",
)


def test_from_rows_to_a_score(sfumato: Sfumato, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stat.S_IMODE((folder / "my.key").stat().st_mode) == 0o600
    Ledger.open(folder / "study.ledger", Budget(epsilon=9.0))
    done = sfumato(
        *FIT, "--epsilon", "8", "--ledger", "study.ledger", "--monotone", "dose=increasing",
        "--test", "test.csv", "--test-epsilon", "1", "--subgroup", "ward", "--disjoint", "other wards",
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["kind"] == "private logistic" and told["guarantee"]["claims"][0]["epsilon"] == 8.0
    assert told["card"]["evaluation"]["auroc"] > 0.6
    assert Ledger.open(folder / "study.ledger").spent == 9.0
    shown = sfumato("model", "show", "m.sfm")
    assert shown.code == 0 and "epsilon = 8" in shown.out and "dose" in shown.out
    checked = sfumato("model", "verify", "m.sfm", "--trust", told["signer"], "--json")
    assert checked.code == 0 and json.loads(checked.out)["trusted"] is True
    other = sfumato("model", "verify", "m.sfm", "--trust", SigningKey(bytes(range(32))).public, "--json")
    monkeypatch.setenv("SFUMATO_TRUST", str(folder / "trust.toml"))
    sfumato("trust", "add", told["signer"], "--name", "The hospital")
    by_file = sfumato("model", "verify", "m.sfm")
    assert by_file.code == 0 and "is authentic" in by_file.out
    monkeypatch.delenv("SFUMATO_TRUST")
    assert other.code == 1 and "signer is not among" in str(json.loads(other.out)["faults"])
    assert sfumato("model", "verify", "none.sfm").code == 2
    scored = sfumato("model", "score", "m.sfm", "dose=99", "ward=a", "grade=2", "smoker=true", "--json")
    assert scored.code == 0, scored.err
    assert json.loads(scored.out)["clamped"] == ["dose"] and 0 < json.loads(scored.out)["probability"] < 1
    wrong = sfumato("model", "score", "m.sfm", "dose=1", "ward=secretward", "grade=2")
    assert wrong.code == 2 and "ward: must be one of 3 declared levels" in wrong.err
    assert "secretward" not in wrong.err
    again = sfumato(*FIT, "--epsilon", "0.5", "--ledger", "study.ledger")
    assert again.code == 2 and "exists already" in again.err


def test_a_forest_and_refusals(sfumato: Sfumato, folder: Path) -> None:
    done = sfumato(*FIT, "--method", "forest", "--epsilon", "4", "--declared-rows", "800")
    assert done.code == 0, done.err
    assert sfumato(*FIT, "--method", "oracle", "--overwrite").code == 2
    assert sfumato(*FIT, "--epsilon", "0.01", "--declared-rows", "800", "--overwrite").code == 2
    assert sfumato(*FIT, "--test", "test.csv", "--overwrite").code == 2
    (folder / "m.sfm").write_text("{}")
    assert sfumato("model", "show", "m.sfm").code == 2
    assert sfumato("model", "key", "my.key").code == 2


@pytest.mark.parametrize(
    "wrong",
    [
        ("--out", "nowhere/m.sfm"),
        ("--out", ".", "--overwrite"),
        ("--name", "a name / of its own"),
        ("--test", "absent.csv", "--test-epsilon", "1"),
        ("--test", "test.csv", "--test-epsilon", "1", "--subgroup", "none"),
        ("--test", "narrow.csv", "--test-is-public"),
    ],
)
def test_what_can_be_known_to_fail_is_refused_before_the_fit_is_paid_for(
    sfumato: Sfumato, folder: Path, wrong: tuple[str, ...]
) -> None:
    Ledger.open(folder / "study.ledger", Budget(epsilon=9.0))
    pyarrow.csv.write_csv(mixed(30, 2).to_arrow().drop(["ward"]), folder / "narrow.csv")
    done = sfumato(*FIT, "--epsilon", "4", "--ledger", "study.ledger", *wrong)
    assert done.code == 2, done.err
    assert Ledger.open(folder / "study.ledger").spent == 0


@pytest.mark.parametrize("spoilt", ["too little left", "an undeclared level", "no amount"])
def test_a_fit_is_never_paid_for_and_lost_to_its_test_rows(
    sfumato: Sfumato, folder: Path, spoilt: str
) -> None:
    Ledger.open(folder / "study.ledger", Budget(epsilon=4.2 if spoilt == "too little left" else 9.0))
    if spoilt == "an undeclared level":
        rows = mixed(30, 2).to_arrow()
        wards = ["secretward", *rows["ward"].to_pylist()[1:]]
        rows = rows.set_column(rows.column_names.index("ward"), "ward", [wards])
        pyarrow.csv.write_csv(rows, folder / "test.csv")
    amount = "-1" if spoilt == "no amount" else "0.5"
    done = sfumato(
        *FIT, "--epsilon", "4", "--ledger", "study.ledger", "--test", "test.csv", "--test-epsilon", amount
    )
    assert done.code == 2 and "secretward" not in done.err, done.err
    assert Ledger.open(folder / "study.ledger").spent == 0 and not (folder / "m.sfm").exists()


def test_fit_and_card_are_one_debit_and_the_model_outlives_its_judging(
    sfumato: Sfumato, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.prediction import card

    def broken(*_: object, **__: object) -> None:
        raise ParameterError("the judging broke.", hint="none")

    monkeypatch.setattr(card, "evaluated", broken)
    Ledger.open(folder / "study.ledger", Budget(epsilon=4.5))
    judged = ("--test", "test.csv", "--test-epsilon", "0.5")
    done = sfumato(*FIT, "--epsilon", "4", "--ledger", "study.ledger", *judged)
    assert done.code == 2 and "the judging broke" in done.err
    (line,) = (e for e in Ledger.open(folder / "study.ledger").entries() if e.kind == "debit")
    assert line.amount == 4.5 and "model card" in line.purpose
    assert sfumato("model", "verify", "m.sfm").code == NOT_TRUSTED  # paid for, and kept


def test_a_ledger_may_be_a_database_and_a_promise_to_persons(sfumato: Sfumato, folder: Path) -> None:
    done = sfumato(*FIT, "--ledger", "postgresql://nobody@127.0.0.1:1/none#study")
    assert done.code != 0 and "no ledger" not in done.err, done.err  # asked of a server, not of a folder
    persons = sfumato(*FIT, "--epsilon", "8", "--max-rows-per-person", "3", "--json")
    assert persons.code == 0, persons.err
    assert json.loads(persons.out)["guarantee"]["claims"][0]["unit"]["max_rows"] == 3


def test_the_same_source_is_not_paid_for_by_two_ledgers(sfumato: Sfumato, folder: Path) -> None:
    for name in ("one", "two"):
        Ledger.open(folder / f"{name}.ledger", Budget(epsilon=9.0))
    (folder / "link.csv").symlink_to(folder / "people.csv")
    again = (*FIT, "--overwrite", "--epsilon", "4")
    assert sfumato(*again).code == 0  # nobody keeps a budget yet
    assert sfumato(*again, "--ledger", "one.ledger").code == 0
    linked = [*again[:1], "link.csv", *again[2:]]
    for refused in (again, linked, (*again, "--ledger", "two.ledger"), (*linked, "--ledger", "two.ledger")):
        done = sfumato(*refused)
        assert done.code == 2 and "one.ledger" in done.err, done.err
    assert Ledger.open(folder / "two.ledger").spent == 0
    assert sfumato(*again, "--ledger", "one.ledger").code == 0
    assert sfumato(*again, "--ledger", "two.ledger", "--other-people").code == 0
    assert Ledger.open(folder / "one.ledger").spent == 8.0 and Ledger.open(folder / "two.ledger").spent == 4.0
