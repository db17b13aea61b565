"""Whose row it is: through the parents, in any table.

The ids of persons are held in memory, and those of the parents' keys with the number of the person of each;
where there are very many, they lie in files (`key_files`). Rows of a child are looked up batch by batch, so
that an engine that gives its rows in another order each time does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database.ids import key_ids, read_ids, require_ids
from sfumato.database.key_files import KeyFiles
from sfumato.database.keys import KeyIndex, gathered, gathered_keys, id_batches
from sfumato.database.reference import Reference
from sfumato.errors import SchemaError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.sources import BatchSource
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.database.database import Database
    from sfumato.database.link import Link

_ROWS = 262_144  # rows looked up at once
_NUMBER = "number_of_person"


@dataclass(frozen=True, eq=False)
class People:
    """The persons of a database, numbered from 0, and how any table reaches them.

    ids: (persons,) the canonical ids; None where each row is a person of its own.
    keys: by table that has children: its keys, and the number of the person of each (-1: nobody's).
    """

    ids: KeyIndex | KeyFiles | None
    keys: dict[str, KeyIndex | KeyFiles]
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
                found[rows] = self.keys[parent].persons(ids.take(pa.array(rows)))
        return found

    def of_ids(self, ids: pa.Array, link: Link | None) -> NDArray[np.int32]:
        """The same for canonical ids: of persons, or of the parent of a link."""
        if link is not None:
            return self.keys[link.parent].persons(ids)
        return np.full(len(ids), -1, np.int32) if self.ids is None else self.ids.places(ids)

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


def with_person(database: Database, name: str) -> Table:
    """The rows of a table under a column that says whose each is: its own, or the number of its person.

    Diagnoses name their stay only; who counts persons there needs to know whose stay it was.
    """
    table, people = database.tables[name], database.people
    if database.person_column(name) is not None:
        return table
    if database.route(name) is None:
        raise SchemaError(f"table '{name}' reaches no person.", hint="name a table of persons, or below one")
    number = _NUMBER
    while number in table.schema:
        number += "_"

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch, numbers in people.batches(name, [n for n in names if n != number]):
            whose = pa.array(numbers, pa.int64(), mask=numbers < 0)
            columns = [whose if n == number else batch.column(n) for n in names]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))

    fields = [table.source.arrow_schema.field(n) for n in table.columns]
    for batch in table.batches(list(table.columns)):  # as batches come, types and all
        fields = list(batch.schema)
        break
    own = Column(number, Kind.NOMINAL, Role.PERSON, "integer")
    source = BatchSource(pa.schema([*fields, pa.field(number, pa.int64())]), read)
    return Table(source, Schema((*table.schema, own)), table.memory_limit)


def gather(database: Database) -> People:
    """Number the persons, parents before their children."""
    tables = dict(database.tables)
    routes = {name: route for name in tables if (route := database.route(name)) is not None}
    if not routes:
        return People(None, {}, {}, tables)
    named = {
        name: column
        for name, (column, link) in routes.items()
        if link is None and not _is_child(database, name, column)
    }
    own = _own_keys(database, named)
    people = People(own or _distinct(tables, named), {}, routes, tables)
    needed = {k.parent for k in database.links}
    needed |= {p for _, way in routes.values() if isinstance(way, Reference) for p in way.parents}
    for name in database.order:
        if name not in routes or name not in needed:
            continue
        column, link = routes[name]
        if isinstance(link, Reference):  # nothing hangs on what has no person of its own
            continue
        if own is not None and name in named:
            people.keys[name] = own
            continue
        key = database.keys[name]
        require_ids(tables[name], [key, column])
        rows = (
            (ids[key], people.of_ids(ids[column], link))
            for ids in id_batches(tables[name], list(dict.fromkeys([key, column])))
        )
        text = tables[name].schema[key].type == "text"
        people.keys[name] = gathered_keys(rows, pa.string() if text else pa.int64())
    return people


def _own_keys(database: Database, named: dict[str, str]) -> KeyIndex | KeyFiles | None:
    """The keys of the one table that names persons, where each of its rows is a person of its own."""
    if len(named) != 1 or any(database.keys.get(name) != column for name, column in named.items()):
        return None
    ((name, column),) = named.items()
    require_ids(database.tables[name], [column])

    def numbered() -> Iterator[tuple[pa.Array, NDArray[np.int32]]]:
        start = 0
        for read in id_batches(database.tables[name], [column]):
            ids = read[column]
            yield ids, np.arange(start, start + len(ids), dtype=np.int32)
            start += len(ids)

    text = database.tables[name].schema[column].type == "text"
    found = gathered_keys(numbered(), pa.string() if text else pa.int64(), ordered=True)
    return None if found.missing or found.repeated else found


def _distinct(tables: dict[str, Table], named: dict[str, str]) -> KeyIndex:
    """The ids of these columns, each once."""
    parts = [read_ids(tables[name], [column])[column] for name, column in named.items()]
    kinds = {p.type for p in parts}
    return KeyIndex(
        pc.unique(pa.concat_arrays(parts)).drop_null() if len(kinds) == 1 else pa.array([], pa.string())
    )


def _is_child(database: Database, table: str, column: str) -> bool:
    """Whether a person column only repeats the ids of its parent's key."""
    return any(
        link.child == table and link.column == column and database.person_column(link.parent) == link.key
        for link in database.links
    )
