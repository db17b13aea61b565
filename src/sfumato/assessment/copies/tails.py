"""Are the top scores those of one group? An exact test of two groups that should be alike.

Where a release was made without looking at them, originals and control are people of one kind: whatever is
computed from the release for each person, without knowing which group they are in, the members of the groups
stand in random order. So the number A of originals among the K highest scores of all N people is
hypergeometric, and a chance A as high or higher is an exact p-value. A few copies show only at the very top,
many also further down: several cuts are tried, and the smallest p-value pays for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.audit.intervals import share_high, share_low

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CUTS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_SEEN = 0.01


@dataclass(frozen=True)
class Tail:
    """What the cuts say.

    p: the chance to see as much where nothing was copied, all cuts paid for.
    inside, outside: originals and controls above the cut with the largest excess, of all of them; of the cut
        with the smallest p-value where nothing was seen.
    above: the same two numbers at every cut.
    """

    p: float
    inside: int
    outside: int
    originals: int
    controls: int
    above: tuple[tuple[int, int], ...] = ()

    @property
    def excess(self) -> float:
        """The share of originals above the cut, beyond that of the control."""
        return max(0.0, self.inside / self.originals - self.outside / self.controls)

    def interval(self, error: float) -> tuple[float, float]:
        """Bounds of the excess, each wrong with a chance of at most `error`."""
        return self._bounds(self.inside, self.outside, error)

    def most(self, error: float) -> float:
        """What the excess is at most, at whichever cut it is largest.

        Wrong with a chance of at most `error`: if the excess is larger at some cut, its own bound must have
        erred.
        """
        return max((self._bounds(a, b, error)[1] for a, b in self.above), default=0.0)

    def _bounds(self, inside: int, outside: int, error: float) -> tuple[float, float]:
        a, b = inside / self.originals, outside / self.controls
        low_a, high_a = (float(f(inside, self.originals, error)) for f in (share_low, share_high))
        low_b, high_b = (float(f(outside, self.controls, error)) for f in (share_low, share_high))
        # Square and add: the two samples are independent, and do not err to the same side at once.
        low = a - b - math.hypot(a - low_a, high_b - b)
        high = a - b + math.hypot(high_a - a, b - low_b)
        return max(0.0, low), min(1.0, max(0.0, high))


def tail(
    inside: Floats, outside: Floats, weights: tuple[Ints, Ints] | None = None, cuts: tuple[float, ...] = CUTS
) -> Tail:
    """Compare the scores of originals and controls; -inf means that there is nothing to rank.

    weights: how many people each score stands for; one each if not given.
    """
    from scipy.stats import hypergeom

    n_in, n_out = weights or (np.ones(len(inside), np.int64), np.ones(len(outside), np.int64))
    scores = np.concatenate([inside, outside])
    counts = np.concatenate([n_in, n_out])
    order = np.argsort(-scores, kind="stable")
    ordered, running = scores[order], np.cumsum(counts[order])
    originals, controls = int(n_in.sum()), int(n_out.sum())
    total = originals + controls
    best, seen = 1.0, []
    for share in cuts:
        place = int(np.searchsorted(running, max(1, int(share * total))))
        cut = float(ordered[min(place, len(ordered) - 1)])
        if not math.isfinite(cut):
            ranked = ordered[np.isfinite(ordered)]
            if not len(ranked):
                break
            cut = float(ranked[-1])
        a, b = int(n_in[inside >= cut].sum()), int(n_out[outside >= cut].sum())
        p = float(hypergeom.sf(a - 1, total, a + b, originals)) * len(cuts)
        best = min(best, p)
        seen.append((p <= _SEEN, a / originals - b / controls if p <= _SEEN else -p, a, b))
    _, _, a, b = max(seen, default=(False, 0.0, 0, 0))
    return Tail(best, a, b, originals, controls, tuple((a, b) for _, _, a, b in seen))


def detectable(
    own: Floats, outside: Floats, released: int, error: float, weights: tuple[Ints, Ints] | None = None
) -> float:
    """The smallest share of copied rows that would be seen 95 times in 100.

    own: for each original, the score that a copy of their row would have. outside: the scores of controls.
    """
    from scipy.stats import norm

    n_own, n_out = weights or (np.ones(len(own), np.int64), np.ones(len(outside), np.int64))
    originals, controls = int(n_own.sum()), int(n_out.sum())
    strict = error / len(CUTS)
    z = float(norm.isf(strict)) + float(norm.isf(0.05))
    fewest = math.log(strict) / math.log(originals / (originals + controls))  # all of them on one side
    order = np.argsort(-own, kind="stable")
    running = np.cumsum(n_own[order]) / originals
    best = 1.0
    for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        cut = own[order][min(int(np.searchsorted(running, share)), len(order) - 1)]
        many = int(n_own[own >= cut].sum())
        chance = float(n_out[outside >= cut].sum()) * originals / controls
        # hits needed: h >= z sqrt(2 chance + h), solved for h
        hits = (z * z + z * math.sqrt(z * z + 8 * chance)) / 2
        needed = max(hits, fewest / 0.95)
        if needed <= many:  # of fewer people even all would not be enough
            best = min(best, needed * originals / (released * many))
    return best
