"""All hierarchies of a problem in flat arrays, and what the searches ask of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.measure import Costs
from sfumato.anonymization.problem import Problem

_PAIRS = 2_000  # leaves: up to here a column has a table of what each pair of its values costs together


class Flat(NamedTuple):
    """Trees and rows as the kernels read them.

    n: (combinations,), rows. cells: (combinations, columns), the leaf, counted through all columns.
    leaf_at, node_at: (columns + 1,), where the leaves and the nodes of a column begin.
    path: path[path_at[j] + l * leaves + x] is the node of leaf x of column j on level l.
    level, rep, cost: (all nodes,), a node's level, one leaf beneath it, and what a cell costs that is
    released as it. own: (combinations,), the measure of each combination as it stands.
    pair: pair[pair_at[j] + x * leaves + y] is the cost of LUB(x, y); pair_at[j] is -1 without a table.
    """

    n: NDArray[np.int64]
    cells: NDArray[np.int32]
    leaf_at: NDArray[np.int64]
    node_at: NDArray[np.int64]
    path_at: NDArray[np.int64]
    path: NDArray[np.int32]
    level: NDArray[np.int32]
    rep: NDArray[np.int32]
    cost: NDArray[np.float64]
    own: NDArray[np.float64]
    pair: NDArray[np.float64]
    pair_at: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem, costs: Costs, *, pairs: bool = False) -> Flat:
        """pairs: with the tables of what two leaves cost together, for Partition."""
        hierarchies = problem.hierarchies
        leaf_at = np.cumsum([0, *(len(h.leaves) for h in hierarchies)]).astype(np.int64)
        node_at = np.cumsum([0, *(h.size for h in hierarchies)]).astype(np.int64)
        path_at = np.cumsum([0, *(h.nodes.size for h in hierarchies)]).astype(np.int64)
        reps = []
        for h in hierarchies:
            rep = np.zeros(h.size, np.int32)
            for nodes in h.nodes:
                rep[nodes] = np.arange(len(h.leaves))
            reps.append(rep)
        own = np.sum([c[problem.leaves[:, j]] for j, c in enumerate(costs)], axis=0)
        tables: list[NDArray[np.float64]] = []
        pair_at = np.full(len(hierarchies), -1, np.int64)
        for j, h in enumerate(hierarchies):
            if pairs and len(h.leaves) <= _PAIRS:
                pair_at[j] = sum(t.size for t in tables)
                tables.append(_pairs(h.nodes, costs[j]))
        return cls(
            np.ascontiguousarray(problem.n, np.int64),
            np.ascontiguousarray(problem.leaves + leaf_at[:-1], np.int32),
            leaf_at,
            node_at,
            path_at,
            np.concatenate([h.nodes.ravel() for h in hierarchies]).astype(np.int32),
            np.concatenate([h.level_of for h in hierarchies]).astype(np.int32),
            np.concatenate(reps),
            np.concatenate(costs).astype(np.float64),
            np.asarray(own, np.float64),
            np.concatenate([t.ravel() for t in tables]) if tables else np.zeros(0),
            pair_at,
        )

    @property
    def columns(self) -> int:
        """How many there are."""
        return int(self.cells.shape[1])

    def costs(self, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
        """(..., columns) nodes -> what each such cell costs."""
        return np.asarray(self.cost[nodes + self.node_at[:-1]], np.float64)


def _pairs(nodes: NDArray[np.int32], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """(leaves, leaves): the cost of the least upper bound of two leaves; coarse levels first, then finer."""
    out = np.empty((nodes.shape[1], nodes.shape[1]))
    for row in nodes[::-1]:
        same = row[:, None] == row[None, :]
        np.copyto(out, cost[row][:, None], where=same)
    return out
