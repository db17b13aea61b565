"""Do pairs of rows that are alike join both files too often? An exact test without a control.

Originals and released rows lie in one pool. Rows that are alike are paired without looking at which file they
come from, and no row is in two pairs. Where nothing was copied, all rows of the pool are people of one kind:
the files are dealt out to them at random. A pair of two released rows says nothing about copying and is left
out. Of the others, so many should join an original and a released row; each copy is a pair more that does.

With N rows in the pool, J of them released, and G pairs that hold an original, the number of pairs that join
both files has the weights

    w(a) = C(G, a) 2^a C(N - 2 G, J - a)

as each such pair can be dealt in two ways and the remaining released rows lie anywhere among the others.
Pairs of two released rows would take released rows away; leaving that out makes the chance larger, never
smaller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FEWEST = 20  # pairs of the first cut; then twice as many each


def joining(score: Floats, joins: NDArray[np.bool_], originals: int, released: int) -> float:
    """The chance of as many pairs that join both files, all cuts paid for.

    score: how unlikely it is that two people are so alike, for each pair that holds an original; the highest
    are looked at first. joins: whether the other one is a released row.
    """
    if not len(score) or not released:
        return 1.0
    order = np.argsort(-score, kind="stable")
    ordered, running = score[order], np.cumsum(joins[order])
    cuts = [_FEWEST * 2**i for i in range(64) if _FEWEST * 2**i < len(score)] + [len(score)]
    best = 1.0
    for cut in cuts:
        last = int(np.searchsorted(-ordered, -ordered[cut - 1], "right"))  # all who score as high
        best = min(best, _chance(int(running[last - 1]), last, originals, released))
    return min(1.0, best * len(cuts))


def _chance(joined: int, pairs: int, originals: int, released: int) -> float:
    """P(A >= joined) by the weights above."""
    from scipy.special import gammaln, logsumexp

    def log_choose(n: int | Floats, k: Floats) -> Floats:
        inside = (k >= 0) & (k <= n)
        at = np.where(inside, k, 0.0)
        return np.where(inside, gammaln(n + 1) - gammaln(at + 1) - gammaln(n - at + 1), -np.inf)

    a = np.arange(pairs + 1, dtype=np.float64)
    rest = originals + released - 2 * pairs
    weights = log_choose(pairs, a) + a * np.log(2) + log_choose(rest, released - a)
    return float(np.exp(min(0.0, logsumexp(weights[joined:]) - logsumexp(weights))))
