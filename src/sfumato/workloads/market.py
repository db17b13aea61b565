"""Market risk: what would the members of a plan cost in a market where it is not sold yet?

Wei et al. section 4.1. At hand are the plan's members with their costs, and the people of the existing and
of the new market without costs. Where enrolment depends on the person and not on the market, the members in
the new market are distributed as those in the existing one, reweighted by new(x) / existing(x) (Eq. 16).
A model of cost is fitted on the members with these weights and averaged over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.progress import report
from sfumato.seeds import Key
from sfumato.table import Table
from sfumato.workloads.features import Aligned, Coding, align, numbers
from sfumato.workloads.shift import Weights, fit_weighted, from_aligned

Floats = NDArray[np.float64]
_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class MarketRisk:
    """What is expected, and how good it was where the truth is known.

    expected: mean cost of a member in the new market; low, high: bootstrap interval over the plan's rows.
    relative_bias, r2: of the predictions for the actual members (100 x (mean prediction - mean) / mean;
        1 - squared error / variance). similarity: histogram intersection of the estimated and the actual
        enrolment, 1 where they are the same. None where no actual members were given.
    """

    expected: float
    low: float
    high: float
    weights: Weights
    relative_bias: float | None = None
    r2: float | None = None
    similarity: float | None = None

    def __str__(self) -> str:
        text = f"{self.expected:,.0f} a member"
        if self.low < self.high:  # without a bootstrap there is no interval
            text += f", {self.low:,.0f} to {self.high:,.0f} ({_CONFIDENCE:.0%})"
        if self.relative_bias is not None:
            text += f"; bias {self.relative_bias:+.1f}%, R2 {self.r2:.3f}, similarity {self.similarity:.2f}"
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
    estimator: Any = None,
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
        numbers(t, weight) if weight else np.ones(len(c)) for t, c in zip(tables, aligned.codes, strict=True)
    ]
    y = numbers(plan, cost)
    if method == "none":
        ones = np.ones(len(y))
        weights = Weights(ones, float(len(y)), 0, 0.0)
    else:
        weights = from_aligned(
            aligned, method=method, coding=coding, clip=clip, old_weight=own[1], new_weight=own[2]
        )
    model = _Model(aligned, coding, estimator, y, weights.values * own[0])
    expected = model.expected(np.arange(len(y)))
    low, high = _bootstrap(model, repeats, seed, expected)
    fit = {} if actual is None else _compared(model, aligned, own[3], numbers(actual, cost), factor)
    return MarketRisk(factor * expected, factor * low, factor * high, weights, **fit)


@dataclass(frozen=True, eq=False)
class _Model:
    """Members, their costs and weights, and the regression on them."""

    aligned: Aligned
    coding: Coding
    estimator: Any
    y: Floats
    weights: Floats

    def fitted(self, rows: NDArray[np.int64]) -> Any:
        from sklearn.linear_model import LinearRegression

        x = self.aligned.design(0, self.coding)
        return fit_weighted(self.estimator or LinearRegression(), x[rows], self.y[rows], self.weights[rows])

    def expected(self, rows: NDArray[np.int64]) -> float:
        """The weighted mean prediction over these members."""
        x = self.aligned.design(0, self.coding)[rows]
        return float(np.average(self.fitted(rows).predict(x), weights=self.weights[rows]))


def _bootstrap(model: _Model, repeats: int, seed: int, expected: float) -> tuple[float, float]:
    if not repeats:
        return expected, expected
    draw = Key.from_seed(seed).generator("bootstrap")
    found = []
    for i in range(repeats):
        found.append(model.expected(draw.integers(0, len(model.y), len(model.y))))
        report("bootstrap", i + 1, repeats)
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return float(low), float(high)


def _compared(model: _Model, aligned: Aligned, own: Floats, y: Floats, factor: float) -> dict[str, float]:
    guess = factor * model.fitted(np.arange(len(model.y))).predict(aligned.design(3, model.coding))
    mean = np.average(y, weights=own)
    if mean == 0 or np.average((y - mean) ** 2, weights=own) == 0:
        raise DataError("the actual members' costs do not vary.", hint="give members with costs")
    bias = 100 * (np.average(guess, weights=own) - mean) / mean
    r2 = 1 - np.average((y - guess) ** 2, weights=own) / np.average((y - mean) ** 2, weights=own)
    estimated = np.bincount(aligned.joint(0), model.weights, aligned.cells)
    true = np.bincount(aligned.joint(3), own, aligned.cells)
    same = np.minimum(estimated / estimated.sum(), true / true.sum()).sum()
    return {"relative_bias": float(bias), "r2": float(r2), "similarity": float(same)}
