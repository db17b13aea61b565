"""The rows of a database in memory, as numbers: whose children they are, in which order, what they hold.

Confidential: exact. Rows stand below their parents, in the order of their dates, and at most so many of each
parent; which are kept hangs on the rows of one parent alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.database import Database, key_ids
from sfumato.database.keys import KeyIndex
from sfumato.errors import DataError
from sfumato.synthesis.people.axes import NO_DAY, OFFSETS, Ints, ValueAxis, axis_of, days_of
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


def read(structure: TableTree, bounds: dict[str, int]) -> tuple[dict[str, Records], Axes]:
    """Every table of persons. bounds: the most rows of a parent."""
    database = structure.database.check()
    found: dict[str, Records] = {}
    axes: Axes = {}
    keys: dict[str, pa.Array] = {}
    for branch in structure.branches:
        above = None if branch.parent is None else keys[branch.parent]
        rows, axes[branch.name], own = _table(database, branch, above, bounds.get(branch.name))
        found[branch.name] = rows
        if own is not None:
            keys[branch.name] = own
    return found, axes


def _table(
    database: Database, branch: Branch, above: pa.Array | None, bound: int | None
) -> tuple[Records, dict[str, ValueAxis], pa.Array | None]:
    table, key = database[branch.name], database.keys.get(branch.name)
    link = None if branch.link is None else branch.link.column
    needed = [c.name for c in branch.columns]
    needed += [n for n in (link, key, branch.rank) if n is not None and n not in needed]
    read_ = _together(list(table.batches(needed)), table.source.arrow_schema, needed)
    parent = np.arange(read_.num_rows)
    if link is not None and above is not None:
        ids = key_ids(table.schema[link], read_[link].combine_chunks())
        parent = KeyIndex(above).places(ids).astype(np.int64)
    days = None
    if branch.when is not None:
        day, there = days_of(read_[branch.when].combine_chunks())
        days = np.where(there, day, NO_DAY)
    late = (
        np.zeros(len(parent), np.int64)
        if days is None
        else np.where(days == NO_DAY, np.iinfo(np.int64).max, days)
    )
    rank = np.zeros(len(parent)) if branch.rank is None else _ranks(read_[branch.rank])
    order = np.lexsort((np.arange(len(parent)), rank, late, parent))
    alone = int((parent < 0).sum())
    order = order[parent[order] >= 0]
    place = _places(parent[order])
    inside = place < (np.iinfo(np.int64).max if bound is None else bound)
    cut, order, place = int((~inside).sum()), order[inside], place[inside]
    taken = read_.take(pa.array(order))
    days = None if days is None else days[order]
    axes, codes, dates = {}, {}, {}
    for column in branch.columns:
        values = taken[column.name]
        if branch.link is None and column.type in DATES:
            day, there = days_of(values.combine_chunks())
            dates[column.name] = np.where(there, day, NO_DAY)
        if branch.link is not None and column.type in DATES:
            codes[column.name] = _after(values, days) if column.name != branch.when else np.empty(0, np.int64)
            continue
        axes[column.name] = axis_of(column, values)
        if axes[column.name].size > MOST_CODES and column.name != branch.code:
            raise DataError(
                f"{branch.name}: '{column.name}' has more than {MOST_CODES:,} values, too many to learn what "
                "goes with which.",
                hint="group them, or give the column the role identifier: then it is left out",
            )
        codes[column.name] = axes[column.name].encode(values.combine_chunks())
    own = None if key is None else key_ids(table.schema[key], taken[key].combine_chunks())
    return Records(branch, parent[order], place, codes, days, dates, cut, alone), axes, own


def _together(batches: list[pa.RecordBatch], schema: pa.Schema, names: list[str]) -> pa.Table:
    if not batches:
        return pa.schema([schema.field(n) for n in names]).empty_table()
    return pa.Table.from_batches(batches).select(names)


def _ranks(values: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.nan_to_num(np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64))


def _places(parent: Ints) -> Ints:
    """0, 1, ... among equal neighbours."""
    first = np.flatnonzero(np.diff(parent, prepend=-1))
    many = np.diff(np.append(first, len(parent)))
    return np.asarray(np.arange(len(parent)) - np.repeat(first, many), np.int64)


def _after(values: pa.ChunkedArray, days: Ints | None) -> Ints:
    """A further date as days after the row's first; without either it is missing."""
    assert days is not None
    day, there = days_of(values.combine_chunks())
    there = there & (days != NO_DAY)
    return OFFSETS.encode(np.where(there, day - days, 0), there)


def counts_of(found: dict[str, Records], child: str, parents: int) -> Ints:
    """How many rows of a table each row of its parent has."""
    return np.bincount(found[child].parent, minlength=parents).astype(np.int64)
