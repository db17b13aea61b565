"""Greedy and Partition over any posets: ranges, graphs with several parents, power sets, dates, codes.

The generic path: no kernels, any order. A set of values may have several least upper bounds. **The rule**: of
a LUB set that node is released which loses least by the measure (w rank / height); among equals the one with
the smaller share of the leaves; then the one whose label comes first. The n-ary bound is taken over the
original members each time, never over earlier bounds, so that the order of members cannot matter.
Time grows with the square of the distinct rows: for hundreds or a few thousand of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.greedy.partition import Partition
from sfumato.anonymization.greedy.search import Beam
from sfumato.anonymization.information import Height
from sfumato.errors import ParameterError
from sfumato.hierarchy.poset import Poset
from sfumato.progress import report

Row = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Generalized:
    """What each row becomes.

    nodes: one row of nodes for each row given, None where it is suppressed. label: (rows,), the class, -1
    suppressed; where sets were not closed, the rows with the same nodes. claim: 'classes' or 'ambiguity'.
    """

    posets: Mapping[str, Poset[Any]]
    nodes: tuple[Row | None, ...]
    label: NDArray[np.int64]
    claim: str
    measure: float

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
    method: Beam | Partition | None = None,
    weights: Mapping[str, float] | None = None,
) -> Generalized:
    """Generalize rows of values (in the order of the posets) to k, by height: sum of w rank / height.

    method: `Greedy()` (default), `Greedy(closed=False)`, or a `Partition`.
    """
    method = method or Beam(width=1)
    if isinstance(method, Beam) and method.width != 1:
        raise ParameterError("a beam runs on hierarchies with levels only.", hint="Greedy()")
    if not isinstance(method.loss, Height):
        raise ParameterError("on general posets a search is guided by height.", hint="loss=Height()")
    if k < 1 or not posets:
        raise ParameterError(
            "k must be at least 1, and there must be a column.", hint="generalize(rows, ..., 5)"
        )
    bounds = Bounds.of(rows, posets, weights or {})
    if not rows or len(rows) < k:
        return _suppressed(posets, len(rows))
    if isinstance(method, Partition):
        sets = _partition(bounds, k, method.tries if method.rule == "retrying" else 1)
    else:
        sets = _closed(bounds, k) if method.closed else _literal(bounds, k)
    literal = isinstance(method, Beam) and not method.closed
    found = {t: bounds.bound(members) for t, members in sets.items()}
    nodes = tuple(found[t] for t in bounds.of_row)
    classes: dict[Row, int] = {}
    label = np.array([classes.setdefault(row, len(classes)) for row in nodes], np.int64)
    mean = sum(bounds.measure(row) for row in nodes) / len(nodes)
    return Generalized(posets, nodes, label, "ambiguity" if literal else "classes", mean)


def _suppressed(posets: Mapping[str, Poset[Any]], rows: int) -> Generalized:
    return Generalized(posets, (None,) * rows, np.full(rows, -1, np.int64), "classes", 0.0)


@dataclass(eq=False)
class Bounds:
    """Distinct rows, and bounds of sets of them, each computed once."""

    posets: tuple[Poset[Any], ...]
    weights: tuple[float, ...]
    rows: list[Row]
    n: NDArray[np.int64]
    of_row: list[int]
    known: list[dict[frozenset[Hashable], tuple[Hashable, float]]] = field(default_factory=list)

    @classmethod
    def of(
        cls, rows: Sequence[Sequence[object]], posets: Mapping[str, Poset[Any]], weights: Mapping[str, float]
    ) -> Bounds:
        """Rows as nodes; equal ones once."""
        orders = tuple(posets.values())
        places: dict[Row, int] = {}
        of_row = []
        for row in rows:
            node = tuple(p.node(cell) for p, cell in zip(orders, row, strict=True))
            of_row.append(places.setdefault(node, len(places)))
        n = np.bincount(of_row, minlength=len(places)).astype(np.int64) if of_row else np.zeros(0, np.int64)
        given = tuple(float(weights.get(c, 1.0)) for c in posets)
        return cls(orders, given, list(places), n, of_row, [{} for _ in orders])

    def cost(self, column: int, node: Hashable) -> float:
        """w rank / height of one cell."""
        poset = self.posets[column]
        return self.weights[column] * poset.rank(node) / poset.height if poset.height else 0.0

    def _cell(self, column: int, values: frozenset[Hashable]) -> tuple[Hashable, float]:
        """The bound of these values in a column, by the rule above, and its cost."""
        known = self.known[column]
        if values not in known:
            poset = self.posets[column]
            best = min(
                poset.lub(*values), key=lambda x: (self.cost(column, x), poset.share(x), poset.label(x))
            )
            known[values] = best, self.cost(column, best)
        return known[values]

    def bound(self, members: Sequence[int]) -> Row:
        """The n-ary least upper bound over the original members."""
        columns = range(len(self.posets))
        return tuple(self._cell(j, frozenset(self.rows[t][j] for t in members))[0] for j in columns)

    def measure(self, row: Row) -> float:
        """Sum over columns of w rank / height."""
        return sum(self.cost(j, cell) for j, cell in enumerate(row))

    def grown(self, values: Sequence[frozenset[Hashable]], t: int) -> float:
        """Measure(LUB(set + t)); values: the distinct cells of the set, column by column."""
        return sum(self._cell(j, v | {self.rows[t][j]})[1] for j, v in enumerate(values))

    def distance(self, s: int, t: int) -> float:
        """2 Measure(LUB(s, t)) - Measure(s) - Measure(t)."""
        both = sum(self._cell(j, frozenset((a, b)))[1] for j, (a, b) in enumerate(self._cells(s, t)))
        return 2 * both - self.measure(self.rows[s]) - self.measure(self.rows[t])

    def _cells(self, s: int, t: int) -> zip[tuple[Hashable, Hashable]]:
        return zip(self.rows[s], self.rows[t], strict=True)


def _grow(bounds: Bounds, seed: int, free: Sequence[int], enough: Callable[[list[int]], bool]) -> list[int]:
    """Greedy for one row: add what least increases the measure; a row is not added twice."""
    members = [seed]
    values = [frozenset((cell,)) for cell in bounds.rows[seed]]
    left = [t for t in free if t != seed]
    while not enough(members) and left:
        best = min(left, key=lambda t: (bounds.grown(values, t), -bounds.n[t], t))
        left.remove(best)
        members.append(best)
        values = [v | {cell} for v, cell in zip(values, bounds.rows[best], strict=True)]
    return members


def _literal(bounds: Bounds, k: int) -> dict[int, list[int]]:
    """Each row's own set."""
    everyone = range(len(bounds.rows))
    sets = {}
    for seed in everyone:
        report("greedy sets", seed, len(bounds.rows))
        sets[seed] = _grow(bounds, seed, everyone, lambda m: int(bounds.n[m].sum()) >= k)
    return sets


def _closed(bounds: Bounds, k: int) -> dict[int, list[int]]:
    """Disjoint classes; what is left at the end joins the class where that adds least."""
    classes = [[t] for t in range(len(bounds.rows)) if bounds.n[t] >= k]
    free = {t: None for t in range(len(bounds.rows)) if bounds.n[t] < k}
    leftover: list[int] = []
    while free:
        report("greedy classes", len(bounds.rows) - len(free), len(bounds.rows))
        members = _grow(bounds, next(iter(free)), list(free), lambda m: int(bounds.n[m].sum()) >= k)
        for t in members:
            free.pop(t)
        if int(bounds.n[members].sum()) >= k:
            classes.append(members)
        else:
            leftover = members
    if leftover and not classes:
        classes = [leftover]
    elif leftover:

        def added(place: int) -> float:
            both = [*classes[place], *leftover]
            now, then = bounds.measure(bounds.bound(classes[place])), bounds.measure(bounds.bound(both))
            return float(then * bounds.n[both].sum() - now * bounds.n[classes[place]].sum())

        classes[min(range(len(classes)), key=added)].extend(leftover)
    return {t: members for members in classes for t in members}


def _partition(bounds: Bounds, k: int, tries: int) -> dict[int, list[int]]:
    """Split at the two rows farthest apart, down to k; see `Partition`."""
    todo = [list(range(len(bounds.rows)))]
    sets: dict[int, list[int]] = {}
    while todo:
        part = todo.pop()
        sides = _split(bounds, part, k, tries)
        if sides is None:
            sets.update(dict.fromkeys(part, part))
            report("partition", len(sets), len(bounds.rows))
        else:
            todo.extend(sides)
    return sets


def _split(bounds: Bounds, part: list[int], k: int, tries: int) -> tuple[list[int], list[int]] | None:
    seeds = list(part)
    if int(bounds.n[part].sum()) < 2 * k:
        return None
    for _ in range(tries):
        if len(seeds) < 2:
            return None
        a, b = max(combinations(seeds, 2), key=lambda pair: bounds.distance(*pair))
        if bounds.distance(a, b) <= 0:
            return None
        sides: tuple[list[int], list[int]] = [a], [b]
        ties: list[int] = []
        for t in part:
            if t in (a, b):
                continue
            to_a, to_b = bounds.distance(a, t), bounds.distance(b, t)
            (ties if to_a == to_b else sides[to_b < to_a]).append(t)
        for t in ties:
            sides[bool(bounds.n[sides[1]].sum() < bounds.n[sides[0]].sum())].append(t)
        small = [int(bounds.n[side].sum()) < k for side in sides]
        if not any(small):
            return sorted(sides[0]), sorted(sides[1])
        seeds = [t for t in seeds if not (small[0] and t == a) and not (small[1] and t == b)]
    return None
