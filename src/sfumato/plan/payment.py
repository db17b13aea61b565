"""A step is paid for once: a run that was killed at any moment neither loses a debit nor draws twice for one.

Guarantee: each draw has a debit of its own, on disk before it; a debit that no draw was made for is not
           made a second time.
Because:   what is kept, in this order, each on disk before the next: that a debit is about to be made,
           under a purpose that names this step, these data and this attempt as nobody else can
           (`Workplace.intend`); the debit, with that purpose; that noise is about to be drawn
           (`Workplace.attempt`); the result. A run that finds the first and not the third looks for the
           second in the ledger. If it is there, no noise was drawn for it, and it pays for this attempt. If
           it is not there, it was not made. A run that finds the third and no result cannot know what was
           drawn: it says so, and draws again only when it is told to pay again (`--spend-again`).
Assumes:   the hidden folder is not removed between runs, and only one run at a time has it (its lock).
Tested by: tests/plan/test_paid_once.py
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.description.domain_search import FoundDomains
from sfumato.errors import BudgetError, ParameterError
from sfumato.plan.step import Step
from sfumato.plan.workplace import Workplace
from sfumato.privacy import Budget, Grant, Guarantee, Ledger
from sfumato.privacy.account import Accounted
from sfumato.privacy.grants import UNIT
from sfumato.privacy.rounding import ceil_units, exact, shown, up
from sfumato.release import Release
from sfumato.release.kept import kept, take_back
from sfumato.schema import Column, Schema
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.synthesis.private import PrivateSynthesizer


class PaidOnce:
    """What pays for one step of a run: a ledger, or nobody, which the result then says.

    name: of the step and its data within the workplace. what: as the ledger's log calls it.
    again: whether noise that a stopped run had begun to draw may be drawn, and paid for, again.
    """

    def __init__(
        self,
        place: Workplace,
        name: str,
        what: str,
        budget: Budget,
        ledger: Ledger | None,
        again: bool = False,
    ) -> None:
        self._place, self._name, self._what = place, name, what
        self._ledger, self._again = ledger, again
        self.budget = budget if ledger is None else ledger.budget

    def grant(
        self, *, epsilon: float | None = None, rho: float | None = None, delta: float = 0.0, purpose: str
    ) -> Grant:
        """The grant of this step, debited now or by the run that was stopped before it drew."""
        asked = {"epsilon": epsilon, "rho": rho}
        cost = ", ".join(f"{kind} = {shown(a)}" for kind, a in asked.items() if a is not None)
        self._place.require_undrawn(self._name, cost, self._again)
        number = self._place.attempts(self._name) + 1
        begun = self._place.intend(self._name, number)
        marked = f"{(self._what or purpose)[:440]} [{self._name[:16]}-{number}]"
        paid = self._ledger.account_of(marked) if self._ledger is not None and begun else None
        if paid is not None:
            grant = _of_debit(paid, self.budget, epsilon, rho, delta, purpose)
        elif self._ledger is not None:
            try:
                grant = self._ledger.grant(epsilon=epsilon, rho=rho, delta=delta, purpose=marked)
            except (BudgetError, ParameterError):  # refused: nothing was debited, and nothing is begun
                self._place.give_up(self._name)
                raise
        else:
            grant = _of_debit(None, self.budget, epsilon, rho, delta, purpose)
        self._place.attempt(self._name)
        return grant


def _of_debit(
    account: Accounted | None,
    like: Budget,
    epsilon: float | None,
    rho: float | None,
    delta: float,
    purpose: str,
) -> Grant:
    """A grant for a debit that was made before; without one, for this process only."""
    whole = {
        kind: None if amount is None else up(Fraction(ceil_units(exact(amount), UNIT), UNIT))
        for kind, amount in (("epsilon", epsilon), ("rho", rho))
    }
    budget = Budget(whole["epsilon"], whole["rho"], delta, like.unit, like.neighbours)
    ledger = Ledger.in_memory(budget) if account is None else Ledger.in_memory(budget, paid_by=account)
    return ledger.grant(epsilon=epsilon, rho=rho, delta=delta, purpose=purpose)


def of_attempts(own: Guarantee, attempts: int) -> Guarantee:
    """What a result promises whose noise was drawn several times, and lost all but once: each time counts."""
    if attempts < 2:
        return own
    total = own.compose(*[own] * (attempts - 1))
    spent = f"The noise was drawn {attempts} times, of which only the last was kept; all of it counts"
    paid = tuple(c.assuming(spent) for c in total.claims if c.differential and not c.scope)
    return Guarantee((*paid, *(c for c in own.claims if not c.differential)))


def of_draws(column: Column, draws: int) -> Column:
    """A column whose domain was found several times, and lost all but once: each time counts."""
    said = column.provenance
    if said is None or draws < 2:
        return column
    whole = replace(said, epsilon=said.epsilon * draws, delta=said.delta * draws, seal="")
    return replace(column, provenance=whole)


def found_again(found: FoundDomains, draws: int) -> FoundDomains:
    """What was found, with the cost of all draws."""
    own = {n: of_draws(found.schema[n], draws) for n in found.columns}
    schema = Schema(tuple(own.get(c.name, c) for c in found.schema))
    return replace(found.under(schema), guarantee=of_attempts(found.guarantee, draws))


def noised_once(
    path: Path, step: Step, table: Table, method: PrivateSynthesizer, payer: PaidOnce | None, *,
    key: Key | None = None, seed: int | None = None,
) -> Release:  # fmt: skip
    """Rows of a model that is kept, as soon as it was noised, before anything else is done with it."""
    from sfumato.synthesis.private import PrivateModel
    from sfumato.synthesis.synthesize import where_it_lives

    if not path.exists() and not take_back(path):
        model = method.fit(table, ledger=payer)
        kept(lambda place: model.save(place), path)
    model = PrivateModel.load(path)
    return where_it_lives(model.sample(step.settings.get("rows"), key=key, seed=seed), table)
