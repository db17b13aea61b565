"""Pseudonyms and dates over linked tables: one key, every key column of every table, one shift per person.

Guarantee: `Pseudonymous` for every key column of every table that holds persons; equal ids have equal
           pseudonyms in all of them, so that every join stays, and all dates of a person move by the same
           secret number of days.
Because:   a pseudonym hangs on the key, on whose key the column is, and on the id (`digests`, `numbers`);
           a shift hangs on the key and on the person, whom every row reaches through its parents
           (`database.people`).
Assumes:   what the claim says: the key stays secret, and nobody finds a person by the rest, the sequence
included. Tested by: tests/database/test_linked_pseudonyms.py
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from sfumato.counts import canonical_type
from sfumato.database import Database, PersonDays, Reference
from sfumato.errors import ParameterError, SfumatoWarning, listed
from sfumato.privacy import Guarantee, Pseudonymous
from sfumato.pseudonyms.digests import shifts
from sfumato.pseudonyms.faults import checked
from sfumato.pseudonyms.linked_cells import HeldPseudonyms, cell, pointing, stays_whole
from sfumato.pseudonyms.numbers import WIDTHS
from sfumato.pseudonyms.recipe import (
    KEY_NAME,
    LinkedRecipe,
    PseudonymRecipe,
    date_columns,
    days_of,
    schema_after,
)
from sfumato.release import InternalRecord, fingerprint_batches
from sfumato.release.database import DatabaseRelease
from sfumato.release.shuffle import shuffled
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.table import Table

GRAINS = ("week", "month")
_DRAWN = 65_536  # persons whose days are drawn at once


def settle_linked(
    database: Database,
    *,
    drop: Sequence[str] = (),
    shift_dates: int | None = None,
    coarsen_dates: str | None = None,
    integers: int | None = None,
    keep_text: bool = False,
) -> LinkedRecipe:
    """Decide for each column of each table: keys are replaced, what else names people is left out."""
    days = days_of(shift_dates)
    if integers is None and database.form.startswith("omop"):
        integers = WIDTHS[0]  # its keys are whole numbers, of 32 bits where tables are made as it says
    faults = []
    if coarsen_dates is not None and coarsen_dates not in GRAINS:
        faults.append(f"coarsen_dates must be one of {', '.join(GRAINS)}")
    if integers is not None and integers not in WIDTHS:
        faults.append("integers must be 32 or 64: the width of the keys")
    places = {f"{n}.{c}" for n, t in database.tables.items() for c in t.columns}
    unknown = [p for p in drop if p not in places]
    if unknown:
        faults.append(f"no column {listed(unknown)}: write table.column")
    if not any(database.route(n) for n in database.tables):
        faults.append("no column of any table has the role person")
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="see docs/database.md")
    domains = key_domains(database)
    lost = [p for p in drop if p in domains and _joins(database, p)]
    if lost:
        raise ParameterError(f"tables are joined by {listed(lost)}: it cannot be left out.")
    tables, text = {}, []
    for name, table in database.tables.items():
        if is_copied(database, name):
            continue
        keys = {c for c in table.columns if f"{name}.{c}" in domains}
        gone = {p.partition(".")[2] for p in drop if p.startswith(f"{name}.")}
        naming = {*table.schema.of_role(Role.IDENTIFIER), *table.schema.of_role(Role.PERSON)}
        free = {c.name for c in table.schema if c.kind is Kind.TEXT} - keys - gone
        text += [f"{name}.{c}" for c in sorted(free)]
        dropped = gone | (naming - keys) | (set() if keep_text else free)
        dated = (days or coarsen_dates) and name not in database.apart
        moved = date_columns(table.schema, keys | dropped) if dated else ()
        tables[name] = PseudonymRecipe(
            tuple(c for c in table.columns if c in keys - gone),
            tuple(c for c in table.columns if c in dropped),
            moved, tuple(sorted(free)) if keep_text else (), None, days,
            {c: domains[f"{name}.{c}"] for c in keys},
        )  # fmt: skip
    if text and not keep_text:
        warnings.warn(
            f"free text is left out: {listed(text)}; keep_text=True keeps it.", SfumatoWarning, stacklevel=3
        )
    if (days or coarsen_dates) and not any(r.shifted for r in tables.values()):
        raise ParameterError(
            "no column of any table holds dates.", hint="give them the type date in the schema"
        )
    references = {r.place: r for r in database.references if r.place not in drop}
    return LinkedRecipe(tables, domains, days, coarsen_dates or "", integers, references)


def is_copied(database: Database, name: str) -> bool:
    """Whether a table leaves as it is: no persons in it, and no column that names somebody or something."""
    return name in database.apart and not database.tables[name].schema.of_role(Role.IDENTIFIER)


def key_domains(database: Database) -> dict[str, str]:
    """Every key column that is replaced, and whose key it is.

    Keys of tables without persons stay, unless their role says that they identify (a doctor, a ward).
    """
    found: dict[str, str] = {}
    for name in database.order:
        if is_copied(database, name):
            continue
        person = database.person_column(name) if name not in database.apart else None
        points = database.points(name)
        for column in database.key_columns[name]:
            way = points.get(column)
            if column == person:
                found[f"{name}.{column}"] = ""
            elif way is None or isinstance(way, Reference):
                found[f"{name}.{column}"] = f"{name}.{column}"
            elif not is_copied(database, way.parent):
                found[f"{name}.{column}"] = found[way.target]
    return found


def _joins(database: Database, place: str) -> bool:
    needed = {k for n in database.tables if (k := database.route(n))}
    return any(place in (k.place, k.target) for k in database.links) or any(
        isinstance(way, Reference) and place in (way.place, f"{way.child}.{way.by}") for _, way in needed
    )


# -- the release ---------------------------------------------------------------------------------


def linked_release(
    database: Database, recipe: LinkedRecipe, key: Key, *, shuffle: bool, order_key: Key | None
) -> DatabaseRelease:
    """Every table transformed when it is read; all faults of all tables are listed before."""
    own = Key.fresh()
    secret = order_key if order_key is not None else key if key.seeded else own
    rows, prints = looked_over(database, recipe, own)
    tables, days, known = {}, person_days(database, recipe, key), HeldPseudonyms(database, recipe, key)
    for name, table in database.tables.items():
        if is_copied(database, name):
            tables[name] = table
            continue
        order = secret.derive("pseudonyms", "order", name) if shuffle else None
        tables[name] = transformed(database, name, recipe, known, days, rows[name], order)
    record = InternalRecord(
        key=own,
        keys={KEY_NAME: key},
        plan={**recipe.plan(), "shuffle": shuffle},
        extra={"fingerprints": prints},
    )
    guarantee = Guarantee.of(Pseudonymous(recipe.replaced).assuming(*assumptions(database, recipe, shuffle)))
    return DatabaseRelease(
        replace(database, tables=tables, references=tuple(recipe.references.values())),
        guarantee.seeded() if key.seeded else guarantee,
        record,
        _about(recipe),
    )


def looked_over(database: Database, recipe: LinkedRecipe, own: Key) -> tuple[dict[str, int], dict[str, str]]:
    """One reading of every table: its rows, its fingerprint, and all that is wrong with its dates and ids."""
    from sfumato.errors import DataError

    rows, prints, faults, hints = {}, {}, [], []
    database.check()
    for name, table in database.tables.items():
        if is_copied(database, name):
            continue
        seen = [0]
        named = [(c.name, c.type) for c in table.schema]
        try:
            prints[name] = fingerprint_batches(
                _counted(checked(table, recipe.tables[name], recipe.integers), seen), named, own
            )
        except DataError as error:
            faults.append(f"{name}: {error.message.rstrip('.')}")
            hints.append(error.hint)
        rows[name] = seen[0]
    if faults:
        raise DataError(f"{'; '.join(faults)}.", hint="; ".join(dict.fromkeys(hints)))
    return rows, prints


def _counted(batches: Iterator[pa.RecordBatch], seen: list[int]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        seen[0] += batch.num_rows
        yield batch


def linked_schema(schema: Schema, recipe: PseudonymRecipe, linked: LinkedRecipe) -> Schema:
    """The schema of a table afterwards."""
    after = schema_after(schema, recipe)

    def column(c: Column) -> Column:
        if c.name in recipe.replaced and stays_whole(schema[c.name], linked):
            return replace(c, type="integer")
        return replace(c, edges=None) if c.name in recipe.shifted and linked.grain else c

    return Schema(tuple(column(c) for c in after))


def transformed(
    database: Database, name: str, recipe: LinkedRecipe, known: HeldPseudonyms, days: PersonDays,
    rows: int, order: Key | None,
) -> Table:  # fmt: skip
    """A table with pseudonyms and moved dates, made batch by batch when it is read."""
    table, own, people = database.tables[name], recipe.tables[name], database.people
    schema = linked_schema(table.schema, own, recipe)
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        def done() -> Iterator[pa.RecordBatch]:
            kinds = [r.by for n in names if (r := recipe.references.get(f"{name}.{n}"))]
            for batch, numbers in people.batches(name, list(dict.fromkeys([*names, *kinds]))):
                arrays = [
                    pointing(table.schema[n], batch, r, database, recipe, known)
                    if (r := recipe.references.get(f"{name}.{n}"))
                    else cell(table.schema[n], batch.column(n), own, recipe, known, days, numbers)
                    for n in names
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema([arrow.field(n) for n in names]))

        if order is None:
            yield from done()
        else:
            yield from shuffled(done(), pa.schema([arrow.field(n) for n in names]), rows, order)

    return Table(BatchSource(arrow, read, rows=rows), schema, table.memory_limit)


def person_days(database: Database, recipe: LinkedRecipe, key: Key) -> PersonDays:
    """How many days the dates of each person are moved by; zeros where none are."""
    people = database.people
    if not recipe.max_days or people.ids is None:
        return PersonDays((), people.count)
    drawn = (shifts(ids, key, recipe.max_days, domain="") for ids in people.ids.in_order(_DRAWN))
    return PersonDays((days.to_numpy(zero_copy_only=False) for days in drawn), people.count)


# -- what is promised ----------------------------------------------------------------------------


def assumptions(database: Database, recipe: LinkedRecipe, shuffle: bool) -> list[str]:
    """What the pseudonyms rest on: who holds the key, and what of a person's sequence remains."""
    found = ["The key stays secret: whoever holds it can find the pseudonym of any id they can guess."]
    rows = "rows were shuffled" if shuffle else "the order of the rows is that of the input"
    found.append(
        "Nobody finds a person by the other columns, or by the sequence of a person's records: how many "
        "there are "
        f"in each table, which belong together, their codes and the gaps between their dates remain; {rows}."
    )
    if recipe.max_days:
        found.append(
            f"Dates ({listed(list(recipe.shifted), 20)}) were moved by 1 to {recipe.max_days} days, all "
            "dates of a person "
            "in all tables alike. Nobody knows a true date of a person: one gives away all others. No other "
            "release under the same key moves dates by up to another number of days."
        )
    if recipe.grain:
        words = f"Dates were cut to the first day of their {recipe.grain}; gaps are known to about that"
        found.append(f"{words}; two or three such gaps of a person may still be unique.")
    elif recipe.max_days:
        found.append(
            "Gaps in days are as they were: two of them single out many people who have several stays."
        )
    copied = [n for n in sorted(database.apart) if is_copied(database, n)]
    if copied:
        found.append(f"Tables without persons ({listed(copied)}) are as they were.")
    return found


def _about(recipe: LinkedRecipe) -> str:
    dates = " and the dates of each person were moved by a secret number of days" if recipe.max_days else ""
    return (
        f"Linked tables of person-level data in which keys were replaced by pseudonyms{dates}. They are not "
        "anonymous: treat them as personal data."
    )
