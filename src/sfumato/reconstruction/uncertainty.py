"""How far a reconstructed value may be off, and how much the aggregates pinned down.

Given the aggregates, y_i = x_i b + e_i is left with the variance sigma^2 (1 - h_i): h_i is the part of a
person that the aggregates fix, the diagonal of A^+ A, 1/n for a group of n. sigma^2 is not in the
aggregates as such. It is taken from groups that were held out: the mean of such a group differs from what
the others foretell by a variance of sigma^2 / n, the error of b included. Groups that differ by more than
chance (random effects) add a variance tau^2, which is told apart by how it does not shrink with n
(`noise="components"`, see components.py). Where it is not (`noise="constant"`, the default), sigma comes out
larger, never smaller: intervals are then too wide, which on real data makes up for slopes that are wrong.
`noise=0.3` is for who knows better; `noise="known"` for who gave true values of some people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.reconstruction.components import FEWEST, Weighed, can_tell, weighed
from sfumato.reconstruction.factor import diagonal
from sfumato.reconstruction.groups import Grouping

Real = NDArray[np.float64]
HeldOut = Callable[[], tuple[Real, Real] | None]
Noise = float | Literal["constant", "components", "known"]


class ReconstructionRule(Protocol):
    """What turns the columns of a batch into reconstructed values."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    def __call__(self, columns: Mapping[str, pa.Array]) -> Real:
        """Values, (people, masked columns)."""
        ...


@dataclass(frozen=True, eq=False)
class Calibration:
    """What people whose values are known say.

    shrinkage: (k,) what slopes are multiplied by.  residuals: per column, how far such people are off, each
    as if the others alone were known, divided by the root of what the aggregates leave open.
    """

    shrinkage: Real
    residuals: tuple[Real, ...]

    def reach(self, probability: float) -> Real:
        """How far from the model people lie at most with this probability, (k,).

        Conformal: if the m known people are like all others, another lies beyond the ceil((m + 1) p)-th of
        them with a probability of at most 1 - p, whatever the law. That is exact for a factor that was given;
        one that is fitted to the same people is allowed for by leaving each out, which is nearly so.
        """
        found = []
        for rest in self.residuals:
            place = math.ceil((len(rest) + 1) * probability)
            if place > len(rest):
                raise ParameterError(
                    f"{len(rest)} known values are too few for intervals of {probability:g}.",
                    hint=f"give {math.ceil(probability / (1 - probability))} or more, or a smaller interval",
                )
            found.append(float(np.sort(rest)[place - 1]))
        return np.array(found)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What is not known of each person.

    sigma: (k,) the standard deviation of a person around the model.  freedom: how many groups it rests on,
    infinite where it was given.  effect: (k,) that of groups, 0 where it was not told apart.
    pairs: per column, what the two may be and how likely; empty where only one was asked for.
    pinned: the share of everybody's variance that the aggregates fix: rank of A over people.
    pinned_by_group: (p,) for a person of each group: 1 means that the person's value was published.
    """

    sigma: Real
    freedom: float
    effect: Real
    pinned: float
    pinned_by_group: Real
    base: ReconstructionRule
    grouping: Grouping
    inverse: Real | None
    corrected: bool
    pairs: tuple[Weighed, ...] = ()
    calibration: Calibration | None = None

    def rule(self, probability: float = 0.9) -> ReconstructionRule:
        """Values, lower and upper ends, (people, 3 k): the true value lies between with this probability."""
        if not 0.0 < probability < 1.0:
            raise ParameterError("an interval holds with a probability between 0 and 1.", hint="interval=0.9")
        from scipy.special import ndtri, stdtrit  # scipy.stats takes seconds to load

        half = 0.5 + probability / 2
        if self.calibration is not None:
            inside = outside = self.calibration.reach(probability)
        elif self.pairs:
            inside, outside = (
                np.array([p.reach(half, with_group) for p in self.pairs]) for with_group in (False, True)
            )
        else:
            quantile = ndtri(half) if math.isinf(self.freedom) else stdtrit(self.freedom, half)
            inside = outside = quantile * self.sigma
        return _Ends(self, inside, outside)

    def free(self, rows: NDArray[np.int64]) -> Real:
        """1 - h for people in these rows of A, (levels, people) -> (people,)."""
        if not self.corrected:
            return np.ones(rows.shape[1])
        sizes = np.append(self.grouping.sizes, np.inf)  # row -1: no group
        if self.inverse is None:
            return np.asarray(1.0 - 1.0 / sizes[rows[0]])
        padded = np.pad(self.inverse, (0, 1))
        h = np.zeros(rows.shape[1])
        for a in rows:
            for b in rows:
                h += padded[a, b] / (sizes[a] * sizes[b])
        return np.clip(1.0 - h, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Ends:
    """inside, outside: (k,) how far from the model people lie whose group's mean is met, and other people."""

    found: Uncertainty
    inside: Real
    outside: Real

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys([*self.found.base.columns, *self.found.grouping.columns]))

    def __call__(self, columns: Mapping[str, pa.Array]) -> Real:
        y = self.found.base(columns)
        rows = self.found.grouping.of(columns)
        met = np.asarray((rows >= 0).any(axis=0) & self.found.corrected)
        reach = np.where(met[:, None], self.inside, self.outside)
        half = np.sqrt(self.found.free(rows))[:, None] * reach
        return np.hstack([y, y - half, y + half])


def uncertainty(
    grouping: Grouping,
    rule: ReconstructionRule,
    held_out: HeldOut,
    corrected: bool,
    noise: Noise,
    calibration: Calibration | None = None,
) -> Uncertainty:
    """From the held-out groups of a fit, or from a standard deviation that is known.

    held_out: what a fit missed of each group that was held out, and the groups' sizes; asked only where
        noise is to be estimated, because it fits again.
    corrected: the values were made to meet the aggregates.
    """
    k = grouping.s.shape[1]
    effect, freedom = np.zeros(k), math.inf
    pairs: tuple[Weighed, ...] = ()
    if isinstance(noise, (int, float)) and not isinstance(noise, bool):
        if not 0.0 <= noise < math.inf:
            raise ParameterError("noise is a standard deviation from 0.", hint="noise=0.3")
        sigma = np.full(k, float(noise))
    elif noise == "known":
        if calibration is None:
            raise ParameterError("no values are known.", hint="LUDIA().fit(people, aggregates, known=...)")
        sigma = np.array([np.sqrt((r**2).mean()) for r in calibration.residuals])
        freedom = float(min(len(r) for r in calibration.residuals) - 1)
    elif noise in ("constant", "components"):
        missed = held_out()
        if missed is None or len(missed[1]) < 3:
            raise ParameterError(
                "too few groups to say how far values may be off.",
                hint="give the standard deviation: noise=0.3",
            )
        rests, sizes = missed
        freedom = float(len(sizes) - 1)
        if noise == "components" and not can_tell(sizes):
            raise ParameterError(
                f"persons and groups are told apart from {FEWEST} groups on, of sizes that differ twofold.",
                hint="noise='constant', which errs on the wide side",
            )
        sigma = np.sqrt((sizes[:, None] * rests**2).mean(axis=0))
        if noise == "components":
            pairs = tuple(weighed(r, sizes) for r in rests.T)
            sigma, effect = np.array([p.means for p in pairs]).T
    else:
        raise ParameterError(
            "noise is 'constant', 'components', 'known' or a number.", hint="noise='constant'"
        )
    empty = np.zeros((0, 0))
    inverse, rank = None, len(grouping.sizes)
    if grouping.gram.ndim == 2:
        t, _ = diagonal(empty, np.zeros((len(grouping.sizes), 0)), grouping.gram, grouping.s)
        assert t.turn is not None
        inverse, rank = (t.turn.T / t.aa) @ t.turn, len(t.aa)
    pinned = rank / grouping.rows if corrected else 0.0
    by_group = 1.0 / grouping.sizes if corrected else np.zeros(len(grouping.sizes))
    return Uncertainty(
        sigma, freedom, effect, pinned, by_group, rule, grouping, inverse, corrected, pairs,
        calibration if noise == "known" else None,
    )  # fmt: skip
