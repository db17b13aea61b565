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
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.features.design import Design
from sfumato.features.numbers import complete_numbers, numbers, require_finite
from sfumato.reconstruction.fitted_model import Reconstructed
from sfumato.schema import Kind
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
    design: Design = field(repr=False)
    model: Any = field(repr=False)

    def predict(self, data: Table | Reconstructed | DataLike) -> Real:
        """The response of other people; a level that was not seen counts as none."""
        table = _opened(data)
        table.schema.require(self.design.columns)
        x = self.design.complete(table.select(self.design.columns).to_arrow())
        out: Real = self.model.predict(x[:, 1:])
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

    table, design, x = _laid_out(data, response, columns, by)
    y = _numbers(table, response)
    group = np.asarray(_texts(table, by), object)
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
    slopes = dict(zip(design.names, map(float, fitted.fe_params), strict=True))
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

    table, design, x = _laid_out(data, response, columns, None)
    if not 2 <= folds <= len(x):
        raise ParameterError("folds is a whole number from 2 to the number of people.", hint="folds=5")
    cut = KFold(folds, shuffle=True, random_state=seed)
    model = LassoCV(cv=cut, max_iter=10_000).fit(x[:, 1:], _numbers(table, response))  # has its own constant
    weights = {n: float(w) for n, w in zip(design.names[1:], model.coef_, strict=True) if w != 0}
    return Selected(weights, float(model.alpha_), design, model)


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
        read = [numbers(batch[n], table.schema[n]) for n in names]
        read = [require_finite(x, f"column '{n}'") for x, n in zip(read, names, strict=True)]
        found = np.asarray(function(*read), np.float64)
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


def _opened(data: Table | Reconstructed | DataLike) -> Table:
    from sfumato.io import scan

    if isinstance(data, Reconstructed):
        return data.data
    return data if isinstance(data, Table) else scan(data, keep_text=True)


def _laid_out(
    data: Table | Reconstructed | DataLike, response: str, columns: Sequence[str], by: str | None
) -> tuple[Table, Design, Real]:
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
    design = Design.of_seen(rows, [table.schema[c] for c in columns])
    return Table.from_arrow(rows, table.schema.select(wanted)), design, design.complete(rows)


def _numbers(table: Table, name: str) -> Real:
    table.schema.require([name])
    column = table.schema[name]
    if column.kind is not Kind.NUMERIC:
        raise ParameterError(f"column '{name}' holds no numbers.", hint="name a numeric column")
    return complete_numbers(table, name)


def _texts(table: Table, name: str) -> list[str]:
    return ["" if v is None else str(v) for b in table.batches([name]) for v in b.column(0).to_pylist()]
