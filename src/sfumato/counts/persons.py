"""At most so many rows of each person, taken at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.seeds import Key


def some_of_each(ids: pa.Array | pa.ChunkedArray, person: str, max_rows: int) -> NDArray[np.bool_]:
    """Which rows stay, by secret coins. ids: as `person_ids` gives them, of the column `person`."""
    if ids.null_count:
        raise DataError(
            f"{ids.null_count} rows do not say whose they are ('{person}').",
            hint="leave those rows out first: how many belong to one person cannot be known",
        )
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    places: Any = whole.dictionary_encode().indices.to_numpy()
    return at_most(places, max_rows, Key.fresh())


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
