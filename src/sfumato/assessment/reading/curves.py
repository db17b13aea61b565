"""Two lists of numbers: how far apart they are, and the line or curve that takes one to the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.reading.same_values import same_text

Floats = NDArray[np.float64]

ALIKE = 0.1  # total variation of two lists of shares, or distance of two distributions, that are alike
_ONE_TO_ONE = 0.8  # of the original's numbers that there must be, for each to be another one
_QUANTILES = np.linspace(0.02, 0.98, 25)


def distance(x: Floats, y: Floats) -> float:
    """Kolmogorov and Smirnov's."""
    both = np.sort(np.concatenate([x, y]))
    place = [np.searchsorted(np.sort(v), both, "right") / len(v) for v in (x, y)]
    return float(np.abs(place[0] - place[1]).max())


def scale_of(x: Floats, y: Floats) -> tuple[float, float] | None:
    """a, b with x ~ a + b y, where the quantiles lie on a line; it falls where the sign was turned."""
    p = np.quantile(x, _QUANTILES)
    for sign in (1, -1):
        q = np.quantile(sign * y, _QUANTILES)
        if np.ptp(q) == 0 or np.ptp(p) == 0:
            return None
        b, a = np.polyfit(q, p, 1)
        if np.abs(p - (a + b * q)).max() <= 0.02 * np.ptp(p) and b > 0:
            return float(a), float(sign * b)
    return None


def by_rank(x: Floats, texts: pa.Array) -> dict[str, str]:
    """What each released number was before a curve that only rises, such as a logarithm; nothing if none was.

    Such a curve takes each number to another one, and leaves how many have it. A file that is only wrong does
    not fit: several of its numbers stand for one, or for one that more people have. Of numbers that hardly
    anybody shares nobody can tell.
    """
    try:
        y = pc.cast(texts.drop_null(), pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # dates, and what else is no plain number
        return {}
    mine, many = np.unique(x, return_counts=True)
    values, n = np.unique(y, return_counts=True)
    if 2 * len(mine) > len(x) or len(values) < _ONE_TO_ONE * len(mine):
        return {}
    read = np.quantile(x, (np.cumsum(n) - n / 2) / len(y), method="nearest")
    shares = np.zeros(len(mine))
    np.add.at(shares, np.searchsorted(mine, read), n / len(y))
    if len(np.unique(read)) < _ONE_TO_ONE * len(read) or np.abs(shares - many / len(x)).sum() / 2 > ALIKE:
        return {}
    words = same_text([pa.array(values), pa.array(read)])
    return dict(zip(words[0].to_pylist(), words[1].to_pylist(), strict=True))
