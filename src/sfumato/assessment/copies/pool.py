"""Near copies without a control: originals and released rows in one pool, of one kind if nothing was copied.

Two exact tests. By halves: one half of the originals is looked for among the released rows and the other
half. By pairs: rows that are each other's nearest are paired, whatever file they come from (`pairs`); this
uses every copy, but a copy that is there twice has its twin nearest. The smaller chance pays for both.

What a value is worth, which numbers are near, and which of equally near rows is taken must not depend on the
file a row comes from: the first two rest on those who are looked for, or on all rows; the order is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.copies.cells import cells
from sfumato.assessment.copies.nearness import evidence
from sfumato.assessment.copies.pairs import joining
from sfumato.assessment.copies.tails import tail
from sfumato.assessment.reading.files import Meanings
from sfumato.seeds import Key
from sfumato.table import Table

Ints = NDArray[np.int64]


def near_in_pool(
    files: tuple[Table, Table],
    people: Ints,
    rows: Ints | None,
    kept: Ints,
    columns: Sequence[str],
    meanings: Meanings,
    key: Key,
) -> float:
    """The chance of so near rows: original and release, the rows drawn of each, and which of those count."""
    tests = (_by_halves, _by_pairs)
    return min(1.0, len(tests) * min(t(files, people, rows, kept, columns, meanings, key) for t in tests))


def _by_halves(
    files: tuple[Table, Table],
    people: Ints,
    rows: Ints | None,
    kept: Ints,
    columns: Sequence[str],
    meanings: Meanings,
    key: Key,
) -> float:
    order = key.generator("halves").permutation(people)
    wanted, rest = (np.sort(order[i::2]) for i in (0, 1))
    if not len(wanted) or not len(rest):
        return 1.0
    found = cells([(files[0], wanted), (files[1], rows), (files[0], rest)], columns, meanings, apart=(1, 2))
    pool = np.concatenate([found.files[1][:, kept], found.files[2]], axis=1)
    place = key.generator("order of halves").permutation(pool.shape[1])
    nearest = evidence(found, found.files[0], pool[:, place])
    score = np.full(pool.shape[1], -np.inf)
    np.maximum.at(score, place[nearest.row], nearest.score)
    return tail(score[: len(kept)], score[len(kept) :]).p


def _by_pairs(
    files: tuple[Table, Table],
    people: Ints,
    rows: Ints | None,
    kept: Ints,
    columns: Sequence[str],
    meanings: Meanings,
    key: Key,
) -> float:
    tables = [(files[0], people), (files[1], rows)]
    general = cells(tables, columns, meanings, apart=(1,)).general
    found = replace(cells(tables, columns, meanings, apart=()), general=general)
    both = np.concatenate([found.files[0], found.files[1][:, kept]], axis=1)
    place = key.generator("order of pairs").permutation(both.shape[1])
    pool, released = both[:, place], place >= len(people)
    nearest = np.full(len(place), -1, np.int64)
    score = np.full(len(place), -np.inf)

    def look(at: Ints) -> None:
        seen = evidence(found, pool[:, at], pool, itself=at)
        near = np.isfinite(seen.score)
        nearest[at[near]], score[at[near]] = seen.row[near], seen.score[near]

    originals = np.flatnonzero(~released)
    look(originals)
    theirs = nearest[originals]
    look(np.unique(theirs[(theirs >= 0) & released[theirs]]))
    there = originals[nearest[originals] >= 0]
    other = nearest[there]
    pair = (nearest[other] == there) & (released[other] | (there < other))  # each other's, and each once
    return joining(score[there[pair]], released[other[pair]], len(originals), len(kept))
