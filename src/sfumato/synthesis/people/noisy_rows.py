"""Counts with noise: the tables of rows, and who pays for what.

Guarantee: rho-zCDP (hence (epsilon, delta)), or pure epsilon if there is no delta: one person with all rows
           in all tables, added or removed.
Because:   1. Everything that is learnt of the data comes through a `Purse`, one for each table, cut from one
              grant by a ledger that refuses more: losses add up to the total (`private.purse`, point 4).
           2. A purse of a table of rows is for s rows of a person, one of sets for s d; which arrays are
              asked for, and how far one person moves them, is in `bounds`. Distances (`purchase`) move by at
              most the L1 of their table, which is at most s, or s d.
           3. The sizes of all arrays follow from the public domains, from the bounds and from answers that
              were paid for before (classes). The days of a gap, and the time that is left, are counted within
              one person, from the declared period, in bins that are the same for all data.
              Exact counts, wherever they were added up (`person_chunks`, `executor_persons`), are not kept.
           4. Rows above are counted nowhere: their law is that of rows that were drawn from answers.
           5. Fields are learnt, and persons drawn, from the answers alone, by public randomness.
Assumes:   the domains, the bounds, the period and a declared number of persons are public; tables without
           persons, names, types and roles of columns, keys and links between tables are as well; every cell
           lies in its domain. Data for which that is not so are refused before anything is spent, and that
           refusal is not covered.
Tested by: tests/synthesis/test_linked_tape.py, tests/synthesis/test_linked_bounds.py
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.privacy.grants import UNIT, Grant
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.rounding import down
from sfumato.synthesis.people.axes import GAP_GROUPS, Floats, Ints, ValueAxis
from sfumato.synthesis.people.bounds import PersonBounds
from sfumato.synthesis.people.field import FieldCounts
from sfumato.synthesis.people.layout import FieldLayout, drawn_columns
from sfumato.synthesis.people.noisy_pairs import ColumnPairs
from sfumato.synthesis.people.noisy_sets import PilotSets, SetMeasurement
from sfumato.synthesis.people.records import Axes
from sfumato.synthesis.people.sets import CodeKinds, SetCounts, SetModel
from sfumato.synthesis.people.structure import TableTree
from sfumato.synthesis.private import allocation as budget
from sfumato.synthesis.private.layout import Bools, Codes
from sfumato.synthesis.private.levels import of_states
from sfumato.synthesis.private.potentials import TargetTables
from sfumato.synthesis.private.purse import Measurement, Purse
from sfumato.synthesis.private.resolution import classes_of, least
from sfumato.synthesis.private.tables import on_simplex, shrink
from sfumato.synthesis.private.variables import FINE, Variable

_PERSONS = 1.5  # the parts of the budget: of the persons,
_BELOW = 4.0  # and of every table below them, where a person changes more
_DEPENDED_ON = 3.0  # how much more numbers of children get than other columns: all else follows them
_SIZE, _PURE_SIZE = 0.025, 0.01  # of the persons' part: how many there are
_GIVEN = 0.45  # of what single columns cost: gaps, the row before, the time left
_GAP_GROUPS, _GAPS, _FIRST_GAPS, _TIME, _BEFORE = 0.35, 0.3, 0.05, 0.15, 0.15  # of that
_PURE_ONE_WAY = 0.25
_LONGEST, _MORE = 3, 3  # letters of a code that may make a group; how many times more groups a level has


class NoisyCounting:
    """Counts with noise that is paid for; the grant is spent here.

    size: the declared number of persons; None where it is counted.
    """

    def __init__(self, grant: Grant, structure: TableTree, axes: Axes, bounds: PersonBounds,
                 size: int | None) -> None:  # fmt: skip
        self._structure, self._axes, self._bounds, self._size = structure, axes, bounds, size
        self._ledger = Ledger.within(grant)
        whole = float(grant.loss)
        parts = {b.name: _PERSONS if b.link is None else _BELOW for b in structure.branches}
        self._purses = {}
        for name, part in parts.items():
            units = int(Fraction(whole * part / sum(parts.values())) * UNIT) - 1
            amount, pure = down(Fraction(max(units, 1), UNIT)), grant.epsilon is not None
            own = self._ledger.grant(
                epsilon=amount if pure else None, rho=None if pure else amount, purpose=name
            )
            self._purses[name] = Purse(own, self._most(name))
        self._rows: dict[str, float] = {}
        self._noise: dict[str, list[float]] = {}  # the summed noise of the classes of each variable
        self._first: dict[str, float] = {}  # how many rows of a table are the first of their parent
        self._sets: dict[str, SetMeasurement] = {}

    def _most(self, name: str) -> int:
        """What a person changes a distance of this table's counts by, at most."""
        if self._structure[name].code is None:
            return self._bounds.rows(name)
        return self._bounds.sets(name).distance

    def persons(self, rows: int) -> float:
        """How many persons there are, as noised or declared."""
        root = self._structure.root.name
        if self._size is None:
            purse = self._purses[root]
            part = purse.total * (_PURE_SIZE if purse.pure else _SIZE)
            found = purse.scores(np.array([rows]), purse.amount(part), "number of persons")
            self._rows[root] = max(float(found.values[0]), 1.0)
        else:
            self._rows[root] = float(self._size)
        return self._rows[root]

    # -- single columns ------------------------------------------------------------------------------

    def variables(
        self, name: str, counts: tuple[Ints, ...], ordered: tuple[bool, ...]
    ) -> tuple[tuple[Ints | None, ...], tuple[Floats, ...]]:
        """Each column by itself, at the levels of its tree; classes that the budget for pairs bears."""
        purse, rows = self._purses[name], self._rows[name]
        every = [self._variable(name, j, len(exact), ordered[j]) for j, exact in enumerate(counts)]
        tables = [
            [exact, *(np.bincount(level, exact).astype(np.int64) for level in v.levels)]
            for v, exact in zip(every, counts, strict=True)
        ]
        shapes = [len(t) for each in tables for t in each]
        children = self._structure.children(name)
        heavy = [j < len(children) for j, each in enumerate(tables) for _ in each]
        part = self._one_way(name, shapes) * (1.0 if self._structure[name].link is None else 1 - _GIVEN)
        parts = iter(part * _split(shapes, heavy))
        fine, spread = [], []
        for v, each in zip(every, tables, strict=True):
            own, *above = (purse.table(t, (0,), purse.amount(next(parts)), "one column") for t in each)
            fine.append(of_states(v, own, above, rows))
            spread.append(own.variance**0.5)
        for child, many in zip(children, fine, strict=False):
            self._rows[child] = max(float(many @ np.arange(len(many))), 1.0)
            self._first[child] = max(float(many[1:].sum()), 1.0)
        above_ = sum(len(drawn_columns(self._structure, a)) + 1 for a in self._structure.above(name))
        pairs = len(counts) * (len(counts) + above_)
        fewest = least(pairs, len(counts), purse.left(pairs), purse.max_rows, purse.pure)
        classes = tuple(classes_of(v, f, fewest) for v, f in zip(every, fine, strict=True))
        self._noise[name] = [
            sigma * float(np.sqrt(np.ones(len(f)) if c is None else np.bincount(c)).sum())
            for sigma, f, c in zip(spread, fine, classes, strict=True)
        ]
        return classes, tuple(fine)

    def _one_way(self, name: str, shapes: Sequence[int]) -> float:
        purse = self._purses[name]
        if purse.pure:
            return purse.total * _PURE_ONE_WAY
        seen = self._rows[name] / purse.max_rows  # what rows of persons with one row each would be as visible
        return purse.total * budget.one_way_share(purse.total, seen, shapes)

    def _variable(self, name: str, j: int, size: int, ordered: bool) -> Variable:
        children, columns = self._structure.children(name), drawn_columns(self._structure, name)
        axis = None if j < len(children) else self._axes[name].get(columns[j - len(children)])
        tree = () if ordered or axis is None or size <= FINE else code_tree(axis)
        return Variable((0,), np.arange(size)[None], tree, None, ordered)

    # -- rows with the rows above and before them ------------------------------------------------------

    def tables(self, layout: FieldLayout, counted: FieldCounts, above: Codes) -> TargetTables:
        """What the field of a table should show."""
        name = layout.variables.name
        own, noise = self._margins(layout, counted, above)
        places = (self._bounds.first_rows(name), self._bounds.later_rows(name)) if layout.follows else (0, 0)
        pairs = ColumnPairs(layout, own, noise, self._rows[name], self._alone(layout), *places)
        return pairs.wanted(self._purses[name], counted)

    def _alone(self, layout: FieldLayout) -> tuple[int, Bools] | None:
        """Where a row's parent says how many rows it has, and which levels are for one at most."""
        if not layout.follows:
            return None
        parent = layout.above[0]
        place = parent.children.index(layout.variables.name)
        classes = parent.classes[place]
        most = np.arange(len(parent.fine[place])) if classes is None else _largest(classes)
        return layout.free + place, most <= 1

    def _margins(
        self, layout: FieldLayout, counted: FieldCounts, above: Codes
    ) -> tuple[tuple[Floats, ...], Floats]:
        """The counts of every column of a field, and the summed noise of each.

        Of own columns as they were measured; of those above as drawn rows have them; of the row before and of
        time they are measured here. How many rows are the first of their parent is known from the parents.
        """
        name, total = layout.variables.name, self._rows[layout.variables.name]
        steady, before, free = layout.variables.steady, layout.first_before, layout.free
        own: list[Floats] = [
            f if c is None else np.asarray(np.bincount(c, f), np.float64)
            for c, f in zip(layout.variables.classes, layout.variables.fine, strict=True)
        ]
        if not layout.follows:
            return tuple(own), np.array(self._noise[name])
        first = min(self._first[name], total)
        noise = np.zeros(len(layout.sizes))
        noise[:steady] = self._noise[name]
        whole = _GIVEN * self._one_way(name, layout.sizes[before:])
        if layout.variables.timed:
            gaps, noise[free - 1] = self._gaps(name, counted.own[free - 1], whole, total - first, first)
            own.append(gaps)
        for j in range(free, before):
            seen = np.bincount(above[j - free], minlength=layout.sizes[j]).astype(np.float64)
            own.append(seen * (total / max(seen.sum(), 1.0)))
        shapes = layout.sizes[before : before + steady]
        for j, part in enumerate(whole * _BEFORE * budget.split_one_way(shapes)):
            found = self._column(layout, counted, before + j, float(part))
            later = total - first
            drawn = shrink(_counts(found, total)[:-1], own[j] * (later / total), found.variance)
            own.append(np.append(on_simplex(drawn, later) if later > 0 else 0 * drawn, first))
            noise[before + j] = found.variance**0.5 * len(drawn)
        if layout.variables.timed:
            found = self._column(layout, counted, len(layout.sizes) - 1, whole * _TIME)
            own.append(_halves(found, total, first))
            noise[-1] = found.variance**0.5 * len(found.values)
        return tuple(own), noise

    def _column(self, layout: FieldLayout, counted: FieldCounts, j: int, part: float) -> Measurement:
        purse = self._purses[layout.variables.name]
        return purse.table(counted.own[j].astype(np.int64), (j,), purse.amount(part), "one column")

    def _gaps(
        self, name: str, counts: Floats, whole: float, later: float, first: float
    ) -> tuple[Floats, float]:
        """Gaps of later rows, by bin and by group of bins, and of first rows; their summed noise."""
        between, begin = np.split(counts.astype(np.int64), 2)
        most, purse = self._bounds.later_rows(name), self._purses[name]

        def counted(values: Ints, rows: int, part: float) -> Measurement:
            amount = purse.amount(whole * part)
            return purse.sums(values.astype(np.int64), rows, rows**2, (0,), amount, "gaps")

        start = counted(begin, self._bounds.first_rows(name), _FIRST_GAPS)
        opening = on_simplex(_counts(start, first), first)
        if not most or later <= 0:
            return np.concatenate([np.zeros(len(between)), opening]), start.sigma * len(opening)
        groups = counted(np.bincount(GAP_GROUPS, between), most, _GAP_GROUPS)
        fine = counted(between, most, _GAPS)
        tree = Variable((0,), np.arange(len(between))[None], (GAP_GROUPS,))
        noise = (start.sigma + fine.sigma) * len(opening)
        return np.concatenate([of_states(tree, fine, [groups], later), opening]), noise

    # -- sets ------------------------------------------------------------------------------------------

    def codes(self, name: str, counts: Ints, axis: ValueAxis, above: int) -> CodeKinds:
        """How often each code occurs, and classes that the budget bears."""
        bounds = self._bounds.sets(name)
        upper = self._rows[str(self._structure[name].parent)]
        self._sets[name] = SetMeasurement(self._purses[name], bounds, upper, self._rows[name])
        return self._sets[name].kinds(counts, code_tree(axis), above)

    def sets(
        self, name: str, kinds: CodeKinds, counted: SetCounts, sizes: tuple[int, ...], pilot: PilotSets
    ) -> SetModel:
        """What sets should show."""
        return self._sets[name].model(kinds, counted, sizes, pilot)


def code_tree(axis: ValueAxis) -> tuple[Ints, ...]:
    """The levels of a tree over codes, the coarsest first: those that begin alike. It is public."""
    texts = axis.book.levels.cast(pa.string()).to_pylist()
    texts += [""] * (axis.size - len(texts))
    out: list[Ints] = []
    many = 1
    for length in range(1, _LONGEST + 1):
        groups = np.unique([t[:length] for t in texts], return_inverse=True)[1].astype(np.int64)
        number = int(groups.max()) + 1
        if number >= _MORE * many and number * _MORE <= axis.size:
            out.append(groups)
            many = number
    return tuple(out)


def _split(shapes: Sequence[int], heavy: Sequence[bool]) -> Floats:
    """How single columns share."""
    parts = budget.split_one_way(shapes) * np.where(heavy, _DEPENDED_ON, 1.0)
    return np.asarray(parts / parts.sum())


def _largest(classes: Ints) -> Ints:
    """The largest code of each class."""
    out = np.zeros(int(classes.max()) + 1, np.int64)
    np.maximum.at(out, classes, np.arange(len(classes)))
    return out


def _counts(m: Measurement, rows: float) -> Floats:
    return np.asarray(m.residual + rows / len(m.values))


def _halves(m: Measurement, rows: float, first: float) -> Floats:
    """Counts of which the second half is of first rows (`axes.SplitAxis`): both halves' sums are known."""
    later, firsts = np.split(_counts(m, rows), 2)
    rest = rows - first
    return np.concatenate([on_simplex(later, rest) if rest > 0 else 0 * later, on_simplex(firsts, first)])
