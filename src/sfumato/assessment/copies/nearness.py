"""Released rows that agree with one person in all but a few columns, or nearly so.

The evidence that released row r is a copy of person i with some noise is a sum over columns of log likelihood
ratios, copy against chance:

- the same value: log((1 - e) / f), f the share of people who have it: rare values speak most;
- another value of a column of names: log e;
- a number nearby: log(h / 4 u^(-3/4)), u the share of people who are as near, never below log e. By chance u
  is uniform, and u^(-3/4) / 4 is a density that favours the near ones: no size of the noise is assumed;
- a generalized cell: 0, it speaks neither way.

A person's evidence is that of the released row that speaks most, if it differs in a few columns at most.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies import _kernels
from sfumato.assessment.copies.cells import Cells
from sfumato.counts.accumulator import threads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DIFFER = 0.05  # e: how often a cell of a copy is another one
_NEARBY = 0.5  # h: how often it is a number nearby, where it is another one
_STEPS = _kernels.STEPS


@dataclass(frozen=True, eq=False)
class CopyEvidence:
    """For each person how much speaks for a copy, -inf for nothing, and the released row that does."""

    score: Floats
    row: Ints


def few(columns: int) -> int:
    """How many columns of a near copy may differ."""
    return max(int(columns > 2), round(columns / 5))


def evidence(
    cells: Cells, people: NDArray[np.int32], rows: NDArray[np.int32], *, itself: Ints | None = None
) -> CopyEvidence:
    """people, rows: codes (columns, rows). itself: which row each person is: nobody is their own twin."""
    table = np.log(np.maximum(_DIFFER, _NEARBY * 0.25 * _share(np.arange(_STEPS + 1)) ** -0.75))
    table[_STEPS] = np.log(_DIFFER)
    count = people.shape[1]
    score, row = np.empty(count, np.float32), np.empty(count, np.int64)
    columns = np.ascontiguousarray(people.T)
    own_row = np.full(count, -1, np.int64) if itself is None else itself
    there = np.zeros(int(cells.first[-1]), bool)
    for low, codes in zip(cells.first, rows, strict=False):
        there[low + codes] = True
    shown = np.flatnonzero(there)  # most values of a fine column are nobody's in the release
    starts = np.searchsorted(shown, cells.first)
    at = np.where(there, np.cumsum(there) - 1, -1)
    released = np.empty(rows.shape, np.int32)
    for c, codes in enumerate(rows):
        released[c] = at[cells.first[c] + codes] - starts[c]
    equal = np.log((1 - _DIFFER) / cells.shares[shown] + _DIFFER).astype(np.float32)
    levels = (
        cells.first, cells.place, cells.scale, cells.general, cells.numeric, starts, cells.place[shown],
        cells.scale[shown], cells.general[shown], equal, at,
    )  # fmt: skip

    def search(start: int, stop: int) -> None:
        _kernels.strongest(
            columns[start:stop], released, *levels, table.astype(np.float32), few(len(rows)),
            own_row[start:stop], score[start:stop], row[start:stop],
        )  # fmt: skip

    marks = np.linspace(0, count, min(count, 4 * threads()) + 1).astype(int)
    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(search, marks[:-1], marks[1:]))
    return CopyEvidence(score.astype(np.float64), row)


def own(cells: Cells, people: NDArray[np.int32]) -> Floats:
    """The evidence that an exact copy of each person's row would give."""
    equal = np.log((1 - _DIFFER) / cells.shares + _DIFFER)
    return np.asarray(sum(equal[first + codes] for first, codes in zip(cells.first, people, strict=False)))


def agreeing(cells: Cells, person: NDArray[np.int32], row: NDArray[np.int32]) -> tuple[list[str], list[str]]:
    """The columns in which a person and a row have the same value, and those in which they do not."""
    same = person == row
    names = np.array(cells.columns, object)
    return list(names[same]), list(names[~same])


def _share(steps: NDArray[np.int64]) -> Floats:
    """The share of people as near as so many steps, to both sides."""
    return np.asarray(np.minimum(1.0, (2 * steps + 1) / _STEPS))
