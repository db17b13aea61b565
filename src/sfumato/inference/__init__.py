"""A first guess at what the columns of a table are: kind, role and type, with evidence and how sure it is.

A guess is there to be corrected. It never declares a domain public, and reads no levels or edges off the
rows: what people's rows hold is not public knowledge. Reasons hold names and counts; of values they hold
only common markers for "missing".

`infer` is here. `kinds` says how values relate to each other (on `shapes`), `roles` what a column can do to a
person: it asks families of clues (`design`, `identifiers`, `themes`, `structure`), which know check digits
(`check_digits`), code systems (`codes`), words of names in many languages (`names`, `vocabulary`), of surveys
(`surveys`) and of cells (`known_values`). It sees a sample in memory, or counts; never a file or an engine.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sfumato.inference import shapes, themes
from sfumato.inference.clues import Clue
from sfumato.inference.facts import Facts, counted, never_decreases
from sfumato.inference.kinds import HeadCells, filled_cells, kind_of
from sfumato.inference.roles import guess_roles, readings_of
from sfumato.schema import Column, Kind, Role, Schema, Value
from sfumato.sources import is_text

__all__ = ["infer", "reviewed"]

_NAMES_PEOPLE = (Role.IDENTIFIER, Role.PERSON)
_SEEN = "; "  # between the parts of a reason; why it has its role is the first


def infer(
    sample: pa.Table, *, hints: Schema | None = None, whole: bool = True, points: bool = True
) -> Schema:
    """A schema for the columns of a sample (the head of the data).

    hints: what the file itself says (labels, missing codes, levels). A hint wins over a guess, except that
    a file cannot confirm that its domains are public: only a schema given by a person can.
    whole: whether the sample is all there is; if not, numbers in reasons say that they are of a sample.
    points: a point marks decimals, where a number is stored as text; false for files with decimal commas.
    """
    known = {column.name: column for column in hints} if hints is not None else {}
    looked = []
    for i, name in enumerate(sample.column_names):
        facts, column = _look(name, sample.column(i), whole, points)
        if name in known:
            facts = replace(facts, label=known[name].description, meanings=known[name].labels)
        looked.append((facts, column))
    named = dict(zip(sample.column_names, range(sample.num_columns), strict=True))
    clues = guess_roles([facts for facts, _ in looked], sample.select(list(named.values())))
    readings = readings_of([facts for facts, _ in looked])
    columns = []
    for i, (facts, guess) in enumerate(looked):
        column = _with_role(guess, facts, clues[facts.name])
        column = replace(column, unit=themes.age_unit(replace(facts, kind=column.kind), readings[facts.name]))
        column = _with_categories(column, sample.column(i))
        columns.append(_with_hint(column, known[facts.name]) if facts.name in known else column)
    return Schema(tuple(columns))


def reviewed(column: Column, facts: Facts, clue: Clue) -> Column:
    """A guessed column after a look at all of its rows: their evidence in place of the sample's."""
    _, *rest = column.reason.split(_SEEN)
    kept = [part for part in rest if not part.endswith(themes.ROUND)]
    return _with_role(replace(column, reason=_SEEN.join(kept)), facts, clue)


def _with_hint(guess: Column, hint: Column) -> Column:
    role, confidence = hint.role, "sure"
    reason = hint.reason or "described in the file"
    if role is Role.OTHER and not (guess.role is Role.WEIGHT and hint.kind is not Kind.NUMERIC):
        role, confidence = guess.role, guess.confidence
        reason = f"{reason}; {guess.reason}" if role is not Role.OTHER else reason
    unit = hint.unit or guess.unit
    return replace(
        hint, role=role, reason=reason, confidence=confidence, unit=unit, confirmed=False, provenance=None
    )


def _look(name: str, column: pa.ChunkedArray, whole: bool, points: bool = True) -> tuple[Facts, Column]:
    """What is known of a column, and the column without a role."""
    values, marks = filled_cells(column)
    levels, counts = counted(values)
    type_ = shapes.type_name(values, marks, levels, points=points)
    cells = HeadCells(name, values, len(levels), len(column), type_, marks, whole)
    kind, why, separator = kind_of(cells, levels, column.type)
    codes: tuple[Value, ...] = ()
    notes = [why]
    if marks and type_ == "text":
        codes = ("?",)
        looked = f"{len(column):,}" if whole else f"{len(column):,} cells{cells.of_sample}"
        notes.append(f"'?' is read as missing ({marks:,} of {looked})")
    marker = shapes.possible_missing(levels, len(values)) if kind is not Kind.TEXT else ""
    if marker:
        notes.append(f"{marker} may stand for missing: add it to missing_codes if so")
    as_text = is_text(values.type) and kind in (Kind.NOMINAL, Kind.FLAG)  # '1' is a name here
    out = Column(name, kind, type="text" if as_text else type_, missing_codes=codes, reason=_SEEN.join(notes))
    if kind is Kind.CODES:
        out = replace(out, separator=separator or ";", type="text")
    facts = Facts(name, kind, type_, levels, counts, len(column), whole, never_decreases(values), separator)
    return facts, out


def _with_role(column: Column, facts: Facts, clue: Clue) -> Column:
    """The column in its role, with the evidence beside what was said of its kind."""
    kind, type_ = column.kind, column.type
    if clue.role is Role.WEIGHT and kind is not Kind.NUMERIC:
        kind, type_ = Kind.NUMERIC, facts.type
    if clue.role in _NAMES_PEOPLE and kind not in (Kind.DATE, Kind.CODES, Kind.TEXT):
        kind = Kind.NOMINAL
    near = "" if clue.role in (*_NAMES_PEOPLE, Role.WEIGHT) else themes.near_unique(facts)
    parts = [clue.why, near, column.reason]
    return replace(
        column,
        kind=kind,
        type=type_,
        role=clue.role,
        confidence=clue.confidence,
        reason=_SEEN.join(part for part in parts if part),
    )


def _with_categories(column: Column, stored: pa.ChunkedArray) -> Column:
    """The levels of a categorical type: its author declared them, so they are kept, unconfirmed."""
    if not pa.types.is_dictionary(stored.type) or column.role in _NAMES_PEOPLE:
        return column
    if column.kind not in (Kind.NOMINAL, Kind.ORDINAL, Kind.FLAG):
        return column
    wide = pa.dictionary(pa.int32(), stored.type.value_type, stored.type.ordered)  # chunks may differ
    chunks = stored.cast(wide).unify_dictionaries().chunks
    levels = chunks[0].dictionary.drop_null().to_pylist() if chunks else []
    levels = [level for level in levels if level not in column.missing_codes and level == level]
    if not levels:
        return column
    kind = Kind.NOMINAL if column.kind is Kind.FLAG and len(levels) > 2 else column.kind
    return replace(column, kind=kind, levels=tuple(levels), reason=f"{column.reason}; levels of its type")
