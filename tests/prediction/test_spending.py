"""A fit never spends more than it was granted, and disjoint parts are the one place where draws share."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.errors import BudgetError
from sfumato.prediction.fit_budget import FitBudget, budget_for, debit
from sfumato.privacy import Budget, Ledger, Unit


def purse(epsilon: float = 1.0) -> FitBudget:
    return FitBudget(debit(None, budget_for(epsilon, 1), "test"))


def test_shares_add_up_to_the_total_and_no_further() -> None:
    own = purse()
    for _ in range(7):
        own.share(Fraction(1, 7), "a seventh")
    with pytest.raises(BudgetError):
        own.share(Fraction(1, 1000), "more")


def test_disjoint_draws_cost_one_share_each_level() -> None:
    own = purse()
    parts = own.disjoint(Fraction(1, 2), "a level")
    grants = [next(parts) for _ in range(20)]
    assert all(g.epsilon == 0.5 for g in grants)
    own.share(Fraction(1, 2), "the rest")
    with pytest.raises(BudgetError):
        own.disjoint(Fraction(1, 100), "another level")


def test_a_grant_opens_one_purse_only() -> None:
    grant = debit(None, budget_for(1.0, 1), "test")
    FitBudget(grant)
    with pytest.raises(BudgetError):
        FitBudget(grant)


def test_a_ledger_for_others_is_refused() -> None:
    for budget in (Budget(rho=1.0), Budget(epsilon=1.0, unit=Unit.person(3))):
        ledger = Ledger.in_memory(budget)
        with pytest.raises(BudgetError):
            debit(ledger, budget_for(0.5, 1), "test")
        assert ledger.spent == 0
