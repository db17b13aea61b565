"""Anyone's tables, attacked: what a reader of all of them can tell of cells that are not shown.

Tables come in long form: a column for each label, `_T` where a cell is a total over it, and a count. A count
may be a number, a range (1-4), a bound (<5), or anything else, which stands for a withheld cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.cells import Attacker, Published, Target
from sfumato.cells.layout import (
    TOTAL,
    Layout,
    coded,
    inner_cells,
    read_layouts,
    relations_of,
    require_columns,
)
from sfumato.cells.written import told_bounds
from sfumato.errors import ParameterError
from sfumato.io import scan
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.sources import DataLike

Real = NDArray[np.float64]

_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class TableRisk:
    """What a reader can tell of each cell that is not shown as it is.

    cells: the labels, the interval that is left (`low` to `high`), whether the count is then known exactly,
    whether sums alone tell it, and why it is a fault, or nothing.
    shown: how many counts below the smallest are shown outright.
    """

    cells: pa.Table = field(repr=False)
    minimum: int
    shown: int

    @property
    def faults(self) -> pa.Table:
        """The cells that are opened too far."""
        return self.cells.filter(pa.array([bool(why) for why in self.cells["why"].to_pylist()], pa.bool_()))

    @property
    def met(self) -> bool:
        """Whether no small count is shown, and none can be found."""
        return not self.shown and not len(self.faults)


def assess_tables(
    data: Table | DataLike,
    tables: str | Iterable[str | Sequence[str | Sequence[str]] | Layout],
    *,
    minimum: int = 5,
    count: str = "count",
    base: int = 1,
    zeros: bool = True,
    within: int = 0,
    total: str = TOTAL,
) -> TableRisk:
    """Attack published tables, all of them together.

    data: cells in long form.  tables: what they are laid out by, as in 'area>county,age;area,sex'.
    minimum: counts of 1 to minimum - 1 are sensitive.  count: the column of counts.  base: what counts were
    rounded to; 1 if they were not.  zeros: whether cells that are zero are shown, or left out, as zeros: a
    withheld cell is then at least 1.  within: how far counts were moved at most, by noise or by cell keys.
    total: what stands for a total in a column of labels.

    >>> import pyarrow as pa
    >>> cells = pa.table({"county": ["a", "b", "c", "_T"], "count": ["*", "28", "30", "60"]})
    >>> sf.assess_tables(cells, "county").met
    False
    """
    faults = [] if minimum >= 2 else ["minimum is a whole number from 2 up"]
    faults += [] if base >= 1 else ["base is a whole number from 1 up"]
    faults += [] if within >= 0 else ["within is a whole number from 0 up"]
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="assess_tables(data, 'county,age', minimum=5)")
    table = data if isinstance(data, Table) else scan(data, keep_text=True)
    layouts = read_layouts(tables)
    columns = require_columns(layouts, table.columns)
    table.schema.require([count])
    rows = pa.Table.from_batches(list(table.batches([*columns, count])))
    low, high = told_bounds(rows[count].to_pylist(), count)
    codes, _ = coded([rows[name].to_pylist() for name in columns], total)
    relations = relations_of(layouts, columns, codes)
    inner = np.zeros(len(low))
    off = max(base - 1, within)
    if zeros and not off:  # a rounded zero may be somebody
        inner = inner_cells(layouts, columns, codes, high == 0).astype(np.float64)
    if off:
        low, high = np.maximum(low - off, 0.0), high + off
    told = low == high
    low = np.where(told, low, np.maximum(low, inner))
    high = np.maximum(high, low)
    published = Published(relations, low, high, np.ones(len(low), bool))
    small = (low == high) & (low > 0) & (low < minimum)  # shown, or told by a bound
    cells = published.open
    found = Attacker(published).judge([Target(int(c), -np.inf, np.inf) for c in cells], ends=True)
    known = np.floor(found.high + _NEAR) <= np.ceil(found.low - _NEAR)
    must_be_small = (found.high < minimum - _NEAR) & (found.high > 0)
    enough = np.maximum(minimum - 1, inner[cells] + 1)
    hidden = (found.low <= inner[cells] + _NEAR) & (found.high >= enough - _NEAR)
    why = np.where(must_be_small & known, "known exactly", np.where(must_be_small & ~hidden, "narrowed", ""))
    sums = found.arithmetic if found.arithmetic is not None else np.zeros(len(cells), bool)
    labels = {name: rows[name].take(pa.array(cells)) for name in columns}
    return TableRisk(
        pa.table(
            {**labels, "low": found.low, "high": found.high, "known": known, "by_sums": sums, "why": why}
        ),
        minimum,
        int(small.sum()),
    )
