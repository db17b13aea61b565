"""Full-domain generalization with suppression: the exact optimum, with a certificate.

Each column is released on one level of its hierarchy, the same for all rows; rows whose class does not
satisfy what was asked are suppressed, up to a limit. Three ways through the lattice of levels, each exact:

- *boundary*: nothing is suppressed and generalizing keeps the criterion: predictive tagging, binary search;
- *branching*: the criterion is about class sizes: depth-first roll-up, cut off by a lower bound;
- *ordered*: anything else: nodes in the order of their lower bound, until it passes the best score. Without
  a bound (the measure is not a sum over cells, or not monotone) every node is looked at.

Stopped early (a limit, Ctrl-C), the best so far comes back with its gap to what is proven.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.boundary import RollUpCheck, search_boundary
from sfumato.anonymization.branch_and_bound import branch
from sfumato.anonymization.classes import classes_of
from sfumato.anonymization.histograms import Demands
from sfumato.anonymization.incumbent import Incumbent
from sfumato.anonymization.lattice import Lattice, Levels, Room
from sfumato.anonymization.limits import INTERRUPTED, SearchLimits, refuse_limits
from sfumato.anonymization.loss import Loss, measure_of
from sfumato.anonymization.measure import CellMeasure, Measure
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.anonymization.top_down import search_top_down
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.settings import require_numbers

_LARGE = 2_000_000  # nodes from which on a time limit is set where none was given
_SLOW = 2_000  # the same, where each node's classes are counted anew
_WORK = 10**10  # nodes times combinations from which on nodes are not rolled up one after the other
_PATIENCE = 60.0


@declares(
    Declaration(
        "optimal",
        Does.GENERALIZE,
        "One level per column, the best there is, with a certificate.",
        page="optimal.md",
        claims=declared.COUNTED,
        needs=(Need.HIERARCHIES,),
        first=True,
        grid=({"k": 3}, {"k": 10}, {"k": 30}),
    )
)
@dataclass(frozen=True)
class OptimalRecoding:
    """One level per column, the best there is.

    A lattice of more than two million nodes gets a time limit of 60 seconds where no limit is given, and so
    does one of fewer with a table so large that the search goes from the top (nodes times combinations of
    values above 10**10); one of more than two thousand nodes where criteria look into the classes (persons,
    l, t), each node of which takes long. The work limit does not count the most and the least general node;
    with several threads it hangs on them which nodes are looked at.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> best = sf.OptimalRecoding(loss="entropy", max_suppressed=0.02)
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=best, hierarchies=ladders)
    >>> release.internal.extra["search"]["optimal"]
    True
    """

    loss: Annotated[Measure | str, declared.loss("What is minimized")] = "loss"
    max_suppressed: Annotated[float, declared.MAX_SUPPRESSED] = 0.0
    time_limit: Annotated[
        float | None, declared.time_limit("the best so far is given, with its gap to what is proven")
    ] = None
    threads: Annotated[
        int,
        declared.count("How many search side by side, where class sizes are all that is asked.", 1),
    ] = 1
    work_limit: Annotated[int | None, declared.work_limit("nodes of the lattice")] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        object.__setattr__(self, "loss", measure_of(self.loss))
        if isinstance(self.max_suppressed, bool) or not 0 <= self.max_suppressed <= 1:
            raise ParameterError("max_suppressed is a share from 0 to 1.", hint="max_suppressed=0.04")
        refuse_limits(self.time_limit, self.work_limit)
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or self.threads < 1:
            raise ParameterError("threads must be a whole number from 1 up.", hint="threads=2")

    @property
    def measure(self) -> Measure:
        """What is minimized (or maximized, if it says so)."""
        assert not isinstance(self.loss, str)
        return self.loss

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """The node with the least loss among those that suppress few enough rows."""
        costs, lost = _costs(self.measure, problem)
        demands = Demands.of(criterion, problem) if self._bounded() else None
        lattice = Lattice(problem, costs, lost, criterion.k, demands)
        limit = math.floor(self.max_suppressed * problem.rows + 1e-9)
        way = self._way(lattice, criterion, limit, demands is not None)
        seconds = self.time_limit
        if (
            seconds is None
            and self.work_limit is None
            and (way == "top-down" or lattice.size > (_SLOW if way == "ordered" else _LARGE))
        ):
            seconds = _PATIENCE
        found = Incumbent(SearchLimits(seconds, self.work_limit), lattice.size)
        if way == "boundary":
            quick = demands is not None and lattice.packs
            search_boundary(lattice, RollUpCheck(lattice) if quick else _Accepts(lattice, criterion), found)
        elif way == "top-down":
            search_top_down(lattice, limit, found)
        elif way == "branching":
            branch(lattice, limit, found, self.threads)
        else:
            _ordered(Judge(lattice, criterion, self.measure, limit), found, self._bounded())
        return self._given_back(lattice, criterion, found, way)

    def _bounded(self) -> bool:
        return isinstance(self.measure, CellMeasure) and self.measure.monotone

    def _way(self, lattice: Lattice, criterion: Criterion, limit: int, compiled: bool) -> str:
        if self._bounded() and limit == 0 and criterion.monotone and lattice.size <= _LARGE:
            return "boundary"
        if compiled and (lattice.size > _LARGE or lattice.size * lattice.problem.combinations > _WORK):
            return "top-down"
        return "branching" if compiled and lattice.packs else "ordered"

    def _given_back(self, lattice: Lattice, criterion: Criterion, found: Incumbent, way: str) -> Recoding:
        if not found.ties:
            if found.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            raise ParameterError(
                f"the search found nothing within {found.limits.named}."
                if found.stopped
                else "the search found nothing: no combination of levels suppresses few enough rows.",
                hint="allow more rows to be suppressed, higher levels, or more time",
            )
        levels = found.choice()
        judge = Judge(lattice, criterion, self.measure, lattice.problem.rows)
        recoding = judge.recoding(levels)
        score = self.measure.score(recoding)
        recoding.about.update(
            _certificate(lattice, found, way, score, self.measure, int(recoding.n[recoding.suppressed].sum()))
        )
        if found.stopped:
            gap = recoding.about["gap"]
            known = f", at most {gap:.4g} from the optimum" if gap is not None else "; its gap is not known"
            found.limits.say(f"the best of {found.checked} nodes is given{known}")
        return recoding


def _certificate(
    lattice: Lattice, found: Incumbent, way: str, score: float, measure: Measure, suppressed: int
) -> dict[str, Any]:
    """What was found, and what is proven about it."""
    named = [dict(zip(lattice.problem.columns, t, strict=True)) for t in sorted(set(found.ties))]
    choice = dict(zip(lattice.problem.columns, found.choice(), strict=True))
    gap: float | None = max(0.0, found.best - found.bound) if math.isfinite(found.bound) else None
    if isinstance(measure, CellMeasure) and gap is not None and not isinstance(measure, Loss) and gap > 0:
        gap = None  # the bound is in units of cost, not of the score
    return {
        "method": "OptimalRecoding",
        "way": way,
        "tagging": "generalizations of what was found and specializations of what was not were not looked at"
        if way == "boundary"
        else "none: the score hangs on what is suppressed; nodes beyond the bound were not looked at"
        if way == "branching"
        else "specializations of what loses too many rows were not looked at"
        if way == "top-down"
        else "none: nothing follows for other nodes from the criterion or the measure",
        "levels": choice,
        "score": score,
        "measure": measure.name,
        "bound": None if gap is None else max(score - gap, 0.0) if isinstance(measure, Loss) else score - gap,
        "gap": gap,
        "optimal": not found.stopped,
        "stopped": found.stopped,
        "ties": named,
        "checked": found.checked,
        "nodes": lattice.size,
        "suppressed": suppressed,
    }


def _costs(measure: Measure, problem: Problem) -> tuple[tuple[NDArray[np.float64], ...], float]:
    """Per column what a node costs, and what a suppressed row costs; nothing where cells do not add up."""
    if not isinstance(measure, CellMeasure):
        return tuple(np.zeros(h.size) for h in problem.hierarchies), 0.0
    costs = measure.cost(problem)
    own = getattr(measure, "suppressed", None)
    lost = (
        own(problem)
        if own is not None
        else sum(float(cost[h.root]) for cost, h in zip(costs, problem.hierarchies, strict=True))
    )
    return costs, float(lost)


# -- any criterion, any measure --------------------------------------------------------------------


class Judge:
    """A node, looked at with the criterion and the measure themselves."""

    def __init__(self, lattice: Lattice, criterion: Criterion, measure: Measure, limit: int) -> None:
        self.lattice, self._criterion, self._measure, self._limit = lattice, criterion, measure, limit
        self._room = Room()

    def recoding(self, levels: Levels) -> Recoding:
        """What becomes of each combination: its nodes, or suppression."""
        lattice, problem = self.lattice, self.lattice.problem
        label = lattice.labels(levels, self._room)
        nodes = lattice.nodes(levels)
        classes = int(label.max(initial=-1)) + 1
        first = np.zeros(classes, np.int64)
        first[label[::-1]] = np.arange(len(label))[::-1]
        good = self._criterion.satisfied(
            classes_of(problem, label, nodes[first], matching=self._criterion.matching)
        )
        suppressed = ~good[label]
        root = np.array([h.root for h in problem.hierarchies], np.int32)
        return Recoding.whole(
            problem, np.where(suppressed[:, None], root, nodes).astype(np.int32), suppressed
        )

    def score(self, levels: Levels) -> float | None:
        """The lower the better; None if too many rows are suppressed."""
        recoding = self.recoding(levels)
        if int(recoding.n[recoding.suppressed].sum()) > self._limit:
            return None
        if isinstance(self._measure, CellMeasure):  # in the units of the bound
            return _mean(recoding, self.lattice)
        score = self._measure.score(recoding)
        return score if self._measure.better == "lower" else -score


class _Accepts:
    """Whether every class of a node satisfies the criterion."""

    def __init__(self, lattice: Lattice, criterion: Criterion) -> None:
        self._judge = Judge(lattice, criterion, Loss(), 0)

    def __call__(self, levels: Levels) -> bool:
        """Whether nothing would be suppressed."""
        return not self._judge.recoding(levels).suppressed.any()


def _mean(recoding: Recoding, lattice: Lattice) -> float:
    cost = np.zeros(len(recoding.of))
    for j in range(len(lattice.top)):
        cost += lattice.costs[j][recoding.nodes[:, j]]
    cost = np.where(recoding.suppressed, lattice.lost, cost)
    return float((cost * recoding.n).sum() / max(lattice.problem.rows, 1))


def _dive(judge: Judge, found: Incumbent) -> dict[Levels, float | None]:
    """From the top down, always the step that scores best, while one satisfies: a good node early on.

    What was looked at is given back with its score, so that nothing is looked at twice.
    """
    known: dict[Levels, float | None] = {}
    levels: Levels | None = judge.lattice.top
    while levels is not None:
        best: tuple[float, Levels] | None = None
        for j, level in enumerate(levels):
            if not level:
                continue
            node = (*levels[:j], level - 1, *levels[j + 1 :])
            if not found.look():
                return known
            score = known[node] = judge.score(node)
            if score is not None:
                found.offer(node, score)
                best = min(best or (score, node), (score, node))
        levels = None if best is None else best[1]
    return known


def _ordered(judge: Judge, found: Incumbent, bounded: bool) -> None:
    """Nodes in the order of their bound, each once; all of them where there is no bound."""
    lattice = judge.lattice
    heap: list[tuple[float, int, Levels]] = [(lattice.bound(lattice.bottom), 0, lattice.bottom)]
    seen = {lattice.bottom}
    known: dict[Levels, float | None] = {}
    try:
        score = judge.score(lattice.top)  # something to give back, whatever the limits say
        if score is not None:
            found.offer(lattice.top, score)
            if lattice.size > _SLOW:
                known = _dive(judge, found)  # most of a lattice is never reached
        while heap:
            bound, steps, levels = heap[0]
            if bounded and found.hopeless(bound):
                return
            if levels not in known:
                if not found.look():
                    break
                score = judge.score(levels)
                if score is not None:
                    found.offer(levels, score)
            heapq.heappop(heap)
            for j, level in enumerate(levels):
                higher = (*levels[:j], level + 1, *levels[j + 1 :])
                if level < lattice.top[j] and higher not in seen:
                    seen.add(higher)
                    heapq.heappush(heap, (lattice.bound(higher), steps + 1, higher))
    except KeyboardInterrupt:
        found.stop(INTERRUPTED)
    if found.stopped:
        found.leave(heap[0][0] if bounded and heap else -math.inf)
