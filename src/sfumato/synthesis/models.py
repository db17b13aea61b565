"""Generalized linear models for numeric columns inside PeGS (section 5 of Park and Ghosh 2014).

    sf.PeGS(total=5.0, models={"charge_usd": "lognormal", "los_days": "poisson"})

A column of many bins has few people in each cell of its table, so that the prior drowns them. A model needs
three sums for each key of the parents: how many rows, their values, their squares. From these a mean is
estimated whose effects add up over the parents, and a spread; the law of each bin follows. The sums are
noised once. Everything after that is arithmetic on noisy numbers: such a column is drawn as often as one
likes, and in a block it needs no reset, while columns drawn from counts pay on every visit.

Guarantee: epsilon-DP in the method's neighbours, for all models together, once.
Because:   a row is at one key. There it adds 1 to one of two counts (filled or missing), at most PARTS to the
           sum of values and at most PARTS to that of squares, all in whole numbers: three L1 sensitivities,
           each noised for a third of the model's share (discrete Laplace); replacing a row is two such steps.
           A weighted row counts for at most WEIGHT_UNITS. The values are those of a bin's middle, scaled by
           the declared ends, not those of the data.
Assumes:   edges and parents are public or paid for.
Tested by: tests/synthesis/test_models.py::test_sums_change_by_no_more_than_their_sensitivity
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import ParameterError
from sfumato.privacy import Budget, Ledger, Neighbours
from sfumato.privacy.noise import laplace
from sfumato.privacy.rounding import exact
from sfumato.schema import Kind
from sfumato.synthesis.blocks import Block, Blocks
from sfumato.synthesis.decoding import ends
from sfumato.synthesis.domain import WEIGHT_UNITS, Domain
from sfumato.synthesis.parents import whole_units

FAMILIES = ("normal", "lognormal", "gamma", "poisson")
PARTS = 2**16  # a value, and its square, is a whole number of these parts of the column's range
_LARGEST = 2**22  # cells of a model's laws
_LAW = 2.0**40  # a law's weights sum to about this; every bin has at least 1
_STEPS = 30
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sums:
    """What a model is learnt from, by key of the parents: (keys,) whole numbers, exact or noisy.

    filled, missing: rows. values, squares: in PARTS of the range. noise: the standard deviation of the
    counts' noise.
    """

    filled: Ints
    missing: Ints
    values: Ints
    squares: Ints
    noise: float = 0.0

    @classmethod
    def of(cls, block: Block, family: str) -> Sums:
        """From a block's table: one pass over its cells."""
        book, shape = block.counts.codebooks[-1], block.counts.shape
        keys = math.prod(shape[:-1])
        codes, n = block.counts.codes, block.counts.n.astype(np.int64)
        key = np.zeros(len(n), np.int64)
        for axis, size in enumerate(shape[:-1]):
            key = key * size + codes[:, axis]
        there = codes[:, -1] < len(book.levels)
        share = np.append(Scale.of(book, family).shares, 0.0)[codes[:, -1].astype(np.int64)]
        parts = (np.rint(share * PARTS), np.rint(share**2 * PARTS))
        filled, missing, values, squares = np.zeros((4, keys), np.int64)
        np.add.at(filled, key[there], n[there])
        np.add.at(missing, key[~there], n[~there])
        for out, part in zip((values, squares), parts, strict=True):
            np.add.at(out, key[there], (n * part.astype(np.int64))[there])
        return cls(filled, missing, values, squares)

    def noised(self, ledger: Ledger, epsilon: float, rows: int, column: str) -> Sums:
        """With noise for three times epsilon. rows: how many units one row adds to a count, at most."""

        def grant(what: str) -> Any:
            return ledger.grant(epsilon=epsilon, purpose=f"{what} of the model of {column}")

        counts = laplace(np.concatenate([self.filled, self.missing]), rows, grant("counts"))
        values = laplace(self.values, rows * PARTS, grant("values")).values
        squares = laplace(self.squares, rows * PARTS, grant("squares")).values
        filled, missing = np.split(counts.values, 2)
        return Sums(filled, missing, values, squares, counts.sigma)


@dataclass(frozen=True, eq=False)
class Scale:
    """A column's bins on the scale its model works on.

    low, span: where the range begins and how long it is. shares: (bins,) where each bin's middle lies in it,
    from 0 to 1. edges: (bins + 1,) of the bins; first, last: (bins,) the values that may be drawn of each.
    """

    low: float
    span: float
    shares: Floats
    edges: Floats
    first: Floats
    last: Floats

    @classmethod
    def of(cls, book: Codebook, family: str) -> Scale:
        """From the declared edges alone."""
        first, last, whole = ends(book)
        first, last = first.astype(np.float64), last.astype(np.float64)
        edges = np.append(first, last[-1]) - 0.5 * whole + np.append(np.zeros(len(first)), whole)
        middle = (first + last) / 2
        if family == "lognormal":
            shift = max(float(edges[1] - edges[0]), 1e-9) - edges[0]
            edges, middle = np.log(edges + shift), np.log(middle + shift)
        low, span = float(edges[0]), float(edges[-1] - edges[0])
        if family in ("gamma", "poisson"):
            low, span = 0.0, float(edges[-1])
        return cls(low, span, np.clip((middle - low) / span, 0, 1), edges, first, last)


def check(models: Mapping[str, str], domain: Domain, parents: Any) -> None:
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
            faults.append(f"'{name}' is no number with finite edges")
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


def _most_keys(name: str, books: Mapping[str, Codebook], parents: Any) -> int:
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
    sums = {name: Sums.of(blocks[name], family) for name, family in models.items()}
    if epsilon:
        ledger = Ledger.in_memory(Budget(epsilon=epsilon, neighbours=neighbours))
        each = whole_units(exact(epsilon) / (3 * len(models)))
        sums = {name: s.noised(ledger, each, rows * factor, name) for name, s in sums.items()}
    return {
        name: laws(sums[name], blocks[name].counts.codebooks, family, rows) for name, family in models.items()
    }


def laws(sums: Sums, books: Sequence[Codebook], family: str, unit: int = 1) -> NDArray[np.uint64]:
    """(keys, C) weights from sums that were paid for. unit: what one row counts for."""
    book, scale = books[-1], Scale.of(books[-1], family)
    n, missing = sums.filled / unit, sums.missing / unit
    noise, s, q = sums.noise / unit, sums.values / (unit * PARTS), sums.squares / (unit * PARTS)
    kept = n > 3 * noise  # of the others nothing is known but what the effects say
    x = features(books[:-1])
    if kept.any():
        n, s, q, there = n[kept], np.clip(s[kept], 0, n[kept]), q[kept], x[kept]
    else:  # the whole as one key, or nothing
        total = max(float(n.sum()), 1.0)
        n, s, q = np.array([total]), np.clip([float(s.sum())], 0, total), np.array([float(q.sum())])
        there = np.zeros((1, x.shape[1]))
    beta = fit_glm(there, n, s, family, max(1.0, noise))
    mean, old = means(x, beta, family), means(there, beta, family)
    spread = np.maximum(q - 2 * old * s + n * old**2, 0.0)
    found = _shares(scale, family, mean, spread, old, n)
    gaps = _missing_share(sums.filled / unit, missing, noise) if book.missing else None
    if gaps is not None:
        found = np.column_stack([found * (1 - gaps)[:, None], gaps])
    return (1 + np.floor(found * _LAW)).astype(np.uint64)


def fit_glm(x: Floats, n: Floats, s: Floats, family: str, penalty: float) -> Floats:
    """Coefficients by Fisher scoring on sums: the score is X'(s - n mu), divided by mu for gamma.

    x: (keys, p); n: rows, s: sums of values between 0 and 1. penalty: on squared effects (not the first
    coefficient, the level), as so many rows would pull towards no effect.
    """
    full = np.column_stack([np.ones(len(x)), x])
    level = max(float(s.sum() / n.sum()), 1e-6)
    beta = np.zeros(full.shape[1])
    beta[0] = level if family in ("normal", "lognormal") else math.log(level)
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


def _shares(scale: Scale, family: str, mean: Floats, spread: Floats, old: Floats, n: Floats) -> Floats:
    """(keys, bins): the chance of each bin under the family's law, given that the value is in the range."""
    from scipy.special import betainc, gammainc, ndtr, pdtr

    rows = float(n.sum())
    finest = max(float(np.diff(scale.edges).min()) / scale.span / 4, 1e-6)
    if family in ("normal", "lognormal"):
        sigma = max(math.sqrt(float(spread.sum()) / rows), finest)
        edges = (scale.edges - scale.low) / scale.span
        upto = ndtr((edges - mean[:, None]) / sigma)
    elif family == "gamma":
        phi = max(float((spread / old**2).sum()) / rows, finest**2)
        edges = np.maximum(scale.edges, 0.0) / scale.span
        upto = gammainc(1 / phi, edges / (phi * mean[:, None]))
    else:
        mu, wide = mean * scale.span, spread * scale.span**2
        past = np.append(scale.first - 1, scale.last[-1])
        over = float((wide - n * old * scale.span).sum()) / float((n * (old * scale.span) ** 2).sum())
        if over > 1e-6:  # more spread than Poisson's: a gamma mixture of it, the negative binomial law
            chance = 1 / (1 + over * mu)
            upto = np.where(past < 0, 0.0, betainc(1 / over, np.maximum(past, 0.0) + 1, chance[:, None]))
        else:
            upto = np.where(past < 0, 0.0, pdtr(np.maximum(past, 0.0), mu[:, None]))
    found = np.maximum(np.diff(upto, axis=1), 0.0)
    total = found.sum(axis=1, keepdims=True)
    even = np.full_like(found, 1 / found.shape[1])
    return np.asarray(np.where(total > 1e-12, found / np.maximum(total, 1e-300), even))


def _missing_share(filled: Floats, missing: Floats, noise: float) -> Floats:
    """The share of missing cells at each key, drawn towards that of all as `1 + noise` rows would."""
    there, gone = np.maximum(filled, 0), np.maximum(missing, 0)
    seen = filled + missing > 3 * noise
    total = float((filled + missing)[seen].sum())
    overall = float(np.clip(missing[seen].sum() / total, 0, 1)) if total > 0 else 0.5
    there, gone = np.where(seen, there, 0), np.where(seen, gone, 0)
    pull = 1 + noise
    return np.asarray((gone + pull * overall) / (there + gone + pull))
