"""From counts to fields: each table's variables, what is counted of them, and the field that has the counts.

Persons are asked twice, wherever their rows are: every column by itself, and, once classes follow from that,
tables of columns. Fields are learnt parents first, on drawn rows: those of the tables above are drawn from
the fields that were learnt before. So all that a field sees of the data are its counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sfumato.progress import report
from sfumato.seeds import Key
from sfumato.synthesis.people.axes import Floats, Ints, ValueAxis
from sfumato.synthesis.people.field import FieldCounts, GivenRows, RowField
from sfumato.synthesis.people.generation import DrawnRows, Generator
from sfumato.synthesis.people.layout import (
    FieldLayout,
    TableVariables,
    Windows,
    drawn_columns,
)
from sfumato.synthesis.people.noisy_sets import PilotSets
from sfumato.synthesis.people.person_chunks import Persons
from sfumato.synthesis.people.sets import CodeKinds, SetCounts, SetModel, code_classes
from sfumato.synthesis.people.structure import TableTree
from sfumato.synthesis.people.tallies import Outline, TablesQuestion
from sfumato.synthesis.private.layout import Codes
from sfumato.synthesis.private.potentials import TargetTables
from sfumato.synthesis.private.resolution import classes_of
from sfumato.synthesis.private.variables import Variable

_TIMES, _LEAST, _MOST = 4, 2_000, 50_000  # persons that fields are learnt on
_ROWS, _EACH = 30_000, 1.5  # rows of a table below them that are used: so many, or so many for each person
_FEWEST = 10.0  # rows of a class, without noise


class Counting(Protocol):
    """How counts are used: as they are, or with noise that is paid for."""

    def persons(self, rows: int) -> float:
        """How many persons there are."""
        ...

    def variables(
        self, name: str, counts: tuple[Ints, ...], ordered: tuple[bool, ...]
    ) -> tuple[tuple[Ints | None, ...], tuple[Floats, ...]]:
        """The classes and the counts of each variable of a table."""
        ...

    def codes(self, name: str, counts: Ints, axis: ValueAxis, above: int) -> CodeKinds:
        """The classes and the counts of the codes of sets.  above: how many variables stand above them."""
        ...

    def tables(self, layout: FieldLayout, counted: FieldCounts, above: Codes) -> TargetTables:
        """What the field of a table should show.  above: (columns above, rows) of rows that were drawn."""
        ...

    def sets(
        self, name: str, kinds: CodeKinds, counted: SetCounts, sizes: tuple[int, ...], pilot: PilotSets
    ) -> SetModel:
        """What sets should show."""
        ...


@dataclass(frozen=True)
class ExactCounting:
    """Counts as they are: nothing is promised."""

    def persons(self, rows: int) -> float:
        """How many persons there are."""
        return float(rows)

    def variables(
        self, name: str, counts: tuple[Ints, ...], ordered: tuple[bool, ...]
    ) -> tuple[tuple[Ints | None, ...], tuple[Floats, ...]]:
        """Classes of at least ten rows, as far as a variable has many codes."""
        del name
        fine = tuple(c.astype(np.float64) for c in counts)
        return classes_for(fine, ordered, _FEWEST), fine

    def codes(self, name: str, counts: Ints, axis: ValueAxis, above: int) -> CodeKinds:
        """Classes of at least ten codes, of those that begin alike."""
        del name, above
        fine = counts.astype(np.float64)
        return CodeKinds(fine, code_classes(axis, fine, _FEWEST))

    def tables(self, layout: FieldLayout, counted: FieldCounts, above: Codes) -> TargetTables:
        """The tables of the rows themselves."""
        del above
        return counted.tables(layout)

    def sets(
        self, name: str, kinds: CodeKinds, counted: SetCounts, sizes: tuple[int, ...], pilot: PilotSets
    ) -> SetModel:
        """The tables of the sets themselves."""
        del name, pilot
        return SetModel.exact(kinds, counted, sizes)


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
    """The work of one fit: counts of the data and drawn rows side by side, table by table.

    outline: every column by itself, as `persons` were asked for it.
    """

    structure: TableTree
    persons: Persons
    outline: Outline
    period: tuple[int, int]
    counting: Counting
    key: Key

    def generator(self) -> tuple[Generator, float]:
        """The fields of all tables, and the number of persons."""
        structure, root = self.structure, self.structure.root.name
        size = self.counting.persons(self.outline.tables[root].rows)
        variables, kinds = self.single_columns()
        classes = {n: k.classes for n, k in kinds.items()}
        question = TablesQuestion(structure.without_rows(), self.period, variables, classes)
        counted = self.persons.count(question)
        pilot = int(np.clip(round(_TIMES * size), _LEAST, _MOST))
        generator = Generator(structure, self.persons.axes, variables, {}, {}, self.period)
        drawn: dict[str, DrawnRows] = {}
        windows = Windows(np.empty(0, np.int64), np.empty(0, np.int64))
        for done, branch in enumerate(structure.branches):
            report("learning tables", done, len(structure.branches))
            name = branch.name
            if branch.code is not None:
                sets = self._sets(generator, name, kinds[name], counted.sets[name], drawn)
                generator = replace(generator, sets={**generator.sets, name: sets})
                continue
            field = self._field(generator, name, counted.fields[name], drawn, windows, pilot)
            generator = replace(generator, fields={**generator.fields, name: field})
            if branch.link is None:
                drawn[name], values = generator.persons(pilot, self.key)
                windows = generator.windows(values, pilot)
            elif structure.children(name):
                drawn[name] = generator.below(name, drawn, windows, self.key)
        return generator, size

    def single_columns(self) -> tuple[dict[str, TableVariables], dict[str, CodeKinds]]:
        """The variables of each table, and the codes of sets: parents first."""
        structure, axes = self.structure, self.persons.axes
        variables: dict[str, TableVariables] = {}
        kinds: dict[str, CodeKinds] = {}
        for branch in structure.branches:
            name, counts = branch.name, self.outline.tables[branch.name].columns
            if branch.code is not None:
                above = sum(variables[t].steady for t in structure.above(name))
                kinds[name] = self.counting.codes(name, counts[0], axes[name][branch.code], above)
                continue
            children, columns = structure.children(name), drawn_columns(structure, name)
            ordered = (*(True for _ in children), *(self._ordered(name, c) for c in columns))
            classes, fine = self.counting.variables(name, counts, ordered) if counts else ((), ())
            timed = branch.when is not None
            variables[name] = TableVariables(name, children, columns, timed, classes, fine)
        return variables, kinds

    def _field(
        self, generator: Generator, name: str, counted: FieldCounts, drawn: Mapping[str, DrawnRows],
        windows: Windows, pilot: int,
    ) -> RowField:  # fmt: skip
        layout = generator.layout(name)
        if not layout.free:  # rows of keys alone: there is nothing to learn, or to pay for
            return RowField.of_keys(layout)
        if layout.follows:
            given, _ = generator.given(name, drawn, windows)
        else:
            given = GivenRows(np.empty((0, pilot), np.uint16), np.zeros(pilot, np.int64), None)
        wanted = self.counting.tables(layout, counted, given.above)
        some = given.some(max(_ROWS, round(_EACH * pilot)))  # of drawn persons: nothing is read off the data
        return RowField.learnt(layout, wanted, some, self.key.derive("learning", name))

    def _ordered(self, name: str, column: str) -> bool:
        axis = self.persons.axes[name].get(column)
        return axis is None or axis.column.edges is not None or axis.column.kind == "ordinal"

    def _sets(
        self, generator: Generator, name: str, kinds: CodeKinds, counted: SetCounts,
        drawn: Mapping[str, DrawnRows],
    ) -> SetModel:  # fmt: skip
        upper = str(self.structure[name].parent)
        sizes = tuple(
            s for t in self.structure.above(name)
            for s in generator.variables[t].sizes[: generator.variables[t].steady]
        )  # fmt: skip
        parents = drawn[upper]
        many = parents.codes[generator.variables[upper].children.index(name)].astype(np.int64)
        pilot = PilotSets(many, generator.above(name, drawn, np.arange(parents.rows)))
        return self.counting.sets(name, kinds, counted, sizes, pilot)
