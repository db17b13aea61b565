"""A first guess at what the columns of a table are: kind, role and type, each with its reason.

A guess is there to be corrected. It never declares a domain public, and reads no levels or edges off the
rows: what people's rows hold is not public knowledge. Reasons hold names and counts; of values they hold
only common markers for "missing".

`infer` is here; `names` reads the name of a column, `shapes` its values. It sees a sample in memory, never
a file or an engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.inference import names, shapes
from sfumato.schema import Column, Kind, Role, Schema, Value
from sfumato.sources import is_text

__all__ = ["infer"]


def infer(sample: pa.Table, *, hints: Schema | None = None) -> Schema:
    """A schema for the columns of a sample (the head of the data).

    hints: what the file itself says (labels, missing codes, levels). A hint wins over a guess, except that
    a file cannot confirm that its domains are public: only a schema given by a person can.
    """
    known = {column.name: column for column in hints} if hints is not None else {}
    columns = []
    for name in sample.column_names:
        guess = _guess(name, sample[name])
        columns.append(_with_hint(guess, known[name]) if name in known else guess)
    return Schema(tuple(columns))


def _with_hint(guess: Column, hint: Column) -> Column:
    role = hint.role
    reason = hint.reason or "described in the file"
    if role is Role.OTHER and not (guess.role is Role.WEIGHT and hint.kind is not Kind.NUMERIC):
        role = guess.role
        reason = f"{reason}; {guess.reason}" if role is not Role.OTHER else reason
    return replace(hint, role=role, reason=reason, confirmed=False)


@dataclass(frozen=True)
class _Facts:
    """What a column of the sample looks like."""

    name: str
    values: pa.Array  # filled cells, dictionaries decoded, '?' left out
    distinct: int
    rows: int
    type: str
    question_marks: int

    @property
    def filled(self) -> int:
        return len(self.values)

    @property
    def share_distinct(self) -> float:
        return self.distinct / self.filled if self.filled else 0.0


def _facts(name: str, column: pa.ChunkedArray) -> _Facts:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if is_text(array.type) or pa.types.is_time(array.type):
        array = pc.utf8_trim_whitespace(array.cast(pa.string()))
        array = array.filter(pc.fill_null(pc.not_equal(array, ""), False))
    values = array.drop_null()
    if pa.types.is_uint64(values.type) and len(values) and pc.max(values).as_py() >= 2**63:
        values = values.cast(pa.string())  # a hash: no whole number of 64 bits with a sign, so it is a name
    if pa.types.is_decimal(values.type) and not shapes.fits_decimal(values):
        values = values.cast(pa.float64() if values.type.scale > 0 else pa.string())  # digits without end
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    marks = 0
    if is_text(values.type):
        is_mark = pc.equal(values, "?")
        marks = pc.sum(is_mark).as_py() or 0
        values = values.filter(pc.invert(is_mark)) if marks else values
    distinct = len(pc.unique(values)) if not pa.types.is_nested(values.type) else 0
    return _Facts(name, values, distinct, len(column), shapes.type_name(values, marks), marks)


def _guess(name: str, column: pa.ChunkedArray) -> Column:
    facts = _facts(name, column)
    kind, why_kind, separator = _kind(facts, column.type)
    role, why_role = _role(facts, kind)
    if role is Role.WEIGHT and kind is not Kind.NUMERIC:
        kind, why_kind = Kind.NUMERIC, "numbers"
    if role in (Role.IDENTIFIER, Role.PERSON) and kind not in (Kind.DATE, Kind.CODES, Kind.TEXT):
        kind = Kind.NOMINAL
    codes: tuple[Value, ...] = ()
    notes = [why_kind, why_role] if why_role else [why_kind]
    if facts.question_marks and facts.type == "text":
        codes = ("?",)
        notes.append(f"'?' is read as missing ({facts.question_marks} of {facts.rows})")
    marker = shapes.possible_missing(facts.values) if kind is not Kind.TEXT else ""
    if marker:
        notes.append(f"{marker} may stand for missing: add it to missing_codes if so")
    as_text = is_text(facts.values.type) and kind in (Kind.NOMINAL, Kind.FLAG)  # '1' is a name here
    out = Column(
        name, kind, role, "text" if as_text else facts.type, missing_codes=codes, reason="; ".join(notes)
    )
    if kind is Kind.CODES:
        return replace(out, separator=separator or ";", type="text")
    return _with_categories(out, column)


def _with_categories(column: Column, stored: pa.ChunkedArray) -> Column:
    """The levels of a categorical type: its author declared them, so they are kept, unconfirmed."""
    if not pa.types.is_dictionary(stored.type) or column.role in (Role.IDENTIFIER, Role.PERSON):
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


# -- kind ------------------------------------------------------------------------------------------


def _kind(facts: _Facts, stored: pa.DataType) -> tuple[Kind, str, str]:
    """The kind, why, and the separator if there are several codes in a cell."""
    if pa.types.is_dictionary(stored):
        if stored.ordered:
            return Kind.ORDINAL, "an ordered categorical", ""
        if facts.type not in ("date", "datetime", "instant"):  # numbers too: their author says categories
            flag = 0 < facts.distinct <= 2
            return (Kind.FLAG if flag else Kind.NOMINAL), "a categorical", ""
    if pa.types.is_nested(stored):
        return Kind.CODES, "a list in every cell", ";"
    if facts.type in ("date", "datetime", "instant"):
        return Kind.DATE, "days" if facts.type == "date" else "days with a time", ""
    if shapes.is_compact_day(facts.values):
        return Kind.NOMINAL, "days written as YYYYMMDD: convert them to dates to count by month or year", ""
    if not facts.filled:
        return Kind.NOMINAL, "no filled cell in the head of the data", ""
    if facts.type == "text":
        separator = shapes.code_separator(facts.values)
        if separator:
            return Kind.CODES, f"several codes in a cell, divided by {separator!r}", separator
        if shapes.is_prose(facts.values, facts.share_distinct):
            return Kind.TEXT, "long cells of many words, nearly all different", ""
    if shapes.is_flag(facts.values, facts.distinct):
        count = "one value" if facts.distinct == 1 else "two values"
        return Kind.FLAG, f"{count} in {facts.filled} filled cells", ""
    if facts.type == "text":
        return Kind.NOMINAL, shapes.describe_text(facts.values, facts.distinct), ""
    coded = names.codes_for(facts.name)
    if coded and facts.type == "integer":
        return Kind.NOMINAL, f"numbers that stand for something, as '{coded}' says", ""
    return Kind.NUMERIC, "numbers" if facts.type != "integer" else "whole numbers", ""


# -- role ------------------------------------------------------------------------------------------


def _role(facts: _Facts, kind: Kind) -> tuple[Role, str]:
    """The role and why; the name decides, and for identifiers the values must agree."""
    weight = _weight(facts)
    if weight:
        return weight
    shape = shapes.identifying_shape(facts.values)
    if shape:
        return Role.IDENTIFIER, f"the values look like {shape}"
    numbered = _numbered(facts, kind)
    if numbered:
        return numbered
    known = names.quasi_identifier(facts.name)
    if kind is Kind.NUMERIC and known.endswith("place of care"):
        known = ""  # days in hospital
    wanted = names.is_about(facts.name, names.SENSITIVE)
    # 'income_family' or 'diagnosis at admission': what is wanted weighs more than who may know it.
    if wanted and not known.startswith("'age'") and not known.startswith("'sex'"):
        return Role.SENSITIVE, f"'{wanted}' in the name"
    if known:
        return Role.QUASI_IDENTIFIER, known
    if kind is Kind.DATE or shapes.is_compact_day(facts.values):
        return Role.QUASI_IDENTIFIER, "the day of an event may be known"
    if kind is Kind.CODES:
        return Role.SENSITIVE, "codes of a person"
    if kind is Kind.NOMINAL and facts.rows >= 20 and facts.filled == facts.rows == facts.distinct:
        return Role.IDENTIFIER, "every row has its own value"
    return Role.OTHER, ""


def _weight(facts: _Facts) -> tuple[Role, str] | None:
    """A survey weight by name; 'weight' alone only if no body weighs that much."""
    meaning = names.weight(facts.name)
    if not meaning or facts.type not in ("integer", "real", "decimal") or facts.distinct < 2:
        return None
    if meaning == "survey":
        return Role.WEIGHT, "the name is that of a survey weight"
    if (pc.quantile(facts.values.cast(pa.float64(), safe=False), 0.5)[0].as_py() or 0) > 1000:
        return Role.WEIGHT, "the name says weight and the numbers are those of a survey"
    return Role.OTHER, 'read as the weight of a body; set role = "weight" if it is a survey weight'


def _numbered(facts: _Facts, kind: Kind) -> tuple[Role, str] | None:
    """Names and numbers of people: an identifier if (nearly) every row has its own, else a person."""
    elsewhere = names.is_about(facts.name, names.NOT_A_PERSON)
    direct = names.is_about(facts.name, names.DIRECT)
    if direct and not elsewhere and kind not in (Kind.FLAG, Kind.NUMERIC, Kind.DATE):
        return Role.IDENTIFIER, f"'{direct}' leads straight to a person"
    if (
        names.quasi_identifier(facts.name)
        or elsewhere
        or facts.type in ("date", "datetime", "real", "boolean")
    ):
        whole = facts.type == "real" and shapes.is_whole(facts.values)
        if not (whole and not elsewhere):
            return None
    alone = names.is_about(facts.name, names.PERSON_ALONE | names.PERSON)
    number = names.is_about(facts.name, names.NUMBERING)
    only_word = alone and names.words(facts.name) == (alone,)
    person = (alone in names.PERSON_ALONE) or bool(alone and number) or bool(only_word)
    if not (person or number) or facts.distinct < 2 or kind is Kind.FLAG:
        return None
    if facts.distinct == facts.filled or (not person and facts.share_distinct >= 0.95):
        return (
            Role.IDENTIFIER,
            f"'{alone or number}' in the name and a value of its own in (nearly) every row",
        )
    if person:
        return Role.PERSON, f"'{alone}' in the name, and values repeat"
    ends_numbered = names.words(facts.name)[-1] in names.NUMBERING
    if ends_numbered and facts.distinct >= 100 and facts.share_distinct >= 0.05:
        return Role.PERSON, f"'{number}' in the name, many values, and they repeat"
    return None
