"""What a method asks of a ledger before it draws: that it is for the same promise, and the amount itself."""

from __future__ import annotations

from sfumato.errors import BudgetError
from sfumato.privacy import Budget
from sfumato.privacy.account import UNACCOUNTED, Account
from sfumato.privacy.ledger import Payer


def require_same(ledger: Payer, wanted: Budget) -> None:
    """That a ledger is for the promise that a method gives: to whom, and between which data sets."""
    have = ledger.budget
    if (have.unit, have.neighbours) != (wanted.unit, wanted.neighbours):
        raise BudgetError(
            f"the ledger is for {have.unit}, {have.neighbours} neighbours; this fit for {wanted.unit}, "
            f"{wanted.neighbours}.",
            hint="open a ledger with the same unit and neighbours",
        )


def debit(ledger: Payer | None, wanted: Budget, purpose: str) -> Account:
    """Pay for noise that a method draws from a purse of its own; who has paid."""
    if ledger is None:
        return UNACCOUNTED
    require_same(ledger, wanted)
    grant = ledger.grant(epsilon=wanted.amount, purpose=purpose)
    grant.burn()
    return grant.account
