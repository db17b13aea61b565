"""The variables of every table: what is drawn of its rows, and what is given when they are drawn.

Drawn are how many children a row has, its columns, and, where rows have an order in time, the days since the
record before. Given are the variables of all rows above, those of the row before, and how much time is left.
Large columns are seen in classes (as `private.resolution` makes them); a level is drawn within its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.seeds import Key
from sfumato.synthesis.constraints import Zero
from sfumato.synthesis.people.axes import GAPS, LEFT, NO_DAY, OFFSETS, Floats, Ints, ValueAxis
from sfumato.synthesis.people.structure import DATES, TableTree
from sfumato.synthesis.private.graph import Pair
from sfumato.synthesis.private.layout import Codes
from sfumato.synthesis.private.refinement import Refinement

MAX_CELLS = 16_384  # of a pair's table


@dataclass(frozen=True, eq=False)
class TableVariables:
    """What is drawn of a table.

    children: the tables whose numbers of rows are drawn, first; columns: then these; timed: then the gap.
    classes, fine: of each variable but the gap, the class of each code (or None), and how often it occurs.
    """

    name: str
    children: tuple[str, ...]
    columns: tuple[str, ...]
    timed: bool
    classes: tuple[Ints | None, ...]
    fine: tuple[Floats, ...]

    @property
    def steady(self) -> int:
        """How many variables there are beside the gap."""
        return len(self.children) + len(self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each variable has, the gap last."""
        own = [
            len(f) if c is None else int(c.max()) + 1 for c, f in zip(self.classes, self.fine, strict=True)
        ]
        return (*own, *([GAPS.size] if self.timed else []))

    def coarse(self, codes: Codes) -> Codes:
        """The classes of rows, (variables, rows), from their codes; the gap as it is."""
        if not len(codes):  # keys alone
            return codes.astype(np.uint16)
        kept = [codes[j] if c is None else c[codes[j]] for j, c in enumerate(self.classes)]
        return np.stack([*kept, *codes[len(self.classes) :]]).astype(np.uint16)

    def refined(self, states: Codes, key: Key) -> Codes:
        """A code for each class: the codes of a class share its rows out as often as each occurs."""
        if not self.steady:
            return states[:0]
        known = Refinement(self.classes, self.fine)
        return known.calibrated(states[: self.steady], key)


@dataclass(frozen=True, eq=False)
class FieldLayout:
    """The columns of a table's field: own variables first, then those above, before, and the time left.

    above: which tables; before: whether rows of a parent follow each other.
    """

    variables: TableVariables
    above: tuple[TableVariables, ...]

    @property
    def free(self) -> int:
        """How many are drawn."""
        return len(self.variables.sizes)

    @property
    def follows(self) -> bool:
        """Whether there is a row before: all but the persons."""
        return bool(self.above)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each column has; one more for "no row before"."""
        own = self.variables.sizes
        out = [*own, *(s for t in self.above for s in t.sizes[: t.steady])]
        if self.follows:
            out += [s + 1 for s in own[: self.variables.steady]]
        return (*out, *([LEFT.size] if self.variables.timed else []))

    @cached_property
    def first_before(self) -> int:
        """Where the variables of the row before begin."""
        return self.free + sum(t.steady for t in self.above)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of columns of which one is drawn at least, as far as their tables are not too large."""
        sizes = self.sizes
        return tuple(
            (a, b)
            for a in range(self.free)
            for b in range(a + 1, len(sizes))
            if sizes[a] * sizes[b] <= MAX_CELLS and min(sizes[a], sizes[b]) > 1
        )

    @cached_property
    def zeros(self) -> tuple[Zero, ...]:
        """No gap is longer than the time that is left; that of a first row is of another kind."""
        if not self.variables.timed:
            return ()
        gap, left = self.free - 1, len(self.sizes) - 1
        out = [Zero((gap, left), (GAPS.first, ~LEFT.first)), Zero((gap, left), (~GAPS.first, LEFT.first))]
        begins, ends = np.asarray(GAPS.days.edges), LEFT.days.edges[1:]
        for code, end in enumerate(ends):
            long = np.tile(np.append(begins >= end, False), 2)
            if long.any():
                out.append(Zero((gap, left), (long, np.arange(LEFT.size) % LEFT.days.size == code)))
        return tuple(out)

    def filled(self, own: Codes, above: Codes, place: Ints, left: Ints | None) -> Codes:
        """All columns of rows, (columns, rows).  above: (columns of all rows above, rows)."""
        out = np.zeros((len(self.sizes), own.shape[1]), np.uint16)
        out[: self.free] = own
        out[self.free : self.first_before] = above
        if self.follows:
            self.put_before(out, place)
        if left is not None:
            out[-1] = left
        return out

    def put_before(self, rows: Codes, place: Ints) -> None:
        """Write into each row what the row before has; rows stand in order."""
        steady, first = self.variables.steady, self.first_before
        none = np.asarray(self.variables.sizes[:steady], np.uint16)[:, None]
        later = place > 0
        rows[first : first + steady] = none
        at = np.flatnonzero(later)
        rows[first : first + steady, at] = rows[:steady, at - 1]


def sizes_of_codes(
    structure: TableTree, name: str, axes: Mapping[str, ValueAxis], bounds: Mapping[str, int]
) -> tuple[int, ...]:
    """How many codes each variable of a table has, but the gap: numbers of children, then columns."""
    columns = drawn_columns(structure, name)
    children = structure.children(name)
    return (
        *(bounds[c] + 1 for c in children),
        *(axes[c].size if c in axes else OFFSETS.size for c in columns),
    )


def drawn_columns(structure: TableTree, name: str) -> tuple[str, ...]:
    """The columns of a table that are variables: all but the date that orders its rows, and sets of codes."""
    branch = structure[name]
    return tuple(c.name for c in branch.columns if c.name not in (branch.when, branch.code))


# -- sets of codes ---------------------------------------------------------------------------------


class SetTables(NamedTuple):
    """Counts, or what they should be, or what a miss costs.

    total: (G,) codes; above: (cells,) rows by class and level, one column after the other; both: (G, G) rows
    with two classes, the smaller first; again: (G + 1,) rows of a person beyond the first with the class, and
    of all classes together: each is small, and their sum would drift; twice: (G + 1,) persons with the class
    in two rows or more, likewise: whether few persons have it always, or many now and then.
    """

    total: Floats
    above: Floats
    both: Floats
    again: Floats
    twice: Floats


# -- time ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Windows:
    """When records may lie, row by row.  base: (R,) the day gaps begin at; end: (R,) the last day."""

    base: Ints
    end: Ints

    def of(self, parent: Ints) -> Windows:
        """Of rows below."""
        return Windows(self.base[parent], self.end[parent])


def person_windows(
    structure: TableTree, dates: Mapping[str, Ints], period: tuple[int, int], rows: int
) -> Windows:
    """From birth to death, within the period of the study."""
    base, end = np.full(rows, period[0]), np.full(rows, period[1])
    if structure.birth is not None:
        born = dates[structure.birth]
        base = np.where(born == NO_DAY, base, np.maximum(base, born))
    if structure.death is not None:
        died = dates[structure.death]
        end = np.where(died == NO_DAY, end, np.minimum(end, died))
    return Windows(base, np.maximum(end, base))


def days_before(days: Ints, place: Ints, base: Ints) -> Ints:
    """The last day before each row that is known: of a row before it, or where its gaps begin."""
    out = base.copy()
    if not len(days):
        return out
    for t in range(1, int(place.max(initial=0)) + 1):
        at = np.flatnonzero(place == t)
        last_day = days[at - 1]
        out[at] = np.where(last_day == NO_DAY, out[at - 1], np.maximum(last_day, out[at - 1]))
    return out


def is_date(structure: TableTree, name: str, column: str) -> bool:
    """Whether a column below the persons holds days after the row's first date."""
    return structure[name].link is not None and structure.database[name].schema[column].type in DATES
