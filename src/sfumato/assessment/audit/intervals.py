"""Intervals that hold for every sample size: shares by Clopper and Pearson, and what is built from shares.

The area under the curve is the chance that a member scores above a non-member. Cut the scores into
disjoint pairs of one member and one non-member, and the number of pairs in the right order is binomial
with exactly that chance; its interval is a fifth wider than the best large-sample one, and assumes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.progress import track

Floats = NDArray[np.float64]


def share_low(hits: ArrayLike, trials: int, error: float) -> Floats:
    """A bound below the true share, wrong with a chance of at most `error`."""
    from scipy.special import betaincinv

    k = np.asarray(hits, dtype=np.float64)
    inside = np.where(k > 0, k, 1.0)
    return np.where(k > 0, betaincinv(inside, trials - inside + 1, error), 0.0)


def share_high(hits: ArrayLike, trials: int, error: float) -> Floats:
    """A bound above the true share, wrong with a chance of at most `error`."""
    from scipy.special import betainccinv

    k = np.asarray(hits, dtype=np.float64)
    inside = np.where(k < trials, k, trials - 1.0)
    return np.where(k < trials, betainccinv(inside + 1, trials - inside, error), 1.0)


def share(hits: int, trials: int, confidence: float) -> tuple[float, float, float]:
    """The share and its two-sided interval."""
    if trials == 0:
        return float("nan"), 0.0, 1.0
    error = (1 - confidence) / 2
    return hits / trials, float(share_low(hits, trials, error)), float(share_high(hits, trials, error))


def difference(
    first: tuple[int, int], second: tuple[int, int], confidence: float
) -> tuple[float, float, float]:
    """The first share minus the second (hits, trials), with the error split over the two intervals."""
    each = 1 - (1 - confidence) / 2
    a, a_low, a_high = share(*first, each)
    b, b_low, b_high = share(*second, each)
    return a - b, a_low - b_high, a_high - b_low


def area(
    members: Floats, others: Floats, confidence: float, generator: np.random.Generator
) -> tuple[float, float, float]:
    """The area under the curve, and its interval from disjoint pairs; ties are tossed.

    The value uses all pairs; should it fall outside the interval, the interval is widened to hold it.
    """
    from scipy.stats import rankdata

    n, m = len(members), len(others)
    if not n or not m:
        return float("nan"), 0.0, 1.0
    ranks = rankdata(np.concatenate([members, others]))
    value = float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))
    pairs = min(n, m)
    a = generator.permutation(members)[:pairs]
    b = generator.permutation(others)[:pairs]
    right = int((a > b).sum() + ((a == b) & (generator.random(pairs) < 0.5)).sum())
    _, low, high = share(right, pairs, confidence)
    return value, min(low, value), max(high, value)


def bounded_mean(values: Floats, confidence: float) -> tuple[float, float, float]:
    """The mean of independent values in [0, 1], and an interval for what it estimates, for any law of theirs.

    Because: for the true mean m both wealths below are fair games, sum_i log(1 +- l_i (x_i - m)) with bets
    l_i that know only earlier values, so that either exceeds 2 / error with a chance of at most error / 2
    (Ville). The interval is every m at which neither does (Waudby-Smith and Ramdas 2024, hedged capital).
    The bets follow the spread seen so far: values that lie close together give a narrow interval.
    """
    n = len(values)
    if not n:
        return float("nan"), 0.0, 1.0
    error = 1 - confidence
    count = np.arange(1, n + 1)
    centre = (0.5 + np.cumsum(values)) / (count + 1)
    spread = (0.25 + np.cumsum((values - centre) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], spread[:-1]])
    bets = np.sqrt(2 * np.log(2 / error) / (before * n))[:, None]
    m = np.linspace(0, 1, 2_001)[None, :]
    gaps = values[:, None] - m
    up = np.log1p(np.minimum(bets, 0.75 / np.maximum(m, 1e-12)) * gaps).sum(axis=0)
    down = np.log1p(-np.minimum(bets, 0.75 / np.maximum(1 - m, 1e-12)) * gaps).sum(axis=0)
    kept = m[0, np.maximum(up, down) < np.log(2 / error)]
    mean = float(values.mean())
    step = m[0, 1]  # the ends lie between two points of the grid: outwards
    low, high = (kept[0] - step, kept[-1] + step) if len(kept) else (mean, mean)
    return mean, float(max(0.0, min(low, mean))), float(min(1.0, max(high, mean)))


def require(*faults: str, hint: str) -> None:
    """Refuse parameters, all faults at once."""
    found = [f for f in faults if f]
    if found:
        raise ParameterError("; ".join(found) + ".", hint=hint)


def portions(total: int, size: int, label: str) -> Iterator[int]:
    """`total` in portions of at most `size`, reported to whoever listens once a portion is done."""
    sizes = [size] * (total // size) + ([total % size] if total % size else [])
    # Progress counts the rows of batches; a column of nulls has rows and weighs nothing.
    batches: Iterator[Any] = (pa.record_batch([pa.nulls(n)], ["draw"]) for n in sizes)
    for batch in track(batches, label, total):
        yield batch.num_rows
