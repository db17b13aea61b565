"""What each pair of columns is worth, and how the budget for tables is split over them.

All of it works on answers that were paid for; nothing here sees the data but through a `Purse`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.synthesis.private.layout import Floats

C = math.sqrt(2 / math.pi)  # E|x| / sigma of a Gaussian
_STEPS = 0.25  # of the grid of amounts, in powers of two
_GRID = 14  # octaves of it
_USUAL = 100.0  # p^(1/3) K^(2/3) summed over the columns, up to which the share is the rule's
_CAUTION = 0.25  # how much of the error is reckoned without the help of shrinkage


def one_way_share(total: float, rows: float, sizes: Sequence[int] = ()) -> float:
    """The share of the budget for single columns: the less can be seen, the more of it.

    rows: the noised or declared number of rows. The recipe's rule times 1.3 and up to .7, which on two data
    sets lost nowhere and took a sixth off the error at epsilon 0.1. sizes: of the tables; columns of many
    levels need more than the short ones that the rule was made for.
    """
    seen = total * max(rows, 1.0) ** 2 / 6.3e8
    many = max(1.0, float(_need(sizes).sum()) / _USUAL) ** 0.5 if len(sizes) else 1.0
    return float(np.clip(0.13 * seen**-0.18 * many, 0.08, 0.7))


def _need(sizes: Sequence[int]) -> Floats:
    levels = np.asarray(sizes, np.float64)
    return np.asarray((1 - 1 / levels) ** (1 / 3) * levels ** (2 / 3))


def split_one_way(sizes: Sequence[int]) -> Floats:
    """How single columns share: in proportion to p^(1/3) K^(2/3)."""
    wanted = _need(sizes)
    return np.asarray(wanted / wanted.sum())


def dependence(scores: Floats, bias: Floats, rows: float) -> Floats:
    """phi of each pair: what ||t - m||_1 says of dependence, less what the noise in m adds to it."""
    return np.asarray(np.maximum(0.0, scores - bias) / (C * rows))


def errors(
    independent: Floats, phi: float, share: float, amounts: Floats, rows: float, noise: float = 0.5
) -> tuple[float, Floats]:
    """The expected L1 error of one pair's table: left out, and measured with each of the amounts.

    independent: m; share: p of the pair; noise: the variance of a cell is noise p^2 / amount. With
    v = (phi m)^2 the variance of the residual and s that of the noise, a shrunken table errs by
    C sum sqrt(v s / (v + s)), a bare one by C cells sqrt(s), never by more than 2 N.
    """
    v = (phi * independent.ravel()[:, None]) ** 2
    s = noise * share**2 / amounts
    shrunken = C * np.sqrt(v * s / (v + s + 1e-300)).sum(axis=0)
    bare = np.minimum(C * independent.size * np.sqrt(s), 2 * rows)
    return C * phi * rows, (1 - _CAUTION) * shrunken + _CAUTION * bare


def allocate(
    tables: Sequence[Floats],
    phi: Floats,
    shares: Floats,
    weights: Floats,
    rows: float,
    budget: float,
    noise: float = 0.5,
) -> tuple[Floats, Floats]:
    """The amount for every pair, 0 for those left out; and the expected error of every pair.

    tables: m of each pair; weights: how much each pair's error counts; noise: L^2 / 2. The summed error is
    minimized over amounts from {0, a geometric grid} by bisecting the multiplier of the budget.
    """
    grid = budget * 2.0 ** np.arange(-_GRID, _STEPS / 2, _STEPS)
    table = np.empty((len(tables), len(grid) + 1))
    for q, independent in enumerate(tables):
        table[q, 0], table[q, 1:] = errors(independent, phi[q], shares[q], grid, rows, noise)
    amounts = np.concatenate([[0.0], grid])
    weighed = table * weights[:, None]
    cheap, dear = 1e-15, 1e25
    for _ in range(140):
        price = math.sqrt(cheap * dear)
        spent = amounts[np.argmin(weighed + price * amounts, axis=1)].sum()
        cheap, dear = (price, dear) if spent > budget else (cheap, price)
    chosen = np.argmin(weighed + dear * amounts, axis=1)
    given: Floats = amounts[chosen]
    if given.sum() > 0:
        given = given * (budget / given.sum())
    return given, table[np.arange(len(tables)), chosen]


def how_many(cells: Floats, columns: int, epsilon: float, rows: float) -> int:
    """For pure epsilon: how many pairs to measure, from public numbers.

    So many that their noise alone moves a tenth of the rows of an average table, at least enough to connect
    all columns, at most four for each column.
    """
    affordable = 0.2 * rows * epsilon / max(float(np.mean(cells)), 1.0)
    return int(np.clip(affordable, columns - 1, min(4 * columns, len(cells))))
