"""A database whose keys hold, made of one whose keys do not: what points nowhere is emptied or left out.

Rows without a person and rows whose key came before are left out, ids that point to no row are emptied,
parents before their children. Nothing is invented, and every change is counted.

Which row of a repeated key stays, and which id is emptied, hangs on other persons' rows. With one person
more, rows of somebody else may change: so a mended database says that it is one, and no epsilon is promised
for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database.ids import key_ids, require_ids
from sfumato.database.key_files import KeyFiles
from sfumato.database.keys import KeyIndex, among, gathered_keys, read_keys, repeated_numbers
from sfumato.database.link import Link
from sfumato.database.reference import Reference
from sfumato.sources import BatchSource
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.database.database import Database

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Keys = dict[str, KeyIndex | KeyFiles]


@dataclass
class _Counts:
    """What is changed in one table: rows left out, and ids emptied by column."""

    repeated: int = 0
    nobody: int = 0
    emptied: dict[str, int] = field(default_factory=dict)


def mend(database: Database) -> tuple[Database, list[str]]:
    """The database with keys that hold, and what was changed, by names and numbers."""
    keys: Keys = {}
    tables, changes = dict(database.tables), []
    needed = {p.parent for p in database.links} | {p for r in database.references for p in r.parents}
    for name in database.order:
        columns = database.key_columns[name]
        if not columns or name in database.apart:
            if name in needed:
                keys[name] = _keys_of(database, name)
            continue
        counts, key = _Counts(), database.keys.get(name)
        twice = np.empty(0, np.int64) if key is None else repeated_numbers(tables[name], key)
        batches = _mended(database, name, list(columns), keys, twice, counts)
        if name in needed and key is not None:
            described = tables[name].schema[key]
            parts = ((key_ids(described, batch.column(key)), None) for batch in batches)
            keys[name] = gathered_keys(parts, pa.string() if described.type == "text" else pa.int64())
        for _ in batches:
            pass
        counts.emptied |= _own(database, name, keys, twice)
        tables[name] = _table(database, name, keys, twice)
        changes += list(_said(name, counts))
    return replace(database, tables=tables, mended=database.mended or bool(changes)), changes


def _said(name: str, counts: _Counts) -> Iterator[str]:
    if counts.repeated:
        yield f"{name}: {counts.repeated:,} rows left out whose key is empty or came before"
    if counts.nobody:
        yield f"{name}: {counts.nobody:,} rows without a person left out"
    for column, n in counts.emptied.items():
        if n:
            yield f"{name}.{column}: {n:,} ids of no row emptied"


def _table(database: Database, name: str, keys: Keys, twice: Ints) -> Table:
    """A table that is mended whenever it is read."""
    table = database.tables[name]

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in _mended(database, name, names, keys, twice, _Counts(), own=True):
            yield batch.select(list(names))

    names = list(table.columns)
    arrow = pa.schema([table.source.arrow_schema.field(n) for n in names])
    for batch in table.batches(names):  # as batches come, types and all
        arrow = batch.schema
        break
    return Table(BatchSource(arrow, read), table.schema, table.memory_limit)


def _mended(
    database: Database, name: str, names: Sequence[str], keys: Keys, twice: Ints, counts: _Counts, *,
    own: bool = False,
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Batches with the named columns and all keys.

    twice: numbers of keys that occur more than once. own: whether links to the table itself are held too.
    """
    table, points = database.tables[name], database.points(name)
    route, key = database.route(name), database.keys.get(name)
    kinds = [p.by for p in points.values() if isinstance(p, Reference)]
    wanted = list(dict.fromkeys([*names, *database.key_columns[name], *kinds]))
    seen: set[object] = set()
    for batch in table.batches(wanted):
        stays = np.ones(batch.num_rows, np.bool_)
        if key is not None:
            stays = _first(key_ids(table.schema[key], batch.column(key)), twice, seen)
            counts.repeated += int((~stays).sum())
        for column, way in points.items():
            if isinstance(way, Link) and way.parent == name and not own:
                continue
            ids = key_ids(table.schema[column], batch.column(column))
            there = _found(ids, way, batch, database, keys)
            if route is not None and route[0] == column and isinstance(way, Link):
                counts.nobody += int((stays & ~there).sum())
                stays &= there
            else:
                lost = ~there & _valid(ids)
                counts.emptied[column] = counts.emptied.get(column, 0) + int((lost & stays).sum())
                batch = _emptied(batch, column, lost)
        yield batch.filter(pa.array(stays))


def _own(database: Database, name: str, keys: Keys, twice: Ints) -> dict[str, int]:
    """Ids of links from a table to itself that point to no row of it that stays."""
    own = [p for p in database.points(name).values() if isinstance(p, Link) and p.parent == name]
    found = dict.fromkeys((p.column for p in own), 0)
    for batch in _mended(database, name, [], keys, twice, _Counts()) if own else ():
        for link in own:
            ids = key_ids(database.tables[name].schema[link.column], batch.column(link.column)).drop_null()
            found[link.column] += int((keys[name].places(ids) < 0).sum())
    return found


def _found(
    ids: pa.Array, way: Link | Reference, batch: pa.RecordBatch, database: Database, keys: Keys
) -> Flags:
    if isinstance(way, Link):
        return np.asarray(keys[way.parent].places(ids) >= 0)
    there = np.zeros(len(ids), np.bool_)
    for parent, meant in way.parts(batch.column(way.by)):
        # Tables may refer to each other in a circle: what is not mended yet is looked up as it is.
        known = keys[parent] if parent in keys else _keys_of(database, parent)
        there |= _flags(meant) & (known.places(ids) >= 0)
    return there


def _keys_of(database: Database, name: str) -> KeyIndex | KeyFiles:
    """The keys of a table as they are."""
    key = database.keys[name]
    require_ids(database.tables[name], [key])
    return read_keys(database.tables[name], key)


def _first(ids: pa.Array, twice: Ints, seen: set[object]) -> Flags:
    """Whether each key is there and comes for the first time; only those that come again are kept in mind."""
    found = _valid(ids)
    again = np.flatnonzero(found & among(ids, twice)) if len(twice) else np.empty(0, np.int64)
    for at, value in zip(again, ids.take(pa.array(again)).to_pylist(), strict=True):
        found[at] = value not in seen
        seen.add(value)
    return found


def _emptied(batch: pa.RecordBatch, column: str, lost: Flags) -> pa.RecordBatch:
    if not lost.any():
        return batch
    at = batch.schema.get_field_index(column)
    array = pc.if_else(pa.array(lost), pa.scalar(None, batch.column(at).type), batch.column(at))
    return batch.set_column(at, batch.schema.field(at), array)


def _flags(mask: pa.Array) -> Flags:
    return np.asarray(mask.to_numpy(zero_copy_only=False), np.bool_)


def _valid(ids: pa.Array) -> Flags:
    return _flags(ids.is_valid())
