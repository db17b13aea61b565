"""Covariate shift: rows of one population weighted so that they stand for another.

w(x) = q(x) / p(x), Wei et al. section 2: q the law of the new population, p that of the rows at hand. By
counts, or by a logistic regression that tells the two apart. Large weights are clipped if asked; how many
rows the weighted ones are worth is reported as the effective sample size (sum w)^2 / sum w^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.features.alignment import Aligned, Coding, align
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.methods.estimators import Estimator

Floats = NDArray[np.float64]
Method = Literal["counts", "logistic"]


@dataclass(frozen=True, eq=False)
class Weights:
    """Importance weights of rows, with mean 1.

    effective: how many equally weighted rows they are worth. clipped: how many were cut to the limit.
    outside: the share of the new population at combinations that do not occur here and so stay unheard.
    """

    values: Floats
    effective: float
    clipped: int
    outside: float

    def __repr__(self) -> str:
        return (
            f"Weights({len(self.values):,} rows worth {self.effective:,.0f}; {self.clipped:,} clipped; "
            f"{self.outside:.1%} of the new population outside)"
        )


def shift_weights(
    rows: Table,
    old: Table,
    new: Table,
    columns: Sequence[str],
    *,
    method: Method = "counts",
    coding: Coding = "dummy",
    clip: float | None = None,
    old_weight: ArrayLike | None = None,
    new_weight: ArrayLike | None = None,
) -> Weights:
    """Weights for `rows` by the ratio of the laws of `new` and `old` at their columns.

    rows, old: the same table where the rows at hand are the old population; different ones where only
        some of it is at hand, as the enrolled of a market (Eq. 16 with equal enrolment given x).
    clip: the largest weight, in multiples of the mean; None for no limit.
    old_weight, new_weight: survey weights of the two populations' rows.

    >>> old, new = sf.samples.members(300, seed=1), sf.samples.members(300, seed=2)
    >>> weights = sf.shift_weights(old, old, new, ["sex", "region"])
    >>> weights.values.shape
    (300,)
    """
    return from_aligned(
        align([rows, old, new], columns), method=method, coding=coding, clip=clip, old_weight=old_weight,
        new_weight=new_weight,
    )  # fmt: skip


def from_aligned(
    aligned: Aligned,
    *,
    method: Method = "counts",
    coding: Coding = "dummy",
    clip: float | None = None,
    old_weight: ArrayLike | None = None,
    new_weight: ArrayLike | None = None,
) -> Weights:
    """The same of encoded tables, in the order rows, old, new."""
    if clip is not None and not clip > 0:
        raise ParameterError("clip must be positive.", hint="clip=10, or None")
    p_weight = _checked(old_weight, len(aligned.codes[1]), "old_weight")
    q_weight = _checked(new_weight, len(aligned.codes[2]), "new_weight")
    cells = [aligned.joint(i) for i in range(3)]
    outside = float(q_weight[~np.isin(cells[2], cells[0])].sum() / q_weight.sum())
    if method == "counts":
        raw = _by_counts(cells, aligned.cells, p_weight, q_weight)
    elif method == "logistic":
        raw = _by_logistic(aligned, coding, p_weight, q_weight)
    else:
        raise ParameterError("method must be counts or logistic.", hint="method='counts'")
    if not raw.sum() > 0:
        raise DataError(
            "no row at hand has a combination of the new population.", hint="fewer or coarser columns"
        )
    return _clipped(raw / raw.mean(), clip, outside)


def _by_counts(cells: list[NDArray[np.int64]], size: int, p_weight: Floats, q_weight: Floats) -> Floats:
    """q(x) / p(x) by relative frequencies; a row where the old population has none has weight 0."""
    p = np.bincount(cells[1], p_weight, size) / p_weight.sum()
    q = np.bincount(cells[2], q_weight, size) / q_weight.sum()
    ratio: Floats = np.divide(q, p, out=np.zeros(size), where=p > 0)[cells[0]]
    return ratio


def _by_logistic(aligned: Aligned, coding: Coding, p_weight: Floats, q_weight: Floats) -> Floats:
    """The odds of belonging to the new population, both given equal total weight."""
    from sklearn.linear_model import LogisticRegression

    here, old, new = (aligned.design(i, coding) for i in range(3))
    model = LogisticRegression(max_iter=1_000)
    both = np.concatenate([p_weight / p_weight.sum(), q_weight / q_weight.sum()]) * len(p_weight)
    label = np.append(np.zeros(len(old)), np.ones(len(new)))
    model.fit(np.vstack([old, new]), label, sample_weight=both)
    odds: Floats = np.exp(model.decision_function(here))
    return odds


def _checked(weight: ArrayLike | None, rows: int, name: str) -> Floats:
    if weight is None:
        return np.ones(rows)
    values = np.asarray(weight, np.float64)
    if values.shape != (rows,) or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise DataError(
            f"{name} must be one number from 0 up for each row.", hint="leave it out for equal ones"
        )
    return values


def _clipped(values: Floats, clip: float | None, outside: float) -> Weights:
    clipped = 0
    if clip is not None:
        clipped = int((values > clip).sum())
        values = np.minimum(values, clip)
        values = values / values.mean()
    return Weights(values, effective_size(values), clipped, outside)


def effective_size(weights: Floats) -> float:
    """(sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def fit_weighted(estimator: Estimator, x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> Estimator:
    """A fitted clone of any scikit-learn estimator that takes sample weights.

    Also a pipeline whose last step takes them, a search over parameters of one, a regression of a
    transformed response, and these within each other.
    """
    from sklearn.base import clone

    fresh = clone(estimator)
    keyword = _keyword(fresh)
    if keyword is None:
        raise ParameterError(
            f"{type(fresh).__name__} takes no sample weights.",
            hint="an estimator with fit(X, y, sample_weight=...)",
        )
    fitted: Estimator = fresh.fit(x, y, **{keyword: np.asarray(weights, np.float64)})
    return fitted


def _keyword(estimator: Any) -> str | None:
    """By what name `fit` takes weights; None if it does not."""
    from sklearn.utils.validation import has_fit_parameter

    if hasattr(estimator, "steps"):  # a pipeline hands on what is meant for a step by its name
        name, last = estimator.steps[-1]
        inner = _keyword(last)
        return None if inner is None else f"{name}__{inner}"
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    # What fits another estimator hands on whatever it is given.
    inside = getattr(estimator, "estimator", None) or getattr(estimator, "regressor", None)
    takes = signature(estimator.fit).parameters.values()
    handed = any(p.kind is p.VAR_KEYWORD for p in takes)
    return _keyword(inside) if inside is not None and handed else None
