"""Where a row of codes stands among those that were counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.counts.tables import flat_keys
from sfumato.errors import DataError


class Lookup:
    """Where a row of codes stands among the combinations."""

    def __init__(self, codes: NDArray[np.uint32], sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)
        self._keys = flat_keys(codes, self._sizes)
        if self._keys is not None and (self._keys[1:] <= self._keys[:-1]).any():
            raise AssertionError("combinations are sorted")
        self._steps: list[NDArray[np.uint64]] = []
        if self._keys is None:  # more than 64 bits: one column after the other, prefixes numbered
            prefix = np.zeros(len(codes), np.uint64)
            for j, size in enumerate(self._sizes):
                pair = prefix * np.uint64(size) + codes[:, j]
                step, back = np.unique(pair, return_inverse=True)
                self._steps.append(step)
                prefix = back.ravel().astype(np.uint64)

    def find(self, columns: Sequence[NDArray[np.unsignedinteger]]) -> NDArray[np.int64]:
        """(rows,): the combination of each row. columns: one array of codes per column."""
        if self._keys is not None:
            key = np.zeros(len(columns[0]), np.uint64)
            for codes, size in zip(columns, self._sizes, strict=True):
                key = key * np.uint64(size) + codes
            return _place(self._keys, key)
        found = np.zeros(len(columns[0]), np.uint64)
        for codes, size, step in zip(columns, self._sizes, self._steps, strict=True):
            found = _place(step, found * np.uint64(size) + codes).astype(np.uint64)
        return found.astype(np.int64)


def _place(known: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    found = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
    if len(keys) and (not len(known) or (known[found] != keys).any()):
        raise changed()
    return found.astype(np.int64)


def changed() -> DataError:
    """The source gave other rows than when it was counted."""
    return DataError(
        "the data changed between counting and writing.", hint="let nobody write to it meanwhile; try again"
    )
