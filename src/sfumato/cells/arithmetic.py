"""Cells that relations alone give away: no bound is used, so nothing but published cells and sums is needed.

The open cells' relations are brought to reduced form (Gauss and Jordan), modulo a prime of 61 bits, so that
no digit is lost. A cell is determined exactly when its row is left with nothing else in it.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from sfumato.cells.publication import Published

_PRIME = 2**61 - 1
_WORK = 5_000_000  # entries that may be touched: beyond it, the linear programs have to do


def recovered(published: Published, *, work_limit: int = _WORK) -> NDArray[np.bool_] | None:
    """Which cells are open, and determined by the relations. None where that takes too long."""
    relations = published.relations
    equal = relations.least == relations.most
    matrix = relations.matrix[np.flatnonzero(equal)][:, published.open].tocsr()
    if not np.array_equal(matrix.data, np.rint(matrix.data)):
        return None  # weights that are not whole: the programs look at them
    rows = [
        {int(c): int(v) for c, v in zip(matrix.indices[a:b], matrix.data[a:b], strict=True)}
        for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        if b > a
    ]
    pivots = _reduced(rows, work_limit)
    if pivots is None:
        return None
    found = np.zeros(relations.cells, bool)
    found[published.open[[column for row, column in pivots if len(rows[row]) == 1]]] = True
    return found


def _reduced(rows: list[dict[int, int]], work_limit: int) -> list[tuple[int, int]] | None:
    """Reduce the rows in place; the pivot of each row that has one."""
    where: dict[int, set[int]] = {}
    for number, row in enumerate(rows):
        for column in row:
            where.setdefault(column, set()).add(number)
    waiting = [(len(row), number) for number, row in enumerate(rows)]
    heapq.heapify(waiting)
    done: set[int] = set()
    pivots = []
    work = 0
    while waiting:
        length, number = heapq.heappop(waiting)
        row = rows[number]
        if number in done or not row:
            continue
        if length != len(row):
            heapq.heappush(waiting, (len(row), number))
            continue
        column = min(row, key=lambda c: (len(where[c]), c))
        inverse = pow(row[column], -1, _PRIME)
        for other in list(where[column]):
            if other == number:
                continue
            factor = rows[other][column] * inverse % _PRIME
            work += len(row)
            _subtract(rows[other], row, factor, where, other)
            if other not in done and rows[other]:
                heapq.heappush(waiting, (len(rows[other]), other))
        if work > work_limit:
            return None
        done.add(number)
        pivots.append((number, column))
    return pivots


def _subtract(
    target: dict[int, int], row: dict[int, int], factor: int, where: dict[int, set[int]], number: int
) -> None:
    for column, value in row.items():
        left = (target.get(column, 0) - factor * value) % _PRIME
        if left:
            target[column] = left
            where[column].add(number)
        elif column in target:
            del target[column]
            where[column].discard(number)
