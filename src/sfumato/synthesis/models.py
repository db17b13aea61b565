"""Generalized linear models for numeric columns inside PeGS (section 5 of Park and Ghosh 2014).

    sf.PeGS(total=5.0, models={"charge_usd": "lognormal", "los_days": "poisson"})

A column of many bins has few people in each cell of its table, so that the prior drowns them. A model shares
what it learns between cells: a mean whose effects add up over the parents, and a spread, of a family of laws;
the chance of each bin follows. The table behind it is noised once. Everything after that is arithmetic on
noisy numbers: such a column is drawn as often as one likes, and in a block it needs no reset, while columns
drawn from counts pay on every visit.

Guarantee: epsilon-DP in the method's neighbours, for all models together, once.
Because:   a row is in one cell of a model's table (keys of the parents x bins and missing), so it changes one
           count by 1, or by at most WEIGHT_UNITS where rows are weighted; replacing it is two such steps.
           Discrete Laplace noise for each model's share of epsilon, and the shares add up.
Assumes:   edges and parents are public or paid for.
Tested by: tests/synthesis/test_models.py::test_noise_has_the_stated_scale

A model is fitted to counts of bins by EM: given a law, each bin has an expected value and square; given
these, the coefficients follow by Fisher scoring. Middles in their place would misjudge a last, wide bin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import ParameterError
from sfumato.privacy import Budget, Ledger, Neighbours
from sfumato.privacy.noise import laplace
from sfumato.privacy.rounding import exact
from sfumato.schema import Kind
from sfumato.synthesis.bin_values import ends
from sfumato.synthesis.blocks import Blocks
from sfumato.synthesis.domain import WEIGHT_UNITS, Domain
from sfumato.synthesis.parents import whole_units

FAMILIES = ("normal", "lognormal", "gamma", "poisson")
_LARGEST = 2**22  # cells of a model's laws
_LAW = 2.0**40  # a law's weights sum to about this; every bin has at least 1
_STEPS, _ROUNDS = 30, 40
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BinScale:
    """A column's bins on the scale its model works on, as parts of the range.

    low, high: (bins,) where each begins and ends; of counts the first and the last whole number instead.
    span: how long the range is, for counts.
    """

    low: Floats
    high: Floats
    span: float

    @classmethod
    def of(cls, book: Codebook, family: str) -> BinScale:
        """From the declared edges alone."""
        first, last, whole = ends(book)
        first, last = first.astype(np.float64), last.astype(np.float64)
        if family == "poisson":
            return cls(first, last, float(last[-1] + 1))
        edges = np.append(first, last[-1]) - 0.5 * whole + np.append(np.zeros(len(first)), whole)
        start = edges[0]
        if family == "lognormal":
            edges = np.log(edges - start + max(float(edges[1] - start), 1e-9))
        elif family == "gamma":
            edges, start = np.maximum(edges, 0.0), 0.0
        if family != "gamma":
            edges = edges - edges[0]
        edges = edges / edges[-1]
        return cls(edges[:-1], edges[1:], 1.0)


def check(models: Mapping[str, str], domain: Domain, parents: object) -> None:
    """Columns that cannot have a model, all at once, before any data are read."""
    faults = []
    books = {b.name: b for b in domain.books}
    for name, family in models.items():
        if name not in books:
            faults.append(f"no column '{name}' is synthesized")
            continue
        column = books[name].column
        edges = np.array([float(str(e)) for e in column.edges or ()]) if column.kind is Kind.NUMERIC else None
        if edges is None or not len(edges) or not np.isfinite(edges).all():
            faults.append(f"'{name}' is not a number with finite edges")
        elif family in ("gamma", "poisson") and edges[0] < 0:
            faults.append(f"'{name}' can be below 0, which {family} cannot")
        elif family == "poisson" and not ends(books[name])[2]:
            faults.append(f"'{name}' is not drawn in whole numbers, which poisson counts")
        if _most_keys(name, books, parents) * books[name].size > _LARGEST:
            faults.append(f"'{name}' may have more keys than its laws can be written out for")
    if models and not set(books) - set(models):
        faults.append("one column at least must be drawn from counts")
    if faults:
        raise ParameterError(f"models: {'; '.join(faults)}.", hint=f"{{column: {' or '.join(FAMILIES)}}}")


def _most_keys(name: str, books: Mapping[str, Codebook], parents: object) -> int:
    if isinstance(parents, Mapping):
        return math.prod(books[p].size for p in parents.get(name, ()) if p in books)
    others = sorted((b.size for n, b in books.items() if n != name), reverse=True)
    return math.prod(others[: parents if isinstance(parents, int) else 3])


def learn(
    models: Mapping[str, str], blocks: Blocks, epsilon: float, neighbours: Neighbours
) -> dict[str, NDArray[np.uint64]]:
    """The laws of every modelled column: (keys, C) weights. epsilon: of all of them; 0 for no noise."""
    rows = WEIGHT_UNITS if blocks.domain.weight is not None else 1
    factor = 2 if neighbours is Neighbours.REPLACE else 1
    ledger = Ledger.in_memory(Budget(epsilon=epsilon, neighbours=neighbours)) if epsilon else None
    out = {}
    for name, family in models.items():
        counts = blocks[name].counts
        table, sigma = counts.dense().astype(np.int64).reshape(-1, counts.shape[-1]), 0.0
        if ledger is not None:
            each = whole_units(exact(epsilon) / len(models))
            noisy = laplace(table, rows * factor, ledger.grant(epsilon=each, purpose=f"the model of {name}"))
            table, sigma = noisy.values, noisy.sigma
        out[name] = laws(table / rows, counts.codebooks, family, sigma / rows)
    return out


def laws(table: Floats, books: Sequence[Codebook], family: str, sigma: float = 0.0) -> NDArray[np.uint64]:
    """(keys, C) weights from counts that were paid for.  table: (keys, C), sigma: the noise of a cell."""
    book, scale = books[-1], BinScale.of(books[-1], family)
    bins = len(scale.low)
    x, n = features(books[:-1]), table[:, :bins]
    noise = sigma * math.sqrt(bins)  # of a key's rows
    kept = n.sum(axis=1) > 3 * noise  # of the others nothing is known but what the effects say
    here, there = (n[kept], x[kept]) if kept.any() else (n.sum(axis=0)[None], np.zeros((1, x.shape[1])))
    if here.sum() <= 0:
        found = np.full((len(x), bins), 1 / bins)
    else:
        found = _fitted(here, there, x, scale, family, max(1.0, noise))
    if book.missing:
        gaps = _missing_share(n.sum(axis=1), table[:, bins], noise)
        found = np.column_stack([found * (1 - gaps)[:, None], gaps])
    return (1 + np.floor(found * _LAW)).astype(np.uint64)


def _fitted(n: Floats, there: Floats, x: Floats, scale: BinScale, family: str, penalty: float) -> Floats:
    """(keys, bins): EM on counts n (some keys, bins) with features `there`; laws of all keys, features x."""
    law, rows = Family(family, scale), n.sum(axis=1)
    middle = (scale.low + scale.high) / 2 / scale.span
    first, second = np.broadcast_to(middle, n.shape), np.broadcast_to(middle**2, n.shape)
    beta, spread = fit_glm(there, rows, np.clip((n * first).sum(axis=1), 0, rows), family, penalty), 0.0
    for _ in range(_ROUNDS):
        s = np.clip((n * first).sum(axis=1), 0, rows)
        q = np.maximum((n * second).sum(axis=1), 0)
        beta = fit_glm(there, rows, s, family, penalty, beta)
        mu = means(there, beta, family)
        before, spread = spread, law.spread(rows, s, q, mu)
        first, second = law.moments(mu, spread)
        if abs(spread - before) <= 1e-6 * spread:
            break
    found = np.maximum(np.diff(law.upto(means(x, beta, family), spread), axis=-1)[..., 0], 0.0)
    total = found.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 1e-12, found / np.maximum(total, 1e-300), 1 / found.shape[1]))


def fit_glm(
    x: Floats, n: Floats, s: Floats, family: str, penalty: float, start: Floats | None = None
) -> Floats:
    """Coefficients by Fisher scoring on sums: the score is X'(s - n mu), divided by mu for gamma.

    x: (keys, p); n: rows, s: sums of values between 0 and 1. penalty: on squared effects (not the first
    coefficient, the level), as so many rows would pull towards no effect. start: coefficients to begin with.
    """
    full = np.column_stack([np.ones(len(x)), x])
    level = max(float(s.sum() / n.sum()), 1e-6)
    beta = np.zeros(full.shape[1])
    beta[0] = level if family in ("normal", "lognormal") else math.log(level)
    beta = beta if start is None else start
    pull = penalty * np.append(0.0, np.ones(x.shape[1])) * (level if family == "poisson" else 1.0)
    for _ in range(_STEPS):
        mu = means(x, beta, family)
        gap = s - n * mu
        weight = n
        if family == "gamma":
            gap = gap / mu
        elif family == "poisson":
            weight = n * mu
        step = np.linalg.solve((full.T * weight) @ full + np.diag(pull + 1e-9), full.T @ gap - pull * beta)
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            break
    return beta


def means(x: Floats, beta: Floats, family: str) -> Floats:
    """mu of each key, within the range."""
    eta = beta[0] + x @ beta[1:]
    mu = eta if family in ("normal", "lognormal") else np.exp(np.clip(eta, -30, 0))
    return np.asarray(np.clip(mu, 1e-6, 1.0))


def features(books: Sequence[Codebook]) -> Floats:
    """(keys, p): a numeric parent by its number and a flag for missing, others by a flag for each level."""
    sizes = [b.size for b in books]
    keys = math.prod(sizes)
    places = np.stack(np.unravel_index(np.arange(keys), sizes)) if books else np.empty((0, keys), np.int64)
    parts = [np.empty((keys, 0))]
    for book, codes in zip(books, places, strict=True):
        edges = book.column.edges
        if book.column.kind is Kind.NUMERIC and edges is not None:
            first, last, _ = ends(book)
            middle = (first + last) / 2
            number = (middle - middle[0]) / max(float(middle[-1] - middle[0]), 1e-300) - 0.5
            parts.append(np.append(number, 0.0)[np.minimum(codes, len(number))][:, None])
            if book.missing:
                parts.append((codes == len(number)).astype(np.float64)[:, None])
        else:
            parts.append((codes[:, None] == np.arange(1, book.size)).astype(np.float64))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Family:
    """A family of laws on the bins of a column. Means and values are parts of the range.

    The spread is a variance (normal), the square of the coefficient of variation (gamma), or what counts vary
    by more than Poisson's law has it, over the squared mean (0: Poisson, above: negative binomial).
    """

    name: str
    scale: BinScale

    def spread(self, n: Floats, s: Floats, q: Floats, mu: Floats) -> float:
        """From sums of values s and of squares q at each key, by moments."""
        rest = np.maximum(q - 2 * mu * s + n * mu**2, 0.0)
        rows, span = float(n.sum()), self.scale.span
        if self.name == "poisson":
            over = float(rest.sum() * span**2 - (n * mu).sum() * span) / float((n * (mu * span) ** 2).sum())
            return max(over, 0.0)
        finest = max(float((self.scale.high - self.scale.low).min()) / 4, 1e-6) ** 2
        return max(float((rest / mu**2 if self.name == "gamma" else rest).sum()) / rows, finest)

    def upto(self, mu: Floats, spread: float) -> Floats:
        """(keys, bins, 2): the chance of less than a bin, and of no more than it."""
        ends_ = np.stack([self.scale.low - (self.name == "poisson"), self.scale.high], axis=-1)
        return self._below(ends_, mu[:, None, None], spread, 0)

    def moments(self, mu: Floats, spread: float) -> tuple[Floats, Floats]:
        """(keys, bins): the expected value, and square, of what lies in each bin."""
        low, high, m = self.scale.low, self.scale.high, mu[:, None]
        mass = np.diff(self.upto(mu, spread), axis=-1)[..., 0]
        some = mass > 1e-9
        if self.name in ("normal", "lognormal"):
            sigma = math.sqrt(spread)
            a, b = (np.exp(-0.5 * ((e - m) / sigma) ** 2) / math.sqrt(2 * math.pi) for e in (low, high))
            first = m * mass + sigma * (a - b)
            second = (m**2 + spread) * mass + sigma * ((m + low) * a - (m + high) * b)
        else:
            # y f(y) is the mean times a law of the family with one more to its shape; of counts also one less
            step = float(self.name == "poisson")
            ends_ = np.stack([low - step, high], axis=-1)
            one, two = (
                np.diff(self._below(ends_ - k * step, m[..., None], spread, k), axis=-1)[..., 0]
                for k in (1, 2)
            )
            first, second = m * one, m**2 * (1 + spread) * two
            second = second + (first / self.scale.span if step else 0.0)
        low, high = low / self.scale.span, high / self.scale.span
        near = np.where(m < low, low, np.where(m > high, high, (low + high) / 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.where(some, np.clip(first / mass, low, high), near)
            second = np.where(some, np.clip(second / mass, low**2, high**2), near**2)
        return first, second

    def _below(self, value: Floats, mu: Floats, spread: float, more: int) -> Floats:
        """The chance of no more than a value; more: added to the shape, which weighs the law by y."""
        from scipy.special import betainc, gammainc, ndtr, pdtr

        if self.name in ("normal", "lognormal"):
            return np.asarray(ndtr((value - mu) / math.sqrt(spread)))
        if self.name == "gamma":
            return np.asarray(gammainc(1 / spread + more, np.maximum(value, 0.0) / (spread * mu)))
        count, mean = np.maximum(value, 0.0), mu * self.scale.span
        if spread > 1e-6:
            found = betainc(1 / spread + more, count + 1, 1 / (1 + spread * mean))
        else:
            found = pdtr(count, mean)
        return np.asarray(np.where(value < 0, 0.0, found))


def _missing_share(filled: Floats, missing: Floats, noise: float) -> Floats:
    """The share of missing cells at each key, drawn towards that of all as `1 + noise` rows would."""
    there, gone = np.maximum(filled, 0), np.maximum(missing, 0)
    seen = filled + missing > 3 * noise
    total = float((filled + missing)[seen].sum())
    overall = float(np.clip(missing[seen].sum() / total, 0, 1)) if total > 0 else 0.5
    there, gone = np.where(seen, there, 0), np.where(seen, gone, 0)
    pull = 1 + noise
    return np.asarray((gone + pull * overall) / (there + gone + pull))
