"""Cell suppression with proof: a pattern is given out only when the attacker finds nothing.

Because: the search holds a witness for every requirement, all of whose cells are withheld; and the attacker,
who knows the published cells alone, looks for its own.
Assumes: a reader knows the published tables, what is said of withheld cells, and the contributions of at most
`coalition` people, each in one cell (who is alone in two cells counts as two).
Tested by: tests/tabulation/test_suppression.py
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
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
from sfumato.tabulation.requirement import Requirement
from sfumato.tabulation.search import PatternSearch, until
from sfumato.tabulation.windows import PatternWindows, improve

Flags = NDArray[np.bool_]
Real = NDArray[np.float64]
Index = NDArray[np.int64]

EFFORTS = ("fast", "normal", "exact")
COSTS = ("cells", "counts", "log counts")
_ROUNDS = 12  # of looking for contributors' victims
_FIRST, _SLICES = 0.2, 16  # of the search; after each the attacker looks, as contributors may ask for more
_SEARCHED = 4.0  # times as long as he looks, at least


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
    coalition: Annotated[
        int,
        Parameter(
            Number(
                "How many people may tell each other what they know without learning of others.",
                1,
                5,
                whole=True,
            )
        ),
    ] = 1
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
        if not 1 <= self.coalition <= 5:
            faults.append("coalition is a whole number from 1 to 5")
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
        began = time.process_time()
        merged = merge(problem)
        _refuse_kept(problem, merged)
        search = PatternSearch(merged.problem, seed=self.search_seed)
        search.start()
        seen: list[tuple[Index, Real]] = []
        look = time.process_time()
        best = self._looked_at(problem, merged, search, seen)
        going, first = self.effort != "fast", True
        windows = PatternWindows(search)
        while going:
            looked, asked = time.process_time() - look, len(search.requirements)
            share = _FIRST if first else 1 / _SLICES
            going_on, first = self._slice(search, share, began + self.time_limit, looked), False
            if not going_on():
                break
            finished = improve(windows, going_on)
            look = time.process_time()
            best = _cheaper(best, self._looked_at(problem, merged, search, seen))
            going = not finished or asked < len(search.requirements)
        bound = float(merged.problem.cost[merged.problem.sensitive].sum())
        if self.effort == "exact":
            end = time.process_time() + self.time_limit
            asked, primary = -1, bound
            while asked < len(search.requirements) and time.process_time() < end:  # contributors may ask more
                asked = len(search.requirements)
                bound = primary + prove(search, windows.cuts, end - time.process_time())
                best = _cheaper(best, self._looked_at(problem, merged, search, seen))
        assert best is not None
        if best.findings.found:
            raise DataError(
                f"{best.findings.found} sensitive cells could not be hidden.",
                hint="publish fewer tables, or coarser ones",
            )
        return replace(best, bound=min(bound, best.cost), programs=search.programs)

    def _slice(self, search: PatternSearch, share: float, end: float, looked: float) -> Callable[[], bool]:
        """How long to search before the attacker looks again, who needed so long; and must get to look."""
        if self.work_limit is not None:
            wanted = search.programs + max(int(self.work_limit * share), 1)
            return until(self.time_limit, min(wanted, self.work_limit), search)
        left = end - time.process_time() - 1.2 * looked
        return until(min(max(self.time_limit * share, _SEARCHED * looked), left), None, search)

    def _looked_at(
        self, problem: HidingProblem, merged: Merged, search: PatternSearch, seen: list[tuple[Index, Real]]
    ) -> Pattern:
        """Let the attacker look; what a contributor finds is required next, until nothing is found."""
        alone = problem.known_to(self.coalition) if self.contributors else {}
        for _ in range(_ROUNDS):
            if search.impossible:
                raise _impossible(problem, merged, search, self.search_seed)
            withheld = merged.spread(search.withheld)
            attacker = Attacker(problem.published(withheld), problem.values)
            hints = (merged.change(m.cells, m.step) for m in search.movements())
            findings = attacker.judge(
                problem.targets(), alone=alone, coalition=self.coalition, hints=itertools.chain(seen, hints)
            )
            seen += attacker.witnesses
            victims = [((c,), v) for c, v in findings.victims] + list(findings.coalitions)
            if not victims:
                break
            for contributors, victim in victims:
                still, cell = tuple(sorted({*merged.of[list(contributors)].tolist()})), int(merged.of[victim])
                if cell not in still:
                    amount = 1.0 if problem.whole else _some(problem, victim)
                    search.require(Requirement(cell, amount, still, either=problem.whole))
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
        allied = any(len(r.still) > 1 for r in search.impossible)
        return DataError(
            f"{what}: too few cells are there to hide them among.",
            hint="join categories, publish fewer tables" + ", or ask for a smaller coalition" * allied,
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
