"""What every measure of information loss says of itself, and what most of them share.

A *cell measure* is a sum over cells: what a cell costs depends on its column and the node it is released
as. Searches run on the table of those costs. Every other measure only scores a finished recoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding

Floats = NDArray[np.float64]
Costs = tuple[Floats, ...]


@runtime_checkable
class Measure(Protocol):
    """How much a recoding has lost.

    The choices of a search that is guided by a measure which reads the outcome tell a little about that
    column. What a measure needs is counted by `compress(..., sensitive=measure.needs)`.
    """

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether no generalization ever lowers the loss."""
        ...

    @property
    def range(self) -> tuple[float, float]:
        """Of `score`."""
        ...

    @property
    def better(self) -> Literal["lower", "higher"]:
        """Which end of the range is the good one."""
        ...

    @property
    def reads_outcome(self) -> bool:
        """Whether it looks at a target column."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that must be counted besides the quasi-identifiers."""
        ...

    def score(self, recoding: Recoding) -> float:
        """One number for the whole recoding, in `range`; which direction is good says `better`."""
        ...


@runtime_checkable
class CellMeasure(Measure, Protocol):
    """A measure that is a sum over cells."""

    def cost(self, problem: Problem) -> Costs:
        """For each column, (nodes,): what a cell costs that is released as that node.

        Never negative, lower is better whatever `better` says of the score, column weights included.
        """
        ...


class Blind:
    """A measure that looks at no outcome, is better when lower, and never falls by generalizing."""

    monotone: ClassVar[bool] = True
    better: ClassVar[Literal["lower", "higher"]] = "lower"
    reads_outcome: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()


def column_weights(problem: Problem) -> Floats:
    """The problem's column weights; none given: one each."""
    return np.ones(len(problem.columns)) if problem.weights is None else np.asarray(problem.weights, float)


def mean_cost(recoding: Recoding, costs: Sequence[Floats]) -> float:
    """The mean over rows of a row's summed cell costs; a suppressed row costs what its roots cost."""
    rows = np.zeros(len(recoding.of))
    for j, (cost, hierarchy) in enumerate(zip(costs, recoding.problem.hierarchies, strict=True)):
        rows += cost[np.where(recoding.suppressed, hierarchy.root, recoding.nodes[:, j])]
    total = recoding.n.sum()
    return float((rows * recoding.n).sum() / total) if total else 0.0
