"""The tables of a ledger, the same in every database.

meta       what was fixed at the start (id, budget, unit, neighbours, the data set's name if one was
           declared), and the head of the chain
accounts   one row each for the data set (its name is empty) and for every client: budget and spent,
           amount and delta side by side, in whole units
entries    what happened, one line each; the totals after it are part of the line
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from sfumato.errors import ParameterError

VERSION = "2"


class Row(NamedTuple):
    """A line of the log.

    asked: what was asked for, in the kind named; of a client's budget, its amount; of a gap, its era.
    amount, delta: what it took from the budget. total, total_delta: the data set's totals after it.
    client, client_total, client_delta: whose it was, and that client's totals after it.
    note: of a debit, the number of the line that was witnessed before; of a client's budget, its delta; of a
        gap, the head that was lost.
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


DEBITS = ("epsilon", "rho")  # the kinds of lines that paid for a grant
GAPS = ("unlock", "restore")  # those by which a person accounted for lines that were lost
PLAIN = ("", 0, 0, "", "")  # what version 1 did not have: a line without any of it is hashed as it was then
COLUMNS = ", ".join(Row._fields)
COLUMNS_1 = ", ".join([*Row._fields[:9], "'', 0, 0, '', ''", "hash"])
INSERT = f"INSERT INTO entries ({COLUMNS}) VALUES ({', '.join('?' * len(Row._fields))})"
OPEN_ACCOUNT = "INSERT INTO accounts (name, budget, budget_delta, spent, spent_delta) VALUES (?, ?, ?, ?, ?)"

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
UPGRADE = (
    "ALTER TABLE entries ADD COLUMN client TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE entries ADD COLUMN client_total BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE entries ADD COLUMN client_delta BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE entries ADD COLUMN note TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE entries ADD COLUMN writer TEXT NOT NULL DEFAULT ''",
    *SCHEMA[2:],
    "UPDATE meta SET value = '2' WHERE key = 'version'",
    "INSERT INTO meta (key, value) VALUES ('born', '1'), ('era', '0')",
)


class Cursor(Protocol):
    """What a statement gave back: SQLite's cursor, or that of psycopg."""

    @property
    def rowcount(self) -> int:
        """How many rows were written."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...


class Connection(Protocol):
    """What the log needs of a database: SQL with question marks, within a transaction."""

    def execute(self, sql: str, parameters: tuple[Any, ...] = ..., /) -> Cursor:
        """Run one statement."""
        ...

    def executemany(self, sql: str, many: Sequence[tuple[Any, ...]], /) -> object:
        """Run one statement many times."""
        ...


class LedgerState(NamedTuple):
    """Where a ledger stands."""

    id: str
    number: int
    total: int
    total_delta: int
    head: str
    era: int  # how often lost lines were accounted for
    last: str  # when the last line was written; empty if none was
    version: str = VERSION


class Account(NamedTuple):
    """A row of accounts."""

    name: str
    budget: int
    budget_delta: int
    spent: int
    spent_delta: int


class Copy(NamedTuple):
    """All of a ledger."""

    meta: dict[str, str]
    rows: list[Row]
    accounts: list[Account]


def check_text(text: object, what: str, most: int, hint: str) -> None:
    """A text that every database can store: half a surrogate pair and a zero byte cannot be."""
    if (
        not isinstance(text, str)
        or not 0 < len(text.strip()) <= len(text) <= most
        or "\0" in text
        or text.encode("utf-8", "ignore").decode() != text
    ):
        raise ParameterError(f"{what} is a text of 1 to {most} characters.", hint=hint)
