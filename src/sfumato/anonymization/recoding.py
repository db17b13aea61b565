"""What every search gives back: what becomes of each combination of quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem


@dataclass(frozen=True, eq=False)
class Recoding:
    """Pieces of combinations and the nodes they are released as.

    A piece is some of the rows of one combination: all of them for most searches; a local search may give
    rows that were alike to different classes. Which rows those are is settled by a keyed shuffle when the
    file is written.

    of: (pieces,), the combination a piece belongs to; ascending. n: (pieces,), its rows.
    nodes: (pieces, columns), what its cells become: node numbers, see `Hierarchy.node_labels`.
    suppressed: (pieces,), rows whose quasi-identifiers are all withheld (every node is the root).
    about: what the search has to say: score, bound, ties, nodes checked; plain values for the record.
    """

    problem: Problem
    of: NDArray[np.int64]
    n: NDArray[np.int64]
    nodes: NDArray[np.int32]
    suppressed: NDArray[np.bool_]
    about: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = np.bincount(self.of, self.n, self.problem.combinations)
        assert (kept == self.problem.n).all(), "every row of every combination is in one piece"
        assert self.nodes.shape == (len(self.of), len(self.problem.columns))

    @classmethod
    def whole(
        cls, problem: Problem, nodes: NDArray[np.int32], suppressed: NDArray[np.bool_], **about: object
    ) -> Recoding:
        """All rows of a combination share one fate."""
        return cls(problem, np.arange(problem.combinations), problem.n, nodes, suppressed, about)

    def classes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(pieces,) the class of each piece, suppressed ones -1; (classes,) how many rows each class has."""
        label = np.full(len(self.of), -1, np.int64)
        kept = ~self.suppressed
        if kept.any():
            _, label[kept] = np.unique(self.nodes[kept], axis=0, return_inverse=True)
        sizes = np.bincount(label[kept], self.n[kept]).astype(np.int64)
        return label, sizes

    def loss(self) -> float:
        """The mean over rows and columns (weighted) of each cell's loss; a suppressed row loses all."""
        assert self.problem.weights is not None
        weights = self.problem.weights / self.problem.weights.sum()
        cells = np.stack([h.loss[self.nodes[:, j]] for j, h in enumerate(self.problem.hierarchies)], axis=1)
        cells[self.suppressed] = 1.0
        return float((cells @ weights * self.n).sum() / self.n.sum())
