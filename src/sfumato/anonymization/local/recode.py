"""Local recoding: rows that are alike are released alike, each class as general as it must be and no more."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import limits
from sfumato.anonymization import parameters as declared
from sfumato.anonymization.local.blocks import blocks_of, refuse
from sfumato.anonymization.local.bounds import bounded, bounded_by_prices, least_lost
from sfumato.anonymization.local.cuts import cut_down
from sfumato.anonymization.local.exact import solved
from sfumato.anonymization.local.forest import HierarchyForest, planted
from sfumato.anonymization.local.improve import Ground, annealed, annealed_by_asking, per_move
from sfumato.anonymization.local.pace import Pace
from sfumato.anonymization.local.pieces import PiecePartition
from sfumato.anonymization.local.query import ClassQuery, rows_decide
from sfumato.anonymization.local.start import agglomerated, boxes, gathered, parts_of, widened
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Criterion, KAnonymity
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Text
from sfumato.progress import listening, report

_SECONDS = {"fast": 10.0, "thorough": 60.0}
_MOVES = {"fast": 160, "thorough": 1500}  # pools per combination at k = 1
_HOT = {"fast": 0.004, "thorough": 0.02}  # with few moves per class heat is lost time
_BOUND = {"fast": 0.2, "thorough": 0.36}  # share of the seconds kept for the bound
_ANNEALED = 0.3  # share of the moves that are annealing, where regions are solved
_AMPLE = 10**9  # moves: more than any effort makes
_CUT = 20  # k from which rows alone start from the top as well: there are few classes then
_END = 0.05  # share kept for putting the parts together
SECTION = 25_000  # combinations that are searched at once, where rows alone decide
_Part = tuple[NDArray[np.int64], PiecePartition]


@declares(
    Declaration(
        "local",
        Does.GENERALIZE,
        "Each group of rows as general as it must be, no more.",
        page="local.md",
        claims=declared.COUNTED,
        needs=(Need.HIERARCHIES,),
        first=True,
        grid=({"k": 10, "effort": "fast"},),
    )
)
@dataclass(frozen=True)
class LocalRecoding:
    """The same value may become different nodes in different rows: less is lost than with one level for all.

    Where neither limit is given, improving ends after 10 or 60 seconds, by effort; the best so far is
    returned then, and on Ctrl-C. With ample time the same search_seed gives the same recoding. Rows are
    suppressed only where a column's maximum level leaves rows with too few others: it never lowers the loss.

    >>> people = sf.samples.members(60).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> fast = sf.LocalRecoding(effort="fast")
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=fast, hierarchies=ladders)
    >>> bool(release.counts(*people.columns).n.min() >= 5)
    True
    """

    effort: Annotated[
        Literal["fast", "thorough"],
        Parameter(
            Text(
                "'fast' merges small classes and improves them for a while; 'thorough' goes on, under "
                "annealing.",
                ("fast", "thorough"),
            ),
            beginner=True,
        ),
    ] = "thorough"
    time_limit: Annotated[float | None, declared.time_limit("the best so far is given")] = None
    search_seed: Annotated[int, declared.SEARCH_SEED] = 0
    max_suppressed: Annotated[float, declared.MAX_SUPPRESSED] = 0.0
    work_limit: Annotated[
        int | None,
        declared.work_limit("moves, and as many combinations bounded from below, beside the start"),
    ] = None

    def __post_init__(self) -> None:
        faults = []
        if self.effort not in _SECONDS:
            faults.append("effort must be fast or thorough")
        faults += limits.limit_faults(self.time_limit, self.work_limit)
        if (
            isinstance(self.search_seed, bool)
            or not isinstance(self.search_seed, int)
            or not 0 <= self.search_seed < 2**63
        ):
            faults.append("search_seed must be a whole number from 0 up")
        if not (_number(self.max_suppressed) and 0 <= self.max_suppressed <= 1):
            faults.append("max_suppressed must be a share from 0 to 1")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="LocalRecoding(effort='fast', search_seed=1)")

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """The recoding found, with its loss, a proven bound and the gap between them in `about`."""
        warm(_tried)
        began = limits.clock()
        run = _Run(self, problem, criterion)
        recoding = run.recoding()
        score = recoding.loss()
        bound = min(run.bound / max(problem.rows, 1), score)
        recoding.about.update(
            score=score,
            bound=bound,
            gap=score - bound,
            start=run.start / max(problem.rows, 1),
            classes=len(recoding.classes()[1]),
            seconds=round(limits.clock() - began, 3),
        )
        if run.stopped:
            why = limits.limit_named(run.stopped, run.seconds, self.work_limit)
            limits.say_stopped(why, "the best classes found so far are given")
        return recoding


@cache
def warm(run: Callable[[Problem, bool], object]) -> None:
    """Compile before the clock starts: once in a process every loop is run on a table of a few rows.

    run: what is to be compiled, by a problem and whether rows alone decide there.
    """
    pairs = Hierarchy.of_rows([[str(i), f"pair {i // 2}", "*"] for i in range(4)])
    leaves = np.array([[i, j] for i in range(4) for j in range(4)], np.int32)
    problem = Problem(("a", "b"), (pairs, pairs), leaves, np.ones(len(leaves), np.int64))
    report("compiling", 0, 2)
    for by_rows in (True, False):
        with listening(lambda label, done, total: None):  # the bar is about the search
            run(problem, by_rows)


def _tried(problem: Problem, by_rows: bool) -> None:
    """A short search that runs every loop; where rows do not decide it starts too small, and has to widen.

    It ends by its moves: a time limit would be used up by compiling, and leave loops that were not reached to
    be compiled when the clock of a real search is running.
    """
    run = _Run(LocalRecoding("fast", work_limit=_AMPLE), problem, KAnonymity(2))
    run.by_rows, run.k = by_rows, 2 if by_rows else 1
    run.recoding()
    bounded_by_prices(problem, run.forest, np.arange(problem.combinations), 3, None, 1.0)
    if run.interrupted:
        raise KeyboardInterrupt


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class _Run:
    """One search: block by block, each with its share of the time and of the work."""

    def __init__(self, method: LocalRecoding, problem: Problem, criterion: Criterion) -> None:
        self.began = limits.clock()
        self.method, self.problem, self.criterion = method, problem, criterion
        self.forest: HierarchyForest = planted(problem)
        self.k = max(1, criterion.k)
        self.by_rows = rows_decide(problem, criterion)
        self.ask = ClassQuery(problem, criterion)
        self.seconds = method.time_limit
        if method.time_limit is None and method.work_limit is None:
            self.seconds = _SECONDS[method.effort]
        # The start is cut short by a limit that was given, not by the one that stands in for it.
        self.end = None if method.time_limit is None else self.began + (1 - _END) * method.time_limit
        self.rng = np.array([_scrambled(method.search_seed)], np.uint64)
        self.bound = self.start = 0.0
        self.rows = self.searched = self.moves = 0
        self.hurried, self.interrupted, self.limit = False, False, ""
        self.before = limits.clock() - self.began

    @property
    def stopped(self) -> str:
        """Why the search did not come to its end; "" if it did."""
        return limits.INTERRUPTED if self.interrupted else self.limit

    def recoding(self) -> Recoding:
        """All blocks together."""
        problem = self.problem
        block = blocks_of(problem)
        lost = self._lost(block)
        refuse(problem, lost, self.method.max_suppressed, self.criterion.describe())
        self.bound = self.start = float(problem.n[lost].sum())
        if not self.by_rows:
            self.bound = 0.0  # with some rows left out, others of the block might satisfy
        parts: list[_Part] = []
        order = np.argsort(block, kind="stable")
        kept = order[~lost[order]]
        cuts = np.flatnonzero(np.diff(block[kept])) + 1
        for members in np.split(kept, cuts) if kept.size else ():
            parts += self._block(members)
        return self._assembled(lost, parts)

    def _lost(self, block: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(combinations,): whose block cannot satisfy even as a single class."""
        lost = np.zeros(len(block), bool)
        while True:
            label = np.where(lost, -1, block)
            label[~lost] = np.unique(label[~lost], return_inverse=True)[1].reshape(-1)
            if lost.all():
                return lost
            count = int(label.max()) + 1
            if self.by_rows:
                ok = np.bincount(label[~lost], self.problem.n[~lost], count) >= self.k
            else:
                ok = self.ask(label, boxes(self.forest, self.problem.leaves, label))
            if ok.all():
                return lost
            lost |= np.where(lost, True, ~ok[label])

    def _block(self, members: NDArray[np.int64]) -> list[_Part]:
        """A block in sections, each searched by itself: time and memory follow the largest of them."""
        leaves, n = np.ascontiguousarray(self.problem.leaves[members]), self.problem.n[members]
        share = float(n.sum()) / max(self.problem.rows, 1)
        seconds = None if self.seconds is None else share * ((1 - _END) * self.seconds - self.before)
        work, began = self._work(int(n.sum())), limits.clock()
        sections = [np.arange(len(n))]
        if self.by_rows and len(n) > SECTION:
            sections = gathered(parts_of(self.forest, leaves, n, SECTION), n, self.k)
        found, upper, loss = [], np.empty(len(n)), 0.0
        for section in sections:
            part = self._section(members[section], seconds, work, len(n))
            found.append((members[section], part))
            upper[section] = least_lost(self.forest, part, len(section))
            loss += part.loss
        limit = None if seconds is None else seconds - (limits.clock() - began)
        if self.interrupted:
            limit = 2.0 * share if limit is None else min(limit, 2.0 * share)
        self.bound += min(loss, self._bounded(members, leaves, n, upper, limit, work))
        return found

    def _section(
        self, members: NDArray[np.int64], seconds: float | None, work: int | None, among: int
    ) -> PiecePartition:
        """Some combinations in classes. seconds, work: of a block of so many; it has its share of them."""
        leaves, n = np.ascontiguousarray(self.problem.leaves[members]), self.problem.n[members]
        share, effort = len(members) / among, self.method.effort
        moves = int(_MOVES[effort] * len(n) / per_move(self.k)) + 1
        kept = _BOUND[effort] if self.k != 2 else _BOUND["fast"]  # pairs are bounded without prices
        improving = None if seconds is None else share * seconds * (1 - kept)
        allowed = None if work is None else int(work * share)
        pace = Pace(moves, improving, _HOT[effort], allowed, self._until(n), interrupted=self.interrupted)
        ask, wide = self._within(members), None
        if not ask.fits and (not self.by_rows or self.k >= _CUT):
            wide = cut_down(self.forest, self.problem.hierarchies, leaves, n, self.k, ask, pace)
        section = among > SECTION
        label = agglomerated(self.forest, leaves, n, self.k, pace, section=section)
        if not self.by_rows:
            label = widened(self.forest, leaves, n, label, ask, pace, wide)
        ground = Ground(self.forest, leaves, n, self.k, section)
        found = start = ground.partition(label)
        if self.by_rows and wide is not None:
            found = start = min(start, ground.partition(wide), key=lambda p: p.loss)
        if start.loss > 0 and self.by_rows:
            found = self._improved(ground, start, pace)
        elif start.loss > 0:
            found = annealed_by_asking(ground, start, ask, pace, self.rng)
        self.interrupted = pace.interrupted
        self.start += start.loss
        self.moves += pace.done
        self.hurried |= pace.hurried or pace.late
        if start.loss > 0:  # else there was nothing to improve
            self.limit = pace.stopped or self.limit
        return found

    def _improved(self, ground: Ground, start: PiecePartition, pace: Pace) -> PiecePartition:
        """By annealing; at k = 2 regions are solved after it, where there is time for that."""
        if self.k != 2 or self.method.effort != "thorough":
            return annealed(ground, start, pace, self.rng)
        first = pace.first(_ANNEALED)
        found = annealed(ground, start, first, self.rng)
        pace.after(first)
        return solved(ground, found, pace)

    def _until(self, n: NDArray[np.int64]) -> float | None:
        """When the start of a section ends, if a limit was given: each has its share of the time."""
        self.searched += int(n.sum())
        if self.end is None:
            return None
        return self.began + (self.end - self.began) * self.searched / max(self.problem.rows, 1)

    def _bounded(
        self,
        members: NDArray[np.int64],
        leaves: NDArray[np.int32],
        n: NDArray[np.int64],
        upper: NDArray[np.float64],
        limit: float | None,
        work: int | None,
    ) -> float:
        """What no recoding of a block can be below; by prices where there is time for all boxes.

        For pairs of rows the other way is as good, and does not need all boxes.
        """
        if self.k > 2 and (work is None or work >= len(n)):
            effort = _BOUND[self.method.effort] * _SECONDS[self.method.effort]
            proven = bounded_by_prices(self.problem, self.forest, members, self.k, limit, effort)
            if proven is not None:
                return proven
        return bounded(self.forest, leaves, n, upper, self.k, limit, work)

    def _work(self, rows: int) -> int | None:
        """Moves a block of so many rows may make: its share, and what the blocks before it left."""
        if self.method.work_limit is None:
            return None
        self.rows += rows
        return max(0, self.method.work_limit * self.rows // max(self.problem.rows, 1) - self.moves)

    def _within(self, members: NDArray[np.int64]) -> ClassQuery:
        """Asks about the classes of one block."""
        whole = len(members) == self.problem.combinations
        return self.ask if whole else ClassQuery(self.problem, self.criterion, members)

    def _assembled(self, lost: NDArray[np.bool_], parts: list[_Part]) -> Recoding:
        roots = np.array([h.root for h in self.problem.hierarchies], np.int32)
        gone = np.flatnonzero(lost)
        of = np.concatenate([gone, *(m[p.of] for m, p in parts)]).astype(np.int64)
        n = np.concatenate([self.problem.n[gone], *(p.n for _, p in parts)]).astype(np.int64)
        nodes = np.concatenate(
            [np.tile(roots, (len(gone), 1)), *(p.nodes[p.label] for _, p in parts)]
        ).astype(np.int32)
        order = np.argsort(of, kind="stable")
        about: dict[str, Any] = {
            "method": f"local recoding, {self.method.effort}",
            "search_seed": self.method.search_seed,
            "moves": self.moves,
            "repeatable": not (self.hurried or self.interrupted),
            "stopped": self.stopped,
        }
        return Recoding(self.problem, of[order], n[order], nodes[order], lost[of[order]], about)


def _scrambled(seed: int) -> int:
    """A state from a seed (splitmix64); never 0, where the generator would stay."""
    z = (seed + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return (z ^ (z >> 31)) or 1
