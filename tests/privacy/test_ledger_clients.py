"""Clients share a data set's budget: both accounts are debited, or neither; older ledgers still open."""

import contextlib
import hashlib
import json
import secrets
import sqlite3
import threading

import pytest

from sfumato.errors import BudgetError, ParameterError
from sfumato.privacy import Budget, Client, Ledger


def test_both_accounts_are_debited(make):
    ledger = make(1.0)
    assert ledger.clients() == ()
    ledger.set_client("ward", 0.3)
    grant = ledger.grant(epsilon=0.1, purpose="x", client="ward")
    assert grant.epsilon == 0.1 and (ledger.left, ledger.left_of("ward")) == (0.9, 0.2)
    ledger.grant(epsilon=0.5, purpose="x")
    assert (ledger.left, ledger.left_of("ward")) == (0.4, 0.2)
    assert ledger.clients() == (Client("ward", 0.3, 0.1, 0.2),)
    assert [(e.kind, e.client, e.amount) for e in ledger.entries()] == [
        ("client", "ward", 0.0), ("debit", "ward", 0.1), ("debit", None, 0.5)
    ]  # fmt: skip


def test_a_refusal_debits_neither(make):
    ledger = make(1.0)
    ledger.set_client("ward", 0.3)
    ledger.set_client("clinic", 9)
    with pytest.raises(BudgetError, match=r"client's budget does not cover this: .* epsilon = 0\.3 left"):
        ledger.grant(epsilon=0.31, purpose="x", client="ward")
    with pytest.raises(BudgetError, match=r"the budget does not cover"):
        ledger.grant(epsilon=1.1, purpose="x", client="clinic")
    for nobody in ("stranger", "", "Ward"):
        with pytest.raises(BudgetError, match="no budget"):
            ledger.grant(epsilon=0.1, purpose="x", client=nobody)
    assert ledger.spent == 0 and [c.spent for c in ledger.clients()] == [0, 0]
    assert ledger.left_of("clinic") == 1.0  # no more than the data set has
    with pytest.raises(BudgetError):
        ledger.left_of("stranger")


def test_another_budget_for_a_client_gives_nothing_back(make):
    ledger = make(1.0)
    ledger.set_client("ward", 0.3)
    ledger.grant(epsilon=0.2, purpose="x", client="ward")
    assert ledger.set_client("ward", 0.5) == Client("ward", 0.5, 0.2, 0.3)
    assert ledger.set_client("ward", 0.1) == Client("ward", 0.1, 0.2, 0.0)
    with pytest.raises(BudgetError):
        ledger.grant(epsilon=1e-12, purpose="x", client="ward")
    ledger.set_client("ward", 0)
    assert ledger.left_of("ward") == 0 and ledger.left == 0.8


def test_a_client_of_a_rho_budget(make):
    ledger = make(Budget(rho=1.0, delta=1e-6))
    with pytest.raises(ParameterError, match="in rho"):
        ledger.set_client("ward", 0.5)
    ledger.set_client("ward", rho=0.5, delta=1e-9)
    ledger.grant(epsilon=0.4, delta=1e-9, purpose="x", client="ward")
    assert ledger.left_of("ward") == 0.42 and ledger.clients()[0].left_delta == 0
    with pytest.raises(BudgetError, match="client"):
        ledger.grant(rho=0.1, delta=1e-15, purpose="x", client="ward")
    assert ledger.left == 0.92


@pytest.mark.parametrize("name", ["", " ", None, 3, "x" * 101, "\ud800", "a\0b"])
def test_a_client_has_a_name(make, name):
    with pytest.raises(ParameterError):
        make(1.0).set_client(name, 0.1)


@pytest.mark.parametrize("amount", [None, -0.1, float("nan"), float("inf"), "1", True, 1001])
def test_a_client_has_a_budget_that_is_a_number(make, amount):
    ledger = make(1.0)
    with pytest.raises(ParameterError):
        ledger.set_client("ward", amount)
    assert not ledger.entries()


def test_clients_racing_each_other_get_what_fits_both(make):
    """Room for 100 in the data set; client a has room for 30, b for 200."""
    ledger, granted, odd = make(1.0), {"a": 0, "b": 0}, []
    ledger.set_client("a", 0.3)
    ledger.set_client("b", 2.0)
    lock = threading.Lock()

    def spend(client):
        for _ in range(40):
            try:
                ledger.grant(epsilon=0.01, purpose="race", client=client)
            except BudgetError as error:
                if "does not cover" not in str(error):
                    odd.append(error)
                continue
            with lock:
                granted[client] += 1

    threads = [threading.Thread(target=spend, args=("ab"[i % 2],)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not odd and granted["a"] <= 30 and sum(granted.values()) == 100 and ledger.left == 0
    assert {c.name: round(c.spent * 100) for c in ledger.clients()} == granted


# -- ledgers of version 1 ----------------------------------------------------------------------------


def chained(before, line):
    return hashlib.sha256(json.dumps([before, *line]).encode()).hexdigest()


def write_version_1(path, amounts=(3, 2)):
    """A ledger as version 1 wrote it: budget epsilon = 1, tenths spent."""
    meta = {
        "version": "1", "id": secrets.token_hex(16), "kind": "epsilon", "amount": str(10**12), "delta": "0",
        "unit": json.dumps({"of": "row"}), "neighbours": "add/remove",
    }  # fmt: skip
    file = sqlite3.connect(path)
    file.executescript("""
        PRAGMA application_id = 1397116236;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE entries (
            number INTEGER PRIMARY KEY, at TEXT NOT NULL, purpose TEXT NOT NULL, kind TEXT NOT NULL,
            asked INTEGER NOT NULL, amount INTEGER NOT NULL, delta INTEGER NOT NULL,
            total INTEGER NOT NULL, total_delta INTEGER NOT NULL, hash TEXT NOT NULL);
    """)
    head, total = chained("", sorted(map(list, meta.items()))), 0
    for number, tenths in enumerate(amounts, 1):
        amount = tenths * 10**11
        total += amount
        line = (number, "2026-01-02T03:04:05.000006+00:00", "x", "epsilon", amount, amount, 0, total, 0)
        head = chained(head, line)
        file.execute(f"INSERT INTO entries VALUES ({'?,' * 9} ?)", (*line, head))
    file.executemany("INSERT INTO meta VALUES (?, ?)", {**meta, "head": head}.items())
    file.commit()
    file.close()
    return head


@pytest.mark.parametrize("amounts", [(), (3,), (3, 2)])
def test_a_ledger_of_version_1_opens_and_goes_on(tmp_path, amounts):
    path = tmp_path / "old.ledger"
    head = write_version_1(path, amounts)
    before = path.read_bytes()
    ledger = Ledger.open(path, 1.0)
    assert round(ledger.spent * 10) == sum(amounts) and ledger.head == head and ledger.clients() == ()
    assert len(ledger.entries()) == len(amounts) and path.read_bytes() == before  # looking changes nothing
    ledger.set_client("ward", 0.2)
    ledger.grant(epsilon=0.1, purpose="y", client="ward")
    again = Ledger.open(path, seen=head)
    assert round(again.spent * 10) == sum(amounts) + 1 and again.left_of("ward") == 0.1
    with pytest.raises(BudgetError):
        again.grant(epsilon=1.0, purpose="z")


def test_workers_bring_an_older_ledger_up_to_date_together(tmp_path):
    path = tmp_path / "old.ledger"
    write_version_1(path)
    ledgers, granted = [Ledger.open(path) for _ in range(4)], []

    def spend(ledger):
        for _ in range(4):
            with contextlib.suppress(BudgetError):
                granted.append(ledger.grant(epsilon=0.1, purpose="y"))

    threads = [threading.Thread(target=spend, args=(ledger,)) for ledger in ledgers]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(granted) == 5 and Ledger.open(path).left == 0


def test_several_grants_are_given_together_or_not_at_all(make):
    ledger = make(1.0)
    ledger.set_client("ward", 0.5)
    grants = ledger.grants(3, epsilon=0.1, purpose="three scores", client="ward")
    assert [g.epsilon for g in grants] == [0.1] * 3 and len(set(map(id, grants))) == 3
    with pytest.raises(BudgetError, match="client"):
        ledger.grants(3, epsilon=0.1, purpose="two would fit", client="ward")
    with pytest.raises(BudgetError):
        ledger.grants(8, epsilon=0.1, purpose="seven would fit")
    for number in (0, -1, 1.5, 10**9):
        with pytest.raises(ParameterError):
            ledger.grants(number, epsilon=0.01, purpose="x")
    assert ledger.spent == 0.3 and ledger.left_of("ward") == 0.2
    assert [e.amount for e in ledger.entries()] == [0, 0.1, 0.1, 0.1]  # each its line; the chain is walked
