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
