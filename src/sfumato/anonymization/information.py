"""The thesis' measures of information loss: height, precision, and mutual information with a target.

"p. 26" and so on are pages of Katirai, A Theory and Toolkit for the Mathematics of Privacy (2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.measure import Blind, Costs, Floats, column_weights, mean_cost
from sfumato.anonymization.outcome import MOST, outcome
from sfumato.anonymization.problem import Problem
from sfumato.anonymization.recoding import Recoding
from sfumato.errors import ParameterError
from sfumato.hierarchy import Augmented, Hierarchy
from sfumato.measures import mutual_information
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Flag, Number, Text

_INF = math.inf


def heights(hierarchy: Hierarchy) -> Floats:
    """(nodes,): h / M, the level of a node by that of the root; a hierarchy of one level has 0."""
    return np.asarray(hierarchy.level_of / max(1, hierarchy.height), np.float64)


_TARGET = Parameter(Text("The column that values are judged by, such as the cost."), columns=True)
_CORRECTED = Parameter(Flag("Less the bias of the plug-in estimate, never below 0."))
_MOST_OUTCOMES = Parameter(Number("Targets with more outcomes are pooled into that many.", 2, whole=True))


@dataclass(frozen=True)
class Height(Blind):
    """Vinterbo-1.0 (p. 57): a row costs sum_i w_i h_i / M_i, h the level of a cell and M that of the root.

    The score is the mean over rows; 0 nothing was lost, the sum of the weights everything.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> method = sf.OptimalRecoding(sf.Height())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    1.0
    """

    name = "height"
    range = (0.0, _INF)

    def cost(self, problem: Problem) -> Costs:
        """w_i h / M_i."""
        weights = column_weights(problem)
        return tuple(w * heights(h) for w, h in zip(weights, problem.hierarchies, strict=True))

    def score(self, recoding: Recoding) -> float:
        """Mean over rows of sum_i w_i h_i / M_i."""
        return mean_cost(recoding, self.cost(recoding.problem))


@dataclass(frozen=True)
class Precision(Blind):
    """Sweeney's PREC (equation 1, p. 26): 1 - the weighted mean of h / M over all cells; **1 is best**.

    >>> people = sf.samples.members(200).select(["sex", "region", "insurance"])
    >>> ladders = dict.fromkeys(people.columns, sf.hierarchy.Suppression())
    >>> method = sf.OptimalRecoding(sf.Precision())
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    0.667
    """

    name = "precision"
    range = (0.0, 1.0)
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def cost(self, problem: Problem) -> Costs:
        """What is taken off the score: (w_i / sum w) h / M_i."""
        weights = column_weights(problem)
        total = weights.sum() or 1.0
        return tuple(w / total * heights(h) for w, h in zip(weights, problem.hierarchies, strict=True))

    def score(self, recoding: Recoding) -> float:
        """1 - mean cost; 1 where nothing was generalized, 0 where all is suppressed."""
        return 1.0 - mean_cost(recoding, self.cost(recoding.problem))


@dataclass(frozen=True)
class ColumnMI:
    """Height, each column weighed by its mutual information with a target (Col-MI, p. 58), in bits.

    corrected: less the plug-in estimate's bias (Kx - 1)(Kc - 1) / (2N ln 2), never below 0; the thesis has
    the raw estimate, which favours columns with many values.
    graded: a cell costs the information its column has lost on that level, instead of w h / M.
    floor: the least weight of a column, as a share of the largest: what tells nothing about the target is
    still not destroyed for nothing. 0 is the thesis' rule.
    most: a target with more outcomes is pooled into that many parts, see `outcome`.

    >>> people = sf.samples.members(60).select(["sex", "insurance", "diabetes"])
    >>> ladders = dict.fromkeys(["sex", "insurance"], sf.hierarchy.Suppression())
    >>> method = sf.Partition(loss=sf.ColumnMI("diabetes"))
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    0.014
    """

    target: Annotated[str, _TARGET]
    corrected: Annotated[bool, _CORRECTED] = True
    graded: Annotated[
        bool, Parameter(Flag("A cell costs the information its column has lost on that level."))
    ] = False
    floor: Annotated[
        float, Parameter(Number("The least weight of a column, as a share of the largest.", 0, 1))
    ] = 1e-3
    most: Annotated[int, _MOST_OUTCOMES] = MOST

    name = "column information"
    monotone = True
    range = (0.0, _INF)
    better: ClassVar[Literal["lower"]] = "lower"
    reads_outcome = True

    def __post_init__(self) -> None:
        _check(self.target, self.most)
        if not 0 <= self.floor <= 1:
            raise ParameterError("floor must be in [0, 1].", hint="a share of the largest column weight")

    @property
    def needs(self) -> tuple[str, ...]:
        """The target."""
        return (self.target,)

    def levels(self, problem: Problem) -> tuple[Floats, ...]:
        """For each column, (levels,): the mutual information with the target on each level, in bits."""
        found = outcome(problem, self.target, self.most)
        table = Augmented(problem.columns, problem.hierarchies)
        cells = table.expand(problem.leaves)  # a leaf is the node of its own number
        return tuple(
            self._of_levels(found.by_cell(cells[:, a:b], h.size), h)
            for h, (a, b) in zip(problem.hierarchies, pairwise(table.starts.tolist()), strict=True)
        )

    def _of_levels(self, tables: list[NDArray[np.int64]], hierarchy: Hierarchy) -> Floats:
        """I(X; C) of each implied column X of the augmented table, and of the root, which tells nothing.

        Generalizing suppresses these columns one after the other, and cannot add information.
        """
        ends = pairwise(hierarchy.offsets.tolist())
        bits = [
            mutual_information(table[a:b], corrected=self.corrected) / math.log(2)
            for table, (a, b) in zip(tables, ends, strict=False)
        ]
        bits.append(0.0)
        # The correction may lift a coarser level above a finer one, or push one below 0: neither is real.
        rising = np.maximum.accumulate(np.maximum(bits, 0.0)[::-1])[::-1]
        return np.asarray(rising, np.float64)

    def cost(self, problem: Problem) -> Costs:
        """w_i I(X_i; C) h / M_i, or w_i (I of level 0 - I of the level)."""
        bits = self.levels(problem)
        weights = column_weights(problem)
        least = self.floor * max((float(b[0]) for b in bits), default=0.0)
        if self.graded:
            lost = [(b[0] - b)[h.level_of] for b, h in zip(bits, problem.hierarchies, strict=True)]
            return tuple(
                w * (x + least * heights(h))
                for w, x, h in zip(weights, lost, problem.hierarchies, strict=True)
            )
        return tuple(
            w * max(float(b[0]), least) * heights(h)
            for w, b, h in zip(weights, bits, problem.hierarchies, strict=True)
        )

    def score(self, recoding: Recoding) -> float:
        """Mean over rows of the summed cell costs, in bits."""
        return mean_cost(recoding, self.cost(recoding.problem))


@dataclass(frozen=True)
class ValueMI:
    """Each value by what it tells about the target (Value-MI, p. 58), in bits.

    A value x is worth i(x) = sum_c p(c|x) log2(p(c|x) / p(c)), so that the mean over the rows is the mutual
    information of the column; with `event`, the place of one outcome, it is the thesis' |PMI(x, event)|.
    A cell costs what its node is worth less than the best node of its column.

    Not monotone, even in the population: a value may tell less than what it generalizes to. Searches take
    the costs as they are and prune nothing by them. `monotone=True` charges a node the largest cost beneath
    it: the smallest monotone measure that is never less.
    least: nodes with fewer rows are worth what their nearest ancestor with enough is (the thesis: 6).
    corrected: less the bias (Kc - 1) / (2 ln 2) (1/n_x - 1/N), never below 0; not for `event`.

    >>> people = sf.samples.members(60).select(["sex", "insurance", "diabetes"])
    >>> ladders = dict.fromkeys(["sex", "insurance"], sf.hierarchy.Suppression())
    >>> method = sf.Partition(loss=sf.ValueMI("diabetes"))
    >>> release = sf.anonymize(people, sf.KAnonymity(5), method=method, hierarchies=ladders)
    >>> round(release.internal.extra["search"]["score"], 3)
    0.077
    """

    target: Annotated[str, _TARGET]
    event: Annotated[
        int | None, Parameter(Number("The place of one outcome: |PMI(x, event)| instead.", 0, whole=True))
    ] = None
    monotone: Annotated[
        bool, Parameter(Flag("Charge a node the largest cost beneath it: the least monotone measure."))
    ] = False
    least: Annotated[
        int,
        Parameter(Number("Nodes with fewer rows are worth what an ancestor is.", 1, whole=True)),
    ] = 6
    corrected: Annotated[bool, _CORRECTED] = True
    most: Annotated[int, _MOST_OUTCOMES] = MOST

    name = "value information"
    range = (0.0, _INF)
    better: ClassVar[Literal["lower"]] = "lower"
    reads_outcome = True

    def __post_init__(self) -> None:
        _check(self.target, self.most)
        if self.least < 1:
            raise ParameterError("least must be at least 1.", hint="rows a value needs to be judged")
        if self.event is not None and self.event < 0:
            raise ParameterError("event must be the place of an outcome, from 0 up.", hint="event=1")

    @property
    def needs(self) -> tuple[str, ...]:
        """The target."""
        return (self.target,)

    def worth(self, problem: Problem) -> tuple[Floats, ...]:
        """For each column, (nodes,): i(x) or |PMI(x, event)|, in bits."""
        found = outcome(problem, self.target, self.most)
        count = found.levels
        if self.event is not None and self.event >= count:
            raise ParameterError(
                f"event is {self.event}, but the target has {count} outcomes (a pool is one).",
                hint="places count from 0; most= says how many outcomes are told apart",
            )
        return tuple(self._of_nodes(h, found.by_node(problem, j)) for j, h in enumerate(problem.hierarchies))

    def _of_nodes(self, hierarchy: Hierarchy, table: NDArray[np.int64]) -> Floats:
        rows = table.sum(1)
        everyone = int(rows[hierarchy.root])
        given = table / np.maximum(rows, 1)[:, None]  # p(c|x)
        overall = table[hierarchy.root] / everyone  # p(c)
        with np.errstate(divide="ignore", invalid="ignore"):
            pmi = np.where(given > 0, np.log2(given / overall), 0.0)
        if self.event is None:
            worth = (given * pmi).sum(1)
            if self.corrected:
                seen = int((overall > 0).sum())
                bias = (seen - 1) / (2 * math.log(2)) * (1 / np.maximum(rows, 1) - 1 / everyone)
                worth = worth - bias
            worth = np.maximum(worth, 0.0)
        else:
            # Never seen together: log2 0. Half a row stands in, so that the worth stays finite.
            half = np.log2(0.5 / np.maximum(rows, 1) / max(overall[self.event], 0.5 / everyone))
            worth = np.abs(np.where(given[:, self.event] > 0, pmi[:, self.event], half))
            worth[rows == 0] = 0.0
        for below, above in zip(hierarchy.nodes[-2::-1], hierarchy.nodes[:0:-1], strict=True):
            rare = rows[below] < self.least
            worth[below[rare]] = worth[above[rare]]
        return np.asarray(worth, np.float64)

    def cost(self, problem: Problem) -> Costs:
        """w_i (largest worth in column i - worth of the node); with monotone, the largest beneath a node."""
        costs = []
        for w, h, worth in zip(
            column_weights(problem), problem.hierarchies, self.worth(problem), strict=True
        ):
            cost = worth.max() - worth
            if self.monotone:
                for below, above in zip(h.nodes[:-1], h.nodes[1:], strict=True):
                    np.maximum.at(cost, above, cost[below])
            costs.append(np.asarray(w * cost, np.float64))
        return tuple(costs)

    def score(self, recoding: Recoding) -> float:
        """Mean over rows of the summed cell costs, in bits. Not 0 for an untouched table in general."""
        return mean_cost(recoding, self.cost(recoding.problem))


def _check(target: str, most: int) -> None:
    faults = [] if target else ["a target column must be named"]
    if most < 2:
        faults.append("most must be at least 2")
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="ColumnMI(target='charge')")
