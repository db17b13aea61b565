"""Any poset over the values of a column, its nodes numbered as a search meets them.

Searches, classes and writers speak of nodes by number. A poset without levels may have more nodes than can
be listed (intervals of real numbers, cells of codes), so only those get a number that are asked for: the
values first, as in every hierarchy, then the root, then what lies between, in the order it is met. Taken as
a `Hierarchy` it is "the value or nothing"; what lies between is known to those who ask for `lub`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.hierarchy.bits import PowerSet
from sfumato.hierarchy.codes import SparseCodes
from sfumato.hierarchy.levels import ROOT, Hierarchy
from sfumato.hierarchy.poset import Poset, at_least_one, loss_of
from sfumato.hierarchy.ranges import Range

_FOLDS = (Range, PowerSet, SparseCodes)  # one least upper bound, whatever is folded in which order


class _Nothing:
    """The node of a missing cell: under the top, and comparable to nothing else."""


_NOTHING = _Nothing()


@dataclass(frozen=True, eq=False)
class Numbered(Hierarchy):
    """poset: the order. own: the node of each leaf, in the order of the leaves."""

    poset: Poset[Any] = field(kw_only=True)
    own: tuple[Hashable, ...] = field(kw_only=True)
    _number: dict[Hashable, int] = field(default_factory=dict, init=False, repr=False)
    _between: list[Hashable] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, node in enumerate(self.own):  # two texts of one node: the first stands for both
            self._number.setdefault(node, i)
        self._number[self.poset.top] = self.root
        assert len(self.own) == len(self.leaves)

    @classmethod
    def of(cls, poset: Poset[Any], values: Sequence[object]) -> Numbered:
        """Over the values of a column; those without a node are refused, all at once."""
        own: dict[str, Hashable] = {}
        absent = []
        for value in values:
            if value is None:
                continue
            try:
                own[str(value)] = poset.node(value)
            except DataError:
                absent.append(value)
        if absent:
            raise DataError(
                f"{len(absent)} of {len(own) + len(absent)} values are not in the poset.",
                hint="correct them, make them missing, or widen the poset",
                values=absent,
            )
        return cls._over(poset, tuple(own), tuple(own.values()))

    @classmethod
    def of_nodes(cls, poset: Poset[Any], nodes: Sequence[Hashable]) -> Numbered:
        """Over nodes that are there already, whatever their texts were."""
        own = tuple(node for node in dict.fromkeys(nodes) if node != poset.top)
        return cls._over(poset, tuple(f"#{i}" for i in range(len(own) or 1)), own or (poset.top,))

    @classmethod
    def _over(cls, poset: Poset[Any], texts: tuple[str, ...], own: tuple[Hashable, ...]) -> Numbered:
        ancestors = np.stack([np.arange(len(texts)), np.zeros(len(texts), np.int64)]).astype(np.int32)
        return cls((texts, (ROOT,)), ancestors, poset=poset, own=own)

    def with_missing(self, text: str) -> Numbered:
        """With a leaf for missing cells, which has nothing but the root above it."""
        return self._over(self.poset, (*self.leaves, text), (*self.own, _NOTHING))

    # -- numbers ---------------------------------------------------------------------------------

    @property
    def root(self) -> int:
        """The number of the root: right after the leaves."""
        return len(self.leaves)

    def number(self, node: Hashable) -> int:
        """The number of a node; the next free one if it has none yet."""
        found = self._number.get(node)
        if found is None:
            found = self._number[node] = self.root + 1 + len(self._between)
            self._between.append(node)
        return found

    def at(self, number: int) -> Hashable:
        """The node of a number."""
        if number < self.root:
            return self.own[number]
        return self.poset.top if number == self.root else self._between[number - self.root - 1]

    # -- looking ---------------------------------------------------------------------------------

    @property
    def faithful(self) -> bool:
        """Whether every leaf would be written as it stands in the column."""
        written = tuple(self.label(i) for i in range(self.root))
        return written == self.leaves and len(set(self.own)) == len(self.own)

    @property
    def node_labels(self) -> tuple[str, ...]:
        """(nodes,): how each node that has a number is written."""
        return tuple(self.label(i) for i in range(self.size))

    @property
    def size(self) -> int:
        """How many nodes have a number."""
        return self.root + 1 + len(self._between)

    @property
    def level_of(self) -> NDArray[Any]:
        """(nodes,): rank by that of the top: the root is 1."""
        return np.array([*map(self.rank, range(self.size))]) / (self.most or 1.0)

    @property
    def loss(self) -> NDArray[np.float64]:
        """(nodes,): (share - 1/D) / (1 - 1/D); 1 for the root."""
        return np.array([*map(self.lost, range(self.size))])

    @property
    def folds(self) -> bool:
        """Whether the bound of many may be found by adding one after the other to the bound of the others."""
        return isinstance(self.poset, _FOLDS) or bool(getattr(self.poset, "semilattice", False))

    @property
    def stands_for(self) -> Mapping[str, tuple[str, ...]]:
        """Each node that has a number, as it is written, and the values of the column under it."""
        under = [(n, [i for i in range(self.root) if self.leq(i, n)]) for n in range(self.size)]
        return {self.label(n): tuple(self.leaves[i] for i in leaves) for n, leaves in under}

    @property
    def most(self) -> float:
        """The rank of the top."""
        return self.poset.height

    def label(self, node: int) -> str:
        """How a node is written."""
        if node == self.root or self._is_missing(node):
            return ROOT if node == self.root else self.leaves[node]
        return self.poset.label(self.at(node))

    def lost(self, node: int) -> float:
        """(share - 1/D) / (1 - 1/D) of one node; 0 for a missing cell, 1 for the root."""
        if node == self.root or self._is_missing(node):
            return float(node == self.root)
        return loss_of(self.poset, self.at(node))

    def rank(self, node: int) -> float:
        """As the poset ranks it: a column may hold mere categories, which are above 0."""
        return 0.0 if self._is_missing(node) else float(self.poset.rank(self.at(node)))

    def share(self, node: int) -> float:
        """The part of all leaves of the poset under a node."""
        if self._is_missing(node):
            return 0.0 if math.isinf(self.poset.domain) else 1 / self.poset.domain
        return 1.0 if node == self.root else float(self.poset.share(self.at(node)))

    def _is_missing(self, node: int) -> bool:
        return node < self.root and self.own[node] is _NOTHING

    # -- order -----------------------------------------------------------------------------------

    def leq(self, a: int, b: int) -> bool:
        """Whether b is a or above it."""
        if a == b or b == self.root:
            return True
        one, other = self.at(a), self.at(b)
        if a == self.root or one is _NOTHING or other is _NOTHING:
            return False
        return self.poset.leq(one, other)

    def lub(self, *members: int) -> frozenset[int]:
        """All least upper bounds, by number; each gets one if it has none yet."""
        at_least_one(members)
        nodes = {self.at(m) for m in members}
        if _NOTHING in nodes or self.root in members:
            return frozenset([self.number(nodes.pop())] if len(nodes) == 1 else [self.root])
        return frozenset(self.number(node) for node in self.poset.lub(*nodes))

    def __repr__(self) -> str:
        return f"Numbered({len(self.leaves)} values of {type(self.poset).__name__})"
