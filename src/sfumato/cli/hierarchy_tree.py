"""A hierarchy as a tree at the terminal, from * down to the values: how many values and rows are under each.

For the person at the terminal, who has the data: counts of 1 to 10 rows are written as "1 to 10", but those
around them may tell the number. It is no table to publish.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text
from rich.tree import Tree

from sfumato.errors import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.hierarchy import Hierarchy

_SMALL = 10  # rows up to which a count is not told exactly: CMS cell size policy


def node_rows(found: Hierarchy, rows: Mapping[str, int]) -> NDArray[np.int64]:
    """(nodes,): how many rows lie under each node. rows: of each value."""
    own = np.array([rows.get(leaf, 0) for leaf in found.leaves], np.int64)
    out = np.zeros(found.size, np.int64)
    for nodes in found.nodes:
        np.add.at(out, nodes, own)
    return out


def tree_of(found: Hierarchy, limit: int, rows: Mapping[str, int] | None = None) -> tuple[Tree, int]:
    """The tree, largest nodes first, and how many of its nodes are not shown. limit: nodes shown.

    A level that adds nothing to a branch (one child, written the same) is passed over.
    """
    counts = None if rows is None else node_rows(found, rows)
    children: dict[int, list[int]] = {}
    for child, parent in found.covers.tolist():
        children.setdefault(parent, []).append(child)
    size = found.leaf_counts if counts is None else counts
    tree = Tree(_words(found, found.root, counts))
    waiting: list[tuple[int, Any]] = [(found.root, tree)]
    shown = total = 0
    while waiting:
        node, branch = waiting.pop(0)
        below = _skipped(found, children, node)
        total += len(below)
        for child in sorted(below, key=lambda c: -int(size[c])):
            if shown < limit:
                shown += 1
                waiting.append((child, branch.add(_words(found, child, counts))))
            else:
                waiting.append((child, branch))
    return tree, total - shown


def _skipped(found: Hierarchy, children: Mapping[int, list[int]], node: int) -> list[int]:
    """The children of a node; of one that is written as its only child, that child's."""
    below = children.get(node, [])
    while len(below) == 1 and found.label(below[0]) == found.label(node):
        below = children.get(below[0], [])
    return below


def _words(found: Hierarchy, node: int, counts: NDArray[np.int64] | None) -> Text:
    parts = []
    if int(found.level_of[node]):
        n = int(found.leaf_counts[node])
        parts.append(f"{n:,} value{'s' * (n != 1)}")
    if counts is not None:
        n = int(counts[node])
        parts.append(f"{n:,} rows" if n > _SMALL or n == 0 else f"1 to {_SMALL} rows")
    return Text.assemble(printable(found.label(node)), (f"  {', '.join(parts)}" if parts else "", "dim"))
