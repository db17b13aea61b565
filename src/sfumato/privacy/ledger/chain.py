"""The log of a ledger: entries chained by SHA-256, and the accounts that must agree with them.

    meta       what was fixed at the start (id, budget, unit, neighbours), and the head of the chain
    accounts   one row each for the data set (its name is empty) and for every client: budget and spent,
               amount and delta side by side, in whole units
    entries    what happened, one line each; the totals after it are part of the line

The first link of the chain holds the budget. Each later one holds its whole line and the link before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from sfumato.errors import DataError, SfumatoError, VerificationError
from sfumato.privacy.base import Neighbours, Unit
from sfumato.privacy.grants import DELTA_UNIT, UNIT, Budget
from sfumato.privacy.rounding import down
from sfumato.progress import report

VERSION = "2"
DEBITS = ("epsilon", "rho")  # the kinds of lines that paid for a grant
GAPS = ("unlock", "restore")  # those by which a person accounted for lines that were lost
_FIXED = ("version", "id", "kind", "amount", "delta", "unit", "neighbours")
_STEP = 2000  # lines read at once


class Row(NamedTuple):
    """A line of the log.

    asked: what was asked for, in the kind named; of a client's budget, its amount; of a gap, its era.
    amount, delta: what it took from the budget. total, total_delta: the data set's totals after it.
    client, client_total, client_delta: whose it was, and that client's totals after it.
    note: of a client's budget, its delta; of a gap, the head that was lost.
    writer: the place whose witness saw it (see witness.py).
    """

    number: int
    at: str
    purpose: str
    kind: str
    asked: int
    amount: int
    delta: int
    total: int
    total_delta: int
    client: str = ""
    client_total: int = 0
    client_delta: int = 0
    note: str = ""
    writer: str = ""
    hash: str = ""


_PLAIN = ("", 0, 0, "", "")  # what version 1 did not have: a line without any of it is hashed as it was then
COLUMNS = ", ".join(Row._fields)
_COLUMNS_1 = ", ".join([*Row._fields[:9], "'', 0, 0, '', ''", "hash"])
_INSERT = f"INSERT INTO entries ({COLUMNS}) VALUES ({', '.join('?' * len(Row._fields))})"

SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE entries ("
    " number INTEGER PRIMARY KEY, at TEXT NOT NULL, purpose TEXT NOT NULL, kind TEXT NOT NULL,"
    " asked BIGINT NOT NULL, amount BIGINT NOT NULL, delta BIGINT NOT NULL,"
    " total BIGINT NOT NULL, total_delta BIGINT NOT NULL,"
    " client TEXT NOT NULL DEFAULT '', client_total BIGINT NOT NULL DEFAULT 0,"
    " client_delta BIGINT NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '',"
    " writer TEXT NOT NULL DEFAULT '', hash TEXT NOT NULL)",
    "CREATE INDEX entries_by_client ON entries (client, number)",
    "CREATE TABLE accounts ("
    " name TEXT PRIMARY KEY, budget BIGINT NOT NULL, budget_delta BIGINT NOT NULL,"
    " spent BIGINT NOT NULL DEFAULT 0, spent_delta BIGINT NOT NULL DEFAULT 0)",
)
_UPGRADE = (
    "ALTER TABLE entries ADD COLUMN client TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE entries ADD COLUMN client_total BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE entries ADD COLUMN client_delta BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE entries ADD COLUMN note TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE entries ADD COLUMN writer TEXT NOT NULL DEFAULT ''",
    *SCHEMA[2:],
    "UPDATE meta SET value = '2' WHERE key = 'version'",
    "INSERT INTO meta (key, value) VALUES ('born', '1'), ('era', '0')",
)


class Connection(Protocol):
    """What the log needs of a database: SQL with question marks, within a transaction."""

    def execute(self, sql: str, parameters: tuple[Any, ...] = ..., /) -> Any:
        """Run one statement; the cursor has fetchone, fetchall and rowcount."""


class State(NamedTuple):
    """Where a ledger stands."""

    id: str
    number: int
    total: int
    total_delta: int
    head: str
    era: int  # how often lost lines were accounted for
    last: str  # when the last line was written; empty if none was


class Account(NamedTuple):
    """A row of accounts."""

    name: str
    budget: int
    budget_delta: int
    spent: int
    spent_delta: int


# -- links -------------------------------------------------------------------------------------------

_written = json.JSONEncoder(ensure_ascii=True, default=repr).encode


def _chained(before: str, line: tuple[Any, ...]) -> str:
    return hashlib.sha256(_written([before, *line]).encode()).hexdigest()


def link(before: str, row: Row) -> str:
    """The hash of a line that follows `before`."""
    return _chained(before, row[:9] if row[9:14] == _PLAIN else row[:14])


def genesis(meta: dict[str, str]) -> str:
    """The first link holds the budget, so that changing it breaks the chain."""
    fixed = {key: meta[key] for key in _FIXED if key in meta}
    if "born" in meta:
        fixed["version"] = meta["born"]
    return _chained("", tuple(sorted(fixed.items(), key=repr)))


def started(budget: Budget, identity: str) -> dict[str, str]:
    """The meta of a new ledger."""
    amount, delta = budget.units
    meta = {
        "version": VERSION,
        "id": identity,
        "kind": budget.kind,
        "amount": str(amount),
        "delta": str(delta),
        "unit": json.dumps(budget.unit.to_dict()),
        "neighbours": str(budget.neighbours),
    }
    return {**meta, "era": "0", "head": genesis(meta)}


def lay_out(connection: Connection, meta: dict[str, str]) -> None:
    """Make the tables of a new ledger, within a transaction."""
    for statement in SCHEMA:
        connection.execute(statement)
    for item in meta.items():
        connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", item)
    _open_account(connection, "", int(meta["amount"]), int(meta["delta"]))


def upgrade(connection: Connection, name: str) -> None:
    """Bring a ledger of version 1 up to date, within the transaction that writes to it first."""
    meta = _meta(connection, name)
    if meta["version"] == VERSION:
        return
    state = where(connection, name)
    for statement in _UPGRADE:
        connection.execute(statement)
    _open_account(connection, "", int(meta["amount"]), int(meta["delta"]))
    connection.execute(
        "UPDATE accounts SET spent = ?, spent_delta = ? WHERE name = ''", (state.total, state.total_delta)
    )


def _open_account(connection: Connection, name: str, budget: int, budget_delta: int) -> None:
    connection.execute(
        "INSERT INTO accounts (name, budget, budget_delta) VALUES (?, ?, ?)", (name, budget, budget_delta)
    )


# -- reading -----------------------------------------------------------------------------------------


def _meta(connection: Connection, name: str) -> dict[str, str]:
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    if meta.get("version") not in ("1", VERSION):
        raise DataError(f"ledger {name} has another version than {VERSION}.", hint="upgrade Sfumato")
    return meta


def _rows(connection: Connection, meta: dict[str, str], rest: str, *given: Any) -> list[Row]:
    columns = _COLUMNS_1 if meta["version"] == "1" else COLUMNS
    return [
        Row(*row) for row in connection.execute(f"SELECT {columns} FROM entries {rest}", given).fetchall()
    ]


def where(connection: Connection, name: str) -> State:
    """The end of the chain; the last line must be the one the head points to, the account must agree."""
    meta = _meta(connection, name)
    head = str(meta.get("head"))
    rows = _rows(connection, meta, "ORDER BY number DESC LIMIT 2")
    if not rows:
        if head != genesis(meta):
            raise broken(name)
        last = Row(0, "", "", "", 0, 0, 0, 0, 0)
    else:
        # The whole chain is walked on opening; a change since then shows here if it touches the totals.
        last, before = rows[0], rows[1].hash if len(rows) > 1 else genesis(meta)
        if last.hash != head or link(before, last) != head:
            raise broken(name)
    if meta["version"] != "1":
        own = account(connection, "")
        if own is None or (str(own.budget), str(own.budget_delta)) != (meta.get("amount"), meta.get("delta")):
            raise broken(name)
        if (own.spent, own.spent_delta) != (last.total, last.total_delta):
            raise broken(name)
    era = str(meta.get("era", "0"))
    if not era.isdecimal():
        raise broken(name)
    return State(str(meta.get("id")), last.number, last.total, last.total_delta, head, int(era), last.at)


def account(connection: Connection, name: str) -> Account | None:
    """One account: the data set's has an empty name."""
    row = connection.execute(
        "SELECT name, budget, budget_delta, spent, spent_delta FROM accounts WHERE name = ?", (name,)
    ).fetchone()
    return None if row is None else Account(*row)


def accounts(connection: Connection, name: str) -> list[Account]:
    """The accounts of all clients."""
    if _meta(connection, name)["version"] == "1":
        return []
    rows = connection.execute(
        "SELECT name, budget, budget_delta, spent, spent_delta FROM accounts"
    ).fetchall()
    return [Account(*row) for row in rows if row[0] != ""]


def client_account(connection: Connection, client: str, name: str) -> Account | None:
    """A client's account, compared with the client's last line."""
    found = account(connection, client)
    row = connection.execute(
        "SELECT client_total, client_delta FROM entries WHERE client = ? ORDER BY number DESC LIMIT 1",
        (client,),
    ).fetchone()
    if (None if found is None else (found.spent, found.spent_delta)) != (None if row is None else tuple(row)):
        raise broken(name)
    return found


def hash_at(connection: Connection, number: int, name: str) -> str:
    """The link after so many lines; empty if there are fewer."""
    if number == 0:
        return genesis(_meta(connection, name))
    row = connection.execute("SELECT hash FROM entries WHERE number = ?", (number,)).fetchone()
    return "" if row is None else str(row[0])


def lines(connection: Connection, name: str) -> Iterator[Row]:
    """All lines, oldest first, some thousand at a time."""
    meta, number = _meta(connection, name), -1
    while rows := _rows(connection, meta, f"WHERE number > ? ORDER BY number LIMIT {_STEP}", number):
        yield from rows
        number = rows[-1].number


def check(connection: Connection, name: str, seen: str = "") -> Budget:
    """Walk the whole chain and compare the accounts with it; give back the budget it begins with."""
    meta = _meta(connection, name)
    head, era, noticed = genesis(meta), 0, not seen or seen == genesis(meta)
    number = total = total_delta = 0
    clients: dict[str, Account] = {}
    for row in lines(connection, name):
        head = link(head, row)
        noticed = noticed or seen == head
        if not all(type(value) is int and value >= 0 for value in (row.asked, row.amount, row.delta)):
            raise broken(name)
        number, total, total_delta = number + 1, total + row.amount, total_delta + row.delta
        if row.hash != head or (row.number, row.total, row.total_delta) != (number, total, total_delta):
            raise broken(name)
        if row.client and not _follows(clients, row):
            raise broken(name)
        era = row.asked if row.kind in GAPS else era
        if number % _STEP == 0:
            report("Checking the ledger", number)
    state = where(connection, name)
    if (state.head, state.number, state.era) != (head, number, era):
        raise broken(name)
    if set(accounts(connection, name)) != set(clients.values()):
        raise broken(name)
    if not noticed:
        raise VerificationError(
            f"ledger {name} has lost entries that were seen before.",
            hint="an old copy was put back: restore the last one",
        )
    return _budget(meta, name)


def _follows(clients: dict[str, Account], row: Row) -> bool:
    """Whether a client's line follows from the lines before, which it joins."""
    known = clients.get(row.client)
    if row.kind == "client":
        if not isinstance(row.note, str) or not row.note.isdecimal():
            return False
        spent = (0, 0) if known is None else known[3:]
        clients[row.client] = Account(row.client, row.asked, int(row.note), *spent)
    elif known is None or row.kind not in DEBITS:
        return False
    else:
        after = (known.spent + row.amount, known.spent_delta + row.delta)
        clients[row.client] = known._replace(spent=after[0], spent_delta=after[1])
    return (row.client_total, row.client_delta) == clients[row.client][3:]


def _budget(meta: dict[str, str], name: str) -> Budget:
    try:
        amount = down(Fraction(int(meta["amount"]), UNIT))
        delta = down(Fraction(int(meta["delta"]), DELTA_UNIT))
        unit, neighbours = Unit.from_dict(json.loads(meta["unit"])), Neighbours(meta["neighbours"])
        pure = meta["kind"] == "epsilon"
        return Budget(amount if pure else None, None if pure else amount, delta, unit, neighbours)
    except (KeyError, TypeError, ValueError, SfumatoError):
        raise broken(name) from None


def broken(name: str) -> VerificationError:
    """The refusal of a ledger that does not agree with itself."""
    return VerificationError(
        f"ledger {name} was changed by other means than this program. Nothing was granted.",
        hint="restore the file; what was spent cannot be known from this one",
    )


# -- writing -----------------------------------------------------------------------------------------


def append(connection: Connection, state: State, row: Row, name: str) -> State:
    """Write one line and what it takes; the head must still be where the line begins.

    The database adds up and compares as well: of two writers that both believed to be alone, one would fail.
    """
    row = row._replace(hash=link(state.head, row))
    connection.execute(_INSERT, row)
    era = row.asked if row.kind in GAPS else state.era
    moved = connection.execute(
        "UPDATE meta SET value = ? WHERE key = 'head' AND value = ?", (row.hash, state.head)
    ).rowcount
    connection.execute("UPDATE meta SET value = ? WHERE key = 'era'", (str(era),))
    if row.kind in DEBITS:
        names = ("",) if not row.client else ("", row.client)
        debited = all(_debited(connection, account, row.amount, row.delta) for account in names)
    elif row.kind == "client":
        debited = _allowed(connection, row)
    else:  # what a person accounted for may exceed the budget: then nothing is left
        debited = _debited(connection, "", row.amount, row.delta, fits="")
    if moved != 1 or not debited:
        raise broken(name)
    return State(state.id, row.number, row.total, row.total_delta, row.hash, era, row.at)


_FITS = " AND spent + ? <= budget AND spent_delta + ? <= budget_delta"


def _debited(connection: Connection, name: str, amount: int, delta: int, fits: str = _FITS) -> bool:
    """Debit an account where it still fits."""
    given = (amount, delta, name) + ((amount, delta) if fits else ())
    sql = "UPDATE accounts SET spent = spent + ?, spent_delta = spent_delta + ? WHERE name = ?" + fits
    return bool(connection.execute(sql, given).rowcount == 1)


def _allowed(connection: Connection, row: Row) -> bool:
    """Give a client a budget, or another one; what was spent stays spent."""
    if account(connection, row.client) is None:
        _open_account(connection, row.client, row.asked, int(row.note))
        return True
    sql = "UPDATE accounts SET budget = ?, budget_delta = ? WHERE name = ?"
    return bool(connection.execute(sql, (row.asked, int(row.note), row.client)).rowcount == 1)
