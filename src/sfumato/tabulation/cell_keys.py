"""Cell keys: every count moved by a little, always the same way for the same people.

Each record has a secret number; a cell's key is their sum. The key decides how far the count is moved, so the
same group of people has the same number in every table, today and next year, and asking again averages
nothing out. How often a count is moved how far is drawn from the law of largest entropy among those with mean
0, the given variance, at most `most` away and never below 0 (Marley and Leaver; Giessing).

Because: the key of a group is uniform and independent of every other group's, as record keys are.
Assumes: the key is secret. Totals are moved by themselves: they do not add up exactly.
Tested by: tests/tabulation/test_cell_keys.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.methods.declaration import Declaration, Does, Need, declares
from sfumato.methods.parameters import Parameter
from sfumato.methods.settings import require_numbers
from sfumato.methods.shapes import Number, Plain
from sfumato.seeds import Key, uniform

Index = NDArray[np.int64]
Real = NDArray[np.float64]

_NEAR = 1e-9


@declares(
    Declaration(
        "keys",
        Does.TABULATE,
        "Move every count by a little, the same way wherever the same people are counted.",
        page="tables.md",
        claims=("NoGuarantee",),
        needs=(Need.KEY,),
        closed={"map": "a map compares releases of rows"},
    )
)
@dataclass(frozen=True)
class CellKeys:
    """Move every count by a little, the same way wherever the same people are counted.

    >>> people = sf.samples.members(300)
    >>> release = sf.tabulate(people, "region,sex", method=sf.CellKeys(variance=1.0, most=3))
    >>> release.guarantee.claims[0].title
    'no guarantee (cell keys)'
    """

    variance: Annotated[float, Parameter(Number("Of the movement.", 0, 9999, above=True), beginner=True)] = (
        2.0
    )
    most: Annotated[
        int, Parameter(Number("How far a count is moved at most.", 1, 100, whole=True), beginner=True)
    ] = 5
    smallest: Annotated[
        int,
        Parameter(
            Number("Positive counts up to this are never shown: they become 0 or more.", 0, 99, whole=True)
        ),
    ] = 0
    key: Annotated[
        Key | None,
        Parameter(
            Plain("Of an earlier release, so that the same people get the same numbers."),
            python_only="a key is a secret, and plans are kept beside releases; at a terminal --keys-of",
        ),
    ] = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_numbers(self)
        faults = []
        if isinstance(self.most, bool) or not isinstance(self.most, int) or not 1 <= self.most <= 100:
            faults.append("most is a whole number from 1 to 100")
        elif not 0 < self.variance < self.most**2:
            faults.append("variance lies between 0 and the square of most")
        if isinstance(self.smallest, bool) or not isinstance(self.smallest, int) or self.smallest < 0:
            faults.append("smallest is a whole number from 0 up")
        elif not faults and self.smallest >= self.most:
            faults.append("smallest is below most")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="CellKeys(variance=2, most=5)")
        if self.key is not None and not isinstance(self.key, Key):
            raise ParameterError("the key is an sf.Key.", hint="sf.Key.fresh(), kept for the next release")
        self.chances()  # whether there is such a law

    def chances(self) -> Real:
        """How often a count i is moved by d: (most + smallest + 2, 2 most + 1); the last row is for all
        larger counts."""
        last = self.most + self.smallest + 1
        moves = np.arange(-self.most, self.most + 1)
        table = np.zeros((last + 1, len(moves)))
        table[0, self.most] = 1.0
        for i in range(1, last + 1):
            after = i + moves
            allowed = (after == 0) | (after > self.smallest)
            table[i, allowed] = _largest_entropy(moves[allowed].astype(np.float64), self.variance)
        return table

    def perturb(self, counts: Index, keys: NDArray[np.uint64]) -> Index:
        """Move counts as their keys say."""
        table = np.cumsum(self.chances(), axis=1)
        row = np.minimum(counts, len(table) - 1)
        chance = uniform(keys)
        moved = np.zeros(len(counts), np.int64)
        for i in range(1, len(table)):
            here = np.flatnonzero(row == i)
            found = np.searchsorted(table[i] / table[i, -1], chance[here], side="right")
            moved[here] = np.minimum(found, 2 * self.most) - self.most
        return np.asarray(counts + moved)


def _largest_entropy(moves: Real, variance: float) -> Real:
    """The law on these moves with mean 0 and this variance: p proportional to exp(a d + b d^2), by Newton."""
    features = np.stack([moves, moves**2 - variance])
    at = np.zeros(2)
    for _ in range(500):
        weights = at @ features
        p = np.exp(weights - weights.max())
        p /= p.sum()
        mean = features @ p
        if np.abs(mean).max() < _NEAR:
            return np.asarray(p)
        spread = (features * p) @ features.T - np.outer(mean, mean)
        step = np.linalg.solve(spread + 1e-12 * np.eye(2), mean)
        if not np.isfinite(step).all():
            break
        scale = 1.0
        while scale > 1e-6 and _potential(at - scale * step, features) > _potential(at, features):
            scale /= 2
        at = at - scale * step
        if np.abs(at).max() > 200:
            break
    raise ParameterError(
        f"no law moves small counts with mean 0 and variance {variance:g}.",
        hint="a larger or smaller variance, a larger most, or a smaller smallest",
    )


def _potential(at: Real, features: Real) -> float:
    weights = at @ features
    top = weights.max()
    return float(top + np.log(np.exp(weights - top).sum()))
