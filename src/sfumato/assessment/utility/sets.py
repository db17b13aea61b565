"""Which sets of columns are counted: all of them, or a random sample where they are too many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

from sfumato.assessment.reading.alignment import Pair
from sfumato.seeds import Key

MOST = 2_000  # sets of one size: sixty-three columns have fewer pairs


@dataclass(frozen=True)
class ColumnSets:
    """The sets of one size that were drawn, and how many there are."""

    drawn: tuple[tuple[str, ...], ...]
    total: int

    @property
    def said(self) -> str:
        """What is to be said beside a mean over them."""
        if len(self.drawn) == self.total:
            return ""
        return f" From a random sample of {len(self.drawn):,} of {self.total:,} sets of columns."


def sets_of(pair: Pair, ways: int, most: int = MOST, seed: int = 0) -> ColumnSets:
    """The same sets for the same seed, whoever asks."""
    total = math.comb(len(pair.columns), ways)
    if total <= most:
        return ColumnSets(tuple(combinations(pair.columns, ways)), total)
    generator = Key.from_seed(seed).generator("sets of columns", ways)
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < most:
        places = tuple(sorted(generator.choice(len(pair.columns), ways, replace=False).tolist()))
        drawn[places] = None
    return ColumnSets(tuple(tuple(pair.columns[i] for i in places) for places in drawn), total)
