"""How the tables of a ledger come to be: new, from version 1, or from a copy."""

from __future__ import annotations

import json

from sfumato.privacy.grants import Budget
from sfumato.privacy.ledger.chain import accounts, check, genesis, lines, read_meta, where
from sfumato.privacy.ledger.tables import (
    INSERT,
    OPEN_ACCOUNT,
    SCHEMA,
    UPGRADE,
    VERSION,
    Account,
    Connection,
    Copy,
)

_MANY = 2000  # lines written at once


def started(budget: Budget, identity: str, dataset: str = "") -> dict[str, str]:
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
    if dataset:
        meta["dataset"] = dataset
    return {**meta, "era": "0", "head": genesis(meta)}


def lay_out(connection: Connection, meta: dict[str, str]) -> None:
    """Make the tables of a new ledger, within a transaction."""
    copy_in(connection, Copy(meta, [], [Account("", int(meta["amount"]), int(meta["delta"]), 0, 0)]))


def copy_out(connection: Connection, name: str) -> Copy:
    """All of a ledger, as this version writes it."""
    meta, state = read_meta(connection, name), where(connection, name)
    if meta["version"] == "1":
        meta = {**meta, "version": VERSION, "born": "1", "era": "0"}
    own = Account("", int(meta["amount"]), int(meta["delta"]), state.total, state.total_delta)
    return Copy(meta, list(lines(connection, name)), [own, *accounts(connection, name)])


def copy_in(connection: Connection, copy: Copy) -> None:
    """Make the tables and fill them, within a transaction."""
    for statement in SCHEMA:
        connection.execute(statement)
    connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", list(copy.meta.items()))
    for start in range(0, len(copy.rows), _MANY):
        connection.executemany(INSERT, copy.rows[start : start + _MANY])
    connection.executemany(OPEN_ACCOUNT, copy.accounts)


def upgrade(connection: Connection, name: str) -> None:
    """Bring a ledger of version 1 up to date, within the transaction that writes to it first."""
    check(connection, name)
    meta, state = read_meta(connection, name), where(connection, name)
    for statement in UPGRADE:
        connection.execute(statement)
    own = ("", int(meta["amount"]), int(meta["delta"]), state.total, state.total_delta)
    connection.execute(OPEN_ACCOUNT, own)
