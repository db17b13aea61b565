"""Which tables are bought: a noisy distance of each from what is known already, and what each is worth then.

The scores, the allocation and the choice under pure epsilon are those of `private.measurement`; only what a
person can change differs from table to table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.synthesis.people.axes import Floats, Ints
from sfumato.synthesis.private import allocation as budget
from sfumato.synthesis.private.measurement import distance
from sfumato.synthesis.private.purse import Purse

_SCORES, _CHOICES = 0.03, 0.1  # of the total: under rho, under pure epsilon


@dataclass(frozen=True, eq=False)
class Offer:
    """A table that may be bought.

    exact: the table; expected: m, what is known of it without looking. bias: what the noise in m adds to
    their distance. spread: the noise of a cell when a rho of 1/2 is spent on it, a person's row being one.
    """

    exact: Ints
    expected: Floats
    bias: float
    spread: float


def amounts(purse: Purse, offers: Sequence[Offer], rows: float, columns: int) -> dict[int, float]:
    """What is spent on each offer that is taken, by its place."""
    if not offers:
        return {}
    distances = np.array([distance(o.exact, o.expected) for o in offers])
    if purse.pure:
        return _chosen(purse, offers, distances, rows, columns)
    scores = purse.scores(distances, purse.amount(purse.total * _SCORES), "dependence of tables")
    phi = budget.dependence(scores.values / scores.factor, np.array([o.bias for o in offers]), rows)
    given, _ = budget.allocate(
        [o.expected for o in offers], phi, np.array([o.spread for o in offers]), np.ones(len(offers)), rows,
        purse.left(len(offers)),
    )  # fmt: skip
    return {q: purse.amount(float(g)) for q, g in enumerate(given) if g > 0}


def _chosen(
    purse: Purse, offers: Sequence[Offer], distances: Ints, rows: float, columns: int
) -> dict[int, float]:
    """Pure epsilon: one by one by permute-and-flip, the distance less the noise that is expected."""
    choices = purse.total * _CHOICES
    left = purse.left(2 * len(offers)) - choices
    cells = np.array([float(o.exact.size) for o in offers])
    wanted = min(budget.how_many(cells, columns, left / purse.max_rows, rows), len(offers))
    noise = np.rint(0.5 * purse.max_rows * np.sqrt(cells) * np.sqrt(cells).mean() * wanted / left)
    worth = distances - np.minimum(noise, 4 * rows).astype(np.int64)
    open_, taken = list(range(len(offers))), []
    for _ in range(wanted):
        place = purse.choice(worth[open_], purse.amount(choices / wanted), "choice of a table")
        taken.append(open_.pop(place))
    root = np.sqrt(cells[taken])
    parts = purse.left(len(taken)) * root / root.sum()
    return {q: purse.amount(float(p)) for q, p in zip(taken, parts, strict=True)}
