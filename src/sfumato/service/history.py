"""Who did what to an installation: keys made, rotated and revoked, versions activated and rolled back.

Each line is chained to the one before by SHA-256, as the lines of a ledger are, in the same transaction as
the change itself: no change without its line. A line that was changed, taken out or put in breaks the chain.
An older copy of the whole file is a sound chain that lacks the last lines; who noted a `head` elsewhere
notices.
"""

from __future__ import annotations

import getpass
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass

from sfumato.errors import VerificationError
from sfumato.privacy.ledger.chain import chained

LAYOUT = """
CREATE TABLE IF NOT EXISTS history (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, who TEXT NOT NULL, did TEXT NOT NULL,
    what TEXT NOT NULL, hash TEXT NOT NULL)
"""
SERVICE = "service"  # who: the service itself, at its start


@dataclass(frozen=True)
class HistoryLine:
    """One line. who: a key's id, a token's holder, or a person at the terminal. at: in UTC."""

    number: int
    at: str
    who: str
    did: str
    what: str
    hash: str


def at_terminal() -> str:
    """The person at the terminal, as the system knows them."""
    name = "?"
    with suppress(OSError, KeyError, ImportError):
        name = getpass.getuser()
    return f"terminal:{name}"


def add(connection: sqlite3.Connection, who: str, did: str, what: str) -> str:
    """Add a line within the transaction of the change; gives back the new head."""
    last = connection.execute("SELECT number, hash FROM history ORDER BY number DESC LIMIT 1").fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, "")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    head = chained(before, (number, at, who, did, what))
    connection.execute("INSERT INTO history VALUES (?,?,?,?,?,?)", (number, at, who, did, what, head))
    return head


def read(connection: sqlite3.Connection, name: str, seen: str = "") -> tuple[HistoryLine, ...]:
    """All lines, oldest first; refused if the chain is broken, or lacks a head that was seen."""
    rows = connection.execute("SELECT number, at, who, did, what, hash FROM history ORDER BY number")
    steps = tuple(HistoryLine(*row) for row in rows.fetchall())
    before = ""
    for place, step in enumerate(steps, 1):
        if step.number != place or step.hash != chained(
            before, (place, step.at, step.who, step.did, step.what)
        ):
            raise VerificationError(
                f"{name}: its history was changed at line {place}.",
                hint="restore the file, and revoke keys anew",
            )
        before = step.hash
    if seen and seen not in {step.hash for step in steps}:
        raise VerificationError(
            f"{name}: its history lacks what was seen: an older copy was put back.",
            hint="revoke again what was revoked since",
        )
    return steps
