"""A control that is none: rows of the original in it, or rows of the release.

Against the first every attack looks harmless; against the second every copy does. Both are found by content,
in any order: rows that two files share are met one by one, the rarest first, as two people may well agree in
all columns where these are few and common. By chance such a meeting joins two files with a known share; where
rows were lent, nearly all of the rare ones do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies.equality import CountedRows, EqualRows, counted_rows
from sfumato.assessment.copies.tails import Tail, tail
from sfumato.seeds import Key
from sfumato.table import Table

_MEETINGS = np.unique((14 * 2 ** (np.arange(40) / 2)).astype(int))  # of the rarest: so many are looked at


@dataclass(frozen=True)
class Overlap:
    """How many rows of the control are rows of another file beyond chance, and the chance of as many."""

    rows: int
    control: int
    p: float


def overlap(original: Table, control: Table, columns: Sequence[str], key: Key) -> Overlap:
    """Control rows that are originals. Of equal rows of both files two are drawn: whom do they join?

    Where nobody is in both files, all rows are people of one kind, and two of them are of different files
    with the share 2 n m / (N (N - 1)), n and m rows of the files and N of both.
    """
    rows = counted_rows([original, control], columns)
    n, m = rows.n
    many = np.flatnonzero(n + m > 1)
    drawn = key.generator("pairs").hypergeometric(n[many], m[many], 2) if len(many) else np.array([], int)
    sizes = int(n.sum()), int(m.sum())
    share = 2 * sizes[0] * sizes[1] / max(1, sum(sizes) * (sum(sizes) - 1))
    rarity = rows.rarity(n + m, less=2.0)
    p = _too_often(rarity[many], drawn == 1, share)
    return Overlap(_about(rows, rarity), sizes[1], p)


def shared_with_release(original: Table, released: Table, control: Table, columns: Sequence[str]) -> Overlap:
    """Control rows that are released rows: they equal one more often than released rows equal each other.

    A release of which every row is there once has no rows that equal each other. So the control must also be
    met in it more often than in the original: of the control rows that are in one of them, each is in the
    release with the share of its rows. The chance is the larger of the two.
    """
    rows = counted_rows([released, control, original], columns)
    once, again = rows.rarities(rows.n[0], 1.0, 2.0)  # as rare as among the others, all but itself
    met, twins = np.where(rows.n[0] > 0, once, -np.inf), np.where(rows.n[0] > 1, again, -np.inf)
    against = tail(met, twins, (rows.n[1], rows.n[0]))
    here, elsewhere = ((rows.n[i] > 0) & (rows.n[1] > 0) for i in (0, 2))
    one = here ^ elsewhere
    share = float(rows.n[0].sum() / (rows.n[0].sum() + rows.n[2].sum()))
    rarity = rows.rarity(rows.n[0] + rows.n[1] + rows.n[2], less=2.0)
    more = _too_often(rarity[one], here[one], share)
    return Overlap(_about(rows, once), int(rows.n[1].sum()), max(against.p, more))


def _too_often(rarity: NDArray[np.float64], joins: NDArray[np.bool_], share: float) -> float:
    """The chance that of the rarest meetings as many are of one sort, all cuts paid for."""
    from scipy.stats import binom

    if not len(rarity):
        return 1.0
    running = np.cumsum(joins[np.argsort(-rarity, kind="stable")])
    cuts = np.append([k for k in _MEETINGS if k < len(rarity)], len(rarity)).astype(int)
    return min(1.0, len(cuts) * float(binom.sf(running[cuts - 1] - 1, cuts, share).min()))


def _about(rows: CountedRows, rarity: NDArray[np.float64]) -> int:
    """How many rows of the second file are rows of the first, beyond how often those equal each other."""
    nothing = Tail(1.0, 0, 0, 1, 1)
    share = EqualRows((rows.n[0], rows.n[1], None), rarity, nothing, 1.0).copied()[0]
    return round(share * int(rows.n[1].sum()))
