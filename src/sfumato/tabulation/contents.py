"""The cells of tables, counted: one pass over the data for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.cells.layout import TOTAL, Layout, inner_cells, relations_of
from sfumato.cells.publication import Relations
from sfumato.counts import Codebook
from sfumato.counts.tables import flat_keys
from sfumato.errors import DataError, ParameterError
from sfumato.table import Table
from sfumato.tabulation.rules import Contributions

Index = NDArray[np.int64]
Real = NDArray[np.float64]

_TOP = 10  # largest contributions that are kept


@dataclass(frozen=True, eq=False)
class CellContents:
    """Every cell of every table once, and what is in it.

    codes: (cells, columns), -1 for a total.  rows: how many.  people: different persons, or rows where nobody
    says whose. inner: how many inner cells lie under each.  sums: of the summed column, where there is one.
    """

    layouts: tuple[Layout, ...]
    columns: tuple[str, ...]
    books: tuple[Codebook, ...]
    codes: Index
    rows: Index
    people: Index
    inner: Index
    relations: Relations
    sums: Contributions | None
    smallest: float = 0.0  # of all contributions

    def labels(self) -> dict[str, pa.Array]:
        """The labels of each column, as text; totals are `_T`, missing values empty."""
        found = {}
        for i, (name, book) in enumerate(zip(self.columns, self.books, strict=True)):
            texts = ["" if v is None else str(v) for v in book.decode(np.arange(book.size)).to_pylist()]
            if TOTAL in texts:
                raise DataError(
                    f"column '{name}' holds '{TOTAL}', the sign for totals.", hint="rename the value"
                )
            if len(set(texts)) < len(texts):
                raise DataError(f"column '{name}': two values are written alike.", hint="rename one of them")
            texts.append(TOTAL)  # which the code -1 reads
            found[name] = pa.array([texts[c] for c in self.codes[:, i].tolist()], pa.string())
        return found

    def parts(self) -> tuple[Index, Index, Index]:
        """The inner cells of a single table, and the totals that each is in: (cells, start, totals)."""
        if len(self.layouts) > 1:
            raise ParameterError(
                "counts of one table can be rounded so that they add up.",
                hint="give one table, with all columns",
            )
        place = {name: i for i, name in enumerate(self.columns)}
        inner = np.flatnonzero((self.codes >= 0).all(axis=1))
        sizes = [book.size + 1 for book in self.books]
        keys = flat_keys(self.codes + 1, sizes)
        if keys is None:
            raise ParameterError("too many combinations to number.", hint="take fewer columns")
        order = np.argsort(keys)
        chains = [
            [[place[n] for n in a[level:]] for level in range(len(a) + 1)] for a in self.layouts[0].axes
        ]
        found = []
        for emptied in itertools.product(*chains):
            if any(emptied):
                above = self.codes[inner] + 1
                above[:, [c for part in emptied for c in part]] = 0
                wanted = flat_keys(above, sizes)
                assert wanted is not None
                found.append(order[np.searchsorted(keys[order], wanted)])
        totals = np.stack(found, axis=1).astype(np.int64)
        start = np.arange(len(inner) + 1, dtype=np.int64) * totals.shape[1]
        return inner, start, totals.ravel()

    def places(self) -> tuple[Index, ...]:
        """Where each cell lies on each column's axis."""
        return tuple(self.codes[:, i] for i in range(len(self.columns)))


@dataclass(frozen=True, eq=False)
class _Records:
    """What is counted: codes of the columns, how many rows each stands for, whose, and how much."""

    codes: Index
    n: Index
    person: Index | None
    value: Real | None


def count(
    table: Table, layouts: Sequence[Layout], columns: tuple[str, ...], *, of: str | None, person: str | None
) -> CellContents:
    """Count every cell of every table."""
    books = tuple(table.codebooks(columns).values())
    cells: dict[tuple[int, ...], tuple[int, int, float, tuple[float, ...]]] = {}
    whole = _read(table, columns, of, person) if of or person else None
    smallest = 0.0
    counted = {} if whole is not None else table.tabulate([layout.columns for layout in layouts])
    for layout in layouts:
        at = [columns.index(name) for name in layout.columns]
        if whole is not None:
            records = _Records(whole.codes[:, at], whole.n, whole.person, whole.value)
        else:
            inner = counted[layout.columns]
            records = _Records(inner.codes.astype(np.int64), inner.n.astype(np.int64), None, None)
        _require_nested(layout, records.codes)
        _add(cells, layout, at, len(columns), records)
    if whole is not None and whole.value is not None and len(whole.value):
        smallest = float(whole.value.min())
    codes = np.array(sorted(cells), np.int64).reshape(-1, len(columns))
    found = [cells[tuple(row)] for row in codes.tolist()]
    relations = relations_of(layouts, columns, codes)
    people = np.array([p for _, p, _, _ in found], np.int64)
    sums = None
    if of:
        largest = np.array([top for _, _, _, top in found]).reshape(-1, _TOP)
        sums = Contributions(np.array([s for _, _, s, _ in found]), largest, people)
    return CellContents(
        tuple(layouts), columns, books, codes, np.array([n for n, _, _, _ in found], np.int64), people,
        inner_cells(layouts, columns, codes), relations, sums, smallest,
    )  # fmt: skip


def _read(table: Table, columns: tuple[str, ...], of: str | None, person: str | None) -> _Records:
    """The rows themselves: needed where contributions or persons are looked at."""
    named = [*columns, person] if person and person not in columns else list(columns)
    coded = table.encode(named)
    codes = coded.codes.astype(np.int64).T
    who = codes[:, named.index(person)] if person else None
    value = None
    if of:
        table.schema.require([of])
        try:
            parts = [b.column(0).cast(pa.float64(), safe=False) for b in table.batches([of])]
        except pa.ArrowInvalid:  # its words quote a cell
            raise DataError(f"column '{of}' holds cells that are not numbers.", hint="sum a number") from None
        value = np.concatenate(
            [np.empty(0), *(p.fill_null(0.0).to_numpy(zero_copy_only=False) for p in parts)]
        )
        if not np.isfinite(value).all():
            raise DataError(f"column '{of}' holds numbers without end.", hint="leave those rows out")
    return _Records(codes[:, : len(columns)], np.ones(len(codes), np.int64), who, value)


def _require_nested(layout: Layout, codes: Index) -> None:
    place = {name: i for i, name in enumerate(layout.columns)}
    for axis in layout.axes:
        for coarse, fine in itertools.pairwise(axis):
            pairs = np.unique(codes[:, [place[fine], place[coarse]]], axis=0)
            split = len(pairs) - len(np.unique(pairs[:, 0]))
            if split:
                raise DataError(
                    f"{coarse}>{fine} is not a hierarchy: {split} fine values lie in several coarse ones.",
                    hint="correct the values, or give the two columns an axis each",
                )


def _add(
    cells: dict[tuple[int, ...], tuple[int, int, float, tuple[float, ...]]],
    layout: Layout,
    at: Sequence[int],
    width: int,
    records: _Records,
) -> None:
    """Every cell of one table: for each axis a level, or all of it."""
    chains = [[axis[:level] for level in range(len(axis) + 1)] for axis in layout.axes]
    for kept in itertools.product(*chains):
        filled = [layout.columns.index(name) for part in kept for name in part]
        labels, where = _grouped(records.codes[:, filled])
        rows = np.bincount(where, records.n, len(labels)).astype(np.int64)
        people, top = rows, np.zeros((len(labels), _TOP))
        sums: Real = np.zeros(len(labels))
        if records.person is not None:
            pairs = np.unique(np.column_stack([where, records.person]), axis=0)
            people = np.bincount(pairs[:, 0], minlength=len(labels))
        if records.value is not None:
            sums = np.bincount(where, records.value, len(labels)).astype(np.float64)
            top = _largest(where, records, len(labels))
        full = np.full((len(labels), width), -1, np.int64)
        full[:, [at[i] for i in filled]] = labels
        for row, *content in zip(full.tolist(), rows.tolist(), people.tolist(), sums, top, strict=True):
            cells[tuple(row)] = (content[0], content[1], float(content[2]), tuple(content[3].tolist()))


def _grouped(codes: Index) -> tuple[Index, Index]:
    """The combinations that occur, and the one of each record."""
    if not codes.shape[1]:
        return np.zeros((min(len(codes), 1), 0), np.int64), np.zeros(len(codes), np.int64)
    labels, where = np.unique(codes, axis=0, return_inverse=True)
    return labels, where.reshape(-1)


def _largest(where: Index, records: _Records, n: int) -> Real:
    """The largest contributions to each cell; those of one person are added up."""
    assert records.value is not None
    value = records.value
    if records.person is not None:
        pairs, same = np.unique(np.column_stack([where, records.person]), axis=0, return_inverse=True)
        value = np.bincount(same.reshape(-1), value, len(pairs)).astype(np.float64)
        where = pairs[:, 0]
    order = np.lexsort((-np.abs(value), where))
    ordered = where[order]
    first = np.searchsorted(ordered, np.arange(n))
    rank = np.arange(len(order)) - first[ordered]
    top = np.zeros((n, _TOP))
    near = rank < _TOP
    top[ordered[near], rank[near]] = np.abs(value[order][near])
    return top
