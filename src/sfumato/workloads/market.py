"""Market risk: what would the members of a plan cost in a market where it is not sold yet?

Wei et al. section 4.1. At hand are the plan's members with their costs, and the people of the existing and
of the new market without costs. Where enrolment depends on the person and not on the market, the members in
the new market are distributed as those in the existing one, reweighted by new(x) / existing(x) (Eq. 16).
A model of cost is fitted on the members with these weights and averaged over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.features.alignment import Aligned, Coding, align
from sfumato.features.numbers import complete_numbers
from sfumato.progress import report
from sfumato.seeds import Key
from sfumato.table import Table
from sfumato.workloads.shift import Weights, fit_weighted, from_aligned

if TYPE_CHECKING:
    from sfumato.methods.estimators import Estimator

Floats = NDArray[np.float64]
_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class MarketRisk:
    """What is expected, and how good it was where the truth is known.

    expected: mean cost of a member in the new market; low, high: bootstrap interval over the plan's rows.
    relative_bias, r2: of the predictions for the actual members (100 x (mean prediction - mean) / mean;
        1 - squared error / variance). similarity: histogram intersection of the estimated and the actual
        enrolment, 1 where they are the same. None where no actual members were given.
    bias_interval, r2_interval: of these two, by the same bootstrap; None without one.
    """

    expected: float
    low: float
    high: float
    weights: Weights
    relative_bias: float | None = None
    r2: float | None = None
    similarity: float | None = None
    bias_interval: tuple[float, float] | None = None
    r2_interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        text = f"{self.expected:,.0f} a member"
        if self.low < self.high:  # without a bootstrap there is no interval
            text += f", {self.low:,.0f} to {self.high:,.0f} ({_CONFIDENCE:.0%})"
        if self.relative_bias is not None:
            text += f"; bias {self.relative_bias:+.1f}%"
            if self.bias_interval is not None and self.r2_interval is not None:
                text += " ({:+.1f} to {:+.1f})".format(*self.bias_interval)
                text += f", R2 {self.r2:.3f}" + " ({:.3f} to {:.3f})".format(*self.r2_interval)
            else:
                text += f", R2 {self.r2:.3f}"
            text += f", similarity {self.similarity:.2f}"
        return text


def market_risk(
    plan: Table,
    existing: Table,
    new: Table,
    *,
    columns: Sequence[str],
    cost: str,
    method: Literal["counts", "logistic", "none"] = "counts",
    coding: Coding = "dummy",
    factor: float = 1.0,
    clip: float | None = None,
    weight: str | None = None,
    estimator: Estimator | None = None,
    actual: Table | None = None,
    repeats: int = 200,
    seed: int = 0,
) -> MarketRisk:
    """The expected cost of a member in the new market.

    factor: cost of living, new market / existing one. weight: a column of survey weights that all tables
    have. method: how new(x) / existing(x) is estimated; "none" leaves the members as they are.
    estimator: any scikit-learn regressor that takes weights; least squares by default.
    actual: members of the new market with their costs, to see how good the answer is.
    repeats: bootstrap samples; 0 for none.

    >>> plan, existing, market = (sf.samples.members(200, seed=seed) for seed in (3, 4, 5))
    >>> risk = sf.market_risk(plan, existing, market, columns=["sex"], cost="cost", factor=1.05, repeats=0)
    >>> round(risk.expected)
    3438
    """
    if not factor > 0:
        raise ParameterError("factor must be positive.", hint="factor=1.08: 8% dearer than here")
    if cost in columns:
        raise ParameterError("the cost cannot be predicted from itself.", hint="leave it out of the columns")
    if repeats < 0:
        raise ParameterError("repeats cannot be negative.", hint="repeats=200")
    tables = [plan, existing, new, *([actual] if actual is not None else [])]
    aligned = align(tables, columns)
    own = [
        complete_numbers(t, weight) if weight else np.ones(len(c))
        for t, c in zip(tables, aligned.codes, strict=True)
    ]
    y = complete_numbers(plan, cost)
    if method == "none":
        ones = np.ones(len(y))
        weights = Weights(ones, float(len(y)), 0, 0.0)
    else:
        weights = from_aligned(
            aligned, method=method, coding=coding, clip=clip, old_weight=own[1], new_weight=own[2]
        )
    truth = None if actual is None else _Truth.of(aligned, coding, complete_numbers(actual, cost), own[3])
    model = _Model(aligned.design(0, coding), estimator, y, weights.values * own[0], factor, truth)
    expected, *fit = model.found(np.arange(len(y)))  # fit: bias and R2, where there is a truth
    interval, bias_interval, r2_interval, *_ = _bootstrap(model, repeats, seed)
    low, high = interval or (expected, expected)
    if truth is None:
        return MarketRisk(expected, low, high, weights)
    same = _similarity(aligned.joint(0), model.weights, truth, aligned.cells)
    bias, r2 = fit
    return MarketRisk(expected, low, high, weights, bias, r2, same, bias_interval, r2_interval)


@dataclass(frozen=True, eq=False)
class _Truth:
    """The actual members: their combinations, features, costs and weights."""

    cells: NDArray[np.int64]
    x: Floats
    y: Floats
    own: Floats

    @classmethod
    def of(cls, aligned: Aligned, coding: Coding, y: Floats, own: Floats) -> _Truth:
        truth = cls(aligned.joint(3), aligned.design(3, coding), y, own)
        if truth.mean == 0 or np.average((y - truth.mean) ** 2, weights=own) == 0:
            raise DataError("the actual members' costs do not vary.", hint="give members with costs")
        return truth

    @property
    def mean(self) -> float:
        return float(np.average(self.y, weights=self.own))

    def compared(self, guess: Floats) -> tuple[float, float]:
        """Relative bias in per cent, and R2, of predictions."""
        bias = 100 * (np.average(guess, weights=self.own) - self.mean) / self.mean
        spread = np.average((self.y - self.mean) ** 2, weights=self.own)
        return float(bias), float(1 - np.average((self.y - guess) ** 2, weights=self.own) / spread)


@dataclass(frozen=True, eq=False)
class _Model:
    """Members, their features, costs and weights, and the regression on them."""

    x: Floats
    estimator: Any
    y: Floats
    weights: Floats
    factor: float
    truth: _Truth | None

    def found(self, rows: NDArray[np.int64]) -> tuple[float, ...]:
        """Learnt on these members: their weighted mean prediction; with a truth, its bias and R2 too."""
        from sklearn.linear_model import LinearRegression

        x, weights = self.x[rows], self.weights[rows]
        fitted = fit_weighted(self.estimator or LinearRegression(), x, self.y[rows], weights)
        expected = self.factor * float(np.average(fitted.predict(x), weights=weights))
        if self.truth is None:
            return (expected,)
        return (expected, *self.truth.compared(self.factor * fitted.predict(self.truth.x)))


def _bootstrap(model: _Model, repeats: int, seed: int) -> list[tuple[float, float] | None]:
    """Intervals of all that is found, over the plan's rows; the weights stay as they were estimated."""
    if not repeats:
        return [None, None, None]
    draw = Key.from_seed(seed).generator("bootstrap")
    found: list[tuple[float, ...]] = []
    n = len(model.y)
    while len(found) < repeats:
        rows = draw.integers(0, n, n)
        if model.weights[rows].sum() > 0:  # else nobody in the sample stands for the new market
            found.append(model.found(rows))
            report("bootstrap", len(found), repeats)
    tail = (1 - _CONFIDENCE) / 2
    ends = np.quantile(np.array(found), [tail, 1 - tail], axis=0)
    return [(float(low), float(high)) for low, high in ends.T] + [None, None]


def _similarity(cells: NDArray[np.int64], weights: Floats, truth: _Truth, size: int) -> float:
    """Histogram intersection of the estimated and the actual enrolment."""
    estimated = np.bincount(cells, weights, size)
    true = np.bincount(truth.cells, truth.own, size)
    return float(np.minimum(estimated / estimated.sum(), true / true.sum()).sum())
