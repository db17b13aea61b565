"""CUDIA: people come in clusters; groups mix them; the masked column has a centre per cluster (section 4.2).

    pi_p ~ Dirichlet(alpha),  z ~ pi_p,  x ~ p(x | z),  s_p ~ N(pi_p eta, Sigma_p^2)        (4.2 to 4.4)

Two ways to fit it. "deterministic": U is one-hot, people are moved greedily from cluster to cluster as long
as that lowers the negative log-likelihood. "mcem": Monte Carlo EM; the E-step is a Gibbs sampler whose step
for pi_p, which has no closed form, proposes from Dirichlet(alpha + members) and accepts by the likelihood
of s_p.

What the print leaves open, said aloud: W = diag(1 / Sigma_p^2); the ridge draws eta towards the overall
mean, not to zero; T^2 is one number for all clusters, since P group means cannot tell K of them apart, with
a floor below which the aggregates would overrule everything. Given one-hot U, the mean of a group varies by
T^2 / N_p only. x: numbers are normal with a variance per cluster, categories multinomial, independent
within a cluster; what is missing is left out of the likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.features.design import Design, one_hot
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.baselines import opened
from sfumato.reconstruction.fitted_model import FittedReconstruction, require_known
from sfumato.reconstruction.groups import Grouping, match
from sfumato.reconstruction.mixture import Individuals, MixtureFit, Theta, greedy, monte_carlo
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.sources import DataLike
    from sfumato.table import Table

Real = NDArray[np.float64]

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class ClusterRule:
    """From a person's x and group to clusters, and from those to y = sum of shares times centres.

    centres: (K, k), eta.  shares: (P, K), pi of each group.  pull: (P, K), what s adds to a cluster's
    log-likelihood for a person of the group.  offsets: (P, k), the correction.  hard: one cluster each.
    """

    design: Design
    grouping: Grouping
    scale: tuple[Real, Real]
    theta: Theta
    centres: Real
    shares: Real
    pull: Real
    offsets: Real
    hard: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys([*self.design.columns, *self.grouping.columns]))

    def memberships(self, columns: Mapping[str, pa.Array]) -> Real:
        """How much each person belongs to each cluster, (people, K)."""
        rows = self.grouping.places[0].of(columns)
        return self.of_people(people_of(self.design, columns, rows, self.scale))

    def of_people(self, people: Individuals) -> Real:
        """The same, of people already read."""
        pull = np.vstack([self.pull, np.zeros(self.pull.shape[1])])  # group -1 has no s
        log = self.theta.log_likelihood(people) + pull[people.group]
        if self.hard:
            return np.asarray(np.eye(log.shape[1])[np.argmax(log, axis=1)])
        log -= log.max(axis=1, keepdims=True)
        share = np.exp(log)
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    def __call__(self, columns: Mapping[str, pa.Array]) -> Real:
        """Values, (people, masked columns)."""
        rows = self.grouping.places[0].of(columns)
        offsets = np.vstack([self.offsets, np.zeros(self.offsets.shape[1])])
        return np.asarray(self.memberships(columns) @ self.centres + offsets[rows])


@dataclass(frozen=True)
class CUDIA:
    """Clustering using features with different levels of aggregation (Algorithm 1).

    clusters: K.  variant: "deterministic" or "mcem".
    iterations: at most so many rounds; the deterministic one stops when nobody moves.
    draws: sweeps of the Gibbs sampler in each E-step, after a fifth as many that are thrown away.
    ridge: how strongly centres are drawn to the overall mean, as a share of what the data weigh.
    floor: T^2 is at least this share of the mean square between groups.
    correction: add A^+ (s - A y), so that the result meets the aggregates; the print has cluster centres
    alone. columns: of the individuals; by default all that say something about a person. seed: for the
    start and the draws; None draws another each time.

    >>> people = sf.samples.members(200).select(["region", "age", "cost"])
    >>> published = sf.Aggregates.compute(people, by="region", values="cost")
    >>> result = sf.CUDIA(clusters=2, seed=1).fit(people.drop(["cost"]), published).reconstruct()
    >>> result.data.columns
    ('region', 'age', 'cost')
    """

    clusters: int = 3
    variant: Literal["deterministic", "mcem"] = "deterministic"
    iterations: int = 50
    draws: int = 20
    ridge: float = 1e-3
    floor: float = 1e-3
    correction: bool = True
    columns: Sequence[str] | None = None
    partial: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        faults = []
        for name in ("clusters", "iterations", "draws"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                faults.append(f"{name} is a whole number from 1")
        if self.variant not in ("deterministic", "mcem"):
            faults.append("variant is 'deterministic' or 'mcem'")
        for name in ("ridge", "floor"):
            if not 0.0 < getattr(self, name) < np.inf:
                faults.append(f"{name} is positive")
        if isinstance(self.columns, str):
            faults.append("columns is a list of names")
        require_known(faults, "CUDIA")
        object.__setattr__(self, "columns", None if self.columns is None else tuple(self.columns))

    def fit(self, individuals: Table | DataLike, aggregates: Aggregates) -> FittedReconstruction:
        """The people are read into memory: unlike LUDIA's, this model needs each of them in every round."""
        table = opened(individuals)
        if len(aggregates.levels) > 1:
            raise ParameterError("CUDIA takes one level of aggregates.", hint="LUDIA takes several")
        grouping = match(aggregates, table, partial=self.partial)
        design = Design.of_people(table, self.columns, grouping.columns)
        names = list(dict.fromkeys([*design.columns, *grouping.columns]))
        parts = [dict(zip(names, b.columns, strict=True)) for b in table.batches(names)]
        rows = [grouping.places[0].of(p) for p in parts]
        scale = _scale(design, parts)
        people = Individuals.joined(
            [people_of(design, p, r, scale) for p, r in zip(parts, rows, strict=True)]
        )
        if len(people.group) < self.clusters:
            raise DataError("there are fewer people than clusters.", hint="clusters=1")
        key = Key.fresh() if self.seed is None else Key.from_seed(self.seed)
        generator = key.generator("cudia")
        start = _start(people, self.clusters, int(generator.integers(2**31)))
        found = self._cluster(people, grouping, start)
        rule = ClusterRule(
            design, grouping, scale, found.theta, found.eta, found.pi, found.pull,
            np.zeros_like(grouping.s), self.variant == "deterministic",
        )  # fmt: skip
        rest = grouping.s - _means(people.group, rule.of_people(people) @ found.eta, grouping.sizes)
        if self.correction:
            rule = replace(rule, offsets=rest)  # A^+ of a partition
        chosen = {"clusters": self.clusters, "variant": self.variant, "within": found.within}
        return FittedReconstruction(
            "CUDIA", table, grouping, rule, found.trace, chosen,
            foretold=lambda: self._foretold(rule, people, start), corrected=self.correction,
        )  # fmt: skip

    def _cluster(self, people: Individuals, grouping: Grouping, start: NDArray[np.int64]) -> MixtureFit:
        """Either way to fit."""
        if self.variant == "deterministic":
            return greedy(
                people, grouping.s, grouping.sizes, start,
                ridge=self.ridge, floor=self.floor, iterations=self.iterations,
            )  # fmt: skip
        key = Key.fresh() if self.seed is None else Key.from_seed(self.seed)
        generator = key.generator("cudia")
        generator.integers(2**31)  # the start took this one
        return monte_carlo(
            people, grouping.s, grouping.sizes, start,
            ridge=self.ridge, floor=self.floor, iterations=self.iterations, draws=self.draws,
            generator=generator,
        )  # fmt: skip

    def _foretold(
        self, rule: ClusterRule, people: Individuals, start: NDArray[np.int64]
    ) -> tuple[Real, Real]:
        """Groups in five parts, each foretold by clusters and centres that were fitted without its means."""
        grouping = rule.grouping
        order = np.argsort(-grouping.sizes, kind="stable")
        rests = np.zeros_like(grouping.s)
        for fold in range(min(_FOLDS, len(order))):
            held = np.zeros(len(order), bool)
            held[order[fold::_FOLDS]] = True
            if held.all():
                return rests[:0], grouping.sizes[:0]
            row = np.append(np.where(held, -1, np.cumsum(~held) - 1), -1)
            others = replace(grouping, s=grouping.s[~held], sizes=grouping.sizes[~held])
            found = self._cluster(replace(people, group=row[people.group]), others, start)
            blind = replace(
                rule, theta=found.theta, centres=found.eta, pull=np.zeros((len(order), len(found.eta)))
            )
            y = blind.of_people(people) @ found.eta
            rests[held] = (grouping.s - _means(people.group, y, grouping.sizes))[held]
        return rests, grouping.sizes


def _means(group: NDArray[np.int64], y: Real, sizes: Real) -> Real:
    there = group >= 0
    sums = [np.bincount(group[there], y[there, j], len(sizes)) for j in range(y.shape[1])]
    return np.asarray(np.column_stack(sums) / sizes[:, None])


def people_of(
    design: Design, columns: Mapping[str, pa.Array], rows: NDArray[np.int64], scale: tuple[Real, Real]
) -> Individuals:
    """Numbers standardized, NaN where missing; categories as codes; the group of each."""
    x, gaps = design.measured(columns)
    numbers = np.where(gaps, np.nan, (x - scale[0]) / scale[1])
    return Individuals(numbers, design.codes(columns), tuple(b.size for b in design.books), rows)


def _scale(design: Design, parts: Sequence[Mapping[str, pa.Array]]) -> tuple[Real, Real]:
    """Mean and standard deviation of each number."""
    d = len(design.numbers)
    n, first, second = np.zeros(d), np.zeros(d), np.zeros(d)
    for part in parts:
        x, gaps = design.measured(part)
        n += (~gaps).sum(axis=0)
        first += x.sum(axis=0)
        second += (x**2).sum(axis=0)
    mean = first / np.maximum(n, 1)
    deviation = np.sqrt(np.maximum(second / np.maximum(n, 1) - mean**2, 0.0))
    return mean, np.where(deviation > 0, deviation, 1.0)


def _start(people: Individuals, clusters: int, seed: int) -> NDArray[np.int64]:
    """k-means on numbers and dummies: where the greedy and the random search begin."""
    from sklearn.cluster import KMeans

    x = np.column_stack([np.nan_to_num(people.numbers), one_hot(people.codes, people.sizes)])
    labels: NDArray[np.int64] = KMeans(clusters, n_init=5, random_state=seed).fit_predict(x).astype(np.int64)
    return labels
