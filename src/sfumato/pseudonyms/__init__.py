"""Names out, pseudonyms in: the first step before data are used, never the last before they are published.

A pseudonym depends on a secret key and on the id as text, not on the column's name, the table or the
engine, so tables that share the key can still be joined. The dates of a person can be moved by a secret
number of days, the same for all dates of that person: intervals and ages stay what they were.

What else is in the row stays as it is. Whoever knows enough of it finds the person without the key: this
is not anonymous data, and the claim says so.

`pseudonymize` is here; `recipe` settles what happens to which column before any row is read, `digests` is
what hangs on the key; `linked` does it over a database, `numbers` keeps whole numbers whole. It changes
ids and dates, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

import pyarrow as pa

from sfumato.counts import canonical_type, person_ids
from sfumato.database import Database, confirmed
from sfumato.errors import ParameterError, listed
from sfumato.privacy import Guarantee, NoGuarantee, Pseudonymous
from sfumato.pseudonyms.database import linked_release, settle_linked
from sfumato.pseudonyms.digests import canonical_text, move, pseudonyms, shifts
from sfumato.pseudonyms.faults import checked
from sfumato.pseudonyms.recipe import KEY_NAME, PseudonymRecipe, schema_after, settle
from sfumato.release import DatabaseRelease, InternalRecord, Release, fingerprint_batches, read_key
from sfumato.release.record import RECORD, read_document
from sfumato.release.shuffle import shuffled
from sfumato.schema import Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.table import Table

__all__ = ["KEY_NAME", "canonical_text", "pseudonymize", "pseudonyms"]


@overload
def pseudonymize(
    table: Table,
    *,
    key: Key | str | Path | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    shift_dates: int | None = None,
    person: str | None = None,
    domain: str | Mapping[str, str] = "",
    keep_text: bool = False,
    shuffle: bool = True,
    order_key: Key | None = None,
) -> Release: ...


@overload
def pseudonymize(
    table: Database,
    *,
    key: Key | str | Path | None = None,
    drop: Sequence[str] = (),
    shift_dates: int | None = None,
    keep_text: bool = False,
    shuffle: bool = True,
    order_key: Key | None = None,
    coarsen_dates: str | None = None,
    integers: int | None = None,
) -> DatabaseRelease: ...


def pseudonymize(
    table: Table | Database,
    *,
    key: Key | str | Path | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    shift_dates: int | None = None,
    person: str | None = None,
    domain: str | Mapping[str, str] = "",
    keep_text: bool = False,
    shuffle: bool = True,
    order_key: Key | None = None,
    coarsen_dates: str | None = None,
    integers: int | None = None,
) -> Release | DatabaseRelease:
    """Replace or drop what names people and, if asked, move each person's dates.

    key: a Key, or the folder of an earlier release (its internal/, or the key file itself) to be
        joinable with it; None draws a fresh one. It is saved as internal/pseudonym.key.
    columns: the columns to replace by pseudonyms; by default those of role person, and `person`.
    drop: further columns to leave out. Identifiers that are not replaced are always left out.
    shift_dates: move all dates of a person by the same secret number of days, 1 to this many,
        forwards or backwards. None leaves dates as they are. Days that usually stand for "unknown"
        (1900-01-01) or "no end" (9999-12-31) are refused: moved, they would tell the shift.
    person: the column that says whose row it is, for the dates; by default the one of role person.
    domain: ids of different domains get unrelated pseudonyms although they look alike. One name for
        all columns, or a name by column.
    keep_text: leave free text in, which may name people; by default it is left out with a warning.
    shuffle: put the rows in a secret random order. Files are sorted by name, by ward, by day of admission:
        who knows the order finds persons by their place. False keeps it, and the guarantee says so.
    order_key: the key of that order, to have it again; None draws one for this release alone.

    Of a database every key column of every table is replaced, `drop` is written table.column, and:

    coarsen_dates: "week" or "month": dates are cut down to its first day, since gaps in days identify.
    integers: 32 or 64: keys that are whole numbers stay whole numbers, of that width.

    The table is read once at the call, for its fingerprint and to list all faults before anything is
    written; rows are transformed batch by batch when the release is read or saved.

    >>> import pyarrow as pa
    >>> roles = sf.Schema((sf.Column("patient", "nominal", "person"), sf.Column("days", "numeric")))
    >>> stays = sf.scan(pa.table({"patient": ["A1", "A1", "B2"], "days": [3, 5, 2]}), roles)
    >>> release = sf.pseudonymize(stays)
    >>> "A1" in release.data.to_arrow()["patient"].to_pylist()
    False
    >>> sorted(release.counts("patient").n.tolist())
    [1, 2]
    """
    if isinstance(table, Database):
        _only_of_tables(columns=columns, person=person, domain=domain or None)
        table = confirmed(table)
        linked = settle_linked(
            table, drop=drop, shift_dates=shift_dates, coarsen_dates=coarsen_dates, integers=integers,
            keep_text=keep_text,
        )  # fmt: skip
        secret_key = _key(key, shift_dates, coarsen_dates)
        return linked_release(table, linked, secret_key, shuffle=shuffle, order_key=order_key)
    if coarsen_dates is not None or integers is not None:
        raise ParameterError(
            "coarsen_dates and integers are for linked tables.",
            hint="sf.Database.of(table) makes one of a table",
        )
    if not isinstance(table, Table):
        raise ParameterError("pseudonymize takes a table.", hint="sf.scan(...) makes one")
    recipe = settle(
        table.schema,
        columns=columns,
        drop=drop,
        shift_dates=shift_dates,
        person=person,
        domain=domain,
        keep_text=keep_text,
    )
    return _of_table(table, recipe, _key(key, shift_dates), shuffle, order_key)


def _of_table(
    table: Table, recipe: PseudonymRecipe, shared: Key, shuffle: bool, order_key: Key | None
) -> Release:
    own = Key.fresh()
    # Of its own in every release: two in one order could be laid side by side. A seed is for tests.
    secret = order_key if order_key is not None else shared if shared.seeded else own
    order = secret.derive("pseudonyms", "order") if shuffle else None
    seen = [0]
    named = [(c.name, c.type) for c in table.schema]
    record = InternalRecord(
        key=own,
        keys={KEY_NAME: shared},
        fingerprint=fingerprint_batches(_counted(checked(table, recipe), seen), named, own),
        plan={**recipe.plan(), "shuffle": shuffle},
    )
    return Release(
        _transformed(table, recipe, shared, seen[0], order),
        _guarantee(recipe, shared, shuffle),
        record,
        _about(recipe),
        table.source,
    )


def _only_of_tables(**given: object) -> None:
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise ParameterError(
            f"{listed(named)} cannot be said of a database: its links say what is replaced.",
            hint="roles and links are declared in database.toml",
        )


def _key(key: Key | str | Path | None, days: int | None = None, grain: str | None = None) -> Key:
    if key is None:
        return Key.fresh()
    if isinstance(key, Key):
        return key
    path, file = Path(key), f"{KEY_NAME}.key"
    if path.is_dir():
        path = next((p for p in (path / file, path / "internal" / file) if p.exists()), path / file)
    _require_same_dates(path.parent, days, grain)
    return read_key(path)


def _require_same_dates(internal: Path, days: int | None, grain: str | None) -> None:
    """The dates of one person must not be moved in two ways under one key: they would disagree."""
    if days is None or not (internal / RECORD).is_file():
        return
    plan = read_document(internal).get("plan", {})
    before = plan.get("shift_dates")
    if before is not None and (before, plan.get("coarsen_dates")) != (days, grain):
        cut = f", cut to the {plan['coarsen_dates']}" if plan.get("coarsen_dates") else ""
        raise ParameterError(
            f"the release with this key moved dates by up to {before} days{cut}: moved in another way, "
            "the same "
            "person's dates would disagree, and the difference would narrow both shifts.",
            hint=f"shift_dates={before}, or take a key of its own",
        )


# -- what is promised ----------------------------------------------------------------------------


_SHUFFLED = "Nobody finds a person by the other columns, which are those of the input; rows were shuffled."
_IN_ORDER = (
    "Nobody finds a person by the other columns or the order of the rows: both are those of the input."
)


def _guarantee(recipe: PseudonymRecipe, key: Key, shuffle: bool) -> Guarantee:
    assumptions = [
        "The key stays secret: whoever holds it can find the pseudonym of any id they can guess.",
        _SHUFFLED if shuffle else _IN_ORDER,
    ]
    if recipe.shifted:
        assumptions.append(
            f"Dates ({listed(list(recipe.shifted), 20)}) were moved by 1 to {recipe.max_days} days, "
            "all dates of a person alike. Nobody knows a true date of a person: one gives away all others. "
            "No other release under the same key moves dates by up to another number of days: the "
            "difference would narrow both shifts."
        )
    if recipe.text:
        assumptions.append(
            f"Free text ({listed(list(recipe.text), 20)}) was left as it was, and names nobody."
        )
    if not recipe.replaced:
        nothing = NoGuarantee(
            "only left out", "Columns that name people were left out; all else can still identify."
        )
        return Guarantee.of(nothing.assuming(*assumptions[1:]))
    guarantee = Guarantee.of(Pseudonymous(recipe.replaced).assuming(*assumptions))
    return guarantee.seeded() if key.seeded else guarantee


def _about(recipe: PseudonymRecipe) -> str:
    done = ["what names people was replaced by pseudonyms or left out"]
    if recipe.shifted:
        done.append("the dates of each person were moved by a secret number of days")
    return f"Person-level data in which {' and '.join(done)}. It is not anonymous: treat it as personal data."


def _counted(batches: Iterator[pa.RecordBatch], seen: list[int]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        seen[0] += batch.num_rows
        yield batch


# -- the transformation --------------------------------------------------------------------------


def _transformed(table: Table, recipe: PseudonymRecipe, key: Key, rows: int, order: Key | None) -> Table:
    schema = schema_after(table.schema, recipe)
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        moving = any(n in recipe.shifted for n in names)
        needed = dict.fromkeys([*names, *filter(None, [recipe.person if moving else None])])
        done = (_transform(batch, names, recipe, key, table.schema) for batch in table.batches(list(needed)))
        if order is None:
            yield from done
        else:  # by the number of each row alone, so that any columns come in the same order
            yield from shuffled(done, pa.schema([arrow.field(n) for n in names]), rows, order)

    return Table(
        BatchSource(arrow, read, rows=getattr(table.source, "rows", None)), schema, table.memory_limit
    )


def _transform(
    batch: pa.RecordBatch, names: Sequence[str], recipe: PseudonymRecipe, key: Key, schema: Schema
) -> pa.RecordBatch:
    """Ids that count as the same person get the same pseudonym and the same shift, blank ones none."""
    days = None
    if recipe.person and any(n in recipe.shifted for n in names):
        ids = person_ids(schema[recipe.person], batch.column(recipe.person))
        days = shifts(ids, key, recipe.max_days, domain=recipe.domain(recipe.person))
    out = []
    for name in names:
        array = batch.column(name)
        if name in recipe.replaced:
            array = pseudonyms(person_ids(schema[name], array), key, domain=recipe.domain(name))
        elif name in recipe.shifted and days is not None:
            array = move(array, days)
        out.append(array)
    return pa.RecordBatch.from_arrays(out, names=list(names))
