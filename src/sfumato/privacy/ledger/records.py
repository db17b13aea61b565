"""What a ledger tells about itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from sfumato.privacy.account import Accounted, mark, public_name
from sfumato.privacy.grants import DELTA_UNIT, UNIT, Budget
from sfumato.privacy.ledger.tables import DEBITS, Account, Row
from sfumato.privacy.rounding import down, up


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the log: what was asked for, and what it took from the budget (in the budget's kind).

    kind: "debit"; "client" where a client was given a budget; "unlock" and "restore" where a person
        accounted for lines that were lost.
    client: whose budget was debited as well, or set; None if nobody's.
    """

    number: int
    at: datetime
    purpose: str
    epsilon: float | None
    rho: float | None
    amount: float
    delta: float
    hash: str
    kind: str = "debit"
    client: str | None = None


@dataclass(frozen=True)
class Client:
    """What one client may spend of the data set's budget, in the budget's kind."""

    name: str
    budget: float
    spent: float
    left: float
    left_delta: float = 0.0


def account_at(identity: str, head: str, total: int, total_delta: int, budget: Budget) -> Accounted:
    """A line of a ledger, as a release may name it."""
    return Accounted(
        public_name(identity), mark(identity, head), budget.kind, up(Fraction(total, UNIT)),
        up(Fraction(total_delta, DELTA_UNIT)), unit=budget.unit,
    )  # fmt: skip


def account_of(identity: str, row: Row, budget: Budget) -> Accounted:
    """The same of a debit that was made before."""
    return account_at(identity, row.hash, row.total, row.total_delta, budget)


def client_of(account: Account) -> Client:
    """An account in plain numbers."""
    left, left_delta = account.budget - account.spent, account.budget_delta - account.spent_delta
    return Client(
        account.name,
        down(Fraction(account.budget, UNIT)),
        up(Fraction(account.spent, UNIT)),
        down(Fraction(max(left, 0), UNIT)),
        down(Fraction(max(left_delta, 0), DELTA_UNIT)),
    )


def entry_of(row: Row) -> LedgerEntry:
    """A line in plain numbers."""
    asked = up(Fraction(row.asked, UNIT))
    return LedgerEntry(
        number=row.number,
        at=datetime.fromisoformat(row.at),
        purpose=row.purpose,
        epsilon=asked if row.kind == "epsilon" else None,
        rho=asked if row.kind == "rho" else None,
        amount=up(Fraction(row.amount, UNIT)),
        delta=up(Fraction(row.delta, DELTA_UNIT)),
        hash=row.hash,
        kind="debit" if row.kind in DEBITS else row.kind,
        client=row.client or None,
    )
