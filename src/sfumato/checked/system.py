"""All tables of an analysis as one system of cells: what whoever reads them all may add and subtract.

A cell is a set of people: those of a *population* (the rows that a table was made from) who are in given
groups of given axes. Populations that overlap are divided into *parts*, so that a table of all and a table of
those below 90 give away who is above. Relations:

- a cell of a population is the sum of the same cell of its parts;
- in each part a cell is the sum of the cells that divide it by one axis more, or by a finer axis.

The relations hold whatever the cells are, so that a reader who uses them is never wrong. One who is thought
to know that a column is coarser than another, although only these data say so, knows more than a real one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import Relations
from sfumato.checked.rows import MISSING, RowBook
from sfumato.errors import DataError
from sfumato.tabulation.rules import Contributions

Index = NDArray[np.int64]
Real = NDArray[np.float64]
Flags = NDArray[np.bool_]

Groups = tuple[int, ...]
Kind = tuple[frozenset[int], tuple[int, ...]]
"""Cells of one kind: a population by its parts, and axes (sorted); each cell has a group of each axis."""

_MOST_PARTS = 40
_MOST_CELLS = 60_000


@dataclass(frozen=True, eq=False)
class TableShape:
    """The cells of one table. rows: its population.  axes: of its inner cells.

    shown: the cells that it gives out, each by axes and groups; a total over an axis with missing values has
    the axis that says of whom it is known.
    headed: sets of axes whose groups are named in the table, so that somebody is in them.
    values: of each row, where sums of a column are shown; NaN where it is missing.
    """

    rows: Index
    axes: tuple[int, ...]
    shown: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    headed: frozenset[tuple[int, ...]]
    values: Real | None = None


@dataclass(frozen=True, eq=False)
class _Step:
    """From cells to coarser ones: leave the axis at a place out, or put another one there, by its groups."""

    place: int
    groups: dict[int, int]
    axis: int | None


@dataclass(frozen=True, eq=False)
class LinkedTables:
    """The system. kinds: of each cell.  total: what is in each cell: people's rows, or their sum.

    people: how many they are.  shown: which cells some table shows.  of_table: for each table the numbers of
    what it shows.  nonempty: how many shown inner cells that are not empty lie under each.  headed: somebody
    is known to be in it.  missing: cells of people whose value of some axis is missing.  alone: the one
    person in a cell, -1 where there are none or several.  populations: of the tables, by parts.
    """

    relations: Relations
    kinds: tuple[Kind, ...]
    total: Real
    people: Index
    largest: Real
    shown: Flags
    of_table: tuple[Index, ...]
    nonempty: Index
    headed: Flags
    missing: Flags
    alone: Index
    populations: tuple[frozenset[int], ...]

    @property
    def contributions(self) -> Contributions:
        """For the rules about sums."""
        return Contributions(self.total, self.largest, self.people)


def link(book: RowBook, tables: Sequence[TableShape]) -> LinkedTables:
    """Put tables into one system."""
    return _Builder(book, tables).build()


class _Builder:
    def __init__(self, book: RowBook, tables: Sequence[TableShape]) -> None:
        self.book, self.tables = book, tables
        self.parts, self.populations = _parts(book.size, [t.rows for t in tables])
        self.cells: dict[Kind, dict[Groups, int]] = {}
        self.size = 0
        self.sums: dict[tuple[tuple[Kind, Groups], Kind], tuple[int, ...]] = {}
        self.maps: dict[tuple[int, int], dict[int, int] | None] = {}
        self.covered: dict[tuple[int, int], bool] = {}
        self.used = sorted({a for t in tables for axes, _ in t.shown for a in (*t.axes, *axes)})

    def build(self) -> LinkedTables:
        of_table = []
        for table, population in zip(self.tables, self.populations, strict=True):
            inner = {groups for axes, groups in table.shown if axes == table.axes}
            for part in sorted(population):
                self._descend(part, table.axes, inner)
            of_table.append([self._number((population, axes), groups) for axes, groups in table.shown])
            if self.size > _MOST_CELLS:
                raise DataError(
                    f"the tables of this analysis have more than {_MOST_CELLS} cells together.",
                    hint="make coarser tables, or a new analysis for tables of other people",
                )
        for (population, axes), groups in self.cells.items():
            if len(population) > 1:
                self._divide(population, axes, groups)
        return self._filled([np.array(t, np.int64) for t in of_table])

    def _number(self, kind: Kind, groups: Groups) -> int:
        cells = self.cells.setdefault(kind, {})
        if groups not in cells:
            cells[groups] = self.size
            self.size += 1
        return cells[groups]

    def _descend(self, part: int, axes: tuple[int, ...], listed: set[Groups]) -> None:
        """Add the cells of a part by some axes, those that contain them, and what adds up to what.

        listed: cells that are there although nobody may be in them.
        """
        only, rows = frozenset([part]), self.parts[part]
        waiting = [(axes, listed)]
        while waiting:
            axes, listed = waiting.pop()
            known = self.cells.get((only, axes))
            if known is not None and listed <= known.keys():
                continue
            groups = listed | {()} if not axes else listed
            if known is None and axes:
                groups = groups | set(map(tuple, np.unique(self._codes(axes, rows), axis=0).tolist()))
            for g in sorted(groups):
                self._number((only, axes), g)
            for coarse, step in self._above(part, axes):
                waiting.append((coarse, self._sum((only, axes), (only, coarse), step)))

    def _codes(self, axes: Sequence[int], rows: Index) -> Index:
        if not axes:
            return np.zeros((len(rows), 0), np.int64)
        return np.stack([self.book.axes[a].codes[rows] for a in axes], axis=1)

    def _above(self, part: int, axes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], _Step]]:
        """Coarser axes: one left out, or one replaced by a coarser one that some table uses."""
        for place, axis in enumerate(axes):
            rest = axes[:place] + axes[place + 1 :]
            yield rest, _Step(place, {}, None)
            size = len(self.book.axes[axis].labels)
            for other in self.used:
                if other in axes or len(self.book.axes[other].labels) > size:
                    continue
                found = self._map(axis, other)
                if found is not None and self._covered(part, other):
                    yield tuple(sorted((*rest, other))), _Step(place, found, other)

    def _map(self, fine: int, coarse: int) -> dict[int, int] | None:
        if (fine, coarse) not in self.maps:
            self.maps[fine, coarse] = self.book.coarser(fine, coarse)
        return self.maps[fine, coarse]

    def _covered(self, part: int, axis: int) -> bool:
        if (part, axis) not in self.covered:
            self.covered[part, axis] = self.book.covers(axis, self.parts[part])
        return self.covered[part, axis]

    def _sum(self, fine: Kind, coarse: Kind, step: _Step) -> set[Groups]:
        """Note which cells add up to which coarser ones, and return these."""
        parts: dict[Groups, list[int]] = {}
        for groups, number in self.cells[fine].items():
            named = dict(zip(fine[1], groups, strict=True))
            own = named.pop(fine[1][step.place])
            if step.axis is not None:
                if own not in step.groups:
                    continue  # nobody is in it, so that nobody can say where it belongs
                named[step.axis] = step.groups[own]
            parts.setdefault(tuple(named[a] for a in coarse[1]), []).append(number)
        for groups, cells in parts.items():
            self.sums[(coarse, groups), fine] = tuple(sorted(cells))
        return set(parts)

    def _divide(self, population: frozenset[int], axes: tuple[int, ...], groups: dict[Groups, int]) -> None:
        """A cell of a population is the sum of the same cell of its parts."""
        for g in groups:
            kinds = [(frozenset([p]), axes) for p in sorted(population)]
            cells = [self.cells[kind][g] for kind in kinds if g in self.cells.get(kind, {})]
            self.sums[((population, axes), g), (population, ())] = tuple(cells)

    def _filled(self, of_table: list[Index]) -> LinkedTables:
        n = self.size
        summed = self.tables[0].values is not None
        total, people, largest = np.zeros(n), np.zeros(n, np.int64), np.zeros((n, 2))
        missing, alone = np.zeros(n, bool), np.full(n, -1)
        kinds: list[Kind] = [(frozenset(), ())] * n
        for kind, cells in self.cells.items():
            rows = np.sort(np.concatenate([self.parts[p] for p in kind[0]]))
            found = self._contents(rows, kind[1], summed)
            for groups, at in cells.items():
                total[at], people[at], largest[at], alone[at] = found.get(groups, (0.0, 0, (0.0, 0.0), -1))
                missing[at], kinds[at] = MISSING in groups, kind
        shown, headed = np.zeros(n, bool), np.zeros(n, bool)
        nonempty = np.zeros(n, np.int64)
        for table, population, numbers in zip(self.tables, self.populations, of_table, strict=True):
            shown[numbers] = True
            self._note_under(table, population, headed, nonempty)
        sums = [(self.cells[kind][g], cells) for ((kind, g), _), cells in self.sums.items() if cells]
        return LinkedTables(
            Relations.of_sums(n, sums), tuple(kinds), total, people, largest, shown, tuple(of_table),
            nonempty, headed & (people > 0), missing, alone, tuple(self.populations),
        )  # fmt: skip

    def _contents(
        self, rows: Index, axes: tuple[int, ...], summed: bool
    ) -> dict[Groups, tuple[float, int, tuple[float, float], int]]:
        """What is in each cell of these rows that is not empty."""
        values = _values(self.tables, rows, self.book.size) if summed else None
        if values is not None:
            there = ~np.isnan(values)
            rows, values = rows[there], values[there]
        codes = self._codes(axes, rows)
        if axes:
            groups, at = np.unique(codes, axis=0, return_inverse=True)
        else:
            groups, at = np.zeros((1, 0), np.int64), np.zeros(len(rows), np.int64)
        at = at.ravel()
        who = np.stack([at, self.book.people(rows)], axis=1)
        pairs, place = np.unique(who, axis=0, return_inverse=True)
        n = len(groups)
        people = np.bincount(pairs[:, 0], minlength=n)
        if values is None:
            total = np.bincount(at, minlength=n).astype(np.float64)
            top = np.zeros((n, 2))
        else:
            total = np.bincount(at, values, n).astype(np.float64)
            top = _largest(pairs[:, 0], np.abs(np.bincount(place.ravel(), values, len(pairs))), n)
        last = np.zeros(n, np.int64)
        last[pairs[:, 0]] = pairs[:, 1]
        alone = np.where(people == 1, last, -1)
        return {
            tuple(g): (float(t), int(p), (float(x[0]), float(x[1])), int(a))
            for g, t, p, x, a in zip(groups.tolist(), total, people, top, alone, strict=True)
        }

    def _note_under(
        self, table: TableShape, population: frozenset[int], headed: Flags, nonempty: Index
    ) -> None:
        """How many inner cells of a table that are not empty lie under each, and which groups it names."""
        if not table.shown:
            return
        filled = self._codes(table.axes, table.rows)
        filled = np.unique(filled[(filled > MISSING).all(axis=1)], axis=0)
        for size in range(len(table.axes) + 1):
            for places in itertools.combinations(range(len(table.axes)), size):
                axes = tuple(table.axes[i] for i in places)
                cells = self.cells.get((population, axes), {})
                groups, count = np.unique(filled[:, list(places)], axis=0, return_counts=True)
                for g, c in zip(groups.tolist(), count.tolist(), strict=True):
                    if (at := cells.get(tuple(g))) is not None:
                        nonempty[at] = max(nonempty[at], c)
                        headed[at] |= axes in table.headed


def _parts(size: int, populations: Sequence[Index]) -> tuple[list[Index], list[frozenset[int]]]:
    """Divide all rows by which populations they are in: rows of each part, parts of each population."""
    distinct: list[Flags] = []
    which = []
    for rows in populations:
        flags = np.zeros(size, bool)
        flags[rows] = True
        same = next((i for i, other in enumerate(distinct) if np.array_equal(other, flags)), len(distinct))
        if same == len(distinct):
            distinct.append(flags)
        which.append(same)
    signs, at = np.unique(np.stack(distinct, axis=1), axis=0, return_inverse=True)
    kept = [i for i, sign in enumerate(signs) if sign.any()]
    if len(kept) > _MOST_PARTS:
        raise DataError(
            f"the tables of this analysis are about {len(kept)} groups of people that overlap.",
            hint="make tables of the same rows, or a new analysis",
        )
    parts = [np.flatnonzero(at.ravel() == i).astype(np.int64) for i in kept]
    return parts, [frozenset(j for j, i in enumerate(kept) if signs[i, w]) for w in which]


def _values(tables: Sequence[TableShape], rows: Index, size: int) -> Real:
    """The summed column of some rows, from whichever table knows it."""
    found = np.full(size, np.nan)
    for table in tables:
        assert table.values is not None
        found[table.rows] = table.values
    return found[rows]


def _largest(group: Index, values: Real, n: int) -> Real:
    """The two largest values of each group, (n, 2)."""
    order = np.lexsort((-values, group))
    start = np.searchsorted(group[order], np.arange(n))
    top = np.zeros((n, 2))
    for rank in range(2):
        at = start + rank
        there = at < np.append(start[1:], len(order))
        top[there, rank] = values[order][at[there]]
    return top
