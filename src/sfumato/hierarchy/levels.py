"""A hierarchy with levels: every value has one ancestor on each level, and one root is above all.

The common case, and the one the searches are quick on. Leaves and nodes are numbered: leaf i of level 0,
node j of level l. Counted through all levels, level 0 first, a node has one number (`node`), so that a
released cell is a single integer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy.poset import at_least_one

ROOT = "*"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Values and their generalizations.

    labels: labels[l][j] is how node j of level l is written; labels[0] are the leaves, labels[-1] the root.
    ancestors: (levels, leaves), the node of each leaf on each level; row 0 counts up, the last row is 0.

    >>> places = sf.Hierarchy.of_rows([("Ash", "North", "*"), ("Birch", "North", "*"), ("Elm", "South", "*")])
    >>> places
    Hierarchy(3 values, 3 > 2 > 1)
    >>> places.rows()[0]
    ('Ash', 'North', '*')
    >>> both = places.lub(places.node("Ash"), places.node("Birch"))
    >>> [places.label(node) for node in both]
    ['North']
    """

    labels: tuple[tuple[str, ...], ...]
    ancestors: NDArray[np.int32]

    def __post_init__(self) -> None:
        faults = _faults(self.labels, self.ancestors)
        if faults:
            raise ParameterError(f"this is not a hierarchy: {'; '.join(faults)}.", hint="build it of a table")

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[str]], *, name: str = "the table of levels") -> Hierarchy:
        """From a table of levels: one row per leaf, most specific first, the root last.

        All its faults are listed at once: ragged rows, values that occur twice, several roots, a node with
        two parents, a value that names a node over others. `name` is what the message calls the table.
        """
        faults, examples = _row_faults(rows)
        if faults:
            raise DataError(
                f"{name} is not a hierarchy: {'; '.join(faults)}.",
                hint="one row per value, most specific first, the same last cell in all rows",
                values=examples,
            )
        labels, ancestors = [], np.empty((len(rows[0]), len(rows)), np.int32)
        for height in range(len(ancestors)):
            known: dict[str, int] = {}
            for leaf, row in enumerate(rows):
                ancestors[height, leaf] = known.setdefault(row[height], len(known))
            labels.append(tuple(known))
        return cls(tuple(labels), ancestors)

    def rows(self) -> list[tuple[str, ...]]:
        """The table of levels, as `of_rows` takes it."""
        columns = [[names[j] for j in row] for names, row in zip(self.labels, self.ancestors, strict=True)]
        return list(zip(*columns, strict=True))

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """This hierarchy, once it is sure that all these values are in it; missing ones are not looked at."""
        texts = [str(v) for v in levels if v is not None]
        absent = [t for t in texts if t not in self.places]
        if absent:
            raise DataError(
                f"{len(absent)} of {len(texts)} values are not in the hierarchy.",
                hint="add them to the hierarchy",
                values=absent,
            )
        return self

    def restricted(self, levels: Sequence[object]) -> Hierarchy:
        """Only these values and what is above them: shares and losses are then counted among these."""
        self.over(levels)
        wanted = {str(v) for v in levels if v is not None}
        return Hierarchy.of_rows([row for row in self.rows() if row[0] in wanted])

    # -- looking ---------------------------------------------------------------------------------

    @property
    def leaves(self) -> tuple[str, ...]:
        """The most specific values, as text."""
        return self.labels[0]

    @property
    def height(self) -> int:
        """How many steps from a leaf to the root."""
        return len(self.labels) - 1

    @cached_property
    def offsets(self) -> NDArray[np.int32]:
        """The number of the first node of each level; one more entry for the number of all nodes."""
        return np.cumsum([0, *map(len, self.labels)]).astype(np.int32)

    @property
    def size(self) -> int:
        """How many nodes there are on all levels."""
        return int(self.offsets[-1])

    @property
    def root(self) -> int:
        """The number of the root."""
        return self.size - 1

    @cached_property
    def nodes(self) -> NDArray[np.int32]:
        """(levels, leaves): the number of the node of each leaf on each level."""
        return (self.ancestors + self.offsets[:-1, None]).astype(np.int32)

    @cached_property
    def level_of(self) -> NDArray[np.int32]:
        """(nodes,): the level of each node."""
        return np.repeat(np.arange(len(self.labels), dtype=np.int32), [len(names) for names in self.labels])

    @cached_property
    def leaf_counts(self) -> NDArray[np.int64]:
        """(nodes,): how many leaves lie under each node."""
        return np.bincount(self.nodes.ravel(), minlength=self.size)

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """(nodes,): (share - 1/D) / (1 - 1/D), the share of all D leaves under a node; 0 a leaf, 1 the root.

        With a single leaf nothing can be lost: 0.
        """
        leaves = len(self.leaves)
        if leaves == 1:
            return np.zeros(self.size)
        return (self.leaf_counts - 1) / (leaves - 1)

    def label(self, node: int) -> str:
        """How a node is written."""
        level = int(self.level_of[node])
        return self.labels[level][node - int(self.offsets[level])]

    @cached_property
    def node_labels(self) -> tuple[str, ...]:
        """(nodes,): how each node is written."""
        return tuple(name for names in self.labels for name in names)

    @cached_property
    def stands_for(self) -> Mapping[str, tuple[str, ...]]:
        """Each value as it is written, and its leaves."""
        out: dict[str, tuple[str, ...]] = {}
        leaves = np.array(self.leaves, object)
        for names, above in zip(self.labels, self.ancestors, strict=True):
            order = np.argsort(above, kind="stable")
            ends = np.cumsum(np.bincount(above, minlength=len(names)))[:-1]
            parts = np.split(leaves[order], ends)
            out |= {name: tuple(part.tolist()) for name, part in zip(names, parts, strict=True)}
        return out

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The number of each leaf by its text."""
        return {name: i for i, name in enumerate(self.leaves)}

    # -- order -----------------------------------------------------------------------------------

    @property
    def top(self) -> int:
        """The number of the root."""
        return self.root

    @property
    def domain(self) -> int:
        """How many leaves there are."""
        return len(self.leaves)

    @property
    def semilattice(self) -> bool:
        """Any two nodes of a tree have one least upper bound."""
        return True

    @property
    def ranks(self) -> NDArray[np.int32]:
        """(nodes,): the level of each node."""
        return self.level_of

    @cached_property
    def parent(self) -> NDArray[np.int32]:
        """(nodes,): the node one level up; the root is its own."""
        up = np.full(self.size, self.root, np.int32)
        up[self.nodes[:-1].ravel()] = self.nodes[1:].ravel()
        return up

    @property
    def covers(self) -> NDArray[np.int32]:
        """(edges, 2): child and parent."""
        return np.stack([np.arange(self.root, dtype=np.int32), self.parent[: self.root]], axis=1)

    @cached_property
    def first_leaf(self) -> NDArray[np.int32]:
        """(nodes,): a leaf under each node."""
        leaf = np.empty(self.size, np.int32)
        leaf[self.nodes] = np.arange(len(self.leaves), dtype=np.int32)
        return leaf

    def node(self, value: object) -> int:
        """The leaf of a cell's value."""
        self.over([value])
        return self.places[str(value)]

    def leq(self, a: int, b: int) -> bool:
        """Whether b is a or above it."""
        return bool(self.level_of[a] <= self.level_of[b] and self.ancestor(a, int(self.level_of[b])) == b)

    def ancestor(self, node: int, height: int) -> int:
        """The node above a node (or itself) on a level."""
        return int(self.nodes[height, self.first_leaf[node]])

    def lub(self, *members: int) -> frozenset[int]:
        """The lowest node above all members, alone in its set: this is a tree."""
        at_least_one(members)
        return frozenset([int(self.join(np.array(members)))])

    def join(self, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
        """(..., members) -> (...): the least upper bound of all members."""
        leaf, start = self.first_leaf[nodes], self.level_of[nodes].max(axis=-1)
        found = np.full(start.shape, self.root, np.int32)
        still = np.ones(start.shape, bool)
        for height in range(self.height):
            above = self.nodes[height][leaf]
            here = still & (start <= height) & (above == above[..., :1]).all(axis=-1)
            found[here] = above[..., 0][here]
            still &= ~here
        return found

    def rank(self, node: int) -> float:
        """The level of a node."""
        return float(self.level_of[node])

    def share(self, node: int) -> float:
        """The part of all leaves under a node."""
        return float(self.leaf_counts[node] / len(self.leaves))

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.leaves)} values, {' > '.join(str(len(names)) for names in self.labels)})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Hierarchy)
            and self.labels == other.labels
            and np.array_equal(self.ancestors, other.ancestors)
        )

    __hash__ = None  # type: ignore[assignment]


def _faults(labels: tuple[tuple[str, ...], ...], ancestors: NDArray[np.int32]) -> list[str]:
    if len(labels) != len(ancestors) or not labels or not labels[0]:
        return ["labels and ancestors do not have the same levels"]
    if ancestors.shape[1] != len(labels[0]):
        return ["ancestors are not given for each leaf"]
    faults = []
    if not np.array_equal(ancestors[0], np.arange(len(labels[0]))):
        faults.append("the leaves are not numbered as they are listed")
    if len(set(labels[0])) < len(labels[0]):
        faults.append("a value occurs twice")
    if len(labels[-1]) != 1:
        faults.append(f"it has {len(labels[-1])} roots instead of one")
    for height in range(len(labels)):
        row = ancestors[height]
        if row.min() < 0 or len(np.unique(row)) != len(labels[height]) or row.max() >= len(labels[height]):
            faults.append(f"level {height} has nodes without values, or values without a node")
        if height and len(set(labels[height])) < len(labels[height]):
            faults.append(f"two nodes of level {height} are written the same")
        if height and not _nested(ancestors[height - 1], row):
            faults.append(f"a node of level {height - 1} has two parents on level {height}")
    if not faults and _above_others(labels, ancestors):
        faults.append("a value is written as a node over other values is")
    return faults


def _above_others(labels: tuple[tuple[str, ...], ...], ancestors: NDArray[np.int32]) -> bool:
    """Whether a node over some other value has the name of a value: a cell could then mean either."""
    places = {name: i for i, name in enumerate(labels[0])}
    for names, row in zip(labels[1:], ancestors[1:], strict=True):
        own = np.array([places.get(name, -1) for name in names])[row]  # of the value with the node's name
        if ((own >= 0) & (own != np.arange(len(row)))).any():
            return True
    return False


def _nested(below: NDArray[np.int32], above: NDArray[np.int32]) -> bool:
    """Whether every node below lies under one node above."""
    parent = np.full(int(below.max()) + 1, -1, np.int64)
    parent[below] = above
    return bool((parent[below] == above).all())


def _row_faults(rows: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """What is wrong, in names and numbers; and the values it is about, for eyes at a terminal.

    Ragged rows are told apart first (the width of most rows is taken as meant); the others are looked at
    nevertheless, so that a person corrects the file once.
    """
    if not rows:
        return ["it is empty"], []
    width = Counter(map(len, rows)).most_common(1)[0][0]
    whole = [row for row in rows if len(row) == width]
    faults: list[str] = []
    if len(whole) < len(rows):
        where = [i + 1 for i, row in enumerate(rows) if len(row) != width]
        lines = ", ".join(map(str, where[:5])) + (", ..." if len(where) > 5 else "")
        faults.append(
            f"{_many(len(where), 'row has', 'rows have')} not {width} cells like most (row {lines})"
        )
    if width == 0:
        return [*faults, "its rows have no cells"], []
    examples: list[str] = []
    twice = [v for v, n in Counter(row[0] for row in whole).items() if n > 1]
    if twice:
        faults.append(f"{_many(len(twice), 'value occurs', 'values occur')} more than once")
        examples += twice
    roots = sorted({row[-1] for row in whole})
    if len(roots) > 1:
        faults.append(f"it has {len(roots)} roots instead of one")
        examples += roots
    for below in range(1, width - 1):
        torn = _torn(whole, below)
        if torn:
            has = _many(len(torn), "node has", "nodes have")
            faults.append(f"{has} several parents: column {below + 1} under column {below + 2}")
            examples += torn
    blank = sum(any(not cell.strip() and cell != row[0] for cell in row[1:]) for row in whole)
    if blank:
        faults.append(f"{_many(blank, 'row has', 'rows have')} an empty level, which would look missing")
    both = _names_over_others(whole)
    if both:
        stand = _many(len(both), "value stands", "values stand")
        faults.append(f"{stand} in a further column too, over other values: a cell could mean either")
        examples += both
    return faults, examples


def _torn(rows: Sequence[Sequence[str]], below: int) -> list[str]:
    """Names of one column that stand beside different names in the next."""
    parent: dict[str, str] = {}
    torn: dict[str, None] = {}
    for row in rows:
        if parent.setdefault(row[below], row[below + 1]) != row[below + 1]:
            torn[row[below]] = None
    return list(torn)


def _names_over_others(rows: Sequence[Sequence[str]]) -> list[str]:
    """Values whose name is also that of a node over some other value."""
    values = {row[0] for row in rows}
    return list(dict.fromkeys(name for row in rows for name in row[1:] if name != row[0] and name in values))


def _many(n: int, one: str, more: str) -> str:
    return f"{n:,} {one if n == 1 else more}"
