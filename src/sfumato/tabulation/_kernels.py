"""Hot loop of controlled rounding."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True)
def anneal(
    up: NDArray[np.int64],
    rest: NDArray[np.int64],
    off: NDArray[np.int64],
    start: NDArray[np.int64],
    totals: NDArray[np.int64],
    base: int,
    steps: int,
    seed: int,
) -> None:
    """Flip inner cells between the multiples below and above, until totals are near what they were.

    up: (inner,) 1 where a cell is rounded up.  rest: (inner,) count modulo base.  off: (totals,) rounded less
    true.  start, totals: which totals each inner cell is in, compressed.  All but the last three change in
    place. Energy: the sum of |off|, and 7 x (x + 1) for x beyond the base; a flip that raises it by e is
    taken with probability exp(-e / heat), heat falling from the base to a fiftieth of it.
    """
    state = np.uint64(seed * 2 + 1)
    n = len(up)
    for step in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        cell = np.int64(state % np.uint64(n))
        if rest[cell] == 0:
            continue
        change = base if up[cell] == 0 else -base
        gain = abs(change + (up[cell] * base - rest[cell])) - abs(up[cell] * base - rest[cell])
        for k in range(start[cell], start[cell + 1]):
            before, after = abs(off[totals[k]]), abs(off[totals[k]] + change)
            beyond, was = max(after - base, 0), max(before - base, 0)
            gain += after - before + 7 * (beyond * (beyond + 1) - was * (was + 1))
        if gain > 0:
            heat = base * 0.02 ** (step / steps)
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            chance = np.float64(state >> np.uint64(11)) / 9007199254740992.0
            if chance >= np.exp(-gain / heat):
                continue
        up[cell] = 1 - up[cell]
        for k in range(start[cell], start[cell + 1]):
            off[totals[k]] += change
