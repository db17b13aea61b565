"""Margins of tables that were measured with noise, made to agree: every total the sum of its parts.

A set s of columns has a margin m_s: the table of counts by these columns. It is the sum of *effects*, one
for each set t within s: e_t = H m_t, where H takes the mean out along every axis, and

    m_s = sum over t in s of e_t / K(s - t),     K(u): how many combinations the columns u have.

Effects of different sets are orthogonal, and so is iid noise in them. A margin s that was measured with
variance v tells e_t with variance v K(s - t) in each direction; what several margins tell is
averaged by one over that. This is the weighted least-squares estimate of all margins at once, in closed form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Set = tuple[int, ...]

_TUNED = 64  # sets of columns up to which shares are tuned; more get equal ones
_LEAST = 1e-3  # a share below this buys nothing
_ROUNDS, _SETTLED = 400, 1e-3


@dataclass(frozen=True, eq=False)
class Margins:
    """All sets of columns that are shown. sizes: of every column.  tops: the tables themselves."""

    sizes: tuple[int, ...]
    tops: tuple[Set, ...]

    @property
    def sets(self) -> list[Set]:
        """Every set within a table, smallest first: () is the grand total."""
        found = {
            part for top in self.tops for n in range(len(top) + 1) for part in itertools.combinations(top, n)
        }
        return sorted(found, key=lambda s: (len(s), s))

    def shape(self, columns: Set) -> tuple[int, ...]:
        """The shape of a margin."""
        return tuple(self.sizes[c] for c in columns)

    def cells(self, columns: Iterable[int]) -> int:
        """K: how many combinations these columns have."""
        return math.prod(self.sizes[c] for c in columns)

    def _over(self, whole: Set, part: Set) -> int:
        return self.cells(c for c in whole if c not in part)

    # -- what was measured -------------------------------------------------------------------------

    def agreed(self, measured: Sequence[tuple[Set, Real, float]]) -> dict[Set, Real]:
        """Every margin, from those that were measured: (set, table, variance of each cell)."""
        effects: dict[Set, Real] = {}
        for t in self.sets:
            found, weight = np.zeros(self.shape(t)), 0.0
            for s, table, variance in measured:
                if set(t) <= set(s):
                    own = 1 / (variance * self._over(s, t))
                    found = found + own * _effect(table, s, t)
                    weight += own
            effects[t] = found / weight
        return {s: self._margin(s, effects) for s in self.sets}

    def _margin(self, s: Set, effects: Mapping[Set, Real]) -> Real:
        total = np.zeros(self.shape(s))
        for t in (t for t in self.sets if set(t) <= set(s)):
            shape = tuple(self.sizes[c] if c in t else 1 for c in s)
            total = total + effects[t].reshape(shape) / self._over(s, t)
        return total

    def variances(self, of: Mapping[Set, float]) -> dict[Set, float]:
        """The variance of each cell of every margin that was `agreed`. of: that of the measured ones."""
        sets = self.sets
        told = {t: sum(1 / (v * self._over(s, t)) for s, v in of.items() if set(t) <= set(s)) for t in sets}
        kept = {t: math.prod(1 - 1 / self.sizes[c] for c in t) for t in sets}
        return {
            s: sum(kept[t] / (told[t] * self._over(s, t) ** 2) for t in sets if set(t) <= set(s))
            for s in sets
        }

    # -- what to measure ---------------------------------------------------------------------------

    def shares(self, variance: Callable[[float], float]) -> dict[Set, float]:
        """Which margins to measure, with which share of the budget, before anything is looked at.

        The expected squared error of all shown cells together is kept low. variance: of each cell of a
        margin that is measured with a share.
        """
        sets = self.sets
        if not 1 < len(sets) <= _TUNED:
            return {s: 1 / len(sets) for s in sets}
        from scipy.optimize import minimize

        # As in `variances`: the error is the sum over t of what each direction of e_t adds to all cells, over
        # what is told of it.
        within = [[set(t) <= set(s) for s in sets] for t in sets]
        over = np.array([[self._over(s, t) for s in sets] for t in sets], np.float64)
        kept = np.array([math.prod(1 - 1 / self.sizes[c] for c in t) for t in sets])
        adds = kept * np.where(within, np.array([self.cells(s) for s in sets]) / over**2, 0.0).sum(axis=1)
        tells = np.where(within, 1 / over, 0.0)

        def error(logs: Real) -> float:
            whole = np.exp(logs - logs.max())
            precision = np.array([1 / variance(float(p)) for p in whole / whole.sum()])
            return float(np.log((adds / (tells @ precision)).sum()))

        start = np.array([0.0 if s in self.tops else -1.0 for s in sets])
        found = np.exp(minimize(error, start, method="L-BFGS-B", options={"maxiter": 60}).x)
        found /= found.sum()
        worth = {s: float(p) for s, p in zip(sets, found, strict=True) if p >= _LEAST or s in self.tops}
        total = sum(worth.values())
        return {s: p / total for s, p in worth.items()}

    # -- counts are not negative -------------------------------------------------------------------

    def not_negative(self, measured: Sequence[tuple[Set, Real, float]]) -> dict[Set, Real]:
        """The margins nearest to those that were `agreed`, each by its own variance, with no cell below 0.

        Every margin counts, not the tables alone: cells that are lifted to 0 would otherwise lift all totals.
        By alternating directions: margins that agree, and tables without a negative cell, pulled together.
        """
        found, own = self.agreed(measured), self.variances({s: v for s, _, v in measured})
        measured = [(s, found[s], own[s]) for s in self.sets]
        copy = {s: np.maximum(found[s], 0.0) for s in self.tops}
        apart = {s: np.zeros(self.shape(s)) for s in self.tops}
        for _ in range(_ROUNDS):
            pulled = [(s, copy[s] - apart[s], own[s]) for s in self.tops]
            found = self.agreed([*measured, *pulled])
            gap = 0.0
            for s in self.tops:
                copy[s] = np.maximum(found[s] + apart[s], 0.0)
                apart[s] = apart[s] + found[s] - copy[s]
                gap = max(gap, float(np.abs(found[s] - copy[s]).max(initial=0.0)))
            if gap < _SETTLED:
                break
        return found

    def lifted(self, found: Mapping[Set, Real]) -> dict[Set, Real]:
        """Margins that agree, mixed with even ones until no cell is below 0."""
        total = float(found[()])
        if total <= 0:
            return {s: np.zeros(self.shape(s)) for s in self.sets}
        share = 0.0
        for s in self.sets:
            lowest = min(float(found[s].min()), 0.0)
            share = max(share, -lowest / (total / self.cells(s) - lowest))
        even = {s: total / self.cells(s) for s in self.sets}
        return {s: np.maximum((1 - share) * found[s] + share * even[s], 0.0) for s in self.sets}


def _effect(table: Real, s: Set, t: Set) -> Real:
    """e_t as a margin of s tells it: summed over the other columns, the mean taken out along every axis."""
    own = table.sum(axis=tuple(i for i, c in enumerate(s) if c not in t))
    for axis in range(own.ndim):
        own = own - own.mean(axis=axis, keepdims=True)
    return np.asarray(own)
