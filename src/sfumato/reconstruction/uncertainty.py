"""How far a reconstructed value may be off, and how much the aggregates pinned down.

Given the aggregates, y_i = x_i b + e_i is left with the variance sigma^2 (1 - h_i): h_i is the part of a
person that the aggregates fix, the diagonal of A^+ A, 1/n for a group of n. sigma^2 is not in the
aggregates as such. It is taken from groups that were held out: the mean of such a group differs from what
the others foretell by a variance of sigma^2 / n, the error of b included. Groups that differ by more than
chance (random effects) make that estimate larger, never smaller: intervals are then too wide.
`noise="components"` tells the two apart where group sizes differ; `noise=0.3` is for who knows better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.reconstruction.factor import diagonal
from sfumato.reconstruction.grouping import Grouping

if TYPE_CHECKING:
    from sfumato.reconstruction.fitted import Fitted, Rule

Real = NDArray[np.float64]
Noise = float | Literal["constant", "components"]

_FEWEST = 10  # groups, and a factor of two between sizes, to tell two variances apart


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What is not known of each person.

    sigma: (k,) the standard deviation of a person around the model.  freedom: how many groups it rests on,
    infinite where it was given.  effect: (k,) that of groups, 0 where it was not told apart.
    pinned: the share of everybody's variance that the aggregates fix: rank of A over people.
    pinned_by_group: (p,) for a person of each group: 1 means that the person's value was published.
    """

    sigma: Real
    freedom: float
    effect: Real
    pinned: float
    pinned_by_group: Real
    base: Rule
    grouping: Grouping
    inverse: Real | None
    corrected: bool

    def rule(self, probability: float = 0.9) -> Rule:
        """Values, lower and upper ends, (people, 3 k): the true value lies between with this probability."""
        if not 0.0 < probability < 1.0:
            raise ParameterError("an interval holds with a probability between 0 and 1.", hint="interval=0.9")
        from scipy.special import ndtri, stdtrit  # scipy.stats takes seconds to load

        half = 0.5 + probability / 2
        quantile = ndtri(half) if math.isinf(self.freedom) else stdtrit(self.freedom, half)
        return _Ends(self, float(quantile))

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
    found: Uncertainty
    quantile: float

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys([*self.found.base.columns, *self.found.grouping.columns]))

    def __call__(self, columns: Mapping[str, pa.Array]) -> Real:
        y = self.found.base(columns)
        root = np.sqrt(self.found.free(self.found.grouping.of(columns)))
        half = self.quantile * root[:, None] * self.found.sigma
        return np.hstack([y, y - half, y + half])


def uncertainty(fitted: Fitted, noise: Noise = "constant") -> Uncertainty:
    """From the held-out groups of a fit, or from a standard deviation that is known."""
    grouping = fitted.grouping
    k = grouping.s.shape[1]
    effect, freedom = np.zeros(k), math.inf
    if isinstance(noise, (int, float)) and not isinstance(noise, bool):
        if not 0.0 <= noise < math.inf:
            raise ParameterError("noise is a standard deviation from 0.", hint="noise=0.3")
        sigma = np.full(k, float(noise))
    elif noise in ("constant", "components"):
        if fitted.rests is None or len(fitted.rests[1]) < 3:
            raise ParameterError(
                "too few groups to say how far values may be off.",
                hint="give the standard deviation: noise=0.3",
            )
        rests, sizes = fitted.rests
        freedom = float(len(sizes) - 1)
        if noise == "constant":
            sigma = np.sqrt((sizes[:, None] * rests**2).mean(axis=0))
        else:
            sigma, effect = _components(rests, sizes)
    else:
        raise ParameterError("noise is 'constant', 'components' or a number.", hint="noise='constant'")
    empty = np.zeros((0, 0))
    inverse, rank = None, len(grouping.sizes)
    if grouping.gram.ndim == 2:
        t, _ = diagonal(empty, np.zeros((len(grouping.sizes), 0)), grouping.gram, grouping.s)
        assert t.turn is not None
        inverse, rank = (t.turn.T / t.aa) @ t.turn, len(t.aa)
    pinned = rank / grouping.rows if fitted.corrected else 0.0
    by_group = 1.0 / grouping.sizes if fitted.corrected else np.zeros(len(grouping.sizes))
    return Uncertainty(
        sigma, freedom, effect, pinned, by_group, fitted.rule, grouping, inverse, fitted.corrected
    )


def _components(rests: Real, sizes: Real) -> tuple[Real, Real]:
    """Maximum likelihood of rest ~ N(0, tau^2 + sigma^2 / n), column by column."""
    from scipy.optimize import minimize

    if len(sizes) < _FEWEST or sizes.max() < 2 * sizes.min():
        raise ParameterError(
            f"persons and groups can be told apart from {_FEWEST} groups on, of sizes that differ twofold.",
            hint="noise='constant', which errs on the wide side",
        )
    sigma, tau = np.zeros(rests.shape[1]), np.zeros(rests.shape[1])
    for j in range(rests.shape[1]):
        r = rests[:, j]
        unit = max(float(np.mean(r**2)), np.finfo(float).tiny)

        def loss(at: Real, r: Real = r, unit: float = unit) -> float:
            variance = unit * (np.exp(at[0]) + np.exp(at[1]) / sizes)
            return float(np.sum(np.log(variance) + r**2 / variance))

        starts = [np.array([a, b]) for a in (-6.0, 0.0) for b in (0.0, math.log(float(np.median(sizes))))]
        best = min((minimize(loss, s, method="Nelder-Mead") for s in starts), key=lambda f: float(f.fun))
        tau[j], sigma[j] = np.sqrt(unit * np.exp(best.x))
    return sigma, tau
