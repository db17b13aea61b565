"""Which columns constraints tie so tightly that they are best drawn as one, and what can be of them.

Drawn one after the other, each given the others, tied columns never leave where a row began: no floor but
the ward's own goes with the ward, and the other way round. All of it follows from the domain, so it is
public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.synthesis.constraints import Bools, Zero

Ints = NDArray[np.int64]
_MOST_CELLS = 2**24  # of a table of what can be


def tied(
    sizes: Sequence[int], zeros: Sequence[Zero], share: float, most: int, apart: Sequence[int] = ()
) -> list[tuple[int, ...]]:
    """Columns put together, the tightest ties first, as long as their states are not too many.

    share: of the combinations of two columns that can be, up to which they are one; most: states of columns
    that are one; apart: columns that stay by themselves.
    """
    home: dict[int, tuple[int, ...]] = {j: (j,) for j in range(len(sizes))}
    found = {p: t for p, t in _pairs(sizes, zeros).items() if not {*p} & {*apart}}
    shares = {pair: float(table.mean()) for pair, table in found.items()}
    for (a, b), part in sorted(shares.items(), key=lambda item: (item[1], item[0])):
        both = tuple(sorted({*home[a], *home[b]}))
        if part > share or home[a] == home[b] or math.prod(sizes[j] for j in both) > _MOST_CELLS:
            continue
        if _states(both, sizes, zeros, found, most).shape[1] <= most:
            home.update(dict.fromkeys(both, both))
    return list(dict.fromkeys(home[j] for j in range(len(sizes))))


def combinations_of(columns: Sequence[int], sizes: Sequence[int], zeros: Sequence[Zero], most: int) -> Ints:
    """The combinations of some columns that can be, (columns, states); no further than beyond the most."""
    return _states(columns, sizes, zeros, _pairs(sizes, zeros), most)


def _pairs(sizes: Sequence[int], zeros: Sequence[Zero]) -> dict[tuple[int, int], Bools]:
    """Of columns that constraints are about by twos: which of their combinations can be."""
    found: dict[tuple[int, int], Bools] = {}
    for zero in zeros:
        if len(zero.columns) != 2 or math.prod(sizes[j] for j in zero.columns) > _MOST_CELLS:
            continue
        (a, first), (b, second) = sorted(zip(zero.columns, zero.masks, strict=True), key=lambda pair: pair[0])
        table = found.setdefault((a, b), np.ones((sizes[a], sizes[b]), bool))
        table[np.ix_(first, second)] = False
    return found


def _states(
    columns: Sequence[int],
    sizes: Sequence[int],
    zeros: Sequence[Zero],
    pairs: Mapping[tuple[int, int], Bools],
    most: int,
) -> Ints:
    states = np.zeros((0, 1), np.int64)
    for number, column in enumerate(columns):
        wide = np.repeat(states, sizes[column], axis=1)
        states = np.concatenate([wide, np.tile(np.arange(sizes[column]), states.shape[1])[None]])
        known = columns[: number + 1]
        kept = np.ones(states.shape[1], bool)
        for place, other in enumerate(known[:-1]):
            if (other, column) in pairs:
                kept &= pairs[other, column][states[place], states[number]]
        states = states[:, kept]
        for zero in zeros:
            if len(zero.columns) > 2 and column in zero.columns and set(zero.columns) <= set(known):
                places = [known.index(c) for c in zero.columns]
                hit = np.logical_and.reduce([m[states[p]] for m, p in zip(zero.masks, places, strict=True)])
                states = states[:, ~hit]
        if states.shape[1] > most:
            break
    return states
