"""Small tables with totals, and the slow way: every filling in whole numbers."""

from __future__ import annotations

import itertools

import numpy as np

from sfumato.cells import Published, Relations


def two_way(inner: np.ndarray) -> tuple[Relations, np.ndarray]:
    """Rows x columns with all totals: the relations, and the cells row by row, totals last."""
    rows, columns = inner.shape
    full = np.zeros((rows + 1, columns + 1))
    full[:-1, :-1] = inner
    full[-1, :-1] = inner.sum(axis=0)
    full[:-1, -1] = inner.sum(axis=1)
    full[-1, -1] = inner.sum()
    number = np.arange(full.size).reshape(full.shape)
    sums = [(int(number[i, -1]), number[i, :-1].tolist()) for i in range(rows + 1)]
    sums += [(int(number[-1, j]), number[:-1, j].tolist()) for j in range(columns + 1)]
    return Relations.of_sums(full.size, sums), full.ravel()


def fillings(published: Published, most: int) -> np.ndarray:
    """Every whole filling that fits, with open cells up to `most`."""
    open_ = published.open
    ranges = [np.arange(published.low[c], min(published.high[c], most) + 1) for c in open_]
    grid = np.array(list(itertools.product(*ranges)))
    values = np.repeat(published.low[None, :], len(grid), axis=0)
    values[:, open_] = grid
    sums = values @ published.relations.matrix.toarray().T
    return values[(np.abs(sums) < 1e-9).all(axis=1)]
