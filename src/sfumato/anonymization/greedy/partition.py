"""Partition (thesis, p. 49): split at the two rows farthest apart, again and again, down to k."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.greedy.check import ClassCheck, blocks, bound, check_levels, checked
from sfumato.anonymization.greedy.flat import Flat
from sfumato.anonymization.greedy.posets import PosetSearch, search_posets
from sfumato.anonymization.information import Height
from sfumato.anonymization.limits import SearchLimits, limit_faults
from sfumato.anonymization.measure import CellMeasure
from sfumato.anonymization.parameters import of_cells
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Text
from sfumato.progress import report

Longs = NDArray[np.int64]


@declares(
    Declaration(
        "partition",
        Does.GENERALIZE,
        "By parts, as the DSG toolkit does.",
        page="partition.md",
        claims=declared.COUNTED,
        needs=(Need.HIERARCHIES,),
    )
)
@dataclass(frozen=True)
class Partition:
    """Split each part at its two rows farthest apart, the others going to the closer end.

    The distance is 2 Measure(LUB(A, B)) - Measure(A) - Measure(B).

    >>> people = sf.samples.members(60).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.Partition(), hierarchies=ladders)
    >>> bool(release.counts(*people.columns).n.min() >= 5)
    True
    """

    loss: Annotated[CellMeasure, declared.loss("What distances are made of", of_cells)] = field(
        default_factory=Height
    )
    rule: Annotated[
        Literal["retrying", "printed"],
        Parameter(
            Text(
                "'printed' gives a part up as soon as one split cuts off too few rows; 'retrying' sets the "
                "end that drew too few aside, and takes the farthest pair of the others.",
                ("retrying", "printed"),
            )
        ),
    ] = "retrying"
    tries: Annotated[int, declared.count("How often 'retrying' does that for one part, at most.", 1)] = 64
    time_limit: Annotated[float | None, declared.time_limit("the parts stay as they are")] = None
    work_limit: Annotated[int | None, declared.work_limit("splits that are tried")] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = []
        if self.rule not in ("retrying", "printed"):
            faults.append("rule must be 'retrying' or 'printed'")
        if self.tries < 1:
            faults.append("tries must be at least 1")
        if not isinstance(self.loss, CellMeasure):
            faults.append("loss must be a measure that is a sum over cells")
        faults += limit_faults(self.time_limit, self.work_limit)
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="Partition(loss=ColumnMI(target='charge'))")

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that must be counted besides the quasi-identifiers."""
        return self.loss.needs

    @property
    def takes_posets(self) -> bool:
        """Whether columns may have posets without levels."""
        return True

    @property
    def over_posets(self) -> PosetSearch:
        """What it does where posets have no levels."""
        tries = 1 if self.rule == "printed" else self.tries
        return PosetSearch(
            "partition", self.loss.name, 1, tries, time_limit=self.time_limit, work_limit=self.work_limit
        )

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """The recoding, and in `about` what it is: measure, score, splits, seconds."""
        if problem.without_levels:
            return search_posets(self.over_posets, problem, criterion)
        limits = SearchLimits(self.time_limit, self.work_limit)
        check_levels(problem)
        flat = Flat.of(problem, self.loss.cost(problem), pairs=True)
        check = ClassCheck(problem, criterion, flat)
        nodes = np.empty((problem.combinations, len(problem.columns)), np.int32)
        suppressed = np.zeros(problem.combinations, np.bool_)
        splits = Splits(flat, check, self.loss.monotone, 1 if self.rule == "printed" else self.tries, limits)
        for block in blocks(problem):
            if not check.all_hold(block):
                suppressed[block] = True
                nodes[block] = [h.root for h in problem.hierarchies]
                continue
            for part in splits.down(block):
                nodes[part] = bound(flat, part)
                report("partition", splits.rows, problem.rows)
        found = checked(Recoding.whole(problem, nodes, suppressed), check)
        found.about.update(
            method="partition",
            rule=self.rule,
            claim="classes",
            measure=self.loss.name,
            score=self.loss.score(found),
            reads_outcome=self.loss.reads_outcome,
            splits=splits.made,
            tries=splits.tried,
            stopped=limits.stopped,
            seconds=limits.seconds,
        )
        limits.say(f"the parts after {splits.made} splits are given, wider than they need be")
        return found


class Splits:
    """Parts of combinations, split as long as both sides satisfy the criterion."""

    def __init__(
        self, flat: Flat, check: ClassCheck, monotone: bool, tries: int, limits: SearchLimits
    ) -> None:
        self.flat, self.check, self.monotone, self.tries, self.limits = flat, check, monotone, tries, limits
        self.made = self.tried = self.rows = 0
        ends = flat.node_at
        self.most = np.array([flat.cost[a:b].max() for a, b in pairwise(ends)])

    def down(self, block: Longs) -> list[Longs]:
        """The parts that are not split further."""
        todo, done = [np.asarray(block, np.int64)], []
        while todo:
            part = todo.pop()
            sides = self.split(part)
            if sides is None:
                done.append(part)
                self.rows += int(self.flat.n[part].sum())
                if len(done) % 64 == 0:
                    report("partition", self.rows, int(self.flat.n.sum()))
            else:
                todo.extend(sides)
        return done

    def split(self, part: Longs) -> tuple[Longs, Longs] | None:
        """Both sides of the first pair of ends that gives two satisfying ones; None where none does."""
        from sfumato.anonymization.greedy._kernels import divide, farthest

        flat, k = self.flat, self.check.k
        if len(part) < 2 or int(flat.n[part].sum()) < 2 * k:
            return None
        seeds = np.ones(len(part), np.bool_)
        side = np.empty(len(part), np.bool_)
        for _ in range(self.tries):
            if not self.limits.take():
                return None
            most = flat.costs(bound(flat, part[seeds])) if self.monotone else self.most
            first, second, _ = farthest(flat, part, seeds, most, np.argsort(-most))
            if first < 0:
                return None
            self.tried += 1
            rows = divide(flat, part, first, second, side)
            small = [rows[0] < k, rows[1] < k]
            if not any(small):
                sides = part[~side], part[side]
                small = [not self.check.all_hold(s) for s in sides]
                if not any(small):
                    self.made += 1
                    return sides
            seeds[[first, second]] = [not small[0], not small[1]]
            if seeds.sum() < 2:
                return None
        return None
