"""Rows of the control that are rows of the original: against them every attack looks harmless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.assessment.copies.equality import EqualRows, counted_rows
from sfumato.assessment.copies.tails import tail
from sfumato.table import Table


@dataclass(frozen=True)
class Overlap:
    """How many rows of the control are rows of the original beyond chance, and the chance of as many."""

    rows: int
    control: int
    p: float


def overlap(original: Table, control: Table, columns: Sequence[str]) -> Overlap:
    """Control rows that equal an original, beside how often one original equals another.

    Equal rows are found by content, in any order. Rarity counts, as for copies: two people may well agree in
    all columns where these are few and common. A row is as rare as it is among the other originals: for a
    control those are all, for an original all but itself.
    """
    n, rarity = counted_rows([original, control], columns, people=[0])
    once = rarity(1.0)
    twins = np.where(n[0] > 1, rarity(2.0), -np.inf)
    found = tail(np.where(n[0] > 0, once, -np.inf), twins, (n[1], n[0]))
    share = EqualRows((n[0], n[1], None), once, found, 1.0).copied()[0]
    total = int(n[1].sum())
    return Overlap(round(share * total), total, found.p)
