"""The loops of sets of codes: moved until their tables are the wanted ones, then given codes.

A set is the classes of the codes of one row: slots[row, 0:many[row]]. A class may be there more than once,
as far as it has codes. Counted are rows that have a class at all: with a level of what stands above, with
another class, and with the same class in an earlier row of the person; and persons with a class in two rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled
from sfumato.synthesis.people.layout import SetTables
from sfumato.synthesis.private.layout import Floats, Ints

Words = NDArray[np.uint64]
_UNUSED = 1e-6  # the weight of a code that nobody has is less


@compiled
def _holds(out: Ints, row: int, upto: int, code: int) -> bool:
    """Whether one of the first slots of a row has a code."""
    for k in range(upto):  # noqa: SIM110 - compiled
        if out[row, k] == code:
            return True
    return False


@compiled
def count_sets(
    slots: Ints, many: Ints, person: Ints, levels: Ints, at: Ints, total: Floats, above: Floats,
    both: Floats, again: Floats, twice: Floats,
) -> None:  # fmt: skip
    """All tables of some sets.  levels: (columns, rows), at: (columns,) where a column's cells begin.

    Cell (class g, level l) of column v is at[v] + l * G + g. Rows of a person are neighbours.
    """
    classes = len(total)
    seen = np.full(classes, -1, np.int64)  # the last row with the class
    had = np.full(classes, -1, np.int64)  # the last person with the class
    times = np.zeros(classes, np.int64)  # and in how many rows
    for r in range(len(many)):
        for i in range(many[r]):
            g = slots[r, i]
            total[g] += 1
            if seen[g] == r:
                continue
            seen[g] = r
            times[g] = times[g] + 1 if had[g] == person[r] else 1
            had[g] = person[r]
            if times[g] > 1:
                again[g] += 1
                again[classes] += 1
            if times[g] == 2:
                twice[g] += 1
                twice[classes] += 1
            for v in range(levels.shape[0]):
                above[at[v] + levels[v, r] * classes + g] += 1
            for k in range(i):
                h = slots[r, k]
                if not _holds(slots, r, k, h):
                    both[min(g, h), max(g, h)] += 1


@compiled
def _there(slots: Ints, row: int, many: int, g: int, but: int) -> int:
    """How often a row has a class, one slot left aside."""
    n = 0
    for i in range(many):
        n += i != but and slots[row, i] == g
    return n


@compiled
def _elsewhere(slots: Ints, many: Ints, first: int, last: int, row: int, g: int) -> int:
    """In how many other rows of the person a class is; 2 stands for more."""
    rows = 0
    for r in range(first, last):
        if r != row and _holds(slots, r, many[r], g):
            rows += 1
            if rows == 2:
                break
    return rows


@compiled
def _step(
    slots: Ints, many: Ints, row: int, but: int, g: int, by: float, others: int, levels: Ints, at: Ints,
    counts: SetTables, wanted: SetTables, costs: SetTables, write: bool,
) -> float:  # fmt: skip
    """What F gains if a row gets a class it does not have (by = 1), or loses it (-1); or do it."""
    classes = len(counts.total)
    change = 0.0
    for v in range(levels.shape[0]):
        c = at[v] + levels[v, row] * classes + g
        change += costs.above[c] * (1 + 2 * by * (counts.above[c] - wanted.above[c]))
        if write:
            counts.above[c] += by
    for k in range(many[row]):
        h = slots[row, k]
        if k == but or h == g:
            continue
        first = True
        for j in range(k):
            first &= j == but or slots[row, j] != h
        if first:
            a, b = min(g, h), max(g, h)
            change += costs.both[a, b] * (1 + 2 * by * (counts.both[a, b] - wanted.both[a, b]))
            if write:
                counts.both[a, b] += by
    for c in (g, classes):
        if others:
            change += costs.again[c] * (1 + 2 * by * (counts.again[c] - wanted.again[c]))
            if write:
                counts.again[c] += by
        if others == 1:
            change += costs.twice[c] * (1 + 2 * by * (counts.twice[c] - wanted.twice[c]))
            if write:
                counts.twice[c] += by
    return change


@compiled
def calibrate_sets(
    slots: Ints, many: Ints, first: Ints, last: Ints, levels: Ints, at: Ints, room: Ints, ladder: Floats,
    words: Words, counts: SetTables, wanted: SetTables, costs: SetTables, beta: float,
) -> int:  # fmt: skip
    """Each slot is offered another class, taken with min(1, exp(-beta dF)).  words: (rows, slots, 3).

    room: (G,) the codes of a class. first, last: (rows,) the rows of a row's person. ladder: running sums of
    the shares of classes; every other offer is a class of another row of the person, if there is one.
    """
    taken = 0
    for r in range(len(many)):
        for i in range(many[r]):
            g = slots[r, i]
            u = np.float64(words[r, i, 0] >> np.uint64(11)) * 2.0**-53
            if last[r] - first[r] > 1 and words[r, i, 1] & np.uint64(1):
                other = first[r] + int(u * (last[r] - first[r] - 1))
                other += other >= r
                if many[other] == 0:
                    continue
                h = slots[other, int((words[r, i, 1] >> np.uint64(1)) % np.uint64(many[other]))]
            else:
                h = min(int(np.searchsorted(ladder, u, side="right")), len(ladder) - 1)
            if h == g:
                continue
            has = _there(slots, r, many[r], h, i)
            if has >= room[h]:
                continue
            change = costs.total[g] * (1 - 2 * (counts.total[g] - wanted.total[g]))
            change += costs.total[h] * (1 + 2 * (counts.total[h] - wanted.total[h]))
            loses, gains = _there(slots, r, many[r], g, i) == 0, has == 0
            left = _elsewhere(slots, many, first[r], last[r], r, g) if loses else 0
            found = _elsewhere(slots, many, first[r], last[r], r, h) if gains else 0
            if loses:
                change += _step(
                    slots, many, r, i, g, -1.0, left, levels, at, counts, wanted, costs, False
                )  # fmt: skip
            if gains:
                change += _step(
                    slots, many, r, i, h, 1.0, found, levels, at, counts, wanted, costs, False
                )  # fmt: skip
            v = np.float64(words[r, i, 2] >> np.uint64(11)) * 2.0**-53
            if change > 0 and v >= np.exp(-beta * change):
                continue
            taken += 1
            if loses:
                _step(slots, many, r, i, g, -1.0, left, levels, at, counts, wanted, costs, True)
            if gains:
                _step(slots, many, r, i, h, 1.0, found, levels, at, counts, wanted, costs, True)
            counts.total[g] -= 1
            counts.total[h] += 1
            slots[r, i] = h
    return taken


@compiled
def _earlier(codes: Ints, many: Ints, first: int, row: int, code: int) -> int:
    """In how many earlier rows of the person a code is; 2 stands for more."""
    rows = 0
    for q in range(first, row):
        if _holds(codes, q, many[q], code):
            rows += 1
            if rows == 2:
                break
    return rows


@compiled
def _likeliest(
    codes: Ints, many: Ints, classes: Ints, first: int, row: int, upto: int, g: int
) -> tuple[int, int]:
    """The code of a class that comes back if one does, and in how many earlier rows it is; -1 for none.

    One that has come back before goes before others, then the last. It must not be in the first `upto` slots.
    """
    code, rows = -1, 0
    for q in range(first, row):
        for k in range(many[q]):
            c = codes[q, k]
            if classes[c] != g or _holds(codes, row, upto, c):
                continue
            n = _earlier(codes, many, first, row, c)
            if n >= rows:
                code, rows = c, n
    return code, rows


@compiled
def count_repeats(
    codes: Ints, many: Ints, first: Ints, classes: Ints, chances: Floats, taken: Floats
) -> None:
    """(2, G) rows in which a class comes back; those that have a code of it again.

    By whether the likeliest code has come back before: then it is one the person always has.
    """
    for r in range(len(many)):
        for i in range(many[r]):
            g = classes[codes[r, i]]
            new = True
            for k in range(i):
                new &= classes[codes[r, k]] != g
            if not new:
                continue
            code, rows = _likeliest(codes, many, classes, first[r], r, 0, g)
            if code < 0:
                continue
            chances[rows - 1, g] += 1
            for k in range(i, many[r]):
                c = codes[r, k]
                if classes[c] == g and _earlier(codes, many, first[r], r, c) > 0:
                    taken[rows - 1, g] += 1
                    break


@compiled
def give_codes(
    slots: Ints, many: Ints, first: Ints, classes: Ints, order: Ints, start: Ints, upto: Floats,
    again: Floats, words: Words, out: Ints,
) -> None:  # fmt: skip
    """A code for each slot: one the person has had, or another of its class; none twice in a row.

    order: codes by class, those of class g from start[g] to start[g + 1]; upto: (K + 1,) running sums of
    their counts. again: (2, G) how likely a class that a person has had comes back with one of its codes
    (`count_repeats`); the first slot of a row with the class decides. The chances are added up, and a code
    comes back whenever their sum passes a whole number: as often as they say, not more or less by chance.
    words: (rows, slots, tries).
    """
    due = np.zeros(2)
    for r in range(len(many)):
        for i in range(many[r]):
            g = slots[r, i]
            code = -1
            low, high = start[g], start[g + 1]
            if r == 0:
                due[:] = np.float64(words[r, i, 0] >> np.uint64(11)) * 2.0**-53
            if high - low > 1 and not _holds(slots, r, i, g):
                code, rows = _likeliest(out, many, classes, first[r], r, i, g)
                if code >= 0:
                    due[rows - 1] += again[rows - 1, g]
                    if due[rows - 1] >= 1:
                        due[rows - 1] -= 1
                    else:
                        code = -1
            for t in range(1, words.shape[2]):
                if code >= 0:
                    break
                w = np.float64(words[r, i, t] >> np.uint64(11)) * 2.0**-53
                place = np.searchsorted(
                    upto[low : high + 1], upto[low] + w * (upto[high] - upto[low]), "right"
                )
                drawn = order[min(low + place - 1, high - 1)]
                if not _holds(out, r, i, drawn) and not _earlier(out, many, first[r], r, drawn):
                    code = drawn
            for new in (True, False):  # no try was one: any that the person has not, or else the row
                for c in range(low, high):
                    if code >= 0:
                        break
                    if _holds(out, r, i, order[c]):
                        continue
                    unused = upto[c + 1] - upto[c] < _UNUSED
                    if not new or not (unused or _earlier(out, many, first[r], r, order[c])):
                        code = order[c]
            out[r, i] = code if code >= 0 else order[low]
