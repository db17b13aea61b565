"""Who pays for an epsilon: a ledger that is named, or nobody, which is said in so many words.

A promise of differential privacy is about one use of the data. What it is worth depends on all uses together,
and only a ledger adds those up. So every release and model that claims an epsilon says one of two things.

What of a ledger leaves the house is its name, a mark of its last line and the total that was spent by then.
The name and the mark are HMACs under the ledger's own id, 128 random bits that never leave: without the
ledger they are random text, so that no purpose, client, time or number of lines can be tried against them.
That two releases name the same ledger is told, and has to be: their losses add up. The total is told too.
It is a sum of amounts that people chose, the same for every data set that they could have had; it may tell
that there are releases that this reader has not got.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

from sfumato.privacy.base import Claim
from sfumato.privacy.rounding import shown

_HEX = re.compile(r"[0-9a-f]{32}")


def public_name(identity: str) -> str:
    """What a ledger with this id is called outside of the house."""
    return _keyed(identity, "name")


def mark(identity: str, head: str) -> str:
    """What stands for a line of a ledger outside of the house: nobody can compute it without the ledger."""
    return _keyed(identity, f"line {head}")


def seal(identity: str, text: str) -> str:
    """A seal of a ledger on a text: nobody can make it without the ledger, nor take it for a name or mark."""
    return _whole(identity, f"seal {text}")


def _keyed(identity: str, text: str) -> str:
    return _whole(identity, text)[:32]


def _whole(identity: str, text: str) -> str:
    return hmac.new(identity.encode(), f"sfumato ledger {text}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Accounted(Claim):
    """A ledger was debited before anything was drawn.

    ledger: its public name. head: the mark of its last line after the debit. kind: epsilon or rho.
    total, delta: what had been spent from it in all by then.
    """

    ledger: str
    head: str
    kind: str
    total: float
    delta: float = 0.0

    def _faults(self) -> list[str]:
        faults = []
        if not (_HEX.fullmatch(self.ledger) and _HEX.fullmatch(self.head)):
            faults.append("ledger and head are 32 hexadecimal digits")
        if self.kind not in ("epsilon", "rho"):
            faults.append("kind must be epsilon or rho")
        if not (self.total >= 0 and 0 <= self.delta < 1):
            faults.append("total must not be negative, delta in [0, 1)")
        return faults

    @property
    def amount(self) -> str:
        """What had been spent, in words."""
        return f"{self.kind} = {shown(self.total)}" + (f", delta = {shown(self.delta)}" * bool(self.delta))

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return f"debited from ledger {self.ledger[:8]}, {self.amount} in all"

    def promise(self) -> str:
        """What is promised, and against whom."""
        return (
            f"Ledger {self.ledger} was debited before anything was drawn. By then {self.amount} had been "
            "spent from it, this included: everything that it has paid for until then, taken together, "
            f"costs {self.unit} at most that."
        )

    def limits(self) -> str:
        """What is not promised."""
        return (
            "What is paid from it later adds to this, and what was learnt from the same people without it "
            f"is not counted. Its last line was {self.head}: a ledger that has lost it is an older one "
            "(sfumato ledger check LEDGER --against RELEASE)."
        )


@dataclass(frozen=True)
class Unaccounted(Claim):
    """An epsilon is claimed, and no ledger that lasts was debited for it."""

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return "unaccounted"

    def promise(self) -> str:
        """What is missing."""
        return (
            "No ledger was debited for this. Each use of the same data adds to the loss, and here nobody "
            "adds it up: the numbers above are about this one use."
        )

    def limits(self) -> str:
        """What is not promised."""
        return "Nothing is said of what else was, or will be, learnt from the same people."


Account = Accounted | Unaccounted
UNACCOUNTED = Unaccounted()


def combined(accounts: list[Account]) -> list[Account]:
    """The accounts of several releases taken together: of each ledger the furthest line, and what is
    missing."""
    last: dict[str, Accounted] = {}
    missing: list[Account] = []
    for account in accounts:
        if isinstance(account, Unaccounted):
            missing = [account]
            continue
        known = last.get(account.ledger)
        if known is None or (account.total, account.delta) > (known.total, known.delta):
            last[account.ledger] = account
    return [*last.values(), *missing]
