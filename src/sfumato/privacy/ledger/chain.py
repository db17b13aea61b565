"""The log of a ledger: entries chained by SHA-256, and the accounts that must agree with them.

The first link of the chain holds the budget. Each later one holds its whole line and the link before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sfumato.errors import DataError, SfumatoError, VerificationError
from sfumato.privacy.base import Neighbours, Unit
from sfumato.privacy.grants import DELTA_UNIT, UNIT, Budget
from sfumato.privacy.ledger.tables import (
    COLUMNS,
    COLUMNS_1,
    DEBITS,
    GAPS,
    INSERT,
    OPEN_ACCOUNT,
    PLAIN,
    VERSION,
    Account,
    Connection,
    LedgerState,
    Row,
)
from sfumato.privacy.rounding import down
from sfumato.progress import report

_FIXED = ("version", "id", "kind", "amount", "delta", "unit", "neighbours", "dataset")
_STEP = 2000  # lines read at once


# -- links -------------------------------------------------------------------------------------------

_written = json.JSONEncoder(ensure_ascii=True, default=repr).encode


def chained(before: str, line: tuple[Any, ...]) -> str:
    """The hash of any line that follows `before`."""
    return hashlib.sha256(_written([before, *line]).encode()).hexdigest()


def link(before: str, row: Row) -> str:
    """The hash of a line that follows `before`."""
    return chained(before, row[:9] if row[9:14] == PLAIN else row[:14])


def genesis(meta: dict[str, str]) -> str:
    """The first link holds the budget, so that changing it breaks the chain."""
    fixed = {key: meta[key] for key in _FIXED if key in meta}
    if "born" in meta:
        fixed["version"] = meta["born"]
    return chained("", tuple(sorted(fixed.items(), key=repr)))


# -- reading -----------------------------------------------------------------------------------------


def read_meta(connection: Connection, name: str) -> dict[str, str]:
    """What was fixed at the start, and the head; of a version that is understood."""
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    if meta.get("version") not in ("1", VERSION):
        raise DataError(f"ledger {name} has another version than {VERSION}.", hint="upgrade Sfumato")
    return meta


def _rows(connection: Connection, meta: dict[str, str], rest: str, *given: object) -> list[Row]:
    columns = COLUMNS_1 if meta["version"] == "1" else COLUMNS
    return [
        Row(*row) for row in connection.execute(f"SELECT {columns} FROM entries {rest}", given).fetchall()
    ]


def where(connection: Connection, name: str) -> LedgerState:
    """The end of the chain; the last line must be the one the head points to, the account must agree."""
    meta = read_meta(connection, name)
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
    if not era.isdecimal() or len(era) > 18:  # as large as a line's own number may be
        raise broken(name)
    return LedgerState(
        str(meta.get("id")),
        last.number,
        last.total,
        last.total_delta,
        head,
        int(era),
        last.at,
        meta["version"],
    )


def account(connection: Connection, name: str) -> Account | None:
    """One account: the data set's has an empty name."""
    row = connection.execute(
        "SELECT name, budget, budget_delta, spent, spent_delta FROM accounts WHERE name = ?", (name,)
    ).fetchone()
    return None if row is None else Account(*row)


def accounts(connection: Connection, name: str) -> list[Account]:
    """The accounts of all clients."""
    if read_meta(connection, name)["version"] == "1":
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
        return genesis(read_meta(connection, name))
    row = connection.execute("SELECT hash FROM entries WHERE number = ?", (number,)).fetchone()
    return "" if row is None else str(row[0])


def covers(connection: Connection, head: str, name: str) -> bool:
    """Whether a person has accounted for what was lost with a head."""
    if not head or read_meta(connection, name)["version"] == "1":
        return False
    sql = "SELECT 1 FROM entries WHERE note = ? AND kind IN ('unlock', 'restore')"
    return connection.execute(sql, (head,)).fetchone() is not None


def shared_with(connection: Connection, writer: str, name: str) -> tuple[int, int]:
    """The totals after the last line that this ledger is sure to share with all that a writer has witnessed.

    Alone, that is the writer's last line: if a crash kept it from being witnessed, it gave no grant. Where
    others wrote too, that line may stand on lines of theirs which the witness never saw; but the line that
    was witnessed when it was written, whose number it holds, was seen.
    """
    if read_meta(connection, name)["version"] == "1":
        return 0, 0
    debits, given = ("", (writer,)) if alone(connection, writer) else (f" AND kind IN {DEBITS}", (writer,))
    sql = f"SELECT number, note FROM entries WHERE writer = ?{debits} ORDER BY number DESC LIMIT 1"
    last = connection.execute(sql, given).fetchone()
    if last is None:
        return 0, 0
    number = last[0] if not debits else int(last[1]) if str(last[1]).isdecimal() else 0
    row = connection.execute("SELECT total, total_delta FROM entries WHERE number = ?", (number,)).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def alone(connection: Connection, writer: str) -> bool:
    """Whether nobody else has written to a ledger since there are witnesses."""
    sql = "SELECT 1 FROM entries WHERE writer <> ? AND writer <> ''"
    return connection.execute(sql, (writer,)).fetchone() is None


def lines(connection: Connection, name: str) -> Iterator[Row]:
    """All lines, oldest first, some thousand at a time."""
    meta, number = read_meta(connection, name), -1
    while rows := _rows(connection, meta, f"WHERE number > ? ORDER BY number LIMIT {_STEP}", number):
        yield from rows
        number = rows[-1].number


def check(connection: Connection, name: str, seen: str = "") -> Budget:
    """Walk the whole chain and compare the accounts with it; give back the budget it begins with."""
    meta = read_meta(connection, name)
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
    except (KeyError, TypeError, ValueError, RecursionError, SfumatoError):
        raise broken(name) from None


def broken(name: str) -> VerificationError:
    """The refusal of a ledger that does not agree with itself."""
    return VerificationError(
        f"ledger {name} was changed by other means than this program. Nothing was granted.",
        hint="restore the file; what was spent cannot be known from this one",
    )


# -- writing -----------------------------------------------------------------------------------------


def append(connection: Connection, state: LedgerState, row: Row, name: str) -> LedgerState:
    """Write one line and what it takes; the head must still be where the line begins.

    The database adds up and compares as well: of two writers that both believed to be alone, one would fail.
    """
    row = row._replace(hash=link(state.head, row))
    connection.execute(INSERT, row)
    era = row.asked if row.kind in GAPS else state.era
    moved = connection.execute(
        "UPDATE meta SET value = ? WHERE key = 'head' AND value = ?", (row.hash, state.head)
    ).rowcount
    if era != state.era:
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
    return LedgerState(state.id, row.number, row.total, row.total_delta, row.hash, era, row.at)


_FITS = " AND spent + ? <= budget AND spent_delta + ? <= budget_delta"


def _debited(connection: Connection, name: str, amount: int, delta: int, fits: str = _FITS) -> bool:
    """Debit an account where it still fits."""
    given = (amount, delta, name) + ((amount, delta) if fits else ())
    sql = "UPDATE accounts SET spent = spent + ?, spent_delta = spent_delta + ? WHERE name = ?" + fits
    return bool(connection.execute(sql, given).rowcount == 1)


def _allowed(connection: Connection, row: Row) -> bool:
    """Give a client a budget, or another one; what was spent stays spent."""
    if account(connection, row.client) is None:
        opened = (row.client, row.asked, int(row.note), 0, 0)
        connection.execute(OPEN_ACCOUNT, opened)
        return True
    sql = "UPDATE accounts SET budget = ?, budget_delta = ? WHERE name = ?"
    return bool(connection.execute(sql, (row.asked, int(row.note), row.client)).rowcount == 1)
