"""The loops of the Bayesian network: sums over the leaves that a released value covers, and no others.

Typed, free of I/O; imported only when someone attacks. A value covers the leaves
leaves[starts[value] : starts[value + 1]].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def masses(
    given: NDArray[np.float64],
    group: NDArray[np.int64],
    cell: NDArray[np.int64],
    starts: NDArray[np.int64],
    leaves: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """P(released value | secret, group) = sum over its leaves of P(leaf | secret, group).

    given: (groups, secrets, leaves); group, cell: of each record; out: (records, secrets), left as is where
    the group is not known (-1).
    """
    for r in range(len(group)):
        if group[r] < 0:
            continue
        table = given[group[r]]
        for s in range(table.shape[0]):
            total = 0.0
            for at in range(starts[cell[r]], starts[cell[r] + 1]):
                total += table[s, leaves[at]]
            out[r, s] = total


@compiled
def expected(
    given: NDArray[np.float64],
    share: NDArray[np.float64],
    group: NDArray[np.int64],
    cell: NDArray[np.int64],
    starts: NDArray[np.int64],
    leaves: NDArray[np.int64],
    within: NDArray[np.float64],
) -> None:
    """Add to `within`, (groups, secrets, leaves), how many records are expected at each leaf.

    share: (records, secrets), records that go with a secret over P(released value | secret, group).
    """
    for r in range(len(group)):
        if group[r] < 0:
            continue
        table, to = given[group[r]], within[group[r]]
        for s in range(table.shape[0]):
            for at in range(starts[cell[r]], starts[cell[r] + 1]):
                to[s, leaves[at]] += table[s, leaves[at]] * share[r, s]
