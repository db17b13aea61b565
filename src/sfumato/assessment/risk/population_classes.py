"""How large a sample's classes are in the population: what models say of 1 / F, F unknown.

Two kinds of models, which know different things:

- *By columns*: how often values, and values of tied columns, occur together is known well from a small
  sample; multiplied they give the frequency mu that a combination should have. What they do not explain is
  a gamma factor with mean 1 and shape a, fitted. Given f of the sample F - f is then negative binomial
  (Bethlehem, Keller and Pannekoek 1990, with mu from a log-linear model as in Skinner and Shlomo 2008).
- *By sizes*: Pitman's model knows how many classes have one member, two, and so on, and nothing of columns.
  It speaks where the columns are so few, or have so many values, that they explain the sample by itself.

The expected share of people named rightly is the mean of E[1 / F] over the sample's members.

Intervals: the models that apply, each with Wilson's interval of a share of the sample's members, and widened
by what the models were seen to err, which grows with what must be extrapolated: see docs/risk.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.risk.estimators import Sizes, pitman
from sfumato.seeds import Key

Floats = NDArray[np.float64]
Codes = NDArray[Any]

_LARGEST_SHAPE = 30.0  # a gamma factor that hardly varies; more is not told apart from none
_PAIR_CELLS = 50_000  # cells from which it is learnt which columns are tied
_SATURATED = 0.5  # parameters per class from which columns explain a sample by itself
_UNTIED = 0.05  # the shape below which columns that say each other were taken for independent
_ALONE = 0.95  # classes per member above which next to everybody is alone, and Pitman's fit says little
_SMALL = 20_000  # classes among which the smallest of the population is looked for
_PER_TENTH = 0.125  # error of the models, in log odds, for each tenth of the population not seen: measured


class ClassModel(Protocol):
    """What a model says of the population's classes that have members in the sample."""

    @property
    def name(self) -> str:
        """What it knows, in a word or two."""

    def marketer(self) -> float:
        """The mean of 1 / F over the sample's members."""

    def members_up_to(self, size: int) -> float:
        """The expected share of the sample's members whose class has at most so many in the population."""

    def classes_up_to(self, size: int) -> float:
        """The expected number of the sample's classes that have at most so many."""


@dataclass(frozen=True, eq=False)
class ByColumns:
    """F - f is negative binomial, of size f + shape and with the chance `success`, class by class.

    f: members in the sample. parameters: how many shares were read off the sample, per class.
    """

    name: str
    f: Floats
    shape: float
    success: Floats
    parameters: float

    def marketer(self) -> float:
        """E[1 / F] = (q / f) 2F1(1 - a, 1; f + 1; 1 - q): the integral of u^(f-1) E[u^(F-f)] over (0, 1)."""
        from scipy.special import hyp2f1

        q, f = self.success, self.f
        inverse = q / f * hyp2f1(1 - self.shape, 1.0, f + 1, 1 - q)
        return float((f * np.clip(inverse, 0.0, 1 / f)).sum() / f.sum())

    def members_up_to(self, size: int) -> float:
        """By the negative binomial's distribution function."""
        few = self.f <= size
        return float((self.f[few] * self._up_to(few, size)).sum() / self.f.sum())

    def classes_up_to(self, size: int) -> float:
        """Of the classes that are expected to be smallest."""
        few = self.f <= size
        if few.sum() > _SMALL:
            means = self.f + (self.shape + self.f) * (1 - self.success) / self.success
            few &= means <= np.partition(means[few], _SMALL)[_SMALL]
        return float(self._up_to(few, size).sum())

    def _up_to(self, which: NDArray[np.bool_], size: int) -> Floats:
        from scipy.special import betainc

        f = self.f[which]
        return np.asarray(betainc(f + self.shape, size - f + 1, self.success[which]))


def by_columns(codes: Codes, n: Codes, population: int, *, tied: bool) -> ByColumns:
    """Fit by the columns of each class, (classes, columns), and its members in the sample.

    tied: multiply frequencies along a forest of tied columns (Chow and Liu 1968); else of columns alone.
    """
    f = np.asarray(n, np.float64)
    total = f.sum()
    links = _forest(codes, f) if tied else [(c, -1) for c in range(codes.shape[1])]
    mu, parameters = _expected(codes, f, links)
    shape = _shape(mu, f)
    rate = shape / mu + 1  # the class's expected number in the sample, given f, is gamma(f + shape, rate)
    success = rate / (rate + (population - total) / total)
    name = "tied columns" if any(p >= 0 for _, p in links) else "columns"
    return ByColumns(name, f, shape, success, parameters / len(f))


def _expected(codes: Codes, f: Floats, links: list[tuple[int, int]]) -> tuple[Floats, int]:
    """mu: the members a class should have by its columns; and how many shares were read off the sample.

    Shares of what was seen are too high by what was not: Kneser and Ney's discount is taken off each count,
    and given back, within a value of the parent column, in proportion to the column's own shares.
    """
    total = f.sum()
    log_mu = np.full(len(f), math.log(total))
    parameters = 0
    for column, parent in links:
        mine = codes[:, column].astype(np.int64)
        counts = np.bincount(mine, f)
        alone = ((counts - _discount(counts)) / total)[mine]
        if parent < 0:
            log_mu += np.log(alone)
            parameters += int((counts > 0).sum()) - 1
            continue
        theirs = codes[:, parent].astype(np.int64)
        pairs, first, inverse = np.unique(
            theirs * (mine.max() + 1) + mine, return_index=True, return_inverse=True
        )
        together = np.bincount(inverse, f)
        discount = _discount(together)
        within = np.bincount(theirs, f)[theirs]
        kinds = np.bincount(theirs[first], minlength=int(theirs.max()) + 1)[theirs]
        log_mu += np.log((together[inverse] - discount + discount * kinds * alone) / within)
        parameters += len(pairs) - len(np.unique(theirs))
    return np.exp(log_mu), parameters


def _discount(counts: NDArray[Any]) -> float:
    """n1 / (n1 + 2 n2), kept below 1: what leaving one out says a count is too high by."""
    ones, twos = int((counts == 1).sum()), int((counts == 2).sum())
    return ones / (ones + 2 * twos + 1)


def _forest(codes: Codes, f: Floats) -> list[tuple[int, int]]:
    """(column, parent or -1), parents first: the heaviest forest of pairs whose tie is worth its cost.

    A tie is worth n times the mutual information less log(n) / 2 for each further share to be learnt
    (Bayesian information criterion), and is taken only if the pairs are few beside the classes, or one
    column all but says the other: a sample must not be explained by itself.
    """
    if len(codes) > _PAIR_CELLS:
        some = Key.from_seed(0).generator("tied columns").permutation(len(codes))[:_PAIR_CELLS]
        codes, f = codes[some], f[some]
    width, total = codes.shape[1], f.sum()
    counts = [np.bincount(codes[:, c].astype(np.int64), f) for c in range(width)]
    counts = [x[x > 0] for x in counts]
    entropy = [_entropy(x) for x in counts]
    ties = []
    for i in range(width):
        for j in range(i):
            keys = codes[:, i].astype(np.int64) * (int(codes[:, j].max()) + 1) + codes[:, j]
            pairs = np.bincount(np.unique(keys, return_inverse=True)[1], f)
            larger = max(len(counts[i]), len(counts[j]))
            more = len(pairs) - len(counts[i]) - len(counts[j]) + 1
            worth = total * (entropy[i] + entropy[j] - _entropy(pairs)) - 0.5 * math.log(total) * more
            if worth > 0 and (len(pairs) <= 0.1 * len(codes) or len(pairs) <= 1.2 * larger):
                ties.append((worth, i, j))
    near: list[list[int]] = [[] for _ in range(width)]
    tree = list(range(width))
    for _, i, j in sorted(ties, reverse=True):
        if tree[i] != tree[j]:
            tree = [tree[j] if t == tree[i] else t for t in tree]
            near[i].append(j)
            near[j].append(i)
    return _rooted(near, entropy)


def _entropy(counts: NDArray[Any]) -> float:
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())


def _rooted(near: list[list[int]], entropy: list[float]) -> list[tuple[int, int]]:
    """Each tree from its most varied column outwards."""
    out: list[tuple[int, int]] = []
    done: set[int] = set()
    for root in sorted(range(len(near)), key=lambda c: -entropy[c]):
        stack = [] if root in done else [(root, -1)]
        while stack:
            column, parent = stack.pop()
            done.add(column)
            out.append((column, parent))
            stack += [(c, column) for c in near[column] if c != parent]
    return out


def _shape(mu: Floats, f: Floats) -> float:
    """a: f is negative binomial with mean mu and size a, seen where it is not 0; maximum likelihood."""
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    def loss(log_a: float) -> float:
        a = math.exp(log_a)
        none = a * np.log(a / (a + mu))
        seen = gammaln(f + a) - gammaln(a) + none + f * np.log(mu / (a + mu)) - np.log(-np.expm1(none))
        return -float(seen.sum())

    bounds = (-6.0, math.log(_LARGEST_SHAPE))
    return math.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x)


# -- by sizes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BySizes:
    """Pitman's model, fitted to the sizes of the sample's classes and carried on to the population."""

    name: str
    alpha: float
    theta: float
    sizes: Sizes

    def marketer(self) -> float:
        """Classes per member of the population: each of F members counts for 1 / F."""
        return min(1.0, self._classes() / self.sizes.population)

    def members_up_to(self, size: int) -> float:
        """The share of the population in such classes, of which the sample is a random part."""
        f = np.arange(1, size + 1)
        return float(min(1.0, (f * self._of_size(f)).sum() / self.sizes.population))

    def classes_up_to(self, size: int) -> float:
        """Of those in the population, the ones that are seen in the sample."""
        f = np.arange(1, size + 1)
        return float((self._of_size(f) * -np.expm1(f * math.log1p(-self.sizes.fraction))).sum())

    def _classes(self) -> float:
        """E[K_N | K_n = k] = (k + theta / alpha) (theta + alpha + n)_m / (theta + n)_m - theta / alpha.

        m = N - n, and (x)_m is x (x + 1) ... (x + m - 1).
        """
        from scipy.special import gammaln

        a, t, n, whole = self.alpha, self.theta, self.sizes.total, self.sizes.population
        grown = gammaln(t + whole + a) - gammaln(t + n + a) - gammaln(t + whole) + gammaln(t + n)
        return float((self.sizes.classes + t / a) * math.exp(grown) - t / a)

    def _of_size(self, f: NDArray[np.int64]) -> Floats:
        """E[M_f] / E[K] at N by the model, times the classes that are expected of this sample."""
        from scipy.special import gammaln

        a, t, whole = self.alpha, self.theta, self.sizes.population
        log_m = gammaln(whole + 1) - gammaln(whole - f + 1) - gammaln(f + 1) + gammaln(f - a)
        log_m += gammaln(t + a + whole - f) - gammaln(1 - a) - gammaln(t + a)
        log_m += gammaln(t + 1) - gammaln(t + whole)
        log_k = gammaln(t + whole + a) - gammaln(t + a) - gammaln(t + whole) + gammaln(t + 1)
        return np.asarray(self._classes() * np.exp(log_m) / ((math.exp(log_k) - t) / a))


def by_sizes(sizes: Sizes) -> BySizes | None:
    """Pitman's model; none where it does not fit, or next to everybody is alone in the sample."""
    if sizes.classes > _ALONE * sizes.total:
        return None
    found = pitman(sizes)
    if math.isnan(found.probability):
        return None
    return BySizes("Pitman", found.parameters["alpha"], found.parameters["theta"], sizes)


# -- what the models say together ------------------------------------------------------------------

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimated:
    """A value with its interval, and what each model says."""

    value: float
    low: float
    high: float
    models: dict[str, float]


@dataclass(frozen=True, eq=False)
class PopulationClasses:
    """The models of a sample's classes in the population, the first of which is taken.

    others: models that differ in what they assume, for the interval. weight: how much the last counts, 0 to
    one half, because the columns explain the sample by itself.
    """

    sizes: Sizes
    first: ByColumns
    others: tuple[ClassModel, ...]
    weight: float

    @classmethod
    def of(cls, codes: Codes, n: Codes, population: int) -> PopulationClasses:
        """codes: the columns of each class, (classes, columns); n: its members in the sample."""
        sizes = Sizes.of(n, population)
        alone = by_columns(codes, n, population, tied=False)
        first = by_columns(codes, n, population, tied=True)
        others: list[ClassModel] = [alone] if first.name != alone.name and alone.shape >= _UNTIED else []
        excess = min(1.0, max(0.0, first.parameters - _SATURATED) / (1 - _SATURATED))
        pitmans = by_sizes(sizes) if excess > 0 else None
        if pitmans is None:
            return cls(sizes, first, tuple(others), 0.0)
        return cls(sizes, first, (*others, pitmans), excess / 2)

    def marketer(self) -> Estimated:
        """The mean of 1 / F over the sample's members."""
        return self._share([(m.name, m.marketer()) for m in self._models], 1.0)

    def members_up_to(self, size: int) -> Estimated:
        """The share of the sample's members whose class has at most `size` in the population."""
        # A share of few classes is harder to extrapolate than a mean over all of them: twice the error.
        return self._share([(m.name, m.members_up_to(size)) for m in self._models], 2.0)

    def smallest(self) -> Estimated:
        """1 / F of the sample's smallest class in the population.

        F is the size up to which a class is there as likely as not, by the first model, or by the last where
        it counts and says less; the ends are where all models say that there is one, and where one of them
        says that there may be.
        """
        sizes = {m.name: _size_reached(m, math.log(2), self.sizes.population) for m in self._models}
        sure = max(_size_reached(m, 3.0, self.sizes.population) for m in self._models)
        least = min(_size_reached(m, 0.05, self.sizes.population) for m in self._models)
        value = min(sizes.values()) if self.weight else sizes[self.first.name]
        return Estimated(1 / value, 1 / sure, 1 / least, {name: 1 / s for name, s in sizes.items()})

    @property
    def _models(self) -> tuple[ClassModel, ...]:
        return (self.first, *self.others)

    def _share(self, said: list[tuple[str, float]], errors: float) -> Estimated:
        from scipy.special import expit, logit
        from scipy.stats import norm

        z, n = float(norm.isf((1 - CONFIDENCE) / 2)), self.sizes.total
        shares = np.array([share for _, share in said])
        middle = (shares + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(shares * (1 - shares) / n + z * z / (4 * n * n))
        more = errors * _PER_TENTH * math.log10(1 / self.sizes.fraction)
        low = float(expit(logit(max(0.0, (middle - half).min())) - more))
        high = float(expit(logit(min(1.0, (middle + half).max())) + more))
        value = float((1 - self.weight) * shares[0] + self.weight * shares[-1])
        return Estimated(value, min(low, value), max(high, value), dict(said))


def _size_reached(model: ClassModel, classes: float, population: int) -> int:
    """The smallest size up to which so many classes are expected."""
    low, high = 0, 1
    while high < population and model.classes_up_to(high) < classes:
        low, high = high, 2 * high
    high = min(high, population)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if model.classes_up_to(middle) >= classes else (middle, high)
    return high
