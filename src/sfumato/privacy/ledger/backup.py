"""Backup and restore: a copy that cannot be spent from, and a ledger made of it that says what it lacks.

A copy of the file, put back, is a put-back, and the witness refuses it. A restore is not: it appends a line
that names what was lost and counts it as spent.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
from pathlib import Path

from sfumato._system import disk
from sfumato.errors import OutputError
from sfumato.privacy.ledger import chain, recovery
from sfumato.privacy.ledger.create import copy_in, copy_out
from sfumato.privacy.ledger.files import BackupStore, FileStore, MemoryStore, faults_named
from sfumato.privacy.ledger.postgres import PostgresStore
from sfumato.privacy.ledger.tables import Connection, LedgerState, Row
from sfumato.privacy.ledger.witness import Held, Witness


def write(store: FileStore | PostgresStore | MemoryStore, path: Path, overwrite: bool) -> None:
    """Copy a ledger, checked, into a file; whole, or not at all."""
    if os.path.lexists(path) and not overwrite:
        raise OutputError(f"{path.name} is there already.", hint="another name, or overwrite=True")
    with store.transaction(write=False) as connection:
        chain.check(connection, store.name)
        copy = copy_out(connection, store.name)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        BackupStore(beside, path.name).create(lambda connection: copy_in(connection, copy))
        with faults_named(path.name):
            if overwrite:
                os.replace(beside, path)
            else:
                disk.put_new(beside, path)
            disk.sync_directory(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def restore(
    backup: Path, store: FileStore | PostgresStore, amount: recovery.Amount, delta: recovery.Amount
) -> None:
    """Make a ledger from a backup where there is none, with a line for what was spent since."""
    if store.exists():
        raise OutputError(
            f"ledger {store.name} is there already.",
            hint="move it away, and keep it: what was spent is in it",
        )
    source, witness = BackupStore(backup), Witness()
    with source.transaction(write=False) as connection:
        source.examine(connection)
        budget = chain.check(connection, source.name)
        state = chain.where(connection, source.name)
    with witness.held(state.id, store.name) as held, source.transaction(write=False) as connection:
        recovery.require_at_home(connection, witness, store.place, state, store.name)
        gap = _gap(connection, witness, held, state, store.name)
        lost = gap.lost(budget, amount, delta)
        copy = copy_out(connection, source.name)
        after: list[LedgerState] = []

        def fill(target: Connection) -> None:
            copy_in(target, copy)
            now = store.now(target).isoformat(timespec="microseconds")
            row = Row(
                state.number + 1, now, "restored from a backup", "restore", recovery.next_era(state, held),
                *lost, state.total + lost[0], state.total_delta + lost[1], note=gap.head,
                writer=witness.writer,
            )  # fmt: skip
            after.append(chain.append(target, state, row, store.name))

        store.create(fill)
        with store.transaction(write=False) as target:
            if not after or chain.where(target, store.name).head != after[-1].head:
                raise OutputError(f"ledger {store.name} was made by another process.", hint="look at it")
        held.note(after[-1])
    witness.remember(store.place, state.id, store.name)


def _gap(connection: Connection, witness: Witness, held: Held, state: LedgerState, name: str) -> recovery.Gap:
    """What was spent since the backup, as far as this place can know it.

    The witness knows all of it only if nobody else has written to this ledger. Otherwise a person must say
    it: others may have spent what no witness here has seen.
    """
    here = (state.total, state.total_delta)
    alone = chain.alone(connection, witness.writer)
    seen = held.seen
    if seen is None or held.damaged:
        return recovery.Gap(state.head, None, here, here)
    if recovery.holds(connection, state, seen, name):
        return recovery.Gap(state.head, here, here, here, stated=not alone)
    gap = recovery.found(connection, witness, held, "", state)
    assert gap is not None
    return dataclasses.replace(gap, stated=not alone)
