"""Transfer: rows of all tasks weighted so that together they stand for one of them.

Wei et al. section 2: w(x, y | t) = p(x, y | t) / sum_t' p(t') p(x, y | t') * q(x | t) / p(x | t). The first
factor is p(t | x, y) / p(t): how much a row looks like one of task t. The second is the covariate shift
from the task's training rows to the people it will be used on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.features.alignment import Aligned, align
from sfumato.features.design import one_hot
from sfumato.features.numbers import complete_numbers
from sfumato.table import Table
from sfumato.workloads.shift import Weights, effective_size

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def transfer_weights(
    tasks: Sequence[Table],
    task: int,
    columns: Sequence[str],
    response: str,
    *,
    target: Table | None = None,
    method: Literal["counts", "logistic"] = "counts",
    bins: int = 10,
    smoothing: float = 0.0,
) -> Weights:
    """Weights for the rows of all tasks, one table after the other, to learn task number `task`.

    target: people the task's model will be used on; None: those of its own training rows.
    bins: a numeric response is cut at this many quantiles of all tasks.
    smoothing: rows added to each task at every combination that occurs (counts only).

    >>> wards = [sf.samples.members(200, seed=seed) for seed in (1, 2)]
    >>> weights = sf.transfer_weights(wards, 0, ["sex"], "diabetes")
    >>> weights.values.shape
    (400,)
    """
    if not 0 <= task < len(tasks) or len(tasks) < 2:
        raise ParameterError("there must be two tasks at least, and `task` be one of them.", hint="task=0")
    if bins < 1:
        raise ParameterError("bins must be at least 1.", hint="bins=10")
    aligned = align([*tasks, *([target] if target is not None else [])], columns)
    codes = np.concatenate([aligned.codes[i] for i in range(len(tasks))])
    which = np.repeat(np.arange(len(tasks)), [len(aligned.codes[i]) for i in range(len(tasks))])
    y = np.concatenate([complete_numbers(t, response) for t in tasks])
    share = np.bincount(which) / len(which)
    if method == "counts":
        likeness = _by_counts(aligned, codes, _binned(y, bins), which, task, smoothing)
    elif method == "logistic":
        likeness = _by_logistic(aligned, codes, y, which, task)
    else:
        raise ParameterError("method must be counts or logistic.", hint="method='counts'")
    values = likeness / share[task] * _shift(aligned, codes, which, task, target is not None)
    if not values.sum() > 0:
        raise DataError("no row stands for the task.", hint="fewer or coarser columns, or smoothing=1")
    values = values / values.mean()
    return Weights(values, effective_size(values), 0, 0.0)


def _binned(y: Floats, bins: int) -> Ints:
    distinct = np.unique(y)
    if len(distinct) <= bins:
        return np.searchsorted(distinct, y)
    return np.searchsorted(np.unique(np.quantile(y, np.arange(1, bins) / bins)), y, side="right")


def _by_counts(aligned: Aligned, codes: Ints, y: Ints, which: Ints, task: int, smoothing: float) -> Floats:
    """p(t | x, y): among rows of the same combination, the share of the task's."""
    cells = np.ravel_multi_index((*codes.T, y), (*aligned.sizes, int(y.max()) + 1))
    _, cell = np.unique(cells, return_inverse=True)
    tasks = int(which.max()) + 1
    table = np.zeros((int(cell.max()) + 1, tasks))
    np.add.at(table, (cell, which), 1.0)
    table += smoothing
    found: Floats = (table[:, task] / table.sum(axis=1))[cell]
    return found


def _by_logistic(aligned: Aligned, codes: Ints, y: Floats, which: Ints, task: int) -> Floats:
    from sklearn.linear_model import LogisticRegression

    scaled = (y - y.mean()) / (y.std() or 1.0)
    x = np.column_stack([one_hot(codes, aligned.sizes, first=1), scaled, scaled**2])
    model = LogisticRegression(max_iter=1_000).fit(x, which)
    found: Floats = model.predict_proba(x)[:, task]
    return found


def _shift(aligned: Aligned, codes: Ints, which: Ints, task: int, shifted: bool) -> Floats:
    """q(x | t) / p(x | t) by counts; 1 where the people are the same."""
    if not shifted:
        return np.ones(len(codes))
    cells = np.ravel_multi_index(tuple(codes.T), aligned.sizes)
    p = np.bincount(cells[which == task], minlength=aligned.cells) / (which == task).sum()
    goal = aligned.joint(len(aligned.codes) - 1)
    q = np.bincount(goal, minlength=aligned.cells) / len(goal)
    ratio: Floats = np.divide(q, p, out=np.zeros(aligned.cells), where=p > 0)[cells]
    return ratio
