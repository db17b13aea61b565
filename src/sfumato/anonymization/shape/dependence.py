"""Which kept columns follow from the quasi-identifiers within clusters: those that tell whose row is whose.

The promise of 1/k is against who goes by quasi-identifiers alone. Who infers a kept column y from them goes
by y as well, unless y is independent of the quasi-identifiers x given the cluster. That is what is tested: if
it holds, exchanging x within clusters gives a table that is as likely as the one at hand, so the dependence
found must look like those of exchanged tables (a permutation test, exact for any k).

    T(y) = sum over levels a of x and b of y of  C_ab^2 / (V_a W_b)

C, V, W: sums of products and squares of the indicators, each less its mean in the cluster. T is standardized
by its exchanged tables and compared with the largest of all columns in each (Westfall and Young), so the
level is for all columns together.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.shape.draws import Draws

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVEL = 0.01  # of the test, for all kept columns together
EXCHANGES = 199
_ROWS = 20_000  # looked at, in whole clusters
_LEVELS = 20  # told apart in a column; the rarer ones are one


def following(
    kept: Mapping[str, Ints], known: Mapping[str, Ints], label: Ints, draws: Draws
) -> tuple[str, ...]:
    """The kept columns that depend on the known ones within clusters, by the test above.

    kept, known: codes of the columns, (rows,) each. label: (rows,), the cluster of each row.
    """
    if not kept or not known:
        return ()
    some = _clusters(label, draws)
    place = np.unique(label[some], return_inverse=True)[1].astype(np.int64)
    x = _centred(np.hstack([_indicators(c[some]) for c in known.values()]), place)
    ys = [_centred(_indicators(c[some]), place) for c in kept.values()]
    found = np.array([_dependence(x, y) for y in ys])
    exchanged = np.empty((EXCHANGES, len(ys)))
    for i in range(EXCHANGES):
        moved = x[draws.shuffled_within(f"dependence {i}", place)]
        exchanged[i] = [_dependence(moved, y) for y in ys]
    middle, spread = exchanged.mean(axis=0), exchanged.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    largest = ((exchanged - middle) / scale).max(axis=1)
    score = (found - middle) / scale
    chance = (1 + (largest[:, None] >= score - 1e-9).sum(axis=0)) / (1 + EXCHANGES)
    return tuple(name for name, p in zip(kept, chance, strict=True) if p <= LEVEL)


def _clusters(label: Ints, draws: Draws) -> Ints:
    """Rows of clusters drawn at random, until there are enough."""
    order = draws.permutation("clusters tested", int(label.max()) + 1)
    until = np.searchsorted(np.cumsum(np.bincount(label)[order]), _ROWS) + 1
    return np.flatnonzero(np.isin(label, order[:until]))


def _indicators(codes: Ints) -> Floats:
    """(rows, levels): which level each row has; the most frequent ones, and one for all others."""
    levels, place, n = np.unique(codes, return_inverse=True, return_counts=True)
    if len(levels) > _LEVELS:
        rank = np.empty(len(levels), np.int64)
        rank[np.argsort(-n, kind="stable")] = np.arange(len(levels))
        place = np.minimum(rank, _LEVELS - 1)[place]
    return np.eye(int(place.max()) + 1)[place]


def _centred(values: Floats, label: Ints) -> Floats:
    """Less the mean of the cluster, and of length 1; what does not vary within clusters is 0."""
    sizes = np.bincount(label)
    means = np.stack([np.bincount(label, v) / sizes for v in values.T], axis=1)
    rest = values - means[label]
    length = np.sqrt((rest**2).sum(axis=0))
    out: Floats = np.where(length > 1e-9, rest / np.where(length > 1e-9, length, 1.0), 0.0)
    return out


def _dependence(x: Floats, y: Floats) -> float:
    """T above: columns have length 1 already."""
    return float(((x.T @ y) ** 2).sum())
