"""Which method loses least here, and what a column costs the others: searched on the counts, nothing written.

Held against each other are local and optimal recoding. Both meet what is asked; of two that do, the one that
loses less is taken. Local recoding is first tried without improving: if that is better already, it is taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.anonymization.code_columns import code_request
from sfumato.anonymization.explanation import loss_of, without
from sfumato.anonymization.optimal import OptimalRecoding
from sfumato.anonymization.request import Request, ask
from sfumato.anonymization.requirements import asked_of
from sfumato.criteria import All
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.methods.requests import GeneralizationRequest
from sfumato.plan.checks import hierarchies
from sfumato.plan.document import PlanDocument
from sfumato.plan.preparation import open_input, trimmed
from sfumato.plan.production import parts_of

if TYPE_CHECKING:
    from sfumato.anonymization.anonymize import Search
    from sfumato.anonymization.problem import Problem
    from sfumato.anonymization.recoding import Recoding

_DEAR = 2  # columns for which it is tried what the others would keep without them
_NODES = 5_000  # ways to choose levels up to which the best of them is looked for


@dataclass(frozen=True)
class Without:
    """What the other columns keep, of 1, with a column and without it."""

    column: str
    now: float
    instead: float

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"without '{self.column}' you would keep {self.instead:.1%} of the other quasi-identifiers "
            f"instead of {self.now:.1%}"
        )


@dataclass(frozen=True)
class Choice:
    """The method that lost least. losses: what each lost, 0 to 1. without: what single columns cost."""

    method: str
    losses: Mapping[str, float]
    without: tuple[Without, ...] = ()


def choose(plan: PlanDocument, nodes: int, wanted: str | None = None) -> Choice:
    """Try what the first step of a plan asks with both methods. wanted: only this one, for `without`."""
    from sfumato.anonymization.local import LocalRecoding

    step = plan.steps[0]
    request: GeneralizationRequest = step.request(plan.folder)
    share = float(step.settings.get("max_suppressed", 0.0))
    quick = LocalRecoding("fast", max_suppressed=share, work_limit=1)
    tried: dict[str, Any] = {}
    if wanted in (None, "local"):
        tried["local"] = quick
    if wanted in (None, "optimal") and nodes <= _NODES:
        tried["optimal"] = OptimalRecoding(max_suppressed=share)
    if not tried:
        tried[wanted or "local"] = step.build(plan.folder)
    asked = _asked(plan, request, quick)
    problem = asked.compress()
    found = {}
    for name, method in tried.items():
        one = _searched(method, problem, asked)
        if one is not None:
            found[name] = one
    if not found:
        return Choice(wanted or "local", {})
    best = min(found, key=lambda name: found[name].loss())
    losses = {name: one.loss() for name, one in found.items()}
    costs = tuple(_costs(problem, asked, tried[best], found[best]))
    return Choice(best, losses, costs)


def _searched(method: Search, problem: Problem, asked: Request) -> Recoding | None:
    """What a method finds; None where nothing can be released that way. That it was stopped is as meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        try:
            return method.search(problem, asked.criterion)
        except SfumatoError:
            return None


def _asked(plan: PlanDocument, request: GeneralizationRequest, method: object) -> Request:
    table = trimmed(plan, open_input(plan).table)
    given = {n: h for n, h in hierarchies(plan).items() if n in table.schema}
    known, drop = request.quasi_identifiers, request.drop
    further = asked_of(
        plan.steps[0].criteria, table, hierarchies=given, quasi_identifiers=known, folder=plan.folder
    )
    codes, criterion = code_request(table, All((*parts_of(request), *further)), given, known, drop)
    apart = () if codes is None else codes.columns
    return ask(table, criterion, method, given, known, request.weights, request.max_level, drop, False, apart)


def _costs(problem: Problem, asked: Request, method: Search, now: Recoding) -> list[Without]:
    """The columns that lost most: what the others keep with them, and would keep without."""
    lost = [loss_of(now, [j]) for j in range(len(problem.columns))]
    dearest = sorted(range(len(lost)), key=lambda j: -lost[j])[:_DEAR]
    found = []
    for j in dearest:
        fewer = without(problem, j)
        others = [i for i in range(len(lost)) if i != j]
        if fewer is None or lost[j] <= 0 or not others:
            continue
        then = _searched(method, fewer, asked)
        if then is None:
            continue
        kept = Without(problem.columns[j], 1 - loss_of(now, others), 1 - loss_of(then, range(len(others))))
        if kept.instead > kept.now + 0.005:
            found.append(kept)
    return found
