"""Histograms as the counts of their bins.

Bins from 0 to 50 and bins from 0 to 51 tell together who is 50. So each histogram brings the groups between
all edges that were used for its column, and whoever lies beyond them, as cells that no table shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sfumato.checked.frames import aligned, column_of, pandas_of
from sfumato.checked.rows import RowBook
from sfumato.checked.system import TableShape
from sfumato.checked.tables import COUNTS, DraftTable, TableBlock, cross_table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

_MOST_BINS = 1000


def binned(
    book: RowBook, data: object, column: str | None, bins: int | Sequence[float], by: str | None
) -> DraftTable:
    """The counts of bins, by groups if asked."""
    import pandas as pd

    groups = None
    if column is None:
        values = column_of(data, "value")
    else:
        frame = pandas_of(data)
        absent = [n for n in (column, by) if n is not None and n not in frame.columns]
        if absent:
            raise ParameterError(f"unknown column {absent[0]!r}.", hint="name a column of the data")
        values, groups = frame[column], None if by is None else frame[by]
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        raise ParameterError("a histogram is of numbers.", hint="name a column of numbers")
    if not values.index.is_unique:
        values = values.reset_index(drop=True)
        groups = None if groups is None else groups.reset_index(drop=True)
    edges = round_edges(values, bins) if isinstance(bins, (int, np.integer)) else _edges(bins)
    inside = values.astype("Float64").replace(edges[-1], float(np.nextafter(edges[-1], -np.inf)))  # as pandas
    cut = pd.cut(inside, edges, right=False)
    cut = cut.cat.rename_categories([f"{a:.12g} to {b:.12g}" for a, b in pairwise(edges)])
    if groups is None:
        groups = pd.Series("count", index=values.index, name="people")
    kept = aligned([cut, groups])
    key = f"{values.name} in bins at {edges}"
    draft = cross_table(book, kept[0].rename(key), kept[1], None, None, None, None, False, "All", True, False)
    between = _between(book, inside.loc[kept[0].index].rename(str(values.name)), edges, draft.blocks[0].shape)
    frame = draft.frame.rename_axis(index=f"{values.name} in bins")
    return replace(draft, frame=frame, blocks=(*draft.blocks, between))


def _between(book: RowBook, values: pd.Series, edges: Sequence[float], shape: TableShape) -> TableBlock:
    """The groups between all edges of the histograms of a column. None of these cells is shown."""
    import pandas as pd

    every = book.edges.setdefault(str(values.name), set())
    every.update(edges)
    fine = pd.cut(values, sorted({-np.inf, *every, np.inf}), right=False, labels=False)
    number, _ = book.axis(f"{values.name} between {sorted(every)}", shape.rows, fine)
    groups = [a for a in shape.axes if not book.axes[a].name.startswith(f"{values.name} in bins at ")]
    return TableBlock(COUNTS, replace(shape, axes=tuple(sorted({number, *groups})), shown=()), ())


def _edges(bins: Sequence[float]) -> list[float]:
    try:
        edges = [float(b) for b in bins]
    except (TypeError, ValueError):
        edges = []
    if len(edges) < 2 or any(b <= a for a, b in pairwise(edges)):
        raise ParameterError(
            "the edges of bins grow, and there are two or more.", hint="bins=[0, 20, 40, 60]"
        )
    return edges


def round_edges(values: pd.Series, bins: int) -> list[float]:
    """About so many bins with round edges, beyond the smallest and the largest value.

    The first and last edge of a usual histogram are two people's values. Here they are multiples of a step of
    1, 2 or 5 times a power of ten, which is at least the range over `bins`.
    """
    if isinstance(bins, bool) or not 1 <= bins <= _MOST_BINS:
        raise ParameterError(f"a histogram has 1 to {_MOST_BINS} bins.", hint="bins=10")
    there = values.dropna().to_numpy(np.float64)
    if not len(there) or not np.isfinite(there).all():
        raise ParameterError("there are no numbers, or infinite ones.", hint="leave them out")
    low, high = float(there.min()), float(there.max())
    width = max((high - low) / bins, 1e-6 * max(abs(low), abs(high))) or 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= width * (1 - 1e-12))
    first, last = math.floor(low / step), math.floor(high / step) + 1
    return [round(i * step, 12) for i in range(first, last + 1)]
