"""How far slopes that were learnt from groups are to be trusted within groups.

A line through the means of groups need not hold within them, and held-out groups cannot show it: they are
foretold by the same line. What can be seen without any person's value:

- *How many groups there are.* Where X has as many columns as groups differ by, it can say anything of them,
  and nothing but the mean of the group is kept.
- *How much people would differ.* If X beta makes the people of one group differ by far more than groups
  differ from each other, the line is drawn far beyond what it was fitted to. It is trusted up to the
  variance between groups, less in proportion beyond that, and only by the share of groups that the rank of
  the model leaves free.
- *Whether other groups say the same.* Where groups are random mixtures of people, people do differ by far
  more than groups. Then slopes that were fitted without some of the groups agree; 1 - (jackknife variance of
  X beta among people) / (variance of X beta among people) says how much of it is no chance.

The larger of the last two is what slopes are multiplied by: 1 leaves them, 0 is the mean of the group. True
values of a few people (`known`) say it directly: least squares, with the first answer, give or take 1, as
prior.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError, listed
from sfumato.features.numbers import numbers
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.factor import rank_of
from sfumato.reconstruction.fitted_model import LinearRule
from sfumato.reconstruction.groups import Grouping
from sfumato.reconstruction.problem import Fitter, LinearProblem
from sfumato.reconstruction.uncertainty import Calibration, uncertainty

if TYPE_CHECKING:
    from sfumato.table import Table

Real = NDArray[np.float64]

FEWEST_KNOWN = 10
_FOLDS = 10
_NOTED = 0.5  # slopes that are shrunk further are spoken of
_MORE = "compare with the groups' means, or give true values of some people (known)"
_MOST = 20.0  # slopes that known values ask for are taken up to so many times


def shrinkage(problem: LinearProblem, slopes: Real, fit: Fitter, rank: int) -> Real:
    """What slopes are to be multiplied by, (k,).

    slopes: (1 + d, k).  fit: slopes without some groups.  rank: of the model.
    """
    inside = _variance(problem.within, slopes[1:])
    told = inside > 0
    safe = np.where(told, inside, 1.0)
    groups = _groups(problem)
    most = rank_of(problem.xx)
    if groups - 1 <= most:
        return np.zeros(slopes.shape[1])
    free = (groups - 1 - min(rank, most)) / (groups - 1)
    near = np.where(told, free * np.minimum(1.0, problem.between / safe), 1.0)
    if (near >= 1).all():
        return near
    others = [fit(problem.without(held))[1:] for held in problem.folds(_FOLDS)]
    middle = np.mean(others, axis=0)
    chance = sum(_variance(problem.within, found - middle) for found in others)
    agreed = np.clip(1.0 - (len(others) - 1) / len(others) * chance / safe, 0.0, 1.0)
    return np.maximum(near, agreed)


def _groups(problem: LinearProblem) -> int:
    return int(problem.first.sum())


def _variance(within: Real, slopes: Real) -> Real:
    return np.asarray(np.maximum(np.einsum("dk,de,ek->k", slopes, within, slopes), 0.0))


def calibrate(
    known: Table, grouping: Grouping, prior: Real, rule: Callable[[Real], LinearRule], corrected: bool
) -> Calibration:
    """Hold the model, with slopes and without, against people whose values are known."""
    k = grouping.s.shape[1]
    plain, sloped = rule(np.zeros(k)), rule(np.ones(k))
    absent = [repr(n) for n in (*grouping.aggregates.values, *sloped.columns) if n not in known.columns]
    if absent:
        raise DataError(
            f"known: {listed(absent)} {'is' if len(absent) == 1 else 'are'} not there.",
            hint="give people with the same columns, and the masked one",
        )
    open_ = uncertainty(grouping, sloped, lambda: None, corrected, 0.0)
    without, with_, true, free = [], [], [], []
    wanted = list(dict.fromkeys([*sloped.columns, *plain.columns]))
    for batch in known.batches(list(dict.fromkeys([*wanted, *grouping.aggregates.values]))):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        without.append(plain(columns))
        with_.append(sloped(columns))
        free.append(open_.free(grouping.of(columns)))
        true.append(_true(grouping.aggregates, columns))
    if not true:
        return calibrated(prior, np.zeros((0, k)), np.zeros((0, k)), np.zeros((0, k)), np.zeros(0))
    return calibrated(prior, *(np.concatenate(x) for x in (without, with_, true, free)))


def _true(aggregates: Aggregates, columns: Mapping[str, pa.Array]) -> Real:
    """Known values as they are reconstructed: logs where the mean of logs was published; NaN if unknown."""
    found = []
    for name, statistic in zip(aggregates.values, aggregates.statistics, strict=True):
        value = numbers(columns[name], where=f"known: column '{name}'")
        if statistic == "mean_log":
            with np.errstate(divide="ignore", invalid="ignore"):
                value = np.log(value)
        found.append(np.where(np.isfinite(value), value, np.nan))
    return np.column_stack(found)


def calibrated(prior: Real, plain: Real, sloped: Real, true: Real, free: Real) -> Calibration:
    """From values that are known.

    plain, sloped: what the model says without slopes and with all of them, (people, k).  true: (people, k),
    NaN where it is not known.  free: (people,) what the aggregates leave open of each, 1 - h.
    """
    shrunk, residuals = [], []
    for column in range(true.shape[1]):
        used = ~np.isnan(true[:, column]) & (free > 1e-9)
        if int(used.sum()) < FEWEST_KNOWN:
            raise DataError(
                f"known: {int(used.sum())} values are known of people in groups of several; at least "
                f"{FEWEST_KNOWN} are needed.",
                hint="give more, drawn at random, or none",
            )
        away, step = true[used, column] - plain[used, column], (sloped - plain)[used, column]
        noise = float(np.mean((away - prior[column] * step) ** 2))
        weight = noise + float(step @ step)
        best = prior[column] if weight <= 0 else (prior[column] * noise + float(away @ step)) / weight
        factor = float(np.clip(best, 0.0, _MOST))
        rest = np.abs(away - factor * step)
        lever = step**2 / weight if weight > 0 else np.zeros(len(step))
        shrunk.append(factor)
        residuals.append(rest / np.maximum(1.0 - lever, 1e-3) / np.sqrt(free[used]))
    return Calibration(np.array(shrunk), tuple(residuals))


def said(factors: Real, problem: LinearProblem) -> str | None:
    """A warning for who reads the result, or None."""
    least = float(factors.min(initial=1.0))
    groups, rank = _groups(problem), rank_of(problem.xx)
    few = f"{groups} groups cannot tell {rank} columns of X apart" if groups - 1 <= rank else ""
    if least < _NOTED:
        why = few or "what X says between groups need not hold within them"
        return f"slopes were shrunk to {least:.2g} of what groups say, as {why}; {_MORE}"
    return f"{few}; {_MORE}" if few else None
