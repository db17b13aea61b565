"""Which columns are keys, and which point to them: by names, by values that occur once, by containment.

What is found is a guess with its reasons, for a person to review. Names decide first: two columns of the same
values and different names (a ward and a month, both 1 to 12) are no link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sfumato.database.ids import id_family, read_ids
from sfumato.database.keys import KeyIndex, distinct
from sfumato.database.link import Link
from sfumato.inference.names import NUMBERING, read, words
from sfumato.schema import Column, Role, Schema
from sfumato.table import Table

_NEARLY = 0.95  # of the values of a key occur once: a key with mistakes, which the checks then count
_MOSTLY = 0.9  # of the values are among the parent's keys: a link with orphans, which the checks then count


@dataclass(frozen=True)
class Found:
    """Keys, links and persons as they were guessed. reasons: by `table.column`, why it is what it is."""

    keys: Mapping[str, str]
    links: tuple[Link, ...]
    apart: frozenset[str]
    schemas: Mapping[str, Schema]
    reasons: Mapping[str, str]


def discover(tables: Mapping[str, Table], *, known: Sequence[Link] = (), apart: Sequence[str] = ()) -> Found:
    """Guess what nobody has declared. known: links that were declared; a column has one parent at most."""
    ids = {n: _candidates(n, tables) for n in tables}
    reasons: dict[str, str] = {}
    keys = {link.parent: link.key for link in known}
    for name, columns in ids.items():
        if name not in keys and (found := _key(name, columns, tables[name])) is not None:
            keys[name], reasons[f"{name}.{found[0]}"] = found
    links = _links(tables, ids, keys, known, reasons)
    used = {link.parent for link in links} | {n for n in keys if len(tables) == 1}
    keys = {n: k for n, k in keys.items() if n in used or _unique(ids[n].get(k))}
    return _people(tables, keys, tuple(links), frozenset(apart), reasons)


def _candidates(name: str, tables: Mapping[str, Table]) -> dict[str, pa.Array]:
    """The ids of columns whose name or role says that they may be keys, or that another table has too."""
    others = {c.casefold() for n, t in tables.items() if n != name for c in t.columns}
    wanted = [
        c.name
        for c in tables[name].schema
        if id_family(c)
        and c.type != "real"
        and (
            c.role in (Role.IDENTIFIER, Role.PERSON)
            or (c.name.casefold() in others and _says_id(c))
            or _says_id(c)
        )
    ]
    return read_ids(tables[name], wanted) if wanted else {}


def _says_id(column: Column) -> bool:
    return bool(set(words(column.name)) & NUMBERING) or bool(set(read(column.name).words) & NUMBERING)


def _unique(ids: pa.Array | None) -> bool:
    return ids is not None and not ids.null_count and len(distinct(ids)) == len(ids)


def _stem(name: str) -> str:
    """A table's name in the singular, roughly: patients, Patient -> patient; diagnoses -> diagnos."""
    plain = "".join(words(name)).lower()
    for end in ("ies", "es", "s", "e"):
        if plain.endswith(end) and len(plain) > len(end) + 2:
            return plain[: -len(end)]
    return plain


def _named_after(column: str, table: str) -> bool:
    """stay_id, stayId, id_stay of the table stays; or just id."""
    said = [w for w in words(column) if w not in NUMBERING]
    return not said or _stem("".join(said)) == _stem(table)


def _key(name: str, columns: dict[str, pa.Array], table: Table) -> tuple[str, str] | None:
    order = {c: i for i, c in enumerate(table.columns)}
    once = [c for c, ids in columns.items() if _unique(ids)]
    for column in sorted(once, key=lambda c: (not _named_after(c, name), not _personal(c), order[c])):
        why = "its name is that of the table, and " if _named_after(column, name) else ""
        return column, f"{why}every value occurs once"
    for column, ids in columns.items():
        if not len(ids) or not _named_after(column, name):
            continue
        rest = len(ids) - len(distinct(ids))
        if rest <= (1 - _NEARLY) * len(ids):
            return column, f"its name is that of the table; {rest:,} rows repeat a value or have none"
    return None


def _personal(column: str) -> bool:
    return bool(read(column).first("personnumber", "person"))


def _links(
    tables: Mapping[str, Table],
    ids: Mapping[str, dict[str, pa.Array]],
    keys: Mapping[str, str],
    known: Sequence[Link],
    reasons: dict[str, str],
) -> list[Link]:
    links = list(known)
    taken = {(link.child, link.column) for link in known}
    sizes = {n: len(ids[n][k]) for n, k in keys.items() if k in ids[n]}
    found: list[tuple[tuple[bool, bool, int, int], Link]] = []
    for at, child in enumerate(tables):
        for column, values in ids[child].items():
            for parent in sizes:
                if parent == child or (child, column) in taken:
                    continue
                why = _why(child, column, values, parent, keys[parent], ids[parent][keys[parent]], tables)
                if why:
                    own = keys.get(child) == column
                    rank = (own, not _named_after(keys[parent], parent), -sizes[parent], at)
                    found.append((rank, Link(child, column, parent, keys[parent], why)))
    for _, link in sorted(found, key=lambda f: f[0]):
        if (link.child, link.column) in taken or _leads(links, link.parent, link.child):
            continue
        if keys.get(link.child) == link.column and sizes[link.parent] < len(ids[link.child][link.column]):
            continue
        taken.add((link.child, link.column))
        links.append(link)
        reasons[link.place] = link.reason
    return links


def _leads(links: Sequence[Link], start: str, end: str) -> bool:
    """Whether `end` is reached from `start` by going to parents: a further link would close a circle."""
    return start == end or any(_leads(links, k.parent, end) for k in links if k.child == start)


def _why(
    child: str,
    column: str,
    values: pa.Array,
    parent: str,
    key: str,
    keys: pa.Array,
    tables: Mapping[str, Table],
) -> str:
    """Why a column points to a key, in words; empty if it does not seem to."""
    if values.type != keys.type:
        return ""
    same = column.casefold() == key.casefold()
    said = [w for w in words(column) if w not in NUMBERING]
    after = bool(said) and _stem("".join(said)) == _stem(parent)
    if not (same and said) and not after:
        return ""
    said_ids = distinct(values)
    if not len(said_ids):
        return ""
    inside = int((KeyIndex(keys).places(said_ids) >= 0).sum())
    if inside < _MOSTLY * len(said_ids):
        return ""
    name = "it has the name of the key" if same else "it is named after the table"
    missing = len(said_ids) - inside
    contained = (
        "all its values are keys there"
        if not missing
        else f"all but {missing:,} of its values are keys there"
    )
    return f"{name}, and {contained}"


# -- who is a person -----------------------------------------------------------------------------


def _people(
    tables: Mapping[str, Table],
    keys: Mapping[str, str],
    links: tuple[Link, ...],
    apart: frozenset[str],
    reasons: dict[str, str],
) -> Found:
    persons = _person_columns(tables, keys, links, apart, reasons)
    if not persons:  # nobody can be told apart: the schemas stay as they were read
        return Found(keys, links, apart, {n: t.schema for n, t in tables.items()}, reasons)
    reach = set(persons)
    while more := {k.child for k in links if k.parent in reach} - reach:
        reach |= more
    away = {n for n in tables if n not in reach and any(k.parent == n for k in links)}
    schemas = {}
    for name, table in tables.items():
        linked = {k.column for k in links if k.child == name and k.parent not in away}
        own = {keys[name]} if name in keys and name not in away else set()
        schemas[name] = Schema(
            tuple(
                _role(c, persons.get(name), own | linked, name in away, reasons, name) for c in table.schema
            )
        )
    return Found(keys, links, apart | away, schemas, reasons)


def _person_columns(
    tables: Mapping[str, Table],
    keys: Mapping[str, str],
    links: tuple[Link, ...],
    apart: frozenset[str],
    reasons: dict[str, str],
) -> dict[str, str]:
    """The person column of each table that has one; of several roots, the one that names persons."""
    children = {k.child for k in links}
    roots = [n for n in tables if n not in children and n not in apart]
    named = {n: c for n in roots if (c := _person_of(n, tables[n], keys)) is not None}
    named = named or _below_others(tables, keys, links, apart)
    if not named:
        below = {n: _descendants(links, n) for n in roots if n in keys}
        if len(tables) == 1 or not below or not max(below.values()):
            return {n: p[0] for n in tables if len(p := tables[n].schema.of_role(Role.PERSON)) == 1}
        root = max(below, key=lambda n: below[n])
        named = {root: keys[root]}
        reasons[f"{root}.{keys[root]}"] = "most tables hang on it: taken for the person"
    else:
        for n, c in named.items():
            reasons.setdefault(f"{n}.{c}", "its name says a person")
    found = dict(named)
    spelt = {c.casefold() for c in named.values()}
    for link in links:
        if found.get(link.parent) == link.key and link.child not in found:
            found[link.child] = link.column
    for name, table in tables.items():
        same = [c for c in table.columns if c.casefold() in spelt]
        if name not in found and name not in apart and same:
            found[name] = same[0]
    return found


def _below_others(
    tables: Mapping[str, Table], keys: Mapping[str, str], links: tuple[Link, ...], apart: frozenset[str]
) -> dict[str, str]:
    """Patients who point to a hospital: of tables whose key says a person, the one on which most hang."""
    below = {n: _descendants(links, n) for n, k in keys.items() if n not in apart and _personal(k)}
    below = {n: many for n, many in below.items() if many}
    return {n: keys[n] for n in sorted(below, key=lambda n: -below[n])[:1]}


def _person_of(name: str, table: Table, keys: Mapping[str, str]) -> str | None:
    key = keys.get(name)
    if key is not None and (_personal(key) or _personal(name)):
        return key
    said = [
        c.name for c in table.schema if _personal(c.name) and _says_id(c) and id_family(c) and c.name != key
    ]
    guessed = [c for c in table.schema.of_role(Role.PERSON) if c != key]
    return next(iter([*said, *guessed]), None)


def _descendants(links: tuple[Link, ...], name: str) -> int:
    below: set[str] = set()
    while more := {k.child for k in links if k.parent == name or k.parent in below} - below:
        below |= more
    return len(below)


def _role(
    column: Column, person: str | None, keys: set[str], away: bool, reasons: dict[str, str], table: str
) -> Column:
    why = reasons.get(f"{table}.{column.name}", "")
    if why:
        column = replace(column, reason=why, confidence="likely")
    if column.name == person:
        return replace(column, role=Role.PERSON)
    if column.name in keys:
        return replace(column, role=Role.IDENTIFIER)
    if column.role is Role.PERSON:
        role = Role.OTHER if away else Role.IDENTIFIER
        return replace(column, role=role, reason="it repeats, but another column says whose row it is")
    return replace(column, role=Role.OTHER) if away and column.role is Role.IDENTIFIER else column
