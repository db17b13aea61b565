"""A restored backup is no put-back: what was spent since is counted, or a person is asked."""

import os
from pathlib import Path

import pytest

from sfumato.errors import BudgetError, DataError, OutputError, SfumatoError, VerificationError
from sfumato.privacy import Budget, Ledger


def test_a_restored_backup_counts_what_was_spent_since(places, tmp_path):
    place, backup = places(), tmp_path / "study.backup"
    ledger = Ledger.open(place, 1.0)
    ledger.set_client("ward", 0.5)
    ledger.grant(epsilon=0.1, purpose="before", client="ward")
    ledger.backup(backup)
    ledger.grant(epsilon=0.3, purpose="after")
    new = places()
    restored = Ledger.restore(backup, new)
    assert restored.spent == 0.4 and restored.left_of("ward") == 0.4 and not restored.locked
    restored.grant(epsilon=0.6, purpose="the rest")
    assert [e.kind for e in restored.entries()] == ["client", "debit", "restore", "debit"]
    with pytest.raises(VerificationError, match="put back"):  # the first one is not spent a second time
        ledger.grant(epsilon=0.1, purpose="x")
    assert backup.stat().st_mode & 0o077 == 0
    with pytest.raises(VerificationError):
        Ledger.open(place)


def test_a_restore_in_place(file_places, tmp_path):
    path, backup = file_places(), tmp_path / "b"
    ledger = Ledger.open(path, 1.0)
    ledger.grant(epsilon=0.2, purpose="x")
    ledger.backup(backup)
    with pytest.raises(OutputError, match="there already"):
        Ledger.restore(backup, path)
    with pytest.raises(OutputError, match="there already"):
        ledger.backup(backup)
    ledger.grant(epsilon=0.2, purpose="x")
    os.unlink(path)
    assert Ledger.restore(backup, path).spent == 0.4
    os.unlink(path)
    assert Ledger.restore(backup, path).spent == 0.4  # once more, after a second loss
    Ledger.open(path).backup(backup, overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [Path(path).name, "b"]


def test_a_backup_is_no_ledger_and_a_ledger_no_backup(place, tmp_path, file_places):
    Ledger.open(place, 1.0).backup(tmp_path / "b")
    with pytest.raises(DataError) as caught:
        Ledger.open(tmp_path / "b", 1.0)
    assert "restore" in caught.value.hint
    ledger = file_places()
    Ledger.open(ledger, 1.0)
    with pytest.raises(DataError, match="not a backup"):
        Ledger.restore(ledger, file_places())
    (tmp_path / "junk").write_bytes(b"junk" * 3000)
    for bad in ("junk", "nowhere"):
        with pytest.raises(SfumatoError):
            Ledger.restore(tmp_path / bad, file_places())


def test_a_restore_where_nobody_knows_asks_a_person(places, tmp_path, elsewhere):
    elsewhere("a")
    place, backup = places(), tmp_path / "b"
    ledger = Ledger.open(place, 1.0)
    ledger.grant(epsilon=0.2, purpose="x")
    ledger.backup(backup)
    elsewhere("b")
    with pytest.raises(BudgetError, match="nobody here knows"):
        Ledger.restore(backup, places())
    assert Ledger.restore(backup, places(), lost=0.1).spent == 0.3
    elsewhere("c")
    assert Ledger.restore(backup, places(), lost="all").left == 0


def test_a_restore_of_what_others_wrote_too_asks_a_person(places, tmp_path, elsewhere):
    """Each machine knows what it saw last; the other may have spent after that."""
    place, backup = places(), tmp_path / "b"
    elsewhere("a")
    Ledger.open(place, 1.0).grant(epsilon=0.1, purpose="x")
    elsewhere("b")
    Ledger.open(place).grant(epsilon=0.1, purpose="x")
    elsewhere("a")
    Ledger.open(place).backup(backup)
    elsewhere("b")
    Ledger.open(place).grant(epsilon=0.3, purpose="x")
    elsewhere("a")
    with pytest.raises(BudgetError, match="nobody here knows"):
        Ledger.restore(backup, places())
    new = places()
    assert Ledger.restore(backup, new, lost=0.1).spent == 0.3
    elsewhere("b")
    with pytest.raises(VerificationError):  # whose witness knows of more
        Ledger.open(new)


def test_a_ledger_moves_between_databases(file_places, postgres_places, tmp_path):
    ledger = Ledger.open(file_places(), Budget(rho=1.0, delta=1e-6))
    ledger.set_client("ward", rho=0.5, delta=1e-9)
    ledger.grant(rho=0.1, delta=1e-9, purpose="é", client="ward")
    ledger.backup(tmp_path / "b")
    moved = Ledger.restore(tmp_path / "b", postgres_places())
    assert moved.clients() == ledger.clients() and moved.spent == 0.1 and moved.budget == ledger.budget
    moved.grant(rho=0.2, purpose="x", client="ward")
    moved.backup(tmp_path / "c")
    assert Ledger.restore(tmp_path / "c", file_places()).left_of("ward") == 0.2
