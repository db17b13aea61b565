"""Numbers over tables of counts: one function per equation, no I/O, nothing about files or methods.

Tables are arrays of counts or shares, one axis per column. What has no value (the correlation of a
constant, the share of an empty table) is NaN, for the caller to leave out and to count.
"PeGS 4.3" is section 4.3 of the PeGS paper, whose utility formulas carry no numbers there; "LUGS (3)" is
equation (3) of the LUGS paper; "dissertation 2.4" its section on utility and risk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Counts
from sfumato.errors import ParameterError

Float = NDArray[np.float64]
Array = NDArray[Any] | Counts


def dense(table: Array) -> Float:
    """Counts, sparse or full, as one array of floats."""
    return np.asarray(table.dense() if isinstance(table, Counts) else table, np.float64)


def shares(table: Array) -> Float:
    """Counts as shares of their total; NaN where there are none."""
    values = dense(table)
    total = values.sum()
    return values / total if total > 0 else np.full(values.shape, np.nan)


def _at_most_one(value: float) -> float:
    """A share that rounding may have pushed above 1. NaN stays NaN, which Python's min would make 1."""
    return float(np.minimum(value, 1.0))


def _both(before: Array, after: Array) -> tuple[Float, Float]:
    p, q = shares(before), shares(after)
    if p.shape != q.shape:
        raise ParameterError("two tables of different shape.", hint="align() gives both the same levels")
    return p, q


# -- information -----------------------------------------------------------------------------------


def entropy(table: Array) -> float:
    """H = -sum p log p, in nats (0 log 0 = 0)."""
    p = shares(table)
    if np.isnan(p).any():
        return math.nan
    p = p[p > 0]
    return max(0.0, float(-(p * np.log(p)).sum()))


def mutual_information(table: Array, *, corrected: bool = False, rows: float | None = None) -> float:
    """I = sum p_xy log(p_xy / (p_x p_y)), in nats, of a two-way table.

    corrected: less the plug-in estimate's bias (K_x - 1)(K_y - 1) / (2N), K the levels that occur; may
    then fall slightly below zero where the columns are independent. rows: N, if the table is weighted.
    """
    n = dense(table)
    if n.ndim != 2:
        raise ParameterError("mutual information is of a two-way table.", hint="project to two columns")
    value = max(0.0, entropy(n.sum(1)) + entropy(n.sum(0)) - entropy(n)) if n.sum() > 0 else math.nan
    if corrected and n.sum() > 0:
        levels = [(n.sum(axis) > 0).sum() - 1 for axis in (0, 1)]
        value -= float(levels[0] * levels[1] / (2 * (rows or n.sum())))
    return value


def information_matrix(
    columns: Sequence[str], pairs: Mapping[tuple[str, ...], Array], *, corrected: bool = True
) -> Float:
    """Mutual information of every pair of columns, entropies on the diagonal; NaN where not given."""
    out = np.full((len(columns), len(columns)), np.nan)
    for (a, b), table in pairs.items():
        i, j = columns.index(a), columns.index(b)
        n = dense(table)
        out[i, j] = out[j, i] = mutual_information(n, corrected=corrected)
        out[i, i], out[j, j] = entropy(n.sum(1)), entropy(n.sum(0))
    return out


# -- distances -------------------------------------------------------------------------------------


def total_variation(before: Array, after: Array) -> float:
    """TV = 1/2 sum |q - p|: the share of people who would have to be moved; 0 same, 1 disjoint."""
    p, q = _both(before, after)
    return _at_most_one(np.abs(q - p).sum() / 2)


def total_variation_floor(before: Array, rows: float) -> float:
    """What TV to expect of `rows` fresh draws from the original law: 1/2 sum sqrt(2 p(1-p) / (pi n))."""
    p = shares(before)
    return _at_most_one(np.sqrt(2 * p * (1 - p) / (math.pi * rows)).sum() / 2) if rows > 0 else math.nan


def histogram_intersection(before: Array, after: Array) -> float:
    """sum min(p, q): the share both histograms have in common; 1 same, 0 disjoint (= 1 - TV)."""
    p, q = _both(before, after)
    return _at_most_one(np.minimum(p, q).sum())


def mean_squared_error(before: Array, after: Array) -> float:
    """PeGS 4.3, Marginal MSE: Avg over categories of (q - p)^2."""
    p, q = _both(before, after)
    return float(np.square(q - p).mean())


def mean_absolute_error(before: Array, after: Array) -> float:
    """PeGS 4.3, Marginal MAE: Avg over categories of |q - p|."""
    p, q = _both(before, after)
    return float(np.abs(q - p).mean())


class Conditional(NamedTuple):
    """Conditional distances, and the conditioning values that could not be compared as they are."""

    mse: float
    mae: float
    uniform: int  # in the original, absent from the released data: taken as uniform there
    skipped: int  # absent from the original


def conditionals(before: Array, after: Array) -> tuple[Float, Float, int, int]:
    """Rows of P(x | y) for each y that the original has, then how many were uniform and skipped.

    before, after: tables (x, y). A y without released rows tells a reader nothing: uniform there.
    """
    n, m = dense(before).T, dense(after).T
    if n.shape != m.shape or n.ndim != 2:
        raise ParameterError("two two-way tables of one shape are needed.", hint="align() gives them")
    there = n.sum(1) > 0
    skipped = int((~there & (m.sum(1) > 0)).sum())
    n, m = n[there], m[there]
    empty = m.sum(1) <= 0
    q = np.full(m.shape, 1 / max(1, m.shape[1]))
    q[~empty] = m[~empty] / m[~empty].sum(1, keepdims=True)
    return n / n.sum(1, keepdims=True), q, int(empty.sum()), skipped


def conditional_errors(before: Array, after: Array) -> Conditional:
    """PeGS 4.3, Conditional MSE and MAE: Avg over y of Avg over x of (q(x|y) - p(x|y))^2, and of |.|."""
    p, q, uniform, skipped = conditionals(before, after)
    if not p.size:
        return Conditional(math.nan, math.nan, uniform, skipped)
    return Conditional(float(np.square(q - p).mean()), float(np.abs(q - p).mean()), uniform, skipped)


# -- rank correlations -----------------------------------------------------------------------------


def mid_ranks(values: NDArray[Any]) -> Float:
    """Ranks 1..C; tied values share the middle of theirs."""
    values = np.asarray(values)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], np.float64)


def spearman(x: NDArray[Any], y: NDArray[Any]) -> float:
    """PeGS 4.3, Spearman's rho, centred at (C + 1)/2 with mid-ranks; NaN where one side is constant."""
    a, b = mid_ranks(x), mid_ranks(y)
    centre = (len(a) + 1) / 2
    a, b = a - centre, b - centre
    scale = math.sqrt(float((a * a).sum()) * float((b * b).sum()))
    return float(np.clip((a * b).sum() / scale, -1, 1)) if scale > 0 else math.nan


def kendall(x: NDArray[Any], y: NDArray[Any]) -> float:
    """PeGS 4.3, Kendall's tau over C(C-1)/2 pairs, as tau-b where values tie; NaN where one is constant.

    Departs from print: the denominator there has the wrong sign.
    """
    x, y = np.asarray(x), np.asarray(y)
    if len(x) != len(y):
        raise ParameterError("two lists of different length.", hint="one value per category in each")
    if len(x) < 2:
        return math.nan
    if len(x) > 4_000:
        from scipy.stats import kendalltau

        return float(kendalltau(x, y).statistic)
    # compared, not subtracted: numbers without a sign would wrap around
    a, b = (np.greater.outer(v, v).astype(np.int8) - np.less.outer(v, v).astype(np.int8) for v in (x, y))
    scale = math.sqrt(float(np.count_nonzero(a)) * float(np.count_nonzero(b)))
    return float(np.clip((a * b).sum(dtype=np.int64) / scale, -1, 1)) if scale > 0 else math.nan


def kendall_of_table(table: Array) -> float:
    """Tau-b of two ordered columns, from their contingency table: (C - D) / sqrt((P - Tx)(P - Ty))."""
    n = dense(table)
    below = np.zeros(n.shape)
    below[1:, 1:] = n.cumsum(0).cumsum(1)[:-1, :-1]
    reverse = np.zeros(n.shape)
    reverse[1:, :-1] = n[:, ::-1].cumsum(0).cumsum(1)[:, ::-1][:-1, 1:]
    concordant, discordant = float((n * below).sum()), float((n * reverse).sum())
    total = n.sum()
    pairs = (total**2 - (n.sum(1) ** 2).sum()) * (total**2 - (n.sum(0) ** 2).sum()) / 4
    return float(np.clip((concordant - discordant) / math.sqrt(pairs), -1, 1)) if pairs > 0 else math.nan


def spearman_of_table(table: Array) -> float:
    """Spearman's rho of two ordered columns, from their contingency table, with mid-ranks."""
    n = dense(table)
    total = n.sum()
    rows, columns = n.sum(1), n.sum(0)
    a = rows.cumsum() - rows / 2 - total / 2
    b = columns.cumsum() - columns / 2 - total / 2
    scale = math.sqrt(float((rows * a * a).sum()) * float((columns * b * b).sum()))
    return float(np.clip(a @ n @ b / scale, -1, 1)) if scale > 0 else math.nan


def cramers_v(table: Array) -> float:
    """Association of two columns without order: sqrt(chi^2 / (N min(K_x - 1, K_y - 1))); 0 to 1."""
    n = dense(table)
    n = n[n.sum(1) > 0][:, n.sum(0) > 0]
    if min(n.shape, default=0) < 2:
        return math.nan
    expected = np.outer(n.sum(1), n.sum(0)) / n.sum()
    return min(1.0, math.sqrt(chi_square(n, expected) / (n.sum() * (min(n.shape) - 1))))


# -- log-linear models -----------------------------------------------------------------------------


class LogLinear(NamedTuple):
    """How far a table is from a log-linear model."""

    chi_square: float
    g2: float
    degrees: int
    expected: Float
    rounds: int


def chi_square(observed: Array, expected: Float) -> float:
    """Pearson's X^2 = sum (O - E)^2 / E, over the cells the model allows (LUGS 5.2)."""
    n = dense(observed)
    open_ = expected > 0
    return float((np.square(n[open_] - expected[open_]) / expected[open_]).sum())


def g_squared(observed: Array, expected: Float) -> float:
    """The likelihood ratio G^2 = 2 sum O log(O / E): twice the log-likelihood between the two models."""
    n = dense(observed)
    seen = (n > 0) & (expected > 0)
    return max(0.0, 2 * float((n[seen] * np.log(n[seen] / expected[seen])).sum()))


def log_linear(
    table: Array,
    terms: Iterable[Sequence[int]] | None = None,
    *,
    tolerance: float = 1e-8,
    rounds: int = 1_000,
) -> LogLinear:
    """Fit a hierarchical log-linear model by iterative proportional fitting, and measure its distance.

    terms: the interactions that are kept, as axes, each with all it contains; without any, mutual
    independence, LUGS (3): log F_ijk = l_0 + l_i + l_j + l_k. Degrees of freedom: cells less parameters.
    """
    n = dense(table)
    kept = _generators(terms, n.ndim)
    if n.sum() <= 0:
        return LogLinear(math.nan, math.nan, 0, np.zeros(n.shape), 0)
    fit = np.ones(n.shape)
    others = [tuple(a for a in range(n.ndim) if a not in term) for term in kept]
    wanted = [n.sum(axis=rest, keepdims=True) for rest in others]
    for used in range(1, rounds + 1):  # noqa: B007
        change = 0.0
        for rest, target in zip(others, wanted, strict=True):
            now = fit.sum(axis=rest, keepdims=True)
            ratio = np.divide(target, now, out=np.zeros_like(target), where=now > 0)
            fit = fit * ratio
            change = max(change, float(np.abs(now - target).max()))
        if change <= tolerance * n.sum():
            break
    return LogLinear(chi_square(n, fit), g_squared(n, fit), _degrees(n.shape, kept), fit, used)


def _generators(terms: Iterable[Sequence[int]] | None, axes: int) -> list[tuple[int, ...]]:
    """The largest terms; an axis no term names stands by itself."""
    given = {tuple(sorted(set(t))) for t in terms or ()}
    if any(not t or t[0] < 0 or t[-1] >= axes for t in given):
        raise ParameterError(
            "a term names an axis the table does not have.", hint=f"axes are 0 to {axes - 1}"
        )
    given |= {(a,) for a in range(axes)}
    return sorted(t for t in given if not any(set(t) < set(other) for other in given))


def _degrees(shape: Sequence[int], kept: Sequence[tuple[int, ...]]) -> int:
    effects = {s for t in kept for size in range(len(t) + 1) for s in combinations(t, size)}
    return math.prod(shape) - sum(math.prod(shape[a] - 1 for a in s) for s in effects)


# -- models and samplers ---------------------------------------------------------------------------


def coefficient_utility(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Dissertation 2.4: exp(-||b - b'||^2); 1 where the coefficients agree."""
    return math.exp(-float(np.square(np.asarray(before) - np.asarray(after)).sum()))


def coefficient_distance(before: NDArray[Any], after: NDArray[Any]) -> float:
    """PeGS 4.3, Regression Distance: sum |(b' - b) / b|; NaN where a coefficient of the original is zero."""
    before = np.asarray(before, np.float64)
    if (before == 0).any():
        return math.nan
    return float(np.abs((np.asarray(after) - before) / before).sum())


def interval_overlap(before: NDArray[Any], after: NDArray[Any]) -> Float:
    """Overlap of intervals (low, high), one per row, as the mean share of each that is common; 0 if apart."""
    b, a = np.asarray(before, np.float64), np.asarray(after, np.float64)
    common = np.clip(np.minimum(b[:, 1], a[:, 1]) - np.maximum(b[:, 0], a[:, 0]), 0, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Float = (common / (b[:, 1] - b[:, 0]) + common / (a[:, 1] - a[:, 0])) / 2
    same = (b == a).all(axis=1)
    return np.where(same, 1.0, np.where(np.isfinite(out), out, 0.0))


def propensity_error(propensities: NDArray[Any], share: float) -> float:
    """pMSE = Avg (p_i - c)^2: how well a model tells released rows (a share c) from original ones."""
    return float(np.square(np.asarray(propensities) - share).mean())


def autocorrelation(trace: NDArray[Any], lags: int = 40) -> Float:
    """LUGS figure 3: r_k = sum (x_t - m)(x_{t+k} - m) / sum (x_t - m)^2, k = 0..lags; NaN if constant."""
    x = np.asarray(trace, np.float64)
    if x.ndim != 1 or len(x) < 2:
        raise ParameterError("a trace is a list of at least two numbers.", hint="one variable of one chain")
    x = x - x.mean()
    scale = float(x @ x)
    lags = min(lags, len(x) - 1)
    if scale <= 0:
        return np.full(lags + 1, np.nan)
    return np.array([float(x[: len(x) - k] @ x[k:]) / scale for k in range(lags + 1)])
