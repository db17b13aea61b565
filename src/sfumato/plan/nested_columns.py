"""Which columns nest in each other: every hospital lies in one county, every county in one region.

Found on all rows, and believed only where chance is no explanation: a column of which nearly every row has
its own value settles every other one without meaning anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Counts
from sfumato.description.one_way import open_table
from sfumato.schema import Column, Kind, Role
from sfumato.table import Table

_MOST_VALUES = 20_000  # of the finest column
_MOST_COLUMNS = 40
_CHANCE = 1e-9  # that independent columns look nested
_KINDS = (Kind.NOMINAL, Kind.ORDINAL, Kind.FLAG)


def chains(table: Table, columns: Sequence[Column], sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """{finest column: the columns above it, from fine to coarse}; no column is in two.

    columns: those with no better order of their own may be the finest; all may be above. sizes: how many
    values each has.
    """
    names = [
        c.name
        for c in columns
        if c.role is Role.QUASI_IDENTIFIER and c.kind in _KINDS and 2 <= sizes.get(c.name, 0) <= _MOST_VALUES
    ][:_MOST_COLUMNS]
    names.sort(key=lambda n: -sizes[n])
    pairs = [(a, b) for a, b in combinations(names, 2) if sizes[a] > 2]
    if not pairs:
        return {}
    counted = open_table(table, names).tabulate(pairs)
    settled = {(a, b) for a, b in pairs if nests(counted[(a, b)])}
    return arranged(names, settled)


def arranged(names: Sequence[str], settled: set[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """{finest column: those above it}, no column in two. names: fine to coarse. settled: (fine, coarse)."""
    found: dict[str, tuple[str, ...]] = {}
    free = list(names)
    for name in names:
        if name not in free:
            continue
        chain = _longest(name, [n for n in free if (name, n) in settled], settled)
        if chain:
            found[name] = chain
            free = [n for n in free if n != name and n not in chain]
    return found


def nests(counts: Counts) -> bool:
    """Whether each value of the first column stands with one of the second, and that is no chance."""
    gap, none_above = (len(book.levels) for book in counts.codebooks)
    return settles(counts.codes, counts.n.astype(float), gap, none_above)


def settles(codes: NDArray[Any], n: NDArray[np.float64], gap: int, none_above: int) -> bool:
    """The same of pairs of codes that occur, each once, and their rows. gap, none_above: codes of missing."""
    fine, place = np.unique(codes[:, 0], return_inverse=True)
    if len(fine) != len(codes):
        return False
    if (codes[codes[:, 0] == gap, 1] != none_above).any():
        return False  # something is known of rows whose own value is missing
    rows = np.bincount(place, n)
    shares = np.bincount(codes[:, 1].astype(np.int64), n) / n.sum()
    shares = shares[shares > 0]
    if len(shares) < 2:
        return False
    # All s rows of a value stand with one of the other column by chance: the sum of shares to the power s.
    most, rest = math.log(shares.max()), shares / shares.max()
    sizes, times = np.unique(rows[rows > 1], return_counts=True)
    log = sum(t * (s * most + math.log((rest**s).sum())) for s, t in zip(sizes, times, strict=True))
    return bool(log < math.log(_CHANCE))


def _longest(name: str, above: Sequence[str], settled: set[tuple[str, str]]) -> tuple[str, ...]:
    """The longest chain of columns, each settled by the one before. above: from fine to coarse."""
    best: dict[str, tuple[str, ...]] = {}
    for at in range(len(above) - 1, -1, -1):
        here = above[at]
        tails = [best[n] for n in above[at + 1 :] if (here, n) in settled]
        best[here] = (here, *max(tails, key=len, default=()))
    return max(best.values(), key=len, default=())
