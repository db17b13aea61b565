"""The dual simplex method in a cell's neighbourhood: the hot loop behind `Movements.cheapest`.

    min cost x,  A x = 0,  0 <= x <= room,  one x given

x: (2n), what each cell rises by, then what it falls by, so that column n + c is column c with signs changed.
Every row begins with its slack in the basis. With all else at 0 and costs above 0 that is dual feasible, and
only the rows of the given cell are off. A slack that leaves never comes back, as it has no room. So the
basis is slacks but for k rows, which k columns hold: `inverse` (k, k) is the inverse of that kernel, and each
pivot replaces one of its columns or adds a row and a column. Columns that a step passes on its way change
from one end of their room to the other (the long step); who leaves is who is farthest off, as measured along
its own edge. No row is looked at that no step has touched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

Real = NDArray[np.float64]
Places = NDArray[np.int32]
Sparse = tuple[Places, Places, Real]  # start, place, value

_SMALL = 1e-9
_PIVOT = 1e-7  # what is smaller is no pivot
_EMPTY, _FULL, _BASIC = 0, 1, 2
GIVEN_UP, FOUND, NONE = 0, 1, 2
_KERNEL = 32  # to begin with


@compiled
def cheapest(
    by_row: Sparse, by_column: Sparse, room: Real, cost: Real, cell: int, amount: float,
    pivots: int, moved: Real,
) -> bool:  # fmt: skip
    """The cheapest x: rises less falls into `moved` (n), which is zero on entry; False where none was found.

    cost: above 0.  cell, amount: what is given, with its sign. A cell without room stays.
    pivots: steps after which it gives up.
    """
    ray = np.zeros(len(by_row[0]) - 1)
    return cheapest_or_ray(by_row, by_column, room, cost, cell, amount, pivots, moved, ray) == FOUND


@compiled
def cheapest_or_ray(
    by_row: Sparse, by_column: Sparse, room: Real, cost: Real, cell: int, amount: float,
    pivots: int, moved: Real, ray: Real,
) -> int:  # fmt: skip
    """The same; where there is no x, what proves it goes into `ray` (m), zero on entry.

    Weighted by the ray, the rows say: what all other columns can do together, with all their room, is less
    than what the given one does.
    """
    n, m = len(by_column[0]) - 1, len(by_row[0]) - 1
    kernel = np.full(m, -1, np.int32)  # where a row is in the kernel
    state = np.zeros(2 * n, np.int8)
    position = np.full(2 * n, -1, np.int32)  # of a column in the basis
    sums, weight, touched = np.zeros(m), np.zeros(m), np.empty(m, np.int32)
    near, seen, seen_row = np.empty(n, np.int32), np.zeros(n, np.bool_), np.zeros(m, np.bool_)
    choice, ratio, effect = np.empty(2 * n, np.int32), np.empty(2 * n), np.empty(2 * n)
    full = np.empty(2 * n + 1, np.int32)
    inverse, price = np.zeros((_KERNEL, _KERNEL)), np.zeros(_KERNEL)
    held, basis = np.empty(_KERNEL, np.int32), np.empty(_KERNEL, np.int32)
    k, fulls = 0, 0
    given = cell if amount > 0 else cell + n
    tight = _SMALL * max(1.0, abs(amount))
    for _ in range(pivots):
        level, count = _levels(
            by_column, given, abs(amount), room, full[:fulls], inverse, held[:k], basis[:k],
            sums, touched, seen_row,
        )  # fmt: skip
        leaving, row, rise, off, line = _leaving(
            by_row, inverse, level, basis, room, position, kernel, sums, touched[:count], tight
        )
        for t in range(count):
            sums[touched[t]] = 0.0
            seen_row[touched[t]] = False
        if leaving < 0 and row < 0:
            moved[cell] = amount
            _write(moved, full[:fulls], room[full[:fulls]])
            _write(moved, basis[:k], level)
            return FOUND
        for i in range(k):
            weight[held[i]] = -line[i]
        if row >= 0:
            weight[row] = 1.0
        choices = _choices(
            by_row, by_column, held[:k], row, weight, kernel, price, state, room, cost, cell, rise,
            near, seen, choice, ratio, effect,
        )  # fmt: skip
        for i in range(k):
            weight[held[i]] = 0.0
        if row >= 0:
            weight[row] = 0.0
        entering, pivot, fulls = _entering(
            choice, ratio, effect, choices, off, tight, room, state, full, fulls
        )
        if entering < 0:
            _write_ray(ray, held[:k], row, line)
            return NONE
        fulls = _without(full, fulls, entering) if state[entering] == _FULL else fulls
        state[entering] = _BASIC
        image, gain = _image(by_column, entering, kernel, inverse[:k, :k], price, cost[entering])
        gain /= pivot
        price[:k] -= gain * line
        if row < 0:
            out = basis[leaving]
            state[out] = _EMPTY if rise > 0 else _FULL
            if rise < 0:
                full[fulls] = out
                fulls += 1
            position[out], position[entering], basis[leaving] = -1, leaving, entering
            _replace(inverse[:k, :k], leaving, image)
            continue
        if k == len(inverse):
            inverse, price = _larger(inverse), np.append(price, price)
            held, basis = np.append(held, held), np.append(basis, basis)
        _extend(inverse, k, image, line, pivot)
        held[k], basis[k], price[k] = row, entering, gain
        kernel[row], position[entering] = k, k
        k += 1
    return GIVEN_UP


@compiled
def shortfall(
    by_column: Sparse, ray: Real, room: Real, given: NDArray[np.bool_], still: NDArray[np.bool_], cell: int,
    amount: float, least: float, does: Real,
) -> float:  # fmt: skip
    """What a ray says of cells that may be freed: into `does` (n), zero on entry, what each does with all its
    room. They must do as much together as is returned, or the cell cannot move; 0 or less says nothing.

    given: cells that are free in any case, whose part is taken off.  still: cells that never are.
    least: weights below it are reckoning's.
    """
    start, rows, values = by_column
    n = len(start) - 1
    own = 0.0
    for at in range(start[cell], start[cell + 1]):
        own += ray[rows[at]] * values[at]
    side = -1.0 if own * amount > 0 else 1.0
    left = abs(own * amount)
    for c in range(n):
        if c == cell or still[c]:
            continue
        weight = 0.0
        for at in range(start[c], start[c + 1]):
            weight += ray[rows[at]] * values[at]
        weight *= side
        if abs(weight) <= least:
            continue
        far = room[c] if weight > 0 else room[c + n]
        if far <= 0.0:
            continue
        if given[c]:
            left -= abs(weight) * far
        else:
            does[c] = abs(weight) * far
    return left


@compiled
def _add(
    by_column: Sparse, column: int, x: float, sums: Real, touched: Places, seen: NDArray[np.bool_], count: int
) -> int:
    """Add a column x times to the sums of its rows, which are noted once; how many are noted now."""
    start, rows, values = by_column
    n = len(start) - 1
    own = column % n
    x = x if column < n else -x
    for at in range(start[own], start[own + 1]):
        r = rows[at]
        if not seen[r]:
            seen[r] = True
            touched[count] = r
            count += 1
        sums[r] += values[at] * x
    return count


@compiled
def _levels(
    by_column: Sparse, given: int, much: float, room: Real, full: Places, inverse: Real, held: Places,
    basis: Places, sums: Real, touched: Places, seen: NDArray[np.bool_],
) -> tuple[Real, int]:  # fmt: skip
    """What the columns in the basis are, and into `sums` what every row that is touched is off."""
    count = _add(by_column, given, much, sums, touched, seen, 0)
    for column in full:
        count = _add(by_column, column, room[column], sums, touched, seen, count)
    level = np.zeros(len(held))
    for i in range(len(held)):
        if sums[held[i]] != 0.0:
            for j in range(len(held)):
                level[j] -= inverse[j, i] * sums[held[i]]
    for j in range(len(held)):
        count = _add(by_column, basis[j], level[j], sums, touched, seen, count)
    return level, count


@compiled
def _write(moved: Real, columns: Places, amounts: Real) -> None:
    """Add rises, and take falls off."""
    n = len(moved)
    for column, amount in zip(columns, amounts):  # noqa: B905 (numba knows no strict)
        moved[column % n] += amount if column < n else -amount


@compiled
def _write_ray(ray: Real, held: Places, row: int, line: Real) -> None:
    """What a step that fails weighs rows by."""
    for i in range(len(held)):
        ray[held[i]] = -line[i]
    if row >= 0:
        ray[row] = 1.0


@compiled
def _larger(inverse: Real) -> Real:
    """The same, with room for twice as many rows and columns."""
    size = len(inverse)
    larger = np.zeros((2 * size, 2 * size))
    larger[:size, :size] = inverse
    return larger


@compiled
def _leaving(
    by_row: Sparse, inverse: Real, level: Real, basis: Places, room: Real, position: Places, kernel: Places,
    sums: Real, touched: Places, tight: float,
) -> tuple[int, int, float, float, Real]:  # fmt: skip
    """Who leaves: a place in the basis or the slack of a row (-1: not that one), up (1) or down (-1), how far
    it is off, and its row of the inverse (k). Both are -1 where nobody is off."""
    start, cells, values = by_row
    k, n = len(level), len(room) // 2
    worst, leaving, row, rise, off = 0.0, -1, -1, 1.0, 0.0
    line = np.zeros(0)
    for j in range(k):
        far = max(-level[j], level[j] - room[basis[j]])
        if far > tight:
            edge = 0.0
            for i in range(k):
                edge += inverse[j, i] ** 2
            if far**2 / edge > worst:
                worst, leaving, off = far**2 / edge, j, far
                rise = 1.0 if level[j] < 0 else -1.0
    for r in touched:
        if kernel[r] >= 0 or abs(sums[r]) <= tight:
            continue
        own = np.zeros(k)
        for at in range(start[r], start[r + 1]):
            for side in range(2):
                j = position[cells[at] + side * n]
                if j >= 0:
                    value = values[at] if side == 0 else -values[at]
                    for i in range(k):
                        own[i] += value * inverse[j, i]
        edge = 1.0
        for i in range(k):
            edge += own[i] ** 2
        if sums[r] ** 2 / edge > worst:
            worst, leaving, row, off, line = sums[r] ** 2 / edge, -1, r, abs(sums[r]), own
            rise = -1.0 if sums[r] > 0 else 1.0
    if leaving >= 0:
        line = inverse[leaving, :k].copy()
    return leaving, row, rise, off, line


@compiled
def _choices(
    by_row: Sparse, by_column: Sparse, held: Places, row: int, weight: Real, kernel: Places, price: Real,
    state: NDArray[np.int8], room: Real, cost: Real, cell: int, rise: float,
    near: Places, seen: NDArray[np.bool_], choice: Places, ratio: Real, effect: Real,
) -> int:  # fmt: skip
    """The columns that can enter, the price of what each does, and what it does. How many there are."""
    start, rows, values = by_column
    n, count, choices = len(start) - 1, 0, 0
    for i in range(len(held) + 1):
        r = row if i == len(held) else held[i]
        if r < 0 or abs(weight[r]) <= _PIVOT:
            continue
        for at in range(by_row[0][r], by_row[0][r + 1]):
            own = by_row[1][at]
            if seen[own] or own == cell:
                continue
            seen[own] = True
            near[count] = own
            count += 1
            does, shadow = 0.0, 0.0
            for inner in range(start[own], start[own + 1]):
                does += weight[rows[inner]] * values[inner]
                if kernel[rows[inner]] >= 0:
                    shadow += price[kernel[rows[inner]]] * values[inner]
            if abs(does) <= _PIVOT:
                continue
            for side in range(2):
                column, sign = own + side * n, 1.0 - 2.0 * side
                if state[column] == _BASIC or room[column] <= 0.0:
                    continue
                up = 1.0 if state[column] == _EMPTY else -1.0
                if does * sign * up * rise > 0.0:
                    choice[choices], effect[choices] = column, does * sign
                    ratio[choices] = max((cost[column] - sign * shadow) * up, 0.0) / abs(does)
                    choices += 1
    for t in range(count):
        seen[near[t]] = False
    return choices


@compiled
def _entering(
    choice: Places, ratio: Real, effect: Real, choices: int, off: float, tight: float, room: Real,
    state: NDArray[np.int8], full: Places, fulls: int,
) -> tuple[int, float, int]:  # fmt: skip
    """Who enters, and its pivot: the cheapest, or, where its room is too small, the next one; those before
    change their ends. -1 where all of them together are too little: then there is no x."""
    while choices:
        best = 0
        for t in range(1, choices):
            more = ratio[t] - ratio[best]
            if more < -_SMALL or (more < _SMALL and abs(effect[t]) > abs(effect[best])):
                best = t
        column = choice[best]
        off -= abs(effect[best]) * room[column]
        if off <= tight:
            return column, effect[best], fulls
        if state[column] == _EMPTY:
            full[fulls], state[column] = column, _FULL
            fulls += 1
        else:
            fulls, state[column] = _without(full, fulls, column), _EMPTY
        choices -= 1
        choice[best], ratio[best], effect[best] = choice[choices], ratio[choices], effect[choices]
    return -1, 0.0, fulls


@compiled
def _without(full: Places, fulls: int, column: int) -> int:
    """Take a column out of the list of full ones."""
    for f in range(fulls):
        if full[f] == column:
            full[f] = full[fulls - 1]
            return fulls - 1
    return fulls


@compiled
def _image(
    by_column: Sparse, column: int, kernel: Places, inverse: Real, price: Real, cost: float
) -> tuple[Real, float]:
    """What a column does to the basis, inverse times column (k), and its reduced cost."""
    start, rows, values = by_column
    n = len(start) - 1
    own = column % n
    image = np.zeros(len(inverse))
    for at in range(start[own], start[own + 1]):
        i = kernel[rows[at]]
        if i >= 0:
            value = values[at] if column < n else -values[at]
            cost -= price[i] * value
            for j in range(len(image)):
                image[j] += inverse[j, i] * value
    return image, cost


@compiled
def _replace(inverse: Real, leaving: int, image: Real) -> None:
    """The inverse after a column of the kernel was replaced."""
    inverse[leaving] /= image[leaving]
    for j in range(len(image)):
        if j != leaving and image[j] != 0.0:
            for i in range(len(image)):
                inverse[j, i] -= image[j] * inverse[leaving, i]


@compiled
def _extend(inverse: Real, k: int, image: Real, line: Real, pivot: float) -> None:
    """The inverse after the kernel got another row and column."""
    for j in range(k):
        if image[j] != 0.0:
            share = image[j] / pivot
            for i in range(k):
                inverse[j, i] += share * line[i]
        inverse[j, k] = -image[j] / pivot
    inverse[k, :k] = -line / pivot
    inverse[k, k] = 1.0 / pivot
