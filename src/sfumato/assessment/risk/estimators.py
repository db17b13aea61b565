"""How many of those alone in a sample are alone in the population it was drawn from.

All that is known are the sizes of the sample's classes and the population's size. Each estimator below
assumes something about the rest; docs/risk.md has what simulation says about when they fail. The answer
of each is the probability that a class with one member in the sample has one in the population.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_LUMP = 50  # larger classes are one category for the log-normal model: their exact size says little


@dataclass(frozen=True, eq=False)
class Sizes:
    """The sizes of a sample's classes: `number[i]` classes have `size[i]` members. population: N."""

    size: NDArray[np.int64]
    number: NDArray[np.int64]
    population: int

    @classmethod
    def of(cls, sizes: NDArray[Any], population: int) -> Sizes:
        """From one size per class."""
        size, number = np.unique(np.asarray(sizes, np.int64), return_counts=True)
        return cls(size, number.astype(np.int64), population)

    @property
    def total(self) -> int:
        """Members of the sample."""
        return int((self.size * self.number).sum())

    @property
    def classes(self) -> int:
        """Classes of the sample."""
        return int(self.number.sum())

    @property
    def alone(self) -> int:
        """Classes of one."""
        return int(self.number[self.size == 1].sum())

    @property
    def fraction(self) -> float:
        """The share of the population that was drawn."""
        return self.total / self.population


@dataclass(frozen=True)
class Estimate:
    """One estimator's answer: the chance that a sample unique is a population unique; NaN if it failed."""

    name: str
    probability: float
    parameters: dict[str, float] = field(default_factory=dict)
    failed: str = ""


# -- estimators ----------------------------------------------------------------------------------


def zayatz(sizes: Sizes) -> Estimate:
    """Zayatz (1991): the population's classes are spread over sizes as the sample's are.

    P(F = 1 | f = 1) by Bayes, with the hypergeometric chance that a class of j leaves one member in the
    sample. No fit. Too high when the fraction is small: the population's classes are the larger ones.
    """
    total, everybody = sizes.total, sizes.population
    j = sizes.size.astype(np.float64)
    possible = everybody - j >= total - 1
    j, number = j[possible], sizes.number[possible]
    chance = np.log(j) + _log_choose(everybody - j, total - 1) - _log_choose(np.array([everybody]), total)
    joint = number * np.exp(chance)
    return Estimate("Zayatz", float(joint[j == 1].sum() / joint.sum()))


def pitman(sizes: Sizes) -> Estimate:
    """Pitman's model (Hoshino 2001), fitted by maximum likelihood over 0 < alpha < 1, theta > -alpha.

    A class of one among i members gets the next one with probability (1 - alpha) / (theta + i), so it is
    still alone at N with the product of the complements from n to N - 1: a ratio of gamma functions.
    """
    from scipy.special import expit, gammaln

    n, k, everybody = sizes.total, sizes.classes, sizes.population
    if k == n:
        return Estimate("Pitman", math.nan, failed="every class has one member: the fit runs away")

    def unpack(x: Floats) -> tuple[float, float]:
        alpha = float(np.clip(expit(x[0]), 1e-6, 1 - 1e-6))
        return alpha, float(np.exp(x[1])) - alpha

    def loss(x: Floats) -> float:
        alpha, theta = unpack(x)
        opened = (k - 1) * math.log(alpha) + _log_rising(theta / alpha, k)
        grown = (sizes.number * (gammaln(sizes.size - alpha) - gammaln(1 - alpha))).sum()
        return -float(opened + grown - _log_rising(theta, n))

    x, settled = _fit(loss, [(0.0, math.log(k)), (-2.0, math.log(n)), (2.0, 1.0)])
    alpha, theta = unpack(x)
    found = {"alpha": alpha, "theta": theta}
    log_p = gammaln(theta + everybody - 1 + alpha) - gammaln(theta + n - 1 + alpha)
    log_p -= gammaln(theta + everybody) - gammaln(theta + n)
    if not settled or alpha > 1 - 1e-4:
        return Estimate("Pitman", math.nan, found, "the fit did not settle")
    note = "alpha at 0: the sizes are more even than the model allows" if alpha < 1e-4 else ""
    return Estimate("Pitman", float(np.exp(log_p)), found, note)


def slide(sizes: Sizes) -> Estimate:
    """Slide negative binomial (Chen and Keller-McNulty 1998): a class has 1 + NB(a, p) members.

    A member is drawn with probability pi, so a class shows Bernoulli(pi) + NB(a, p') of them, with
    p' = p / (p + pi (1 - p)); fitted by maximum likelihood over the classes that show any.
    """
    from scipy.special import expit, gammaln

    pi = sizes.fraction

    def negative_binomial(j: NDArray[Any], a: float, p: float) -> Floats:
        safe = np.maximum(j, 0)
        out = np.exp(
            gammaln(safe + a) - gammaln(a) - gammaln(safe + 1) + a * math.log(p) + safe * math.log1p(-p)
        )
        return np.where(j < 0, 0.0, out)

    def shown(j: NDArray[Any], a: float, p: float) -> Floats:
        thin = p / (p + pi * (1 - p))
        thin = min(thin, 1 - 1e-12)
        return (1 - pi) * negative_binomial(j, a, thin) + pi * negative_binomial(j - 1, a, thin)

    def unpack(x: Floats) -> tuple[float, float]:
        return float(np.exp(np.clip(x[0], -15, 15))), float(np.clip(expit(x[1]), 1e-9, 1 - 1e-9))

    def loss(x: Floats) -> float:
        a, p = unpack(x)
        seen = 1 - float(shown(np.array([0]), a, p)[0])
        mass = np.maximum(shown(sizes.size, a, p), 1e-300)
        return -float((sizes.number * np.log(mass)).sum() - sizes.classes * math.log(max(seen, 1e-300)))

    x, settled = _fit(loss, [(-1.0, -2.0), (0.0, 0.0), (-3.0, -5.0)])
    a, p = unpack(x)
    found = {"a": a, "p": p}
    if not settled:
        return Estimate("slide negative binomial", math.nan, found, "the fit did not settle")
    probability = pi * math.exp(a * math.log(p)) / float(shown(np.array([1]), a, p)[0])
    return Estimate("slide negative binomial", min(1.0, probability), found)


def log_normal(sizes: Sizes) -> Estimate:
    """Poisson-log-normal: a cell has Poisson(rate) members, log rate ~ normal(mu, sigma).

    A cell shows Poisson(pi rate) of them; fitted by maximum likelihood over the cells that show any, classes
    above fifty taken as one category. P(F = 1 | f = 1) = E[rate exp(-rate)] / E[rate exp(-pi rate)].
    """
    from scipy.special import gammaln

    pi = sizes.fraction
    nodes = np.linspace(-8, 8, 401)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    small = sizes.size <= _LUMP
    size, number = sizes.size[small], sizes.number[small]
    large = int(sizes.number[~small].sum())
    upto = np.arange(1, _LUMP + 1)

    def rates(x: Floats) -> Floats:
        return np.asarray(np.exp(np.clip(x[0] + math.exp(min(float(x[1]), 3.0)) * nodes, -60, 60)))

    def loss(x: Floats) -> float:
        drawn = pi * rates(x)
        terms = upto[:, None] * np.log(drawn) - drawn - gammaln(upto + 1)[:, None]
        shown = np.maximum(np.exp(terms) @ weights, 1e-300)
        seen = max(float(-np.expm1(-drawn) @ weights), 1e-300)
        tail = max(seen - float(shown.sum()), 1e-300)
        likelihood = (number * np.log(shown[size - 1])).sum() + (large * math.log(tail) if large else 0.0)
        return -float(likelihood - sizes.classes * math.log(seen))

    x, settled = _fit(loss, [(0.0, 0.0), (-2.0, 0.7), (3.0, 0.0)])
    found = {"mu": float(x[0]), "sigma": float(np.exp(x[1]))}
    if not settled or x[1] >= 3.0:
        return Estimate("Poisson-log-normal", math.nan, found, "the fit did not settle")
    rate = rates(x)
    return Estimate(
        "Poisson-log-normal",
        float((rate * np.exp(-rate)) @ weights / ((rate * np.exp(-pi * rate)) @ weights)),
        found,
    )


def _log_rising(x: float, k: int) -> float:
    """log (x + 1) + ... + log (x + k - 1); gamma functions lose the digits a fit needs where x is large."""
    from scipy.special import gammaln

    if x < 1e6:
        return float(gammaln(x + k) - gammaln(x + 1))

    def integral(y: float) -> float:  # of log(1 + y / x)
        return (x + y) * math.log1p(y / x) - y

    return (k - 1) * math.log(x) + integral(k - 0.5) - integral(0.5)


def _fit(loss: Callable[[Floats], float], starts: list[tuple[float, float]]) -> tuple[Floats, bool]:
    """The best of a few simplex searches."""
    from scipy.optimize import minimize

    options = {"xatol": 1e-6, "fatol": 1e-8, "maxiter": 2_000, "maxfev": 4_000}
    runs = [minimize(loss, np.array(s), method="Nelder-Mead", options=options) for s in starts]
    best = min(runs, key=lambda r: float(r.fun) if np.isfinite(r.fun) else math.inf)
    return best.x, bool(best.success and np.isfinite(best.fun))


def _log_choose(n: NDArray[Any], k: int) -> Floats:
    from scipy.special import gammaln

    out: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return out


_ESTIMATORS = (pitman, zayatz, slide, log_normal)


def estimates(sizes: Sizes) -> list[Estimate]:
    """Every estimator's answer. A sample without uniques has none in the population: all say 0."""
    if sizes.population == sizes.total:
        return [Estimate("whole population", 1.0)]
    if not sizes.alone:
        return [Estimate("no sample unique", 0.0)]
    return [estimator(sizes) for estimator in _ESTIMATORS]


def chosen(found: list[Estimate], fraction: float) -> Estimate:
    """The rule of Dankar and others (2012): Pitman up to a tenth of the population, above that the smaller
    of Zayatz and the slide negative binomial; where that fails, the largest of what is left.
    """
    by_name = {e.name: e for e in found if not math.isnan(e.probability)}
    if len(found) == 1:
        return found[0]
    if fraction <= 0.1 and "Pitman" in by_name:
        return by_name["Pitman"]
    pair = [by_name[n] for n in ("Zayatz", "slide negative binomial") if n in by_name]
    if fraction > 0.1 and len(pair) == 2:
        return min(pair, key=lambda e: e.probability)
    return max(by_name.values(), key=lambda e: e.probability)
