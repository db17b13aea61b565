"""Descriptions of people, as Anonymeter makes them to single somebody out: conjunctions of conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.attacks.frames import Frames
from sfumato.assessment.attacks.intruder import Floats, Ints, in_threads

_BATCH = 1_000
_EQUAL, _AT_LEAST, _AT_MOST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Sorted:
    """Rows to ask about, (columns, n), and their order in each column; missing cells last."""

    rows: Floats

    @cached_property
    def order(self) -> Ints:
        """The rows of each column by value."""
        return np.ascontiguousarray(np.argsort(self.rows, axis=1, kind="stable"))

    @cached_property
    def ordered(self) -> Floats:
        """The values in that order."""
        return np.ascontiguousarray(np.take_along_axis(self.rows, self.order, 1))

    @cached_property
    def there(self) -> Ints:
        """How many cells of each column are not missing."""
        return np.asarray((~np.isnan(self.rows)).sum(axis=1), np.int64)


@dataclass(frozen=True, eq=False)
class Queries:
    """Conjunctions: columns, signs and values, each (queries, conditions)."""

    columns: Ints
    signs: Ints
    values: Floats

    def count(self, among: Sorted, most: int | None = None) -> Ints:
        """How many rows each query matches; past `most` it may stop counting."""
        from sfumato.assessment.attacks import _record_kernels

        out = np.zeros(len(self.columns), np.int64)
        limit = among.rows.shape[1] if most is None else most
        there = (among.rows, among.order, among.ordered, among.there)

        def work(part: slice) -> None:
            _record_kernels.count_queries(
                *there, self.columns[part], self.signs[part], self.values[part], limit, out[part]
            )

        if len(out):
            in_threads(work, len(out))
        return out

    def at(self, rows: Ints) -> Queries:
        """Some of the queries."""
        return Queries(self.columns[rows], self.signs[rows], self.values[rows])


def from_records(
    data: Frames,
    released: Sorted,
    conditions: int,
    wanted: int,
    max_attempts: int,
    random: np.random.Generator,
) -> Queries:
    """Descriptions that fit one released record, another each: names as they are, numbers from the median on.

    Descriptions of the same record hang together: a person who is like it fits many of them, and so many
    outcomes are no independent ones. The first of many wanted are those of few wanted: more attacks add to
    what was found.
    """
    found: list[Queries] = []
    described = np.zeros(data.cells[1].shape[1], bool)
    for batch, rows in _descriptions(data, conditions, max_attempts, described, random):
        fresh = np.flatnonzero(batch.count(released, 1) == 1)
        fresh = np.sort(fresh[np.unique(rows[fresh], return_index=True)[1]])
        described[rows[fresh]] = True
        found.append(batch.at(fresh))
        if described.sum() >= wanted or described.all():
            break
    parts = ([getattr(f, x) for f in found] for x in ("columns", "signs", "values"))
    return Queries(*(np.concatenate(p)[:wanted] for p in parts))


def _descriptions(
    data: Frames,
    conditions: int,
    max_attempts: int,
    described: NDArray[np.bool_],
    random: np.random.Generator,
) -> Iterator[tuple[Queries, Ints]]:
    """Random columns of random released records that are not described yet, in portions, and the records."""
    released = data.cells[1]
    with np.errstate(all="ignore"):
        medians = np.array([np.nanmedian(r) if np.isfinite(r).any() else 0.0 for r in released])
    for _ in range(0, max_attempts, _BATCH):
        rows = random.choice(np.flatnonzero(~described), _BATCH)
        columns = np.argsort(random.random((_BATCH, len(released))), axis=1)[:, :conditions]
        values = released[columns, rows[:, None]]
        outwards = np.where(values > medians[columns], _AT_LEAST, _AT_MOST)
        signs = np.where(data.numeric[columns] & ~np.isnan(values), outwards, _EQUAL)
        yield Queries(columns, signs, values), rows


def extremes(data: Frames, random: np.random.Generator) -> Queries:
    """Rare values, the smallest and largest number, and a single missing cell, column by column."""
    found: list[tuple[int, int, float]] = []
    for c, row in enumerate(data.cells[1]):
        values, counts = np.unique(row[~np.isnan(row)], return_counts=True)
        found += [(c, _EQUAL, float(v)) for v in values[counts == 1]]
        if data.numeric[c] and len(values):
            found += [(c, _AT_MOST, float(values[0])), (c, _AT_LEAST, float(values[-1]))]
        found.append((c, _EQUAL, np.nan))
    order = random.permutation(len(found))
    columns, signs, values = (np.array([found[i][j] for i in order])[:, None] for j in range(3))
    return Queries(columns.astype(np.int64), signs.astype(np.int64), values.astype(np.float64))


def random_queries(data: Frames, conditions: int, wanted: int, random: np.random.Generator) -> Queries:
    """Random columns, values that occur in the release, and random signs."""
    values = [np.unique(r) for r in data.cells[1]]
    columns = np.argsort(random.random((wanted, len(values))), axis=1)[:, :conditions]
    many = np.array([len(v) for v in values])
    place = (random.random(columns.shape) * many[columns]).astype(np.int64)
    drawn = np.concatenate(values)[(np.cumsum(many) - many)[columns] + place]
    signs = np.where(
        data.numeric[columns], random.integers(0, 6, columns.shape), 3 * random.integers(0, 2, columns.shape)
    )
    return Queries(columns, signs, drawn)
