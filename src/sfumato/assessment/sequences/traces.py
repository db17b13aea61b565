"""What linked tables say of each person, thing by thing, on one scale for original, control and release.

A *trace* is one kind of thing: codes, days, gaps between days, how many records there are, further values.
The things of original and control are numbered together; those of the release have numbers of their own, and
`nodes` says which of them stand for a thing of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.database_measures import first_date
from sfumato.assessment.sequences.vocabulary import meaning
from sfumato.database import Database
from sfumato.database.ids import key_ids
from sfumato.hierarchy import Hierarchy, Recipe
from sfumato.io.omop.ancestors import ancestor_table, ancestors
from sfumato.schema import Kind, Role

Ints = NDArray[np.int64]
Hierarchies = Mapping[str, Hierarchy | Recipe | Mapping[str, Sequence[str]] | str]
_DATES = ("date", "datetime", "instant")
_DAY = 86_400
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Things:
    """Things of persons, sorted by person, each once. record: the parent row each stands in, or -1."""

    person: Ints
    item: Ints
    record: Ints

    @classmethod
    def of(cls, person: Ints, item: Ints, record: Ints | None = None) -> Things:
        """Sorted, and each once; things of nobody are left out."""
        record = np.full(len(person), -1, np.int64) if record is None else record
        order = np.lexsort((record, item, person))
        order = order[person[order] >= 0]
        person, item, record = person[order], item[order], record[order]
        new = np.ones(len(person), np.bool_)
        new[1:] = (np.diff(person) != 0) | (np.diff(item) != 0) | (np.diff(record) != 0)
        return cls(person[new], item[new], record[new])

    @cached_property
    def once(self) -> Things:
        """Each thing of a person once, in whichever records it stands."""
        return self if (self.record < 0).all() else Things.of(self.person, self.item)


@dataclass(frozen=True)
class Trace:
    """One kind of thing. sides: of the original, the control (or nothing), the release.

    nodes: per thing of original and control, the released things that stand for it; start: where each begins.
    """

    kind: str
    original: Things
    control: Things | None
    released: Things
    start: Ints
    nodes: Ints
    unread: float = 0.0  # the share of released things that nobody understood

    @property
    def new_by_chance(self) -> float:
        """The share of things that people may have and nobody had before: as many as one person has alone
        (Good and Turing), and as many again."""
        items = [t.item for t in (self.original, self.control) if t is not None]
        times = np.bincount(np.concatenate([NOTHING, *items]))
        return 2 * float((times == 1).sum()) / max(1, int(times.sum()))


Sides = tuple[Database, Database | None, Database]


def traces(
    sides: Sides, places: Sequence[str], given: Hierarchies, beside: Sequence[str] = ()
) -> list[Trace]:
    """Every kind of thing that original and release both have. beside: columns of persons known anyway."""
    found = [_values("codes", sides, places, given, records=True)]
    found += _days(sides)
    root = sides[0].root
    own = [p for p in _columns(sides[0], root) if p not in places and p.partition(".")[2] not in beside]
    further = [p for n in sides[0].tables if n != root for p in _columns(sides[0], n, dates=False)]
    further = [p for p in further if p not in places]
    found += [_values("further values", sides, further, given), _values("own values", sides, own, given)]
    found.append(_numbers(sides))
    return [t for t in found if t is not None and len(t.original.person) and len(t.released.person)]


def code_trace(sides: Sides, places: Sequence[str], given: Hierarchies) -> Trace | None:
    """Codes alone."""
    return _values("codes", sides, places, given)


def split(places: Sequence[str], database: Database) -> list[tuple[str, str]]:
    """Table and column of each place that a database has."""
    parts = [(p.partition(".")[0], p.partition(".")[2]) for p in places]
    return [
        (n, c) for n, c in parts if n in database.tables and c in database[n].schema and database.route(n)
    ]


def _columns(database: Database, name: str, *, dates: bool = True) -> list[str]:
    """Columns of a table that are no key and no text: what a row says of itself."""
    if not database.route(name) and len(database.tables) > 1:
        return []
    return [
        f"{name}.{c.name}"
        for c in database[name].schema
        if c.name not in database.key_columns[name] and (dates or c.type not in _DATES)
        if c.role not in (Role.IDENTIFIER, Role.PERSON) and c.kind is not Kind.TEXT
    ]


def _joined(nodes: Sequence[Ints]) -> tuple[Ints, Ints]:
    sizes = np.array([len(n) for n in nodes], np.int64)
    return np.append(0, np.cumsum(sizes)), np.concatenate([NOTHING, *nodes])


# -- values of columns: codes, and whatever else a record says ---------------------------------------------


def _values(
    kind: str, sides: Sides, places: Sequence[str], given: Hierarchies, *, records: bool = False
) -> Trace | None:
    original, control, released = sides
    leaves: dict[str, dict[str, int]] = {p: {} for p in places}
    labels: dict[str, dict[str, int]] = {p: {} for p in places}
    common = [p for p in places if split([p], original) and split([p], released)]
    if not common:
        return None
    parts = [_column_things(original, common, leaves, records)]
    parts.append(_column_things(control, common, leaves, records) if control is not None else [])
    parts.append(_column_things(released, common, labels, records))
    nodes: list[Ints] = []
    unread: set[int] = set()
    first: dict[str, tuple[int, int]] = {}
    at = 0
    for place in common:
        first[place] = (len(nodes), at)
        name, column = split([place], original)[0]
        unit = "date" if original[name].schema[column].type in _DATES else ""
        above = given.get(place) or _concepts_above(original, place, list(leaves[place]))
        found = meaning(list(leaves[place]), list(labels[place]), above, unit=unit)
        nodes += [n + at for n in found.nodes]
        unread |= {i + at for i in found.unread} if not unit else set()  # a date that was moved is still one
        at += len(labels[place])
    start, flat = _joined(nodes)
    sorted_sides = [_things(part, first, 0) for part in parts[:2]]
    after = _things(parts[2], first, 1)
    lost = float(np.isin(after.item, list(unread)).mean()) if len(after.item) and unread else 0.0
    before, other = sorted_sides[0], sorted_sides[1] if control is not None else None
    return Trace(kind, before, other, after, start, flat, lost)


def _concepts_above(database: Database, place: str, values: Sequence[str]) -> Mapping[str, set[str]] | None:
    """What the vocabulary of a CDM has above concepts; None for all else."""
    table = ancestor_table(database, place)
    return None if table is None else ancestors(table, values)


_Part = tuple[str, Ints, Ints, Ints]


def _things(parts: Sequence[_Part], first: Mapping[str, tuple[int, int]], side: int) -> Things:
    person = np.concatenate([NOTHING, *(p for _, p, _, _ in parts)])
    item = np.concatenate([NOTHING, *(i + first[place][side] for place, _, i, _ in parts)])
    return Things.of(person, item, np.concatenate([NOTHING, *(r for _, _, _, r in parts)]))


def _column_things(
    database: Database, places: Sequence[str], known: Mapping[str, dict[str, int]], records: bool
) -> list[_Part]:
    """Per column: person, number of the value within the column, record."""
    out: list[_Part] = []
    for place in places:
        if not split([place], database):
            continue
        name, column = split([place], database)[0]
        described, numbered = database[name].schema[column], known[place]
        link = next((k for k in database.parents(name) if k.parent not in database.apart), None)
        wanted = [column, link.column] if records and link is not None else [column]
        for batch, numbers in database.people.batches(name, wanted):
            owner, texts = numbers.astype(np.int64), batch.column(0).cast(pa.string())
            record = np.full(len(owner), -1, np.int64)
            if records and link is not None:
                ids = key_ids(database[name].schema[link.column], batch.column(1))
                record = database.people.keys[link.parent].places(ids).astype(np.int64)
            if described.kind is Kind.CODES:
                lists = pc.split_pattern(texts, described.separator)
                rows = np.asarray(pc.list_parent_indices(lists))
                owner, record = owner[rows], record[rows]
                texts = pc.utf8_trim_whitespace(pc.list_flatten(lists))
                texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
            coded = texts.dictionary_encode()
            local = np.array(
                [numbered.setdefault(v, len(numbered)) for v in coded.dictionary.to_pylist()], np.int64
            )
            index = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
            there = index >= 0
            out.append((place, owner[there], local[index[there]] if len(local) else NOTHING, record[there]))
    return out


def released_codes(database: Database, places: Sequence[str]) -> Things:
    """The codes of each person of one database, numbered through all columns."""
    known: dict[str, dict[str, int]] = {p: {} for p in places}
    parts = _column_things(database, places, known, records=False)
    ends = np.append(0, np.cumsum([len(known[p]) for p in places])).tolist()
    return _things(parts, {p: (ends[i], ends[i]) for i, p in enumerate(places)}, 0)


# -- days, and the gaps between them -----------------------------------------------------------------------


def days_of(database: Database) -> Things:
    """The days on which records of a person begin: the first column of dates of the tables below."""
    persons, days = [NOTHING], [NOTHING]
    for name in database.tables:
        column = first_date(database, name)
        if column is None or not database.route(name) or (name == database.root and len(database.tables) > 1):
            continue
        for batch, numbers in database.people.batches(name, [column]):
            day = batch.column(0).cast(pa.timestamp("s")).cast(pa.int64())
            there = np.asarray(day.is_valid().to_numpy(zero_copy_only=False), bool) & (numbers >= 0)
            persons.append(numbers[there].astype(np.int64))
            days.append(np.asarray(day.fill_null(0).to_numpy(zero_copy_only=False))[there] // _DAY)
    return Things.of(np.concatenate(persons), np.concatenate(days))


def gaps_of(days: Things) -> Things:
    """Days from one of a person's days to the next."""
    same = days.person[1:] == days.person[:-1]
    return Things.of(days.person[1:][same], np.diff(days.item)[same])


def grain_of(days: Ints) -> int:
    """What released days were cut to: 1 for days, 7 for weeks that begin on one weekday, 31 for months."""
    if not len(days):
        return 1
    if (days % 7 == days[0] % 7).all() and len(np.unique(days)) > 1:
        return 7
    months = days.astype("datetime64[D]")
    return 31 if (months == months.astype("datetime64[M]").astype("datetime64[D]")).all() else 1


def _days(sides: Sides) -> list[Trace]:
    original, control, released = sides
    before, after = days_of(original), days_of(released)
    other = None if control is None else days_of(control)
    if not len(after.item) or not len(before.item):
        return []
    grain = grain_of(np.unique(after.item))

    def near(value: Ints, values: Ints) -> list[Ints]:
        """The released days that may stand for a day: from the beginning of its week or month on."""
        first = np.searchsorted(values, value - grain + 1)
        last = np.searchsorted(values, value, side="right")
        return [np.arange(a, b) for a, b in zip(first, last, strict=True)]

    def about(value: Ints, values: Ints) -> list[Ints]:
        """The released gaps that may stand for a gap: dates that were cut move it by less than the grain."""
        first = np.searchsorted(values, value - grain + 1)
        last = np.searchsorted(values, value + grain - 1, side="right")
        return [np.arange(a, b) for a, b in zip(first, last, strict=True)]

    between = None if other is None else gaps_of(other)
    unit = {1: "days", 7: "weeks", 31: "months"}[grain]
    return [
        _measured(unit, (before, other, after), near),
        _measured(f"gaps in {unit}", (gaps_of(before), between, gaps_of(after)), about),
    ]


def _measured(
    kind: str, sides: tuple[Things, Things | None, Things], near: Callable[[Ints, Ints], list[Ints]]
) -> Trace:
    """A trace of numbers: values of the three sides, and which released ones are near each."""
    before, other, after = sides
    values = np.unique(np.concatenate([before.item, NOTHING if other is None else other.item]))
    labels = np.unique(after.item)
    start, nodes = _joined(near(values, labels))

    def numbered(things: Things, among: Ints) -> Things:
        return Things.of(things.person, np.searchsorted(among, things.item))

    control = None if other is None else numbered(other, values)
    return Trace(kind, numbered(before, values), control, numbered(after, labels), start, nodes)


# -- how many records a person has --------------------------------------------------------------------------


def _numbers(sides: Sides) -> Trace | None:
    """Per table below the persons', how many rows a person has: nothing of a row is needed to know that."""
    original, control, released = sides
    tables = [
        n for n in original.tables
        if n != original.root and original.route(n) and n in released.tables and released.route(n)
    ]  # fmt: skip
    if not tables:
        return None
    base = 1 << 40

    def counted(database: Database) -> Things:
        persons, items = [NOTHING], [NOTHING]
        for at, name in enumerate(tables):
            rows = database.people.numbers(name)
            n = np.bincount(rows[rows >= 0], minlength=database.people.count).astype(np.int64)
            persons.append(np.arange(len(n)))
            items.append(n + at * base)
        return Things.of(np.concatenate(persons), np.concatenate(items))

    def same(values: Ints, labels: Ints) -> list[Ints]:
        at = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
        return [np.array([a]) if labels[a] == v else NOTHING for a, v in zip(at, values, strict=True)]

    there = None if control is None else counted(control)
    return _measured("numbers of records", (counted(original), there, counted(released)), same)
