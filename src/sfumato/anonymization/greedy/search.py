"""Greedy, literal and closed, and the beam that keeps the n best sets (thesis, p. 48 and 79)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization import parameters as declared
from sfumato.anonymization.greedy.check import ClassCheck, blocks, bound, check_levels, checked
from sfumato.anonymization.greedy.closure import close
from sfumato.anonymization.greedy.flat import Flat
from sfumato.anonymization.greedy.posets import PosetSearch, search_posets
from sfumato.anonymization.information import Height
from sfumato.anonymization.limits import SearchLimits, refuse_limits
from sfumato.anonymization.measure import CellMeasure, Costs
from sfumato.anonymization.parameters import of_cells
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Flag
from sfumato.privacy import Claim, KAmbiguity
from sfumato.progress import report

_CHUNK = 200  # seeds between two reports
# members, their rows, the bound, whether they are suppressed
Part = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], bool]


@declares(
    Declaration(
        "beam",
        Does.GENERALIZE,
        "Greedy with the n best sets kept.",
        page="greedy.md",
        claims=(*declared.COUNTED, "KAmbiguity"),
        needs=(Need.HIERARCHIES,),
    )
)
@dataclass(frozen=True)
class Beam:
    """Each row's set grows by the row that least increases the measure; the `width` best sets are kept.

    Without `closed` it is the thesis' literal algorithm. That is k-*ambiguity*: the released rows are not
    alike, and whoever matches all people with all rows at once finds some.

    >>> people = sf.samples.members(60).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.Beam(width=3), hierarchies=ladders)
    >>> bool(release.counts(*people.columns).n.min() >= 5)
    True
    """

    width: Annotated[int, declared.count("How many sets are kept; 1 is Greedy.", 1, beginner=True)] = 5
    loss: Annotated[CellMeasure, declared.loss("What guides it, a sum over cells", of_cells)] = field(
        default_factory=Height
    )
    closed: Annotated[
        bool,
        Parameter(
            Flag(
                "Disjoint classes, so that the release is k-anonymous. Otherwise as printed: each row as the "
                "bound of its own set, which is k-ambiguity and no more."
            )
        ),
    ] = True
    time_limit: Annotated[
        float | None, declared.time_limit("rows that no set was grown for are released as one class")
    ] = None
    work_limit: Annotated[int | None, declared.work_limit("sets that are grown")] = None

    def __post_init__(self) -> None:
        require_numbers(self)
        if self.width < 1:
            raise ParameterError("width must be at least 1.", hint="Beam(width=5)")
        if not isinstance(self.loss, CellMeasure):
            raise ParameterError(
                "this search is guided by a measure that is a sum over cells.",
                hint="Height(), ColumnMI(target=...); ModelGuided() is for models",
            )
        refuse_limits(self.time_limit, self.work_limit)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that must be counted besides the quasi-identifiers."""
        return self.loss.needs

    @property
    def takes_posets(self) -> bool:
        """Whether columns may have posets without levels."""
        return self.width == 1

    @property
    def over_posets(self) -> PosetSearch:
        """What it does where posets have no levels."""
        return PosetSearch(
            type(self).__name__.lower(), self.loss.name, self.width, None, not self.closed,
            self.time_limit, self.work_limit,
        )  # fmt: skip

    def claims(self, recoding: Recoding) -> tuple[Claim, ...] | None:
        """What to promise instead of what the criterion counts in classes; None: there are classes."""
        return None if self.closed else (KAmbiguity(recoding.about["k_reached"], recoding.problem.columns),)

    def search(self, problem: Problem, criterion: Criterion) -> Recoding:
        """The recoding, and in `about` what it is: measure, score, seconds, which claim it carries."""
        if problem.without_levels:
            return search_posets(self.over_posets, problem, criterion)
        limits = SearchLimits(self.time_limit, self.work_limit)
        check_levels(problem)
        found = searched(
            problem, criterion, self.loss.cost(problem), self.width, self.loss.monotone, self.closed, limits
        )
        found.about.update(
            method=type(self).__name__.lower(),
            width=self.width,
            measure=self.loss.name,
            score=self.loss.score(found),
            reads_outcome=self.loss.reads_outcome,
            stopped=limits.stopped,
            seconds=limits.seconds,
        )
        limits.say(f"what {limits.spent} sets left over is released together, more general than it need be")
        return found


@declares(
    Declaration(
        "greedy",
        Does.GENERALIZE,
        "Cell by cell, as the DSG toolkit does.",
        page="greedy.md",
        claims=(*declared.COUNTED, "KAmbiguity"),
        needs=(Need.HIERARCHIES,),
    )
)
@dataclass(frozen=True)
class Greedy(Beam):
    """`Beam` with one set: the thesis' Greedy, closed into disjoint classes unless `closed=False`.

    >>> people = sf.samples.members(60).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=sf.Greedy(closed=False), hierarchies=ladders)
    >>> release.guarantee.claims[0].title
    'k-ambiguity with k = 5'
    """

    width: int = field(default=1, init=False)


def searched(
    problem: Problem,
    criterion: Criterion,
    costs: Costs,
    width: int,
    monotone: bool,
    closed: bool,
    limits: SearchLimits,
) -> Recoding:
    """Greedy on tables of costs; what guides it is settled."""
    flat = Flat.of(problem, costs)
    check = ClassCheck(problem, criterion, flat)
    if not closed and not check.only_size:
        raise ParameterError(
            "literal Greedy has no classes, so only k rows can be asked of it, not persons or anything else.",
            hint="KAnonymity(5, persons=False) and nothing else, or classes: closed=True",
        )
    if not closed:
        return _literal(problem, flat, check, width, monotone, limits)
    return _closed(problem, flat, check, width, monotone, limits)


def _closed(
    problem: Problem, flat: Flat, check: ClassCheck, width: int, monotone: bool, limits: SearchLimits
) -> Recoding:
    roots = np.array([h.root for h in problem.hierarchies], np.int32)
    parts: list[Part] = []
    for block in blocks(problem):
        found = close(flat, block, check, width, monotone, limits)
        if found is None:
            parts.append((block, problem.n[block], roots, True))
        else:
            parts.extend(
                (m, r, b, False) for m, r, b in zip(found.members, found.rows, found.nodes, strict=True)
            )
    return checked(pieces(problem, parts, claim="classes"), check)


def pieces(problem: Problem, parts: Sequence[Part], **about: object) -> Recoding:
    """Classes as a recoding: in the order of the combinations, without pieces that are empty."""
    if not parts:
        empty = np.zeros((0, len(problem.columns)), np.int32)
        return Recoding(problem, np.zeros(0, np.int64), problem.n, empty, np.zeros(0, np.bool_), about)
    of = np.concatenate([members for members, _, _, _ in parts])
    n = np.concatenate([rows for _, rows, _, _ in parts])
    nodes = np.concatenate([np.tile(bound, (len(members), 1)) for members, _, bound, _ in parts])
    suppressed = np.repeat([gone for _, _, _, gone in parts], [len(members) for members, _, _, _ in parts])
    order = np.argsort(of, kind="stable")
    order = order[n[order] > 0]
    return Recoding(
        problem, of[order], n[order], nodes[order].astype(np.int32), suppressed[order].astype(np.bool_), about
    )


def _literal(
    problem: Problem, flat: Flat, check: ClassCheck, width: int, monotone: bool, limits: SearchLimits
) -> Recoding:
    """Each combination's own set and its bound.

    Guarantee: k-ambiguity, no more: every released row covers at least k original rows.
    Because:   its cells are upper bounds of the cells of k rows; counted again below.
    Assumes:   an intruder looks at one released row by itself. Who matches all people with all rows at once
               re-identifies some: the rows are not alike.
    Tested by: tests/anonymization/test_greedy_attack.py
    """
    from sfumato.anonymization.greedy._kernels import covered, grow_each

    nodes = np.empty((problem.combinations, len(problem.columns)), np.int32)
    suppressed = np.zeros(problem.combinations, np.bool_)
    done = 0
    for block in blocks(problem):
        if not check.all_hold(block):
            suppressed[block] = True
            nodes[block] = [h.root for h in problem.hierarchies]
            continue
        free = np.zeros(problem.combinations, np.bool_)
        free[block] = True
        before = done
        for part in np.array_split(block, -(-len(block) // _CHUNK)):
            most = int(min(limits.left, len(part)))
            if not limits.take(most):
                most = 0
            out = np.empty((most, len(problem.columns)), np.int32)
            grow_each(flat, part[:most], check.k, width, monotone, free, out)
            nodes[part[:most]] = out
            done += most
            if most < len(part):
                limits.take(len(part) - most)  # notes which limit it is
                break
            report("greedy sets", done, problem.combinations)
        if limits.stopped:
            over = block[done - before :]
            nodes[over] = bound(flat, block)  # above k rows and more
    kept = ~suppressed
    patterns = np.unique(nodes[kept], axis=0)
    counts = np.empty(len(patterns), np.int64)
    covered(flat, patterns, counts)
    reached = int(counts.min(initial=problem.rows))  # a row of nothing but roots covers all
    assert not len(counts) or reached >= check.k, "a released row covers fewer than k rows"
    return Recoding.whole(problem, nodes, suppressed, claim="ambiguity", k_reached=reached)
