"""Equivalence classes: who shares a combination of quasi-identifiers with whom.

Everything below starts from one count of all quasi-identifiers together, made where the data lives;
each smaller set of columns is a projection of it. Values are taken as they stand in the file, never in
a schema's bins: that is what an intruder sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.reading.same_values import same_text
from sfumato.counts import Codebook, Counts, canonical, merged
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

Unit = Literal["row", "person"]
Missing = Literal["own", "any"]
Integers = NDArray[np.int64]

_NUMERIC = {"integer", "real", "decimal"}


@dataclass(frozen=True, eq=False)
class FileClasses:
    """The classes of a file.

    counts: one cell per combination that occurs; n is its rows, or its different persons.
    sizes: for each cell the size of its class. With missing = "own" that is n; with "any" a missing or
        suppressed value matches anything, both ways, so what counts is everybody who may be meant.
    codes, owner: what can be alone: the cells, or each person once per combination.
    """

    counts: Counts
    sizes: Integers
    unit: Unit
    missing: Missing
    codes: NDArray[np.uint32]
    owner: Integers
    wild: tuple[NDArray[np.bool_], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.counts.columns

    @property
    def units(self) -> str:
        """What is counted, in words."""
        return "rows" if self.unit == "row" else "persons"

    @property
    def total(self) -> int:
        """Rows; or persons, each once per class."""
        return int(self.counts.total)

    @property
    def population(self) -> int:
        """Rows; or different persons (rows that name none count as one)."""
        return self.total if self.unit == "row" else len(np.unique(self.owner))

    def alone(self, places: Sequence[int]) -> NDArray[np.bool_]:
        """For each of `codes`: whether nobody else has its values in these columns."""
        from sfumato.assessment.risk import _kernels

        part = self.codes[:, list(places)]
        if self.missing == "any":
            return np.asarray(matching(part, self.counts.n, [self.wild[p] for p in places]) == 1)
        keys = row_keys(part, [self.counts.shape[p] for p in places])
        many = self.counts.n > 1 if self.unit == "row" else np.zeros(len(keys), bool)
        return np.asarray(_kernels.alone(keys, self.owner, many))

    def people(self, chosen: NDArray[np.bool_]) -> int:
        """How many rows or different persons are among the chosen `codes`, all of them alone."""
        return int(chosen.sum()) if self.unit == "row" else len(np.unique(self.owner[chosen]))


def classes(
    table: Table,
    quasi_identifiers: Sequence[str] | None = None,
    *,
    person: str | None = None,
    missing: Missing = "own",
    suppressed: Sequence[str] = ("*",),
) -> FileClasses:
    """Count the classes of a file.

    quasi_identifiers: by default those the schema names.
    person: a column that says whose row it is; classes then count different persons. Rows without a
        person count as one person together in each class, which never flatters.
    missing: "own": missing and suppressed are values like any other. "any": they match anything.
    suppressed: what a suppressed cell of a text column looks like, beside an empty one.
    """
    names = known_columns(table, quasi_identifiers)
    if missing not in ("own", "any"):
        raise ParameterError("missing is neither 'own' nor 'any'.", hint="missing='own'")
    if person is None:
        counts = as_they_stand(table, names).counts(*names)
        codes, owner = counts.codes, np.arange(counts.cells)
    else:
        if missing == "any":
            raise ParameterError(
                "classes of persons are counted with missing = 'own' only.",
                hint="leave out person, or take missing='own'",
            )
        counts, codes, owner = persons(table, names, person)
    wild = tuple(_wild(book, suppressed) for book in counts.codebooks)
    sizes = counts.n.astype(np.int64)
    if missing == "any":
        sizes = matching(counts.codes, counts.n, wild)
    return FileClasses(counts, sizes, "row" if person is None else "person", missing, codes, owner, wild)


def known_columns(table: Table, quasi_identifiers: Sequence[str] | None) -> list[str]:
    """The named columns, or those the schema calls quasi-identifiers."""
    names = list(
        table.schema.of_role(Role.QUASI_IDENTIFIER) if quasi_identifiers is None else quasi_identifiers
    )
    if isinstance(quasi_identifiers, str) or not names:
        raise ParameterError(
            "no quasi-identifier is named, here or in the schema.",
            hint="quasi_identifiers=['age', 'zip'], or role = 'quasi-identifier' in the schema",
        )
    table.schema.require(names)
    if len(set(names)) < len(names):
        raise ParameterError("a quasi-identifier is named twice.", hint="name each column once")
    return names


def persons(
    table: Table, names: Sequence[str], person: str, *, values: Sequence[str] = ()
) -> tuple[Counts, NDArray[np.uint32], Integers]:
    """Different persons per combination; and each person once per combination.

    values: those of the columns that are sensitive; in them as in ids, spellings of one are one.
    """
    if person in names:
        raise ParameterError("the person column is among those counted.", hint="leave it out of them")
    counts = merged(as_they_stand(table, [*names, person]).counts(*names, person), *values, person)
    codes = counts.codes[:, :-1]
    people = Counts.of_cells(counts.codebooks[:-1], codes, np.ones(counts.cells, np.int64))
    return people, codes, counts.codes[:, -1].astype(np.int64)


# -- values as they stand ------------------------------------------------------------------------


def as_they_stand(table: Table, names: Sequence[str]) -> Table:
    """The named columns without bins or declared levels."""
    table.schema.require(names)
    columns = []
    for name in names:
        given = table.schema[name]
        codes = given.kind is Kind.CODES
        columns.append(
            Column(
                name,
                Kind.CODES if codes else Kind.NOMINAL,
                type="text" if codes else given.type,
                separator=given.separator,
                missing_codes=given.missing_codes,
                ignore_case=given.ignore_case,
            )
        )
    return table.with_schema(Schema(tuple(columns)))


def shared_keys(counted: Sequence[Counts]) -> list[NDArray[np.uint64]]:
    """The cells of several files' counts of the same columns as numbers: equal where the values are."""
    return row_keys_of(*shared_codes(counted))


def shared_codes(counted: Sequence[Counts]) -> tuple[list[NDArray[np.uint32]], list[int]]:
    """The cells of several files' counts over levels they share, and how many levels each column has.

    Where files store a column in different types it is compared as numbers, else as text that means the same.
    """
    columns = len(counted[0].codebooks)
    parts = [np.empty_like(c.codes) for c in counted]
    sizes = []
    for i in range(columns):
        books = [c.codebooks[i] for c in counted]
        common = _common([b.column for b in books])
        if common is None:
            levels = same_text([b.levels for b in books])
        else:
            levels = [canonical(common, b.levels) for b in books]
        every = pc.unique(pa.concat_arrays(levels))
        for part, c, own in zip(parts, counted, levels, strict=True):
            places = pc.index_in(own, value_set=every).to_numpy(zero_copy_only=False)
            part[:, i] = np.append(places, len(every)).astype(np.uint32)[c.codes[:, i]]
        sizes.append(len(every) + 1)
    return parts, sizes


def _common(columns: Sequence[Column]) -> Column | None:
    """The type that serves all; none where text meets something else."""
    types = {c.type for c in columns}
    if len(types) > 1 and not types <= _NUMERIC:
        return None
    # Missing codes are gone already, and must not be applied to the other file.
    return Column(columns[0].name, Kind.NOMINAL, type=types.pop() if len(types) == 1 else "real")


def looked_up(keys: NDArray[np.uint64], among: NDArray[np.uint64], n: NDArray[Any]) -> Integers:
    """The count of each key among others, 0 where it is not there."""
    order = np.argsort(among)
    ordered, counts = among[order], n[order]
    if not len(ordered):
        return np.zeros(len(keys), np.int64)
    totals = np.concatenate([[0], np.cumsum(counts)])
    first = np.searchsorted(ordered, keys, "left")
    last = np.searchsorted(ordered, keys, "right")
    return np.asarray(totals[last] - totals[first], np.int64)


# -- keys and matches ----------------------------------------------------------------------------


def row_keys(codes: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.uint64]:
    """Each row of codes as one number; renumbered on the way where 63 bits would not hold it."""
    return row_keys_of([codes], sizes)[0]


def row_keys_of(parts: Sequence[NDArray[Any]], sizes: Sequence[int]) -> list[NDArray[np.uint64]]:
    """The same for the rows of several files: equal where the codes are."""
    keys = [np.zeros(len(codes), np.uint64) for codes in parts]
    ends = np.cumsum([len(codes) for codes in parts])[:-1]
    span = 1
    for axis, size in enumerate(sizes):
        if span * size >= 2**63:
            levels, inverse = np.unique(np.concatenate(keys), return_inverse=True)
            keys, span = np.split(inverse.astype(np.uint64), ends), max(1, len(levels))
        for each, codes in zip(keys, parts, strict=True):
            each *= np.uint64(size)
            each += codes[:, axis].astype(np.uint64)
        span *= size
    return keys


def _wild(book: Codebook, suppressed: Sequence[str]) -> NDArray[np.bool_]:
    """Which codes of a column match anything: missing, and what marks a suppressed cell."""
    wild = np.zeros(len(book.levels) + 1, bool)
    wild[-1] = True
    if pa.types.is_string(book.levels.type) and suppressed:
        found = pc.is_in(book.levels, value_set=pa.array(list(suppressed), pa.string()))
        wild[:-1] = found.to_numpy(zero_copy_only=False)
    return wild


def matching(codes: NDArray[Any], n: NDArray[Any], wild: Sequence[NDArray[np.bool_]]) -> Integers:
    """For each cell how many units may be meant: equal in each column where neither is suppressed.

    Cells are sorted by which columns are suppressed; each pair of such patterns is one join.
    """
    from sfumato.assessment.risk import _kernels

    cells, columns = codes.shape
    if columns > 63:
        raise ParameterError("missing = 'any' takes up to 63 columns.", hint="name fewer quasi-identifiers")
    open_ = np.zeros(cells, np.int64)
    for c in range(columns):
        open_ |= wild[c][codes[:, c]].astype(np.int64) << c
    patterns, which = np.unique(open_, return_inverse=True)
    groups = [np.flatnonzero(which == p) for p in range(len(patterns))]
    out = np.zeros(cells, np.int64)
    for (p, mine), (q, theirs) in product(zip(patterns.tolist(), groups, strict=True), repeat=2):
        known = [c for c in range(columns) if not (p | q) >> c & 1]
        both = mine if p == q else np.concatenate([mine, theirs])
        keys = row_keys(codes[both][:, known], [len(wild[c]) for c in known])
        group = _kernels.numbered(keys)
        sums = np.bincount(group[-len(theirs) :], n[theirs], int(group.max()) + 1)
        out[mine] += sums.astype(np.int64)[group[: len(mine)]]
    return out


def sample_sizes(sizes: Integers) -> Iterator[tuple[int, int]]:
    """Class sizes and how many classes have them."""
    values, n = np.unique(sizes, return_counts=True)
    yield from zip(values.tolist(), n.tolist(), strict=True)


def refuse_empty(found: FileClasses) -> None:
    """A file without rows has no class, and no risk that could be measured."""
    if not found.counts.cells:
        raise DataError("the file has no rows.", hint="give a file with rows")
