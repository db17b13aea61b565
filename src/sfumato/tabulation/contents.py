"""The cells of tables, counted: one pass over the data for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.cells.layout import TOTAL, Layout, certain_cells, relations_of
from sfumato.cells.publication import Relations
from sfumato.counts import Codebook
from sfumato.counts.tables import flat_keys
from sfumato.errors import DataError, ParameterError
from sfumato.seeds import Key
from sfumato.table import Table
from sfumato.tabulation.rules import Contributions

Index = NDArray[np.int64]
Real = NDArray[np.float64]

_TOP = 10  # largest contributions that are kept
_MOST_ZEROS = 500_000


@dataclass(frozen=True, eq=False)
class CellContents:
    """Every cell of every table once, and what is in it.

    codes: (cells, columns), -1 for a total.  rows: how many.  people: different persons, or rows where nobody
    says whose. weights: summed weights, or rows where there are none.  sums: of the summed column, where
    there is one.  keys: summed record keys, where cells have keys.
    """

    layouts: tuple[Layout, ...]
    columns: tuple[str, ...]
    books: tuple[Codebook, ...]
    codes: Index
    rows: Index
    people: Index
    weights: Real
    sums: Contributions | None
    keys: NDArray[np.uint64] | None = None
    smallest: float = 0.0  # of all contributions
    lightest: float = 1.0  # of all weights
    zeros_of: str | None = None  # a column whose zeros are listed, and may be withheld

    @cached_property
    def relations(self) -> Relations:
        """Totals and their parts."""
        return relations_of(self.layouts, self.columns, self.codes)

    @cached_property
    def inner(self) -> Index:
        """How many inner cells that are not empty lie under each, as far as a reader can see."""
        return certain_cells(self.layouts, self.columns, self.codes, self.rows == 0, self.zeros_of)

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


@dataclass(frozen=True, eq=False)
class _Records:
    """What is counted: codes of the columns, how many rows each stands for, whose, and how much.

    value: what is summed, weights included.  key: the record key.
    """

    codes: Index
    n: Index
    person: Index | None = None
    value: Real | None = None
    weight: Real | None = None
    key: NDArray[np.uint64] | None = None


def count(
    table: Table,
    layouts: Sequence[Layout],
    columns: tuple[str, ...],
    *,
    of: str | None = None,
    person: str | None = None,
    weight: str | None = None,
    key: Key | None = None,
    zeros_of: str | None = None,
) -> CellContents:
    """Count every cell of every table.

    key: gives each row, or each person, a record key.  zeros_of: a column of which every category is listed
    in every group that somebody is in, also where it is 0.
    """
    books = tuple(table.codebooks(columns).values())
    by_rows = bool(of or person or weight or key)
    whole = _read(table, columns, of, person, weight, key) if by_rows else None
    counted = {} if whole is not None else table.tabulate([layout.columns for layout in layouts])
    parts = []
    for layout in layouts:
        at = [columns.index(name) for name in layout.columns]
        if whole is not None:
            records = replace(whole, codes=whole.codes[:, at])
        else:
            inner = counted[layout.columns]
            records = _Records(inner.codes.astype(np.int64), inner.n.astype(np.int64))
        _require_nested(layout, records.codes)
        zeros = _zeros(records.codes, layout, zeros_of)
        parts += _cells(layout, at, len(columns), records, zeros)
    full = np.concatenate([codes for codes, _ in parts])
    codes, first, _ = _distinct(full)
    cells = _Content(*(np.concatenate(x)[first] for x in zip(*(c for _, c in parts), strict=True)))
    summed = None if not of else Contributions(cells.value, cells.top, cells.people)
    return CellContents(
        tuple(layouts), columns, books, codes, cells.rows, cells.people, cells.weight, summed,
        cells.key if key is not None else None, _least(None if whole is None else whole.value, 0.0),
        _least(None if whole is None else whole.weight, 1.0), zeros_of,
    )  # fmt: skip


def _least(values: Real | None, default: float) -> float:
    return float(values.min()) if values is not None and len(values) else default


def _read(
    table: Table, columns: tuple[str, ...], of: str | None, person: str | None, weight: str | None,
    key: Key | None,
) -> _Records:  # fmt: skip
    """The rows themselves: needed where contributions, persons, weights or keys are looked at."""
    named = [*columns, person] if person and person not in columns else list(columns)
    coded = table.encode(named)
    codes = coded.codes.astype(np.int64).T
    who = codes[:, named.index(person)] if person else None
    value = _numbers(table, of) if of else None
    heavy = _numbers(table, weight) if weight else None
    if heavy is not None and (heavy < 0).any():
        raise DataError(
            f"column '{weight}': {int((heavy < 0).sum())} weights are negative.", hint="give weights from 0"
        )
    if value is not None and heavy is not None:
        value = value * heavy
    keys = None
    if key is not None:
        names = table.codebooks([person])[person] if person else None
        keys = record_keys(key, len(codes), who, names)
    return _Records(codes[:, : len(columns)], np.ones(len(codes), np.int64), who, value, heavy, keys)


def _numbers(table: Table, name: str) -> Real:
    table.schema.require([name])
    try:
        parts = [b.column(0).cast(pa.float64(), safe=False) for b in table.batches([name])]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # its words quote a cell
        raise DataError(f"column '{name}' holds cells that are not numbers.", hint="name a number") from None
    value = np.concatenate([np.empty(0), *(p.fill_null(0.0).to_numpy(zero_copy_only=False) for p in parts)])
    if not np.isfinite(value).all():
        raise DataError(f"column '{name}' holds numbers without end.", hint="leave those rows out")
    return value


def record_keys(key: Key, rows: int, who: Index | None, names: Codebook | None) -> NDArray[np.uint64]:
    """A number of 64 bits for each row: hung on the person where there is one, else on the row's place."""
    own = key.derive("record keys")
    if who is None or names is None:
        return own.words(sweep=0, first_row=0, rows=rows)
    persons = names.decode(np.arange(names.size)).to_pylist()
    words = [own.derive("" if p is None else str(p)).to_bytes()[1:9] for p in persons]
    return np.frombuffer(b"".join(words), "<u8").astype(np.uint64)[who]


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


class _Content(NamedTuple):
    """What is in cells: rows, persons, weight, sum, largest contributions, summed record keys."""

    rows: Index
    people: Index
    weight: Real
    value: Real
    top: Real
    key: NDArray[np.uint64]


def _zeros(codes: Index, layout: Layout, column: str | None) -> Index:
    """Every category of a column, with those it lies in, in every group that somebody is in."""
    axis = next((axis for axis in layout.axes if column in axis), None)
    if axis is None:
        return codes[:0]
    own = [layout.columns.index(name) for name in axis]
    others = [i for i in range(len(layout.columns)) if i not in own]
    groups, categories = _distinct(codes[:, others])[0], _distinct(codes[:, own])[0]
    if len(groups) * len(categories) > _MOST_ZEROS:
        raise ParameterError(
            f"more than {_MOST_ZEROS:,} cells would have to be listed to hide zeros of '{column}'.",
            hint="take fewer columns, or a coarser one",
        )
    full = np.zeros((len(groups) * len(categories), len(layout.columns)), np.int64)
    full[:, others] = np.repeat(groups, len(categories), axis=0)
    full[:, own] = np.tile(categories, (len(groups), 1))
    return full


def _cells(
    layout: Layout, at: Sequence[int], width: int, records: _Records, zeros: Index
) -> list[tuple[Index, _Content]]:
    """Every cell of one table: for each axis a level, or all of it."""
    every = np.concatenate([records.codes, zeros])
    chains = [[axis[:level] for level in range(len(axis) + 1)] for axis in layout.axes]
    found = []
    for kept in itertools.product(*chains):
        filled = [layout.columns.index(name) for part in kept for name in part]
        labels, _, where = _distinct(every[:, filled])
        where = where[: len(records.codes)]
        full = np.full((len(labels), width), -1, np.int64)
        full[:, [at[i] for i in filled]] = labels
        found.append((full, _content(records, where, len(labels))))
    return found


def _content(records: _Records, where: Index, n: int) -> _Content:
    rows = np.bincount(where, records.n, n).astype(np.int64)
    people, weight, value = rows, rows.astype(np.float64), np.zeros(n)
    top, keys = np.zeros((n, 0)), np.zeros(n, np.uint64)
    if records.person is not None:
        pairs = _distinct(np.column_stack([where, records.person]))[0]
        people = np.bincount(pairs[:, 0], minlength=n)
    if records.weight is not None:
        weight = np.bincount(where, records.weight, n).astype(np.float64)
    if records.value is not None:
        value = np.bincount(where, records.value, n).astype(np.float64)
        top = _largest(where, records, n)
    if records.key is not None:
        np.add.at(keys, where, records.key)
    return _Content(rows, people, weight, value, top, keys)


def _distinct(codes: Index) -> tuple[Index, Index, Index]:
    """The combinations that occur, where each is first, and the one of each record."""
    if not codes.shape[1]:
        here = min(len(codes), 1)
        return np.zeros((here, 0), np.int64), np.zeros(here, np.int64), np.zeros(len(codes), np.int64)
    sizes = (codes.max(axis=0, initial=-1) + 2).tolist()
    keys = flat_keys((codes + 1).astype(np.uint64), sizes)
    if keys is None:
        labels, first, where = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        return labels, first, where.reshape(-1)
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return codes[first], first, where.reshape(-1)


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
