"""The rows of some persons, as numbers: whose children they are, in which order, what they hold.

Confidential: exact. Rows stand below their parents, in the order of their dates, and at most so many of each
parent; which are kept hangs on the rows of one parent alone. So persons can be looked at group by group, all
rows of a person in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.database import key_ids
from sfumato.database.keys import KeyIndex
from sfumato.errors import DataError
from sfumato.schema import Schema
from sfumato.synthesis.people.axes import NO_DAY, OFFSETS, Ints, ValueAxis, days_of
from sfumato.synthesis.people.structure import DATES, Branch, TableTree

MOST_CODES = 2**16  # of a column, missing included: rows hold them as 16 bits
Axes = dict[str, dict[str, ValueAxis]]  # by table and column; dates below the persons have none


@dataclass(frozen=True, eq=False)
class Records:
    """One table: rows by parent and day.

    parent: (R,) the row of the parent, rising; place: (R,) 0, 1, ... among the rows of a parent. codes: by
    column. days: (R,) of the date that orders rows, NO_DAY without one; None if there is none. dates: the
    days of the persons' dates, by column. cut: how many rows were beyond the bound, and do not count.
    alone: how many have no row above them, and do not count.
    """

    branch: Branch
    parent: Ints
    place: Ints
    codes: dict[str, Ints]
    days: Ints | None
    dates: dict[str, Ints]
    cut: int = 0
    alone: int = 0

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.parent)


Chunk = dict[str, Records]  # by table: some persons, with all their rows


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows of one table as they travel.  cells: (rows, columns of `RowForm.cells`)."""

    key: pa.Array | None
    parent: pa.Array | None
    cells: Ints

    def take(self, rows: Ints) -> PackedRows:
        """Some of them."""
        at = pa.array(rows)
        key, parent = (None if i is None else i.take(at) for i in (self.key, self.parent))
        return PackedRows(key, parent, self.cells[rows])

    @classmethod
    def together(cls, parts: Sequence[PackedRows]) -> PackedRows:
        """One after the other; at least one part."""

        def joined(ids: list[pa.Array | None]) -> pa.Array | None:
            known = [i for i in ids if i is not None]
            return pa.concat_arrays(known) if known else None

        cells = np.concatenate([p.cells for p in parts])
        return cls(joined([p.key for p in parts]), joined([p.parent for p in parts]), cells)


@dataclass(frozen=True, eq=False)
class RowForm:
    """How the rows of a table become numbers, each by itself.  key: the column of its own key."""

    branch: Branch
    schema: Schema
    key: str | None
    axes: Mapping[str, ValueAxis]

    @property
    def columns(self) -> list[str]:
        """What is read."""
        link = None if self.branch.link is None else self.branch.link.column
        further = (n for n in (link, self.key, self.branch.rank) if n is not None)
        return list(dict.fromkeys([*(c.name for c in self.branch.columns), *further]))

    @property
    def dates(self) -> list[str]:
        """Dates of persons, which bound what hangs on them."""
        return [c.name for c in self.branch.columns if self.branch.link is None and c.type in DATES]

    @property
    def coded(self) -> list[str]:
        """The columns that have codes: all but the date that orders rows."""
        return [c.name for c in self.branch.columns if c.name != self.branch.when]

    @property
    def cells(self) -> int:
        """Numbers of a row: its rank, its day, then dates, then codes."""
        return 2 + len(self.dates) + len(self.coded)

    def packed(self, batch: pa.RecordBatch) -> PackedRows:
        """Rows, in canonical form, as numbers."""
        branch = self.branch
        out = np.zeros((batch.num_rows, self.cells), np.int64)
        if branch.rank is not None:
            out[:, 0] = _ranks(batch.column(branch.rank)).view(np.int64)
        out[:, 1] = NO_DAY if branch.when is None else _known_days(batch.column(branch.when))
        for at, name in enumerate(self.dates, 2):
            out[:, at] = _known_days(batch.column(name))
        for at, name in enumerate(self.coded, 2 + len(self.dates)):
            if branch.link is not None and self.schema[name].type in DATES:
                out[:, at] = _after(batch.column(name), out[:, 1])
            else:
                out[:, at] = self.axes[name].encode(batch.column(name))
        link = None if branch.link is None else branch.link.column
        key, parent = (
            None if n is None else key_ids(self.schema[n], batch.column(n)) for n in (self.key, link)
        )
        return PackedRows(key, parent, out)

    def none(self) -> PackedRows:
        """No rows."""
        schema = self.schema
        kinds = {n: pa.string() if schema[n].type == "text" else pa.int64() for n in schema.names}
        link = None if self.branch.link is None else self.branch.link.column
        key, parent = (None if n is None else pa.array([], kinds[n]) for n in (self.key, link))
        return PackedRows(key, parent, np.empty((0, self.cells), np.int64))


def forms_of(structure: TableTree, axes: Axes) -> dict[str, RowForm]:
    """The form of each table of persons."""
    database = structure.database
    return {
        b.name: RowForm(b, database[b.name].schema, database.keys.get(b.name), axes[b.name])
        for b in structure.branches
    }


def require_few(branch: Branch, axes: Mapping[str, ValueAxis]) -> None:
    """That the codes of columns are not more than rows can hold."""
    for name, axis in axes.items():
        if axis.size > MOST_CODES and name != branch.code:
            raise DataError(
                f"{branch.name}: '{name}' has more than {MOST_CODES:,} values, too many to learn what "
                "goes with which.",
                hint="group them, or give the column the role identifier: then it is left out",
            )


def arranged(
    forms: Mapping[str, RowForm], packed: Mapping[str, PackedRows], bounds: Mapping[str, int]
) -> Chunk:
    """Rows below their parents, in order.  packed: all rows of some persons, in the order of the data."""
    out: Chunk = {}
    keys: dict[str, KeyIndex] = {}
    for name, form in forms.items():
        rows, parent = packed[name], form.branch.parent
        place = None if parent is None else keys[parent].places(rows.parent).astype(np.int64)
        out[name], taken = _arranged(form, rows.cells, place, bounds.get(name))
        if rows.key is not None:
            keys[name] = KeyIndex(rows.key.take(pa.array(taken)))
    return out


def _arranged(form: RowForm, cells: Ints, above: Ints | None, bound: int | None) -> tuple[Records, Ints]:
    """The records of one table, and which rows they are."""
    parent = np.arange(len(cells)) if above is None else above
    rank, days = np.ascontiguousarray(cells[:, 0]).view(np.float64), cells[:, 1]
    late = np.where(days == NO_DAY, np.iinfo(np.int64).max, days)
    order = np.lexsort((np.arange(len(parent)), rank, late, parent))
    order = order[parent[order] >= 0]
    place = _places(parent[order])
    inside = place < (np.iinfo(np.int64).max if bound is None else bound)
    cut, alone = int((~inside).sum()), int((parent < 0).sum())
    order, place = order[inside], place[inside]
    own = {n: cells[order, j] for j, n in enumerate(form.dates, 2)}
    columns = {n: cells[order, j] for j, n in enumerate(form.coded, 2 + len(own))}
    when = None if form.branch.when is None else days[order]
    return Records(form.branch, parent[order], place, columns, when, own, cut, alone), order


def _known_days(dates: pa.Array) -> Ints:
    day, there = days_of(dates)
    return np.where(there, day, NO_DAY)


def _ranks(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    plain = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    return np.ascontiguousarray(np.nan_to_num(plain))


def _places(parent: Ints) -> Ints:
    """0, 1, ... among equal neighbours."""
    first = np.flatnonzero(np.diff(parent, prepend=-1))
    many = np.diff(np.append(first, len(parent)))
    return np.asarray(np.arange(len(parent)) - np.repeat(first, many), np.int64)


def _after(values: pa.Array, days: Ints) -> Ints:
    """A further date as days after the row's first; without either it is missing."""
    day, there = days_of(values)
    there = there & (days != NO_DAY)
    return OFFSETS.encode(np.where(there, day - np.where(there, days, 0), 0), there)


def counts_of(found: Chunk, child: str, parents: int) -> Ints:
    """How many rows of a table each row of its parent has."""
    return np.bincount(found[child].parent, minlength=parents).astype(np.int64)
