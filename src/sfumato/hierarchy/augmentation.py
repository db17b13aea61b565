"""Augmented tables: a column for each level, so that generalizing is suppressing (thesis, figures 6 and 7).

A ZIP code 02139 has the implied fields 0213* and 021**. Generalized to 0213*, its row keeps the implied
fields from there up and loses the code itself: one step up is one cell suppressed. Measures and models that
can leave a cell out can thereby look at every level of generalization.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy.levels import Hierarchy
from sfumato.hierarchy.matrix import Matrix, _bits

SUPPRESSED = -1


def implied(hierarchy: Hierarchy, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
    """(n,) nodes -> (n, height): the node of each level, -1 on levels below the node itself.

    The root's level is left out: it tells nothing. So the root is a row of -1.
    """
    nodes = np.asarray(nodes)
    above = hierarchy.nodes[:-1][:, hierarchy.first_leaf[nodes]].T
    shown = np.arange(hierarchy.height) >= hierarchy.level_of[nodes][:, None]
    return np.where(shown, above, SUPPRESSED).astype(np.int32)


def generalized(hierarchy: Hierarchy, cells: NDArray[np.integer]) -> NDArray[np.int32]:
    """(n, height) -> (n,): the node that a row of implied cells tells; the way back from `implied`.

    Any cells may be suppressed: a lower level implies those above it, so the lowest that is there counts.
    Cells that contradict each other are refused.
    """
    cells = np.asarray(cells)
    there = cells != SUPPRESSED
    if hierarchy.height == 0:
        return np.full(len(cells), hierarchy.root, np.int32)
    lowest = there.argmax(axis=1)
    found = np.where(there.any(axis=1), cells[np.arange(len(cells)), lowest], hierarchy.root).astype(np.int32)
    level_here = (hierarchy.level_of[np.where(there, cells, 0)] == np.arange(hierarchy.height)) | ~there
    agree = (implied(hierarchy, found) == cells) | ~there
    if not (agree & level_here).all():
        wrong = int((~(agree & level_here).all(axis=1)).sum())
        raise DataError(
            f"{wrong} rows contradict themselves: a cell is not above the one of a lower level.",
            hint="suppress cells; do not change them",
        )
    return found


def implied_flags(poset: Matrix, nodes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """(n,) nodes -> (n, nodes of the poset): which nodes are told, for posets without levels."""
    return _bits(poset.up[np.asarray(nodes)], poset.size).astype(bool)


def generalized_flags(poset: Matrix, flags: NDArray[np.bool_]) -> list[frozenset[int]]:
    """The way back: the most specific nodes that are told; one if the flags are those of a node."""
    rows = [np.flatnonzero(row) for row in flags]
    return [
        frozenset(int(a) for a in row if not any(b != a and poset.leq(int(b), int(a)) for b in row))
        for row in rows
    ]


@dataclass(frozen=True, eq=False)
class Augmented:
    """The augmented table of some columns.

    columns, hierarchies: each column and how it is generalized.
    """

    columns: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "hierarchies", tuple(self.hierarchies))
        if not self.columns or len(self.columns) != len(self.hierarchies):
            raise ParameterError("an augmented table needs a hierarchy for each column.")
        if len(set(self.names)) < len(self.names):
            raise ParameterError("implied columns would have the same name.", hint="rename columns like a/1")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The implied columns: zip, zip/1, zip/2, ..."""
        return tuple(
            name if height == 0 else f"{name}/{height}"
            for name, h in zip(self.columns, self.hierarchies, strict=True)
            for height in range(h.height)
        )

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(columns + 1,): where the implied columns of each column begin."""
        return np.cumsum([0, *(h.height for h in self.hierarchies)])

    def expand(self, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
        """(n, columns) nodes -> (n, implied columns) nodes, -1 where suppressed."""
        return np.hstack([implied(h, nodes[:, j]) for j, h in enumerate(self.hierarchies)])

    def collapse(self, cells: NDArray[np.integer]) -> NDArray[np.int32]:
        """(n, implied columns) -> (n, columns): the way back."""
        parts = [cells[:, a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        return np.stack(
            [generalized(h, part) for h, part in zip(self.hierarchies, parts, strict=True)], axis=1
        )

    def texts(self, nodes: NDArray[np.integer]) -> dict[str, Sequence[str | None]]:
        """The implied columns as text, None where suppressed; in the order of `names`."""
        cells = self.expand(nodes)
        found: dict[str, Sequence[str | None]] = {}
        for j, h in enumerate(self.hierarchies):
            labels = [*h.node_labels, None]  # -1 is the last
            for k in range(int(self.starts[j]), int(self.starts[j + 1])):
                found[self.names[k]] = [labels[i] for i in cells[:, k].tolist()]
        return found
