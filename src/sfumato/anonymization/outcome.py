"""The target column as a search knows it: how often each outcome occurs with each combination."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem
from sfumato.errors import DataError, ParameterError

MOST = 10  # outcomes told apart before they are pooled


@dataclass(frozen=True, eq=False)
class OutcomeCounts:
    """Entries of the table combination x outcome that are not zero.

    of: (entries,), the combination. code: (entries,), the outcome. n: (entries,), how many rows.
    """

    levels: int
    of: NDArray[np.int64]
    code: NDArray[np.int64]
    n: NDArray[np.int64]

    def by_node(self, problem: Problem, column: int) -> NDArray[np.int64]:
        """(nodes, outcomes): how often each outcome occurs under each node of a column."""
        hierarchy = problem.hierarchies[column]
        cells = problem.leaves[self.of, column].astype(np.int64) * self.levels + self.code
        leaves = np.bincount(cells, self.n, len(hierarchy.leaves) * self.levels)
        leaves = leaves.astype(np.int64).reshape(-1, self.levels)
        out = np.zeros((hierarchy.size, self.levels), np.int64)
        for nodes in hierarchy.nodes:
            np.add.at(out, nodes, leaves)
        return out

    def by_cell(self, cells: NDArray[np.int32], nodes: int) -> list[NDArray[np.int64]]:
        """For each implied column of an augmented table, (nodes, outcomes): how often each outcome occurs.

        cells: (combinations, implied columns), nodes of one hierarchy; none of them suppressed.
        """
        found = []
        for column in cells.T:
            key = column[self.of].astype(np.int64) * self.levels + self.code
            counted = np.bincount(key, self.n, nodes * self.levels).astype(np.int64)
            found.append(counted.reshape(nodes, self.levels))
        return found


def outcome(problem: Problem, target: str, most: int | None = MOST) -> OutcomeCounts:
    """What was counted of the target, pooled to at most `most` outcomes.

    Pooled in the order of the levels, into parts of about the same number of rows; a missing outcome comes
    after all others. A quasi-identifier can be a target too: then its own leaves are the outcomes.
    """
    if target in problem.columns:
        code = problem.leaves[:, problem.columns.index(target)].astype(np.int64)
        of, n = np.arange(problem.combinations), problem.n
    elif target in problem.sensitive:
        sparse = problem.sensitive[target]
        of = np.repeat(np.arange(problem.combinations), np.diff(sparse.start))
        code, n = sparse.code.astype(np.int64), sparse.n
    else:
        raise ParameterError(
            f"the target '{target}' was not counted with the quasi-identifiers.",
            hint=f"compress(..., sensitive=['{target}'])",
        )
    if not len(code):
        raise DataError("there are no rows.", hint="a measure of information needs some")
    seen, code = np.unique(code, return_inverse=True)
    if most is not None and len(seen) > most:
        code = _pooled(np.bincount(code, n, len(seen)).astype(np.float64), most)[code]
    return OutcomeCounts(int(code.max()) + 1, of, code.astype(np.int64), n)


def _pooled(rows: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """(levels,): the part of each level, by where the middle of its rows lies; parts count up from 0."""
    middle = np.cumsum(rows) - rows / 2
    part = np.minimum((middle * most / rows.sum()).astype(np.int64), most - 1)
    return np.asarray(np.unique(part, return_inverse=True)[1], np.int64)
