"""What the values of a column look like."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.sources import is_text

_INTEGER = r"^-?(0|[1-9]\d{0,17})$"
_REAL = (  # 3E2 is a code: programs write 3E+02 or 3.0E2
    r"^-?((0|[1-9]\d{0,17})(\.\d*([eE][+-]?\d{1,3})?|(E[+-]|e[+-]?)\d{1,3})?|\.\d+([eE][+-]?\d{1,3})?)$"
)
_DAY = r"^\d{4}-\d{2}-\d{2}$"
_YEAR, _MONTH, _DATE = r"(1[89]|20)\d\d", r"(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
_COMPACT_DAYS = (  # 20240131, 31012024, 01312024
    f"^{_YEAR}{_MONTH}{_DATE}$",
    f"^{_DATE}{_MONTH}{_YEAR}$",
    f"^{_MONTH}{_DATE}{_YEAR}$",
)
_LOCAL_DAY = r"^\d{1,2}[./-]\d{1,2}[./-]\d{4}$"
_SHORT_DAY = r"^((0?[1-9]|[12]\d|3[01])[./-]){2}\d{2}$"
_WRITTEN_DAYS = (  # 31.1.2024, 2024/1/31, also with a time
    r"^\d{1,2}[./-]\d{1,2}[./-](1[89]|20)\d\d([ T]\d.*)?$",
    r"^(1[89]|20)\d\d[./-]\d{1,2}[./-]\d{1,2}([ T]\d.*)?$",
    r"^\d{1,2}\.? ?\d{1,2}\.? ?(1[89]|20)\d\d\.?$",  # 31. 1. 2024, 31.01.2024., 31 01 2024
    r"^(1[89]|20)\d\d\. ?\d{1,2}\. ?\d{1,2}\.?$",  # 2024. 01. 31.
    r"^(1[89]|20)\d\d ?[年년] ?\d{1,2} ?[月월] ?\d{1,2} ?[日일]$",
    r"^\d{1,2}[. -]+(de )?[^\d\s.,/-]{3,12}\.?[. -]+(de )?(1[89]|20)\d\d$",  # 31. Januar 2024, 31-ene-2024
    r"^[^\d\s.,/-]{3,12}\.? \d{1,2},? (1[89]|20)\d\d$",  # January 31, 2024
)
_GROUPED = r"^[+-]?\d{1,3}(,\d{2,3})*(\.\d+)?$"  # 1,234,567.50, and 12,34,567.50 as in India
_DIGIT_TIME = f"^{_YEAR}{_MONTH}{_DATE}([01]\\d|2[0-3])([0-5]\\d){{1,2}}$"  # 202401310815
_GROUPS = r"([., '\x{a0}\x{202f}]\d{3})"
_THOUSANDS = rf"^[+-]?(0|[1-9]\d{{0,2}}{_GROUPS}*)([.,]\d+)?$"
_NEARLY = (  # text that is nearly something else, and what to do about it
    (_LOCAL_DAY, "days written as text: convert them to dates to count by month or year"),
    (_SHORT_DAY, "days with years of two digits, so they are text: write four to count by month or year"),
    (_THOUSANDS, "numbers with marks for thousands, so they are text: take the marks out to count in bins"),
)
_CODE = r"^([A-Za-z]{0,4}-?\d[\w.\-/]{0,11}|[A-Z]{1,6})$"
_PAIRS = (
    {"0", "1"}, {"true", "false"}, {"yes", "no"}, {"y", "n"}, {"m", "f"}, {"male", "female"}, {"ja", "nein"},
    {"j", "n"}, {"oui", "non"}, {"o", "n"}, {"h", "f"}, {"m", "w"}, {"homme", "femme"}, {"0.0", "1.0"},
)  # fmt: skip
_MARKERS = (
    "unknown", "unk", "n/a", "na", "none", "null", "nan", "missing", "-", ".", "unbekannt", "k.a.",
    "keine angabe", "inconnu", "nsp", "not available", "refused",
)  # fmt: skip
_NUMBERS = (-9, -8, -7, -1, -99, -999, -9999, 99, 999, 9999, 99999)
_LOOK = 20_000  # cells looked at where a part is as good as the whole
_SHAPES = (
    (r"^[^@\s]+@[^@\s]+\.[^@\s.]{2,}$", "e-mail addresses"),
    (r"^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$", "universally unique identifiers"),
    (r"^https?://\S+$", "web addresses"),
    (r"^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$", "addresses of devices"),
    (r"^[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){4,7}$", "internet addresses"),
    (r"^([A-Za-z]:)?[^\s:*?]*[\\/][^:*?]*\.[A-Za-z0-9]{2,5}$", "names of files"),
    (r"^\d{3}-\d{2}-\d{4}$", "social security numbers"),
    (r"^(\+\d{1,3}[ .-]?(\(0?\d{0,4}\))?|\(0?\d{2,5}\) ?)[\d /.-]{6,15}$", "telephone numbers"),
)


def _share(values: pa.Array, pattern: str) -> float:
    hits = pc.sum(pc.match_substring_regex(values, pattern)).as_py() or 0
    return float(hits) / len(values) if len(values) else 0.0


def type_name(
    values: pa.Array, marks: int = 0, levels: pa.Array | None = None, *, points: bool = True
) -> str:
    """The schema's word for the type; text that holds plain numbers or ISO days throughout is those.

    points: a point marks decimals; in files where a comma does, 1.234 is a thousand and more.
    """
    type_ = values.type
    for test, name in (
        (pa.types.is_boolean, "boolean"), (pa.types.is_integer, "integer"), (pa.types.is_floating, "real"),
        (pa.types.is_decimal, "decimal"), (pa.types.is_date, "date"),
    ):  # fmt: skip
        if test(type_):
            return name
    if pa.types.is_timestamp(type_):
        return "datetime" if type_.tz is None else "instant"
    if not is_text(type_) or not len(values) or marks:  # '?' among numbers cannot be read as a number
        return "text"
    values = pc.unique(values) if levels is None else levels
    if is_compact_day(values):
        return "text"
    numbers = ((_INTEGER, "integer"), (_REAL, "real")) if points else ()
    for pattern, name in (*numbers, (_DAY, "date")):
        if _share(values.slice(0, 100), pattern) == 1.0 and _share(values, pattern) == 1.0:
            return name if name != "date" or _is_calendar(values) else "text"
    return "text"


def fits_decimal(values: pa.Array) -> bool:
    """Whether a decimal of the schema can hold them: 29 digits before the point, nine after it."""
    try:
        values.cast(pa.decimal128(38, 9))
    except pa.ArrowInvalid:
        return False
    return True


def is_compact_day(values: pa.Array) -> bool:
    """20240131, 31012024 or 01312024 throughout, as text or as a whole number."""
    if not len(values) or not (is_text(values.type) or pa.types.is_integer(values.type)):
        return False
    texts = values.slice(0, 1000).cast(pa.string())
    if not is_text(values.type):
        texts = pc.utf8_lpad(texts, 8, "0")  # 1312024 was 01312024
    return any(_share(texts, form) == 1.0 for form in _COMPACT_DAYS)


def is_written_day(values: pa.Array) -> bool:
    """Days with separators, as text, throughout; with a time or without."""
    if not len(values) or not is_text(values.type):
        return False
    return any(_share(values.slice(0, 200), form) == 1.0 for form in _WRITTEN_DAYS)


def is_digit_time(values: pa.Array, share_distinct: float) -> bool:
    """202401310815 throughout. Numbers of cases begin with a day too: times have many hours, or repeat."""
    if not len(values) or not (is_text(values.type) or pa.types.is_integer(values.type)):
        return False
    texts = values.slice(0, 1000).cast(pa.string())
    if _share(texts, _DIGIT_TIME) < 1.0:
        return False
    return share_distinct < 0.5 or len(pc.unique(pc.utf8_slice_codeunits(texts, 8, 10))) >= 6


def _is_calendar(values: pa.Array) -> bool:
    try:
        values.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return True


def is_whole(values: pa.Array) -> bool:
    """Whether numbers stored as reals are whole."""
    numbers = values.cast(pa.float64(), safe=False)
    return len(values) > 0 and bool(pc.all(pc.equal(pc.floor(numbers), numbers)).as_py())


def is_flag(values: pa.Array, distinct: int) -> bool:
    """At most two values, in enough cells or as a pair everyone knows."""
    if not 0 < distinct <= 2:
        return False
    if pa.types.is_boolean(values.type) or len(values) >= 20:
        return True
    found = {str(value).lower() for value in pc.unique(values).to_pylist()}
    known = any(found <= pair for pair in _PAIRS)
    return known or (is_text(values.type) and distinct < len(values))


def is_prose(values: pa.Array, share_distinct: float) -> bool:
    """Free text: many words a cell, nearly never the same twice."""
    values = values.slice(0, _LOOK)
    words = pc.mean(pc.count_substring_regex(values, r"\S+")).as_py() or 0.0
    length = pc.mean(pc.utf8_length(values)).as_py() or 0.0
    return (words >= 5 and length >= 30 and share_distinct >= 0.8) or (words >= 15 and share_distinct >= 0.3)


def code_separator(values: pa.Array) -> str:
    """What divides several codes in a cell, if a good part of the cells has several."""
    values = values.slice(0, _LOOK)
    if is_written_day(values) or (_share(values, _GROUPED) == 1.0 and _share(values, r"\.") > 0.2):
        return ""  # one day, or one number
    for separator in (";", "|", ",", " "):
        several = values.filter(pc.match_substring(values, separator))
        if len(several) < max(2, 0.2 * len(values)):
            continue
        tokens = pc.utf8_trim_whitespace(pc.list_flatten(pc.split_pattern(several.slice(0, 5000), separator)))
        tokens = tokens.filter(pc.not_equal(tokens, ""))
        if (
            not len(tokens)
            or _share(tokens, _CODE) < 0.95
            or len(pc.unique(tokens)) > 0.95 * len(tokens) > 20
        ):
            continue
        if separator in ", " and (
            _one_code(values, separator) or not _more_than_a_number(several, tokens, separator)
        ):
            continue
        return separator
    return ""


def _one_code(values: pa.Array, separator: str) -> bool:
    """'06 12 34 56 78' is one number, written in groups: all cells have as many signs and as many groups."""
    lengths, groups = pc.utf8_length(values), pc.count_substring(values, separator)
    return len(values) >= 20 and len(pc.unique(lengths)) == 1 and len(pc.unique(groups)) == 1


def _more_than_a_number(several: pa.Array, tokens: pa.Array, separator: str) -> bool:
    """'1.250,5' is a number, 'AB 12' a plate: codes come in threes, or have letters and digits each."""
    if _share(several, r"^[+-]?\d{1,3}(\.\d{3})*,\d+$") == 1.0:
        return False
    parts = pc.max(pc.count_substring(several, separator)).as_py() or 0
    mixed = _share(tokens, r"[A-Za-z]\d|\d[A-Za-z]|\d\.\d") >= 0.3
    return bool(mixed or (parts >= 2 and _share(tokens, r"\d") >= 0.95))


def identifying_shape(values: pa.Array) -> str:
    """What kind of identifier the values are by their form alone."""
    if not is_text(values.type) or not len(values):
        return ""
    head = values.slice(0, 200)
    return next((what for pattern, what in _SHAPES if _share(head, pattern) >= 0.95), "")


def describe_text(values: pa.Array, different: str) -> str:
    """Why a text column is nominal, with what a person may want to change."""
    first = values.slice(0, 200)
    marked = _share(first, rf"\d{_GROUPS}([.,]|$)") > 0  # without a mark '250' and '038.9' are codes
    for pattern, what in _NEARLY:
        if _share(first, pattern) == 1.0 and (marked or pattern != _THOUSANDS):
            return what
    if _share(values, r"^\d+$") == 1.0:
        zeros = _share(values, r"^0\d") > 0
        return f"codes of digits{' with leading zeros' if zeros else ', some very long'}, {different}"
    return f"words, {different}"


def possible_missing(levels: pa.Array, filled: int) -> str:
    """A value of a fixed list that often stands for "missing", if it is among these different ones."""
    if is_text(levels.type):
        found = pc.index_in(pa.array(_MARKERS), value_set=pc.unique(pc.utf8_lower(levels)))
        hits = [marker for marker, at in zip(_MARKERS, found.to_pylist(), strict=True) if at is not None]
        return f"'{hits[0]}'" if hits else ""
    if not (pa.types.is_integer(levels.type) or pa.types.is_floating(levels.type)) or filled < 20:
        return ""
    ordered = levels.cast(pa.float64(), safe=False).sort()
    low, high = ordered[0].as_py(), ordered[-1].as_py()
    if len(ordered) < 3:
        return ""
    next_low, next_high = ordered[1].as_py(), ordered[-2].as_py()
    if low in _NUMBERS and low < 0 and (next_low >= 0 or next_low in _NUMBERS):
        return f"{int(low)}"
    if high in _NUMBERS and high > 0 and next_high < 0.7 * high:
        return f"{int(high)}"
    return ""
