"""A control that is none: rows of the original in it, or rows of the release.

Against the first every attack looks harmless; against the second every copy does. Both are found by content,
in any order: rows that two files share are met one by one, the rarest first, as two people may well agree in
all columns where these are few and common. By chance such a meeting joins two files with a known share; where
rows were lent, nearly all of the rare ones do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies.equality import CountedRows, EqualRows
from sfumato.assessment.copies.tails import Tail, tail
from sfumato.seeds import Key

Ints = NDArray[np.int64]

_MEETINGS = np.unique((14 * 2 ** (np.arange(40) / 2)).astype(int))  # of the rarest: so many are looked at
_SURELY = 1.645  # standard deviations: 95 times in 100


@dataclass(frozen=True)
class Overlap:
    """How many rows of the control are rows of another file beyond chance, and the chance of as many.

    seen: the smallest share of the control that would have been noticed 95 times in 100; nan if unknown.
    """

    rows: int
    control: int
    p: float
    seen: float = math.nan


def overlap(rows: CountedRows, key: Key, limit: float) -> Overlap:
    """Control rows that are originals. Of equal rows of both files two are drawn: whom do they join?

    rows: of the original, the release and the control. limit: the chance at which it counts as noticed.

    Where nobody is in both files, all rows are people of one kind, and two of them are of different files
    with the share 2 n m / (N (N - 1)), n and m rows of the files and N of both.
    """
    n, m = rows.n[0], rows.n[2]
    many = np.flatnonzero(n + m > 1)
    drawn = key.generator("pairs").hypergeometric(n[many], m[many], 2) if len(many) else np.array([], int)
    sizes = int(n.sum()), int(m.sum())
    share = 2 * sizes[0] * sizes[1] / max(1, sum(sizes) * (sum(sizes) - 1))
    rarity = rows.rarity_among(0, 2, less=2.0)
    p = _too_often(rarity[many], drawn == 1, share)
    return Overlap(_about(n, m, rarity), sizes[1], p, _noticeable(n, m, rarity, share, limit))


def shared_with_release(rows: CountedRows) -> Overlap:
    """Control rows that are released rows: they equal one more often than released rows equal each other.

    A release of which every row is there once has no rows that equal each other. So the control must also be
    met in it more often than in the original: of the control rows that are in one of them, each is in the
    release with the share of its rows. The chance is the larger of the two.

    rows: of the original, the release and the control.
    """
    original, released, control = rows.n
    once, again = (rows.rarity_among(1, less=x) for x in (1.0, 2.0))  # as among the others, all but itself
    met, twins = np.where(released > 0, once, -np.inf), np.where(released > 1, again, -np.inf)
    against = tail(met, twins, (control, released))
    here, elsewhere = ((other > 0) & (control > 0) for other in (released, original))
    one = here ^ elsewhere
    share = float(released.sum() / (released.sum() + original.sum()))
    more = _too_often(rows.rarity_among(0, 1, 2, less=2.0)[one], here[one], share)
    return Overlap(_about(released, control, once), int(control.sum()), max(against.p, more))


def _too_often(rarity: NDArray[np.float64], joins: NDArray[np.bool_], share: float) -> float:
    """The chance that of the rarest meetings as many are of one sort, all cuts paid for."""
    from scipy.stats import binom

    if not len(rarity):
        return 1.0
    running = np.cumsum(joins[np.argsort(-rarity, kind="stable")])
    cuts = _cuts(len(rarity))
    return min(1.0, len(cuts) * float(binom.sf(running[cuts - 1] - 1, cuts, share).min()))


def _cuts(meetings: int) -> Ints:
    return np.append([k for k in _MEETINGS if k < meetings], meetings).astype(np.int64)


def _noticeable(n: Ints, m: Ints, rarity: NDArray[np.float64], share: float, limit: float) -> float:
    """The smallest share of the control that, were it rows of the original, would be noticed nearly always.

    x rows that are lent make x more meetings that join the files, as rare as originals are whom nobody
    equals; the meetings that there are happen by chance. The rarest K of both together hold J that join, with
    mean lent + share * chance. It is noticed if J, less 1.645 standard deviations, is too many at one of the
    cuts.
    """
    from scipy.stats import binom

    order = np.argsort(-rarity, kind="stable")
    alone = np.cumsum(np.where(n + m > 1, 0, n)[order]) / n.sum()
    chance = np.cumsum((n + m > 1)[order])

    def noticed(lent: float) -> bool:
        meetings = lent * alone + chance
        if meetings[-1] < 1:
            return False
        cuts = _cuts(int(meetings[-1]))
        at = np.minimum(np.searchsorted(meetings, cuts), len(meetings) - 1)
        rare, by_chance = alone[at], chance[at]  # so many of the lent rows are as rare, at random
        mean = lent * rare + share * by_chance
        spread = lent * rare * (1 - rare) + share * (1 - share) * by_chance
        joins = np.floor(mean - _SURELY * np.sqrt(spread))
        p = binom.sf(joins - 1, np.ceil(meetings[at]), share)
        return bool(len(cuts) * p.min() <= limit)

    low, high = 0, int(m.sum())
    if not noticed(high):
        return 1.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if noticed(middle) else (middle, high)
    return high / int(m.sum())


def _about(first: Ints, second: Ints, rarity: NDArray[np.float64]) -> int:
    """How many rows of the second file are rows of the first, beyond how often those equal each other."""
    nothing = Tail(1.0, 0, 0, 1, 1)
    share = EqualRows((first, second, None), rarity, nothing, 1.0).copied()[0]
    return round(share * int(second.sum()))
