"""What a method asks of a ledger before it draws: that it is for the same promise, and the amount itself."""

from __future__ import annotations

from sfumato.errors import BudgetError
from sfumato.privacy import Budget, Ledger


def require_same(ledger: Ledger, wanted: Budget) -> None:
    """That a ledger is for the promise that a method gives: to whom, and between which data sets."""
    have = ledger.budget
    if (have.unit, have.neighbours) != (wanted.unit, wanted.neighbours):
        raise BudgetError(
            f"the ledger is for {have.unit}, {have.neighbours} neighbours; this fit for {wanted.unit}, "
            f"{wanted.neighbours}.",
            hint="open a ledger with the same unit and neighbours",
        )


def debit(ledger: Ledger | None, wanted: Budget, purpose: str) -> None:
    """Pay for noise that a method draws from a purse of its own."""
    if ledger is not None:
        require_same(ledger, wanted)
        ledger.grant(epsilon=wanted.amount, purpose=purpose).burn()
