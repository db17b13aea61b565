"""Fitted models: whether their numbers are about enough people.

A regression gives people away where it has a parameter for a few of them: then it tells their mean. Refused
are models with

- too few residual degrees of freedom;
- a column that sets fewer than `threshold` people apart: all others have one and the same value;
- an outcome that fewer than `threshold` people have;
- a pattern of columns that fewer than `threshold` people have and that the model fits by itself. For
  n people with the same columns, n h is the share of their mean that the fit takes from themselves, h the
  leverage: 1 if a parameter is theirs alone, as in every saturated model.

Two models of the same columns that differ by a few people are for a person to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.checked.frames import pandas_of
from sfumato.checked.limits import OutputLimits
from sfumato.checked.outputs import CheckedOutput, Decision
from sfumato.checked.rows import RowBook
from sfumato.errors import DataError, MissingExtraError, ParameterError, listed

if TYPE_CHECKING:
    import pandas as pd

Index = NDArray[np.int64]
Real = NDArray[np.float64]

_OWN = 0.99  # of a mean that the fit takes from the people themselves


class FittedModel(Protocol):
    """A result of statsmodels, or what is like it. model: has `exog` and `endog`, and names for them."""

    params: object
    df_resid: float
    model: object


@dataclass(frozen=True, eq=False)
class Fit:
    """A regression to be run, by columns or by a formula."""

    kind: str
    endog: object = None
    exog: object = None
    formula: str | None = None
    data: object = None

    def run(self, options: dict[str, object]) -> FittedModel:
        """Fit it."""
        try:
            import statsmodels.api as sm
            import statsmodels.formula.api as smf
        except ImportError:
            raise MissingExtraError("Fitting models", "stats") from None
        if self.formula is not None:
            found = getattr(smf, self.kind.lower())(self.formula, pandas_of(self.data), **options)
        else:
            given = [_plain(x) for x in (self.endog, self.exog)]
            found = getattr(sm, self.kind)(*given, **options)
        fitted: FittedModel = found.fit() if self.kind == "OLS" else found.fit(disp=0)
        return fitted


def _plain(values: object) -> object:
    """Of polars as of pandas; else as it is."""
    told = type(values).__module__.startswith("polars")
    return getattr(values, "to_pandas")() if told else values  # noqa: B009


@dataclass(frozen=True, eq=False)
class ModelVerdict:
    """What was decided of a model. rows: who it was fitted to, where the index says."""

    decision: Decision
    reasons: list[str]
    frames: list[pd.DataFrame]
    facts: dict[str, Any]
    rows: Index | None = field(default=None)


def judge_model(
    fitted: FittedModel, book: RowBook, limits: OutputLimits, earlier: Sequence[CheckedOutput]
) -> ModelVerdict:
    """Whether the numbers of a model may leave."""
    model = getattr(fitted, "model", None)
    exog, endog = getattr(model, "exog", None), getattr(model, "endog", None)
    if exog is None or endog is None or not hasattr(fitted, "params") or not hasattr(fitted, "df_resid"):
        raise ParameterError(
            "this is no fitted model that can be checked.",
            hint="a result of statsmodels: with params, df_resid, model.exog and model.endog",
        )
    x = np.asarray(exog, np.float64).reshape(len(endog), -1)
    y = np.asarray(endog, np.float64)
    names = [str(n) for n in getattr(model, "exog_names", None) or [f"x{i}" for i in range(x.shape[1])]]
    rows, note = _rows(model, book, len(y))
    people = np.arange(len(y)) if rows is None else book.people(rows)
    m = limits.threshold
    refusals = []
    free = float(fitted.df_resid)
    if free < limits.freedom:
        refusals.append(f"the model has {free:g} residual degrees of freedom, fewer than {limits.freedom}")
    few = [n for n, column in zip(names, x.T, strict=True) if 0 < set_apart(column, people) < m]
    if few:
        refusals.append(f"{listed(few)}: fewer than {m} people are set apart from all others")
    if 0 < set_apart(y, people) < m:
        refusals.append(f"fewer than {m} people have another outcome than all others")
    own = fitted_alone(x, people, m)
    if own:
        refusals.append(f"{own} groups of fewer than {m} people are fitted by parameters of their own")
    reviews = [] if note is None else [note]
    near = _near(rows, names, str(getattr(model, "endog_names", "")), earlier, book, m)
    reviews += [
        f"{name} is of the same columns and of nearly the same people: fewer than {m} differ" for name in near
    ]
    decision: Decision = "refused" if refusals else "review" if reviews else "pass"
    reasons = [f"{r[0].upper()}{r[1:]}." for r in (*refusals, *reviews)]
    if not reasons:
        reasons = [f"{free:g} residual degrees of freedom; no parameter is about fewer than {m} people."]
    facts = {"columns": names, "outcome": str(getattr(model, "endog_names", "")), "freedom": free}
    return ModelVerdict(decision, reasons, _frames(fitted, names, len(y)), facts, rows)


def set_apart(column: Real, people: Index) -> int:
    """How many people have another value than the most frequent one; 0 if a few do not."""
    values, count = np.unique(column[~np.isnan(column)], return_counts=True)
    if not len(values):
        return 0
    return len(np.unique(people[column != values[count.argmax()]]))


def fitted_alone(x: Real, people: Index, threshold: int) -> int:
    """How many patterns of few people are fitted by themselves."""
    patterns, at = np.unique(x, axis=0, return_inverse=True)
    at = at.ravel()
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    leverage = (u[:, s > s.max(initial=0.0) * max(x.shape) * np.finfo(float).eps] ** 2).sum(axis=1)
    share = np.bincount(at, leverage, len(patterns))
    size = np.bincount(np.unique(np.stack([at, people], axis=1), axis=0)[:, 0], minlength=len(patterns))
    return int(((size < threshold) & (share > _OWN)).sum())


def _rows(model: object, book: RowBook, n: int) -> tuple[Index | None, str | None]:
    """Who a model was fitted to; and what is to be said where that is not known."""
    labels = getattr(getattr(model, "data", None), "row_labels", None)
    if labels is None or len(labels) != n or not labels.is_unique:
        if book.persons is not None:
            raise DataError(
                "nobody says whose rows the model was fitted to.",
                hint="give columns with the index of the data",
            )
        return None, None
    return book.number(labels), None


def _near(
    rows: Index | None,
    names: list[str],
    outcome: str,
    earlier: Sequence[CheckedOutput],
    book: RowBook,
    m: int,
) -> list[str]:
    """Earlier models of the same columns, of whose people a few differ."""
    found = []
    for output in earlier:
        other = output.facts.get("rows")
        if rows is None or other is None or output.facts.get("columns") != names:
            continue
        if output.facts.get("outcome") != outcome:
            continue
        if 0 < len(np.unique(book.people(np.setxor1d(rows, other)))) < m:
            found.append(output.name)
    return found


def _frames(fitted: FittedModel, names: list[str], n: int) -> list[pd.DataFrame]:
    """Coefficients with their errors, and what is said of the fit."""
    import pandas as pd

    columns = {"coefficient": np.asarray(fitted.params, np.float64)}
    for title, name in (("standard error", "bse"), ("p", "pvalues")):
        if getattr(fitted, name, None) is not None:
            columns[title] = np.asarray(getattr(fitted, name), np.float64)
    fit = {"observations": float(n), "residual degrees of freedom": float(fitted.df_resid)}
    for title, name in (
        ("R squared", "rsquared"),
        ("pseudo R squared", "prsquared"),
        ("log-likelihood", "llf"),
    ):
        if getattr(fitted, name, None) is not None:
            fit[title] = float(getattr(fitted, name))
    return [pd.DataFrame(columns, index=pd.Index(names, name="column")), pd.DataFrame({"value": fit})]
