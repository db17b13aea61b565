"""All hierarchies of a problem in flat arrays, and what the searches ask of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.measure import Costs
from sfumato.anonymization.problem import Problem

_PAIRS = 2_000  # leaves: up to here a column has a table of what each pair of its values costs together


@dataclass(frozen=True, eq=False)
class Flat:
    """See `_kernels` for the arrays. own: (combinations,), the measure of each combination as it stands."""

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

    @property
    def trees(self) -> tuple[Any, ...]:
        """The arrays every kernel takes, in their order."""
        return self.leaf_at, self.node_at, self.path_at, self.path, self.level, self.rep

    @property
    def distances(self) -> tuple[Any, ...]:
        """The arrays of the kernels that compare two combinations."""
        return (
            self.own, self.cells, self.leaf_at, self.node_at, self.path_at, self.path, self.cost,
            self.pair, self.pair_at,
        )  # fmt: skip

    def bound(self, members: NDArray[np.int64]) -> NDArray[np.int32]:
        """The n-ary least upper bound over the original members: one node per column."""
        from sfumato.anonymization.greedy._kernels import bound_of

        nodes = np.empty(self.columns, np.int32)
        bound_of(members, self.cells, *self.trees, nodes)
        return nodes

    def costs(self, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
        """(..., columns) nodes -> what each such cell costs."""
        return self.cost[nodes + self.node_at[:-1]]


def _pairs(nodes: NDArray[np.int32], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """(leaves, leaves): the cost of the least upper bound of two leaves; coarse levels first, then finer."""
    out = np.empty((nodes.shape[1], nodes.shape[1]))
    for row in nodes[::-1]:
        same = row[:, None] == row[None, :]
        np.copyto(out, cost[row][:, None], where=same)
    return out
