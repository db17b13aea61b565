"""The hierarchies of all columns in flat arrays, as the loops of the local searches read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem
from sfumato.hierarchy import Hierarchy

WIDEST = 1500  # columns with more nodes than this climb to their common ancestor instead of looking it up


class HierarchyForest(NamedTuple):
    """One tree per column. A node is numbered within its column, level by level: a parent comes after
    its children, so that the smaller of two numbers can always climb.

    base: (columns + 1,), the place of a column's first node in `parent` and `loss`.
    parent: (nodes,), the parent's number within the column; the root is its own.
    loss: (nodes,), what a cell released as this node loses, times the column's share of all weights.
    start, width: (columns,), where the square of a column lies in `table` and `far`; width 0: none.
    table: the lowest node above a and b, at start + a * width + b. far: its loss.
    """

    base: NDArray[np.int64]
    parent: NDArray[np.int32]
    loss: NDArray[np.float64]
    start: NDArray[np.int64]
    width: NDArray[np.int64]
    table: NDArray[np.int32]
    far: NDArray[np.float64]


def planted(problem: Problem) -> HierarchyForest:
    """The forest of a problem. Columns that weigh nothing cost nothing."""
    assert problem.weights is not None
    share = problem.weights / problem.weights.sum()
    losses = [h.loss * w for h, w in zip(problem.hierarchies, share, strict=True)]
    return grown(problem.hierarchies, losses)


def grown(hierarchies: Sequence[Hierarchy], losses: Sequence[NDArray[np.float64]]) -> HierarchyForest:
    """A forest whose nodes lose what is given, by column."""
    parents = [parents_of(h) for h in hierarchies]
    sizes = np.array([h.size for h in hierarchies], np.int64)
    width = np.where(sizes <= WIDEST, sizes, 0)
    tables = [lub_table(p) if w else np.empty(0, np.int32) for p, w in zip(parents, width, strict=True)]
    return HierarchyForest(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate(parents),
        np.concatenate(losses),
        np.concatenate([[0], np.cumsum(width**2)[:-1]]).astype(np.int64),
        width,
        np.concatenate(tables),
        np.concatenate([loss[t] for loss, t in zip(losses, tables, strict=True)]),
    )


def parents_of(hierarchy: Hierarchy) -> NDArray[np.int32]:
    """(nodes,): the number of each node's parent; the root is its own."""
    parent = np.full(hierarchy.size, hierarchy.root, np.int32)
    for level in range(hierarchy.height):
        parent[hierarchy.nodes[level]] = hierarchy.nodes[level + 1]
    return parent


def lub_table(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """(nodes * nodes,): the lowest node above both; the lowest level on which two leaves agree.

    From the root down: above a and b with a < b is what is above parent(a) and b, except where a is under b.
    """
    size = len(parent)
    table = np.empty((size, size), np.int32)
    for a in range(size - 1, -1, -1):
        table[a, a:] = table[parent[a], a:] if a < size - 1 else a
        table[a, a] = a
        table[a:, a] = table[a, a:]
    return table.ravel()
