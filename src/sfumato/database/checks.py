"""All that is wrong with the links of a database: what can be seen in the schemas, and what in the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.database.ids import id_family, key_ids, require_ids
from sfumato.database.key_files import KeyFiles
from sfumato.database.keys import KeyIndex, id_batches, read_keys, repeated_keys
from sfumato.database.link import Link
from sfumato.database.reference import Reference, reference_faults
from sfumato.inference.names import words
from sfumato.schema import Role

if TYPE_CHECKING:
    from sfumato.database.database import Database

_BIRTH = {"birth", "dob", "born", "geburt", "geburtsdatum", "naissance", "nacimiento", "nascita", "birthdate"}
_MANY = 1_000  # rows of a table in which somebody has more than half of all
_GROUPS = 65_536  # of persons, whose rows are counted first


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
    for table in sorted(database.unconfirmed - database.apart):
        yield f"'{table}' is not among the tables without persons"


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
    """Every difference, with its number of rows. Held are the keys that others point to, and nothing else."""
    named = [n for n in database.tables if database.route(n) is not None]
    held = _held(database)
    own = [d for n, k in database.keys.items() for d in _key(database, n, k, held.get(n))]
    sound = not any(index.repeated for n, index in held.items() if database.children(n))
    lost: list[Defect] = []
    nobody: list[Defect] = []
    for name in database.tables:
        missing, alone = _pointers(database, name, held, sound and name in named)
        lost += missing
        nobody += alone
    yield from (*own, *lost)
    for reference in database.references:
        yield from _pointing_nowhere(database, reference, held)
    if len(database.tables) > 1:
        for name in sorted(set(database.tables) - set(named) - database.apart):
            yield Defect(name, "no link leads to a person")
    yield from nobody
    if sound and named:
        yield from _before_birth(database)


def _held(database: Database) -> dict[str, KeyIndex | KeyFiles]:
    """The keys that others point to; those by which rows reach their persons are held already."""
    pointed = {k.parent for k in database.links} | {p for r in database.references for p in r.parents}
    found: dict[str, KeyIndex | KeyFiles] = {}
    for name, key in database.keys.items():
        if name in database.people.keys:
            found[name] = database.people.keys[name]
        elif name in pointed:
            require_ids(database.tables[name], [key])
            found[name] = read_keys(database.tables[name], key)
    return found


def _key(database: Database, table: str, key: str, held: KeyIndex | KeyFiles | None) -> Iterator[Defect]:
    if held is not None:
        rows, empty, twice = len(held), held.missing, held.repeated
    else:
        rows = empty = 0
        for ids in id_batches(database.tables[table], [key]):
            rows, empty = rows + len(ids[key]), empty + ids[key].null_count
        twice = repeated_keys(database.tables[table], key, rows)
    if empty:
        yield Defect(f"{table}.{key}", f"the key is empty in {_rows(empty)}", empty)
    if twice:
        many = "a child of such a row would have several parents (many-to-many)"
        yield Defect(f"{table}.{key}", f"{_many(twice, 'key')} more than once; {many}", twice)


def _pointers(
    database: Database, name: str, held: dict[str, KeyIndex | KeyFiles], reaches: bool
) -> tuple[list[Defect], list[Defect]]:
    """Rows without their parent; rows of nobody, or of two persons. reaches: whether persons can be told."""
    people = database.people
    links = [way for way in database.points(name).values() if isinstance(way, Link)]
    column, way = people.routes[name] if reaches else ("", None)
    told = reaches and not isinstance(way, Reference)  # what a reference points to is counted by itself
    others = [k for k in links if told and k is not way and k.parent in people.keys]
    lost, torn, empty, rows = dict.fromkeys(links, 0), dict.fromkeys(others, 0), 0, 0
    counts = np.zeros(min(people.count, _GROUPS) if told and name != database.root else 0, np.int64)
    wanted = dict.fromkeys([*(k.column for k in links), *([column] if told else [])])
    for read in id_batches(database.tables[name], list(wanted)):
        for link in links:
            missing = held[link.parent].places(read[link.column]) < 0
            lost[link] += int(missing.sum()) - read[link.column].null_count
        if not told or isinstance(way, Reference):
            continue
        mine = people.of_ids(read[column], way)
        empty, rows = empty + read[column].null_count, rows + len(mine)
        if len(counts):
            counts += np.bincount(mine[mine >= 0] % len(counts), minlength=len(counts))
        for link in others:
            theirs = people.of_ids(read[link.column], link)
            torn[link] += int(((mine >= 0) & (theirs >= 0) & (mine != theirs)).sum())
    dangling = [
        Defect(k.place, f"{_rows(n)} without a parent in '{k.parent}'", n) for k, n in lost.items() if n
    ]
    alone = [Defect(f"{name}.{column}", f"{_rows(empty)} of nobody: the id is empty", empty)] if empty else []
    alone += [
        Defect(name, f"{_rows(n)} reach two persons, by '{column}' and '{k.column}'", n)
        for k, n in torn.items()
        if n
    ]
    return dangling, [*alone, *_giant(database, name, counts, rows)]


def _giant(database: Database, name: str, counts: NDArray[np.int64], rows: int) -> Iterator[Defect]:
    """Somebody who has most rows of a table: said, since the number of records alone tells who it is.

    counts: of rows, by the remainder of the number of their person. Only a group with most rows has such a
    person in it; its members are counted in a second reading.
    """
    most, people = int(counts.max(initial=0)), database.people
    if rows >= _MANY and most > rows / 2 and people.count > 2:
        if people.count > len(counts):
            group = int(counts.argmax())
            each = np.zeros(-(-people.count // len(counts)), np.int64)
            for _, numbers in people.batches(name, people.needs(name)):
                within = numbers[(numbers >= 0) & (numbers % len(counts) == group)] // len(counts)
                each += np.bincount(within, minlength=len(each))
            most = int(each.max())
            if most <= rows / 2:
                return
        words = f"one person has {most:,} of {_rows(rows)}: how many records they have tells who it is"
        yield Defect(name, words, most, fatal=False)


def _pointing_nowhere(
    database: Database, reference: Reference, held: dict[str, KeyIndex | KeyFiles]
) -> Iterator[Defect]:
    """Ids without a row in the table that the other column names, and those of which nobody knows it."""
    described = database.tables[reference.child].schema[reference.column]
    lost, unknown = dict.fromkeys(reference.parents, 0), 0
    for batch in database.tables[reference.child].batches([reference.column, reference.by]):
        ids, known = key_ids(described, batch.column(0)), np.zeros(batch.num_rows, np.bool_)
        for parent, meant in reference.parts(batch.column(1)):
            known |= np.asarray(meant.to_numpy(zero_copy_only=False), np.bool_)
            lost[parent] += int((held[parent].places(ids.filter(meant).drop_null()) < 0).sum())
        unknown += int((np.asarray(ids.is_valid().to_numpy(zero_copy_only=False), np.bool_) & ~known).sum())
    for parent, n in lost.items():
        if n:
            yield Defect(reference.place, f"{_rows(n)} without a row in '{parent}'", n)
    if unknown:
        words = f"'{reference.by}' does not say to what {_rows(unknown)} point: left empty in a release"
        yield Defect(reference.place, words, unknown, fatal=False)


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
