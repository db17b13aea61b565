"""Who belongs to which published group: aggregates matched with the individuals' table, all faults at once.

Only counts are asked for, so that nothing but the sizes of groups leaves an engine. Out comes the aggregation
matrix A in three pieces: for each person the group at each level, the sizes, and A A'.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import Codebook, Counts, canonical, merged
from sfumato.counts.tables import flat_keys
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning, listed
from sfumato.reconstruction.aggregate import AggregateLevel, Aggregates
from sfumato.schema import Role
from sfumato.table import Table

Real = NDArray[np.float64]
Index = NDArray[np.int64]

MOST_STACKED = 6_000
"""Rows of A that may be stacked: A A' is then a full matrix, and its eigenvalues are needed."""
_AGREE = 1e-9
_MOST_CELLS = 1 << 18  # keys that are looked up in an array; more are searched for


@dataclass(frozen=True, eq=False)
class Place:
    """One level among the individuals: from the codes of a person to a row of A.

    keys: sorted flat keys of the groups.  rows: the row of A of each.
    """

    by: tuple[str, ...]
    books: tuple[Codebook, ...]
    keys: NDArray[np.uint64]
    rows: Index

    def of(self, columns: Mapping[str, pa.Array]) -> Index:
        """The row of A of each person, -1 for who is in no published group."""
        codes = np.column_stack([b.encode(columns[n]) for n, b in zip(self.by, self.books, strict=True)])
        return self.of_codes(codes)

    def rows_of(self) -> Index:
        """The rows of A of this level."""
        return np.unique(self.rows)

    @cached_property
    def _lookup(self) -> Index | None:
        """The row of A of every key there can be, where these are few."""
        cells = math.prod(b.size for b in self.books)
        if cells > _MOST_CELLS:
            return None
        rows = np.full(cells, -1, np.int64)
        rows[self.keys] = self.rows
        return rows

    def of_codes(self, codes: NDArray[Any]) -> Index:
        """The same, from codes (people, columns)."""
        keys = flat(codes, self.books)
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        if self._lookup is not None:
            return self._lookup[keys]
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[found] == keys, self.rows[found], -1)


@dataclass(frozen=True, eq=False)
class Grouping:
    """The aggregation matrix and what was published, matched.

    places: one per level; their rows of A follow each other.
    sizes: (p,) people of each row.  s: (p, k) published means.  gram: A A', its diagonal (p,) for one
    level, in full (p, p) for several.  level_of: (p,) the level of each row.
    residual: the largest difference between s and the nearest aggregates that people could have.
    """

    aggregates: Aggregates
    places: tuple[Place, ...]
    sizes: Real
    s: Real
    gram: Real
    level_of: Index
    rows: int
    residual: float
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say who is in which group."""
        return tuple(dict.fromkeys(n for place in self.places for n in place.by))

    def of(self, columns: Mapping[str, pa.Array]) -> Index:
        """Rows of A, (levels, people)."""
        return np.stack([place.of(columns) for place in self.places])


def match(aggregates: Aggregates, individuals: Table, *, partial: bool = False) -> Grouping:
    """Aggregates held against the people they are about; every fault is listed before any work is done.

    partial: people without a published group are reconstructed from the others; published groups without
        people are left out. Otherwise both are faults.
    """
    columns = [n for level in aggregates.levels for n in level.by]
    individuals.schema.require(columns)
    masked = [v for v in aggregates.reconstructed if v in individuals.columns]
    if masked:
        raise SchemaError(
            f"{listed([repr(v) for v in masked])} is in the individuals' table already.",
            hint="drop it there: it would be overwritten by its reconstruction",
        )
    if sum(map(len, aggregates.levels)) > MOST_STACKED and len(aggregates.levels) > 1:
        raise ParameterError(
            f"more than {MOST_STACKED:,} groups in several levels.",
            hint="leave out the finest level, or the others",
        )
    by = [level.by for level in aggregates.levels]
    _refuse_divided(aggregates, individuals)
    pairs = [tuple(dict.fromkeys([*a, *b])) for a, b in combinations(by, 2)]
    tables = individuals.tabulate([*dict.fromkeys([*by, *pairs])])
    found = [_at_level(level, aggregates, tables[level.by]) for level in aggregates.levels]
    _refuse(found, partial)
    return _grouping(aggregates, found, tables, partial)


def _refuse_divided(aggregates: Aggregates, individuals: Table) -> None:
    """A person in two groups of one level: A would count them twice, and give them two values."""
    for person in individuals.schema.of_role(Role.PERSON):
        parts = [part for part in aggregates.levels if person not in part.by]
        tables = individuals.tabulate([(*part.by, person) for part in parts]) if parts else {}
        faults = []
        for part in parts:
            counts = merged(tables[(*part.by, person)], person)
            known = counts.codes[:, -1] < len(counts.codebooks[-1].levels)
            several = int((np.bincount(counts.codes[known, -1]) > 1).sum())
            if several:
                faults.append(f"level '{part.name}': {several} persons are in several groups")
        if faults:
            raise DataError(
                f"by column '{person}', {'; '.join(faults)}.",
                hint="bring the table to one row a person; if its rows are what the groups are made of, "
                "give the column another role",
            )


@dataclass
class _Found:
    """One level, looked at."""

    level: AggregateLevel
    counts: Counts
    group: Index  # of each counted cell: the published group, -1
    sizes: Real  # counted, of each published group
    means: Real
    outside: int = 0  # groups with people that nobody published
    outside_people: int = 0
    empty: int = 0
    unequal: int = 0
    beyond: int = 0  # counts larger than their group, negative or broken
    labels: tuple[object, ...] = ()


def _at_level(level: AggregateLevel, aggregates: Aggregates, counts: Counts) -> _Found:
    codes = np.column_stack(
        [_codes(level.keys[n], b) for n, b in zip(level.by, counts.codebooks, strict=True)]
    )
    known = (codes >= 0).all(axis=1)
    keys = flat(np.where(codes < 0, 0, codes), counts.codebooks)
    order = np.argsort(keys[known], kind="stable")
    place = Place(level.by, counts.codebooks, keys[known][order], np.flatnonzero(known)[order])
    title = level.name
    if len(np.unique(place.keys)) < len(place.keys):
        raise DataError(
            f"level '{title}': two published groups are the same group among the individuals.",
            hint="one row per group",
        )
    group = place.of_codes(counts.codes)
    sizes = np.bincount(group[group >= 0], counts.n[group >= 0], len(level)).astype(np.float64)
    found = _Found(level, counts, group, sizes, level.published.copy())
    found.outside = int((group < 0).sum())
    found.outside_people = int(counts.n[group < 0].sum())
    found.empty = int((sizes == 0).sum())
    if level.sizes is not None:
        declared = level.sizes
        found.unequal = int(((declared != sizes) & (sizes > 0) & ~np.isnan(declared)).sum())
    for j, statistic in enumerate(aggregates.statistics):
        if statistic == "count":
            n = level.published[:, j]
            with np.errstate(invalid="ignore"):
                found.beyond += int(
                    ((n < 0) | (n > sizes) | (n != np.rint(n)))[(sizes > 0) & ~np.isnan(n)].sum()
                )
        if statistic in ("sum", "count"):
            found.means[:, j] = level.published[:, j] / np.where(sizes > 0, sizes, 1.0)
    missing = np.flatnonzero(sizes == 0)
    found.labels = tuple(tuple(level.keys.slice(int(i), 1).to_pylist()[0].values()) for i in missing[:50])
    return found


def _codes(keys: pa.ChunkedArray, book: Codebook) -> Index:
    """The codes of published keys in the individuals' codebook; -1 for what no person has."""
    array = keys.combine_chunks()
    if book.column.edges is None:
        try:
            array = canonical(book.column, array)
        except DataError:
            array = array.cast(pa.string())
    if array.type != book.levels.type:
        array, levels = array.cast(pa.string()), book.levels.cast(pa.string())
    else:
        levels = book.levels
    places = (
        pc.index_in(array, value_set=levels).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    gaps = array.is_null().to_numpy(zero_copy_only=False)
    return np.where(gaps, len(levels) if book.missing else -1, places)


def flat(codes: NDArray[Any], books: Sequence[Codebook]) -> NDArray[np.uint64]:
    """Codes (people, columns) as one number each."""
    keys = flat_keys(codes.astype(np.uint32), [b.size for b in books])
    if keys is None:
        raise ParameterError("too many groups to number.", hint="group by fewer columns")
    return keys


def _refuse(found: Sequence[_Found], partial: bool) -> None:
    faults: list[str] = []
    for f in found:
        name = f"level '{f.level.name}'"
        if f.outside and not partial:
            faults.append(f"{name}: {f.outside} groups of {f.outside_people} people have no published value")
        if f.empty and not partial:
            faults.append(f"{name}: {f.empty} published groups have no people in the table")
        if f.unequal:
            faults.append(f"{name}: {f.unequal} groups have another number of people than was published")
        if f.beyond:
            faults.append(f"{name}: {f.beyond} counts are not whole numbers up to the size of their group")
        if not ((f.sizes > 0) & ~np.isnan(f.means).any(axis=1)).any():
            faults.append(f"{name}: no published group has people")
    if faults:
        raise DataError(
            f"aggregates and individuals do not match: {'; '.join(faults)}.",
            hint="both must be about the same people; partial=True lets groups be missing on either side",
            values=[label for f in found for label in f.labels],
        )


def _grouping(
    aggregates: Aggregates, found: Sequence[_Found], tables: Mapping[tuple[str, ...], Counts], partial: bool
) -> Grouping:
    notes, places, kept_rows, start = [], [], [], 0
    for f in found:
        kept = (f.sizes > 0) & ~np.isnan(f.means).any(axis=1)
        suppressed = int(((f.sizes > 0) & ~kept).sum())
        if suppressed:
            notes.append(
                f"level '{f.level.name}': {suppressed} groups were suppressed; their people follow the others"
            )
        ones = int((f.sizes[kept] == 1).sum())
        if ones:
            notes.append(
                f"level '{f.level.name}': {ones} groups of one: what was published is the person's own value"
            )
        row = np.where(kept, start + np.cumsum(kept) - 1, -1)
        group = np.where(f.group >= 0, row[f.group], -1)
        there = group >= 0
        keys = flat(f.counts.codes[there], f.counts.codebooks)
        order = np.argsort(keys, kind="stable")
        places.append(Place(f.level.by, f.counts.codebooks, keys[order], group[there][order]))
        kept_rows.append(np.flatnonzero(kept))
        start += int(kept.sum())
    sizes = np.concatenate([f.sizes[k] for f, k in zip(found, kept_rows, strict=True)])
    s = np.concatenate([f.means[k] for f, k in zip(found, kept_rows, strict=True)])
    level_of = np.repeat(np.arange(len(found)), [len(k) for k in kept_rows])
    gram: Real = 1.0 / sizes
    residual = 0.0
    if len(found) > 1:
        gram, nested = _stacked(places, tables, sizes)
        for a, b in nested:
            fine, coarse = found[a].level.name, found[b].level.name
            notes.append(f"level '{coarse}' adds nothing: it is made of the groups of '{fine}'")
        residual = _residual(gram, s)
        if residual > 0:
            notes.append(
                f"the levels contradict each other: least squares, largest difference {residual:.3g}"
            )
    if notes:
        warnings.warn(f"{'; '.join(notes)}.", SfumatoWarning, stacklevel=4)
    rows = int(found[0].counts.total)
    return Grouping(aggregates, tuple(places), sizes, s, gram, level_of, rows, residual, tuple(notes))


def _stacked(
    places: Sequence[Place], tables: Mapping[tuple[str, ...], Counts], sizes: Real
) -> tuple[Real, list[tuple[int, int]]]:
    """A A' of stacked levels: shared people over both sizes; and which level each other is made of."""
    gram = np.diag(1.0 / sizes)
    nested = []
    for (a, one), (b, two) in combinations(enumerate(places), 2):
        counts = tables[tuple(dict.fromkeys([*one.by, *two.by]))]
        column = {name: i for i, name in enumerate(counts.columns)}
        left = one.of_codes(counts.codes[:, [column[n] for n in one.by]])
        right = two.of_codes(counts.codes[:, [column[n] for n in two.by]])
        both = (left >= 0) & (right >= 0)
        shared = np.zeros((len(sizes), len(sizes)))
        np.add.at(shared, (left[both], right[both]), counts.n[both].astype(np.float64))
        gram += (shared + shared.T) / np.outer(sizes, sizes)
        block = shared[np.ix_(one.rows_of(), two.rows_of())] > 0
        if both.all():
            if (block.sum(axis=1) == 1).all():
                nested.append((a, b))
            elif (block.sum(axis=0) == 1).all():
                nested.append((b, a))
    return gram, nested


def _residual(gram: Real, s: Real) -> float:
    """How far s is from what A y can be, as published; 0 where that is rounding."""
    from sfumato.reconstruction.factor import diagonal

    empty = np.zeros((0, 0))
    _, rest = diagonal(empty, np.zeros((len(s), 0)), gram, s)
    largest = float(np.abs(rest).max(initial=0.0))
    return largest if largest > _AGREE * max(float(np.abs(s).max(initial=0.0)), 1e-300) else 0.0
