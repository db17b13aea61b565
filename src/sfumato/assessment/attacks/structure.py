"""Which columns of a release hang together: a forest over the columns, along their levels.

A link runs from a level of one column to the leaves of another, as in Katirai's figure where race predicts
the zip code with a certain specificity. The level is the finest one at which the release always says where a
record stands: leaves that some released value covers together are one group. A cell that covers everything
says nothing and joins nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import Floats, Ints

_CELLS = 2_000_000  # of a table over the secret and two columns: larger ones are too thin to learn from


@dataclass(frozen=True, eq=False)
class ColumnLevel:
    """The groups of a column: of each leaf (leaves + 1,) and of each released value (nodes,); -1 for none."""

    of_leaf: Ints
    of_node: Ints
    size: int


def level_of(covers: Floats) -> ColumnLevel:
    """The groups of a column.  covers: (nodes, leaves + 1), 0 or 1; the last leaf is one nobody has."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    seen = covers[:, :-1] > 0
    telling = ~seen.all(axis=1)
    joined = csr_matrix(seen[telling], dtype=np.int32)  # counts of values: 256 of them must not be none
    size, of_leaf = connected_components(joined.T @ joined, directed=False)
    of_node = np.where(telling & seen.any(axis=1), of_leaf[seen.argmax(axis=1)], -1)
    return ColumnLevel(np.append(of_leaf, -1).astype(np.int64), of_node.astype(np.int64), int(size))


def forest(groups: Ints, sizes: Sequence[int], belief: Floats) -> list[int]:
    """For each column its parent among the columns, or -1: Chow and Liu's tree, given the secret.

    groups: (records, columns), -1 where a cell says nothing. belief: (records, secrets).
    The weight of a link is the information of the two columns about each other given the secret, less what
    so many cells show by chance, (A - 1)(B - 1) / 2N per secret; links that are not above it are left out.
    """
    secret = belief.argmax(axis=1)
    links = []
    for a, b in combinations(range(groups.shape[1]), 2):
        gain = _information(secret, groups[:, a], groups[:, b], (belief.shape[1], sizes[a], sizes[b]))
        if gain > 0:
            links.append((gain, a, b))
    return _oriented(sorted(links, reverse=True), groups.shape[1])


def _information(secret: Ints, a: Ints, b: Ints, shape: tuple[int, int, int]) -> float:
    """I(A; B | S) in nats per record, less its bias."""
    there = (a >= 0) & (b >= 0)
    if not there.any() or np.prod(shape, dtype=float) > _CELLS:
        return 0.0
    flat = np.ravel_multi_index((secret[there], a[there], b[there]), shape)
    n = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    rows, columns, all_ = n.sum(axis=2, keepdims=True), n.sum(axis=1, keepdims=True), n.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(n > 0, n * np.log(n * all_[:, None, None] / (rows * columns)), 0.0)
    used = (rows > 0).sum(axis=(1, 2)) - 1, (columns > 0).sum(axis=(1, 2)) - 1
    bias = float((np.maximum(used[0], 0) * np.maximum(used[1], 0)).sum()) / 2
    return float((terms.sum() - bias) / there.sum())


def _oriented(links: Sequence[tuple[float, int, int]], columns: int) -> list[int]:
    """The heaviest links that close no circle, each pointing away from the first column of its tree."""
    tree = list(range(columns))

    def root(c: int) -> int:
        while tree[c] != c:
            c = tree[c]
        return c

    beside: list[list[int]] = [[] for _ in range(columns)]
    for _, a, b in links:
        if root(a) != root(b):
            tree[root(a)] = root(b)
            beside[a].append(b)
            beside[b].append(a)
    parents = [-1] * columns
    done: NDArray[np.bool_] = np.zeros(columns, bool)
    for start in range(columns):
        waiting = [] if done[start] else [start]
        while waiting:
            here = waiting.pop()
            done[here] = True
            for other in beside[here]:
                if not done[other]:
                    parents[other] = here
                    waiting.append(other)
    return parents
