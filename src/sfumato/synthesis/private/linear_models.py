"""Means, differences and linear regressions of a private model, with the error of noise and of sampling.

    model.mean("stay", by="ward").interval(0.9)
    model.regression("stay", ["age", "ward"], about="population")

Least squares needs no more of the data than M = sum of f f' over the rows, f the features 1, x, y of a row;
and an entry of M is a sum over the cells of one column or of two: <T, t>. All of these are linear in what
was measured (intervals.py), unbiased, and their noise is known. With M = [[A, d], [d', .]] and b = A^-1 d,

    b_hat - b = A^-1 (dM c) to first order, c = (-b, 1),   dM the noise in M.

So each coefficient is a sum of weights times noise, each measurement counted once, however many tables it is
part of: pairs, single columns and the number of rows. The variance of <G, H z> is sigma^2 |H G|^2.

Guarantee: that of the model: arithmetic on answers that were paid for.
Tested by: tests/synthesis/test_private_linear.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from sfumato.counts import Codebook
from sfumato.errors import ParameterError, listed
from sfumato.schema import Kind
from sfumato.synthesis.bin_values import ends
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.intervals import About, noisy_table, pair_of, reach_of, source_of
from sfumato.synthesis.private.layout import Codes, Floats
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.purse import Measurement, centred

_MOST = 60  # features
_TRUSTED = 0.3  # noise in A, as a share of A, up to which the first order is trusted
CONSTANT = "(constant)"


@dataclass(frozen=True, eq=False)
class NoisyCoefficients:
    """Coefficients with standard errors: means of groups, or a regression. It may be published.

    names: what each is of; estimates; covariance: of noise, and of sampling where `about` is the population;
    law: of the noise.
    """

    names: tuple[str, ...]
    estimates: Floats
    covariance: Floats
    law: str
    about: About

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of an interval for each."""
        reach = reach_of(confidence, self.law)
        return self.estimates - reach * self.errors, self.estimates + reach * self.errors

    def difference(self, first: str, second: str) -> NoisyCoefficients:
        """The first less the second, with the error of both."""
        unknown = [repr(n) for n in (first, second) if n not in self.names]
        if unknown:
            raise ParameterError(f"no such coefficient: {listed(unknown)}.", hint="`names` lists them")
        contrast = np.zeros(len(self.names))
        contrast[self.names.index(first)] += 1
        contrast[self.names.index(second)] -= 1
        spread = np.array([[contrast @ self.covariance @ contrast]])
        return NoisyCoefficients(
            (f"{first} - {second}",), np.array([contrast @ self.estimates]), spread, self.law, self.about
        )

    def to_arrow(self, confidence: float = 0.95) -> pa.Table:
        """One row a coefficient: name, estimate, standard_error, low, high."""
        low, high = self.interval(confidence)
        numbers = {"estimate": self.estimates, "standard_error": self.errors, "low": low, "high": high}
        return pa.table({"name": list(self.names)} | {n: pa.array(v) for n, v in numbers.items()})


@dataclass(frozen=True, eq=False)
class RegressionTerm:
    """A function of one column: values of its codes. column: its place, or None of a constant."""

    name: str
    column: int | None
    values: Floats


def score(book: Codebook, place: int) -> RegressionTerm:
    """A column as a number: the middle of each bin, or the numbers that its levels are."""
    column = book.column
    if book.missing:
        raise ParameterError(
            f"'{book.name}' may be missing: not every row has a number.",
            hint=f"categories=['{book.name}'], or fit without the rows where it is",
        )
    if column.edges is not None and column.kind is Kind.NUMERIC:
        low, high, _ = ends(book)
        return RegressionTerm(book.name, place, np.asarray((low + high) / 2, np.float64))
    levels = book.levels.to_pylist()
    counted = column.kind is not Kind.NOMINAL or len(levels) == 2  # numbers of wards are names
    if counted and all(isinstance(v, int | float) for v in levels):
        return RegressionTerm(book.name, place, np.array(levels, np.float64))
    if len(levels) == 2:
        return RegressionTerm(f"{book.name}: {levels[1]}", place, np.array([0.0, 1.0]))
    raise ParameterError(
        f"'{book.name}' is not a number, and has more than two levels.",
        hint="an outcome is a number or yes or no",
    )


def indicators(book: Codebook, place: int, *, every: bool) -> list[RegressionTerm]:
    """A column as one feature for each level; without `every`, the first is what others are compared with."""
    names = [*map(str, book.levels.to_pylist()), *["missing"] * book.missing]
    flags = np.eye(book.size)
    found = [RegressionTerm(f"{book.name}: {n}", place, flags[i]) for i, n in enumerate(names)]
    return found if every else found[1:]


def numeric(book: Codebook) -> bool:
    """Whether a column is taken as a number unless it is named as a category."""
    ordered = book.column.edges is not None and book.column.kind is Kind.NUMERIC
    whole = book.column.kind is Kind.ORDINAL and book.column.type not in ("text", "boolean")
    return ordered or whole


class NoisyMoments:
    """M and its noise: sums over the rows of products of two features, from what was measured."""

    def __init__(self, domain: Domain, measured: Measured, features: Sequence[RegressionTerm]) -> None:
        self.domain, self.measured, self.features = domain, measured, features
        self.columns = sorted({f.column for f in features if f.column is not None})
        self._mine = {j: [a for a, f in enumerate(features) if f.column == j] for j in (None, *self.columns)}
        self._phi = {
            j: np.array([features[a].values for a in self._mine[j]]).reshape(len(self._mine[j]), -1)
            for j in self.columns
        }
        self.laws: set[str] = set()

    def matrix(self) -> Floats:
        """M as it was measured."""
        out = np.zeros((len(self.features),) * 2)
        constant = self._mine[None]
        out[np.ix_(constant, constant)] = self.measured.rows
        for j in self.columns:
            one = noisy_table(self.domain, self.measured, [j]).counts
            phi, mine = self._phi[j], self._mine[j]
            out[np.ix_(mine, mine)] = (phi * one) @ phi.T
            for a in constant:
                out[a, mine] = out[mine, a] = phi @ one
        for j, k in combinations(self.columns, 2):
            both = noisy_table(self.domain, self.measured, [j, k]).counts
            part = self._phi[j] @ both @ self._phi[k].T
            out[np.ix_(self._mine[j], self._mine[k])] = part
            out[np.ix_(self._mine[k], self._mine[j])] = part.T
        return out

    def covariance(self, weights: Floats) -> Floats:
        """Of the sums <W_k, M>, (K, K).  weights: (K, F, F)."""
        self._noise: dict[int, tuple[Measurement, Floats]] = {}
        self._rows = np.zeros(len(weights))
        for a in self._mine[None]:
            for b in self._mine[None]:
                self._rows += weights[:, a, b]
        for j in self.columns:
            mine, phi = self._mine[j], self._phi[j]
            own = np.einsum("kab,ax,bx->kx", weights[:, mine][:, :, mine], phi, phi)
            for a in self._mine[None]:
                own = own + (weights[:, a, mine] + weights[:, mine, a]) @ phi
            self._one([j], own)
        for j, k in combinations(self.columns, 2):
            first, second = self._mine[j], self._mine[k]
            both = weights[:, first][:, :, second] + weights[:, second][:, :, first].transpose(0, 2, 1)
            self._two([j, k], np.einsum("kab,ax,by->kxy", both, self._phi[j], self._phi[k]))
        total = self.measured.total
        out = np.outer(self._rows, self._rows) * (0.0 if total is None else total.sigma**2)
        for m, g in self._noise.values():
            self.laws.add(m.law)
            flat = np.array([centred(each) for each in g]).reshape(len(g), -1)
            out = out + m.sigma**2 * flat @ flat.T
        return out

    def _add(self, m: Measurement, g: Floats) -> None:
        old = self._noise.get(id(m))
        self._noise[id(m)] = m, g if old is None else old[1] + g

    def _one(self, places: Sequence[int], weights: Floats) -> None:
        """weights: (K, cells) of columns of one variable, flat."""
        home = self.measured.variables.place(places[0])
        sizes = [self.domain.sizes[j] for j in places]
        m, cells = source_of(self.measured, home, places, sizes)
        self._add(m, weights[:, cells])
        self._rows += weights[:, cells].mean(axis=1)  # counts are residuals and an even share of N

    def _two(self, places: Sequence[int], weights: Floats) -> None:
        """weights: (K, codes of the first, of the second); t = A R B' + one_i b + a one_j - N a b."""
        homes = [self.measured.variables.place(j) for j in places]
        if homes[0] == homes[1]:
            self._one(places, weights.reshape(len(weights), -1))
            return
        pair, inner = pair_of(self.domain, self.measured, homes, places)
        a, b = (one.mean(axis=1) for one in inner)
        g = inner[0].T @ weights @ inner[1]
        self._add(pair, g if pair.columns == tuple(homes) else g.transpose(0, 2, 1))
        self._one(places[:1], weights @ b)
        self._one(places[1:], np.einsum("kxy,x->ky", weights, a))
        self._rows -= np.einsum("kxy,x,y->k", weights, a, b)


def least_squares(
    domain: Domain,
    measured: Measured,
    features: Sequence[RegressionTerm],
    outcome: RegressionTerm,
    about: About,
    rows: Codes,
) -> NoisyCoefficients:
    """b of the outcome on the features. rows: (columns, rows) of the model, for the error of sampling."""
    if not 1 <= len(features) <= _MOST:
        raise ParameterError(f"a regression has 1 to {_MOST} coefficients.", hint="fewer columns or levels")
    moments = NoisyMoments(domain, measured, [*features, outcome])
    matrix, p = moments.matrix(), len(features)
    a = matrix[:p, :p]
    if _noise_of(a, moments, p) > _TRUSTED:
        raise ParameterError(
            "the noise is too large for these coefficients: their error could not be trusted.",
            hint="fewer columns, merged levels, or a larger epsilon",
        )
    inverse = np.linalg.inv(a)
    b = inverse @ matrix[:p, p]
    c = np.append(-b, 1.0)
    weights = np.zeros((p, p + 1, p + 1))
    weights[:, :p, :] = inverse[:, :, None] * c[None, None, :]
    spread = moments.covariance(weights)
    if about == "population":
        f = np.array([x.values[rows[x.column]] if x.column is not None else np.ones(rows.shape[1])
                      for x in [*features, outcome]])  # fmt: skip
        pulled = f[:p] * (c @ f)
        spread = spread + inverse @ (pulled @ pulled.T * (measured.rows / rows.shape[1])) @ inverse
    law = "discrete Laplace" if any("Laplace" in one for one in moments.laws) else "discrete Gaussian"
    return NoisyCoefficients(tuple(x.name for x in features), b, spread, law, about)


def _noise_of(a: Floats, moments: NoisyMoments, p: int) -> float:
    """How large the noise in A is against A, in the worst direction: the largest row of A^-1/2 dA A^-1/2.

    Not on average: one rare level among many common ones has an estimate, too.
    """
    scale = np.sqrt(np.maximum(np.diag(a), 1.0))
    values, vectors = np.linalg.eigh(a / np.outer(scale, scale))
    if values.min() <= 1e-9 or np.diag(a).min() <= 0:
        return float("inf")  # a level of nobody, or columns that say the same
    white = vectors / np.sqrt(values) / scale[:, None]
    places = [(i, j) for i in range(p) for j in range(i, p)]
    each = np.zeros((len(places), p + 1, p + 1))
    for q, (i, j) in enumerate(places):
        each[q, :p, :p] = np.outer(white[:, i], white[:, j])
    spread = np.zeros((p, p))
    for (i, j), noise in zip(places, np.diag(moments.covariance(each)), strict=True):
        spread[i, j] = spread[j, i] = noise
    return float(np.sqrt(spread.sum(axis=1).max()))


def regression(
    domain: Domain, outcome: str, columns: Sequence[str], categories: Sequence[str]
) -> tuple[list[RegressionTerm], RegressionTerm]:
    """The features of a regression, a constant first, and its outcome."""
    if isinstance(columns, str) or not {*categories} <= {*columns}:
        raise ParameterError(
            "a regression has an outcome, a list of other columns, and categories among these.",
            hint='model.regression("stay", ["age", "ward"], categories=["age"])',
        )
    found = [RegressionTerm(CONSTANT, None, np.ones(1))]
    for name in columns:
        place = domain.place(name)
        book = domain.books[place]
        if numeric(book) and name not in categories:
            found.append(score(book, place))
        else:
            found += indicators(book, place, every=False)
    place = domain.place(outcome)
    return found, score(domain.books[place], place)


def means(domain: Domain, column: str, by: str | None) -> tuple[list[RegressionTerm], RegressionTerm]:
    """The mean of a column, or of each level of another: a regression without a constant."""
    place = domain.place(column)
    outcome = score(domain.books[place], place)
    if by is None:
        return [RegressionTerm(outcome.name, None, np.ones(1))], outcome
    group = domain.place(by)
    return indicators(domain.books[group], group, every=True), outcome


def require_known(about: str, plan: Mapping[str, object]) -> None:
    """Refuse what of sampling cannot be known."""
    if about not in ("data", "population"):
        raise ParameterError("an estimate is about 'data' or 'population'.", hint='about="population"')
    repeated = "largest_weight" in plan or plan.get("max_rows_per_person", 1) != 1
    if about == "population" and repeated:
        raise ParameterError(
            "the error of sampling is not known of weighted rows, or of several rows of a person.",
            hint='about="data" has the error of the noise alone',
        )
