"""A ledger file that is damaged, edited, put back, held, read-only or out of room grants nothing."""

import contextlib
import os
import resource
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path

import pytest
from cli_support import PATIENCE
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import (
    BudgetError,
    DataError,
    OutputError,
    SfumatoError,
    VerificationError,
)
from sfumato.privacy import Budget, Ledger, Unit


def test_a_file_remembers(tmp_path):
    path = tmp_path / "a b?#%é.ledger"
    budget = Budget(rho=0.7, delta=1e-9, unit=Unit.person(3), neighbours="replace")
    Ledger.open(path, budget).grant(rho=0.1, purpose="x")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    again = Ledger.open(str(path))
    assert again.budget == budget and again.left == 0.6
    assert Ledger.open(path, budget).left == 0.6


@pytest.mark.parametrize(
    "other",
    [
        Budget(epsilon=2.0),
        Budget(rho=1.0),
        Budget(epsilon=1.0, unit=Unit.person(2)),
        Budget(epsilon=1.0, neighbours="replace"),
    ],
)
def test_another_budget_is_refused(tmp_path, other):
    path = tmp_path / "x.ledger"
    Ledger.open(path, 1.0)
    with pytest.raises(BudgetError, match="another budget"):
        Ledger.open(path, other)


def test_no_file_and_no_budget_is_refused(tmp_path):
    with pytest.raises(DataError):
        Ledger.open(tmp_path / "none.ledger")
    assert not list(tmp_path.iterdir())
    with pytest.raises(OutputError):
        Ledger.open(tmp_path / "no" / "folder" / "x.ledger", 1.0)
    with pytest.raises(SfumatoError):
        Ledger.open(tmp_path, 1.0)


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"SQLite format 3\0", b"not a ledger" * 500, os.urandom(9000)]
)
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "x.ledger"
    path.write_bytes(content)
    for budget in (None, 1.0):
        with pytest.raises(SfumatoError):
            Ledger.open(path, budget)
    assert path.read_bytes() == content


def test_another_database_is_refused(tmp_path):
    path = tmp_path / "x.ledger"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE meta (key, value)")
    with pytest.raises(DataError):
        Ledger.open(path, 1.0)


@pytest.fixture
def spent(tmp_path):
    path = tmp_path / "x.ledger"
    ledger = Ledger.open(path, 1.0)
    ledger.set_client("ward", 0.5)
    for amount, client in ((0.3, None), (0.2, "ward"), (0.1, None)):
        ledger.grant(epsilon=amount, purpose="x", client=client)
    return path


def edit(path, sql):
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE entries SET amount = 1 WHERE number = 1",
        "UPDATE entries SET amount = 0, total = total - amount WHERE number = 3",
        "UPDATE entries SET total = 0 WHERE number = 3",
        "UPDATE entries SET purpose = 'y' WHERE number = 2",
        "UPDATE entries SET at = '2020-01-01T00:00:00+00:00' WHERE number = 2",
        "UPDATE entries SET asked = 1 WHERE number = 2",
        "UPDATE entries SET hash = 'x' WHERE number = 2",
        "UPDATE entries SET amount = 'much' WHERE number = 2",
        "UPDATE entries SET amount = -5 WHERE number = 2",
        "UPDATE entries SET number = 9 WHERE number = 2",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries WHERE number = 3",
        "DELETE FROM entries",
        "DELETE FROM meta",
        "DELETE FROM meta WHERE key = 'head'",
        "UPDATE meta SET value = '9000000000000' WHERE key = 'amount'",
        "UPDATE meta SET value = 'much' WHERE key = 'amount'",
        "UPDATE meta SET value = 'rho' WHERE key = 'kind'",
        "UPDATE meta SET value = x'00' WHERE key = 'unit'",
        "UPDATE meta SET value = 'replace' WHERE key = 'neighbours'",
        "UPDATE meta SET value = '9' WHERE key = 'version'",
        "UPDATE meta SET value = '1' WHERE key = 'version'",
        "UPDATE meta SET value = '7' WHERE key = 'era'",
        "UPDATE meta SET value = 'many' WHERE key = 'era'",
        "INSERT INTO meta VALUES ('born', '1')",
        "UPDATE accounts SET spent = 0",
        "UPDATE accounts SET budget = budget * 2 WHERE name = ''",
        "DELETE FROM accounts WHERE name = ''",
        "UPDATE accounts SET spent = 0 WHERE name = 'ward'",
        "UPDATE accounts SET budget = 'much' WHERE name = 'ward'",
        "DELETE FROM accounts WHERE name = 'ward'",
        "INSERT INTO accounts VALUES ('stranger', 1, 0, 0, 0)",
        "UPDATE entries SET client = '' WHERE client = 'ward'",
        "UPDATE entries SET client_total = 0 WHERE number = 3",
        "DROP TABLE entries",
        "ALTER TABLE entries DROP COLUMN delta",
    ],
)
def test_an_edited_ledger_is_noticed_on_opening(spent, sql):
    edit(spent, sql)
    with pytest.raises(SfumatoError):
        Ledger.open(spent)
    with pytest.raises(SfumatoError):
        Ledger.open(spent, 1.0)


@pytest.mark.parametrize(
    "sql", ["DELETE FROM entries WHERE number = 4", "DELETE FROM entries", "DROP TABLE entries"]
)
def test_a_shortened_ledger_is_noticed_when_granting(spent, sql):
    ledger = Ledger.open(spent)
    edit(spent, sql)
    with pytest.raises(SfumatoError):
        ledger.grant(epsilon=0.1, purpose="x")


def test_a_ledger_that_was_put_back_is_noticed_by_who_kept_the_head(spent, tmp_path, elsewhere):
    old = tmp_path / "old"
    shutil.copy(spent, old)
    ledger = Ledger.open(spent)
    early = ledger.head
    ledger.grant(epsilon=0.1, purpose="later")
    late = ledger.head
    assert Ledger.open(spent, seen=early).head == late == Ledger.open(spent, seen=late).head
    os.replace(old, spent)
    elsewhere("b")  # where no witness has seen it
    Ledger.open(spent, seen=early)
    with pytest.raises(VerificationError, match="lost entries"):
        Ledger.open(spent, seen=late)
    spent.unlink()
    with pytest.raises(DataError):
        Ledger.open(spent, 1.0, seen=late)


@pytest.mark.parametrize("cut", [0, 1, 100, 4096, 5000, -1])
def test_a_truncated_ledger_is_refused(spent, cut):
    spent.write_bytes(spent.read_bytes()[:cut])
    with pytest.raises(SfumatoError):
        Ledger.open(spent, 1.0)


@given(st.integers(0, 2**15 - 1), st.integers(1, 255))
@settings(max_examples=60)
def test_a_flipped_byte_never_gives_budget_back(place, flip):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.ledger"
        shutil.copy(_template(), path)
        content = bytearray(path.read_bytes())
        content[place % len(content)] ^= flip
        path.write_bytes(content)
        with contextlib.suppress(SfumatoError):
            assert Ledger.open(path, 1.0).spent == 0.6


def _template():
    """One spent ledger for all examples."""
    if not hasattr(_template, "path"):
        folder = tempfile.mkdtemp()
        _template.path = Path(folder) / "x.ledger"
        ledger = Ledger.open(_template.path, 1.0)
        ledger.set_client("ward", 0.3)
        for amount in (0.3, 0.2, 0.1):
            ledger.grant(epsilon=amount, purpose="x", client="ward" if amount < 0.3 else None)
    return _template.path


def test_a_ledger_whose_journal_is_left_alone_is_not_started_anew(spent, elsewhere):
    journal = spent.with_name(f"{spent.name}-journal")
    journal.write_bytes(b"x")
    spent.unlink()
    elsewhere("b")
    with pytest.raises(OutputError, match="journal"):
        Ledger.open(spent, 1.0)


def forked(work):
    """Run in a child with rights of its own; the name of the error it met, or what it returned."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = str(work())
        except BaseException as error:
            answer = type(error).__name__
        os.write(write, answer.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return pipe.read()


def test_a_read_only_ledger_grants_nothing_and_can_be_read():
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "x.ledger"
        ledger = Ledger.open(path, 1.0)
        path.chmod(0o444)
        folder.chmod(0o555)

        def as_nobody(work):
            if os.geteuid() == 0:
                os.setuid(65534)
            return work()

        assert forked(lambda: as_nobody(lambda: ledger.grant(epsilon=0.1, purpose="x"))) == "OutputError"
        assert forked(lambda: as_nobody(lambda: Ledger.open(folder / "new.ledger", 1.0))) == "OutputError"
        assert forked(lambda: as_nobody(lambda: Ledger.open(path).left)) == "1.0"
        assert ledger.spent == 0
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_full_disk_grants_nothing(tmp_path):
    """The system refuses to let any file grow: what a full disk does."""
    path = tmp_path / "x.ledger"
    ledger = Ledger.open(path, 1.0)

    def with_no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        return ledger.grant(epsilon=0.1, purpose="x")

    assert forked(with_no_room) == "OutputError"
    assert ledger.spent == 0
    ledger.grant(epsilon=1.0, purpose="all of it is still there")


def test_a_ledger_held_by_others_is_waited_for(tmp_path):
    path = tmp_path / "x.ledger"
    ledger = Ledger.open(path, 1.0)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    done = []
    waiting = threading.Thread(target=lambda: done.append(ledger.grant(epsilon=0.1, purpose="x")))
    waiting.start()
    waiting.join(0.3)
    assert not done
    holder.execute("ROLLBACK")
    holder.close()
    waiting.join(PATIENCE)
    assert len(done) == 1


def test_a_ledger_held_for_too_long_grants_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.privacy.ledger.files._WAIT", 0.1)
    path = tmp_path / "x.ledger"
    ledger = Ledger.open(path, 1.0)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(BudgetError, match="in use"):
        ledger.grant(epsilon=0.1, purpose="x")
    holder.close()
    assert ledger.spent == 0


def test_no_message_holds_a_purpose(spent):
    with pytest.raises(BudgetError) as caught:
        Ledger.open(spent).grant(epsilon=1.0, purpose="patient 4711")
    assert "4711" not in str(caught.value)


def test_a_total_changed_while_open_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    ledger = Ledger.open(path, 1.0)
    ledger.grant(epsilon=0.9, purpose="a")
    with sqlite3.connect(path) as other:
        other.execute("UPDATE entries SET total = 0")
    with pytest.raises(VerificationError):
        ledger.grant(epsilon=0.9, purpose="b")
    assert path.stat().st_mode & 0o077 == 0


def test_of_two_first_fits_of_one_source_only_one_is_paid(tmp_path):
    """Both have noted the source while neither was spent from; the first debit decides, from any order."""
    source = tmp_path / "people.csv"
    ledgers = [Ledger.open(tmp_path / f"{name}.ledger", 1.0) for name in ("one", "two", "three")]
    for ledger in ledgers:
        ledger.pay_for(source)
    start, outcomes = threading.Barrier(len(ledgers)), []

    def spend(ledger):
        start.wait()
        try:
            ledger.grant(epsilon=0.5, purpose="x")
            outcomes.append("granted")
        except BudgetError as error:
            outcomes.append("refused" if "paid from ledger" in error.message else error.message)

    threads = [threading.Thread(target=spend, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["granted", "refused", "refused"]
    assert sorted(ledger.spent for ledger in ledgers) == [0, 0, 0.5]
    (payer,) = (ledger for ledger in ledgers if ledger.spent)
    assert Ledger.payer_of(source) == payer._book.name
    payer.grant(epsilon=0.5, purpose="y")  # its own goes on
