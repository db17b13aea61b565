"""A ledger grants exactly what fits, keeps it through crashes, and notices when it was changed."""

import contextlib
import copy
import multiprocessing
import os
import pickle
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import (
    BudgetError,
    DataError,
    OutputError,
    ParameterError,
    SfumatoError,
    VerificationError,
)
from sfumato.privacy import ZCDP, Budget, Ledger, Neighbours, PureDP, Unit
from sfumato.privacy.rounding import exact


@pytest.fixture(params=["memory", "file"])
def make(request, tmp_path):
    """A new ledger with a budget, in memory and in a file."""
    names = iter(range(100))
    if request.param == "memory":
        return Ledger.in_memory
    return lambda budget: Ledger.open(tmp_path / f"{next(names)}.ledger", budget)


def test_tenths_fill_the_whole(make):
    ledger = make(1.0)
    for _ in range(10):
        ledger.grant(epsilon=0.1, purpose="a tenth")
    assert (ledger.spent, ledger.left) == (1.0, 0.0)
    with pytest.raises(BudgetError, match=r"1e-12 needed, epsilon = 0\.0 left"):
        ledger.grant(epsilon=1e-12, purpose="a crumb")
    assert ledger.claim("A") == PureDP(1.0, assumptions=("A",))


def test_a_refusal_debits_nothing(make):
    ledger = make(1.0)
    ledger.grant(epsilon=0.75, purpose="most")
    with pytest.raises(BudgetError, match=r"epsilon = 0\.25 left"):
        ledger.grant(epsilon=0.3, purpose="too much")
    assert ledger.left == 0.25 and len(ledger.entries()) == 1
    ledger.grant(epsilon=0.25, purpose="the rest")


def test_entries_say_what_when_and_why(make):
    ledger = make(Budget(rho=1.0, delta=1e-6))
    ledger.grant(rho=0.25, purpose="ages")
    ledger.grant(epsilon=0.1, delta=1e-9, purpose="Größe 体重")
    first, second = ledger.entries()
    assert (first.number, first.purpose) == (1, "ages")
    assert (first.rho, first.epsilon, first.amount) == (0.25, None, 0.25)
    assert (second.epsilon, second.amount, second.delta) == (0.1, 0.005, 1e-9)
    assert second.purpose == "Größe 体重"
    assert second.at >= first.at and second.at.utcoffset().total_seconds() == 0
    assert ledger.spent == 0.255 and ledger.left == 0.745
    assert exact(ledger.left_delta) == exact(1e-6) - exact(1e-9)
    assert ledger.claim(delta=1e-5).delta == 1e-5


@given(st.lists(st.floats(1e-13, 0.5), max_size=12))
@settings(max_examples=40)
def test_never_more_is_granted_than_the_budget(amounts):
    ledger, granted = Ledger.in_memory(1.0), []
    for amount in amounts:
        room = exact(ledger.left)
        try:
            granted.append(ledger.grant(epsilon=amount, purpose="x").loss)
            assert granted[-1] >= exact(amount)
        except BudgetError:
            assert exact(amount) > room - Fraction(1, 10**12)
    assert sum(granted, Fraction(0)) <= 1
    assert exact(ledger.spent) == sum(granted, Fraction(0)) and exact(ledger.left) == 1 - sum(
        granted, Fraction(0)
    )


def test_kinds_convert_only_where_it_is_sound(make):
    pure = make(Budget(epsilon=1.0))
    with pytest.raises(BudgetError, match="pure"):
        pure.grant(rho=0.1, purpose="zCDP from a pure budget")
    with pytest.raises(BudgetError, match="pure"):
        pure.grant(epsilon=0.1, delta=1e-9, purpose="delta from a pure budget")
    concentrated = make(Budget(rho=0.5))
    grant = concentrated.grant(epsilon=1.0, purpose="pure from a zCDP budget")
    assert grant.epsilon == 1.0 and concentrated.left == 0.0
    with pytest.raises(BudgetError):
        make(Budget(rho=0.5)).grant(rho=0.1, delta=1e-15, purpose="delta without any")
    assert concentrated.claim() == ZCDP(0.5)


@pytest.mark.parametrize(
    "amount",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": "1"},
        {"epsilon": True},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1},
        {"epsilon": 1e9},
    ],
)
def test_impossible_grants_are_refused(make, amount):
    ledger = make(1.0)
    with pytest.raises((ParameterError, BudgetError)):
        ledger.grant(**amount, purpose="x")
    assert ledger.spent == 0


@pytest.mark.parametrize("purpose", ["", "  ", None, 3, "x" * 501, "\ud800"])
def test_a_purpose_must_be_given(make, purpose):
    with pytest.raises(ParameterError):
        make(1.0).grant(epsilon=0.1, purpose=purpose)


def test_a_grant_splits_into_a_ledger_of_its_own():
    whole = Ledger.in_memory(Budget(rho=1.0, unit=Unit.person(2), neighbours=Neighbours.REPLACE))
    grant = whole.grant(rho=0.3, purpose="a model")
    part = Ledger.within(grant)
    assert grant.burnt and part.budget == Budget(rho=0.3, unit=Unit.person(2), neighbours="replace")
    for _ in range(3):
        part.grant(rho=0.1, purpose="a table")
    with pytest.raises(BudgetError):
        part.grant(rho=0.1, purpose="one more")
    with pytest.raises(BudgetError):
        Ledger.within(grant)
    assert whole.spent == 0.3


def test_ledgers_are_not_copied(make):
    ledger = make(1.0)
    for steal in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BudgetError):
            steal(ledger)


# -- many at once ------------------------------------------------------------------------------------


def test_sixteen_threads_grant_exactly_what_fits(make):
    ledger, granted, odd = make(Budget(epsilon=1.0)), [], []
    start = threading.Barrier(16)

    def spend():
        start.wait()
        for _ in range(40):
            try:
                granted.append(ledger.grant(epsilon=0.01, purpose="race"))
            except BudgetError as error:
                if "does not cover" not in str(error):
                    odd.append(error)

    threads = [threading.Thread(target=spend) for _ in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(granted) == 100 == len(ledger.entries()) and not odd and ledger.left == 0


def _spend(path, go, answers):
    granted = 0
    go.wait()
    ledger = Ledger.open(path, 1.0)  # all of them try to be the first
    for _ in range(60):
        try:
            ledger.grant(epsilon=0.01, purpose=f"process {os.getpid()}")
            granted += 1
        except BudgetError:
            pass
    answers.put(granted)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_four_processes_grant_exactly_what_fits(tmp_path, method):
    context = multiprocessing.get_context(method)
    go, answers = context.Barrier(4), context.Queue()
    path = tmp_path / "shared.ledger"
    workers = [context.Process(target=_spend, args=(path, go, answers)) for _ in range(4)]
    [w.start() for w in workers]
    granted = [answers.get(timeout=60) for _ in workers]
    [w.join(60) for w in workers]
    assert sum(granted) == 100 == len(Ledger.open(path).entries())
    assert [p.name for p in tmp_path.iterdir()] == ["shared.ledger"]  # nothing is left behind


def test_kill_9_between_debit_and_draw_leaves_the_debit(tmp_path):
    path = tmp_path / "killed.ledger"
    code = f"""
        import time
        from sfumato.privacy import Ledger
        grant = Ledger.open({str(path)!r}, 1.0).grant(epsilon=0.4, purpose="never drawn")
        print("debited", flush=True)
        time.sleep(60)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"debited\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    ledger = Ledger.open(path)
    assert ledger.left == 0.6 and ledger.entries()[0].purpose == "never drawn"


def test_kill_9_at_any_moment_leaves_a_sound_ledger(tmp_path):
    """What was reported as granted is in the ledger, at most one debit more (the one in flight)."""
    path = tmp_path / "killed.ledger"
    Ledger.open(path, 1000.0)
    code = f"""
        import os
        from sfumato.privacy import Ledger
        ledger = Ledger.open({str(path)!r})
        while True:
            ledger.grant(epsilon=0.01, purpose="again")
            os.write(1, b".")
    """
    before = 0
    for length in (1, 2, 5, 9, 17):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
        reported = len(child.stdout.read(length))
        child.send_signal(signal.SIGKILL)
        reported += len(child.stdout.read())
        child.wait()
        child.stdout.close()
        now = len(Ledger.open(path).entries())
        assert reported <= now - before <= reported + 1
        before = now


# -- files -------------------------------------------------------------------------------------------


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
    for amount in (0.3, 0.2, 0.1):
        ledger.grant(epsilon=amount, purpose="x")
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
        "UPDATE meta SET value = '2' WHERE key = 'version'",
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
    "sql", ["DELETE FROM entries WHERE number = 3", "DELETE FROM entries", "DROP TABLE entries"]
)
def test_a_shortened_ledger_is_noticed_when_granting(spent, sql):
    ledger = Ledger.open(spent)
    edit(spent, sql)
    with pytest.raises(SfumatoError):
        ledger.grant(epsilon=0.1, purpose="x")


def test_a_ledger_that_was_put_back_is_noticed_by_who_kept_the_head(spent, tmp_path):
    old = tmp_path / "old"
    shutil.copy(spent, old)
    ledger = Ledger.open(spent)
    early = ledger.head
    ledger.grant(epsilon=0.1, purpose="later")
    late = ledger.head
    assert Ledger.open(spent, seen=early).head == late == Ledger.open(spent, seen=late).head
    os.replace(old, spent)
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


@given(st.integers(0, 12287), st.integers(1, 255))
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
        for amount in (0.3, 0.2, 0.1):
            ledger.grant(epsilon=amount, purpose="x")
    return _template.path


def test_a_ledger_whose_journal_is_left_alone_is_not_started_anew(spent):
    journal = spent.with_name(f"{spent.name}-journal")
    journal.write_bytes(b"x")
    spent.unlink()
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
    waiting.join(30)
    assert len(done) == 1


def test_a_ledger_held_for_too_long_grants_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.privacy._store._WAIT", 0.1)
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
