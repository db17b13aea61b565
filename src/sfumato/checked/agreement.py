"""That the numbers of a frame are of the people whom its labels name.

pandas leaves people out of some numbers and not of others: totals of several columns are of whoever has all
of them. A difference of two such numbers is about the few who are in one only, and no check of cells would
see them. Therefore every number is made a second time, from the cells, and a table that says something else
is not given out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.checked.rows import RowBook
from sfumato.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Index = NDArray[np.int64]
Real = NDArray[np.float64]
CellName = tuple[tuple[int, ...], tuple[int, ...]]


def cell_statistics(
    book: RowBook, rows: Index, cells: Sequence[CellName], statistic: str, values: Real | None
) -> Real:
    """A statistic of each cell; NaN where nobody is."""
    import pandas as pd

    column = pd.Series(np.zeros(len(rows)) if values is None else values)
    found = np.full(len(cells), np.nan)
    for axes in {axes for axes, _ in cells}:
        if not axes:
            whole = len(rows) if statistic == "size" else column.agg(statistic)
            found[[k for k, cell in enumerate(cells) if cell[0] == axes]] = float(whole)
            continue
        codes = pd.DataFrame({a: book.axes[a].codes[rows] for a in axes})
        by = column.groupby([codes[a] for a in axes]).agg(statistic)
        labels = [g if isinstance(g, tuple) else (g,) for g in by.index]
        known = dict(zip(labels, by.to_numpy(np.float64), strict=True))
        for k, (named, groups) in enumerate(cells):
            if named == axes:
                found[k] = known.get(groups, np.nan)
    return found


def require_agreement(
    frame: pd.DataFrame, places: Sequence[tuple[int, int]], told: Real, filled: float | None = None
) -> None:
    """An error if a number is not what its cell says. filled: what stands where there is none."""
    import pandas as pd

    nothing = {0.0} if filled is None else {0.0, float(filled)}
    for place, true in zip(places, told.tolist(), strict=True):
        shown = frame.iat[place]
        given = float("nan") if pd.isna(shown) else float(shown)  # type: ignore[arg-type]
        if given != given or (true != true and given in nothing):
            continue
        if not abs(given - true) <= 1e-6 * (1e-3 + abs(true)):
            raise DataError(
                "pandas makes some numbers of this table of other people than its labels name: rows with "
                "missing values are in some numbers and not in others.",
                hint="leave out margins, make a table for each column, or take rows without missing values",
            )
