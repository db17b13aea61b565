"""What is judged, as the user gave it, and as it stands once the files are opened and checked.

`Subject` is one value that every step hands on; `Files` are its tables, reduced to the columns they share,
with what was left out said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.assessment.reading.files import is_release, meanings, opened
from sfumato.assessment.reading.layout import relaid
from sfumato.assessment.reading.matching import match_columns, understood
from sfumato.assessment.reading.people import all_alike, everyone
from sfumato.assessment.reading.unread import unread
from sfumato.assessment.reading.weights import kept_apart, survey_weight
from sfumato.assessment.thresholds import ALPHA
from sfumato.counts import type_name
from sfumato.errors import DataError, ParameterError, listed, offered
from sfumato.hierarchy import Hierarchy
from sfumato.release import Release
from sfumato.release.dictionary import LevelsSeen, may_leave
from sfumato.release.fingerprint import fingerprint
from sfumato.schema import Kind, Role, Schema, Value
from sfumato.seeds import Key
from sfumato.table import Table

if TYPE_CHECKING:
    from sfumato.assessment.attacks.fellegi_sunter import AttackDatabase
    from sfumato.assessment.audit import Audit
    from sfumato.assessment.utility.models import Model

_NAMES_PEOPLE = (Role.IDENTIFIER, Role.PERSON)
_SMALL = 50  # rows below which a level per row says nothing
_SHARE = 0.5  # levels per row from which a column names records

EFFORTS = ("quick", "normal", "thorough")
Hierarchies = str | Path | Mapping[str, Hierarchy | Mapping[str, Sequence[Value]]]
Maker = Callable[..., Any]
"""(table, key) -> a Release or a table."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """An original and a release, and what is known of them: see `assess` for what each field means."""

    original: Any
    released: Any
    control: Any = None
    schema: Schema | str | Path | None = None
    quasi_identifiers: Sequence[str] | None = None
    sensitive: Sequence[str] | None = None
    target: str | None = None
    weight: str | None = None
    population: Any = None
    hierarchies: Hierarchies | None = None
    truth: str | None = None
    key: Key | None = None
    effort: str = "normal"
    database: AttackDatabase | None = None
    formulas: Mapping[str, Model] | None = None
    earlier: Sequence[Any] = ()
    maker: Maker | None = None
    audit: Audit | Sequence[Audit] | None = None
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        from sfumato.assessment.audit import Audit

        faults = []
        if self.effort not in EFFORTS:
            faults.append((f"effort is one of {', '.join(EFFORTS)}", "effort='normal'"))
        if self.truth not in (None, "rows"):
            faults.append(("truth is 'rows' or None", "'rows': row i was made of row i"))
        if self.maker is not None and not callable(self.maker):
            faults.append(("maker must be a function", "maker=lambda table, key: ..."))
        if not all(isinstance(a, Audit) for a in self.audits):
            faults.append(("audit is not what sf.audit gives back", "audit=sf.audit(mechanism, ...)"))
        if isinstance(self.earlier, str | Path) or not isinstance(self.earlier, Sequence):
            faults.append(("earlier is a list of releases", "earlier=['first.csv']"))
        if not isinstance(self.alpha, int | float) or not 0 < self.alpha < 0.5:
            faults.append(("alpha lies between 0 and 0.5", "alpha=0.01"))
        if faults:
            words, hints = zip(*faults, strict=True)
            raise ParameterError(f"{'; '.join(words)}.", hint="; ".join(hints))

    @property
    def audits(self) -> tuple[Audit, ...]:
        """The audits that were given."""
        if self.audit is None:
            return ()
        return tuple(self.audit) if isinstance(self.audit, Sequence) else (self.audit,)


@dataclass(frozen=True)
class Earlier:
    """What was released before: of the same people, or of the original of then."""

    released: Table
    original: Table | None = None


@dataclass(frozen=True)
class Files:
    """What is judged: the tables, reduced to the columns they share, and what was noted on the way."""

    original: Table
    released: Table
    written: Table  # the release without what only an intruder would undo
    control: Table | None
    columns: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    target: str | None
    weight: str | None
    rows: tuple[int, int]
    notes: tuple[str, ...]
    whole: Table  # the original with all its columns
    release: Table  # the release with all its columns, read as the original's
    outside: Table | None  # the control with all its columns
    lost: tuple[str, ...]  # quasi-identifiers that were named, or guessed, and are not in the release
    unread: Mapping[str, float]  # the share of cells that nobody understood, by released column
    learnt: bool  # whether codes were read by every other original: only the rest tell of copies
    published: Schema  # of all released columns, compared or not, as it may leave with them
    earlier: tuple[Earlier, ...] = ()


def open_files(subject: Subject) -> Files:
    """Open all of them and settle which columns are judged in which part."""
    first = opened(subject.original, "the original", schema=subject.schema, keep_text=True)
    given = opened(subject.released, "the release", keep_text=True)
    notes: list[str] = []
    rows = (_rows(first, "original"), _rows(given, "release"))
    outside = None if subject.control is None else opened(subject.control, "the control", keep_text=True)
    second, written, learnt = _understood(first, given, replace(subject, control=outside), notes)
    asked = {
        "quasi_identifiers": _names(subject.quasi_identifiers), "sensitive": _names(subject.sensitive),
        "target": _names(subject.target), "weight": _names(subject.weight),
    }  # fmt: skip
    _require_known(first, asked)
    weight = survey_weight(first, subject.weight, notes)
    chosen = {name for part in ("quasi_identifiers", "sensitive", "target") for name in asked[part]}
    shared = _shared(first, second, weight, notes)
    columns, whole = _judged(first, shared, chosen, rows[0], notes), _as_asked(first, asked)
    kept = [weight] if weight is not None else []
    notes += kept_apart(whole, second, columns, asked["sensitive"])
    released, plain = (
        _without_text(t.select([*columns, *(n for n in kept if n in t.schema)])) for t in (second, written)
    )
    knowing = _names(subject.quasi_identifiers) or whole.schema.of_role(Role.QUASI_IDENTIFIER)
    return Files(
        original=whole.select([*columns, *kept]),
        released=released,
        written=released if written is second else plain,
        control=_control(subject.control, outside, whole.select(columns), second.select(columns)),
        columns=columns,
        quasi_identifiers=_of(whole, columns, subject.quasi_identifiers, Role.QUASI_IDENTIFIER, notes),
        sensitive=_of(whole, columns, subject.sensitive, Role.SENSITIVE, notes),
        target=subject.target if subject.target in columns else None,
        weight=weight,
        rows=rows,
        notes=tuple(notes),
        whole=whole,
        release=_without_text(second),
        outside=outside,
        lost=tuple(n for n in knowing if n not in second.schema),
        unread=unread(whole, second, meanings(subject.hierarchies, subject.released, columns), outside),
        learnt=learnt,
        published=_published(given),
        earlier=tuple(_earlier(e, whole, columns) for e in subject.earlier),
    )


def _understood(first: Table, given: Table, subject: Subject, notes: list[str]) -> tuple[Table, Table, bool]:
    """The release with its columns read as those of the original, where their values say so.

    Twice: as an intruder reads it, and as somebody does who takes values for what they say. And whether codes
    were read by every other original: without a control, whoever they are read by looks nearer than they are.
    """
    general, (rows, said) = (
        meanings(subject.hierarchies, subject.released, first.columns),
        relaid(first, given),
    )
    notes += said
    given = given if rows is None else opened(rows, "the release", keep_text=True)
    found = match_columns(everyone(first, subject.control), given, general, half=subject.control is None)
    learnt = subject.control is None and any(m.learnt for m in found)
    notes += [m.sentence for m in found]
    second = opened(understood(given, found), "the release", keep_text=True) if found else given
    if not any(m.moved for m in found):
        return second, second, learnt
    plain = understood(given, [replace(m, values={}, scale=None) if m.moved else m for m in found])
    return second, opened(plain, "the release", keep_text=True), learnt


def _published(released: Table) -> Schema:
    """What a card may say of the columns: one in memory may still have levels of the original."""
    seen = LevelsSeen(released.schema)
    held = [c.name for c in released.schema if not may_leave(c) and (c.levels is not None or c.labels)]
    for batch in released.batches(held) if held else ():
        seen.look(batch)
    return seen.public()


def _earlier(given: object, whole: Table, columns: tuple[str, ...]) -> Earlier:
    """A release of the same people, or an original of an earlier date and what was released of it."""
    before, released = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
    table = opened(released, "an earlier release", keep_text=True)
    shared = [n for n in columns if n in table.schema]
    if not shared:
        raise DataError(
            "an earlier release has no column in common with the two files.",
            hint=f"those compared are {_quoted(columns)}",
        )
    _rows(table, "earlier release")
    original = None
    if before is not None:
        plain = opened(before, "an earlier original", keep_text=True)
        absent = [repr(n) for n in columns if n not in plain.schema]
        if absent:
            raise DataError(
                f"an earlier original lacks {listed(absent)}.", hint="give it the columns of the original"
            )
        original = _read_as(before, plain, whole.schema.select(columns), "an earlier original")
        _rows(original, "earlier original")
    return Earlier(_without_text(table.select(shared)), original)


def _as_asked(table: Table, asked: dict[str, tuple[str, ...]]) -> Table:
    """What the user says of a column counts more than what was guessed of it."""
    schema = table.schema
    for part, role in (("sensitive", Role.SENSITIVE), ("quasi_identifiers", Role.QUASI_IDENTIFIER)):
        for name in asked[part]:
            schema = schema.with_(name, role=role)
    for name in asked["target"]:
        if schema[name].role in _NAMES_PEOPLE:
            schema = schema.with_(name, role=Role.OTHER)
    return _without_text(table.with_schema(schema))


def _without_text(table: Table) -> Table:
    """Free text that is judged all the same is a column of names; '[20, 30)' in a release looks like text."""
    schema = table.schema
    for column in table.schema:
        if column.kind is Kind.TEXT:
            schema = schema.with_(column.name, kind=Kind.NOMINAL)
    return table if schema is table.schema else table.with_schema(schema)


def _control(control: object, table: Table | None, original: Table, released: Table) -> Table | None:
    if table is None:
        return None
    schema = original.schema
    absent = [repr(n) for n in schema.names if n not in table.schema]
    if absent:
        raise DataError(
            f"the control lacks {listed(absent)}.",
            hint="a control has the columns of the original, of people who are not in it",
        )
    same_size = _rows(table, "control") == original.rows()
    table = _read_as(control, table, schema, "the control")
    if same_size and _equal(original, table.select(schema.names)):
        raise DataError(
            "the control is the original itself: against it every attack looks harmless.",
            hint="give people who are not in the original, or no control",
        )
    if table.rows() == released.rows() and _equal(released, table.select(schema.names)):
        raise DataError(
            "the control is the release itself: against it every attack looks harmless.",
            hint="give people who are not in the original and not in the release, or no control",
        )
    return table


def _read_as(given: object, table: Table, schema: Schema, what: str) -> Table:
    """A file with the original's meaning: "007" must not become 7 in one of two files.

    It is read anew only where it was read otherwise.
    """
    frame = isinstance(given, Table | Release) or (isinstance(given, str | Path) and is_release(given))
    stored = table.source.arrow_schema
    same = all(type_name(stored.field(c.name).type) == c.type and not c.text_marks for c in schema)
    return table.with_schema(schema) if frame or same else opened(given, what, schema=schema)


def _equal(first: Table, second: Table) -> bool:
    key = Key.fresh()  # where all people are alike, that the files are equal says nothing
    return fingerprint(first, key) == fingerprint(second, key) and not all_alike(first, first.columns)


def _names(given: Sequence[str] | str | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))


def _rows(table: Table, what: str) -> int:
    rows = table.rows()
    if not rows:
        raise DataError(
            f"the {what} has no rows.",
            hint="an empty file gives nothing away and keeps nothing; give one with rows",
        )
    return rows


def _require_known(table: Table, asked: dict[str, tuple[str, ...]]) -> None:
    unknown = {n: part for part, names in asked.items() for n in names if n not in table.schema}
    if unknown:
        raise ParameterError(
            f"the original has no column {listed([f'{n!r} ({part})' for n, part in unknown.items()])}.",
            hint=offered(unknown, table.columns),
        )


def _shared(first: Table, second: Table, weight: str | None, notes: list[str]) -> list[str]:
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
    return shared


def _judged(
    first: Table, shared: list[str], chosen: set[str], rows: int, notes: list[str]
) -> tuple[str, ...]:
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
    table: Table, columns: Sequence[str], asked: Sequence[str] | None, role: Role, notes: list[str]
) -> tuple[str, ...]:
    """The columns of a role: as asked, which may be none, or as the schema says."""
    if asked is not None:
        absent = [repr(n) for n in _names(asked) if n not in columns]
        if absent:
            notes.append(f"Not in the release, so not used as {role}: {listed(absent)}.")
        return tuple(n for n in _names(asked) if n in columns)
    found = tuple(n for n in table.schema.of_role(role) if n in columns)
    guessed = [n for n in found if table.schema[n].reason and not table.schema[n].confirmed]
    if guessed:  # what was inferred carries the reason why
        notes.append(f"Taken for {role} by name and values, not confirmed by a person: {_quoted(guessed)}.")
    return found


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(n) for n in names])
