"""All that is wrong with the links of a database: what can be seen in the schemas, and what in the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.database.ids import id_family, key_ids, read_ids, repeated
from sfumato.database.link import Link
from sfumato.database.people import looked_up
from sfumato.database.reference import Reference, reference_faults
from sfumato.inference.names import words
from sfumato.schema import Role

if TYPE_CHECKING:
    from sfumato.database.database import Database

_BIRTH = {"birth", "dob", "born", "geburt", "geburtsdatum", "naissance", "nacimiento", "nascita", "birthdate"}


@dataclass(frozen=True)
class Defect:
    """One thing that is wrong, by names and numbers. fatal: nothing that rests on the links can be done."""

    where: str
    what: str
    rows: int = 0
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


# -- what can be seen without a row --------------------------------------------------------------


def structure_faults(database: Database) -> list[str]:
    """Names that are not there, keys of two kinds, circles, and who is a person twice."""
    faults = [*_unknown(database), *reference_faults(database)]
    if faults:
        return faults
    for link in database.links:
        child = database.tables[link.child].schema[link.column]
        parent = database.tables[link.parent].schema[link.key]
        if id_family(child) != id_family(parent) or not id_family(child):
            faults.append(f"{link}: keys of different types ({child.type} and {parent.type})")
        if database.keys.get(link.parent) != link.key:
            faults.append(f"{link}: '{link.key}' is not the key of '{link.parent}'")
    pairs = [(k.child, k.column) for k in database.links]
    pairs += [(r.child, r.column) for r in database.references]
    twice = sorted({f"{t}.{c}" for t, c in pairs if pairs.count((t, c)) > 1})
    faults += [f"{place} points to two parents" for place in twice]
    faults += [
        f"'{n}' has {len(p)} columns of role person" for n, p in _persons(database).items() if len(p) > 1
    ]
    kinds = {id_family(database.tables[n].schema[p[0]]) for n, p in _persons(database).items() if p}
    if len(kinds) > 1:
        faults.append("person columns of different types: text in one table, numbers in another")
    return faults + _circles(database)


def _persons(database: Database) -> dict[str, tuple[str, ...]]:
    return {n: t.schema.of_role(Role.PERSON) for n, t in database.tables.items() if n not in database.apart}


def _unknown(database: Database) -> Iterator[str]:
    places = [(n, k) for n, k in database.keys.items()]
    places += [p for k in database.links for p in ((k.child, k.column), (k.parent, k.key))]
    for table, column in dict.fromkeys(places):
        if table not in database.tables:
            yield f"no table '{table}'"
        elif column not in database.tables[table].schema:
            yield f"table '{table}' has no column '{column}'"
    for table in sorted(database.apart - set(database.tables)):
        yield f"no table '{table}'"


def _circles(database: Database) -> list[str]:
    waiting = dict.fromkeys(database.tables)
    while waiting:
        free = [n for n in waiting if not any(p.parent in waiting for p in database.parents(n))]
        if not free:
            # Those that only hang below a circle are not in it.
            inner = dict(waiting)
            while ends := [n for n in inner if not any(c.child in inner for c in database.children(n))]:
                inner = {n: None for n in inner if n not in ends}
            return [f"links go round in a circle: {', '.join(sorted(inner))}"]
        waiting = {n: None for n in waiting if n not in free}
    return []


# -- what can be seen in the rows ----------------------------------------------------------------


def differences(database: Database) -> Iterator[Defect]:
    """Every difference, with its number of rows. The key columns of one table at a time are in memory."""
    named = [n for n in database.tables if database.route(n) is not None]
    pointed = {k.parent for k in database.links} | {p for r in database.references for p in r.parents}
    held = {n: read_ids(database.tables[n], [k])[k] for n, k in database.keys.items() if n in pointed}
    sound = not any(repeated(ids) for n, ids in held.items() if database.children(n))
    own: list[Defect] = []
    lost: list[Defect] = []
    nobody: list[Defect] = []
    for name, columns in database.key_columns.items():
        read = read_ids(database.tables[name], columns)
        if name in database.keys:
            own += _key(name, database.keys[name], read[database.keys[name]])
        for link in database.points(name).values():
            if isinstance(link, Link):
                lost += _dangling(link, read[link.column], held[link.parent])
        if sound and name in named:
            nobody += _nobody(database, name, read)
    yield from (*own, *lost)
    for reference in database.references:
        yield from _pointing_nowhere(database, reference, held)
    if len(database.tables) > 1:
        for name in sorted(set(database.tables) - set(named) - database.apart):
            yield Defect(name, "no link leads to a person")
    yield from nobody
    if sound and named:
        yield from _before_birth(database)


def _key(table: str, key: str, ids: pa.Array) -> Iterator[Defect]:
    if ids.null_count:
        yield Defect(f"{table}.{key}", f"the key is empty in {_rows(ids.null_count)}", ids.null_count)
    if twice := repeated(ids):
        many = "a child of such a row would have several parents (many-to-many)"
        yield Defect(f"{table}.{key}", f"{_many(twice, 'key')} more than once; {many}", twice)


def _dangling(link: Link, ids: pa.Array, keys: pa.Array) -> Iterator[Defect]:
    present = ids.drop_null()
    lost = int((looked_up(present, keys) < 0).sum())
    if lost:
        yield Defect(link.place, f"{_rows(lost)} without a parent in '{link.parent}'", lost)


def _pointing_nowhere(
    database: Database, reference: Reference, held: dict[str, pa.Array]
) -> Iterator[Defect]:
    """Ids without a row in the table that the other column names, and those of which nobody knows it."""
    described = database.tables[reference.child].schema[reference.column]
    lost, unknown = dict.fromkeys(reference.parents, 0), 0
    for batch in database.tables[reference.child].batches([reference.column, reference.by]):
        ids, known = key_ids(described, batch.column(0)), np.zeros(batch.num_rows, np.bool_)
        for parent, meant in reference.parts(batch.column(1)):
            known |= np.asarray(meant.to_numpy(zero_copy_only=False), np.bool_)
            lost[parent] += int((looked_up(ids.filter(meant).drop_null(), held[parent]) < 0).sum())
        unknown += int((np.asarray(ids.is_valid().to_numpy(zero_copy_only=False), np.bool_) & ~known).sum())
    for parent, n in lost.items():
        if n:
            yield Defect(reference.place, f"{_rows(n)} without a row in '{parent}'", n)
    if unknown:
        words = f"'{reference.by}' does not say to what {_rows(unknown)} point: left empty in a release"
        yield Defect(reference.place, words, unknown, fatal=False)


def _nobody(database: Database, name: str, read: dict[str, pa.Array]) -> Iterator[Defect]:
    people = database.people
    column, way = people.routes[name]
    if isinstance(way, Reference):  # what it points to is counted by itself
        return
    mine = people.of_ids(read[column], way)
    empty = read[column].null_count
    if empty:
        yield Defect(f"{name}.{column}", f"{_rows(empty)} of nobody: the id is empty", empty)
    for other in database.points(name).values():
        if other is way or isinstance(other, Reference) or other.parent not in people.keys:
            continue
        theirs = people.of_ids(read[other.column], other)
        torn = int(((mine >= 0) & (theirs >= 0) & (mine != theirs)).sum())
        if torn:
            by = f"'{column}' and '{other.column}'"
            yield Defect(name, f"{_rows(torn)} reach two persons, by {by}", torn)


def _before_birth(database: Database) -> Iterator[Defect]:
    """Dates before the birth of their person: said, and no obstacle."""
    root, people = database.tables[database.root], database.people
    births = [c.name for c in root.schema if c.type == "date" and set(words(c.name)) & _BIRTH]
    if len(births) != 1 or database.person_column(database.root) is None:
        return
    born = np.full(people.count, np.iinfo(np.int32).min, np.int32)
    for batch, numbers in people.batches(database.root, births):
        days = _days(batch.column(0))
        known = (numbers >= 0) & (days > np.iinfo(np.int32).min)
        born[numbers[known]] = days[known]
    for name, table in database.tables.items():
        dates = [c.name for c in table.schema if c.type == "date" and c.name not in births]
        if name == database.root or name not in people.routes or not dates:
            continue
        early = dict.fromkeys(dates, 0)
        for batch, numbers in people.batches(name, dates):
            for at, date in enumerate(dates):
                days = _days(batch.column(at))
                known = (numbers >= 0) & (days > np.iinfo(np.int32).min)
                early[date] += int((days[known] < born[numbers[known]]).sum())
        for date, n in early.items():
            if n:
                yield Defect(f"{name}.{date}", f"{_rows(n)} before the birth of their person", n, fatal=False)


def _days(dates: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    plain = pc.fill_null(dates.cast(pa.int32()), np.iinfo(np.int32).min)
    return np.asarray(plain.to_numpy(zero_copy_only=False), np.int32)


def _rows(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'s occur' if n != 1 else ' occurs'}"
