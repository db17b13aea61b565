"""Whether an analyst reaches the same conclusions: regressions on both files, and traces of samplers."""

from __future__ import annotations

import importlib
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import measures
from sfumato.assessment.reading.alignment import Pair
from sfumato.assessment.reading.frames import frames
from sfumato.assessment.utility.associations import score
from sfumato.errors import DataError, MissingExtraError, ParameterError, SfumatoError, listed
from sfumato.score import Score

if TYPE_CHECKING:
    import pandas as pd

Float = NDArray[np.float64]
Model = Literal["linear", "logistic"]


@dataclass(frozen=True)
class RegressionFit:
    """The coefficients of one model on one file."""

    names: tuple[str, ...]
    coefficients: Float
    errors: Float
    intervals: Float  # (coefficients, 2)
    rows: int
    full_rank: bool
    converged: bool


def regression(
    pair: Pair,
    formula: str,
    *,
    model: Model = "linear",
    confidence: float = 0.95,
    most_rows: int | None = 500_000,
    seed: int = 0,
) -> list[Score]:
    """The same regression on both files: the dissertation's and the PeGS distance, and interval overlap.

    formula: as in R, such as "I(charge > 25000) ~ as.numeric(age) + severity". Text columns are factors.
    model: least squares, or logistic for an outcome that is true or false.
    Rows with a missing cell in a column of the formula are left out, in both files.
    """
    if model not in ("linear", "logistic"):
        raise ParameterError("a model that is not known.", hint="model='linear' or 'logistic'")
    if not 0 < confidence < 1:
        raise ParameterError("confidence lies between 0 and 1.", hint="confidence=0.95")
    before, after = frames(pair, most_rows=most_rows, seed=seed)
    first = fit(before, formula, model, confidence, pair.weight, "original")
    second = fit(after, formula, model, confidence, pair.released_weight, "released file")
    return _compared(first, second, formula, model, confidence)


def _compared(
    first: RegressionFit, second: RegressionFit, formula: str, model: Model, confidence: float
) -> list[Score]:
    common = [n for n in first.names if n in second.names]
    if not common:
        raise DataError("the two fits share no coefficient.", hint="use columns that both files have")
    i, j = [first.names.index(n) for n in common], [second.names.index(n) for n in common]
    overlap = measures.interval_overlap(first.intervals[i], second.intervals[j])
    absent = len(first.names) - len(common)
    records = [
        {"coefficient": n, "before": b, "after": a, "error_before": eb, "error_after": ea,
         "interval_before": list(ib), "interval_after": list(ia), "overlap": o}
        for n, b, a, eb, ea, ib, ia, o in zip(
            common, first.coefficients[i], second.coefficients[j], first.errors[i], second.errors[j],
            first.intervals[i], second.intervals[j], overlap, strict=True)
    ]  # fmt: skip
    details = {
        "formula": formula, "model": model, "confidence": confidence, "coefficients": records,
        "absent": [n for n in first.names if n not in second.names], "rows": [first.rows, second.rows],
        "full_rank": [first.full_rank, second.full_rank], "converged": [first.converged, second.converged],
    }  # fmt: skip
    b, a = first.coefficients[i], second.coefficients[j]
    left = (
        f" {absent} coefficients cannot be estimated from the release and count as no overlap."
        if absent
        else ""
    )
    label, doubt = f"{model} regression {formula}", _doubt(first, second)
    return [
        score(f"coefficients, {label}", measures.coefficient_utility(b, a), 1, "higher",
              "exp(-||b - b'||^2) of the coefficients before and after; 1: the same. It depends on units."
              f"{doubt}", details=details),
        score(f"relative distance, {label}", measures.coefficient_distance(b, a), math.inf, "lower",
              f"Sum over coefficients of |change / original coefficient|; 0: the same.{doubt}"),
        score(f"interval overlap, {label}", float(overlap.sum() / (len(common) + absent)), 1, "higher",
              f"How much of the {confidence:.0%} confidence intervals before and after is common, in mean; "
              f"1: the same conclusions, 0: none.{left}{doubt}"),
    ]  # fmt: skip


def _doubt(first: RegressionFit, second: RegressionFit) -> str:
    """Said where a fit has no unique or no finite solution: its coefficients and intervals are arbitrary."""
    for fit_, where in ((first, "original"), (second, "released file")):
        if not (fit_.converged and fit_.full_rank):
            why = "did not converge" if fit_.full_rank else "has terms that repeat each other"
            return f" Read it with doubt: the fit on the {where} {why}."
    return ""


def fit(
    frame: pd.DataFrame, formula: str, model: Model, confidence: float, weight: str | None, where: str
) -> RegressionFit:
    """One regression on one frame."""
    sm, patsy = _part("statsmodels.api"), _part("patsy")
    if formula.count("~") != 1:
        raise ParameterError("a formula has an outcome, ~, and terms.", hint="charge ~ age + severity")
    used = [c for c in frame.columns if re.search(rf"(?<!\w){re.escape(str(c))}(?!\w)", formula)]
    if not used:
        raise ParameterError(
            "the formula names no column of the files.", hint=f"columns: {listed([str(c) for c in frame])}"
        )
    kept = frame.dropna(subset=[*used, *([weight] if weight else [])])
    if len(kept) < 3:
        raise DataError(
            f"the {where} has {len(kept)} complete rows for the formula.", hint="use fewer columns"
        )
    y, x = _matrices(patsy, formula, kept, model, where)
    names = [n for n in x.columns if (x[n] != 0).any()]
    x = x[names]
    weights = kept.loc[x.index, weight].to_numpy(float) if weight else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = _fitted(sm, model, y, x, weights)
        except (ValueError, np.linalg.LinAlgError, ArithmeticError) as error:
            raise DataError(
                f"the regression on the {where} failed ({type(error).__name__}).", hint="use fewer terms"
            ) from None
        intervals = np.asarray(result.conf_int(alpha=1 - confidence), float)
        told = np.asarray(result.fittedvalues, float)
    rank = int(np.linalg.matrix_rank(x.to_numpy(float)))
    told = np.asarray(
        result.fittedvalues, float
    )  # where all are told without error, no coefficient is finite
    settled = model == "linear" or bool(result.converged and np.abs(told - y).max() > 1e-6)
    return RegressionFit(
        tuple(names), np.asarray(result.params, float), np.asarray(result.bse, float), intervals, len(x),
        rank == len(names), settled,
    )  # fmt: skip


def _fitted(sm: ModuleType, model: Model, y: Float, x: pd.DataFrame, weights: Float | None) -> Any:
    # Weighted rows are not independent draws of equal worth: sandwich errors.
    robust = {} if weights is None else {"cov_type": "HC1"}
    if model == "linear":
        return (sm.OLS(y, x) if weights is None else sm.WLS(y, x, weights=weights)).fit(**robust)
    if weights is not None:
        weights = weights * (len(weights) / weights.sum())
    return sm.GLM(y, x, family=sm.families.Binomial(), freq_weights=weights).fit(**robust)


def _matrices(
    patsy: ModuleType, formula: str, frame: pd.DataFrame, model: Model, where: str
) -> tuple[Float, pd.DataFrame]:
    """The outcome and the design, in patsy's reading of R's formulas."""
    text = formula.replace("as.numeric(", "as_numeric(").replace("factor(", "C(")
    names = patsy.EvalEnvironment([{"np": np, "as_numeric": _as_numeric, "log": np.log, "exp": np.exp}])
    try:
        outcome, design = patsy.dmatrices(text, frame, eval_env=names, return_type="dataframe")
    except Exception as error:  # patsy runs what the formula says: its words may quote a cell
        if isinstance(error, SfumatoError):
            raise
        raise ParameterError(
            f"the formula cannot be read on the {where} ({type(error).__name__}).",
            hint="columns with spaces are written Q('name'); text outcomes as I(column == 'level')",
        ) from None
    if outcome.shape[1] > 2 or (outcome.shape[1] == 2 and model == "linear"):
        raise ParameterError("the outcome is not one number.", hint="as.numeric(x), or I(x == 'level')")
    y = outcome.iloc[:, -1].to_numpy(float)  # of [False] and [True] the latter
    if model == "logistic" and not np.isin(y, (0, 1)).all():
        raise ParameterError("a logistic outcome is true or false.", hint="I(charge > 25000) ~ ...")
    if model == "logistic" and len(np.unique(y)) < 2:
        raise DataError(f"in the {where} the outcome is always the same.", hint="choose another outcome")
    return y, design


def _as_numeric(values: pd.Series) -> pd.Series:
    """R's as.numeric: numbers as they are, factors of numbers by their number, others by their code."""
    if not hasattr(values, "cat"):
        return values.astype(float)
    try:
        return values.astype(str).astype(float)
    except ValueError:
        return values.cat.codes.astype(float) + 1


def _part(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError("a regression", "stats") from None


# -- samplers --------------------------------------------------------------------------------------


def mixing(
    traces: Mapping[str, Sequence[float] | NDArray[Any]], *, lag: int = 5, lags: int = 40
) -> list[Score]:
    """LUGS figure 3: how fast the trace of a sampler forgets, per variable.

    traces: name -> the variable's codes or values, sweep by sweep, of one chain.
    lag: the lag of the score; the whole curve is in the details.
    """
    if not traces or not 1 <= lag <= lags:
        raise ParameterError(
            "a lag between 1 and lags, and at least one trace.", hint="mixing({'age': trace})"
        )
    out = []
    for name, trace in traces.items():
        curve = measures.autocorrelation(np.asarray(trace), lags)
        sweeps = len(np.asarray(trace))
        if len(curve) <= lag:
            raise ParameterError(f"the trace of '{name}' is shorter than the lag.", hint="more sweeps")
        value = float(curve[lag])
        half = 1.959964 / math.sqrt(sweeps)
        known = not math.isnan(value)
        out.append(
            score(f"autocorrelation at lag {lag}, {name}", value, 1, "lower",
                  f"How much the sampler still remembers after {lag} sweeps; 0: nothing. The interval is the "
                  "large-sample one of an independent trace.", -1, columns=(name,),
                  low=max(-1.0, value - half) if known else None,
                  high=min(1.0, value + half) if known else None, confidence=0.95 if known else None,
                  details={"curve": list(curve), "sweeps": sweeps, "effective": _effective(curve, sweeps)})
        )  # fmt: skip
    return out


def _effective(curve: Float, sweeps: int) -> float:
    """How many independent draws the trace is worth: n / (1 + 2 sum r_k), up to the first negative pair."""
    if np.isnan(curve).any():
        return math.nan
    total = 0.0
    for k in range(1, len(curve) - 1, 2):
        both = curve[k] + curve[k + 1]
        if both < 0:
            break
        total += both
    return float(sweeps / (1 + 2 * total))
