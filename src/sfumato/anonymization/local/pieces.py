"""A partition of the combinations into classes, and the changing form the loops work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato.anonymization.local._kernels.pools import PoolState


@dataclass(frozen=True, eq=False)
class PiecePartition:
    """Classes of pieces. of, n, label: (pieces,), combination, rows and class. nodes: (classes, columns)."""

    of: NDArray[np.int64]
    n: NDArray[np.int64]
    label: NDArray[np.int64]
    nodes: NDArray[np.int32]
    loss: float  # summed over rows

    @property
    def whole(self) -> bool:
        """Whether no combination is split."""
        return len(np.unique(self.of)) == len(self.of)


def thawed(
    leaves: NDArray[np.int32], partition: PiecePartition, loss: NDArray[np.float64], k: int
) -> PoolState:
    """The state of a partition, with room to split combinations. loss: (classes,), of each class's box."""
    from sfumato.anonymization.local._kernels import pools as kernels
    from sfumato.anonymization.local._kernels.clusters import CLASSES, PIECES

    combinations, columns = leaves.shape
    pieces = max(len(partition.of), 2 * combinations) + 2 * max(PIECES, 8 * k)
    classes = max(len(partition.nodes), combinations) + 2 * CLASSES
    state = kernels.PoolState(
        np.zeros(pieces, np.int64),
        np.zeros(pieces, np.int64),
        np.full(pieces, -1, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes),
        np.full(classes, -1, np.int64),
        np.zeros((classes, columns), np.int32),
        np.zeros(combinations, np.int64),
        np.arange(pieces)[::-1].copy(),
        np.arange(classes)[::-1].copy(),
        np.array([pieces, classes]),
    )
    used = len(partition.nodes)
    state.tops[1] -= used
    state.size[:used] = np.bincount(partition.label, partition.n, used)
    state.loss[:used] = loss
    state.box[:used] = partition.nodes
    kernels.place_all(state, partition.label, partition.of, partition.n)
    return state


def frozen(state: PoolState) -> PiecePartition:
    """The partition a state is in; pieces sorted by combination, classes numbered anew."""
    used = np.ones(len(state.of), bool)
    used[state.free_pieces[: state.tops[0]]] = False
    live = np.flatnonzero(state.size)
    number = np.full(len(state.size), -1, np.int64)
    number[live] = np.arange(len(live))
    owner = np.full(len(state.of), -1, np.int64)
    from sfumato.anonymization.local._kernels import pools as kernels

    kernels.owners(state, owner)
    pieces = np.flatnonzero(used)
    pieces = pieces[np.lexsort((owner[pieces], state.of[pieces]))]
    total = float((state.size * state.loss).sum())
    return PiecePartition(
        state.of[pieces], state.rows[pieces], number[owner[pieces]], state.box[live].copy(), total
    )
