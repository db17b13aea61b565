"""The problem in the form every linear method solves: X and s standardized, faults found, groups held out.

Columns of X are centred and brought to standard deviation one. s is centred and divided by the root of its
mean square between groups, which is a person's standard deviation where groups are random: then no column,
and not y either, is large only because of its unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.reconstruction.factor import Statistics, diagonal
from sfumato.reconstruction.groups import Grouping
from sfumato.reconstruction.moments import Moments

Real = NDArray[np.float64]
Fitter = Callable[["LinearProblem"], Real]

_FLAT = 1e-12  # of the mean square: a variance below it is rounding


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """X'X, A X, A A' and s of standardized columns.

    xx: (d, d).  ax: (p, d).  gram: (p,) or (p, p).  s: (p, k).  sizes: (p,).  first: rows of the first level.
    mean, scale: (d,) of the columns of X.  centre, spread: (k,) of s.  rows: n.
    moved: (d,) how far the zero of X is from everybody's mean.
    Where groups are missing, the people of those that are there are in the middle.
    """

    xx: Real
    ax: Real
    gram: Real
    s: Real
    sizes: Real
    first: NDArray[np.bool_]
    mean: Real
    scale: Real
    centre: Real
    spread: Real
    rows: float
    moved: Real

    @classmethod
    def of(cls, moments: Moments, grouping: Grouping) -> LinearProblem:
        """Standardized; columns that do not vary become zero."""
        n = float(moments.rows)
        mean = moments.xx[0, 1:] / n
        square = np.diag(moments.xx)[1:] / n
        variance = square - mean**2
        varies = variance > _FLAT * np.maximum(square, np.finfo(float).tiny)
        scale = np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), np.inf)
        xx = (moments.xx[1:, 1:] - n * np.outer(mean, mean)) / np.outer(scale, scale)
        ax = (moments.ax[:, 1:] - mean) / scale
        k = grouping.s.shape[1]
        raw = cls(
            xx, ax, grouping.gram, grouping.s, grouping.sizes, grouping.level_of == 0,
            mean, scale, np.zeros(k), np.ones(k), n, np.zeros_like(mean),
        )  # fmt: skip
        return raw._centred()

    def _centred(self) -> LinearProblem:
        used = self.first if self.first.any() else ~self.first  # held out altogether: others stand in
        weight, s = self.sizes[used], self.s[used]
        middle = weight @ self.ax[used] / weight.sum()
        moved = self.moved + middle  # from everybody's mean, around which X'X is smallest
        centre = weight @ s / weight.sum()
        square = weight @ (s - centre) ** 2 / max(len(weight) - 1, 1)
        spread = np.where(square > _FLAT * np.maximum(centre**2, np.finfo(float).tiny), np.sqrt(square), 1.0)
        return replace(
            self,
            xx=self.xx + self.rows * (np.outer(moved, moved) - np.outer(self.moved, self.moved)),
            moved=moved,
            ax=self.ax - middle,
            mean=self.mean + middle * self._finite_scale,
            s=(self.s - centre) / spread,
            centre=self.centre + self.spread * centre,
            spread=self.spread * spread,
        )

    @cached_property
    def statistics(self) -> Statistics:
        """With A A' diagonal, as the loop takes them."""
        return diagonal(self.xx, self.ax, self.gram, self.s)[0]

    @cached_property
    def raw_means(self) -> Real:
        """A X with the constant, before it was standardized, (p, 1 + d)."""
        return np.column_stack([np.ones(len(self.sizes)), self.ax * self._finite_scale + self.mean])

    @property
    def _finite_scale(self) -> Real:
        return np.where(np.isinf(self.scale), 0.0, self.scale)

    @property
    def published(self) -> Real:
        """s in its own unit, (p, k)."""
        return self.centre + self.spread * self.s

    @cached_property
    def within(self) -> Real:
        """The covariance of X as it is among people of one group of the first level, (d, d)."""
        used = self.first if self.first.any() else ~self.first
        between = (self.ax[used] * self.sizes[used, None]).T @ self.ax[used]
        scale = self._finite_scale
        return np.asarray((self.xx - between) / self.rows * np.outer(scale, scale))

    @property
    def between(self) -> Real:
        """The variance of s among groups of the first level, counted by their people, (k,)."""
        used = self.first if self.first.any() else ~self.first
        weight = self.sizes[used] / self.sizes[used].sum()
        return np.asarray(weight @ (self.s[used] * self.spread) ** 2)

    def slopes(self, beta: Real, level: Real | None = None) -> Real:
        """Coefficients (1 + d, k) for X as it is, the constant first, from those of standardized columns.

        level: (k,) what the standardized y is at the centre of X.
        """
        own = beta / self.scale[:, None] * self.spread
        start = self.centre - self.mean @ own
        if level is not None:
            start = start + level * self.spread
        return np.vstack([start, own])

    def shrunk(self, slopes: Real, factor: Real) -> Real:
        """The same level at the centre of X, slopes times a factor, (1 + d, k). factor: (k,)."""
        own = slopes[1:] * factor
        return np.vstack([self.centre - self.mean @ own, own])

    def without(self, held: NDArray[np.bool_]) -> LinearProblem:
        """The same people, fewer published groups."""
        kept = ~held
        gram = self.gram[kept] if self.gram.ndim == 1 else self.gram[np.ix_(kept, kept)]
        fewer = replace(
            self, ax=self.ax[kept], gram=gram, s=self.s[kept], sizes=self.sizes[kept], first=self.first[kept]
        )
        return fewer._centred()

    def folds(self, most: int) -> Iterator[NDArray[np.bool_]]:
        """Groups of the finest level in parts, the largest spread over them: fixed, no draw."""
        places = np.flatnonzero(self._finest())
        order = places[np.argsort(-self.sizes[places], kind="stable")]
        parts = min(most, len(order))
        for f in range(parts):
            held = np.zeros(len(self.sizes), bool)
            held[order[f::parts]] = True
            yield held

    def _finest(self) -> NDArray[np.bool_]:
        return self.first if self.first.sum() * 2 >= len(self.first) else ~self.first


def held_out(problem: LinearProblem, fit: Fitter, most: int = 10) -> tuple[Real, Real]:
    """What groups differ from what the others say of them, (groups, k), in the unit of s; and their sizes."""
    rests, sizes = [], []
    for held in problem.folds(most):
        fewer = problem.without(held)
        if not len(fewer.sizes):
            continue
        slopes = fit(fewer)
        rests.append(problem.published[held] - problem.raw_means[held] @ slopes)
        sizes.append(problem.sizes[held])
    if not rests:
        return np.zeros((0, problem.s.shape[1])), np.zeros(0)
    return np.concatenate(rests), np.concatenate(sizes)
