"""The ledger's commands: look, check, divide, unlock, back up and restore."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cli_support import Answer, Sfumato

from sfumato.privacy import Budget, Ledger
from sfumato.privacy.base import Unit


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with one debit, on a machine of its own."""
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    path = tmp_path / "study.ledger"
    Ledger.open(path, 1.0).grant(epsilon=0.25, purpose="discharges by sex [bold]")
    return path


@pytest.fixture
def put_back(study: Path) -> Path:
    """The same after a copy of it was put back, 0.5 later."""
    shutil.copy(study, study.with_name("old"))
    Ledger.open(study).grant(epsilon=0.5, purpose="later")
    shutil.copy(study.with_name("old"), study)
    return study


def told(answer: Answer, code: int = 0) -> dict:
    assert answer.code == code, answer.all
    return json.loads(answer.out)


def test_clients_are_given_budgets_and_shown(study: Path, sfumato: Sfumato) -> None:
    assert told(sfumato("ledger", "client", study, "ward", "--budget", "0.5", "--json"))["left"] == 0.5
    Ledger.open(study).grant(epsilon=0.1, purpose="x", client="ward")
    shown = sfumato("ledger", "show", study)
    assert shown.code == 0 and "ward" in shown.out and "Left   0.65" in shown.out
    found = told(sfumato("ledger", "show", study, "--json"))
    assert found["clients"] == [{"name": "ward", "budget": 0.5, "spent": 0.1, "left": 0.4}]
    assert [e["kind"] for e in found["entries"]] == ["debit", "client", "debit"] and not found["locked"]
    assert sfumato("ledger", "client", study, "ward", "--budget", "-1").code == 2


def test_a_client_of_a_rho_ledger(tmp_path: Path, sfumato: Sfumato) -> None:
    Ledger.open(tmp_path / "r.ledger", Budget(rho=0.5, delta=1e-6))
    answer = sfumato("ledger", "client", "r.ledger", "ward", "--budget", "0.1", "--delta", "1e-9", "--json")
    assert told(answer)["budget"] == 0.1


def test_verify_says_whether_it_grants(study: Path, sfumato: Sfumato) -> None:
    answer = sfumato("ledger", "verify", study)
    assert answer.code == 0 and "Unbroken, and as last seen here: 1 entries." in answer.out
    head = told(sfumato("ledger", "verify", study, "--json"))["head"]
    assert sfumato("ledger", "verify", study, "--seen", head).code == 0
    found = told(sfumato("ledger", "verify", study, "--seen", "0" * 64, "--json"), 1)
    assert not found["ok"] and "lost" in found["problem"]
    assert sfumato("ledger", "verify", "nowhere").code == 2


def test_a_put_back_ledger_is_seen_and_unlocked(put_back: Path, sfumato: Sfumato) -> None:
    answer = sfumato("ledger", "verify", put_back)
    assert answer.code == 1 and "BROKEN" in answer.out and "put back" in answer.out
    assert "locked" in sfumato("ledger", "show", put_back).err
    for wrong in ("0.1", "much", "nan", "-3"):
        refused = sfumato("ledger", "unlock", put_back, "--lost", wrong)
        assert refused.code == 2 and "Hint" in refused.err
    found = told(sfumato("ledger", "unlock", put_back, "--reason", "ticket 12", "--json"))
    assert (found["counted"], found["left"]) == (0.5, 0.25)
    assert sfumato("ledger", "verify", put_back).code == 0
    assert "unlock: ticket 12" in sfumato("ledger", "show", put_back).out
    again = sfumato("ledger", "unlock", put_back)
    assert again.code == 2 and "not locked" in again.err


def test_unlock_counts_all_that_is_left(put_back: Path, sfumato: Sfumato) -> None:
    assert told(sfumato("ledger", "unlock", put_back, "--lost", "all", "--json"))["left"] == 0


def test_backup_and_restore(study: Path, sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sfumato("ledger", "backup", study, "--out", "b").code == 0
    assert sfumato("ledger", "backup", study, "--out", "b").code == 2
    assert told(sfumato("ledger", "backup", study, "-o", "b", "--overwrite", "--json"))["entries"] == 1
    Ledger.open(study).grant(epsilon=0.25, purpose="since")
    assert "there already" in sfumato("ledger", "restore", "b", study).err
    study.unlink()
    assert "Restored: 0.25" in sfumato("ledger", "restore", "b", study).out
    assert sfumato("ledger", "verify", study).code == 0 and Ledger.open(study).left == 0.5
    refused = sfumato("ledger", "show", "b")
    assert refused.code == 2 and "restore" in refused.err
    monkeypatch.setenv("SFUMATO_STATE", str(study.parent / "another machine"))
    asked = sfumato("ledger", "restore", "b", "new.ledger")
    assert asked.code == 2 and "--lost" in asked.err
    assert told(sfumato("ledger", "restore", "b", "new.ledger", "--lost", "0.5", "--json"))["left"] == 0.25


def test_a_url_is_taken_where_a_file_is(postgres_url: str, sfumato: Sfumato) -> None:
    missing = sfumato("ledger", "show", f"{postgres_url}#never_made")
    assert missing.code == 2 and "no ledger never_made" in missing.err


def test_a_ledger_is_started_with_clients(study: Path, sfumato: Sfumato) -> None:
    start = ("ledger", "new", "ward.ledger", "--data-set", "Ward 3, 2024", "--epsilon", "2")
    made = told(sfumato(*start, "--client", "clinic=0.5", "--client", "a=b=1", "--json"))
    assert made["data_set"] == "Ward 3, 2024" and made["budget"]["amount"] == 2.0 and made["spent"] == 0
    assert [(c["name"], c["left"]) for c in made["clients"]] == [("a=b", 1.0), ("clinic", 0.5)]
    assert "Ward 3, 2024" in sfumato("ledger", "show", "ward.ledger").out
    assert sfumato(*start).code == 2  # it is there already
    persons = ("--data-set", "x", "--rho", "0.5", "--delta", "1e-6", "--max-rows-per-person", "3")
    assert sfumato("ledger", "new", "p.ledger", *persons).code == 0
    assert Ledger.open(study.with_name("p.ledger")).budget == Budget(rho=0.5, delta=1e-6, unit=Unit.person(3))


@pytest.mark.parametrize(
    "wrong",
    [
        ("--epsilon", "1"),
        ("--data-set", " ", "--epsilon", "1"),
        ("--data-set", "x"),
        ("--data-set", "x", "--epsilon", "1", "--rho", "1"),
        ("--data-set", "x", "--epsilon", "0"),
        ("--data-set", "x", "--epsilon", "1", "--client", "clinic"),
        ("--data-set", "x", "--epsilon", "1", "--client", "clinic=-1"),
        ("--data-set", "x", "--epsilon", "1", "--client", "=1"),
    ],
)
def test_what_is_wrong_starts_no_ledger(study: Path, sfumato: Sfumato, wrong: tuple[str, ...]) -> None:
    assert sfumato("ledger", "new", "n.ledger", *wrong).code == 2
    assert not study.with_name("n.ledger").exists()


def test_no_second_ledger_is_started_for_a_data_set(study: Path, sfumato: Sfumato) -> None:
    start = ("--epsilon", "1", "--data-set")
    assert sfumato("ledger", "new", "a.ledger", *start, "Ward 3").code == 0
    assert sfumato("ledger", "new", "b.ledger", *start, "ward  3").code == 0  # nothing was spent yet
    Ledger.open(study.with_name("a.ledger")).grant(epsilon=0.1, purpose="x")
    Ledger.open(study.with_name("a.ledger"))
    refused = sfumato("ledger", "new", "c.ledger", *start, "WARD 3")
    assert refused.code == 2 and "a.ledger" in refused.err and not study.with_name("c.ledger").exists()
    assert sfumato("ledger", "client", "b.ledger", "x", "--budget", "1").code == 2  # nor begun with
    assert sfumato("ledger", "new", "d.ledger", *start, "ward 4").code == 0
