"""Which cells of a new table are withheld, and what all tables of an analysis tell together.

Guarantee: of every count below the threshold a reader of all outputs is left with every number from `least`
           to threshold - 1, and of a sum that few make up with the room that the rules ask for.
Because:   cells are withheld by `CellSuppression`, which gives nothing out before the attacker finds nothing;
           what earlier outputs show is kept, so it counts as known; and all is judged again in the end.
Assumes:   a reader knows the outputs, which groups they are about, and at most his own contribution.
Tested by: tests/checked/test_together.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import Attacker, Published, Target
from sfumato.checked.limits import OutputLimits
from sfumato.checked.system import LinkedTables
from sfumato.errors import DataError
from sfumato.tabulation import CellSuppression
from sfumato.tabulation.problem import HidingProblem

Real = NDArray[np.float64]
Flags = NDArray[np.bool_]

_WIDTH = 0.2  # of a sum with too few contributors: how far a reader is left in doubt, as a share of it
_HIDDEN = 1e-3  # what it costs to use a cell that no table shows


@dataclass(frozen=True, eq=False)
class TableDemands:
    """What must not be told of a system of tables.

    values: true cells.  least: what a reader knows of a cell that is not shown: it is not below this.
    sensitive: cells that are never shown, and of which a reader must be left with [low, high].
    whole: all are whole numbers.
    """

    values: Real
    least: Real
    sensitive: Flags
    low: Real
    high: Real
    whole: bool

    def targets(self, cells: Flags) -> list[Target]:
        """What is asked of some cells."""
        found = np.flatnonzero(self.sensitive & cells)
        return [Target(int(c), float(self.low[c]), float(self.high[c])) for c in found]


def demands(system: LinkedTables, limits: OutputLimits, lowest: float | None = None) -> TableDemands:
    """Of counts; or, given the lowest of all summed values, of sums."""
    asked = system.people > 0
    if not limits.missing:
        asked = asked & ~system.missing
    few = asked & (system.people < limits.threshold)
    if lowest is None:
        values = system.total
        floor = np.where(system.headed, 1.0, 0.0) if limits.zeros else system.nonempty.astype(np.float64)
        least = _implied(system, np.minimum(floor, values))
        high = np.maximum(np.maximum(limits.threshold - 1.0, least + 1), values)
        empty = system.shown & (system.people == 0) & limits.zeros
        return TableDemands(values, least, few | empty, least, high, True)
    cells = system.contributions
    size = np.abs(cells.total)
    room = np.maximum(limits.percent.room(cells), limits.dominance.room(cells))
    room = np.where(asked, np.maximum(room, np.where(few, _WIDTH * size, 0.0)), 0.0)
    sensitive = room > 1e-9 * (1 + size)
    unit = max(1.0, float(size.max(initial=0.0)) / 1e7)  # programs like numbers of one size
    room = np.where(sensitive, room, 0.0) / unit
    values = cells.total / unit
    least = np.full(len(values), 0.0 if lowest >= 0 else -np.inf)
    empty = system.shown & (system.people == 0)
    return TableDemands(
        values, least, sensitive | few | empty, np.maximum(values - room, least), values + room, False
    )


def _implied(system: LinkedTables, least: Real) -> Real:
    """What follows from lower bounds: totals are not below the sums of parts, only parts not below totals."""
    matrix = system.relations.matrix
    parts, totals = matrix.maximum(0), matrix.minimum(0).tocsr()
    only = np.diff(matrix.indptr) == 2
    above = totals.indices  # each relation has one total
    below = parts.indices[parts.indptr[:-1]]
    found = least.copy()
    while True:
        before = found.copy()
        np.maximum.at(found, above, parts @ found)
        np.maximum.at(found, below[only], found[above[only]])
        if np.array_equal(before, found):
            return found


def withheld_cells(
    system: LinkedTables, asked: TableDemands, kept: Flags, hidden: Flags
) -> tuple[Flags, int]:
    """Cells to withhold, so that nobody can tell what must not be told; and of how many the outputs before
    tell too much already, whatever is withheld now. An error where cells cannot be hidden.

    kept: what earlier outputs show.  hidden: what they withhold.
    """
    if not asked.sensitive.any():
        return hidden, 0
    try:
        return _protected(system, asked, kept, hidden), 0
    except DataError:
        told = opened_cells(
            system,
            asked,
            np.where(kept, asked.values, asked.least),
            np.where(kept, asked.values, np.inf),
            None,
        )
        if not told.any() or not kept.any():
            raise
    # What is told already is no secret to be kept by this table; it is withheld in it nevertheless.
    left = replace(asked, sensitive=asked.sensitive & ~told)
    return _protected(system, left, kept, hidden | (told & system.shown & ~kept)), int(told.sum())


def _protected(system: LinkedTables, asked: TableDemands, kept: Flags, hidden: Flags) -> Flags:
    cost = np.where(system.shown & ~hidden, 1.0, _HIDDEN)
    problem = HidingProblem(
        system.relations, asked.values, asked.least, asked.sensitive, asked.low, asked.high, cost,
        kept & ~asked.sensitive, system.people == 1, asked.whole, np.full(len(cost), np.inf),
    )  # fmt: skip
    return CellSuppression(effort="fast").protect(problem).withheld | hidden


def opened_cells(
    system: LinkedTables, asked: TableDemands, low: Real, high: Real, room: float | None
) -> Flags:
    """Cells of which a reader of all outputs can tell too much.

    low, high: what the outputs say of each cell: the same where it is shown.  room: where cells are rounded,
    how many whole numbers must be left in place of the whole interval that is asked for.
    """
    found: Flags = asked.sensitive & (low == high)
    targets = asked.targets(np.ones(len(low), bool))
    if not targets:
        return found
    low, high = np.minimum(low, asked.values), np.maximum(high, asked.values)
    published = Published(system.relations, low, high, np.full(len(low), asked.whole))
    attacker = Attacker(published, asked.values)
    if room is None:
        alone = np.flatnonzero(system.people == 1).tolist()
        seen = attacker.judge(targets, alone=alone)
        bad = [t.cell for t, fine in zip(targets, seen.covered, strict=True) if not fine]
        # Who is alone in two cells learns nothing of others by finding himself in the second one.
        victims = [c for who, c in seen.victims if system.alone[who] != system.alone[c]]
        found[[*bad, *victims]] = True
        return found
    seen = attacker.judge(targets, ends=True)
    left = np.floor(seen.high + 1e-6) - np.ceil(seen.low - 1e-6) + 1
    found[[t.cell for t, n in zip(targets, left, strict=True) if n < room]] = True
    return found
