"""Measures of information loss in the way of ARX: each says what it is, its range and its direction.

A suppressed row has lost everything. The measures that look at a target are in `information.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import plugins
from sfumato.anonymization.information import ColumnMI, Height, Precision, ValueMI
from sfumato.anonymization.measure import Blind, Costs, Floats, Measure, column_weights
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.errors import ParameterError, listed
from sfumato.plugins import Group

_INF = float("inf")


@dataclass(frozen=True)
class Loss(Blind):
    """ARX's Loss with the arithmetic mean, or NCP: the mean over cells of (share - 1/D) / (1 - 1/D).

    share: of a column's D leaves, how many lie under the released node. Columns count by their weights.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> method = sf.OptimalRecoding(sf.Loss())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    0.333
    """

    name = "loss"
    range = (0.0, 1.0)

    def cost(self, problem: Problem) -> Costs:
        """w_j / sum(w) (share - 1/D) / (1 - 1/D)."""
        weights = column_weights(problem)
        return tuple(w / weights.sum() * h.loss for w, h in zip(weights, problem.hierarchies, strict=True))

    def suppressed(self, problem: Problem) -> float:
        """A suppressed row has lost all of it."""
        return 1.0

    def score(self, recoding: Recoding) -> float:
        """The mean over rows."""
        return recoding.loss()


@dataclass(frozen=True)
class Entropy(Blind):
    """Non-uniform entropy: how surprising the original is, given what was released; a share of the most.

    A cell with value v released as node g loses log(n_g / n_v), n counted in the column; the score is the
    sum over cells by what it is where every cell is the root.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> method = sf.OptimalRecoding(sf.Entropy())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    0.231
    """

    name = "entropy"
    range = (0.0, 1.0)

    def cost(self, problem: Problem) -> Costs:
        """w_j log n_g: the part of the loss that hangs on the node; log n_v is the same for all recodings."""
        weights = column_weights(problem)
        return tuple(w * _log_rows(problem, j) for j, w in enumerate(weights))

    def score(self, recoding: Recoding) -> float:
        """sum_cells log(n_g / n_v) / sum_cells log(n / n_v)."""
        problem = recoding.problem
        found = most = 0.0
        for j, (w, h) in enumerate(zip(column_weights(problem), problem.hierarchies, strict=True)):
            logs = _log_rows(problem, j)
            own = logs[h.nodes[0][problem.leaves[recoding.of, j]]]
            node = np.where(recoding.suppressed, h.root, recoding.nodes[:, j])
            found += w * float(recoding.n @ (logs[node] - own))
            most += w * float(recoding.n @ (logs[h.root] - own))
        return found / most if most > 0 else 0.0


def _log_rows(problem: Problem, j: int) -> Floats:
    """(nodes,): log of the rows below each node of column j; 0 where there are none."""
    h = problem.hierarchies[j]
    rows = np.zeros(h.size)
    for level in range(h.height + 1):
        np.add.at(rows, h.nodes[level][problem.leaves[:, j]], problem.n)
    return np.log(np.maximum(rows, 1.0))


def _class_rows(recoding: Recoding) -> tuple[NDArray[np.int64], int]:
    """Rows of each class, and the suppressed ones."""
    _, sizes = recoding.classes()
    return sizes, int(recoding.n[recoding.suppressed].sum())


@dataclass(frozen=True)
class Discernibility(Blind):
    """Each row costs the rows it cannot be told from, a suppressed one all rows; as a share of n^2.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> method = sf.OptimalRecoding(sf.Discernibility())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    0.115
    """

    name = "discernibility"
    range = (0.0, 1.0)

    def score(self, recoding: Recoding) -> float:
        """(sum of sizes squared + suppressed n) / n^2."""
        sizes, lost = _class_rows(recoding)
        n = max(recoding.problem.rows, 1)
        return (float((sizes.astype(float) ** 2).sum()) + float(lost) * n) / n**2


@dataclass(frozen=True)
class AverageClassSize(Blind):
    """Rows per class; the suppressed rows are one class.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> method = sf.OptimalRecoding(sf.AverageClassSize())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    16.667
    """

    name = "average class size"
    range = (1.0, _INF)

    def score(self, recoding: Recoding) -> float:
        """n / classes."""
        sizes, lost = _class_rows(recoding)
        return recoding.problem.rows / max(len(sizes) + (lost > 0), 1)


@dataclass(frozen=True)
class Ambiguity(Blind):
    """How many different rows a released row could have been, at the mean: the product of its leaf counts.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> method = sf.OptimalRecoding(sf.Ambiguity())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    2.0
    """

    name = "ambiguity"
    range = (1.0, _INF)

    def score(self, recoding: Recoding) -> float:
        """Mean over rows of the product over columns of the leaves below the cell."""
        product = np.ones(len(recoding.of))
        for j, h in enumerate(recoding.problem.hierarchies):
            product *= h.leaf_counts[np.where(recoding.suppressed, h.root, recoding.nodes[:, j])]
        return float((product * recoding.n).sum() / max(recoding.problem.rows, 1))


MEASURES: dict[str, Callable[..., Measure]] = {
    "loss": Loss,
    "ncp": Loss,
    "height": Height,
    "precision": Precision,
    "entropy": Entropy,
    "discernibility": Discernibility,
    "class-size": AverageClassSize,
    "ambiguity": Ambiguity,
}
INFORMED: dict[str, Callable[..., Measure]] = {  # they look at a target, which must be named
    "column-information": ColumnMI,
    "value-information": ValueMI,
}
OURS = (*MEASURES, *INFORMED)
_SAYS = ("name", "monotone", "range", "better", "reads_outcome", "needs", "score")


def guest_measure(name: str) -> type | None:
    """The class of a measure that another package brings under this name; None if there is none."""
    found: type | None = plugins.find(Group.MEASURES, name, _require_measure, OURS)
    return found


def guest_measures() -> dict[str, type]:
    """All of them, by name; they are loaded."""
    return plugins.found(Group.MEASURES, _require_measure, OURS)


def _require_measure(name: str, kind: object) -> None:
    lacking = [part for part in _SAYS if not hasattr(kind, part)]
    if not isinstance(kind, type) or lacking:
        raise ParameterError(f"a measure of loss lacks {listed(lacking)}", hint="docs/guests.md")


def measure_of(given: str | Measure) -> Measure:
    """A measure, or the one of that name."""
    if isinstance(given, str):
        if given in INFORMED:
            raise ParameterError(f"the measure {given} needs a target.", hint="sf.ColumnMI(target='cost')")
        kind = MEASURES.get(given) or guest_measure(given)
        if kind is None:
            known = [*MEASURES, *plugins.names(Group.MEASURES, OURS)]
            raise ParameterError("a measure that is not known.", hint=f"one of {', '.join(known)}")
        return kind()
    if not isinstance(given, Measure):
        raise ParameterError("this is not a measure of loss.", hint="loss='ncp', or sf.Loss()")
    return given
