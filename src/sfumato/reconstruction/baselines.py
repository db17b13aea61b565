"""MP and ER: what a reconstruction has to beat (dissertation, section 4.1).

MP gives everybody the mean of their group; ER fits one line to the groups' means and applies it to people.
With the correction, which is not LUDIA's alone, ER meets the aggregates too and has random intercepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.features.design import Design
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.factor import diagonal
from sfumato.reconstruction.fitted_model import Effects, FittedReconstruction, LinearRule, require_known
from sfumato.reconstruction.groups import Grouping, match
from sfumato.reconstruction.moments import Filler, Missing, Moments, moments_of
from sfumato.reconstruction.problem import LinearProblem, held_out
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.sources import DataLike

Real = NDArray[np.float64]


@dataclass(frozen=True)
class MoorePenrose:
    """MP: y = A^+ s. Every person gets the mean of the group; nothing else about them is used.

    partial: groups may be missing among the aggregates or among the people.

    >>> people = sf.samples.members(200).select(["region", "age", "cost"])
    >>> published = sf.Aggregates.compute(people, by="region", values="cost")
    >>> estimate = sf.MoorePenrose().fit(people.drop(["cost"]), published).reconstruct().numbers()[:, 0]
    >>> len(set(estimate.round(6).tolist()))
    4
    """

    partial: bool = False

    def fit(self, individuals: Table | DataLike, aggregates: Aggregates) -> FittedReconstruction:
        """Match the aggregates with the people."""
        table = opened(individuals)
        grouping = match(aggregates, table, partial=self.partial)
        filler = Filler(Design((), (), np.zeros(0)))
        # People without a published group get the mean of all who have one.
        first = grouping.level_of == 0
        middle = grouping.sizes[first] @ grouping.s[first] / grouping.sizes[first].sum()
        offsets = kappa(grouping, grouping.s - middle)
        rule = LinearRule(filler, grouping, middle[None, :], offsets)
        return FittedReconstruction("MP", table, grouping, rule, foretold=lambda: _from_others(grouping))


@dataclass(frozen=True)
class EcologicalRegression:
    """ER: y = X beta, beta by least squares of the published means on the means of X.

    correction: add A^+ (s - A X beta), so that the result meets the aggregates.
    weighted: groups count by their size; alike by default, as printed.
    columns: of the individuals, for X; by default all that say something about a person.
    missing: what to do with missing numbers: "indicator", "em" or "refuse".

    >>> people = sf.samples.members(200).select(["region", "age", "cost"])
    >>> published = sf.Aggregates.compute(people, by="region", values="cost")
    >>> line = sf.EcologicalRegression(correction=True, columns=["age"])
    >>> line.fit(people.drop(["cost"]), published).reconstruct().numbers().shape
    (200, 1)
    """

    correction: bool = False
    weighted: bool = False
    columns: Sequence[str] | None = None
    missing: Missing = "indicator"
    partial: bool = False

    def __post_init__(self) -> None:
        require_known(common_faults(self.columns, self.missing), "EcologicalRegression")
        object.__setattr__(self, "columns", None if self.columns is None else tuple(self.columns))

    def fit(self, individuals: Table | DataLike, aggregates: Aggregates) -> FittedReconstruction:
        """One reading for the sums, then a regression on as many rows as there are groups."""
        table, grouping, moments = gathered(individuals, aggregates, self.columns, self.missing, self.partial)
        problem = LinearProblem.of(moments, grouping)
        slopes = self._slopes(problem)
        rule = linear(moments, grouping, slopes, self.correction)
        name = "ER + correction" if self.correction else "ER"
        return FittedReconstruction(
            name, table, grouping, rule, moments=moments, corrected=self.correction,
            foretold=lambda: held_out(problem, self._slopes),
        )  # fmt: skip

    def _slopes(self, problem: LinearProblem) -> Real:
        t = problem.statistics
        one = np.ones(len(problem.sizes)) if t.turn is None else t.turn.sum(axis=1)
        z = np.column_stack([one, t.ax])
        weight = 1.0 / np.sqrt(t.aa) if self.weighted else np.ones(len(t.aa))
        found = np.linalg.lstsq(z * weight[:, None], t.s * weight[:, None], rcond=1e-10)[0]
        beta: Real = found.astype(np.float64, copy=False)
        return problem.slopes(beta[1:], beta[0])


# -- what the linear methods share -------------------------------------------------------------------


def opened(individuals: Table | DataLike) -> Table:
    """A table of anything that can be scanned."""
    from sfumato.io import scan

    return individuals if isinstance(individuals, Table) else scan(individuals, keep_text=True)


def common_faults(columns: object, missing: object) -> list[str]:
    """What can be wrong with the parameters that all methods have."""
    faults = []
    if isinstance(columns, str):
        faults.append("columns is a list of names")
    if missing not in ("indicator", "em", "refuse"):
        faults.append("missing is 'indicator', 'em' or 'refuse'")
    return faults


def gathered(
    individuals: Table | DataLike,
    aggregates: Aggregates,
    columns: Sequence[str] | None,
    missing: Missing,
    partial: bool,
) -> tuple[Table, Grouping, Moments]:
    """The aggregates matched, X laid out, its moments summed."""
    table = opened(individuals)
    grouping = match(aggregates, table, partial=partial)
    design = Design.of_people(table, columns, grouping.columns)
    return table, grouping, moments_of(table, design, grouping, missing)


def _from_others(grouping: Grouping) -> tuple[Real, Real]:
    """Each group's mean less that of all people of the other groups."""
    first = grouping.level_of == 0
    s, sizes = grouping.s[first], grouping.sizes[first]
    if len(sizes) < 2:
        return np.zeros((0, s.shape[1])), np.zeros(0)
    others = (sizes @ s - sizes[:, None] * s) / (sizes.sum() - sizes)[:, None]
    return s - others, sizes


def kappa(grouping: Grouping, rest: Real) -> Real:
    """The correction (equation 4.7): A^+ rest at each row of A, (p, k), for rest = s - A y so far."""
    empty = np.zeros((0, 0))
    found = np.zeros_like(rest)
    for _ in range(2):  # the second round removes what rounding left of the first
        t, _ = diagonal(empty, np.zeros((len(rest), 0)), grouping.gram, rest)
        step = t.back(t.s / t.aa[:, None])
        found += step
        rest = rest - (grouping.gram[:, None] * step if grouping.gram.ndim == 1 else grouping.gram @ step)
    out: Real = found / grouping.sizes[:, None]
    return out


def linear(
    moments: Moments,
    grouping: Grouping,
    slopes: Real,
    correction: bool,
    offsets: Real | None = None,
    effects: Effects | None = None,
    shifted: Real | None = None,
) -> LinearRule:
    """The rule with or without the correction. shifted: A G gamma of the effects, (p, k)."""
    if offsets is None:
        offsets = np.zeros_like(grouping.s)
    if correction:
        rest = grouping.s - moments.ax @ slopes - (0.0 if shifted is None else shifted)
        offsets = kappa(grouping, rest)
    return LinearRule(moments.filler, grouping, slopes, offsets, effects)
