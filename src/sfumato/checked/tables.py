"""Cross tables and pivot tables: pandas makes the frame, and each of its numbers is found among the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.checked.agreement import CellName, cell_statistics, require_agreement
from sfumato.checked.frames import aligned, columns_of, pandas_of
from sfumato.checked.rows import MISSING, RowBook
from sfumato.checked.system import TableShape
from sfumato.errors import DataError, ParameterError, listed

if TYPE_CHECKING:
    import pandas as pd

Index = NDArray[np.int64]

COUNTS = ""  # the layer of counts; those of sums name the summed column
_COUNTED = ("count",)
_SUMMED = ("mean", "sum", "std", "var", "median")
_MOST_AXES = 6


@dataclass(frozen=True, eq=False)
class TableBlock:
    """The numbers of a frame that are one statistic of one column.

    layer: counts, or the summed column.  places: where they stand.  bases: of which further cells each is a
    share.
    """

    layer: str
    shape: TableShape
    places: tuple[tuple[int, int], ...]
    bases: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class DraftTable:
    """A frame before anything is withheld.

    notes: what an output checker must see for himself.  rounds: its numbers are counts.  together: one number
    follows from the others, so that they leave together or not at all.
    """

    frame: pd.DataFrame
    blocks: tuple[TableBlock, ...]
    notes: tuple[str, ...]
    rounds: bool
    together: bool = False


@dataclass(frozen=True, eq=False)
class _Axes:
    """The axes of a table: by row labels, by column labels, and those with one group that is always taken."""

    book: RowBook
    rows: Index
    upright: tuple[int, ...]
    across: tuple[int, ...]
    dropped: bool  # whoever has a missing label is left out
    name: str  # of totals

    def labelled(self, label: object, axes: tuple[int, ...], total: bool) -> dict[int, int] | None:
        """The groups that a row or a column of a frame is about; None if nobody can be in them."""
        found: dict[int, int] = {}
        parts = label if isinstance(label, tuple) else (label,)
        if total and parts and parts[0] == self.name:
            for axis in axes if self.dropped else ():
                if (self.book.axes[axis].of(self.rows) == MISSING).any():
                    found[self.book.known(axis)] = 1
            return found
        for axis, part in zip(axes, parts, strict=True):
            group = MISSING if _is_missing(part) else self.book.axes[axis].number(part)
            if found.setdefault(axis, group) != group:
                return None
        return found

    def cells(
        self, frame: pd.DataFrame, columns: Sequence[tuple[int, object]], totals: bool, fixed: dict[int, int]
    ) -> tuple[list[tuple[int, int]], list[CellName]]:
        """Where the numbers of a frame stand, and which cells they are. columns: by place and label."""
        places, cells = [], []
        across = [(j, self.labelled(label, self.across, totals)) for j, label in columns]
        for i, label in enumerate(frame.index):
            down = self.labelled(label, self.upright, totals)
            for j, over in across:
                if down is None or over is None or any(over.get(a, g) != g for a, g in down.items()):
                    continue
                places.append((i, j))
                cells.append(named({**down, **over, **fixed}))
        return places, cells

    def shape(self, cells: Sequence[CellName], fixed: dict[int, int], values: object = None) -> TableShape:
        inner = tuple(sorted({*self.upright, *self.across, *fixed}))
        heads = [tuple(sorted({*side, *fixed})) for side in (self.upright, self.across, ())]
        return TableShape(self.rows, inner, tuple(cells), frozenset(heads), values)  # type: ignore[arg-type]


def named(groups: dict[int, int]) -> CellName:
    """A cell by its axes, sorted, and the group of each."""
    axes = tuple(sorted(groups))
    return axes, tuple(groups[a] for a in axes)


def _is_missing(label: object) -> bool:
    import pandas as pd

    return label is None or bool(pd.api.types.is_scalar(label) and pd.isna(label))  # type: ignore[call-overload]


def _registered(
    book: RowBook,
    upright: Sequence[pd.Series],
    across: Sequence[pd.Series],
    dropped: bool,
    name: str,
    margins: bool,
) -> tuple[_Axes, list[str]]:
    if len(upright) + len(across) > _MOST_AXES:
        raise ParameterError(
            f"a table by more than {_MOST_AXES} columns cannot be checked.", hint="make several tables"
        )
    if not len(upright[0]):
        raise DataError("there are no rows.", hint="give rows")
    if any((c == name).any() for c in (*upright, *across) if margins):
        raise ParameterError("a group has the name of totals.", hint="margins_name='everybody'")
    rows = book.number(upright[0].index)
    notes, found = [], []
    for column in (*upright, *across):
        number, clash = book.axis(str(column.name), rows, column)
        found.append(number)
        if clash:
            notes.append(
                f"column {str(column.name)!r} has other values in the same rows than in an earlier output: "
                "if rows were numbered anew, tables of the same people are not seen to be so"
            )
    sides = tuple(found[: len(upright)]), tuple(found[len(upright) :])
    return _Axes(book, rows, *sides, dropped, name), notes


def cross_table(
    book: RowBook, index: object, columns: object, values: object, rownames: Sequence[str] | None,
    colnames: Sequence[str] | None,
    aggfunc: object, margins: bool, margins_name: str, dropna: bool, normalize: bool | str | int,
) -> DraftTable:  # fmt: skip
    """As pandas.crosstab."""
    import pandas as pd

    if (values is None) != (aggfunc is None):
        raise ParameterError("values and aggfunc go together.", hint="values=data['cost'], aggfunc='mean'")
    upright, across = columns_of(index, "row"), columns_of(columns, "col")
    upright = _renamed(upright, rownames)
    across = _renamed(across, colnames)
    summed = [] if values is None else columns_of(values, "values")[:1]
    parts = aligned([*upright, *across, *summed])
    upright, across = parts[: len(upright)], parts[len(upright) : len(upright) + len(across)]
    axes, notes = _registered(book, upright, across, dropna, margins_name, margins)
    asked = {"margins": margins, "margins_name": margins_name, "dropna": dropna}
    if summed:
        value = parts[-1]
        if normalize:
            raise ParameterError("shares are of counts.", hint="leave out normalize, or values")
        names = _statistics(aggfunc)
        frame = pd.crosstab(upright, across, values=value, aggfunc=_handed(aggfunc, names), **asked)  # type: ignore[call-overload]
        many = not isinstance(aggfunc, str) and isinstance(aggfunc, (list, tuple))
        blocks = [
            _block(axes, frame, _columns(frame, [name] if many else []), margins, name, value)
            for name in names
        ]
        return DraftTable(frame, tuple(blocks), tuple(notes), False)
    counts = pd.crosstab(upright, across, **asked)  # type: ignore[call-overload]
    if not normalize:
        block = _block(axes, counts, _columns(counts, []), margins, "size", None)
        return DraftTable(counts, (block,), tuple(notes), True)
    if normalize not in (True, 0, 1, "all", "index", "columns"):
        raise ParameterError("shares are of all, of rows or of columns.", hint="normalize='index'")
    shares = pd.crosstab(upright, across, normalize=normalize, **asked)  # type: ignore[call-overload]
    block = _shares(axes, shares, margins, normalize)
    return DraftTable(shares, (block,), tuple(notes), False)


def _renamed(columns: list[pd.Series], names: Sequence[str] | None) -> list[pd.Series]:
    if names is None:
        return columns
    if len(names) != len(columns):
        raise ParameterError("there are more or fewer names than columns.", hint="one name for each column")
    return [c.rename(n) for c, n in zip(columns, names, strict=True)]


def _shares(axes: _Axes, frame: pd.DataFrame, margins: bool, normalize: bool | str | int) -> TableBlock:
    """Shares tell the counts that they are made of: the cell, and what it is a share of."""
    places, cells = axes.cells(frame, _columns(frame, []), margins, {})
    by = "all" if normalize is True else {"0": "index", "1": "columns"}.get(str(normalize), str(normalize))
    over = {"index": axes.across, "columns": axes.upright, "all": (*axes.upright, *axes.across)}[by]
    total = axes.labelled(axes.name, axes.across if by == "index" else axes.upright, True) or {}
    if by == "all":
        total = {**total, **(axes.labelled(axes.name, axes.across, True) or {})}
    bases = []
    every = list(cells)
    number = {cell: i for i, cell in enumerate(every)}
    for names, groups in cells:
        whole = dict(zip(names, groups, strict=True))
        base = named({**{a: g for a, g in whole.items() if a not in over}, **total})
        if base not in number:
            number[base] = len(every)
            every.append(base)
        bases.append(number[base])
    counts = cell_statistics(axes.book, axes.rows, every, "size", None)
    require_agreement(frame, places, counts[: len(places)] / counts[bases])
    return TableBlock(COUNTS, axes.shape(every, {}), tuple(places), tuple(bases))


def _block(
    axes: _Axes, frame: pd.DataFrame, columns: Sequence[tuple[int, object]], margins: bool, statistic: str,
    value: pd.Series | None, filled: float | None = None,
) -> TableBlock:  # fmt: skip
    fixed: dict[int, int] = {}
    if statistic == "count" and value is not None and bool(value.isna().any()):
        there = value.notna()
        number, _ = axes.book.axis(f"{value.name} there", axes.rows, there.where(there, None).astype(object))
        fixed[number] = axes.book.axes[number].number(True)
    places, cells = axes.cells(frame, columns, margins, fixed)
    if statistic in _COUNTED or value is None:
        require_agreement(frame, places, cell_statistics(axes.book, axes.rows, cells, "size", None), filled)
        return TableBlock(COUNTS, axes.shape(cells, fixed), tuple(places))
    numbers = _numbers(value)
    told = cell_statistics(axes.book, axes.rows, cells, statistic, numbers)
    require_agreement(frame, places, told, filled)
    if len(np.unique(numbers[~np.isnan(numbers)])) <= 2:
        return _two_valued(axes, frame, columns, margins, value)
    return TableBlock(f"sums of {value.name}", axes.shape(cells, fixed, numbers), tuple(places))


def _two_valued(
    axes: _Axes, frame: pd.DataFrame, columns: Sequence[tuple[int, object]], margins: bool, value: pd.Series
) -> TableBlock:
    """The mean of a column of two values tells how many have each: it is shown where both counts are."""
    number, _ = axes.book.axis(str(value.name), axes.rows, value)
    labels = [g for g in np.unique(axes.book.axes[number].of(axes.rows)).tolist() if g > MISSING]
    if not labels:
        raise ParameterError("a column to be shown has no values.", hint="name another column")
    both = [axes.cells(frame, columns, margins, {number: g}) for g in labels]
    places, n = both[0][0], len(both[0][0])
    cells = [cell for _, found in both for cell in found]
    bases = tuple(n + i for i in range(n)) if len(labels) > 1 else ()
    shape = replace(axes.shape(cells, {}), axes=tuple(sorted({*axes.upright, *axes.across, number})))
    return TableBlock(COUNTS, shape, tuple(places), bases)


def _numbers(column: pd.Series) -> NDArray[np.float64]:
    import pandas as pd

    if not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        raise ParameterError(
            f"column {str(column.name)!r} holds no numbers.", hint="name a column of numbers"
        )
    numbers = column.astype("Float64").to_numpy(np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise ParameterError(f"column {str(column.name)!r} holds infinite values.", hint="leave them out")
    return np.asarray(numbers, np.float64)


def _statistics(aggfunc: object) -> list[str]:
    """The names of statistics, in text, functions or a list of these."""
    given = list(aggfunc) if isinstance(aggfunc, (list, tuple)) else [aggfunc]
    names = [g if isinstance(g, str) else getattr(g, "__name__", str(g)) for g in given]
    if "size" in names:
        raise ParameterError(
            "size counts rows, whatever the column.", hint="crosstab(...) without values, or aggfunc='count'"
        )
    wrong = [repr(n) for n in names if n not in (*_COUNTED, *_SUMMED)]
    if wrong or not names:
        raise ParameterError(
            f"{listed(wrong) or 'nothing'} cannot be checked: it may be one person's value.",
            hint=f"aggfunc is {', '.join((*_COUNTED, *_SUMMED))}, or a list of them",
        )
    return names


def _handed(aggfunc: object, names: list[str]) -> list[str] | str:
    return names if isinstance(aggfunc, (list, tuple)) else names[0]


def _columns(frame: pd.DataFrame, first: Sequence[object]) -> list[tuple[int, object]]:
    """The columns of a frame whose labels begin with these, by place and by what follows."""
    found: list[tuple[int, object]] = []
    for j, label in enumerate(frame.columns):
        parts = label if isinstance(label, tuple) else (label,)
        if list(parts[: len(first)]) == list(first):
            rest = parts[len(first) :]
            found.append((j, rest[0] if len(rest) == 1 else rest))
    return found


def pivoted_table(
    book: RowBook, data: object, values: object, index: object, columns: object, aggfunc: object,
    fill_value: object, margins: bool, dropna: bool, margins_name: str, observed: bool, sort: bool,
) -> DraftTable:  # fmt: skip
    """As pandas.DataFrame.pivot_table."""
    import pandas as pd

    frame = pandas_of(data)
    if not frame.index.is_unique:
        frame = frame.reset_index(drop=True)
    upright, across = _names(frame, index), _names(frame, columns)
    if not upright:
        raise ParameterError("a table needs an index.", hint="index='region'")
    filled = _filling(fill_value)
    names = _statistics(aggfunc)
    if values is None:
        rest = [c for c in frame.columns if c not in (*upright, *across)]
        summed = [c for c in rest if pd.api.types.is_numeric_dtype(frame[c])]
    else:
        summed = _names(frame, values)
    if not summed:
        raise ParameterError("no column of numbers is left to be shown.", hint="values='cost'")
    for value in summed if set(names) & set(_SUMMED) else ():
        _numbers(frame[value])
    both = [frame[c] for c in upright], [frame[c] for c in across]
    axes, notes = _registered(book, *both, dropna, margins_name, margins)
    result = pd.pivot_table(
        frame, values=values if values is not None else summed, index=index, columns=columns,
        aggfunc=_handed(aggfunc, names), fill_value=fill_value, margins=margins, dropna=dropna,
        margins_name=margins_name, observed=observed, sort=sort,
    )  # type: ignore[call-overload]  # fmt: skip
    blocks = []
    for value in summed:
        for name in names:
            first = [name] if isinstance(aggfunc, (list, tuple)) else []
            if not isinstance(values, str) or not across:
                first = [*first, value]
            found = _columns(result, first)
            at = found if across else [(j, ()) for j, _ in found]
            blocks.append(_block(axes, result, at, margins, name, frame[value], filled))
    return DraftTable(result, tuple(blocks), tuple(notes), all(n in _COUNTED for n in names))


def _filling(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
        raise ParameterError("what fills empty cells is a number.", hint="leave out fill_value")
    return value


def _names(frame: pd.DataFrame, given: object) -> list[str]:
    if given is None:
        return []
    names = list(given) if isinstance(given, (list, tuple)) else [given]
    if not all(isinstance(name, str) for name in names):
        raise ParameterError("a pivot table is laid out by names of columns.", hint="index='region'")
    absent = [repr(n) for n in names if n not in frame.columns]
    if absent:
        raise ParameterError(f"unknown columns: {listed(absent)}.", hint="name columns of the data")
    return [str(name) for name in names]
