"""The loops of the three risks: nearest records and queries, on files as they are written.

Typed, free of I/O; imported only when someone attacks. Records that agree in the columns of a search are
one row of it, so that a distance is computed once however many records share it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

_ROUNDING = 1e-9  # sums of distances that differ by less are the same


@compiled
def gower(
    person_numbers: NDArray[np.float64],
    person_codes: NDArray[np.int64],
    numbers: NDArray[np.float64],
    codes: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Gower's distance of one person to each row: |difference| of scaled numbers, 1 for unequal codes.

    numbers: (numeric columns, rows); codes: (other columns, rows). A missing number is 1 from everything.
    """
    out[:] = 0.0
    for c in range(codes.shape[0]):
        mine = person_codes[c]
        column = codes[c]
        for j in range(len(out)):
            out[j] += 1.0 if column[j] != mine else 0.0
    for c in range(numbers.shape[0]):
        value = person_numbers[c]
        of = numbers[c]
        for j in range(len(out)):
            gap = abs(of[j] - value)
            out[j] += gap if gap == gap else 1.0  # a gap that is no number


@compiled
def edge(distances: NDArray[np.float64], sizes: NDArray[np.int64], few: int) -> tuple[float, int, int]:
    """The distance of the `few`-th nearest record; how many are nearer; how many lie at that distance.

    sizes: (rows,), how many records each row stands for. Distances that differ by rounding are equal.
    """
    nearer = 0
    beyond = -1.0
    while True:
        best = np.inf
        for j in range(len(distances)):
            if beyond < distances[j] < best:
                best = distances[j]
        at = 0
        for j in range(len(distances)):
            if beyond < distances[j] <= best + _ROUNDING:
                at += sizes[j]
        if nearer + at >= few:
            return best, nearer, at
        nearer += at
        beyond = best + _ROUNDING


@compiled
def meeting(sure: int, mine: int, theirs: int, both: int, a: int, s: int, b: int, t: int) -> float:
    """The chance that two sets of records have one in common, each filled up at random and by itself.

    The first holds certain records and a random a of s; the second certain ones and b of t. sure: records
    certain in both; mine: certain in the first, among the t; theirs: certain in the second, among the s;
    both: among the s and among the t. P(none) = sum over x of P(x of the a lie in `both`, none in `theirs`)
    * P(none of the b is one of those x or of `mine`).
    """
    if sure > 0:
        return 1.0
    if a == 1 and b == 1:  # P(none) by hand: the first picks in `theirs`, in `both`, or elsewhere
        elsewhere = (s - theirs - both) / s * (1.0 - mine / t)
        return 1.0 - elsewhere - both / s * (1.0 - (mine + 1.0) / t)
    none = 0.0
    for x in range(min(a, both) + 1):
        if a - x > s - theirs - both or b > t - mine - x:
            continue
        ways = _log_choose(both, x) + _log_choose(s - theirs - both, a - x) - _log_choose(s, a)
        none += math.exp(ways + _log_choose(t - mine - x, b) - _log_choose(t, b))
    return max(0.0, 1.0 - none)


@compiled
def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@compiled
def linked(
    first_numbers: NDArray[np.float64],
    first_codes: NDArray[np.int64],
    first_sizes: NDArray[np.int64],
    starts: NDArray[np.int64],
    second_of: NDArray[np.int64],
    second_numbers: NDArray[np.float64],
    second_codes: NDArray[np.int64],
    second_sizes: NDArray[np.int64],
    one_numbers: NDArray[np.float64],
    one_codes: NDArray[np.int64],
    two_numbers: NDArray[np.float64],
    two_codes: NDArray[np.int64],
    few: int,
    out: NDArray[np.float64],
) -> None:
    """The chance that a person's two halves meet in a record, ties broken at random in each half.

    first_*, second_*: the different first and second halves of records, (columns, halves). Records stand in
    the order of their first halves, half g from starts[g]; second_of: (records,), their second halves.
    one_*, two_*: the people's halves, (columns, people); out: (people,).
    """
    near = np.empty(first_sizes.shape[0])
    far = np.empty(second_sizes.shape[0])
    for i in range(len(out)):
        gower(one_numbers[:, i], one_codes[:, i], first_numbers, first_codes, near)
        gower(two_numbers[:, i], two_codes[:, i], second_numbers, second_codes, far)
        first, before, s = edge(near, first_sizes, few)
        second, ahead, t = edge(far, second_sizes, few)
        sure, mine, theirs, both = 0, 0, 0, 0
        for g in range(len(near)):
            if near[g] > first + _ROUNDING:
                continue
            certain = near[g] < first
            for j in range(starts[g], starts[g + 1]):
                d = far[second_of[j]]
                if d > second + _ROUNDING:
                    continue
                if certain:
                    sure += d < second
                    mine += d >= second
                else:
                    theirs += d < second
                    both += d >= second
        out[i] = meeting(sure, mine, theirs, both, few - before, s, few - ahead, t)


@compiled
def _same(a: float, b: float) -> bool:
    return a == b or (np.isnan(a) and np.isnan(b))


@compiled
def guessed(
    numbers: NDArray[np.float64],
    codes: NDArray[np.int64],
    sizes: NDArray[np.int64],
    starts: NDArray[np.int64],
    guesses: NDArray[np.float64],
    people_numbers: NDArray[np.float64],
    people_codes: NDArray[np.int64],
    begins: NDArray[np.int64],
    order: NDArray[np.int64],
    secrets: NDArray[np.float64],
    within: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Of the records nearest to a person, the share whose guess is right: off by at most `within` times it.

    numbers, codes: the different rows of what is known, (columns, rows); guesses: (secrets, records) in their
    order, row g from starts[g]. people_*: the different people by what is known, (columns, rows); those of
    row p are order[k, begins[p] : begins[p + 1]], for each secret k with equal values side by side. secrets,
    out: (secrets, people). Missing is right for missing.
    """
    near = np.empty(sizes.shape[0])
    nearest = np.empty(guesses.shape[1], np.int64)
    for p in range(len(begins) - 1):
        gower(people_numbers[:, p], people_codes[:, p], numbers, codes, near)
        best, _, at = edge(near, sizes, 1)
        found = 0
        for g in range(len(near)):
            if near[g] <= best + _ROUNDING:
                for j in range(starts[g], starts[g + 1]):
                    nearest[found] = j
                    found += 1
        for k in range(len(within)):
            before = -1
            for place in range(begins[p], begins[p + 1]):
                i = order[k, place]
                secret = secrets[k, i]
                if before >= 0 and _same(secret, secrets[k, before]):
                    out[k, i] = out[k, before]
                else:
                    right = 0
                    for j in nearest[:found]:
                        guess = guesses[k, j]
                        if np.isnan(guess):
                            right += np.isnan(secret)
                        else:
                            right += abs(guess - secret) <= within[k] * abs(guess)
                    out[k, i] = right / at
                before = i


@compiled
def count_queries(
    rows: NDArray[np.float64],
    order: NDArray[np.int64],
    ordered: NDArray[np.float64],
    there: NDArray[np.int64],
    columns: NDArray[np.int64],
    signs: NDArray[np.int64],
    values: NDArray[np.float64],
    most: int,
    out: NDArray[np.int64],
) -> None:
    """How many rows meet all conditions of each query.  rows: (columns, n); queries: (queries, conditions).

    order, ordered: the rows of each column by value, and those values, missing last; there: (columns,), how
    many are not missing. Only rows that meet the rarest condition are looked at.
    signs: 0 equal, 1 at least, 2 at most, 3 other, 4 above, 5 below. A value that is NaN asks for missing
    cells (sign 0) or for cells that are not; a missing cell meets no other condition. Counting stops past
    `most`, because most queries are asked only whether they single out.
    """
    for q in range(columns.shape[0]):
        low, high, rarest = 0, rows.shape[1], columns[q, 0]
        for c in range(columns.shape[1]):
            column, value, sign = columns[q, c], values[q, c], signs[q, c]
            begin, end = 0, there[column]
            if np.isnan(value):
                if sign == 0:
                    begin, end = end, rows.shape[1]
            elif sign != 3:
                part = ordered[column, :end]
                if sign == 0 or sign == 1:
                    begin = np.searchsorted(part, value)
                elif sign == 4:
                    begin = np.searchsorted(part, value, side="right")
                if sign == 0 or sign == 2:
                    end = np.searchsorted(part, value, side="right")
                elif sign == 5:
                    end = np.searchsorted(part, value)
            if c == 0 or end - begin < high - low:
                low, high, rarest = begin, end, column
        found = 0
        for place in range(low, high):
            i = order[rarest, place]
            meets = True
            for c in range(columns.shape[1]):
                cell = rows[columns[q, c], i]
                value = values[q, c]
                sign = signs[q, c]
                if np.isnan(value):
                    meets = np.isnan(cell) == (sign == 0)
                elif np.isnan(cell):
                    meets = False
                elif sign == 0:
                    meets = cell == value
                elif sign == 1:
                    meets = cell >= value
                elif sign == 2:
                    meets = cell <= value
                elif sign == 3:
                    meets = cell != value
                elif sign == 4:
                    meets = cell > value
                else:
                    meets = cell < value
                if not meets:
                    break
            if meets:
                found += 1
                if found > most:
                    break
        out[q] = found
