"""What every attack shares: what the intruder sees of two files, and how success is counted.

An intruder knows some columns of some people as they really are. A released record *may be* such a
person if each known cell covers the person's value: it is the value, or a generalization of it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.reading import notation
from sfumato.assessment.reading.alignment import Pair, align
from sfumato.assessment.reading.bins import column_numbers, edge_numbers
from sfumato.counts import Codebook, Coded, canonical, canonical_type
from sfumato.errors import DataError, ParameterError, listed
from sfumato.schema import Value
from sfumato.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_REMEMBERED = 2_000_000  # cells of files that are looked at once for all attacks
_EDGES = 5_000_000  # compatible (person, record) pairs held at once: 20 MB of row numbers


@dataclass(frozen=True, eq=False)
class Distinct:
    """Rows of codes without repetition: rows (u, columns), the row of each record, how many share it."""

    rows: Ints
    of: Ints
    sizes: Ints

    @classmethod
    def among(cls, codes: Ints) -> Distinct:
        """In lexicographic order; codes: (records, columns)."""
        order = np.lexsort(codes.T[::-1])
        ordered = codes[order]
        new = np.ones(len(codes), bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        of = np.empty(len(codes), np.int64)
        of[order] = np.cumsum(new) - 1
        return cls(ordered[new], of, np.bincount(of, minlength=int(new.sum())))


@dataclass(frozen=True, eq=False)
class View:
    """People over leaves and released records over nodes, on the known columns.

    people, released: codes (rows, columns). covers: per column (nodes, leaves + 1), whether a released
    value may stand for a leaf; the last leaf stands for values nobody in the files has.
    """

    columns: tuple[str, ...]
    people: Ints
    released: Ints
    covers: tuple[NDArray[np.bool_], ...]

    @cached_property
    def persons(self) -> Distinct:
        """The distinct people."""
        return Distinct.among(self.people)

    @cached_property
    def classes(self) -> Distinct:
        """The distinct released records: equivalence classes as they are written."""
        return Distinct.among(self.released)

    @cached_property
    def _tree(self) -> tuple[Ints, Ints, Ints, int, int]:
        """The classes as the tree of `_kernels`: codes, begin, end, roots, where the last level starts."""
        rows = self.classes.rows
        new = np.zeros(len(rows), bool)
        new[:1] = True
        starts = []
        for level in range(rows.shape[1]):
            new[1:] |= rows[1:, level] != rows[:-1, level]
            starts.append(np.flatnonzero(new))
        firsts = np.cumsum([0, *map(len, starts)])
        begin, end = [], []
        for level, start in enumerate(starts):
            if level + 1 < len(starts):
                below = np.searchsorted(starts[level + 1], np.append(start, len(rows))) + firsts[level + 1]
            else:
                below = np.arange(len(start) + 1)
            begin.append(below[:-1])
            end.append(below[1:])
        codes = np.concatenate([rows[start, level] for level, start in enumerate(starts)])
        return codes, np.concatenate(begin), np.concatenate(end), len(starts[0]), int(firsts[-2])

    def _flat(self, tables: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], Ints, Ints]:
        offsets = np.cumsum([0, *[t.size for t in tables[:-1]]])
        return np.concatenate([t.ravel() for t in tables]), offsets, np.array([t.shape[1] for t in tables])

    def compatible(self) -> Iterator[tuple[slice, csr_matrix]]:
        """Which persons may be which classes: sparse matrices (persons of the slice, classes), in turn."""
        if "_small" not in vars(self):
            parts = self._compatible()
            first = next(parts)
            if first[0].stop < len(self.persons.rows) or first[1].nnz > _REMEMBERED:
                yield first
                yield from parts
                return
            object.__setattr__(self, "_small", first)
        yield vars(self)["_small"]

    def _compatible(self) -> Iterator[tuple[slice, csr_matrix]]:
        from scipy import sparse

        from sfumato.assessment.attacks import _kernels

        codes, begin, end, roots, _ = self._tree
        tree = (codes, begin, end, *self._flat(self.covers), roots)
        persons = self.persons.rows
        found = np.zeros(len(persons), np.int64)
        nowhere, nothing = np.empty(0, np.int64), np.empty(0, np.int32)

        def count(part: slice) -> None:
            _kernels.fitting_rows(persons[part], *tree, nowhere, nothing, found[part])

        in_threads(count, len(persons))
        start = 0
        while start < len(persons):
            held = np.cumsum(found[start:])
            stop = start + max(1, int(np.searchsorted(held, _EDGES, side="right")))
            starts = np.concatenate([[0], held[: stop - start]])
            rows = np.empty(int(starts[-1]), np.int32)
            _kernels.fitting_rows(persons[start:stop], *tree, starts, rows, found[start:stop])
            shape = (stop - start, len(self.classes.rows))
            yield slice(start, stop), sparse.csr_matrix((np.ones(len(rows)), rows, starts), shape)
            start = stop

    @cached_property
    def matches(self) -> Ints:
        """For each of the people, how many released records they may be."""
        out = np.zeros(len(self.persons.rows), np.int64)
        sizes = self.classes.sizes.astype(np.float64)
        for part, matrix in self.compatible():
            out[part] = np.rint(matrix @ sizes)
        return out[self.persons.of]

    def nearest(self, distances: Sequence[Ints]) -> tuple[Ints, Ints]:
        """For each of the people: the distance to the nearest released record, how many are that near."""
        from sfumato.assessment.attacks import _kernels

        codes, begin, end, roots, first_row = self._tree
        tables, offsets, widths = self._flat(distances)
        persons, sizes = self.persons.rows, self.classes.sizes
        best = np.zeros(len(persons), np.int64)
        ties = np.zeros(len(persons), np.int64)

        def search(part: slice) -> None:
            _kernels.nearest_rows(
                persons[part],
                codes,
                begin,
                end,
                tables,
                offsets,
                widths,
                roots,
                first_row,
                sizes,
                best[part],
                ties[part],
            )

        in_threads(search, len(persons))
        return best[self.persons.of], ties[self.persons.of]

    def may_be(self, records: Ints) -> NDArray[np.bool_]:
        """Whether each of the people may be the given released record; never for record -1."""
        out = records >= 0
        for c, table in enumerate(self.covers):
            out = out & table[self.released[records, c], self.people[:, c]]
        return out


def in_threads(work: Callable[[slice], None], rows: int) -> None:
    """Share rows out among the cores; the kernels let go of the interpreter."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    marks = np.linspace(0, rows, min(rows, 8 * cores) + 1).astype(int)
    parts = [slice(a, b) for a, b in itertools.pairwise(marks)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, parts))


def look(pair: Pair, columns: Sequence[str], people: Table | None = None) -> View:
    """What an intruder who knows `columns` sees; of people not in the original where a table is given.

    Small files are looked at once for all attacks with the same knowledge.
    """
    names = known_columns(pair, columns)
    rows = pair.original.rows() + pair.released.rows() + (0 if people is None else people.rows())
    if rows * len(names) > _REMEMBERED:
        return _look(pair, names, people)
    return pair.once("view", tuple(names), people, lambda: _look(pair, names, people))


def _look(pair: Pair, names: list[str], people: Table | None) -> View:
    covers = {name: _covers(pair, name) for name in names}
    # Columns of few values first: their beginnings are shared by most records.
    names = sorted(names, key=lambda name: len(covers[name]))
    original, released = pair.codes()
    targets = _by_row(original, names) if people is None else encode(pair, people, names)
    records = _by_row(released, names)
    if not len(targets) or not len(records):
        raise DataError(
            "an attack needs at least one person and one released record.", hint="check the files"
        )
    return View(tuple(names), targets, records, tuple(np.ascontiguousarray(covers[c]) for c in names))


def _by_row(coded: Coded, names: Sequence[str]) -> Ints:
    """The codes of these columns, row by row; copied once, as there may be millions."""
    return coded.codes[[coded.columns.index(c) for c in names]].T.astype(np.int64, order="C")


def _covers(pair: Pair, name: str) -> NDArray[np.bool_]:
    """Which leaves each released value may stand for; the last column is for values nobody in the files has.

    A suppressed cell hides also that nothing was there; an interval does not. A value nobody has is covered
    by a cell that stands for everything, which the only level of a column does not.
    """
    table, stars, named = pair.spread[name] > 0, _stars(pair, name), len(pair.leaves[name].levels)
    table[np.ix_(stars, np.arange(named, table.shape[1]))] = True
    return np.column_stack([table, stars | (table[:, :named].all(axis=1) & (named > 1))])


def _stars(pair: Pair, name: str) -> NDArray[np.bool_]:
    """Which released values are stars and nothing else."""
    book = pair.nodes[name]
    stars = [notation.is_everything(str(v)) for v in book.levels.to_pylist()]
    return np.array([*stars, *([False] * book.missing)], bool)


def known_columns(pair: Pair, columns: Sequence[str]) -> list[str]:
    """The named columns, refused where the two files do not share them."""
    names = list(dict.fromkeys([columns] if isinstance(columns, str) else columns))
    unknown = [repr(c) for c in names if c not in pair.columns]
    if unknown or not names:
        raise ParameterError(
            f"the intruder knows no column, or columns the files do not share: {listed(unknown) or 'none'}.",
            hint=f"they share {listed([repr(c) for c in pair.columns])}",
        )
    return names


def encode(pair: Pair, people: Table, columns: Sequence[str]) -> Ints:
    """Other people over the leaves of the pair; a value nobody in the files has: the code after the last."""
    absent = [repr(c) for c in columns if c not in people.columns]
    if absent:
        raise DataError(
            f"the control lacks {len(absent)} column{'s' * (len(absent) > 1)}: {listed(absent)}.",
            hint="give it the columns of the original",
        )
    schema = pair.original.schema.select(columns)
    rows = people.select(columns).with_schema(schema).to_arrow()
    out = np.empty((rows.num_rows, len(columns)), np.int64)
    for i, name in enumerate(columns):
        out[:, i] = _places(pair.leaves[name], rows.column(name))
        single = np.count_nonzero(pair.spread[name], axis=1) == 1
        if name in pair.values and (single | _stars(pair, name)).all():
            out[_between(pair, name, rows.column(name), out[:, i]), i] = pair.leaves[name].size
    return out


def _between(pair: Pair, name: str, values: pa.ChunkedArray, places: Ints) -> NDArray[np.bool_]:
    """Whose number lies in the bin of another: a record with that number, not an interval, is not theirs."""
    column = pair.leaves[name].column
    numbers = column_numbers(canonical(column, values.combine_chunks()))
    lows = edge_numbers(column, canonical_type(column))[:-1]
    single = np.append(np.isin(lows, pair.values[name]), [False, False])  # nor missing, nor unseen
    return np.asarray(single[places] & ~np.isin(numbers, pair.values[name]), bool)


def _places(book: Codebook, values: pa.ChunkedArray) -> Ints:
    if book.column.edges is not None:
        open_ = Codebook(replace(book.column, clamp=True), book.levels, True)
        return open_.encode(values).astype(np.int64)
    unseen = book.size
    plain = values.combine_chunks().cast(book.levels.type)
    found = pc.index_in(plain, value_set=book.levels).fill_null(unseen)
    places: Ints = found.to_numpy(zero_copy_only=False).astype(np.int64)
    if book.missing:
        places[plain.is_null().to_numpy(zero_copy_only=False)] = len(book.levels)
    return places


def correspondence(pair: Pair, truth: str | Sequence[int] | Ints | None) -> Ints | None:
    """The released row of each original person, -1 for none: what the intruder is judged by.

    truth: "rows" where row i of one file is row i of the other, or the numbers themselves (see `by_key`).
    """
    if truth is None:
        return None
    people, released = pair.original.rows(), pair.released.rows()
    if isinstance(truth, str):
        if truth != "rows":
            raise ParameterError(
                "truth is 'rows', row numbers, or None.", hint="by_key(original, released, key)"
            )
        if people != released:
            raise ParameterError(
                f"row i cannot be row i: the files have {people} and {released} rows.",
                hint="give the released row of each original row, -1 for none",
            )
        return np.arange(people)
    rows = np.asarray(truth)
    whole = rows.dtype.kind in "iu"
    if not whole or rows.shape != (people,) or (len(rows) and (rows.min() < -1 or rows.max() >= released)):
        raise ParameterError(
            "truth has one released row number per original row, -1 for none.", hint="see by_key"
        )
    return rows.astype(np.int64)


def by_key(original: Table, released: Table, key: str) -> Ints:
    """The released row of each original row by a key both files hold (kept for the assessment only)."""
    faults = [f"the {n}" for n, t in (("original", original), ("release", released)) if key not in t.columns]
    if faults:
        raise DataError(f"{' and '.join(faults)} have no column '{key}'.", hint="keep the key in both files")
    here, there = (t.select([key]).to_arrow().column(0).combine_chunks() for t in (original, released))
    if here.type != there.type:
        here, there = here.cast("string"), there.cast("string")
    if len(pc.unique(there)) < len(there):
        raise DataError(f"the key '{key}' repeats in the release.", hint="a key has one row per value")
    found = pc.index_in(here, value_set=there, skip_nulls=True).fill_null(-1)
    rows: Ints = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return rows


def sharp(
    original: Table,
    released: Table,
    *,
    columns: Sequence[str] | None = None,
    hierarchies: Mapping[str, Mapping[str, Sequence[Value]]] | None = None,
    bins: int = 1_000,
) -> Pair:
    """Two files aligned for attacks: a thousand bins per number, because an intruder knows the age itself.

    With the twenty bins that suit a comparison of tables, linking would look harmless. A number with at most
    `bins` different values is not binned at all.
    """
    return align(original, released, columns=columns, hierarchies=hierarchies, bins=bins)


def knows(columns: Sequence[str], rest: str = "", pair: Pair | None = None) -> str:
    """The sentence on the intruder's knowledge; binned columns are known to the bin."""
    named = []
    for column in columns:
        book = pair.leaves[column] if pair is not None else None
        binned = book is not None and book.column.edges is not None
        named.append(f"{column} (in {len(book.levels)} bins)" if binned and book is not None else column)
    return f"the true values of {listed(named, 12)} of the people attacked, and the release{rest}"
