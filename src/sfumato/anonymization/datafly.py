"""Datafly (Sweeney 1997): raise the column with the most values, until few enough rows are in the way.

Fast and simple; generalizes more than it must. Here as the baseline everyone knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.lattice import Lattice, Levels
from sfumato.anonymization.limits import SearchLimits, refuse_limits
from sfumato.anonymization.loss import Loss
from sfumato.anonymization.optimal import Judge
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.settings import require_numbers


@declares(
    Declaration(
        "datafly",
        Does.GENERALIZE,
        "One level per column, that of most values raised first.",
        page="anonymize.md",
        claims=declared.COUNTED,
        needs=(Need.HIERARCHIES,),
    )
)
@dataclass(frozen=True)
class Datafly:
    """One level per column, raised greedily. Without max_suppressed, as Sweeney has it: fewer than k rows.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.Datafly(), hierarchies=ladders)
    >>> release.guarantee.claims[0].title
    'k-anonymity with k = 16 rows'
    """

    max_suppressed: Annotated[float | None, declared.MAX_SUPPRESSED] = None
    time_limit: Annotated[
        float | None, declared.time_limit("all columns are released on their highest level")
    ] = None
    work_limit: Annotated[int | None, declared.work_limit("levels that are raised")] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        if self.max_suppressed is not None and not 0 <= self.max_suppressed <= 1:
            raise ParameterError("max_suppressed is a share from 0 to 1.", hint="max_suppressed=0.04")
        refuse_limits(self.time_limit, self.work_limit)

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """Raise until at most the allowed rows would be suppressed; then suppress those."""
        lattice = Lattice(problem, Loss().cost(problem), 1.0, criterion.k)
        judge = Judge(lattice, criterion, Loss(), problem.rows)
        limit = (
            criterion.k - 1 if self.max_suppressed is None else int(self.max_suppressed * problem.rows + 1e-9)
        )
        limits = SearchLimits(self.time_limit, self.work_limit)
        levels = lattice.bottom
        steps = 0
        while True:
            recoding = judge.recoding(levels)
            rows = int(recoding.n[recoding.suppressed].sum())
            if rows <= limit:
                break
            raisable = [j for j, level in enumerate(levels) if level < lattice.top[j]]
            if not raisable:
                within = f"the search found nothing within {limits.named}: " if limits.stopped else ""
                raise ParameterError(
                    f"{within}even on the highest levels allowed, too many rows would be suppressed.",
                    hint="allow more rows to be suppressed, or higher levels",
                )
            levels = _raised(problem, levels, raisable) if limits.take() else lattice.top
            steps += 1
        recoding.about.update(
            method="Datafly",
            levels=dict(zip(problem.columns, levels, strict=True)),
            score=recoding.loss(),
            measure="loss",
            checked=steps + 1,
            suppressed=rows,
            bound=None,
            gap=None,
            optimal=False,
            stopped=limits.stopped,
        )
        limits.say("every column is released on its highest level")
        return recoding


def _raised(problem: Problem, levels: Levels, raisable: list[int]) -> Levels:
    """One level up in the column with the most values."""
    most = max(raisable, key=lambda j: (_values(problem, j, levels[j]), -j))
    return (*levels[:most], levels[most] + 1, *levels[most + 1 :])


def _values(problem: Problem, j: int, level: int) -> int:
    """How many different values a column has on a level."""
    return len(np.unique(problem.hierarchies[j].ancestors[level][problem.leaves[:, j]]))
