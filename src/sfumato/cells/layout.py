"""Tables as cells: which columns each is laid out by, and the relations that follow from the labels.

A cell is named by its labels, one for each column, `_T` where it is a total over the column. So a cell that
two tables share is one cell, and every table adds its relations to the same system.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.cells.publication import Relations
from sfumato.errors import DataError, ParameterError, listed

TOTAL = "_T"
_MOST_KINDS = 4096  # kinds of totals of one table

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """The axes of a table, each a chain of columns from coarse to fine: (("area", "county"), ("age",))."""

    axes: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        named = self.columns
        if not named or not all(self.axes):
            raise ParameterError("a table needs a column.", hint="such as 'county,age' or 'area>county,age'")
        if len(set(named)) < len(named):
            raise ParameterError("a table names a column twice.", hint="name each column once")
        kinds = math.prod(1 + len(axis) for axis in self.axes)
        if kinds > _MOST_KINDS:
            raise ParameterError(
                f"a table of {len(named)} columns has more than {_MOST_KINDS} kinds of totals.",
                hint="publish several tables of a few columns each; they are protected together",
            )

    @classmethod
    def of(cls, spec: str | Sequence[str | Sequence[str]]) -> Layout:
        """From 'area>county,age', or ('area>county', 'age'), or (('area', 'county'), 'age')."""
        parts = spec.split(",") if isinstance(spec, str) else list(spec)
        axes = [part.split(">") if isinstance(part, str) else list(part) for part in parts]
        if not all(isinstance(name, str) for axis in axes for name in axis):
            raise ParameterError("a table is laid out by names of columns.", hint="such as 'area>county,age'")
        return cls(tuple(tuple(name.strip() for name in axis if name.strip()) for axis in axes))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in order."""
        return tuple(name for axis in self.axes for name in axis)

    @property
    def text(self) -> str:
        """As it is written in a plan and on the command line."""
        return ",".join(">".join(axis) for axis in self.axes)


def read_layouts(specs: str | Iterable[str | Sequence[str | Sequence[str]] | Layout]) -> tuple[Layout, ...]:
    """One or several tables; in text they are divided by semicolons."""
    parts = [s for s in specs.split(";") if s.strip()] if isinstance(specs, str) else list(specs)
    layouts = tuple(p if isinstance(p, Layout) else Layout.of(p) for p in parts)
    if not layouts:
        raise ParameterError("no table was named.", hint="such as 'county,age'")
    return tuple(dict.fromkeys(layouts))


def relations_of(layouts: Sequence[Layout], columns: Sequence[str], codes: Index) -> Relations:
    """Totals and their parts. codes: (cells, columns), -1 where a cell is a total over a column.

    A part that is not among the cells is nobody: zeros need not be listed.
    """
    number = {tuple(row): i for i, row in enumerate(codes.tolist())}
    if len(number) < len(codes):
        raise DataError(
            f"{len(codes) - len(number)} cells are there twice.", hint="give each combination of labels once"
        )
    place = {name: i for i, name in enumerate(columns)}
    parts: dict[tuple[int, tuple[int, ...]], dict[int, None]] = {}
    orphans = 0
    for layout in layouts:
        used = {place[name] for name in layout.columns}
        outside = [i for i in range(len(columns)) if i not in used]
        axes = [[place[name] for name in axis] for axis in layout.axes]
        inside = np.flatnonzero((codes[:, outside] < 0).all(axis=1)) if outside else np.arange(len(codes))
        orphans += _descend(codes, inside, axes, number, parts)
    if orphans:
        raise DataError(
            f"{orphans} cells have no total.",
            hint=f"publish the totals of each table, with '{TOTAL}' in the columns they are totals over",
        )
    sums = {(number[total], tuple(sorted(found))) for (_, total), found in parts.items()}
    return Relations.of_sums(len(codes), sorted(sums))


def _descend(
    codes: Index,
    inside: Index,
    axes: Sequence[Sequence[int]],
    number: dict[tuple[int, ...], int],
    parts: dict[tuple[int, tuple[int, ...]], dict[int, None]],
) -> int:
    """Note each cell of a table among the parts of its totals, one for each axis; how many have none."""
    orphans = 0
    for cell in inside.tolist():
        labels = codes[cell].tolist()
        for axis in axes:
            filled = [c for c in axis if labels[c] >= 0]
            if filled != axis[: len(filled)]:
                orphans += 1
                continue
            if filled:
                total = tuple(-1 if i == filled[-1] else label for i, label in enumerate(labels))
                if total in number:
                    parts.setdefault((filled[-1], total), {})[cell] = None
                else:
                    orphans += 1
    return orphans


def inner_cells(
    layouts: Sequence[Layout], columns: Sequence[str], codes: Index, empty: NDArray[np.bool_] | None = None
) -> Index:
    """How many inner cells lie under each cell, at least: the table with most of them counts.

    empty: cells that are listed although nobody is in them; they do not count.
    """
    place = {name: i for i, name in enumerate(columns)}
    most = np.zeros(len(codes), np.int64)
    for layout in layouts:
        finest = [place[axis[-1]] for axis in layout.axes]
        used = [place[name] for name in layout.columns]
        inside = (codes[:, finest] >= 0).all(axis=1)
        rows = codes[inside if empty is None else inside & ~empty]
        outside = [i for i in range(len(columns)) if i not in used]
        if outside:
            rows = rows[(rows[:, outside] < 0).all(axis=1)]
        most = np.maximum(most, _under(codes, rows, layout, place))
    return most


def certain_cells(
    layouts: Sequence[Layout],
    columns: Sequence[str],
    codes: Index,
    empty: NDArray[np.bool_],
    zeros_of: str | None,
) -> Index:
    """How many inner cells under each cell are known not to be empty.

    zeros_of: a column whose categories are all listed, so that a withheld one may be empty. Then only groups
    of the other columns are known to hold somebody.
    """
    if zeros_of is None:
        return inner_cells(layouts, columns, codes, empty)
    most = np.zeros(len(codes), np.int64)
    for layout in layouts:
        axis = next((a for a in layout.axes if zeros_of in a), None)
        if axis is None:
            most = np.maximum(most, inner_cells([layout], columns, codes, empty))
            continue
        whole = np.flatnonzero((codes[:, [list(columns).index(n) for n in axis]] < 0).all(axis=1))
        rest = tuple(a for a in layout.axes if a is not axis)
        known = inner_cells([Layout(rest)], columns, codes[whole], empty[whole]) if rest else np.ones(1, int)
        most[whole] = np.maximum(most[whole], known)
    return most


def _under(codes: Index, rows: Index, layout: Layout, place: dict[str, int]) -> Index:
    counts: dict[tuple[int, ...], int] = {}
    chains = [[[place[n] for n in axis[level:]] for level in range(len(axis) + 1)] for axis in layout.axes]
    for emptied in itertools.product(*chains):
        above = rows.copy()
        for columns in emptied:
            above[:, columns] = -1
        labels, n = np.unique(above, axis=0, return_counts=True)
        for row, count in zip(labels.tolist(), n.tolist(), strict=True):
            counts[tuple(row)] = count
    return np.array([counts.get(tuple(row), 0) for row in codes.tolist()], np.int64)


def coded(columns: Sequence[Sequence[object]], total: str = TOTAL) -> tuple[Index, list[list[str]]]:
    """Labels as codes, -1 for totals, and the labels of each column."""
    codes, books = [], []
    for values in columns:
        text = ["" if v is None else str(v) for v in values]
        book: dict[str, int] = {}
        codes.append([-1 if v == total else book.setdefault(v, len(book)) for v in text])
        books.append(list(book))
    return np.array(codes, np.int64).T.reshape(-1, len(columns)), books


def require_columns(layouts: Sequence[Layout], known: Sequence[str]) -> tuple[str, ...]:
    """The columns of all tables, each once; an error for those that are not there."""
    columns = tuple(dict.fromkeys(name for layout in layouts for name in layout.columns))
    absent = [repr(c) for c in columns if c not in known]
    if absent:
        raise ParameterError(
            f"unknown column{'s' * (len(absent) > 1)}: {listed(absent)}.",
            hint=f"there are {listed([repr(k) for k in known])}",
        )
    above: dict[str, tuple[str, ...]] = {}
    for axis in (axis for layout in layouts for axis in layout.axes):
        for level, name in enumerate(axis):
            if above.setdefault(name, axis[:level]) != axis[:level]:
                within = ">".join([*max(above[name], axis[:level], key=len), name])
                raise ParameterError(
                    f"'{name}' lies within another column in one table, and not in another.",
                    hint=f"write {within} in every table: the totals are then the same cells",
                )
    return columns
