"""Cells that relations alone give away: no bound is used, so nothing but published cells and sums is needed.

The open cells' relations are brought to reduced form (Gauss and Jordan), modulo a prime of 61 bits, so that
no digit is lost. A cell is determined exactly when its row is left with nothing else in it.

Where that takes too long (large tables fill up), changes that keep all relations are drawn: numbers are
projected on them, by least squares. A cell that such a change moves is not determined; one that none of two
moves by more than rounding counts as determined, as a cell that could move would stay with probability 0.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.cells.publication import Published

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_PRIME = 2**61 - 1
_WORK = 5_000_000  # entries that may be touched by elimination
_STILL = 1e-5  # of changes of size 1: what moves less does not move
_KEPT = 1e-8  # how well a change has to keep the relations
_STEPS = 20_000
_PHASES = (0.6180339887498949, 0.4142135623730951)  # of the numbers that are projected


def recovered(published: Published, *, work_limit: int = _WORK) -> NDArray[np.bool_] | None:
    """Which cells are open, and determined by the relations. None where that cannot be said."""
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
    found = np.zeros(relations.cells, bool)
    pivots = _reduced(rows, work_limit)
    if pivots is None:
        still = _unmoved(matrix)
        if still is None:
            return None
        found[published.open[still]] = True
        return found
    found[published.open[[column for row, column in pivots if len(rows[row]) == 1]]] = True
    return found


def _unmoved(matrix: csr_matrix) -> NDArray[np.bool_] | None:
    """The columns that no change in the null space moves; None where no such change was found."""
    from scipy.sparse.linalg import lsmr

    still = np.ones(matrix.shape[1], bool)
    turned = matrix.T.tocsr()
    for phase in _PHASES:
        drawn = 2 * np.modf(np.arange(1, matrix.shape[1] + 1) * phase)[0] - 1
        weights = lsmr(turned, drawn, atol=1e-14, btol=1e-14, conlim=0, maxiter=_STEPS)[0]
        change = drawn - turned @ weights
        if np.abs(matrix @ change).max(initial=0.0) > _KEPT:
            return None
        still &= np.abs(change) <= _STILL
    return still


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
