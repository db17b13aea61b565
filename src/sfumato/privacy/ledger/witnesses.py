"""Releases as witnesses: what was published tells which lines a ledger must have.

A release or model names the ledger that paid for it, by a mark of its last line and the total (`account`). A
ledger without that line is an older one, or a copy that went another way: also where the whole machine was
put back in time, ledger and witness together, for what was published did not go back with it.

A mark that a ledger lacks is noted beside its witness, if who asks says that the release is genuine: anybody
can write a release that names a ledger. From then on nothing is granted until a person has accounted for the
loss: the line of that unlocking holds the mark, as it holds the head that a witness missed.
What was spent since the older copy was made is at least what the totals differ by, and may be more: a release
knows nothing of what came after it. So a person must say it.

Assumes: what is called genuine is: signed by somebody whom the owner trusts.
Tested by: tests/privacy/test_ledger_published.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from sfumato.errors import VerificationError
from sfumato.privacy.account import Accounted, mark, public_name
from sfumato.privacy.grants import DELTA_UNIT, UNIT
from sfumato.privacy.ledger import chain
from sfumato.privacy.ledger.recovery import Gap
from sfumato.privacy.ledger.tables import Connection, LedgerState
from sfumato.privacy.ledger.witness import Witness, damaged
from sfumato.privacy.rounding import exact

_KIND = "published"


class Missed(NamedTuple):
    """A mark that a ledger lacked, with the totals after it, in whole units."""

    mark: str
    total: int
    total_delta: int


class Compared(NamedTuple):
    """How many of what was published a ledger holds, how many it lacks, and how many are not its own."""

    held: int
    lacking: int
    others: int


def compare(
    connection: Connection, witness: Witness, state: LedgerState, name: str, accounts: Iterable[Accounted],
    genuine: bool,
) -> Compared:  # fmt: skip
    """Hold a ledger against what was published; what it lacks is noted, and locks it, if it is genuine."""
    every = list(accounts)
    mine = [a for a in every if a.ledger == public_name(state.id)]
    known = _marks(connection, state, name)
    lost = [a for a in mine if a.head not in known and not chain.covers(connection, a.head, name)]
    before = _noted(witness, state.id, name)
    fresh = [
        Missed(a.head, int(exact(a.total) * UNIT), int(exact(a.delta) * DELTA_UNIT))
        for a in lost if a.head not in {m.mark for m in before}
    ]  # fmt: skip
    if fresh and genuine:
        witness.remember(state.id, json.dumps([*before, *fresh]), name, _KIND)
    return Compared(len(mine) - len(lost), len(lost), len(every) - len(mine))


def lacking(connection: Connection, witness: Witness, state: LedgerState, name: str) -> Gap | None:
    """What was published and the ledger has no more: the furthest of it."""
    noted = _noted(witness, state.id, name)
    if not noted:
        return None
    known = _marks(connection, state, name)
    lost = [m for m in noted if m.mark not in known and not chain.covers(connection, m.mark, name)]
    if not lost:
        return None
    last = max(lost, key=lambda m: (m.total, m.total_delta))
    return Gap(last.mark, last[1:], (state.total, state.total_delta), (0, 0), stated=True)


def require(connection: Connection, witness: Witness, state: LedgerState, name: str) -> None:
    """Refuse a ledger that lacks what was published."""
    if lacking(connection, witness, state, name) is not None:
        raise VerificationError(
            f"ledger {name} lacks entries that a release was paid from: it is an older copy, or one that "
            "was used elsewhere. Nothing was granted.",
            hint="restore the last one, or account for the loss: sfumato ledger unlock LEDGER --lost AMOUNT",
        )


def _marks(connection: Connection, state: LedgerState, name: str) -> set[str]:
    heads = [chain.hash_at(connection, 0, name), *(row.hash for row in chain.lines(connection, name))]
    return {mark(state.id, head) for head in heads}


def _noted(witness: Witness, identity: str, name: str) -> list[Missed]:
    text = witness.known_at(identity, _KIND)
    if not text:
        return []
    try:
        return [Missed(str(m), int(total), int(delta)) for m, total, delta in json.loads(text)]
    except (ValueError, TypeError):
        raise damaged(name) from None
