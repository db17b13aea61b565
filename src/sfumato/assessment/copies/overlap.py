"""A control that is none: rows of the original in it, or rows of the release.

Against the first every attack looks harmless; against the second every copy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.assessment.copies.equality import CountedRows, EqualRows, counted_rows
from sfumato.assessment.copies.tails import tail
from sfumato.table import Table


@dataclass(frozen=True)
class Overlap:
    """How many rows of the control are rows of another file beyond chance, and the chance of as many."""

    rows: int
    control: int
    p: float


def overlap(original: Table, control: Table, columns: Sequence[str]) -> Overlap:
    """Control rows that equal an original, beside how often originals equal each other.

    Equal rows are found by content, in any order. Rarity counts, as for copies: two people may well agree in
    all columns where these are few and common.
    """
    return _shared(counted_rows([original, control], columns), 0, 1)


def shared_with_release(original: Table, released: Table, control: Table, columns: Sequence[str]) -> Overlap:
    """Control rows that equal a released row, beside how often released rows equal each other.

    A release of which every row is there once has no rows that equal each other: so the control must also be
    met in it more often than in the original. The chance is the larger of the two.
    """
    from scipy.stats import binom

    rows = counted_rows([released, control, original], columns)
    found = _shared(rows, 0, 1)
    there = [(rows.n[i] > 0) & (rows.n[1] > 0) for i in (0, 2)]
    here, elsewhere = int((there[0] & ~there[1]).sum()), int((there[1] & ~there[0]).sum())
    share = float(rows.n[0].sum() / (rows.n[0].sum() + rows.n[2].sum()))
    more = float(binom.sf(here - 1, here + elsewhere, share)) if here else 1.0
    return Overlap(found.rows, found.control, max(found.p, more))


def _shared(rows: CountedRows, other: int, control: int) -> Overlap:
    """A row is as rare as among the others: for a control those are all, for another row all but itself."""
    n = rows.n[other], rows.n[control]
    once = rows.rarity(n[0])
    twins = np.where(n[0] > 1, rows.rarity(n[0], less=2.0), -np.inf)
    found = tail(np.where(n[0] > 0, once, -np.inf), twins, (n[1], n[0]))
    share = EqualRows((n[0], n[1], None), once, found, 1.0).copied()[0]
    total = int(n[1].sum())
    return Overlap(round(share * total), total, found.p)
