"""Greedy and Partition over any posets: ranges, graphs with several parents, power sets, dates, codes.

The same algorithms without kernels, for any order; see `bounds.py` for what is released where a set of
values has several least upper bounds. Time grows with the square of the distinct rows: thousands of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.greedy.bounds import MEASURES, Bounds, Longs, tallest
from sfumato.anonymization.greedy.check import ClassCheck, checked
from sfumato.anonymization.limits import SearchLimits
from sfumato.anonymization.measure import column_weights
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.criteria import Criterion
from sfumato.errors import ParameterError
from sfumato.hierarchy.node_numbers import Numbered
from sfumato.hierarchy.poset import Poset
from sfumato.progress import report

_OVER = "what it did not come to is released together, or suppressed where a highest level forbids it"
Row = tuple[Hashable, ...]
Class = list[int]
Holds = Callable[[Sequence[Class]], NDArray[np.bool_]]  # which classes satisfy what is asked


@dataclass(frozen=True)
class PosetSearch:
    """What a method does where posets have no levels.

    name, measure: of the method, and of its loss. width: of the beam. tries: pairs of ends at which a part
    may be split; None: sets grow. literal: sets are not closed into classes.
    """

    name: str = "greedy"
    measure: str = "height"
    width: int = 1
    tries: int | None = None
    literal: bool = False
    time_limit: float | None = None
    work_limit: int | None = None


class PosetMethod(Protocol):
    """A method that takes posets without levels."""

    @property
    def over_posets(self) -> PosetSearch:
        """What it does there."""
        ...


def refuse_unfit(method: PosetSearch) -> None:
    """What only runs on hierarchies with levels."""
    if method.width != 1:
        raise ParameterError("a beam runs on hierarchies with levels only.", hint="Greedy()")
    if method.measure not in MEASURES:
        raise ParameterError(
            "on general posets a search is guided by height or loss.", hint="loss=Height(), loss=Loss()"
        )


def search_posets(method: PosetSearch, problem: Problem, criterion: Criterion) -> Recoding:
    """What `method.search` is where a column has a poset without levels.

    Guarantee: every class satisfies the criterion; literal Greedy: every row covers k rows.
    Because:   classes are counted again by the nodes that are released (`checked`), and so are the rows
               that a literal row covers.
    Tested by: tests/anonymization/test_poset_releases.py
    """
    limits = SearchLimits(method.time_limit, method.work_limit)
    refuse_unfit(method)
    bounds = _bounds_of(problem, method.measure)
    check = ClassCheck(problem, criterion, None)
    if method.literal and not check.only_size:
        raise ParameterError(
            "literal Greedy has no classes, so only k rows can be asked of it, not persons or anything else.",
            hint="KAnonymity(5, persons=False) and nothing else, or classes: closed=True",
        )

    def holds(classes: Sequence[Class]) -> NDArray[np.bool_]:
        of = np.concatenate([np.array(c, np.int64) for c in classes])
        label = np.repeat(np.arange(len(classes)), [len(c) for c in classes])
        return check.holds(of, problem.n[of], label, len(classes))

    sets = _sets(method, bounds, holds, limits)
    nodes = np.array([bounds.bound(sets[t]) for t in range(problem.combinations)], np.int32)
    costs = np.array([bounds.measure(members) for members in sets])
    suppressed = ~np.isfinite(costs)
    suppressed |= ~_enough(sets, holds)
    roots = np.array([order.root for order in bounds.orders], np.int32)
    nodes[suppressed] = roots
    found = Recoding.whole(problem, nodes, suppressed, claim="ambiguity" if method.literal else "classes")
    if method.literal:
        patterns = np.unique(nodes[~suppressed], axis=0).tolist()
        found.about["k_reached"] = min(map(bounds.covered, patterns), default=problem.rows)
    else:
        found = checked(found, check)
    worst = float(bounds.weights.sum())
    row_costs = np.where(found.suppressed, worst, np.where(np.isfinite(costs), costs, worst))
    found.about.update(
        method=method.name,
        measure=method.measure,
        score=float((row_costs * problem.n).sum() / max(problem.rows, 1)),
        reads_outcome=False,
        stopped=limits.stopped,
        seconds=limits.seconds,
    )
    limits.say(_OVER)
    return found


@dataclass(frozen=True, eq=False)
class Generalized:
    """What each row becomes.

    nodes: one row of nodes for each row given, None where it is suppressed. label: (rows,), the class, -1
    suppressed; where sets were not closed, the rows with the same nodes. claim: 'classes' or 'ambiguity'.
    stopped: the limit that was reached, "" none.
    """

    posets: Mapping[str, Poset[Any]]
    nodes: tuple[Row | None, ...]
    label: NDArray[np.int64]
    claim: str
    measure: float
    stopped: str = ""

    def labels(self) -> list[dict[str, str]]:
        """How each row is written; a suppressed one with its tops."""
        out = []
        for row in self.nodes:
            cells = row if row is not None else tuple(p.top for p in self.posets.values())
            out.append({c: p.label(x) for (c, p), x in zip(self.posets.items(), cells, strict=True)})
        return out


def generalize(
    rows: Sequence[Sequence[object]],
    posets: Mapping[str, Poset[Any]],
    k: int,
    *,
    method: PosetMethod | None = None,
    weights: Mapping[str, float] | None = None,
) -> Generalized:
    """Generalize rows of values (in the order of the posets) to k, without a table: `anonymize` writes one.

    method: `Greedy()` (default), `Greedy(closed=False)`, or a `Partition`; guided by height or loss.
    """
    how = PosetSearch() if method is None else method.over_posets
    refuse_unfit(how)
    if k < 1 or not posets:
        raise ParameterError(
            "k must be at least 1, and there must be a column.", hint="generalize(rows, ..., 5)"
        )
    if not rows or len(rows) < k:
        return Generalized(posets, (None,) * len(rows), np.full(len(rows), -1, np.int64), "classes", 0.0)
    bounds, of_row, orders = drawn_up(rows, posets, weights or {}, how.measure)

    def holds(classes: Sequence[Class]) -> NDArray[np.bool_]:
        return np.array([int(bounds.n[members].sum()) >= k for members in classes], bool)

    limits = SearchLimits(how.time_limit, how.work_limit)
    sets = _sets(how, bounds, holds, limits)
    limits.say(_OVER)
    found = [bounds.bound(members) for members in sets]
    told = [tuple(order.at(x) for order, x in zip(orders, row, strict=True)) for row in found]
    nodes = tuple(told[t] for t in of_row)
    classes: dict[Row, int] = {}
    label = np.array([classes.setdefault(row, len(classes)) for row in nodes], np.int64)
    mean = sum(bounds.measure(sets[t]) for t in of_row) / len(nodes)
    claim = "ambiguity" if how.literal else "classes"
    return Generalized(posets, nodes, label, claim, mean, limits.stopped)


def drawn_up(
    rows: Sequence[Sequence[object]],
    posets: Mapping[str, Poset[Any]],
    weights: Mapping[str, float],
    measure: str = "height",
) -> tuple[Bounds, list[int], list[Numbered]]:
    """Rows of values as distinct rows of leaves, which of them each row is, and the numbers of nodes."""
    places: dict[Row, int] = {}
    of_row = []
    for row in rows:
        node = tuple(p.node(cell) for p, cell in zip(posets.values(), row, strict=True))
        of_row.append(places.setdefault(node, len(places)))
    columns = list(zip(*places, strict=True))
    orders = [Numbered.of_nodes(p, c) for p, c in zip(posets.values(), columns, strict=True)]
    leaves = np.stack([[o.number(x) for x in c] for o, c in zip(orders, columns, strict=True)], axis=1)
    given = np.array([float(weights.get(c, 1.0)) for c in posets])
    n = np.bincount(of_row, minlength=len(places)).astype(np.int64)
    return Bounds(orders, leaves, n, given, measure), of_row, orders


def _bounds_of(problem: Problem, measure: str) -> Bounds:
    assert problem.max_level is not None
    weights = column_weights(problem)
    if measure == "loss":
        weights = weights / (weights.sum() or 1.0)
    orders = problem.hierarchies
    limits = zip(problem.max_level, orders, strict=True)
    most = np.array([level if level < tallest(h) else math.inf for level, h in limits])
    return Bounds(orders, problem.leaves, problem.n, weights, measure, most)


def _enough(sets: Sequence[Class], holds: Holds) -> NDArray[np.bool_]:
    """(rows,): whether the set of each satisfies what is asked."""
    kinds = {id(members): members for members in sets}
    ok = dict(zip(kinds, holds(list(kinds.values())), strict=True)) if kinds else {}
    return np.array([ok[id(members)] for members in sets], bool)


def _sets(method: PosetSearch, bounds: Bounds, holds: Holds, limits: SearchLimits) -> list[Class]:
    """The set of each row."""
    if method.tries is not None:
        return _partition(bounds, holds, method.tries, limits)
    return _literal(bounds, holds, limits) if method.literal else _closed(bounds, holds, limits)


# -- Greedy ----------------------------------------------------------------------------------------


def _grow(bounds: Bounds, seed: int, free: NDArray[np.bool_], holds: Holds) -> Class:
    """Greedy for one row: add what least increases the measure; a row is not added twice."""
    members = [seed]
    values = [frozenset((int(leaf),)) for leaf in bounds.leaves[seed]]
    left = free.copy()
    left[seed] = False
    while left.any() and not holds([members])[0]:
        open_ = np.flatnonzero(left)
        total = np.zeros(len(open_))
        for j in bounds.columns:
            total += bounds.prices(j, values[j])[bounds.cells[open_, j]]
        if not np.isfinite(total.min()):
            break  # no row may be added any more
        best = int(open_[np.lexsort((open_, -bounds.n[open_], total))[0]])
        left[best] = False
        members.append(best)
        values = [bounds.grown(j, v, int(bounds.leaves[best, j])) for j, v in enumerate(values)]
    return members


def _literal(bounds: Bounds, holds: Holds, limits: SearchLimits) -> list[Class]:
    """Each row's own set; all rows for those that are not reached within the limits."""
    sets: list[Class] = []
    for seed in range(len(bounds.n)):
        if not limits.take():
            return [*sets, *[list(range(len(bounds.n)))] * (len(bounds.n) - seed)]
        report("greedy sets", seed, len(bounds.n))
        sets.append(_grow(bounds, seed, np.ones(len(bounds.n), bool), holds))
    return sets


def _closed(bounds: Bounds, holds: Holds, limits: SearchLimits) -> list[Class]:
    """Disjoint classes; what is left at the end joins the class where that adds least.

    What the limits left over is one class.
    """
    alone = holds([[t] for t in range(len(bounds.n))])
    classes: list[Class] = [[int(t)] for t in np.flatnonzero(alone)]
    free = ~alone
    for seed in range(len(bounds.n)):
        if not free[seed]:
            continue
        if not limits.take():
            classes.append(np.flatnonzero(free).tolist())
            break
        report("greedy classes", seed, len(bounds.n))
        classes.append(_grow(bounds, seed, free, holds))
        free[classes[-1]] = False
    _repair(bounds, classes, holds)
    sets: list[Class] = [[] for _ in range(len(bounds.n))]
    for members in classes:
        for t in members:
            sets[t] = members
    return sets


def _repair(bounds: Bounds, classes: list[Class], holds: Holds) -> None:
    """Classes that do not satisfy join the one where that adds least; those that may join none are left."""
    stuck: list[Class] = []
    while len(classes) > 1:
        broken = np.flatnonzero(~holds(classes))
        if not len(broken):
            break
        mine = classes.pop(int(broken[-1]))
        added = [_added(bounds, mine, other) for other in classes]
        nearest = int(np.argmin(added))
        if math.isfinite(added[nearest]):
            classes[nearest] = sorted([*classes[nearest], *mine])
        else:
            stuck.append(mine)
    classes.extend(stuck)


def _added(bounds: Bounds, one: Class, other: Class) -> float:
    """What the rows of both lose more when they are one class."""
    joint = bounds.measure([*one, *other]) * bounds.n[[*one, *other]].sum()
    return float(joint - sum(bounds.measure(part) * bounds.n[part].sum() for part in (one, other)))


# -- Partition -------------------------------------------------------------------------------------


def _partition(bounds: Bounds, holds: Holds, tries: int, limits: SearchLimits) -> list[Class]:
    """Split at the two rows farthest apart, as long as both sides satisfy; see `Partition`."""
    todo = [list(range(len(bounds.n)))]
    sets: list[Class] = [[] for _ in range(len(bounds.n))]
    done = 0
    while todo:
        part = todo.pop()
        sides = _split(bounds, part, holds, tries, limits)
        if sides is None:
            for t in part:
                sets[t] = part
            done += len(part)
            report("partition", done, len(sets))
        else:
            todo.extend(sides)
    return sets


def _split(
    bounds: Bounds, part: Class, holds: Holds, tries: int, limits: SearchLimits
) -> tuple[Class, Class] | None:
    seeds = np.array(part)
    for _ in range(tries):
        if len(part) < 2 or not limits.take():
            return None
        found = _farthest(bounds, seeds)
        if found is None:
            return None
        sides = _divided(bounds, part, *found)
        good = holds(sides)
        if good.all():
            return sides
        aside = [end for end, fits in zip(found, good, strict=True) if not fits]
        seeds = seeds[~np.isin(seeds, aside)]
    return None


def _farthest(bounds: Bounds, seeds: Longs) -> tuple[int, int] | None:
    """The pair with the largest 2 Measure(LUB) - Measure - Measure; None where all are alike."""
    best, ends = 0.0, None
    for i, row in enumerate(seeds[:-1]):
        others = seeds[i + 1 :]
        apart = 2 * bounds.together(int(row), others) - bounds.own[row] - bounds.own[others]
        far = int(np.argmax(apart))
        if apart[far] > best:
            best, ends = float(apart[far]), (int(row), int(seeds[i + 1 + far]))
        if i % 256 == 0:
            report("farthest pair", i, len(seeds))
    return ends


def _divided(bounds: Bounds, part: Class, a: int, b: int) -> tuple[Class, Class]:
    """Each row to the closer end; ties to the side with fewer rows so far."""
    rows = np.array([t for t in part if t not in (a, b)], np.int64)
    to_a, to_b = (2 * bounds.together(end, rows) - bounds.own[end] for end in (a, b))
    sides: tuple[Class, Class] = ([a, *rows[to_a < to_b].tolist()], [b, *rows[to_b < to_a].tolist()])
    weight = [int(bounds.n[side].sum()) for side in sides]
    for t in rows[to_a == to_b].tolist():
        lighter = int(weight[1] < weight[0])
        sides[lighter].append(t)
        weight[lighter] += int(bounds.n[t])
    return sorted(sides[0]), sorted(sides[1])
