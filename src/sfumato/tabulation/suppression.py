"""Cell suppression with proof: a pattern is given out only when the attacker finds nothing.

Because: the search holds a witness for every requirement, all of whose cells are withheld; and the attacker,
who knows the published cells alone, looks for its own.
Assumes: a reader knows the published tables, what is said of withheld cells, and at most one contribution.
Tested by: tests/tabulation/test_suppression.py
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import Attacker, Findings
from sfumato.errors import DataError, ParameterError
from sfumato.methods.declaration import Declaration, Does, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Flag, Number, Text
from sfumato.tabulation.exact import prove
from sfumato.tabulation.problem import HidingProblem, Merged, merge
from sfumato.tabulation.search import PatternSearch, Requirement, until

Flags = NDArray[np.bool_]
Real = NDArray[np.float64]
Index = NDArray[np.int64]

EFFORTS = ("fast", "normal", "exact")
COSTS = ("cells", "counts", "log counts")
_ROUNDS = 12  # of looking for contributors' victims
_PHASES = (0.2, 0.25, 0.25, 0.2, 0.1)  # of the time; after each the attacker looks: contributors may ask more


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which cells are withheld, and what was proved of it.

    cost: of all withheld cells.  bound: no pattern costs less; `exact` effort raises it to the cost where it
    can. for_contributors: what cells cost that are withheld only to hide others from people who are alone in
    a cell.
    """

    withheld: Flags
    findings: Findings
    cost: float
    bound: float
    for_contributors: float
    programs: int

    @property
    def gap(self) -> float:
        """How much cheaper the best pattern could be, as a share of the cost."""
        return 0.0 if self.cost <= 0 else max(0.0, (self.cost - self.bound) / self.cost)


@declares(
    Declaration(
        "suppress",
        Does.TABULATE,
        "Withhold small cells, and others so that nobody can reckon them back.",
        page="tables.md",
        claims=("HiddenCells",),
        first=True,
        closed={"map": "a map compares releases of rows"},
    )
)
@dataclass(frozen=True)
class CellSuppression:
    """Withhold sensitive cells, and others so that nobody can reckon them back.

    >>> people = sf.samples.members(300)
    >>> release = sf.tabulate(people, "region,race", method=sf.CellSuppression(effort="fast"))
    >>> release.data.to_arrow()["count"].null_count
    12
    """

    effort: Annotated[
        Literal["fast", "normal", "exact"],
        Parameter(
            Text(
                "fast: one pass. normal: searched until a limit. exact: with a proof, for small tables.",
                EFFORTS,
            ),
            beginner=True,
        ),
    ] = "normal"
    cost: Annotated[
        Literal["cells", "counts", "log counts"],
        Parameter(Text("What is kept low: how many cells are withheld, or the counts in them.", COSTS)),
    ] = "cells"
    time_limit: Annotated[
        float, Parameter(Number("To search, on the processor.", 0, above=True), unit="seconds")
    ] = 50.0
    work_limit: Annotated[
        int | None,
        Parameter(
            Number("The same in linear programs, so that every machine finds the same.", 1, whole=True)
        ),
    ] = None
    contributors: Annotated[
        bool, Parameter(Flag("Hide cells also from whoever is alone in another cell."))
    ] = True
    ranges: Annotated[
        bool,
        Parameter(
            Flag("Show small counts as 1-4 in place of nothing: readers then know which cells are small.")
        ),
    ] = False
    search_seed: Annotated[int, Parameter(Number("Another order of search.", 0, whole=True))] = 0

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = []
        if self.effort not in EFFORTS:
            faults.append(f"effort is one of {', '.join(EFFORTS)}")
        if self.cost not in COSTS:
            faults.append(f"cost is one of {', '.join(COSTS)}")
        if not self.time_limit > 0:
            faults.append("time_limit is a number of seconds above 0")
        if self.work_limit is not None and self.work_limit < 1:
            faults.append("work_limit is a whole number above 0")
        if self.search_seed < 0:
            faults.append("search_seed is a whole number from 0 up")
        if faults:
            raise ParameterError(
                f"{'; '.join(faults)}.", hint="CellSuppression(effort='normal', cost='cells')"
            )

    def costs(self, counts: Real) -> Real:
        """What each cell costs to withhold."""
        if self.cost == "cells":
            return np.ones(len(counts))
        size = np.maximum(np.abs(counts), 1.0)
        return size if self.cost == "counts" else 1.0 + np.log(size)

    def protect(self, problem: HidingProblem) -> Pattern:
        """A pattern under which the attacker finds nothing: the cheapest of those that he has looked at."""
        merged = merge(problem)
        _refuse_kept(problem, merged)
        search = PatternSearch(merged.problem, seed=self.search_seed)
        search.start()
        seen: list[tuple[Index, Real]] = []
        best: Pattern | None = None
        for share in (0.0,) if self.effort == "fast" else _PHASES:
            if not search.impossible:
                done = 0 if self.work_limit is None else search.programs
                limit = None if self.work_limit is None else done + int(self.work_limit * share)
                search.improve(until(self.time_limit * share, limit, search))
            best = _cheaper(best, self._looked_at(problem, merged, search, seen))
        bound = float(merged.problem.cost[merged.problem.sensitive].sum())
        if self.effort == "exact":
            end = time.process_time() + self.time_limit
            asked, primary = -1, bound
            while asked < len(search.requirements) and time.process_time() < end:  # contributors may ask more
                asked = len(search.requirements)
                bound = primary + prove(search, end - time.process_time())
                best = _cheaper(best, self._looked_at(problem, merged, search, seen))
        assert best is not None
        if best.findings.found:
            raise DataError(
                f"{best.findings.found} sensitive cells could not be hidden.",
                hint="publish fewer tables, or coarser ones",
            )
        return replace(best, bound=min(bound, best.cost), programs=search.programs)

    def _looked_at(
        self, problem: HidingProblem, merged: Merged, search: PatternSearch, seen: list[tuple[Index, Real]]
    ) -> Pattern:
        """Let the attacker look; what a contributor finds is required next, until nothing is found."""
        alone = np.flatnonzero(problem.alone).tolist() if self.contributors else []
        for _ in range(_ROUNDS):
            if search.impossible:
                raise _impossible(problem, merged, search, self.search_seed)
            withheld = merged.spread(search.withheld)
            attacker = Attacker(problem.published(withheld), problem.values)
            hints = (merged.change(m.cells, m.step) for m in search.movements())
            findings = attacker.judge(problem.targets(), alone=alone, hints=itertools.chain(seen, hints))
            seen += attacker.witnesses
            if not findings.victims:
                break
            for contributor, victim in findings.victims:
                fixed, cell = int(merged.of[contributor]), int(merged.of[victim])
                if fixed != cell:
                    search.require(Requirement(cell, 1.0 if problem.whole else _some(problem, victim), fixed))
            search.start()
        cost = float(problem.cost[withheld].sum())
        return Pattern(withheld, findings, cost, 0.0, search.for_contributors, search.programs)


def _cheaper(one: Pattern | None, other: Pattern) -> Pattern:
    """The better of two: nothing was found in it, then the cheaper."""
    if one is None or (other.findings.found, other.cost) < (one.findings.found, one.cost):
        return other
    return one


def _some(problem: HidingProblem, cell: int) -> float:
    """A movement that is not nothing, for a sum."""
    return float(max(abs(problem.high[cell] - problem.low[cell]) * 0.05, 1e-3))


def _refuse_kept(problem: HidingProblem, merged: Merged) -> None:
    clash = merged.problem.kept & merged.problem.sensitive
    if clash.any():
        cells = np.flatnonzero(clash[merged.of] & problem.kept)
        raise DataError(
            f"{len(cells)} of the cells that must be published are sensitive, or equal to one that is.",
            hint="let them be withheld, or make the table coarser",
            values=cells.tolist(),
        )


def _impossible(problem: HidingProblem, merged: Merged, search: PatternSearch, seed: int) -> DataError:
    """Say how many cells cannot be hidden, and what giving way would cost; its values are cells by number."""
    open_ = {r.cell for r in search.impossible}
    n = len(open_)
    what = f"{n} sensitive cell{'s' * (n > 1)} cannot be hidden"
    if not problem.kept.any():
        return DataError(
            f"{what}: too few cells are there to hide them among.",
            hint="join categories, or publish fewer tables",
            values=[i for i, cell in enumerate(merged.of.tolist()) if cell in open_],
        )
    dear = merged.problem.cost + merged.problem.kept * merged.problem.cost.sum()
    free = replace(merged.problem, kept=np.zeros(merged.problem.size, bool), cost=dear)
    relaxed = PatternSearch(free, seed=seed)
    for requirement in search.requirements[len(relaxed.requirements) :]:  # of contributors
        relaxed.require(requirement)
    relaxed.start()
    given = np.flatnonzero(relaxed.withheld[merged.of] & problem.kept)
    return DataError(
        f"{what} while {int(problem.kept.sum())} cells must be published.",
        hint=f"withholding {len(given)} of those cells would do, or make the table coarser",
        values=given.tolist(),
    )
