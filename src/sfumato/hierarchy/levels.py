"""A hierarchy with levels: every value has one ancestor on each level, and one root is above all.

The common case, and the one the searches are quick on. Leaves and nodes are numbered: leaf i of level 0,
node j of level l. Counted through all levels, level 0 first, a node has one number (`node`), so that a
released cell is a single integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError

ROOT = "*"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Values and their generalizations.

    labels: labels[l][j] is how node j of level l is written; labels[0] are the leaves, labels[-1] the root.
    ancestors: (levels, leaves), the node of each leaf on each level; row 0 counts up, the last row is 0.
    """

    labels: tuple[tuple[str, ...], ...]
    ancestors: NDArray[np.int32]

    def __post_init__(self) -> None:
        faults = _faults(self.labels, self.ancestors)
        if faults:
            raise ParameterError(f"this is no hierarchy: {'; '.join(faults)}.", hint="build it from a table")

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """From a table of levels: one row per leaf, most specific first, the root last."""
        if not rows:
            raise DataError("the table of levels is empty.", hint="one row per value, most specific first")
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise DataError("the rows have different numbers of levels.", hint="one column per level")
        labels, ancestors = [], np.empty((widths.pop(), len(rows)), np.int32)
        for level in range(len(ancestors)):
            known: dict[str, int] = {}
            for leaf, row in enumerate(rows):
                ancestors[level, leaf] = known.setdefault(row[level], len(known))
            labels.append(tuple(known))
        return cls(tuple(labels), ancestors)

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
    def places(self) -> Mapping[str, int]:
        """The number of each leaf by its text."""
        return {name: i for i, name in enumerate(self.leaves)}

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
    if len(set(labels[0])) < len(labels[0]):
        faults.append("a value occurs twice")
    if len(labels[-1]) != 1:
        faults.append(f"it has {len(labels[-1])} roots instead of one")
    for height in range(len(labels)):
        row = ancestors[height]
        if row.min() < 0 or len(np.unique(row)) != len(labels[height]) or row.max() >= len(labels[height]):
            faults.append(f"level {height} has nodes without values, or values without a node")
        if height and not _nested(ancestors[height - 1], row):
            faults.append(f"a node of level {height - 1} has two parents on level {height}")
    return faults


def _nested(below: NDArray[np.int32], above: NDArray[np.int32]) -> bool:
    """Whether every node below lies under one node above."""
    parent = np.full(int(below.max()) + 1, -1, np.int64)
    parent[below] = above
    return bool((parent[below] == above).all())
