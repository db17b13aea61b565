"""At most so many rows of each person, taken at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.seeds import Key


def at_most(persons: NDArray[np.int64], max_rows: int, key: Key) -> NDArray[np.bool_]:
    """Which rows stay when each person keeps at most so many, taken at random.

    The coins are independent from row to row and secret, so what happens to one person's rows has the same
    law whoever else is in the data: given the coins of all others, adding a person adds that person's kept
    rows and changes nothing else.
    """
    coins = key.words(0, 0, len(persons))
    order = np.lexsort((coins, persons))
    ordered = persons[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(persons)) - np.repeat(first, np.diff(np.append(first, len(persons))))
    keep = np.zeros(len(persons), bool)
    keep[order[rank < max_rows]] = True
    return keep
