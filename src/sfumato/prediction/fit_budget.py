"""The budget of one fit, and the two ways it is divided: one after another, and over disjoint parts.

Guarantee: all draws for the grants of one purse together cost at most the grant that it was opened with.
Because:   1. `share` cuts grants from a ledger with that budget, and the ledger refuses what does not fit:
              sequential composition, also for draws that depend on earlier answers.
           2. `disjoint` cuts one grant of the ledger and gives its whole amount to each of several draws
              *about different rows*: parallel composition. One row added or removed changes the data of one
              draw only; the laws of all others are the same on both neighbours, so their ratio is 1.
           3. For persons with at most L rows, `share` is as in 1: each draw is made at L times the
              sensitivity of a row, which L rows cannot exceed. The rows of one person may lie in several
              parts of a `disjoint`, so 2 does not carry over as it stands. But each draw's loss is the change
              of its input over its scale, not a step: at the scale for L rows, k of them cost k/L of the
              amount (discrete Laplace: |change|_1 / scale; permute-and-flip on monotone scores: largest
              change / scale, and k rows, added one by one, lower a score by 0 to k D). Parts share no row, so
              k_1 + k_2 + ... <= L, and the draws together cost at most (k_1 + k_2 + ...) / L <= 1 of it.
Assumes:   of `disjoint` and L > 1, that a draw's loss is at most proportional to the rows that differ, as of
           `noise.laplace` and `noise.noisy_max` with `monotone`; and that the caller multiplies sensitivities
           by L, as additive.py, forest.py and private_tree.py do.
           Of any `disjoint`, that the caller's parts share no row, by a rule that looks at each row alone and
           at what is public or was drawn before. Add/remove neighbours: a replaced row could move.
Tested by: tests/prediction/test_spending.py, tests/prediction/test_score_audit.py; point 3 by exact laws,
           tests/prediction/test_impurity.py::test_a_level_keeps_its_epsilon_for_a_person_exactly
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sfumato.errors import BudgetError
from sfumato.privacy.base import ROW, Neighbours, Unit
from sfumato.privacy.grants import UNIT, Budget, Grant
from sfumato.privacy.ledger import Ledger, Payer
from sfumato.privacy.rounding import ceil_units, down, exact, up


def budget_for(epsilon: float, max_rows: int) -> Budget:
    """What a ledger must have left for a fit of this epsilon."""
    unit = ROW if max_rows == 1 else Unit.person(max_rows)
    return Budget(epsilon=epsilon, unit=unit, neighbours=Neighbours.ADD_REMOVE)


class FitAndCard:
    """A ledger that pays for a fit and for its model card at once: both are debited, or neither.

    ledger: debited when the fit has looked at all that can be wrong and is about to draw.
    epsilon: of the card. rest: the purse that is left for it once the fit has paid.
    """

    def __init__(self, ledger: Payer, epsilon: float) -> None:
        self.ledger = ledger
        self.epsilon = epsilon
        self.rest: Ledger | None = None

    def grant(self, budget: Budget, purpose: str) -> Grant:
        """The grant of the fit, cut from one debit that covers the card as well."""
        units = sum(ceil_units(exact(e), UNIT) for e in (budget.amount, self.epsilon))
        both = replace(budget, epsilon=up(Fraction(units, UNIT)))
        purse = Ledger.within(debit(self.ledger, both, f"{purpose}, and its model card"))
        self.rest = purse
        return purse.grant(epsilon=budget.amount, purpose=purpose)


def debit(ledger: Payer | FitAndCard | None, budget: Budget, purpose: str) -> Grant:
    """One grant for the whole fit, on disk before anything is drawn; without a ledger one for this fit."""
    if isinstance(ledger, FitAndCard):
        return ledger.grant(budget, purpose)
    if ledger is None:
        ledger = Ledger.in_memory(budget)
    have = ledger.budget
    if have.kind != "epsilon" or (have.unit, have.neighbours) != (budget.unit, budget.neighbours):
        raise BudgetError(
            f"the ledger is of {have.kind} for {have.unit}, {have.neighbours} neighbours; this fit takes "
            f"epsilon for {budget.unit}, {budget.neighbours}.",
            hint="open a ledger of epsilon with the same unit and neighbours",
        )
    return ledger.grant(epsilon=budget.amount, purpose=purpose)


class FitBudget:
    """The total of one fit, spent in shares of it."""

    def __init__(self, grant: Grant) -> None:
        self.total = grant.loss
        self._ledger = Ledger.within(grant)

    def amount(self, share: Fraction) -> float:
        """A share of the total in whole units of the ledger, rounded down."""
        return down(Fraction(int(self.total * share * UNIT), UNIT))

    def share(self, share: Fraction, purpose: str) -> Grant:
        """A grant for one draw."""
        return self._ledger.grant(epsilon=self.amount(share), purpose=purpose)

    def disjoint(self, share: Fraction, purpose: str) -> Iterator[Grant]:
        """Grants of the same share for draws about rows of which no two draws have one in common."""
        grant = self._ledger.grant(epsilon=self.amount(share), purpose=purpose)
        budget = Budget(
            epsilon=down(exact(grant.epsilon)), unit=grant.budget.unit, neighbours=grant.budget.neighbours
        )
        grant.burn()

        def parts() -> Iterator[Grant]:
            while True:
                yield Ledger.in_memory(budget).grant(epsilon=budget.amount, purpose=purpose)

        return parts()
