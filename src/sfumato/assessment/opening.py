"""Any two files as a pair that can be judged: opened, checked, and what was left out said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError, SfumatoError, listed
from sfumato.io import scan
from sfumato.privacy import Guarantee
from sfumato.release import Release
from sfumato.release.manifest import MANIFEST
from sfumato.schema import Kind, Role, Schema
from sfumato.table import Table

_NAMES_PEOPLE = (Role.IDENTIFIER, Role.PERSON)
_SMALL = 50  # rows below which a level per row says nothing
_SHARE = 0.5  # levels per row from which a column names records


def opened(
    data: Any, what: str, *, schema: Schema | str | Path | None = None, keep_text: bool = False
) -> Table:
    """A Table, a Release, the folder of one, or whatever `scan` reads, as a table with rows in it.

    what: how messages call it. schema: names the columns that are read; the others are left out.
    """
    if isinstance(data, Release):
        data = data.data
    if isinstance(data, str | Path) and is_release(data):
        data = Release.load(data).data
    known = Schema.read(schema) if isinstance(schema, str | Path) else schema
    if isinstance(data, Table):
        return data if known is None else data.with_schema(known)
    try:
        if known is None:
            return scan(data, keep_text=keep_text)
        return scan(data, known, columns=known.names, keep_text=True)
    except SfumatoError as error:
        raise type(error)(f"{what}: {error.message}", hint=error.hint, values=error.values) from None


def is_release(path: str | Path) -> bool:
    """Whether a path is the folder of a release, or its public part."""
    folder = Path(path)
    return (folder / "public" / MANIFEST).is_file() or (folder / MANIFEST).is_file()


def guarantee_of(data: Any) -> Guarantee | None:
    """What the released thing promises, if it says so."""
    if isinstance(data, Release):
        return data.guarantee
    if isinstance(data, str | Path) and is_release(data):
        return Release.load(data).guarantee
    return None


@dataclass(frozen=True)
class Opened:
    """What is judged: the tables, reduced to the columns they share, and what was noted on the way."""

    original: Table
    released: Table
    control: Table | None
    columns: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    target: str | None
    weight: str | None
    rows: tuple[int, int]
    notes: tuple[str, ...]


def opened_pair(
    original: Any,
    released: Any,
    *,
    control: Any = None,
    schema: Schema | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> Opened:
    """Open all of them and settle which columns are judged in which part."""
    first = opened(original, "the original", schema=schema, keep_text=True)
    second = opened(released, "the release", keep_text=True)
    third = None if control is None else opened(control, "the control", keep_text=True)
    rows = _rows(first, second, third)
    asked = {
        "quasi_identifiers": _names(quasi_identifiers), "sensitive": _names(sensitive),
        "target": _names(target), "weight": _names(weight),
    }  # fmt: skip
    _require_known(first, asked)
    notes: list[str] = []
    weight = weight or next(iter(first.schema.of_role(Role.WEIGHT)), None)
    chosen = {name for names in asked.values() for name in names}
    shared = _shared(first, second, third, weight, notes)
    columns = _judged(first, shared, chosen, rows[0], notes)
    known = [n for n in (weight,) if n]
    return Opened(
        original=first.select([*columns, *(n for n in known if n not in columns)]),
        released=second.select([*columns, *(n for n in known if n in second.columns and n not in columns)]),
        control=None if third is None else third.select(columns),
        columns=columns,
        quasi_identifiers=_of(
            first, columns, asked["quasi_identifiers"], Role.QUASI_IDENTIFIER, notes, schema is not None
        ),
        sensitive=_of(first, columns, asked["sensitive"], Role.SENSITIVE, notes, schema is not None),
        target=target if target in columns else None,
        weight=weight,
        rows=rows,
        notes=tuple(notes),
    )


def _names(given: Sequence[str] | str | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _rows(first: Table, second: Table, third: Table | None) -> tuple[int, int]:
    tables = {"original": first, "release": second} | ({} if third is None else {"control": third})
    counted = {name: table.rows() for name, table in tables.items()}
    empty = [name for name, rows in counted.items() if not rows]
    if empty:
        raise DataError(
            f"the {' and the '.join(empty)} {'has' if len(empty) == 1 else 'have'} no rows.",
            hint="an empty release gives nothing away and keeps nothing; give a file with rows",
        )
    return counted["original"], counted["release"]


def _require_known(table: Table, asked: dict[str, tuple[str, ...]]) -> None:
    unknown = [f"{name!r} ({part})" for part, names in asked.items() for name in names if name not in table.schema]
    if unknown:
        raise ParameterError(
            f"the original has no column {listed(unknown)}.",
            hint=f"it has {listed([repr(n) for n in table.columns])}",
        )


def _shared(
    first: Table, second: Table, third: Table | None, weight: str | None, notes: list[str]
) -> list[str]:
    """The columns both files have; what one of them lacks is said."""
    shared = [n for n in first.columns if n in second.schema and n != weight]
    if not shared:
        raise DataError(
            "the original and the release have no column in common.",
            hint=f"the original has {listed([repr(n) for n in first.columns])}; "
            f"the release has {listed([repr(n) for n in second.columns])}; rename those that mean the same",
        )
    only = [repr(n) for n in first.columns if n not in second.schema and n != weight]
    new = [repr(n) for n in second.columns if n not in first.schema]
    if only:
        notes.append(f"In the original only, so not compared: {listed(only)}.")
    if new:
        notes.append(f"In the release only, so not compared: {listed(new)}.")
    if third is not None:
        absent = [repr(n) for n in shared if n not in third.schema]
        if absent:
            raise DataError(
                f"the control lacks {listed(absent)}.",
                hint="a control has the columns of the original, of people who are not in it",
            )
    return shared


def _judged(first: Table, shared: list[str], chosen: set[str], rows: int, notes: list[str]) -> tuple[str, ...]:
    """Shared columns without names, numbers of records and free text: they are not compared, and said."""
    named = [n for n in shared if first.schema[n].role in _NAMES_PEOPLE and n not in chosen]
    text = [n for n in shared if first.schema[n].kind is Kind.TEXT and n not in chosen and n not in named]
    rest = [n for n in shared if n not in named and n not in text]
    numbered = list(_numbered(first, [n for n in rest if n not in chosen], rows))
    if named:
        notes.append(f"Columns that name people or records are not compared: {_quoted(named)}.")
    if text:
        notes.append(f"Columns of free text are not compared: {_quoted(text)}.")
    if numbered:
        notes.append(
            f"Columns with a value of its own for most rows are not compared: {_quoted(numbered)}. "
            "Name them as quasi-identifiers to have them judged."
        )
    left = tuple(n for n in rest if n not in numbered)
    if not left:
        raise DataError(
            "no shared column is left to compare: they name people or records, or are free text.",
            hint="say which columns an intruder may know: quasi_identifiers=[...]",
        )
    return left


def _numbered(table: Table, names: Iterable[str], rows: int) -> Iterable[str]:
    open_ = [n for n in names if table.schema[n].kind is Kind.NOMINAL and not table.schema[n].declared]
    if rows < _SMALL or not open_:
        return
    for name, book in table.codebooks(open_).items():
        if book.size > _SHARE * rows:
            yield name


def _of(
    table: Table, columns: Sequence[str], asked: tuple[str, ...], role: Role, notes: list[str], declared: bool
) -> tuple[str, ...]:
    """The columns of a role: as asked, or as the schema says."""
    if asked:
        absent = [repr(n) for n in asked if n not in columns]
        if absent:
            notes.append(f"Not in the release, so not used as {role}: {listed(absent)}.")
        return tuple(n for n in asked if n in columns)
    found = tuple(n for n in table.schema.of_role(role) if n in columns)
    if found and not declared and not all(table.schema[n].confirmed for n in found):
        notes.append(f"Taken for {role} by their names and values, unconfirmed: {_quoted(found)}.")
    return found


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(n) for n in names])
