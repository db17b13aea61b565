"""The loops of intruders who think: who stands alone by which columns, and who agrees best with whom.

Typed, free of I/O; imported only when someone attacks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled


@compiled
def alone(
    rows: NDArray[np.int64],
    bits: NDArray[np.uint64],
    starts: NDArray[np.int64],
    words: int,
    out: NDArray[np.int64],
) -> None:
    """The only released record that fits each person in some columns, -1 where none does, -2 where several.

    rows: (people, columns), which line of a column's table is theirs; bits: the tables one after the other, a
    line of `words` words each, bit r of it says whether record r fits; starts: where each table begins. A
    person is left as soon as a second record is found.
    """
    columns = rows.shape[1]
    for i in range(rows.shape[0]):
        found = np.int64(-1)
        for w in range(words):
            word = bits[(starts[0] + rows[i, 0]) * words + w]
            for c in range(1, columns):
                if word == 0:
                    break
                word &= bits[(starts[c] + rows[i, c]) * words + w]
            if word == 0:
                continue
            if found >= 0 or word & (word - np.uint64(1)) != 0:
                found = np.int64(-2)
                break
            place = 0
            while word & np.uint64(1) == 0:
                word >>= np.uint64(1)
                place += 1
            found = np.int64(w * 64 + place)
        out[i] = found


@compiled
def best_two(
    people: NDArray[np.int64],
    released: NDArray[np.int64],
    gains: NDArray[np.float32],
    starts: NDArray[np.int64],
    widths: NDArray[np.int64],
    most: NDArray[np.float32],
    best: NDArray[np.float32],
    second: NDArray[np.float32],
    which: NDArray[np.int64],
) -> None:
    """The record that agrees best with each person, its agreement, and that of the runner-up.

    gains: the tables (lines of people, nodes) of all columns, flattened; starts, widths: where each begins
    and how wide it is. most: (people, columns), the largest gain from this column on; a record that cannot
    reach the runner-up any more is left.
    """
    columns = people.shape[1]
    line = np.empty(columns, np.int64)
    for i in range(people.shape[0]):
        for c in range(columns):
            line[c] = starts[c] + people[i, c] * widths[c]
        first = np.float32(-1.0)
        runner = np.float32(-1.0)
        at = np.int64(-1)
        for r in range(released.shape[0]):
            total = np.float32(0.0)
            for c in range(columns):
                if total + most[i, c] <= runner:
                    break
                total += gains[line[c] + released[r, c]]
            else:
                if total > first:
                    runner = first
                    first = total
                    at = np.int64(r)
                elif total > runner:
                    runner = total
        best[i] = first
        second[i] = runner
        which[i] = at
