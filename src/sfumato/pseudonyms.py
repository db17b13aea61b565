"""Names out, pseudonyms in: the first step before data are used, and never the last before they are published.

A pseudonym is the HMAC-SHA-256 of an id under a secret key, cut to 160 bits and written in 32 letters and
digits (base32). It depends on the key and on the id as text, not on the column's name, the table or the
engine, so tables that share the key can still be joined. The dates of a person can be moved by a secret
number of days, the same for all dates of that person, so that intervals and ages stay what they were.

What else is in the row stays as it is. Whoever knows enough of it finds the person without the key: this is
not anonymous data, and the claim says so.
"""

from __future__ import annotations

import hmac
import struct
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.codebook import canonical_type
from sfumato.errors import DataError, ParameterError, SfumatoWarning, listed
from sfumato.privacy.guarantee import Claim, Guarantee, NoGuarantee, Pseudonymous
from sfumato.release import InternalRecord, Release, fingerprint_batches, read_key, versions
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.seeds import Key
from sfumato.sources import BatchSource
from sfumato.table import Table

KEY_NAME = "pseudonym"
MOST_DAYS = 36_525
_BITS = 160
_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", np.uint8)
_DATES = {"date", "datetime", "instant"}
_DAY_US = 86_400_000_000
_FIRST, _LAST = date.min.toordinal() - 719_163, date.max.toordinal() - 719_163  # days since 1970-01-01


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
) -> Release:
    """Drop or replace what names people, and, if asked, move each person's dates.

    key: a Key, or the folder of an earlier release (or its internal/, or the key file itself) to be
        joinable with it; None draws a fresh one. It is saved in internal/pseudonym.key.
    columns: the columns to replace by pseudonyms; by default those of role person.
    drop: further columns to leave out. Identifiers that are not replaced are always left out.
    shift_dates: move all dates of a person by the same secret number of days, from 1 to this many,
        forwards or backwards. None leaves dates as they are.
    person: the column that says whose row it is, for the dates; by default the one of role person.
    domain: ids of different domains get unrelated pseudonyms although they look alike: one name for all
        columns, or a name by column.
    keep_text: leave free text in. It may name people; by default it is left out with a warning.

    Reads the table once at the call, for its fingerprint and to list all faults before anything is
    written; the rows are transformed batch by batch when the release is read or saved.
    """
    secret = _key(key)
    recipe = _recipe(table.schema, columns, drop, shift_dates, person, domain, keep_text)
    record = InternalRecord(
        keys={KEY_NAME: secret},
        plan={"method": "pseudonymize", **recipe.plan()},
        versions=versions(),
    )
    watched = _checked(table, recipe)
    named = [(c.name, c.type) for c in table.schema]
    record = replace(record, fingerprint=fingerprint_batches(watched, named, record.key))
    return Release(
        data=_transformed(table, recipe, secret),
        guarantee=Guarantee((_claim(recipe, secret),)),
        internal=record,
        about=_about(recipe),
        like=table.source,
    )


# -- what to do ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Recipe:
    """What happens to which column."""

    replaced: tuple[str, ...]
    dropped: tuple[str, ...]
    shifted: tuple[str, ...]
    max_days: int
    person: str | None
    domains: Mapping[str, str]
    text: tuple[str, ...]

    def domain(self, column: str) -> str:
        return self.domains.get(column, self.domains.get("", ""))

    def plan(self) -> dict[str, object]:
        return {
            "columns": self.replaced,
            "drop": self.dropped,
            "shift_dates": self.max_days or None,
            "shifted": self.shifted,
            "person": self.person,
            "domain": self.domains,
        }


def _recipe(
    schema: Schema,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    shift_dates: int | None,
    person: str | None,
    domain: str | Mapping[str, str],
    keep_text: bool,
) -> _Recipe:
    domains = {"": domain} if isinstance(domain, str) else dict(domain)
    replaced = tuple(schema.of_role(Role.PERSON) if columns is None else columns)
    schema.require([*replaced, *drop, *(n for n in domains if n), *([] if person is None else [person])])
    both = sorted(set(drop) & set(columns or ()))
    if both:
        raise ParameterError(
            f"both replaced and dropped: {listed([repr(n) for n in both])}.", hint="name each column once"
        )
    replaced = tuple(n for n in schema.names if n in set(replaced) - set(drop))
    names_people = {*schema.of_role(Role.IDENTIFIER), *schema.of_role(Role.PERSON)}
    text = tuple(c.name for c in schema if c.kind is Kind.TEXT and c.name not in {*replaced, *drop, *names_people})
    gone = {*drop, *(names_people - set(replaced)), *(() if keep_text else text)}
    if not replaced and not gone and shift_dates is None:
        raise ParameterError(
            "no column names people: none has the role identifier or person.",
            hint='set the roles in the schema, or name the columns: columns=["patient"]',
        )
    if text and not keep_text:
        warnings.warn(
            f"free text left out: {listed([repr(n) for n in text])}; keep_text=True keeps it.",
            SfumatoWarning,
            stacklevel=3,
        )
    shifted = () if shift_dates is None else _date_columns(schema, gone, replaced)
    return _Recipe(
        replaced=replaced,
        dropped=tuple(n for n in schema.names if n in gone),
        shifted=shifted,
        max_days=_days(shift_dates),
        person=None if shift_dates is None else _person(schema, person),
        domains=domains,
        text=text if keep_text else (),
    )


def _date_columns(schema: Schema, gone: set[str], replaced: Sequence[str]) -> tuple[str, ...]:
    shifted = tuple(c.name for c in schema if c.type in _DATES and c.name not in {*gone, *replaced})
    if not shifted:
        raise ParameterError("shift_dates: no column holds dates.", hint="give the dates the type date in the schema")
    return shifted


def _days(shift_dates: int | None) -> int:
    if shift_dates is None:
        return 0
    if isinstance(shift_dates, bool) or not isinstance(shift_dates, int) or not 1 <= shift_dates <= MOST_DAYS:
        raise ParameterError(f"shift_dates must be a whole number of days from 1 to {MOST_DAYS}.", hint="365")
    return shift_dates


def _person(schema: Schema, person: str | None) -> str:
    found = schema.of_role(Role.PERSON) if person is None else (person,)
    if len(found) != 1:
        raise ParameterError(
            f"shift_dates needs the column that says whose row it is; {len(found)} have the role person.",
            hint='person="patient"',
        )
    return found[0]


def _key(key: Key | str | Path | None) -> Key:
    if key is None:
        return Key.fresh()
    if isinstance(key, Key):
        return key
    path, file = Path(key), f"{KEY_NAME}.key"
    if path.is_dir():
        path = next((p for p in (path / file, path / "internal" / file) if p.exists()), path / file)
    return read_key(path)


def _claim(recipe: _Recipe, key: Key) -> Claim:
    if key.seeded:
        return NoGuarantee("seeded: whoever guesses the seed has the key, and with it every id and every date")
    return Pseudonymous(columns=recipe.replaced, assumptions=_assumptions(recipe))


def _assumptions(recipe: _Recipe) -> tuple[str, ...]:
    said = [
        "The key stays secret: whoever holds it can find the pseudonym of any id they can guess.",
        "All other columns are as they were, and the rows stand in the order of the input: who knows some "
        "of a person's values can find that person. This is not anonymous data.",
    ]
    if recipe.replaced:
        said.append("All rows of a person carry the same pseudonym, in every table made with the same key.")
    if recipe.shifted:
        said.append(
            f"Dates ({listed(list(recipe.shifted))}) are moved by 1 to {recipe.max_days} days, alike within a "
            "person: one true date of a person gives away all others."
        )
    if recipe.text:
        said.append(f"Free text ({listed(list(recipe.text))}) is as it was, and may name people.")
    return tuple(said)


def _about(recipe: _Recipe) -> str:
    parts = ["Person-level data in which names of people were replaced by pseudonyms or left out"]
    if recipe.shifted:
        parts.append("and the dates of each person were moved by a secret number of days")
    return " ".join(parts) + ". It is not anonymous: treat it as personal data."


# -- one reading for the faults ------------------------------------------------------------------


def _checked(table: Table, recipe: _Recipe) -> Iterator[pa.RecordBatch]:
    """The input's batches; at their end, all faults at once."""
    nobody, outside = 0, dict.fromkeys(recipe.shifted, 0)
    unsafe = {n: 0 for n in (*recipe.replaced, *filter(None, [recipe.person])) if table.schema[n].type == "real"}
    for batch in table.batches():
        if recipe.person is not None:
            nobody += batch.column(recipe.person).null_count
        for name in recipe.shifted:
            days = _as_days(batch.column(name))
            low, high = _FIRST + recipe.max_days, _LAST - recipe.max_days
            outside[name] += _true(pc.or_(pc.less(days, low), pc.greater(days, high)))
        for name in unsafe:
            unsafe[name] += _true(pc.greater_equal(pc.abs(batch.column(name)), 2.0**53))
        yield batch
    _refuse(nobody, outside, unsafe, recipe)


def _true(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _refuse(nobody: int, outside: Mapping[str, int], unsafe: Mapping[str, int], recipe: _Recipe) -> None:
    faults, hints = [], []
    if nobody:
        faults.append(f"{nobody} row{'s' * (nobody > 1)} without a value in '{recipe.person}', whose dates cannot be moved")
        hints.append("leave those rows out first")
    if any(outside.values()):
        named = [f"'{n}' ({found})" for n, found in outside.items() if found]
        faults.append(f"dates within {recipe.max_days} days of the calendar's end: {listed(named)}")
        hints.append("list codes such as 9999-12-31 in missing_codes: a code that moves gives the shift away")
    if any(unsafe.values()):
        named = [f"'{n}' ({found})" for n, found in unsafe.items() if found]
        faults.append(f"ids stored as real numbers too large to be told apart: {listed(named)}")
        hints.append("read them as text")
    if faults:
        raise DataError(f"{'; '.join(faults)}.", hint="; ".join(hints))


# -- the transformation --------------------------------------------------------------------------


def _transformed(table: Table, recipe: _Recipe, key: Key) -> Table:
    kept = table.schema.drop(recipe.dropped)
    schema = Schema(tuple(_after(c, recipe) for c in kept))
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        moves = [n for n in names if n in recipe.shifted]
        extra = [recipe.person] if moves and recipe.person not in names else []
        for batch in table.batches([*names, *filter(None, extra)]):
            yield _transform(batch, names, recipe, key)

    source = BatchSource(arrow, read, rows=getattr(table.source, "rows", None))
    return replace(table, source=source, schema=schema)


def _transform(batch: pa.RecordBatch, names: Sequence[str], recipe: _Recipe, key: Key) -> pa.RecordBatch:
    moves = any(n in recipe.shifted for n in names)
    days = _shifts(batch.column(recipe.person), key, recipe) if moves and recipe.person else None
    out = []
    for name in names:
        array = batch.column(name)
        if name in recipe.replaced:
            array = pseudonyms(array, key, domain=recipe.domain(name))
        elif name in recipe.shifted and days is not None:
            array = _move(array, days)
        out.append(array)
    return pa.RecordBatch.from_arrays(out, names=list(names))


def _after(column: Column, recipe: _Recipe) -> Column:
    """The column as it is afterwards: a domain of names or of days does not hold any more."""
    if column.name in recipe.replaced:
        said = f"{column.description} (pseudonym)".strip()
        kind = Kind.NOMINAL if column.kind is not Kind.TEXT else column.kind
        return Column(column.name, kind, column.role, "text", missing=column.missing, description=said)
    if column.name in recipe.shifted:
        return replace(column, levels=None, labels={}, edges=_widened(column, recipe.max_days))
    return column


def _widened(column: Column, days: int) -> tuple[date, ...] | None:
    """Bins of dates, the outer ones wide enough for what was moved over their edge."""
    if column.edges is None:
        return None
    first, *inner, last = (e for e in column.edges if isinstance(e, date))
    try:
        return (first - timedelta(days), *inner, last + timedelta(days))
    except OverflowError:
        return None


# -- pseudonyms ----------------------------------------------------------------------------------


def pseudonyms(values: pa.Array, key: Key, *, domain: str = "") -> pa.Array:
    """The pseudonym of each value, missing for missing."""
    raw = key.derive(KEY_NAME, domain).raw
    ids = values.dictionary_encode()
    digests = b"".join(
        hmac.digest(raw, canonical_text(v).encode(), "sha256")[: _BITS // 8] for v in ids.dictionary.to_pylist()
    )
    return _base32(digests, len(ids.dictionary)).take(ids.indices)


def canonical_text(value: object) -> str:
    """The text an id is known by, whatever type an engine or a file gave it.

    7, 7.0, Decimal("7.00") and "7" are the same id, because the same number is stored as each of them
    in practice; "007" is another one. Text counts as it stands (case, spaces and leading zeros
    included), but one letter is one letter however Unicode composes it (NFC).
    """
    match value:
        case str():
            return unicodedata.normalize("NFC", value)
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case Decimal():
            return format(value.normalize(), "f")
        case datetime() if value.tzinfo is not None:
            return value.astimezone(timezone.utc).isoformat()  # noqa: UP017
        case date():
            return value.isoformat()
    return str(value)


def _base32(raw: bytes, n: int) -> pa.Array:
    """n blocks of 160 bits as text of 32 characters each."""
    width = _BITS // 5
    bits = np.unpackbits(np.frombuffer(raw, np.uint8)).reshape(n * width, 5)
    letters = _ALPHABET[bits @ np.array([16, 8, 4, 2, 1], np.uint8)]
    ends = np.arange(n + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.string(), n, [None, pa.py_buffer(ends), pa.py_buffer(letters.tobytes())])


# -- dates ---------------------------------------------------------------------------------------


def _shifts(person: pa.Array, key: Key, recipe: _Recipe) -> pa.Array:
    """Days to add to the dates of each row."""
    raw = key.derive("date-shift", recipe.domain(recipe.person or ""), recipe.max_days).raw
    ids = person.dictionary_encode()
    days = [shift_of(raw, canonical_text(v), recipe.max_days) for v in ids.dictionary.to_pylist()]
    return pa.array(days, pa.int64()).take(ids.indices)


def shift_of(raw: bytes, person: str, max_days: int) -> int:
    """Uniform on -max_days .. -1, 1 .. max_days: no one's dates stay as they are.

    64-bit words are drawn until one lies below a multiple of the range, so no value is more likely.
    """
    span = 2 * max_days
    limit = 2**64 - 2**64 % span
    for block in count():
        digest = hmac.digest(raw, block.to_bytes(4, "big") + person.encode(), "sha256")
        for word in struct.unpack(">4Q", digest):
            if word < limit:
                offset = word % span
                return offset - max_days if offset < max_days else offset - max_days + 1
    raise AssertionError("unreachable: a word is refused with probability below one half")


def _as_days(array: pa.Array) -> pa.Array:
    """Days since 1970 of dates, datetimes and instants."""
    if pa.types.is_date32(array.type):
        return array.cast(pa.int32()).cast(pa.int64())
    return pc.floor(pc.divide(array.cast(pa.int64()).cast(pa.float64(), safe=False), float(_DAY_US)))


def _move(array: pa.Array, days: pa.Array) -> pa.Array:
    """Dates that many days later. The time of day stays: wall-clock time, or UTC for instants."""
    if pa.types.is_date32(array.type):
        return pc.add(array.cast(pa.int32()).cast(pa.int64()), days).cast(pa.int32()).cast(array.type)
    return pc.add(array.cast(pa.int64()), pc.multiply(days, _DAY_US)).cast(array.type)
