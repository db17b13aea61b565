"""Tables of a private model with their standard errors: the noise is known, so it can be reckoned with.

    model.table("sex", "dx").interval(0.9)

The rows of a model, and `model.counts`, follow the noisy answers where these are plausible: drawn towards
independence, never negative. That makes them near the truth, and their error hard to know. Here the
answers are left as they were drawn, so that estimates are unbiased (and some below 0), and their error is
that of the noise alone. With A and B the states of each code of two columns,

    t = A R B' + one_i b + a one_j - N a b,        a = A 1 / S_i, b = B 1 / S_j,

one_i = known_i + N part_i the counts of one column: four measurements with independent noise (R, known_i,
known_j, N), of variance sigma^2 (m - m^2 / S) for a sum of m of S centred cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.counts import Codebook
from sfumato.errors import ParameterError, listed
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.layout import Floats, Ints
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.purse import Measurement

About = Literal["data", "population"]


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts of one or two columns with standard errors. It costs nothing, and may be published.

    counts: as measured, with one axis per column; some may be below 0. errors: standard errors, 0 for what
    cannot be. law: of the noise.
    """

    books: tuple[Codebook, ...]
    counts: Floats
    errors: Floats
    law: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are crossed."""
        return tuple(b.name for b in self.books)

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of an interval for each cell."""
        reach = reach_of(confidence, self.law)
        return self.counts - reach * self.errors, self.counts + reach * self.errors

    def to_arrow(self, confidence: float = 0.95) -> pa.Table:
        """One row a cell: levels, count, standard_error, low, high."""
        places = np.indices(self.counts.shape).reshape(self.counts.ndim, -1)
        low, high = self.interval(confidence)
        cells = {b.name: b.decode(p) for b, p in zip(self.books, places, strict=True)}
        numbers = {"count": self.counts, "standard_error": self.errors, "low": low, "high": high}
        return pa.table(cells | {name: pa.array(values.ravel()) for name, values in numbers.items()})


def reach_of(confidence: float, law: str) -> float:
    """How many standard errors an interval reaches to either side."""
    from scipy import stats

    if not 0 < confidence < 1:
        raise ParameterError("confidence must be between 0 and 1.", hint="confidence=0.95")
    reach = float(stats.norm.ppf((1 + confidence) / 2))
    if "Laplace" in law:  # heavier tails; a sum with other noise lies between the two
        reach = max(reach, float(-np.log1p(-confidence) / 2**0.5))
    return reach


def noisy_table(
    domain: Domain, measured: Measured, places: Sequence[int], about: About = "data"
) -> NoisyTable:
    """The table of one or two columns, where it was measured; refused otherwise."""
    if about not in ("data", "population") or len(places) not in (1, 2):
        raise ParameterError(
            "a table with standard errors is of one or two columns, about 'data' or 'population'.",
            hint='model.table("sex", "age", about="population")',
        )
    variables = measured.variables
    homes = [variables.place(j) for j in places]
    books = tuple(domain.books[j] for j in places)
    if len(set(homes)) == 1:
        counts, variances, law = _of_one(measured, homes[0], places, [b.size for b in books])
    else:
        counts, variances, law = _of_two(domain, measured, homes, places)
    if about == "population":
        share = np.clip(counts / measured.rows, 0.0, 1.0)
        variances = variances + measured.rows * share * (1 - share)
    return NoisyTable(books, counts, np.sqrt(variances), law)


def _size(measured: Measured) -> float:
    """The variance of the number of rows."""
    return 0.0 if measured.total is None else measured.total.sigma**2


def _spread(sigma: float, members: Floats, states: int) -> Floats:
    """The variance of a sum of centred noise over so many of the states."""
    return np.asarray(sigma**2 * (members - members**2 / states))


class _Sums(NamedTuple):
    """Counts of cells as `known` + N `part`: what was measured of them, and their share of the rows if even.

    variance: of `known`, the noise of the number of rows apart.
    """

    known: Floats
    part: Floats
    variance: Floats
    law: str


def source_of(
    measured: Measured, home: int, places: Sequence[int], sizes: Sequence[int]
) -> tuple[Measurement, Ints]:
    """What columns of one variable are counted by: its states, or a level that tells them with less noise.

    And for each cell of that measurement, the cell of the columns, flat.
    """
    variable = measured.variables.all[home]
    cells = np.ravel_multi_index([variable.column_of(j) for j in places], sizes)
    for level, own in zip(variable.levels, measured.levels[home], strict=True):
        if len({*zip(level.tolist(), cells.tolist(), strict=True)}) == int(level.max()) + 1:
            return own, cells[np.unique(level, return_index=True)[1]]
    return measured.own[home], cells


def _sums(measured: Measured, home: int, places: Sequence[int], sizes: Sequence[int]) -> _Sums:
    """Columns of one variable, flat: sums of its states, or of a level that was measured as such."""
    m, cells = source_of(measured, home, places, sizes)
    many, number = int(np.prod(sizes)), len(m.values)
    members = np.bincount(cells, minlength=many).astype(np.float64)
    known = np.asarray(np.bincount(cells, m.residual, minlength=many), np.float64)
    return _Sums(known, members / number, _spread(m.sigma, members, number), m.law)


def _of_one(
    measured: Measured, home: int, places: Sequence[int], sizes: Sequence[int]
) -> tuple[Floats, Floats, str]:
    one = _sums(measured, home, places, sizes)
    counts = one.known + measured.rows * one.part
    return counts.reshape(sizes), (one.variance + _size(measured) * one.part**2).reshape(sizes), one.law


def pair_of(
    domain: Domain, measured: Measured, homes: Sequence[int], places: Sequence[int]
) -> tuple[Measurement, list[Floats]]:
    """The measurement that columns of two variables are counted by, and the classes of their codes."""
    names = [domain.names[j] for j in places]
    graph = len(measured.classes)  # details come after
    pair = next((m for m in measured.pairs if set(m.columns) == set(homes)), None)
    inner = [
        _members(measured, h, j, domain.sizes[j]) for h, j in zip(homes, places, strict=True) if h < graph
    ]
    merged = [repr(n) for n, one in zip(names, inner, strict=False) if (one.sum(axis=0) > 1).any()]
    if merged:
        raise ParameterError(
            f"in pairs, rare levels of {listed(merged)} were not told apart.",
            hint="model.classes lists what was merged; model.counts has estimates without an error",
        )
    if pair is None:
        raise ParameterError(
            f"the pair {listed([repr(n) for n in names])} was not measured: its error is not known.",
            hint="fit with one of them as the target, or with a larger epsilon",
        )
    return pair, inner


def _of_two(
    domain: Domain, measured: Measured, homes: Sequence[int], places: Sequence[int]
) -> tuple[Floats, Floats, str]:
    """Columns of two variables whose pair was measured, by classes that tell their levels."""
    pair, inner = pair_of(domain, measured, homes, places)
    residual = pair.residual if pair.columns == tuple(homes) else pair.residual.T
    members = [one.sum(axis=1) for one in inner]
    share = [one.mean(axis=1) for one in inner]
    first, second = (_sums(measured, h, [j], [domain.sizes[j]]) for h, j in zip(homes, places, strict=True))
    even = np.outer(first.part, share[1]) + np.outer(share[0], second.part) - np.outer(*share)
    counts = inner[0] @ residual @ inner[1].T + measured.rows * even
    counts = counts + np.outer(first.known, share[1]) + np.outer(share[0], second.known)
    kept = [m - m**2 / one.shape[1] for m, one in zip(members, inner, strict=True)]
    variances = pair.sigma**2 * np.outer(*kept) + _size(measured) * even**2
    variances = variances + np.outer(first.variance, share[1] ** 2) + np.outer(share[0] ** 2, second.variance)
    return np.asarray(counts), np.asarray(variances), pair.law


def _members(measured: Measured, home: int, place: int, size: int) -> Floats:
    """(codes, classes): which classes have states of which code of a column."""
    codes, classes = measured.variables.every[home].column_of(place), measured.classes[home]
    own = np.arange(len(codes)) if classes is None else classes
    table = np.zeros((size, int(own.max()) + 1))
    table[codes, own] = 1.0
    return table
