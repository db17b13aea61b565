"""Whatever fails, nothing is granted that was not debited, and nobody waits for ever."""

import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from sfumato.errors import (
    BudgetError,
    OutputError,
    VerificationError,
)
from sfumato.privacy import Ledger
from sfumato.privacy.ledger import files, witness

# -- the witness ---------------------------------------------------------------------------------------


def forked(work):
    """Run in a child with rights of its own; the name of the error it met, or what it returned."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = str(work())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


def test_a_witness_that_cannot_be_written_after_the_commit_means_no_grant(monkeypatch):
    """The debit stays; nothing looks like a put-back afterwards."""
    if os.geteuid() != 0:
        pytest.skip("needs to become another user")
    room = Path(tempfile.mkdtemp())
    try:
        room.chmod(0o777)
        monkeypatch.setenv("SFUMATO_STATE", str(room / "state"))
        ledger = Ledger.open(room / "x.ledger", 1.0)
        for path in room.rglob("*"):
            os.chown(path, 65534, 65534)
        seen = ledger._book.witness._file(ledger._book.id)
        os.chown(seen, 0, 0)
        seen.chmod(0o444)

        def as_nobody():
            os.setuid(65534)
            return ledger.grant(epsilon=0.25, purpose="x")

        answer = forked(as_nobody)
        assert answer.startswith("OutputError: the witness") and "stays so" in answer
        assert ledger.spent == 0.25 and not ledger.locked
        seen.chmod(0o000)  # and before the commit, nothing is debited either
        assert forked(as_nobody).startswith("OutputError: the witness")
        assert ledger.spent == 0.25
        ledger.grant(epsilon=0.75, purpose="the rest")
    finally:
        shutil.rmtree(room)


def test_a_state_folder_that_cannot_be_made_means_no_grant(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "file"))
    with pytest.raises(OutputError):
        Ledger.open(tmp_path / "x.ledger", 1.0).grant(epsilon=0.1, purpose="x")
    monkeypatch.delenv("SFUMATO_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    ledger = Ledger.open(tmp_path / "x.ledger", 1.0)
    assert ledger.spent == 0
    ledger.grant(epsilon=0.1, purpose="x")
    assert (tmp_path / "home" / "sfumato" / "ledgers").is_dir()
    assert (tmp_path / "home" / "sfumato").stat().st_mode & 0o077 == 0


def test_a_witness_of_which_only_a_part_fits_is_not_placed(tmp_path):
    def place():
        resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))  # the system writes 700 bytes, without an error
        with pytest.raises(OSError):
            witness._place(tmp_path / "seen", b"x" * 1024)
        return list(tmp_path.iterdir())

    assert forked(place) == "[]"


def test_an_era_that_is_no_number_of_a_line_is_refused(place, edit):
    ledger = Ledger.open(place, 1.0)
    edit(place, f"UPDATE meta SET value = '{'9' * 5000}' WHERE key = 'era'")
    for spend in (lambda: ledger.grant(epsilon=0.1, purpose="x"), lambda: Ledger.open(place)):
        with pytest.raises(VerificationError):
            spend()


def test_a_full_disk_at_any_point_grants_nothing_that_is_not_debited(tmp_path):
    """Files may not grow beyond a limit, which is met at one write or another."""
    for limit in (0, 100, 600, 1500, 4096, 9000, 13000):
        path = tmp_path / f"{limit}.ledger"
        ledger = Ledger.open(path, 1000.0)

        def spend(ledger=ledger, limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            granted = 0
            with contextlib.suppress(OutputError):
                while granted < 40:
                    ledger.grant(epsilon=1.0, purpose="x" * 400)
                    granted += 1
            return granted

        granted = int(forked(spend))
        assert granted <= ledger.spent <= granted + 1 and granted < 40
        assert not Ledger.open(path).locked


def test_a_process_that_is_stopped_does_not_keep_the_others_for_ever(place, monkeypatch):
    monkeypatch.setattr(witness, "_WAIT", 0.3)
    monkeypatch.setattr(files, "_WAIT", 0.3)
    Ledger.open(place, 1000.0)
    code = f"""
        import os
        from sfumato.privacy import Ledger
        ledger = Ledger.open({place!r})
        with ledger._book.writing() as step:
            os.write(1, b".")
            import time; time.sleep(60)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
    try:
        assert child.stdout.read(1) == b"."
        child.send_signal(signal.SIGSTOP)
        with pytest.raises(BudgetError, match="in use"):
            Ledger.look(place).grant(epsilon=1.0, purpose="x")
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    monkeypatch.setattr(witness, "_WAIT", 30.0)
    monkeypatch.setattr(files, "_WAIT", 30.0)
    Ledger.open(place).grant(epsilon=1.0, purpose="x")


# -- the clock -----------------------------------------------------------------------------------------


def move_last_entry_to(place, at):
    """Have the last line written at another time, by a clock that was wrong; the chain agrees."""
    columns = (
        "number, at, purpose, kind, asked, amount, delta, total, total_delta,"
        " client, client_total, client_delta, note, writer"
    )

    def change(run, sign):
        rows = run(f"SELECT {columns}, hash FROM entries ORDER BY number").fetchall()
        row = [*rows[-1][:14]]
        row[1] = at
        head = hashlib.sha256(json.dumps([rows[-2][14], *row]).encode()).hexdigest()
        run(f"UPDATE entries SET at = {sign}, hash = {sign} WHERE number = {sign}", (at, head, row[0]))
        run(f"UPDATE meta SET value = {sign} WHERE key = 'head'", (head,))

    if "#" in place:
        import psycopg

        url, _, name = place.partition("#")
        with psycopg.connect(url) as connection:
            connection.execute(f"SET search_path = sfumato_{name}")
            change(connection.execute, "%s")
    else:
        with contextlib.closing(sqlite3.connect(place)) as connection:
            change(connection.execute, "?")
            connection.commit()


def test_a_clock_that_was_set_back_grants_nothing_until_it_is_right_or_a_person_says_so(place, elsewhere):
    elsewhere("a")
    ledger = Ledger.open(place, 1.0)
    for _ in range(2):
        ledger.grant(epsilon=0.1, purpose="x")
    move_last_entry_to(place, "2199-01-01T00:00:00.000000+00:00")
    elsewhere("b")  # where the line was not seen otherwise
    ledger = Ledger.open(place)
    for _ in range(2):
        with pytest.raises(VerificationError, match="clock"):
            ledger.grant(epsilon=0.1, purpose="x")
    assert ledger.spent == 0.2 and "clock" in ledger.locked
    assert ledger.unlock() == 0
    ledger.grant(epsilon=0.1, purpose="x")
    assert ledger.spent == 0.3 and not Ledger.open(place).locked


def test_a_clock_that_was_set_right_by_a_little_keeps_the_log_in_order(place, elsewhere):
    from datetime import UTC, datetime, timedelta

    elsewhere("a")
    ledger = Ledger.open(place, 1.0)
    for _ in range(2):
        ledger.grant(epsilon=0.1, purpose="x")
    soon = (datetime.now(UTC) + timedelta(seconds=40)).isoformat(timespec="microseconds")
    move_last_entry_to(place, soon)
    elsewhere("b")
    Ledger.open(place).grant(epsilon=0.1, purpose="x")
    times = [e.at for e in Ledger.open(place).entries()]
    assert times == sorted(times)


# -- what a file of SQLite can hold beside its tables ---------------------------------------------------

TAKES_IT_BACK = (
    "CREATE TRIGGER a AFTER UPDATE ON meta BEGIN UPDATE meta SET value = OLD.value WHERE key = NEW.key;"
    " DELETE FROM entries WHERE hash = NEW.value; END",
    "CREATE TRIGGER b AFTER UPDATE ON accounts BEGIN UPDATE accounts SET spent = OLD.spent,"
    " spent_delta = OLD.spent_delta WHERE name = NEW.name; END",
)


@pytest.mark.parametrize(
    "hidden", [TAKES_IT_BACK, ("CREATE VIEW more AS SELECT * FROM entries",)], ids=["trigger", "view"]
)
def test_a_ledger_that_takes_debits_back_grants_nothing(tmp_path, hidden):
    """A trigger undoes each debit within its own transaction: every line is written, and none is there."""
    path = tmp_path / "x.ledger"
    ledger = Ledger.open(path, 1.0)
    ledger.grant(epsilon=0.1, purpose="before")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in hidden:
            connection.execute(statement)
        connection.commit()
    for use in (
        lambda: ledger.grant(epsilon=0.1, purpose="after"), lambda: Ledger.open(path), lambda: ledger.spent,
        lambda: Ledger.look(path), lambda: ledger.backup(tmp_path / "copy"),
    ):  # fmt: skip
        with pytest.raises(VerificationError, match="trigger or a view"):
            use()
