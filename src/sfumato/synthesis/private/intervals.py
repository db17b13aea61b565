"""Tables of a private model with their standard errors: the noise is known, so it can be reckoned with.

    model.table("sex", "dx").interval(0.9)

The rows of a model, and `model.counts`, follow the noisy answers where these are plausible: drawn towards
independence, never negative. That makes them near the truth, and their error hard to know. Here the
answers are left as they were drawn, so that estimates are unbiased (and some below 0), and their error is
that of the noise alone. With A and B the states of each code of two columns,

    t = A (R + one_i / S_j + one_j / S_i + N / (S_i S_j)) B',

four measurements with independent noise, of variance sigma^2 (m - m^2 / S) for a sum of m of S centred cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from sfumato.counts import Codebook
from sfumato.errors import ParameterError, listed
from sfumato.synthesis.domain import Domain
from sfumato.synthesis.private.layout import Floats, Ints
from sfumato.synthesis.private.measurement import Measured
from sfumato.synthesis.private.purse import Measurement
from sfumato.synthesis.private.variables import Variable

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
        from scipy import stats

        if not 0 < confidence < 1:
            raise ParameterError("confidence must be between 0 and 1.", hint="confidence=0.95")
        reach = float(stats.norm.ppf((1 + confidence) / 2))
        if "Laplace" in self.law:  # heavier tails; a sum with other noise lies between the two
            reach = max(reach, float(-np.log1p(-confidence) / 2**0.5))
        return self.counts - reach * self.errors, self.counts + reach * self.errors

    def to_arrow(self, confidence: float = 0.95) -> pa.Table:
        """One row a cell: levels, count, standard_error, low, high."""
        places = np.indices(self.counts.shape).reshape(self.counts.ndim, -1)
        low, high = self.interval(confidence)
        cells = {b.name: b.decode(p) for b, p in zip(self.books, places, strict=True)}
        numbers = {"count": self.counts, "standard_error": self.errors, "low": low, "high": high}
        return pa.table(cells | {name: pa.array(values.ravel()) for name, values in numbers.items()})


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


def _of_one(
    measured: Measured, home: int, places: Sequence[int], sizes: Sequence[int]
) -> tuple[Floats, Floats, str]:
    """Columns of one variable: sums of its states, or a level that was measured as such."""
    variable = measured.variables.all[home]
    cells = np.ravel_multi_index([variable.column_of(j) for j in places], sizes)
    m, of = measured.own[home], np.arange(variable.size)
    for level, own in zip(variable.levels, measured.levels[home], strict=True):
        if len({*zip(level.tolist(), cells.tolist(), strict=True)}) == int(level.max()) + 1:
            m, of = own, np.unique(level, return_index=True)[1]  # a level that tells the cell: less noise
            break
    target = cells if m is measured.own[home] else cells[of]
    many, number = int(np.prod(sizes)), len(m.values)
    members = np.bincount(target, minlength=many).astype(np.float64)
    counts = np.bincount(target, m.residual, minlength=many) + measured.rows * members / number
    variances = _spread(m.sigma, members, number) + _size(measured) * (members / number) ** 2
    return counts.reshape(sizes), variances.reshape(sizes), m.law


def _of_two(
    domain: Domain, measured: Measured, homes: Sequence[int], places: Sequence[int]
) -> tuple[Floats, Floats, str]:
    """Columns of two variables whose pair was measured, level by level."""
    names = [domain.names[j] for j in places]
    graph = len(measured.classes)  # details come after
    merged = [
        repr(n) for n, h in zip(names, homes, strict=True) if h < graph and measured.classes[h] is not None
    ]
    if merged:
        raise ParameterError(
            f"in pairs, rare levels of {listed(merged)} were not told apart.",
            hint="model.classes lists what was merged; model.counts has estimates without an error",
        )
    pair = next((m for m in measured.pairs if set(m.columns) == set(homes)), None)
    if pair is None:
        raise ParameterError(
            f"the pair {listed([repr(n) for n in names])} was not measured: its error is not known.",
            hint="fit with one of them as the target, or with a larger epsilon",
        )
    residual = pair.residual if pair.columns == tuple(homes) else pair.residual.T
    sums = [
        _sums(measured.variables.every[h], j, domain.sizes[j]) for h, j in zip(homes, places, strict=True)
    ]
    members, states = [s.sum(axis=1) for s in sums], [s.shape[1] for s in sums]
    share = [m / s for m, s in zip(members, states, strict=True)]
    counts = sums[0] @ residual @ sums[1].T + measured.rows * np.outer(*share)
    kept = [m - m**2 / s for m, s in zip(members, states, strict=True)]
    variances = pair.sigma**2 * np.outer(*kept) + _size(measured) * np.outer(share[0] ** 2, share[1] ** 2)
    for side, (home, own) in enumerate(zip(homes, sums, strict=True)):
        m: Measurement = measured.own[home]
        mean, noise = own @ m.residual, _spread(m.sigma, members[side], states[side])
        parts = [(mean, share[1]), (share[0], mean)][side]
        noises = [(noise, share[1] ** 2), (share[0] ** 2, noise)][side]
        counts, variances = counts + np.outer(*parts), variances + np.outer(*noises)
    return np.asarray(counts), np.asarray(variances), pair.law


def _sums(variable: Variable, place: int, size: int) -> Floats:
    """(codes, states): which states have which code of a column."""
    codes: Ints = variable.column_of(place)
    return np.asarray(codes[None, :] == np.arange(size)[:, None], np.float64)
