"""What is counted of persons: functions of some persons with all their rows, whose sums are those of all.

Confidential: exact. Whoever has rows of some persons (a process with a part of a file, an executor of Spark)
counts them, and gives arrays home; what they are added to are the counts of everybody, the same in whatever
way the persons were divided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from sfumato.synthesis.people.axes import GAPS, LEFT, NO_DAY, Ints
from sfumato.synthesis.people.field import FieldCounts
from sfumato.synthesis.people.generation import DrawnRows, above_of
from sfumato.synthesis.people.layout import (
    FieldLayout,
    TableVariables,
    Windows,
    days_before,
    drawn_columns,
    person_windows,
    sizes_of_codes,
)
from sfumato.synthesis.people.records import Axes, Chunk, counts_of
from sfumato.synthesis.people.sets import CodeSets, SetCounts
from sfumato.synthesis.people.structure import TableTree
from sfumato.synthesis.private.layout import Codes


class Summed(Protocol):
    """Something that was counted of some persons."""

    def plus(self, other: Self) -> Self:
        """Of both groups together."""
        ...


Tally = TypeVar("Tally", bound=Summed, covariant=True)


class PersonQuestion(Protocol[Tally]):
    """A question that can be asked of any group of persons."""

    def __call__(self, chunk: Chunk) -> Tally:
        """What it is of these."""
        ...


# -- columns by themselves -------------------------------------------------------------------------


class TableOutline(NamedTuple):
    """One table: rows that count, rows beyond the bound, and without a row above; the most of one parent.

    days: the first and the last, or None. columns: of each variable (or of the codes of sets), by code.
    """

    rows: int
    cut: int
    alone: int
    most: int
    days: tuple[int, int] | None
    columns: tuple[Ints, ...]

    def plus(self, other: TableOutline) -> TableOutline:
        """Of both together."""
        days = [d for d in (self.days, other.days) if d is not None]
        return TableOutline(
            self.rows + other.rows, self.cut + other.cut, self.alone + other.alone,
            max(self.most, other.most),
            (min(d[0] for d in days), max(d[1] for d in days)) if days else None,
            tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)),
        )  # fmt: skip


@dataclass(frozen=True)
class Outline:
    """All tables, by name."""

    tables: Mapping[str, TableOutline]

    def plus(self, other: Outline) -> Outline:
        """Of both groups together."""
        return Outline({n: t.plus(other.tables[n]) for n, t in self.tables.items()})

    def within(self, structure: TableTree) -> tuple[dict[str, int], Outline]:
        """The most rows that a parent has, by table, and the numbers of children up to there alone."""
        most = {b.name: self.tables[b.name].most for b in structure.branches[1:]}
        out = {}
        for branch in structure.branches:
            found, below = self.tables[branch.name], structure.children(branch.name)
            short = tuple(c[: most[n] + 1] for n, c in zip(below, found.columns, strict=False))
            out[branch.name] = found._replace(columns=(*short, *found.columns[len(below) :]))
        return most, Outline(out)


@dataclass(frozen=True, eq=False)
class OutlineQuestion:
    """How many rows there are, and every column by itself.  bounds: the most rows of a parent that count.

    structure: without rows, so that the question can go anywhere.
    """

    structure: TableTree
    axes: Axes
    bounds: Mapping[str, int]

    def __call__(self, chunk: Chunk) -> Outline:
        """Of some persons."""
        out = {}
        for branch in self.structure.branches:
            name, records = branch.name, chunk[branch.name]
            days = None if records.days is None else records.days[records.days != NO_DAY]
            most = [self.bounds[c] for c in self.structure.children(name)]
            if branch.code is None:
                columns: tuple[Ints, ...] = tuple(
                    np.bincount(codes, minlength=size).astype(np.int64)
                    for codes, size in zip(
                        _codes(self.structure, chunk, name, most),
                        sizes_of_codes(self.structure, name, self.axes[name], self.bounds),
                        strict=True,
                    )
                )
            else:
                parents = chunk[str(branch.parent)].rows
                slots = _sets(chunk, name, str(branch.code), np.zeros(parents, np.int64)).slots
                size = self.axes[name][str(branch.code)].size
                columns = (np.bincount(slots[slots >= 0], minlength=size).astype(np.int64),)
            largest = int(records.place.max(initial=0)) + 1
            known = None if days is None or not len(days) else (int(days.min()), int(days.max()))
            out[name] = TableOutline(records.rows, records.cut, records.alone, largest, known, columns)
        return Outline(out)


# -- tables of columns, and of sets ----------------------------------------------------------------


@dataclass(frozen=True)
class LinkedCounts:
    """The counts of the field of each table, and of sets."""

    fields: Mapping[str, FieldCounts]
    sets: Mapping[str, SetCounts]

    def plus(self, other: LinkedCounts) -> LinkedCounts:
        """Of both groups together."""
        return LinkedCounts(
            {n: f.plus(other.fields[n]) for n, f in self.fields.items()},
            {n: s.plus(other.sets[n]) for n, s in self.sets.items()},
        )


@dataclass(frozen=True, eq=False)
class TablesQuestion:
    """Rows with those above and before them; sets by class.  classes: of each code, by table of sets.

    structure: without rows, as above.
    """

    structure: TableTree
    period: tuple[int, int]
    variables: Mapping[str, TableVariables]
    classes: Mapping[str, Ints]

    def __call__(self, chunk: Chunk) -> LinkedCounts:
        """Of some persons."""
        structure, root = self.structure, self.structure.root.name
        windows = person_windows(structure, chunk[root].dates, self.period, chunk[root].rows)
        real: dict[str, DrawnRows] = {}
        fields, sets = {}, {}
        for branch in structure.branches:
            if branch.code is not None:
                sets[branch.name] = self._sets(chunk, real, branch.name)
                continue
            real[branch.name], left = self._rows(chunk, real, branch.name, windows)
            own = real[branch.name]
            layout = FieldLayout(
                self.variables[branch.name], tuple(self.variables[a] for a in structure.above(branch.name))
            )
            above = above_of(structure, self.variables, branch.name, real, own.parent)
            rows = layout.filled(own.states, above, chunk[branch.name].place, left)
            fields[branch.name] = FieldCounts.of(layout, rows)
        return LinkedCounts(fields, sets)

    def _rows(
        self, chunk: Chunk, real: dict[str, DrawnRows], name: str, windows: Windows
    ) -> tuple[DrawnRows, Ints | None]:
        """The rows of a table in its variables, and how much time each had left."""
        records, variables = chunk[name], self.variables[name]
        most = [len(variables.fine[j]) - 1 for j in range(len(variables.children))]
        codes = _codes(self.structure, chunk, name, most)
        parent, upper = records.parent, self.structure[name].parent
        person = parent if upper is None else real[upper].person[parent]
        left, days = None, records.days
        if days is not None:
            known, end = self._time(chunk, real, name, windows.of(person))
            first = records.place == 0
            gap = GAPS.encode(np.where(days == NO_DAY, 0, days - known), days != NO_DAY, first)
            left = LEFT.encode(end - known, np.ones(records.rows, bool), first)
            codes = np.concatenate([codes, gap[None].astype(np.uint16)])
        return DrawnRows(parent, person, variables.coarse(codes), codes, days), left

    def _time(self, chunk: Chunk, real: dict[str, DrawnRows], name: str, own: Windows) -> tuple[Ints, Ints]:
        """The last day known before each row, and the last day of its person."""
        records, upper = chunk[name], real[str(self.structure[name].parent)]
        base = own.base
        if upper.days is not None:
            day = upper.days[records.parent]
            base = np.where(day == NO_DAY, base, day)
        assert records.days is not None
        return days_before(records.days, records.place, base), np.maximum(own.end, base)

    def _sets(self, chunk: Chunk, real: dict[str, DrawnRows], name: str) -> SetCounts:
        branch = self.structure[name]
        upper = real[str(branch.parent)]
        sets = _sets(chunk, name, str(branch.code), upper.person)
        levels = above_of(self.structure, self.variables, name, real, np.arange(upper.rows))
        sizes = tuple(
            s for t in self.structure.above(name) for s in self.variables[t].sizes[: self.variables[t].steady]
        )
        return sets.counted(self.classes[name], levels, sizes)


def _codes(structure: TableTree, chunk: Chunk, name: str, most: Sequence[int]) -> Codes:
    """The variables of rows, (variables, rows): numbers of children, each at most so large, then columns."""
    records, children = chunk[name], structure.children(name)
    columns = drawn_columns(structure, name)
    counts = [np.minimum(counts_of(chunk, c, records.rows), m) for c, m in zip(children, most, strict=True)]
    every = [*counts, *(records.codes[c] for c in columns)]
    return np.array(every, np.uint16).reshape(len(every), records.rows)


def _sets(chunk: Chunk, name: str, code: str, person: Ints) -> CodeSets:
    """The sets of a table, one for each row of its parent.  person: of each of these."""
    records = chunk[name]
    most = int(records.place.max(initial=0)) + 1
    return CodeSets.of(records.parent, records.codes[code], len(person), person, most)
