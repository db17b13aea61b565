"""Any finite order: a graph of nodes with several parents, its closure kept as a bit matrix.

Thesis: MatrixPoset. What is precomputed is the transitive closure (`up`, one bit per pair), and on demand
the least upper bounds of all pairs (`pairs`). Bounds of more than two members are read off the closure:
the nodes above all members are the AND of their rows, so the order of the members cannot matter.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy._graph import Graph
from sfumato.hierarchy.levels import Hierarchy
from sfumato.hierarchy.poset import at_least_one

MOST_NODES = 60_000  # the closure has a bit for each pair: 450 MB
_MOST_PAIRS = 6_000  # the table of pairs has four bytes for each: 144 MB


@dataclass(frozen=True, eq=False)
class Matrix:
    """A finite poset. Build it with `Matrix.of`, which numbers the nodes.

    node_labels: how each node is written; leaves first, the top last.
    parents: the numbers of each node's parents, all greater than its own.
    values: a measure of each node, where one is given (thesis: Value, such as mutual information).
    """

    node_labels: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        size = len(self.node_labels)
        faults = []
        if size == 0 or len(self.parents) != size or len(self.values or self.parents) != size:
            raise ParameterError("labels, parents and values do not fit together.")
        if any(not ps for ps in self.parents[:-1]) or self.parents[-1]:
            faults.append("a node besides the last has no parent")
        if any(p <= i or p >= size for i, ps in enumerate(self.parents) for p in ps):
            faults.append("a parent has no greater number than its child")
        has_child = {p for ps in self.parents for p in ps}
        if any(i not in has_child for i in range(size - len(has_child), size)):
            faults.append("the leaves are not the first nodes")
        if len(set(self.node_labels[: size - len(has_child)])) < size - len(has_child):
            faults.append("a value occurs twice")
        if faults:
            raise ParameterError(f"this is not a poset: {'; '.join(faults)}.", hint="build it with Matrix.of")

    @classmethod
    def of(
        cls,
        parents: Mapping[Hashable, Sequence[Hashable]],
        *,
        names: Mapping[Hashable, str] | None = None,
        values: Mapping[Hashable, float] | None = None,
        name: str = "this",
    ) -> Matrix:
        """From the parents of every node; the top has none, or itself.

        names: how nodes are written, if not as they are called. All faults are listed at once: parents that
        are no nodes, several roots, cycles, values that occur twice. `name` is what a message calls it.
        """
        graph = Graph({node: [p for p in ps if p != node] for node, ps in parents.items()})
        written = {node: str(node) if names is None else names[node] for node in parents}
        faults, examples = graph.faults()
        if any(node in ps and any(p != node for p in ps) for node, ps in parents.items()):
            faults.append("a node is its own parent and has another")
        if len(parents) > MOST_NODES:  # before any set of leaves is formed
            faults.append(f"it has {len(parents):,} nodes; at most {MOST_NODES:,} are taken")
        if not faults:
            twice = graph.twice(written)
            if twice:
                faults.append(f"{len(twice):,} of its values occur more than once")
                examples += twice
        if faults:
            raise DataError(
                f"{name} is not a poset: {'; '.join(faults)}.",
                hint="one top above all nodes, every parent a node, no node above itself",
                values=examples,
            )
        order = graph.order()
        number = {node: i for i, node in enumerate(order)}
        return cls(
            tuple(written[node] for node in order),
            tuple(tuple(sorted({number[p] for p in graph.parents[node]})) for node in order),
            None if values is None else tuple(float(values[node]) for node in order),
        )

    @classmethod
    def of_hierarchy(cls, hierarchy: Hierarchy) -> Matrix:
        """The same order with its closure; nodes keep their numbers where no two levels are alike."""
        up = hierarchy.parent
        nodes = range(hierarchy.size)
        return cls.of(
            {i: [] if i == hierarchy.root else [int(up[i])] for i in nodes},
            names=dict(enumerate(hierarchy.node_labels)),
        )

    def levels(self) -> Hierarchy:
        """As a hierarchy with levels, if it is one: single parents, and all leaves as deep as each other."""
        single = all(len(ps) == 1 for ps in self.parents[:-1])
        rows = [self._way_up(leaf) for leaf in range(self.domain)] if single else []
        if not single or len({len(row) for row in rows}) > 1:
            raise ParameterError(
                "this poset has no levels: a node has several parents, or leaves differ in depth.",
                hint="use it with a search that takes any poset, or give it levels",
            )
        return Hierarchy.of_rows(rows)

    def over(self, levels: Sequence[object]) -> Matrix:
        """This poset, once it is sure that all these values are in it; missing ones are not looked at."""
        texts = [str(v) for v in levels if v is not None]
        absent = [t for t in texts if t not in self._by_text]
        if absent:
            raise DataError(
                f"{len(absent)} of {len(texts)} values are not in the poset.",
                hint="add them to the poset",
                values=absent,
            )
        return self

    def _way_up(self, leaf: int) -> list[str]:
        way = [leaf]
        while self.parents[way[-1]]:
            way.append(self.parents[way[-1]][0])
        return [self.node_labels[i] for i in way]

    # -- looking ---------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.node_labels)

    @property
    def root(self) -> int:
        """The number of the top."""
        return self.size - 1

    @property
    def top(self) -> int:
        """The number of the top."""
        return self.root

    @cached_property
    def domain(self) -> int:
        """How many leaves there are."""
        return max(1, self.size - len({p for ps in self.parents for p in ps}))

    @property
    def leaves(self) -> tuple[str, ...]:
        """The most specific values, as text."""
        return self.node_labels[: self.domain]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The number of each leaf by its text."""
        return {name: i for i, name in enumerate(self.leaves)}

    @cached_property
    def _by_text(self) -> Mapping[str, int]:
        """Nodes by their text: a leaf if there is one, else an inner node whose text no other has."""
        counted: dict[str, list[int]] = {}
        for i, text in enumerate(self.node_labels):
            counted.setdefault(text, []).append(i)
        single = {text: found[0] for text, found in counted.items() if len(found) == 1}
        return {**single, **self.places}

    @cached_property
    def up(self) -> NDArray[np.uint64]:
        """(nodes, words): bit b of row a says a <= b. Built from the top down, one OR per edge."""
        words = (self.size + 63) // 64
        up = np.zeros((self.size, words), np.uint64)
        for i in range(self.size - 1, -1, -1):
            for p in self.parents[i]:
                up[i] |= up[p]
            up[i, i // 64] |= np.uint64(1) << np.uint64(i % 64)
        return up

    @cached_property
    def leaf_counts(self) -> NDArray[np.int64]:
        """(nodes,): how many leaves lie under each node."""
        total = np.zeros(self.size, np.int64)
        for start in range(0, self.domain, 1024):  # a part of the leaves at a time: bits become bytes
            part = self.up[start : min(start + 1024, self.domain)]
            total += _bits(part, self.size).sum(axis=0, dtype=np.int64)
        return total

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """(nodes,): (share - 1/D) / (1 - 1/D), as of a hierarchy with levels."""
        if self.domain == 1:
            return np.zeros(self.size)
        return (self.leaf_counts - 1) / (self.domain - 1)

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """(nodes,): the longest way down to a leaf."""
        ranks = np.zeros(self.size, np.int32)
        for i, ps in enumerate(self.parents):
            for p in ps:
                ranks[p] = max(ranks[p], ranks[i] + 1)
        return ranks

    @property
    def height(self) -> int:
        """The longest way from a leaf to the top."""
        return int(self.ranks[-1])

    @cached_property
    def covers(self) -> NDArray[np.int32]:
        """(edges, 2): child and parent, without edges that others imply."""
        kept = [
            (i, p)
            for i, ps in enumerate(self.parents)
            for p in ps
            if not any(other != p and self.leq(other, p) for other in ps)
        ]
        return np.array(kept, np.int32).reshape(-1, 2)

    # -- order -----------------------------------------------------------------------------------

    def node(self, value: object) -> int:
        """The node of a cell's value: a leaf, or an inner node (a record may hold a mere category)."""
        self.over([value])
        return self._by_text[str(value)]

    def leq(self, a: int, b: int) -> bool:
        """Whether b is a or above it."""
        return bool((self.up[a, b // 64] >> np.uint64(b % 64)) & np.uint64(1))

    def lub(self, *members: int) -> frozenset[int]:
        """All least upper bounds.

        The lowest number among the common bounds is one, because numbers grow upwards; what lies above it
        is none; the lowest of the rest is the next.
        """
        at_least_one(members)
        common = np.bitwise_and.reduce(self.up[list(members)], axis=0)
        found = []
        while common.any():
            word = int(np.flatnonzero(common)[0])
            bits = int(common[word])
            least = word * 64 + (bits & -bits).bit_length() - 1
            found.append(least)
            common &= ~self.up[least]
        return frozenset(found)

    def join(self, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
        """(..., members) -> (...): the least upper bound of fewest leaves, of ties the lowest number."""
        from sfumato.hierarchy import _kernels

        nodes = np.asarray(nodes)
        members = np.ascontiguousarray(nodes.reshape(-1, nodes.shape[-1]), np.int64)
        out = np.empty(len(members), np.int32)
        _kernels.join(self.up, members, out)
        return out.reshape(nodes.shape[:-1])

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int32], bool]:
        from sfumato.hierarchy import _kernels

        if self.size > _MOST_PAIRS:
            raise ParameterError(
                f"a table of all pairs is made for at most {_MOST_PAIRS:,} nodes; this has {self.size:,}.",
                hint="use join, which needs none",
            )
        out = np.empty((self.size, self.size), np.int32)
        return out, bool(_kernels.pairs(self.up, out))

    @property
    def pairs(self) -> NDArray[np.int32]:
        """(nodes, nodes): `join` of each pair."""
        return self._pairs[0]

    @cached_property
    def semilattice(self) -> bool:
        """Whether any two nodes have one least upper bound; not looked into above some thousand nodes."""
        return all(len(ps) <= 1 for ps in self.parents) or (self.size <= _MOST_PAIRS and self._pairs[1])

    def rank(self, node: int) -> float:
        """The longest way down to a leaf."""
        return float(self.ranks[node])

    def share(self, node: int) -> float:
        """The part of all leaves under a node."""
        return float(self.leaf_counts[node] / self.domain)

    def label(self, node: int) -> str:
        """How a node is written."""
        return self.node_labels[node]

    def __repr__(self) -> str:
        return f"Matrix({self.domain} values, {self.size} nodes)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Matrix)
            and (self.node_labels, self.values) == (other.node_labels, other.values)
            and np.array_equal(self.up, other.up)
        )

    __hash__ = None  # type: ignore[assignment]


def _bits(rows: NDArray[np.uint64], size: int) -> NDArray[np.uint8]:
    """Words as single bits: (rows, size)."""
    as_bytes = rows.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(as_bytes, axis=1, bitorder="little")[:, :size]
