"""Order of rows: is the row at a person's place theirs?

Files are sorted by name, by ward, by day of admission. If a release keeps the order of the original, whoever
knows the place of a person in that order has their row, whatever was done to its cells.

The intruder lays the two files side by side: row by row where they have one length; else the offset between
them is the one at which the people *around* a person agree best with the rows beside them. Then the row at
the person's own place is held against the rows beside it. Two files of different people, sorted by the
same columns, agree in the large, but the row at a person's place then fits no better than its neighbours: so
sorting alone raises no alarm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.assessment.attacks.agreement import Agreement, agreement
from sfumato.assessment.attacks.intruder import Floats, Ints, known_columns
from sfumato.assessment.attacks.success import CONFIDENCE, rate
from sfumato.assessment.reading.alignment import Pair
from sfumato.score import Score

_ROWS = 50_000  # of the original, from the first on: an order shows in any stretch
_BLOCK = 32  # people whose places are found together
_DRIFT = 48  # rows that may have gone or come since the block before
_BESIDE = 8  # rows on either side that the row at the place is held against
_NEXT = 2  # the same where places had to be found: sorted files agree in the large, not within a few rows


def order_of_rows(
    pair: Pair, columns: Sequence[str] | None = None, *, confidence: float = CONFIDENCE
) -> list[Score]:
    """How often the released row at a person's place fits them better than the rows beside it.

    columns: what rows are compared by; all that both files have if not given. Files of one length are laid
    beside each other row by row, others stretch by stretch.
    """
    names = known_columns(pair, pair.columns if columns is None else columns)
    seen = agreement(pair, names)
    people = seen.people[:_ROWS]
    equal = pair.original.rows() == pair.released.rows()
    place, beside = (np.arange(len(people)), _BESIDE) if equal else (_followed(seen, people), _NEXT)
    score = rate(
        "order of rows",
        _outcomes(seen, people, place, beside),
        meaning="Share of people for whom the released row at their own place fits better than the "
        f"{2 * beside} rows beside it. In a file that was shuffled it is one in {2 * beside + 1}. Far above "
        "that, the release is in the order of the original: whoever knows the place of a person in the file "
        "finds their row.",
        knowledge="the place of each person in the original file, and what they look like; and the release",
        baseline=1 / (2 * beside + 1),
        confidence=confidence,
        details={"laid_beside": "row by row" if equal else "stretch by stretch", "compared_by": names},
    )
    return [score]


def _followed(seen: Agreement, people: Ints) -> Ints:
    """The released row at each person's place, where rows may have gone or come before it.

    Block by block the offset is sought around that of the block before; the person's own agreement is left
    out of it, so that the place does not hang on what is then looked at.
    """
    place = np.empty(len(people), np.int64)
    middle = 0
    shifts = np.arange(-_DRIFT, _DRIFT + 1)
    for start in range(0, len(people), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(people)))
        table = np.stack([seen.between(people[rows], rows + middle + s) for s in shifts], axis=1)
        total = table.sum(axis=0)
        place[rows] = rows + middle + shifts[_first_best(total[None] - table)]
        middle += int(shifts[_first_best(total[None])[0]])
    return place


def _first_best(table: Floats) -> Ints:
    """The best shift of each line; of equals the smallest."""
    order = np.argsort(np.abs(np.arange(table.shape[1]) - table.shape[1] // 2), kind="stable")
    found: Ints = order[np.round(table[:, order], 6).argmax(axis=1)]
    return found


def _outcomes(seen: Agreement, people: Ints, place: Ints, beside: int) -> Floats:
    """1 where the row at the place fits best among its neighbours, a share where several fit as well."""
    around = np.arange(-beside, beside + 1)
    table = np.stack([seen.between(people, place + step) for step in around], axis=1)
    inside = (place[:, None] + around >= 0) & (place[:, None] + around < len(seen.released))
    whole = inside.all(axis=1)  # at the ends there are too few to compare with: a plain guess
    top = np.round(table, 6) >= np.round(table.max(axis=1, keepdims=True), 6)
    return np.where(whole, top[:, beside] / top.sum(axis=1), 1 / len(around))
