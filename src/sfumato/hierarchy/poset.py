"""What all generalizations have in common: values under an order, and what lies above several of them.

A node is a value or a generalization of values; a <= b says that b is a generalization of a (or a itself).
One node, the top, is above all: the suppressed cell.

A *least upper bound* is an upper bound of all members with no other upper bound below it. There may be
several (a census block lies in a ZIP code and in a town), so `lub` gives a set. It is taken over the
members themselves: folded in pairs, picking one bound at each step, the result could depend on the order
and end higher than needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Node = TypeVar("Node", bound=Hashable)


class Poset(Protocol[Node]):
    """Values, their generalizations, and the order among them."""

    @property
    def top(self) -> Node:
        """The node above all others: nothing is said any more."""
        ...

    @property
    def height(self) -> float:
        """The rank of the top."""
        ...

    @property
    def domain(self) -> float:
        """How many leaves there are; infinite for real numbers and the like."""
        ...

    def node(self, value: object) -> Node:
        """The node of a cell's value; refused if there is none."""
        ...

    def leq(self, a: Node, b: Node) -> bool:
        """Whether b is a generalization of a, or a itself."""
        ...

    def lub(self, *members: Node) -> frozenset[Node]:
        """All least upper bounds of the members."""
        ...

    def rank(self, node: Node) -> float:
        """How high a node is: 0 for a leaf, `height` for the top, never falling on the way up."""
        ...

    def share(self, node: Node) -> float:
        """The part of all leaves that lies under a node: 1 for the top."""
        ...

    def label(self, node: Node) -> str:
        """How a node is written in a release."""
        ...


class Finite(Poset[int], Protocol):
    """A poset whose nodes are numbered, so that searches run on arrays.

    Leaves come first: leaf i is node i. A node's number is greater than those of all nodes below it, and
    the top is the last one.
    """

    @property
    def leaves(self) -> tuple[str, ...]:
        """The most specific values, as text."""
        ...

    @property
    def size(self) -> int:
        """How many nodes there are."""
        ...

    @property
    def root(self) -> int:
        """The number of the top."""
        ...

    @property
    def places(self) -> Mapping[str, int]:
        """The number of each leaf by its text."""
        ...

    @property
    def node_labels(self) -> tuple[str, ...]:
        """(nodes,): how each node is written."""
        ...

    @property
    def leaf_counts(self) -> NDArray[np.int64]:
        """(nodes,): how many leaves lie under each node."""
        ...

    @property
    def loss(self) -> NDArray[np.float64]:
        """(nodes,): (share - 1/D) / (1 - 1/D) with D leaves in all."""
        ...

    @property
    def ranks(self) -> NDArray[np.int32]:
        """(nodes,): how many steps a node is above the leaves (the longest way)."""
        ...

    @property
    def covers(self) -> NDArray[np.int32]:
        """(edges, 2): child and parent; no step can be left out and still be implied."""
        ...

    @property
    def semilattice(self) -> bool:
        """Whether any two nodes have one least upper bound: only then is folding in pairs exact."""
        ...

    def join(self, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
        """(..., members) -> (...): a least upper bound of all members, that of fewest leaves.

        Ties go to the lower number. With `semilattice` it is the only one.
        """
        ...


def loss_of(poset: Poset[Node], node: Node) -> float:
    """(share - 1/D) / (1 - 1/D) of one node: 0 a leaf, 1 the top. With a single leaf nothing is lost."""
    leaves = poset.domain
    if leaves == 1:
        return 0.0
    return (poset.share(node) - 1 / leaves) / (1 - 1 / leaves)


def at_least_one(members: Sequence[object]) -> None:
    """Refuse the least upper bound of nothing: every node is above nothing."""
    if not members:
        raise ParameterError("a least upper bound needs at least one member.")
