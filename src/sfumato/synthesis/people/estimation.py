"""From rows to fields: each table's variables, what is counted of them, and the field that has the counts.

Tables are learnt parents first. The field of a table is learnt on drawn rows: those of the tables above it
are drawn from the fields that were learnt before. So all that a field sees of the data are its counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sfumato.progress import report
from sfumato.seeds import Key
from sfumato.synthesis.people.axes import GAPS, LEFT, NO_DAY, Floats, Ints, ValueAxis
from sfumato.synthesis.people.field import GivenRows, RowField, exact_tables
from sfumato.synthesis.people.generation import DrawnRows, Generator
from sfumato.synthesis.people.layout import (
    FieldLayout,
    TableVariables,
    Windows,
    days_before,
    drawn_columns,
    person_windows,
    sizes_of_codes,
)
from sfumato.synthesis.people.noisy_sets import PilotSets
from sfumato.synthesis.people.records import Axes, Records, counts_of
from sfumato.synthesis.people.sets import CodeSets, SetModel
from sfumato.synthesis.people.structure import TableTree
from sfumato.synthesis.private.layout import Codes
from sfumato.synthesis.private.potentials import TargetTables
from sfumato.synthesis.private.resolution import classes_of
from sfumato.synthesis.private.variables import Variable

_TIMES, _LEAST, _MOST = 4, 2_000, 50_000  # persons that fields are learnt on
_ROWS, _EACH = 30_000, 1.5  # rows of a table below them that are used: so many, or so many for each person
_FEWEST = 10.0  # rows of a class, without noise


class Counting(Protocol):
    """How tables are counted: as they are, or with noise that is paid for."""

    def persons(self, rows: int) -> float:
        """How many persons there are."""
        ...

    def variables(
        self, name: str, codes: Codes, sizes: tuple[int, ...], ordered: tuple[bool, ...]
    ) -> tuple[tuple[Ints | None, ...], tuple[Floats, ...]]:
        """The classes and the counts of each variable of a table."""
        ...

    def tables(self, layout: FieldLayout, rows: Codes, above: Codes) -> TargetTables:
        """What the field of a table should show.  above: (columns above, rows) of rows that were drawn."""
        ...

    def sets(
        self, name: str, sets: CodeSets, axis: ValueAxis, levels: Codes, sizes: tuple[int, ...],
        pilot: PilotSets,
    ) -> SetModel:  # fmt: skip
        """What sets should show."""
        ...


@dataclass(frozen=True)
class ExactCounting:
    """Counts as they are: nothing is promised."""

    def persons(self, rows: int) -> float:
        """How many persons there are."""
        return float(rows)

    def variables(
        self, name: str, codes: Codes, sizes: tuple[int, ...], ordered: tuple[bool, ...]
    ) -> tuple[tuple[Ints | None, ...], tuple[Floats, ...]]:
        """Classes of at least ten rows, as far as a variable has many codes."""
        del name
        fine = tuple(
            np.bincount(c, minlength=s).astype(np.float64) for c, s in zip(codes, sizes, strict=True)
        )
        return classes_for(fine, ordered, _FEWEST), fine

    def tables(self, layout: FieldLayout, rows: Codes, above: Codes) -> TargetTables:
        """The tables of the rows themselves."""
        del above
        return exact_tables(layout, rows)

    def sets(
        self, name: str, sets: CodeSets, axis: ValueAxis, levels: Codes, sizes: tuple[int, ...],
        pilot: PilotSets,
    ) -> SetModel:  # fmt: skip
        """The tables of the sets themselves."""
        del name, pilot
        return SetModel.exact(sets, axis, levels, sizes, _FEWEST)


def classes_for(
    fine: tuple[Floats, ...], ordered: tuple[bool, ...], fewest: float
) -> tuple[Ints | None, ...]:
    """The classes of each variable by its counts."""
    out = []
    for counts, adjacent in zip(fine, ordered, strict=True):
        variable = Variable((0,), np.arange(len(counts))[None], (), None, adjacent)
        out.append(classes_of(variable, counts, fewest))
    return tuple(out)


@dataclass
class Estimation:
    """The work of one fit: data and drawn rows side by side, table by table."""

    structure: TableTree
    records: dict[str, Records]
    axes: Axes
    bounds: dict[str, int]
    period: tuple[int, int]
    counting: Counting
    key: Key

    def generator(self) -> tuple[Generator, float]:
        """The fields of all tables, and the number of persons."""
        structure, root = self.structure, self.structure.root.name
        people = self.records[root].rows
        size = self.counting.persons(people)
        pilot = int(np.clip(round(_TIMES * size), _LEAST, _MOST))
        generator = Generator(structure, self.axes, {}, {}, {}, self.period)
        real: dict[str, DrawnRows] = {}
        drawn: dict[str, DrawnRows] = {}
        windows = person_windows(structure, self.records[root].dates, self.period, people)
        drawn_windows = windows
        for done, branch in enumerate(structure.branches):
            report("learning tables", done, len(structure.branches))
            name = branch.name
            if branch.code is not None:
                generator = replace(
                    generator, sets={**generator.sets, name: self._sets(generator, name, real, drawn)}
                )
                continue
            variables, real[name], given = self._variables(name, real, windows)
            generator = replace(generator, variables={**generator.variables, name: variables})
            layout = generator.layout(name)
            above = generator.above(name, real, real[name].parent) if layout.follows else _nothing(people)
            rows = layout.filled(real[name].states, above, self.records[name].place, given)
            field = self._field(generator, layout, rows, name, drawn, drawn_windows, pilot)
            generator = replace(generator, fields={**generator.fields, name: field})
            if branch.link is None:
                drawn[name], values = generator.persons(pilot, self.key)
                drawn_windows = generator.windows(values, pilot)
            elif structure.children(name):
                drawn[name] = generator.below(name, drawn, drawn_windows, self.key)
        return generator, size

    def _field(
        self, generator: Generator, layout: FieldLayout, rows: Codes, name: str, drawn: dict[str, DrawnRows],
        windows: Windows, pilot: int,
    ) -> RowField:  # fmt: skip
        if not layout.free:  # rows of keys alone: there is nothing to learn, or to pay for
            return RowField.of_keys(layout)
        if layout.follows:
            given, _ = generator.given(name, drawn, windows)
        else:
            given = GivenRows(_nothing(pilot), np.zeros(pilot, np.int64), None)
        wanted = self.counting.tables(layout, rows, given.above)
        some = given.some(max(_ROWS, round(_EACH * pilot)))  # of drawn persons: nothing is read off the data
        return RowField.learnt(layout, wanted, some, self.key.derive("learning", name))

    def _variables(
        self, name: str, real: dict[str, DrawnRows], windows: Windows
    ) -> tuple[TableVariables, DrawnRows, Ints | None]:
        """The variables of a table, its rows in them, and how much time each had left."""
        records, structure = self.records[name], self.structure
        children, columns = structure.children(name), drawn_columns(structure, name)
        counts = [np.minimum(counts_of(self.records, c, records.rows), self.bounds[c]) for c in children]
        codes = np.array(
            [*counts, *(records.codes[c] for c in columns)], np.uint16
        ).reshape(len(children) + len(columns), records.rows)  # fmt: skip
        sizes = sizes_of_codes(structure, name, self.axes[name], self.bounds)
        ordered = (*(True for _ in children), *(self._ordered(name, c) for c in columns))
        classes, fine = self.counting.variables(name, codes, sizes, ordered) if sizes else ((), ())
        parent = records.parent
        person = parent if structure[name].link is None else real[str(structure[name].parent)].person[parent]
        left, days = None, records.days
        if days is not None:
            known, window = self._time(name, real, person, windows)
            first = records.place == 0
            gap = GAPS.encode(np.where(days == NO_DAY, 0, days - known), days != NO_DAY, first)
            left = LEFT.encode(window - known, np.ones(records.rows, bool), first)
            codes = np.concatenate([codes, gap[None].astype(np.uint16)])
        variables = TableVariables(name, children, columns, days is not None, classes, fine)
        states = variables.coarse(codes)
        return variables, DrawnRows(parent, person, states, codes, days), left

    def _ordered(self, name: str, column: str) -> bool:
        axis = self.axes[name].get(column)
        return axis is None or axis.column.edges is not None or axis.column.kind == "ordinal"

    def _time(
        self, name: str, real: dict[str, DrawnRows], person: Ints, windows: Windows
    ) -> tuple[Ints, Ints]:
        """The last day known before each row, and the last day of its person."""
        records, upper = self.records[name], real[str(self.structure[name].parent)]
        own = windows.of(person)
        base = own.base
        if upper.days is not None:
            day = upper.days[records.parent]
            base = np.where(day == NO_DAY, base, day)
        assert records.days is not None
        return days_before(records.days, records.place, base), np.maximum(own.end, base)

    def _sets(
        self, generator: Generator, name: str, real: dict[str, DrawnRows], drawn: dict[str, DrawnRows]
    ) -> SetModel:
        branch, records = self.structure[name], self.records[name]
        upper = real[str(branch.parent)]
        code = str(branch.code)
        sets = CodeSets.of(records.parent, records.codes[code], upper.rows, upper.person, self.bounds[name])
        levels = generator.above(name, real, np.arange(upper.rows))
        sizes = tuple(
            s for t in self.structure.above(name)
            for s in generator.variables[t].sizes[: generator.variables[t].steady]
        )  # fmt: skip
        parents = drawn[str(branch.parent)]
        many = parents.codes[generator.variables[str(branch.parent)].children.index(name)].astype(np.int64)
        pilot = PilotSets(many, generator.above(name, drawn, np.arange(parents.rows)))
        return self.counting.sets(name, sets, self.axes[name][code], levels, sizes, pilot)


def _nothing(rows: int) -> Codes:
    return np.empty((0, rows), np.uint16)
