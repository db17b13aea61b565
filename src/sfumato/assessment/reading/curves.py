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


def grid_of(x: Floats) -> tuple[float, ...]:
    """The numbers that occur, if several people share most, as years of age; nothing if nearly all differ."""
    values = np.unique(x)
    return tuple(values.tolist()) if len(values) > 1 and 2 * len(values) <= len(x) else ()


def beside(x: Floats, y: Floats) -> tuple[float, ...]:
    """The whole numbers of the original, where most released ones lie beside them: ages with noise."""
    whole = bool(np.all(x == np.round(x)))
    return grid_of(x) if whole and np.mean(y != np.round(y)) > 0.5 else ()


def said(scale: tuple[float, float]) -> str:
    """What becomes of numbers, for the notes."""
    a, b = scale
    own = (a, b) == (0.0, 1.0)
    return f"its numbers are read as {'the nearest that people have' if own else f'{a:.4g} + {b:.4g} x'}"


def on_scale(cells: pa.ChunkedArray, scale: tuple[float, float], grid: tuple[float, ...]) -> pa.ChunkedArray:
    """Numbers by their line; on the grid where one of its numbers is less than half a usual step away.

    A line through quantiles gives 17.013 for 17: near enough for a distance, but equal to nothing.
    """
    a, b = scale
    read = pc.round(pc.add(pc.multiply(pc.cast(cells, pa.float64()), b), a), 6)
    if len(grid) < 2:
        return read
    known, half = np.array(grid), float(np.median(np.diff(grid))) / 2
    numbers = read.combine_chunks().to_numpy(zero_copy_only=False)
    at = np.clip(np.searchsorted(known, np.nan_to_num(numbers)), 1, len(known) - 1)
    near = np.where(numbers - known[at - 1] <= known[at] - numbers, known[at - 1], known[at])
    snapped = np.where(np.abs(near - numbers) <= half, near, numbers)
    return pa.chunked_array([pa.array(snapped, mask=np.isnan(numbers))])


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
