"""Whose row it is: through the parents, in any table.

The ids of the parents' keys are held in memory, with the number of the person of each; nothing else is. Rows
of a child are looked up batch by batch, so that an engine that gives its rows in another order each time
does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database.ids import key_ids, read_ids
from sfumato.database.keys import KeyIndex, gathered
from sfumato.database.reference import Reference
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.database.database import Database
    from sfumato.database.link import Link

_ROWS = 262_144  # rows looked up at once


@dataclass(frozen=True, eq=False)
class People:
    """The persons of a database, numbered from 0, and how any table reaches them.

    ids: (persons,) the canonical ids; None where each row is a person of its own.
    keys: by table that has children: its key ids, and the number of the person of each (-1: nobody's).
    """

    ids: KeyIndex | None
    keys: dict[str, tuple[KeyIndex, NDArray[np.int32]]]
    routes: dict[str, tuple[str, Link | Reference | None]]
    tables: dict[str, Table]

    @property
    def count(self) -> int:
        """How many persons there are."""
        return next(iter(self.tables.values())).rows() if self.ids is None else len(self.ids)

    def needs(self, table: str) -> tuple[str, ...]:
        """The columns by which rows of a table reach their person."""
        if table not in self.routes:
            return ()
        column, way = self.routes[table]
        return (column, way.by) if isinstance(way, Reference) else (column,)

    def of_batch(self, table: str, batch: pa.RecordBatch | pa.Table) -> NDArray[np.int32]:
        """The number of each row's person; -1 where nobody is named. The batch has the column of `needs`."""
        column, way = self.routes[table]
        ids = key_ids(self.tables[table].schema[column], batch.column(column))
        if not isinstance(way, Reference):
            return self.of_ids(ids, way)
        found = np.full(len(ids), -1, np.int32)
        for parent, meant in way.parts(batch.column(way.by)):
            rows = np.flatnonzero(np.asarray(meant.to_numpy(zero_copy_only=False), np.bool_))
            if len(rows) and parent in self.keys:
                keys, numbers = self.keys[parent]
                at = keys.places(ids.take(pa.array(rows)))
                found[rows] = np.where(at >= 0, numbers[at], -1)
        return found

    def of_ids(self, ids: pa.Array, link: Link | None) -> NDArray[np.int32]:
        """The same for canonical ids: of persons, or of the parent of a link."""
        values, numbers = (self.ids, None) if link is None else self.keys[link.parent]
        if values is None:
            return np.full(len(ids), -1, np.int32)
        at = values.places(ids)
        return at if numbers is None else np.where(at >= 0, numbers[at], -1).astype(np.int32)

    def batches(
        self, table: str, columns: Sequence[str]
    ) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int32]]]:
        """The named columns of a table and whose rows they are, many rows at a time."""
        data, needed = self.tables[table], self.needs(table)
        start = 0
        wanted = list(dict.fromkeys([*columns, *needed]))
        for batch in gathered(data.batches(wanted), _ROWS):
            if needed:
                numbers = self.of_batch(table, batch)
            else:
                numbers = np.arange(start, start + batch.num_rows, dtype=np.int32)
            start += batch.num_rows
            yield batch.select(list(columns)), numbers

    def numbers(self, table: str) -> NDArray[np.int32]:
        """The number of the person of every row, in the order of one reading."""
        columns = self.needs(table) or self.tables[table].columns[:1]
        parts = [numbers for _, numbers in self.batches(table, columns)]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)


def gather(database: Database) -> People:
    """Number the persons, parents before their children."""
    tables = dict(database.tables)
    routes = {name: route for name in tables if (route := database.route(name)) is not None}
    if not routes:
        return People(None, {}, {}, tables)
    parts = []
    for name, (column, link) in routes.items():
        if link is None and not _is_child(database, name, column):
            parts.append(read_ids(tables[name], [column])[column])
    kinds = {p.type for p in parts}
    ids = pc.unique(pa.concat_arrays(parts)).drop_null() if len(kinds) == 1 else pa.array([], pa.string())
    people = People(KeyIndex(ids), {}, routes, tables)
    needed = {k.parent for k in database.links}
    needed |= {p for _, way in routes.values() if isinstance(way, Reference) for p in way.parents}
    for name in database.order:
        if name not in routes or name not in needed:
            continue
        column, link = routes[name]
        if isinstance(link, Reference):  # nothing hangs on what has no person of its own
            continue
        key = database.keys[name]
        read = read_ids(tables[name], [key, column])
        people.keys[name] = (KeyIndex(read[key]), people.of_ids(read[column], link))
    return people


def _is_child(database: Database, table: str, column: str) -> bool:
    """Whether a person column only repeats the ids of its parent's key."""
    return any(
        link.child == table and link.column == column and database.person_column(link.parent) == link.key
        for link in database.links
    )
