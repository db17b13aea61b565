"""Two files on one scale: common levels per column, and generalized values spread over them.

The original is counted over *leaves*. The released file is counted over *nodes*, what it holds: a leaf, or
a generalized value such as '[20, 30)', '130**' or '*', which stands for several leaves. A node is spread
evenly over the values it stands for, because that is all a reader of the released file knows: an interval
over the whole numbers (or the length) it covers, a set or a hierarchy node over its leaves. All of it
happens in counts: each file is tabulated once, and its tables are multiplied by the spread matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.reading.bins import told_apart
from sfumato.assessment.reading.lines import ColumnScale, Spreads
from sfumato.assessment.reading.scales import common_scale, pooled
from sfumato.counts import Codebook, Coded, Counts, Survey
from sfumato.errors import DataError, ParameterError, listed
from sfumato.schema import Kind, Role, Schema, Value
from sfumato.sources import BatchSource
from sfumato.table import Table

MAX_LEVELS = 2_000  # of one column: spread matrices and pair tables stay in memory
MAX_CELLS = 2**24  # of one dense table: 128 MiB
_GROUP_CELLS = 2**23  # of the tables that are held together while triples stream by
_CODE_BYTES = 2**29  # files whose codes need less are encoded once and counted from memory

_REMEMBERED = 4  # things of one kind that are made of a pair once for all attacks

T = TypeVar("T")
Float = NDArray[np.float64]
Tables = tuple[Float, Float]
_NUMBERS = ("integer", "real", "decimal")
_LEFT_OUT = {Role.IDENTIFIER: "an identifier", Role.PERSON: "says whose row it is", Role.WEIGHT: "a weight"}


@dataclass(frozen=True, eq=False)
class Pair:
    """An original and a released table with common levels.

    leaves: the common levels of a column: those of the original, declared or found, then values only the
        released file has; missing last, where either file has missing cells.
    nodes: what occurs in the released file.
    spread: (nodes, leaves) per column; each row sums to 1.
    notes: what was assumed, per column.
    weight, released_weight: the survey weight by which a file is counted, if it has one.
    cut: columns in quantile bins, which are equally frequent in the original by construction.
    values: the original's own values of a column, where each of them is a bin by itself.
    """

    columns: tuple[str, ...]
    original: Table
    released: Table
    leaves: dict[str, Codebook]
    nodes: dict[str, Codebook]
    spread: Spreads
    notes: tuple[str, ...] = ()
    weight: str | None = None
    released_weight: str | None = None
    cut: frozenset[str] = frozenset()
    values: dict[str, Float] = field(default_factory=dict)
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def cells(self, columns: Sequence[str]) -> int:
        """How many cells a dense table has, over leaves or nodes, whichever are more."""
        return max(
            math.prod(self.leaves[c].size for c in columns), math.prod(self.nodes[c].size for c in columns)
        )

    def feasible(self, columns: Sequence[str]) -> bool:
        """Whether the dense table of these columns is small enough to be held."""
        return self.cells(columns) <= MAX_CELLS

    def tabulate(self, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Tables]:
        """Dense tables of counts over leaves, original and released; the latter spread, not rescaled."""
        return dict(self.stream(sets))

    def stream(self, sets: Iterable[Sequence[str]]) -> Iterator[tuple[tuple[str, ...], Tables]]:
        """As `tabulate`, set by set: only a group of tables is in memory at a time."""
        wanted = list(dict.fromkeys(tuple(s) for s in sets))
        self._check(wanted)
        for group in _groups(wanted, self.cells):
            original = self._counted(self.original, group, self.weight, "original")
            released = self._counted(self.released, group, self.released_weight, "released")
            for columns in group:
                after = self.spread_over(columns, released.pop(columns).astype(float))
                yield columns, (original.pop(columns).astype(float), after)

    def one_way(self, column: str) -> Tables:
        """The two tables of one column. All columns are counted when the first is asked for."""
        if "one way" not in self._kept:
            self._kept["one way"] = self.tabulate([(c,) for c in self.columns])
        kept: dict[tuple[str, ...], Tables] = self._kept["one way"]
        return kept[(column,)]

    def spread_over(self, columns: Sequence[str], table: Float) -> Float:
        """A table over nodes as one over leaves, axis by axis."""
        for axis, column in enumerate(columns):
            if self.spread.is_identity(column):
                continue
            places = self._places(column)
            if places is None:
                table = np.moveaxis(np.tensordot(table, self.spread[column], axes=(axis, 0)), -1, axis)
            elif not np.array_equal(places, np.arange(self.leaves[column].size)):
                shape = list(table.shape)
                shape[axis] = self.leaves[column].size
                wider = np.zeros(shape)
                wider[(slice(None),) * axis + (places,)] = table
                table = wider
        return table

    def once(self, what: str, key: Hashable, people: Table | None, make: Callable[[], T]) -> T:
        """What was made of the pair, and of other people where they are given, the last few times or now."""
        kept: dict[Hashable, tuple[Table | None, T]] = self._kept.setdefault(what, {})
        at = (key, id(people))  # the people are kept beside, so that no other table has their id
        if at not in kept:
            while len(kept) >= _REMEMBERED:
                kept.pop(next(iter(kept)))
            kept[at] = (people, make())
        return kept[at][1]

    def codes(self) -> tuple[Coded, Coded]:
        """Both files as codes in memory: the original over leaves, the released over nodes."""
        return self._coded("original"), self._coded("released")

    def rows(self) -> tuple[int, int]:
        """How many rows each file has."""
        return self.original.rows(), self.released.rows()

    def _places(self, column: str) -> NDArray[np.int64] | None:
        """The leaf of each node, where every node is a leaf of its own: then nothing is to be multiplied."""
        key = f"places {column}"
        if key not in self._kept:
            matrix = self.spread[column]
            places = matrix.argmax(axis=1) if matrix.size else np.empty(0, np.int64)
            units = bool((matrix.max(axis=1, initial=0) == 1).all())
            self._kept[key] = places if units and len(np.unique(places)) == len(places) else None
        kept: NDArray[np.int64] | None = self._kept[key]
        return kept

    def _coded(self, which: str) -> Coded:
        """A file as codes: remembered from the first reading, but for columns of very many values."""
        if which not in self._kept:
            original = which == "original"
            table, books = (self.original, self.leaves) if original else (self.released, self.nodes)
            self._kept[which] = _encoded(table, books, self._kept.pop(f"read {which}", None))
        coded: Coded = self._kept[which]
        return coded

    def _counted(
        self, table: Table, sets: Sequence[tuple[str, ...]], weight: str | None, which: str
    ) -> dict[tuple[str, ...], NDArray[Any]]:
        books = self.leaves if which == "original" else self.nodes
        width = max(books[c].dtype.itemsize for c in self.columns)
        small = weight is None and table.rows() * len(self.columns) * width <= _CODE_BYTES
        if small and (which in self._kept or isinstance(table.source, BatchSource)):
            return self._coded(which).dense(sets)
        return {s: counts.dense() for s, counts in table.tabulate(sets, weight=weight).items()}

    def _check(self, sets: Sequence[tuple[str, ...]]) -> None:
        unknown = sorted({repr(c) for s in sets for c in s if c not in self.leaves})
        if unknown:
            raise ParameterError(
                f"unknown column{'s' * (len(unknown) > 1)}: {listed(unknown)}.",
                hint=f"the two files share {listed([repr(c) for c in self.columns])}",
            )
        large = [s for s in sets if not self.feasible(s)]
        if large:
            raise ParameterError(
                f"{len(large)} of {len(sets)} tables have more than {MAX_CELLS:,} cells, such as "
                f"{' x '.join(large[0])}.",
                hint="compare fewer columns at once, or give columns of many levels coarser edges or levels",
            )


def align(
    original: Table,
    released: Table,
    *,
    columns: Sequence[str] | None = None,
    hierarchies: Mapping[str, Mapping[str, Sequence[Value]]] | None = None,
    bins: int = 20,
    weight: str | None = None,
    people: Table | None = None,
) -> Pair:
    """Two tables on one scale, whoever made the released one.

    columns: compare these only; by default all that both files have and that can be compared.
    hierarchies: for a column, what each generalized value stands for: value -> its leaves.
    bins: numeric and date columns without edges are cut at the original's quantiles into so many bins.
    weight: the original's survey weight, used for the released file too where it has that column.
    people: people outside the original. Their numbers cut the bins, and are values, as the original's do and
        are: an attack must not find the one kind of people more easily by the way numbers are cut.
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 2:
        raise ParameterError("bins must be a whole number from 2 up.", hint="align(..., bins=20)")
    weight = _weight(original, weight)
    names, notes = _shared(original, released, columns, weight)
    scales: dict[str, ColumnScale] = {}
    before, first = _found(original, names)
    after, second = _found(released, names, original.schema)
    _require_rows(next(iter(before.values())), next(iter(after.values())))
    before |= _beside(original, people, before)
    for name in names:
        large = max(before[name].codebooks[0].size, after[name].codebooks[0].size) > MAX_LEVELS
        levels = before[name].codebooks[0].levels
        if large and not (_has_bins(original, name) and len(levels) and told_apart(levels)):
            notes.append(_too_many(name, columns is not None))
            continue
        tree = (hierarchies or {}).get(name, {})
        scales[name] = common_scale(original.schema[name], before[name], after[name], tree, bins)
        notes += [f"{name}: {note}" for note in scales[name].notes]
    if not scales:
        raise DataError("no column is left to compare.", hint="; ".join(notes[:4]) or "name the columns")
    again = weight if weight in released.columns and released.schema[weight].type in _NUMBERS else None
    if weight is not None:
        original, released = (_weighing(t, w) for t, w in ((original, weight), (released, again)))
        notes.append(f"{weight}: weights the original" + (" and the released file" if again else " only"))
    leaves = {n: s.leaves for n, s in scales.items()}
    nodes = {n: s.nodes for n, s in scales.items()}
    return Pair(
        tuple(scales),
        original.with_codebooks(leaves.values(), beside=[weight] if weight else []),
        released.with_codebooks(nodes.values(), beside=[again] if again else []),
        leaves,
        nodes,
        Spreads(scales),
        tuple(notes),
        weight,
        again,
        frozenset(n for n, s in scales.items() if s.cut),
        {n: s.own for n, s in scales.items() if s.own is not None},
        {"read original": first, "read released": second},
    )


def _beside(original: Table, people: Table | None, before: Mapping[str, Counts]) -> dict[str, Counts]:
    """What occurs in columns of numbers and dates, with the people outside."""
    if people is None:
        return {}
    names = [n for n in before if n in people.columns and _has_bins(original, n)]
    if not names:
        return {}
    found = _found(people.select(names).with_schema(original.schema.select(names)), names)[0]
    return {n: pooled(before[n], found[n]) for n in names}


def _weight(original: Table, weight: str | None) -> str | None:
    if weight is not None and weight not in original.columns:
        raise ParameterError(f"the original has no weight column '{weight}'.", hint="name one of its columns")
    if weight is not None and original.schema[weight].type not in _NUMBERS:
        raise ParameterError(f"weight column '{weight}' is not numeric.", hint="name a numeric column")
    return weight


def _weighing(table: Table, weight: str | None) -> Table:
    """The weight as a number: one of two values looks like a flag."""
    if weight is None or table.schema[weight].kind is Kind.NUMERIC:
        return table
    return table.with_schema(table.schema.with_(weight, kind=Kind.NUMERIC, levels=None))


def _shared(
    original: Table, released: Table, columns: Sequence[str] | None, weight: str | None
) -> tuple[list[str], list[str]]:
    """The columns to compare, and what was left out."""
    both = [c for c in original.columns if c in released.columns]
    if columns is not None:
        absent = [c for c in columns if c not in both]
        if absent or not columns or len(set(columns)) < len(columns):
            raise ParameterError(
                f"{len(absent)} of the named columns are not in both files: "
                f"{listed([repr(c) for c in absent])}."
                if absent
                else "columns are named twice, or none is.",
                hint=f"both files have {listed([repr(c) for c in both])}",
            )
        return list(columns), []
    if not both:
        raise DataError(
            "the two files have no column in common.",
            hint=f"the original has {listed([repr(c) for c in original.columns])}, the released file "
            f"{listed([repr(c) for c in released.columns])}; rename those that mean the same",
        )
    notes = [f"{c}: only in the original, not compared" for c in original.columns if c not in both]
    notes += [f"{c}: only in the released file, not compared" for c in released.columns if c not in both]
    kept = []
    for name in both:
        column = original.schema[name]
        why = _LEFT_OUT.get(column.role) or ("free text" if column.kind is Kind.TEXT else "")
        if name == weight or why:
            notes.append(f"{name}: {why or 'a weight'}, not compared")
        else:
            kept.append(name)
    if not kept:
        raise DataError(
            "no shared column can be compared.", hint="name columns=[...], or correct their roles"
        )
    return kept, notes


def _found(
    table: Table, names: Sequence[str], other: Schema | None = None
) -> tuple[dict[str, Counts], Survey | None]:
    """What occurs in each column and how often, whatever the schema declares, and the rows if they fit.

    other: the schema of the original, whose codes for missing hold in the released file too.
    """
    columns = []
    for name in names:
        column = replace(table.schema[name], levels=None, edges=None, missing=True)
        codes = other[name].missing_codes if other is not None else ()
        columns.append(replace(column, missing_codes=tuple(dict.fromkeys([*column.missing_codes, *codes]))))
    open_ = table.with_schema(Schema(tuple(columns)))
    if not isinstance(table.source, BatchSource):  # an engine counts where the rows are
        return open_.one_way(names), None
    found = open_.survey(names, most_bytes=_CODE_BYTES)
    return found.counts(), found


def _encoded(table: Table, books: Mapping[str, Codebook], found: Survey | None) -> Coded:
    """A file as codes: its rows as they were read; columns whose rows were too many values are read anew."""
    rest = [name for name in books if found is None or not found.remembers(name)]
    anew = table.encode(rest) if rest else None
    if found is None or len(rest) == len(books):
        assert anew is not None
        return anew
    width = np.result_type(np.uint8, *(book.dtype for book in books.values()))
    codes = np.empty((len(books), found.rows), width)
    for row, book in zip(codes, books.values(), strict=True):
        if anew is not None and book.name in rest:
            row[:] = anew.codes[rest.index(book.name)]
        else:
            found.encode(book, row)
    return Coded(tuple(books.values()), codes)


def _require_rows(before: Counts, after: Counts) -> None:
    empty = [name for name, c in (("original", before), ("released file", after)) if not c.total]
    if empty:
        raise DataError(
            f"the {' and the '.join(empty)} ha{'s' if len(empty) == 1 else 've'} no rows.",
            hint="a comparison needs rows on both sides; look at how the file was written",
        )


def _has_bins(original: Table, name: str) -> bool:
    return original.schema[name].kind in (Kind.NUMERIC, Kind.DATE)


def _too_many(name: str, asked: bool) -> str:
    text = f"{name}: more than {MAX_LEVELS:,} levels (an identifier?), not compared"
    if asked:
        raise DataError(
            f"column '{name}' has more than {MAX_LEVELS:,} levels.",
            hint="a level per row says nothing about the population: leave it out, or group its levels",
        )
    return text


def _groups(
    sets: Sequence[tuple[str, ...]], cells: Callable[[Sequence[str]], int]
) -> Iterator[list[tuple[str, ...]]]:
    """Sets in groups whose tables fit in memory together."""
    group: list[tuple[str, ...]] = []
    held = 0
    for columns in sets:
        size = cells(columns)
        if group and held + size > _GROUP_CELLS:
            yield group
            group, held = [], 0
        group.append(columns)
        held += size
    if group:
        yield group
