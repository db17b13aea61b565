"""Persons and all that hangs on them, drawn table by table from the fields: parents before their children.

A batch of persons is drawn whole, and depends on the key and on its number alone. What is drawn first are
classes and days; values come last. Keys are the numbers of the rows: none can dangle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts import canonical_type
from sfumato.schema.column import Column
from sfumato.seeds import Key, uniform
from sfumato.synthesis.people.axes import NO_DAY, OFFSETS, Ints, days_of
from sfumato.synthesis.people.day_times import TimeBounds, as_dates, rising, times
from sfumato.synthesis.people.field import GivenRows, RowField
from sfumato.synthesis.people.layout import FieldLayout, TableVariables, Windows, is_date, person_windows
from sfumato.synthesis.people.records import Axes
from sfumato.synthesis.people.sets import SetModel
from sfumato.synthesis.people.structure import Branch, TableTree
from sfumato.synthesis.private.layout import Codes

_FAR = 3650  # days that a further date may lie after the study


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows of one table: whose they are, their variables (classes and codes), and days."""

    parent: Ints
    person: Ints
    states: Codes
    codes: Codes
    days: Ints | None
    sets: Ints | None = None

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.parent)


def above_of(
    structure: TableTree, variables: Mapping[str, TableVariables], name: str,
    rows: Mapping[str, DrawnRows], parent: Ints,
) -> Codes:  # fmt: skip
    """The classes of all rows above, (variables, rows).  parent: the row above of each."""
    parts, at = [], parent
    for table in structure.above(name):
        own = rows[table]
        parts.append(own.states[: variables[table].steady, at])
        at = own.parent[at]
    return np.concatenate(parts) if parts else np.empty((0, len(parent)), np.uint16)


@dataclass(frozen=True, eq=False)
class Generator:
    """The fields of all tables.

    variables: by table, but those of sets; fields: likewise; sets: the models of the others. period: the
    first and the last day of the study.
    """

    structure: TableTree
    axes: Axes
    variables: Mapping[str, TableVariables]
    fields: Mapping[str, RowField]
    sets: Mapping[str, SetModel]
    period: tuple[int, int]

    def layout(self, name: str) -> FieldLayout:
        """The columns of a table's field."""
        return FieldLayout(self.variables[name], tuple(self.variables[a] for a in self.structure.above(name)))

    # -- drawing -----------------------------------------------------------------------------------

    def persons(self, rows: int, key: Key) -> tuple[DrawnRows, dict[str, pa.Array]]:
        """Persons and the values of their columns: their dates bound what hangs on them."""
        root = self.structure.root.name
        given = GivenRows(np.empty((0, rows), np.uint16), np.zeros(rows, np.int64), None)
        states, _ = self.fields[root].drawn(given, key.derive(root))
        codes = self.variables[root].refined(states, key.derive(root, "codes"))
        number = np.arange(rows)
        drawn = DrawnRows(number, number, states, codes, None)
        return drawn, self._values(root, drawn, key)

    def windows(self, values: Mapping[str, pa.Array], rows: int) -> Windows:
        """When records of each person may lie."""
        dates = {}
        for name in (self.structure.birth, self.structure.death):
            if name is not None:
                day, there = days_of(values[name])
                dates[name] = np.where(there, day, NO_DAY)
        return person_windows(self.structure, dates, self.period, rows)

    def given(self, name: str, above: Mapping[str, DrawnRows], windows: Windows) -> tuple[GivenRows, Ints]:
        """What the rows of a table are drawn under, and the row of the parent of each."""
        branch = self.structure[name]
        parents = above[str(branch.parent)]
        place_of = self.variables[str(branch.parent)].children.index(name)
        many = parents.codes[place_of].astype(np.int64)
        parent = np.repeat(np.arange(parents.rows), many)
        place = np.arange(len(parent)) - np.repeat(np.cumsum(many) - many, many)
        rows = self.above(name, above, parent)
        when = None
        if branch.when is not None:
            when = windows.of(parents.person[parent])
            if parents.days is not None:
                day = parents.days[parent]
                base = np.where(day == NO_DAY, when.base, day)
                when = Windows(base, np.maximum(when.end, base))
        return GivenRows(rows, place, when), parent

    def above(self, name: str, drawn: Mapping[str, DrawnRows], parent: Ints) -> Codes:
        """The classes of all rows above, (variables, rows)."""
        return above_of(self.structure, self.variables, name, drawn, parent)

    def below(self, name: str, above: Mapping[str, DrawnRows], windows: Windows, key: Key) -> DrawnRows:
        """The rows of a table, given all tables above it."""
        parents = above[str(self.structure[name].parent)]
        if name in self.sets:
            return self._sets(name, above, key)
        given, parent = self.given(name, above, windows)
        states, days = self.fields[name].drawn(given, key.derive(name))
        codes = self.variables[name].refined(states, key.derive(name, "codes"))
        return DrawnRows(parent, parents.person[parent], states, codes, days)

    def _sets(self, name: str, above: Mapping[str, DrawnRows], key: Key) -> DrawnRows:
        upper = str(self.structure[name].parent)
        parents = above[upper]
        many = parents.codes[self.variables[upper].children.index(name)].astype(np.int64)
        levels = self.above(name, above, np.arange(parents.rows))
        drawn = self.sets[name].drawn(many, parents.person, levels, key.derive(name))
        there = drawn >= 0
        parent = np.repeat(np.arange(parents.rows), there.sum(axis=1))
        none = np.empty((0, len(parent)), np.uint16)
        return DrawnRows(parent, parents.person[parent], none, none, None, drawn[there])

    # -- values ------------------------------------------------------------------------------------

    def tables(
        self, rows: int, key: Key, first: Mapping[str, int], name: str | None = None
    ) -> dict[str, pa.Table]:
        """All tables of so many persons, or one with those above it.  first: the number of its first row."""
        root = self.structure.root.name
        needed = [b.name for b in self.structure.branches] if name is None else self.with_above(name)
        drawn: dict[str, DrawnRows] = {}
        drawn[root], values = self.persons(rows, key)
        windows = self.windows(values, rows)
        out = {root: self._table(self.structure.root, drawn, values, first)}
        birth, death = self.structure.birth, self.structure.death
        moments = {root: TimeBounds.between(values.get(birth or ""), values.get(death or ""))}
        for branch in self.structure.branches[1:]:
            if branch.name not in needed:
                continue
            drawn[branch.name] = own = self.below(branch.name, drawn, windows, key)
            between = moments[str(branch.parent)].below(own.parent)
            values = self._values(branch.name, own, key, windows, between)
            moments[branch.name] = between if branch.when is None else between.after(values[branch.when])
            out[branch.name] = self._table(branch, drawn, values, first)
        return out

    def with_above(self, name: str) -> tuple[str, ...]:
        """A table and all above it: what has to be drawn for its rows."""
        return (name, *self.structure.above(name))

    def _values(
        self, name: str, rows: DrawnRows, key: Key, windows: Windows | None = None,
        between: TimeBounds | None = None,
    ) -> dict[str, pa.Array]:  # fmt: skip
        branch, own = self.structure[name], key.derive(name, "values")
        if rows.sets is not None:
            return {str(branch.code): self.axes[name][str(branch.code)].decode(rows.sets, own)}
        variables = self.variables[name]
        out = {}
        for column in branch.columns:
            stream = own.derive(column.name)
            if column.name == branch.when:
                assert rows.days is not None
                u = rising(times(stream, rows.rows), rows.parent, rows.days)
                out[column.name] = as_dates(column, rows.days, u, between)
                between = None if between is None else between.after(out[column.name])
                continue
            codes = rows.codes[len(variables.children) + variables.columns.index(column.name)].astype(
                np.int64
            )
            if is_date(self.structure, name, column.name):
                out[column.name] = self._later(column, codes, rows, windows, between, stream)
            else:
                out[column.name] = self.axes[name][column.name].decode(codes, stream)
        return out if branch.link is not None else self._in_order(out, rows, branch, own)

    def _later(
        self, column: Column, codes: Ints, rows: DrawnRows, windows: Windows | None,
        between: TimeBounds | None, key: Key,
    ) -> pa.Array:  # fmt: skip
        """A further date of a row: never before its first, nor after the death of its person."""
        assert rows.days is not None and windows is not None
        last = np.full(rows.rows, self.period[1] + _FAR)
        if self.structure.death is not None:
            end = windows.end[rows.person]
            last = np.where(end < self.period[1], end, last)
        none = (rows.days == NO_DAY) | (codes == OFFSETS.size - 1)
        start = np.where(none, 0, rows.days)
        offset = OFFSETS.draw(codes, uniform(key.words(0, 0, rows.rows)), np.maximum(last - start, 0))
        days = np.where(none, NO_DAY, start + np.where(none, 0, offset))
        return as_dates(column, days, times(key.derive("time"), rows.rows), between)

    def _in_order(
        self, values: dict[str, pa.Array], rows: DrawnRows, branch: Branch, key: Key
    ) -> dict[str, pa.Array]:
        """Nobody dies before birth, and who has records lives during the study: else the day is moved.

        A day is drawn within its bin, which may lie across an end of the study, or, with noise, beyond it.
        """
        birth, death = self.structure.birth, self.structure.death
        timed = any(b.when is not None for b in self.structure.branches)
        has = timed & (rows.codes[: len(self.variables[branch.name].children)].sum(axis=0) > 0)
        dates = {n: days_of(values[n]) for n in (birth, death) if n is not None}
        base = np.where(has, self.period[0], NO_DAY)
        moved = {}
        if birth is not None:
            born, known = dates[birth]
            moved[birth] = np.where(has & (born > self.period[1]), self.period[1], born)
            base = np.where(known, np.maximum(base, moved[birth]), base)
        if death is not None:
            moved[death] = np.maximum(dates[death][0], base)
        for name, days in moved.items():
            there = dates[name][1]
            if (there & (days != dates[name][0])).any():
                column = next(c for c in branch.columns if c.name == name)
                moment = times(key.derive(name), rows.rows)
                values = {**values, name: as_dates(column, np.where(there, days, NO_DAY), moment)}
        if birth is None or death is None or values[birth].type != values[death].type:
            return values
        later = pc.max_element_wise(values[death], values[birth])  # on the same day: at what time
        return {**values, death: pc.if_else(pc.is_valid(values[death]), later, values[death])}

    def _table(
        self, branch: Branch, drawn: Mapping[str, DrawnRows], values: Mapping[str, pa.Array],
        first: Mapping[str, int],
    ) -> pa.Table:  # fmt: skip
        """The values with keys: the number of a row, and of the rows above it."""
        database, rows = self.structure.database, drawn[branch.name]
        numbers = {branch.name: np.arange(rows.rows) + first[branch.name]}
        at = rows.parent
        for table in self.structure.above(branch.name):
            numbers[table] = at + first[table]
            at = drawn[table].parent[at]
        keys = {} if (own := database.keys.get(branch.name)) is None else {own: branch.name}
        if branch.link is not None:
            keys[branch.link.column] = branch.link.parent
        keys.update(branch.copies)
        out = {}
        for column in database[branch.name].schema:
            if column.name in values:
                out[column.name] = values[column.name]
            elif column.name in keys:
                out[column.name] = _ids(column, numbers[keys[column.name]])
            elif column.name == branch.rank:
                begin = np.concatenate([[0], np.cumsum(np.bincount(rows.parent))])[rows.parent]
                out[column.name] = pa.array(np.arange(rows.rows) - begin + 1).cast(canonical_type(column))
        return pa.table(out)


def _ids(column: Column, numbers: Ints) -> pa.Array:
    """Numbers from 1, as the key's type has them."""
    plain = pa.array(numbers + 1)
    if column.type == "text":
        return pa.array([f"{n:09d}" for n in (numbers + 1).tolist()], pa.string())
    return plain.cast(canonical_type(column))


def released_columns(structure: TableTree, branch: Branch) -> list[Column]:
    """The columns that rows have, in the order of the original."""
    database = structure.database
    kept = {c.name for c in branch.columns} | set(branch.copies) | ({branch.rank} - {None})
    if branch.link is not None:
        kept.add(branch.link.column)
    if branch.name in database.keys:
        kept.add(database.keys[branch.name])
    return [c for c in database[branch.name].schema if c.name in kept]
