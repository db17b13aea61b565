"""Criteria of variety: what the rows of a class give away about a sensitive column.

Rows are counted, a missing value is a value like any other. Symbols as in the papers: n_s rows of value s
in a class, p_s its share there, q_s its share in the whole release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato import privacy
from sfumato.criteria.base import Criterion, column_name, number, whole_number
from sfumato.criteria.classes import Classes, Spread
from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.privacy import Claim

_SLACK = 1e-9  # sums of logarithms and shares are rounded
_BLOCK = 4_194_304  # cells of a dense table held at once


@dataclass(frozen=True)
class LDiversity(Criterion):
    """Every class holds a variety of values of a sensitive column (Machanavajjhala et al. 2007).

    kind: "distinct": at least l different values; "entropy": -sum p_s log p_s >= log l; "recursive": the
    most frequent value occurs fewer times than c times all from the l-th most frequent on together.

    >>> sf.LDiversity(3, "health", kind="entropy").describe()
    "entropy l-diversity of 'health' with l = 3"
    """

    l: float  # noqa: E741  (the letter is the name of the criterion)
    column: str
    kind: str = "distinct"
    c: float | None = None

    def __post_init__(self) -> None:
        column_name(self.column, "LDiversity(3, 'diagnosis')")
        if self.kind not in ("distinct", "entropy", "recursive"):
            raise ParameterError("kind must be distinct, entropy or recursive.", hint="LDiversity(3, 'dx')")
        if self.kind == "entropy":
            number(self.l, "l", 0.999999999, 1e9, "LDiversity(2.5, 'diagnosis', 'entropy')")
        else:
            whole_number(self.l, "l", "LDiversity(3, 'diagnosis')")
        if (self.kind == "recursive") != (self.c is not None):
            raise ParameterError(
                "c belongs to recursive l-diversity, and only to it.",
                hint="LDiversity(3, 'diagnosis', 'recursive', c=2)",
            )
        if self.c is not None:
            number(self.c, "c", 0, 1e9, "LDiversity(3, 'diagnosis', 'recursive', c=2)")

    @property
    def monotone(self) -> bool:
        """Yes, all three: for entropy because it is concave, for recursive see the paper's lemma."""
        return True

    @property
    def closed(self) -> bool:
        """Distinct values never become fewer; one value that is added often enough ends the others."""
        return self.kind == "distinct"

    @property
    def k(self) -> int:
        """l different values need as many rows."""
        return math.ceil(self.l - _SLACK)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The column it looks at."""
        return (self.column,)

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which are diverse."""
        table = classes.table(self.column)
        if self.kind == "distinct":
            return table.distinct() >= self.l
        if self.kind == "entropy":
            return table.entropy() >= math.log(self.l) - _SLACK
        assert self.c is not None
        return table.largest() < self.c * _tail(table, int(self.l))

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """The least diverse class."""
        table = classes.table(self.column)
        l: float = self.l  # noqa: E741
        if len(classes) and self.kind == "distinct":
            l = int(table.distinct().min())  # noqa: E741
        elif len(classes) and self.kind == "entropy":
            l = max(1.0, float(np.exp(table.entropy().min())))  # noqa: E741
        return (privacy.LDiversity(l, columns, (self.column,), self.kind, self.c),)

    def describe(self) -> str:
        """What is asked, in a few words."""
        c = f", c = {self.c:g}" if self.c is not None else ""
        return f"{self.kind} l-diversity of '{self.column}' with l = {self.l:g}{c}"


def _tail(table: Spread, l: int) -> NDArray[np.int64]:  # noqa: E741
    """(classes,): the rows of all values from the l-th most frequent on."""
    label = table.label
    order = np.lexsort((-table.n, label))
    rank = np.arange(len(order)) - table.start[label[order]]
    rest = np.where(rank >= l - 1, table.n[order], 0)
    return np.bincount(label[order], rest, table.classes).astype(np.int64)


@dataclass(frozen=True)
class AlphaK(Criterion):
    """Every class has k rows, and no value of a sensitive column more than a share alpha of them.

    Wong et al. 2006, asked of every value of the column.

    >>> sf.AlphaK(0.5, 5, "health").describe()
    "(alpha, k)-anonymity of 'health' with alpha = 0.5, k = 5"
    """

    alpha: float
    k: int
    column: str

    def __post_init__(self) -> None:
        number(self.alpha, "alpha", 0, 1, "AlphaK(0.5, 5, 'diagnosis')")
        whole_number(self.k, "k", "AlphaK(0.5, 5, 'diagnosis')")
        column_name(self.column, "AlphaK(0.5, 5, 'diagnosis')")

    @property
    def monotone(self) -> bool:
        """Yes: a share in a union lies between the shares in its parts."""
        return True

    @property
    def closed(self) -> bool:
        """Not where alpha is below 1: rows of one value may be added."""
        return self.alpha >= 1

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The column it looks at."""
        return (self.column,)

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which are large and mixed enough."""
        most = classes.table(self.column).largest()
        return (classes.sizes >= self.k) & (most <= self.alpha * classes.sizes + _SLACK)

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """The smallest class, and the largest share."""
        if not len(classes):
            return (privacy.AlphaK(self.k, columns, self.alpha, (self.column,)),)
        share = float((classes.table(self.column).largest() / classes.sizes).max())
        return (privacy.AlphaK(int(classes.sizes.min()), columns, share, (self.column,)),)

    def describe(self) -> str:
        """What is asked, in a few words."""
        return f"(alpha, k)-anonymity of '{self.column}' with alpha = {self.alpha:g}, k = {self.k}"


def enough(asked: LDiversity | AlphaK, counts: NDArray[np.int64]) -> int:
    """The least size such that any so many of these rows satisfy it; more than all of them: none do.

    counts: (values,), how often each occurs, most frequent first. Among so many rows none are less varied
    than those that take the most frequent values first: their counts majorize all others'.
    """
    most = int(counts[0]) if len(counts) else 0
    if isinstance(asked, AlphaK):
        return asked.k if asked.alpha >= 1 else max(asked.k, math.ceil(most / asked.alpha))
    if asked.kind == "entropy":
        low, high = 0, int(counts.sum()) + 1  # of `high` rows all sets are varied enough, of `low` not
        while high - low > 1:
            size = (low + high) // 2
            taken = np.clip(size - (np.cumsum(counts) - counts), 0, counts)
            p = taken[taken > 0] / size
            varied = -(p * np.log(p)).sum() >= math.log(asked.l)
            low, high = (low, size) if varied else (size, high)
        return high
    top = int(counts[: int(asked.l) - 1].sum())
    if asked.kind == "distinct":
        return top + 1
    assert asked.c is not None
    size = top + math.floor(most / asked.c)
    while most >= asked.c * (size - top):  # rounded as the criterion rounds
        size += 1
    return size


@dataclass(frozen=True)
class TCloseness(Criterion):
    """Every class has nearly the distribution of the whole release (Li et al. 2007).

    Earth mover's distance with this ground distance: "equal": any two values are 1 apart; "ordered": by
    rank among the m values that occur, |i - j| / (m - 1), in the order of the schema's levels or of the
    values; "hierarchical": the height of the lowest common ancestor, as a share of the tree's.

    >>> sf.TCloseness(0.2, "cost", distance="ordered").describe()
    "t-closeness of 'cost' with t = 0.2, ordered distance"
    """

    t: float
    column: str
    distance: str = "equal"
    hierarchy: Hierarchy | None = field(default=None, compare=False, hash=False)

    def __post_init__(self) -> None:
        number(self.t, "t", -1e-300, 1, "TCloseness(0.3, 'diagnosis')")
        column_name(self.column, "TCloseness(0.3, 'diagnosis')")
        if self.distance not in ("equal", "ordered", "hierarchical"):
            raise ParameterError("distance must be equal, ordered or hierarchical.", hint="default: equal")
        if self.distance == "hierarchical" and self.hierarchy is None:
            raise ParameterError(
                f"no hierarchy says how far the values of '{self.column}' are apart.",
                hint="TCloseness(0.3, 'diagnosis', 'hierarchical', hierarchy=...)",
            )

    @property
    def monotone(self) -> bool:
        """Yes: a union is a mixture of its parts, and the distance is convex."""
        return True

    @property
    def closed(self) -> bool:
        """A class that is far pulls a near one away."""
        return self.t >= 1

    @property
    def k(self) -> int:
        """One row may do, where all rows have the same value."""
        return 1

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The column it looks at."""
        return (self.column,)

    def distances(self, classes: Classes) -> NDArray[np.float64]:
        """(classes,): how far each is from the whole."""
        table = classes.table(self.column)
        if self.distance == "equal":
            return _equal(table)
        tree = None if self.distance == "ordered" else self.tree(table)
        q = table.shares()
        step = max(1, _BLOCK // max(len(q), 1))
        found = [
            _ordered(_part(table, i, i + step).dense() - q)
            if tree is None
            else _over_tree(_part(table, i, i + step).dense() - q, tree)
            for i in range(0, table.classes, step)
        ]
        return np.concatenate(found) if found else np.empty(0)

    def tree(self, table: Spread) -> NDArray[np.int32]:
        """(levels of the tree, levels that occur): the ancestors. A missing value has only the root above."""
        assert self.hierarchy is not None
        places = self.hierarchy.places
        own = len(places)  # the column of a value that is not in the hierarchy: missing, the last code
        occurring = np.flatnonzero(table.whole)
        found = [places.get(table.names[i], own) for i in occurring]
        unknown = sum(f == own and i != table.levels - 1 for f, i in zip(found, occurring, strict=True))
        if unknown:
            raise DataError(
                f"column '{self.column}': {unknown} values are not in the hierarchy of the criterion.",
                hint="add them to the hierarchy",
            )
        alone = np.array([[*(len(names) for names in self.hierarchy.labels[:-1]), 0]], np.int32).T
        ancestors: NDArray[np.int32] = np.hstack([self.hierarchy.ancestors, alone])[:, found]
        return ancestors

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which are near enough."""
        return self.distances(classes) <= self.t + _SLACK

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """The farthest class."""
        far = float(self.distances(classes).max(initial=0.0)) if len(classes) else self.t
        return (privacy.TCloseness(min(1.0, far), columns, (self.column,), self.distance),)

    def describe(self) -> str:
        """What is asked, in a few words."""
        return f"t-closeness of '{self.column}' with t = {self.t:g}, {self.distance} distance"


def _part(table: Spread, first: int, last: int) -> Spread:
    last = min(last, table.classes)
    a, b = int(table.start[first]), int(table.start[last])
    start = table.start[first : last + 1] - a
    return Spread(start, table.code[a:b], table.n[a:b], table.levels, table.whole, table.names)


def _equal(table: Spread) -> NDArray[np.float64]:
    """sum |p_s - q_s| / 2 = sum of max(0, p_s - q_s): over the values that occur in the class only."""
    label = table.label
    q = table.whole / max(int(table.whole.sum()), 1)
    p = table.n / np.maximum(table.total(), 1)[label]
    return np.bincount(label, np.maximum(p - q[table.code], 0.0), table.classes).astype(np.float64)


def _ordered(gap: NDArray[np.float64]) -> NDArray[np.float64]:
    """sum_i |sum_{j <= i} (p_j - q_j)| / (m - 1).  gap: (classes, m)."""
    m = gap.shape[1]
    if m < 2:
        return np.zeros(len(gap))
    found: NDArray[np.float64] = np.abs(np.cumsum(gap, axis=1))[:, :-1].sum(axis=1) / (m - 1)
    return found


def _over_tree(gap: NDArray[np.float64], ancestors: NDArray[np.int32]) -> NDArray[np.float64]:
    """The flow over every edge, each 1 / (2 height) long.  gap: (classes, m); ancestors: (levels, m)."""
    height = len(ancestors) - 1
    found = np.zeros(len(gap))
    for level in range(height):
        nodes = np.zeros((int(ancestors[level].max(initial=0)) + 1, gap.shape[1]))
        nodes[ancestors[level], np.arange(gap.shape[1])] = 1.0
        found += np.abs(gap @ nodes.T).sum(axis=1)
    return found / (2 * max(height, 1))
