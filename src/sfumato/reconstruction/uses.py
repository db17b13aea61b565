"""What a reconstruction is for: models of many people, as the masked column itself would have given them.

The dissertation's uses (section 4.5.2): a random-intercept model whose intercepts are compared, an estimate
that is no linear function of the column, and a Lasso. All take a reconstruction, a table, or anything that
can be scanned: what comes out of a reconstruction can be held against the truth where there is one.

None of them knows that the column is an estimate: differences between people that the aggregates do not show
are missing from it, so slopes lean to zero and standard errors would be too small. None is given.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.reconstruction.design import MOST_LEVELS, as_numbers
from sfumato.reconstruction.fitted_model import Reconstructed
from sfumato.schema import Column, Kind
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.sources import DataLike

Real = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Intercepts:
    """A model y = constant + x slopes + the group's own intercept + noise.

    slopes: by column of X, the constant as "1".  effects: each group's intercept, by its name as text.
    spread, noise: the standard deviations of intercepts and of people within groups.
    """

    slopes: dict[str, float]
    effects: dict[str, float] = field(repr=False)
    spread: float
    noise: float

    def error(self, truth: Intercepts) -> float:
        """The mean squared difference of intercepts from those of another fit, over the groups of both."""
        shared = [g for g in truth.effects if g in self.effects]
        if not shared:
            raise ParameterError("the two models have no group in common.", hint="fit both by one column")
        return float(np.mean([(self.effects[g] - truth.effects[g]) ** 2 for g in shared]))


@dataclass(frozen=True, eq=False)
class Selected:
    """A fitted Lasso.

    weights: of the columns of X that were not set to zero.  penalty: as cross-validation chose it.
    """

    weights: dict[str, float]
    penalty: float
    coding: _Coding = field(repr=False)
    model: Any = field(repr=False)

    def predict(self, data: Table | Reconstructed | DataLike) -> Real:
        """The response of other people; a level that was not seen counts as none."""
        table = _opened(data)
        table.schema.require(self.coding.columns)
        out: Real = self.model.predict(self.coding.matrix(table.select(self.coding.columns).to_arrow()))
        return out

    def error(self, data: Table | Reconstructed | DataLike, response: str) -> float:
        """The mean absolute error on people whose true response is known."""
        return float(np.abs(self.predict(data) - _numbers(_opened(data), response)).mean())


def fit_random_intercepts(
    data: Table | Reconstructed | DataLike, response: str, columns: Sequence[str], *, by: str
) -> Intercepts:
    """A random-intercept model by restricted maximum likelihood (statsmodels).

    response: the reconstructed column, or the true one.  columns: the fixed part.  by: the groups.

    >>> people = sf.samples.members(200)
    >>> fitted = sf.fit_random_intercepts(people, "prescriptions", ["age"], by="region")
    >>> sorted(fitted.slopes)
    ['1', 'age']
    """
    import statsmodels.api as sm

    table, coding, x = _laid_out(data, response, columns, by)
    y = _numbers(table, response)
    group = np.asarray(_texts(table, by), object)
    x = np.column_stack([np.ones(len(x)), x])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a spread at its border; how it ended is asked below
            fitted = sm.MixedLM(y, x, groups=group).fit(reml=True)
    except np.linalg.LinAlgError:
        raise DataError(
            "columns of X repeat each other, or are constant.", hint="leave some of columns=[...] out"
        ) from None
    if not fitted.converged:
        warnings.warn("the random-intercept model did not converge.", SfumatoWarning, stacklevel=2)
    effects = {str(g): float(np.asarray(v)[0]) for g, v in fitted.random_effects.items()}
    slopes = dict(zip(("1", *coding.names), map(float, fitted.fe_params), strict=True))
    spread = math.sqrt(max(float(np.asarray(fitted.cov_re)[0, 0]), 0.0))
    return Intercepts(slopes, effects, spread, math.sqrt(float(fitted.scale)))


def fit_lasso(
    data: Table | Reconstructed | DataLike,
    response: str,
    columns: Sequence[str],
    *,
    folds: int = 5,
    seed: int = 0,
) -> Selected:
    """A Lasso whose penalty is chosen by cross-validation (scikit-learn).

    >>> people = sf.samples.members(300)
    >>> chosen = sf.fit_lasso(people, "cost", ["age", "prescriptions"])
    >>> list(chosen.weights)
    ['prescriptions']
    """
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import KFold

    table, coding, x = _laid_out(data, response, columns, None)
    if not 2 <= folds <= len(x):
        raise ParameterError("folds is a whole number from 2 to the number of people.", hint="folds=5")
    cut = KFold(folds, shuffle=True, random_state=seed)
    model = LassoCV(cv=cut, max_iter=10_000).fit(x, _numbers(table, response))
    weights = {n: float(w) for n, w in zip(coding.names, model.coef_, strict=True) if w != 0}
    return Selected(weights, float(model.alpha_), coding, model)


def average_of(
    data: Table | Reconstructed | DataLike, columns: Sequence[str], function: Callable[..., Any]
) -> float:
    """The mean over people of a function of some columns, batch by batch: memory does not grow with them.

        average_of(result, ["charge", "stay"], lambda charge, stay: charge / stay)

    It is taken of the reconstructed values as they are. Where the function is curved, what people differ by
    and the aggregates do not show is missing from the answer.

    >>> people = sf.samples.members(100)
    >>> round(sf.average_of(people, ["cost", "age"], lambda cost, age: cost / age), 2)
    52.45
    """
    table = _opened(data)
    names = [columns] if isinstance(columns, str) else list(columns)
    table.schema.require(names)
    total, people = 0.0, 0
    for batch in table.batches(names):
        found = np.asarray(function(*(as_numbers(table.schema[n], batch[n]) for n in names)), np.float64)
        if found.shape != (batch.num_rows,):
            raise ParameterError("the function gives one number for each person.", hint="lambda a, b: a / b")
        if not np.isfinite(found).all():
            raise DataError(
                f"the function has no finite value for {int((~np.isfinite(found)).sum())} people.",
                hint="leave them out of the table first",
            )
        total, people = total + float(found.sum()), people + len(found)
    if not people:
        raise DataError("there are no people.", hint="give rows")
    return total / people


# -- columns as numbers ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Coding:
    """Numbers as they are, a 0/1 column for each level but the first that was seen."""

    described: tuple[Column, ...]
    levels: dict[str, pa.Array]

    @property
    def columns(self) -> list[str]:
        return [c.name for c in self.described]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of X. Levels are numbered: their names may be cells."""
        return tuple(
            n
            for c in self.described
            for n in (
                [f"{c.name}[{i}]" for i in range(1, len(self.levels[c.name]))]
                if c.name in self.levels
                else [c.name]
            )
        )

    def matrix(self, data: pa.Table) -> Real:
        parts = []
        for column in self.described:
            array = data.column(column.name).combine_chunks()
            if column.name not in self.levels:
                parts.append(as_numbers(column, array)[:, None])
                continue
            place = pc.index_in(array.cast(pa.string()), value_set=self.levels[column.name])
            place = place.fill_null(-1).to_numpy(zero_copy_only=False)
            parts.append((place[:, None] == np.arange(1, len(self.levels[column.name]))).astype(np.float64))
        x = np.hstack(parts)
        if np.isnan(x).any():
            raise DataError("a number of X is missing.", hint="leave the people or the column out first")
        return x


def _opened(data: Table | Reconstructed | DataLike) -> Table:
    from sfumato.io import scan

    if isinstance(data, Reconstructed):
        return data.data
    return data if isinstance(data, Table) else scan(data, keep_text=True)


def _laid_out(
    data: Table | Reconstructed | DataLike, response: str, columns: Sequence[str], by: str | None
) -> tuple[Table, _Coding, Real]:
    """The columns that are needed, in memory, and X."""
    table = _opened(data)
    if isinstance(columns, str) or not columns:
        raise ParameterError("columns is a list of names, one at least.", hint='columns=["stay"]')
    wanted = [*columns, response, *([by] if by is not None else [])]
    table.schema.require(wanted)
    if len(set(wanted)) < len(wanted):
        raise ParameterError("a column is named once: in X, as response, or as groups.", hint="name others")
    rows = table.select(wanted).to_arrow()
    if not rows.num_rows:
        raise DataError("there are no people.", hint="give rows")
    described = tuple(table.schema[c] for c in columns)
    levels = {}
    for column in described:
        if column.kind in (Kind.NUMERIC, Kind.DATE):
            continue
        found = pc.unique(rows.column(column.name).cast(pa.string())).sort()
        if len(found) > MOST_LEVELS:
            raise ParameterError(
                f"column '{column.name}' has more than {MOST_LEVELS} levels.",
                hint="leave it out",
            )
        levels[column.name] = found
    coding = _Coding(described, levels)
    return Table.from_arrow(rows, table.schema.select(wanted)), coding, coding.matrix(rows)


def _numbers(table: Table, name: str) -> Real:
    table.schema.require([name])
    column = table.schema[name]
    if column.kind is not Kind.NUMERIC:
        raise ParameterError(f"column '{name}' holds no numbers.", hint="name a numeric column")
    parts = [as_numbers(column, b.column(0)) for b in table.batches([name])]
    values = np.concatenate([np.empty(0), *parts])
    if np.isnan(values).any():
        raise DataError(f"column '{name}' has missing cells.", hint="leave those people out first")
    return values


def _texts(table: Table, name: str) -> list[str]:
    return ["" if v is None else str(v) for b in table.batches([name]) for v in b.column(0).to_pylist()]
