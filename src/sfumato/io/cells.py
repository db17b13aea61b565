"""Text cells into typed arrays: one stated rule, and a count of the cells that do not fit.

The rule, for a column whose filled cells all look alike: whole numbers are `integer`, numbers with a
fraction or an exponent are `real`, the words true and false are `boolean`, days are `date`, days with a
time are `datetime` (`instant` with an offset from UTC), everything else is `text`. A number with a
leading zero or more than 18 digits is a code, not a quantity: the column stays text. So is 3E2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.io.dialect import Dialect
from sfumato.io.layout import MARKERS

ARROW_TYPES: dict[str, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.int64(),
    "real": pa.float64(),
    "decimal": pa.string(),  # digits with a point: the table knows the scale and casts
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "instant": pa.timestamp("us", "UTC"),
}
_INTEGER = r"^[+-]?(0|[1-9]\d{0,17})$"
_ANY_INTEGER = r"^[+-]?\d{1,18}$"
_REAL = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
# Not a quantity: a float would round it, or read the ward 3E2 as three hundred (programs write 3E+02, 3.0E2).
_CODE_LIKE = r"^[+-]?(0[\dxX]|\d{19}|\d{1,3}E\d{1,2}$)"
_TIME = r"[ T](?P<t>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)"
_BETWEEN = r"(?:[/-]|\. ?)"  # 31. 1. 2024 as in Czechia; and a dot behind, as in Croatia and Hungary
_DAY = {
    "YMD": rf"(?P<y>\d{{4}}){_BETWEEN}(?P<m>\d{{1,2}}){_BETWEEN}(?P<d>\d{{1,2}})\.?",
    "DMY": rf"(?P<d>\d{{1,2}}){_BETWEEN}(?P<m>\d{{1,2}}){_BETWEEN}(?P<y>\d{{4}})\.?",
    "MDY": rf"(?P<m>\d{{1,2}}){_BETWEEN}(?P<d>\d{{1,2}}){_BETWEEN}(?P<y>\d{{4}})\.?",
}
_COMPACT = r"^(?P<y>1[89]\d\d|20\d\d)(?P<m>\d{2})(?P<d>\d{2})$"
_A_DAY = rf"\d{{1,4}}{_BETWEEN}\d{{1,2}}{_BETWEEN}\d{{1,4}}\.?"
_FORMS = {  # in the order of the guesses: what the first cell looks like
    "date": re.compile(rf"\d{{8}}|{_A_DAY}"),
    "boolean": re.compile("true|false", re.IGNORECASE),
    "integer": re.compile(r"[+-]?\d+"),
    "real": re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?"),
    "datetime": re.compile(rf"{_A_DAY}([ T].*)?"),
    "instant": re.compile(rf"{_A_DAY}[ T].*"),
}
_OFFSET = r"(?P<z>Z|[+-]\d{2}:?\d{2})"


@dataclass(frozen=True)
class TypedColumn:
    """A column as typed, and how many of its cells did not fit (they are null)."""

    array: pa.Array
    misfits: int = 0


def clean(array: pa.Array, dialect: Dialect, marks: Sequence[str] = ()) -> pa.Array:
    """Without the spaces around; empty cells, the file's own markers and the column's are null."""
    array = pc.utf8_trim_whitespace(array)
    empty = pc.equal(array, "")
    markers = (*dialect.missing, *marks)
    if markers:
        empty = pc.or_(empty, pc.is_in(array, value_set=pa.array(markers, pa.string())))
    return _null_where(array, empty)


def guess_type(array: pa.Array, dialect: Dialect) -> str:
    """The type of a cleaned column, by the rule above."""
    filled = pc.drop_null(_null_where(array, _is_marker(array)))
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    if len(filled) == 0:
        return "text"
    # One cell, then some, then all: most types are ruled out before the whole head is looked at.
    first, some = filled[0].as_py(), filled.slice(1, 1000)
    for name, form in _FORMS.items():
        if (
            form.fullmatch(first)
            and not convert(some, name, dialect, strict=True).misfits
            and not convert(filled, name, dialect, strict=True).misfits
        ):
            return name
    return "text"


def convert(array: pa.Array, type_name: str, dialect: Dialect, *, strict: bool) -> TypedColumn:
    """A cleaned column as its type. strict: as the rule guessed it, so codes with leading zeros misfit."""
    if type_name == "text":
        return TypedColumn(array)
    fast = _fast(array, type_name, dialect, strict)
    if fast is not None:
        return TypedColumn(fast)
    known = _null_where(array, _is_marker(array))
    fitted = _slow(known, type_name, dialect, strict)
    return TypedColumn(fitted, fitted.null_count - known.null_count)


def _fast(array: pa.Array, type_name: str, dialect: Dialect, strict: bool) -> pa.Array | None:
    """Arrow's own reading, where every cell fits and means what the rule says; otherwise None."""
    try:
        if type_name == "integer":
            if not pc.any(pc.match_substring_regex(array, _CODE_LIKE)).as_py():
                return array.cast(pa.int64())
        elif type_name == "real":
            code_like = strict and pc.any(pc.match_substring_regex(array, _CODE_LIKE)).as_py()
            numbers = None if code_like else _with_point(array, dialect).cast(pa.float64())
            if numbers is not None and pc.all(pc.is_finite(numbers)).as_py() is not False:
                return numbers
        elif type_name == "date":
            return array.cast(pa.date32())
    except pa.ArrowInvalid:
        pass
    return None


def _slow(array: pa.Array, type_name: str, dialect: Dialect, strict: bool) -> pa.Array:
    """Cell by cell: null where it does not fit."""
    if type_name == "integer":
        plain = _keep(array, _INTEGER if strict else _ANY_INTEGER)
        # Without the plus and the zeros in front: Arrow takes neither, and reads 0x as hexadecimal.
        return pc.replace_substring_regex(plain, r"^\+?(-?)0*(\d)", r"\1\2").cast(pa.int64())
    if type_name == "decimal":
        return _keep(_with_point(array, dialect), r"^[+-]?(\d+\.?\d*|\.\d+)$")
    if type_name == "real":
        plain = _keep(_with_point(array, dialect), _REAL)
        if strict:
            plain = _null_where(plain, pc.match_substring_regex(plain, _CODE_LIKE))
        return plain.cast(pa.float64())
    if type_name == "boolean":
        plain = _keep(pc.utf8_lower(array), "^(true|false)$" if strict else "^(true|false|0|1)$")
        truth = pc.is_in(plain, value_set=pa.array(["true", "1"]))
        return pc.if_else(pc.is_valid(plain), truth, pa.scalar(None, pa.bool_()))
    return _moments(array, type_name, dialect)


def _moments(array: pa.Array, type_name: str, dialect: Dialect) -> pa.Array:
    """Days and instants, checked against the calendar: Arrow's strptime turns 31 February into March."""
    ending = {"date": "", "datetime": f"(?:{_TIME})?", "instant": f"{_TIME}{_OFFSET}"}[type_name]
    # A file may hold ISO days next to those of its own order.
    patterns = [f"^{_DAY[order]}{ending}$" for order in dict.fromkeys(("YMD", dialect.date_order))]
    if type_name == "date":
        patterns.append(_COMPACT)
    found = [_calendar(array, pattern) for pattern in patterns]
    return pc.coalesce(*found).cast(ARROW_TYPES[type_name])


def _calendar(array: pa.Array, pattern: str) -> pa.Array:
    """The moments a pattern finds, null elsewhere and where the calendar has no such day."""
    parts = pc.extract_regex(array, pattern)
    names = {parts.type.field(i).name for i in range(parts.type.num_fields)}
    year, month, day = (pc.struct_field(parts, name) for name in "ymd")
    iso = pc.binary_join_element_wise(year, pc.utf8_lpad(month, 2, "0"), pc.utf8_lpad(day, 2, "0"), "-")
    days = pc.strptime(iso, format="%Y-%m-%d", unit="s", error_is_null=True)
    real = pc.equal(pc.strftime(days, format="%Y-%m-%d"), iso)
    iso = _null_where(iso, pc.invert(pc.fill_null(real, False)))
    if "t" not in names:
        return iso.cast(pa.date32())
    time = pc.struct_field(parts, "t")
    ok = pc.match_substring_regex(time, r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?$")
    midnight = pc.equal(time, "")
    time = pc.if_else(midnight, "00:00", time)
    iso = _null_where(iso, pc.invert(pc.fill_null(pc.or_(ok, midnight), False)))
    text = pc.binary_join_element_wise(iso, time, "T")
    if "z" in names:
        zone = pc.struct_field(parts, "z")
        on_earth = pc.match_substring_regex(zone, r"^(Z|[+-](0\d|1\d|2[0-3]):?[0-5]\d)$")
        text = _null_where(text, pc.invert(pc.fill_null(on_earth, False)))
        return pc.binary_join_element_wise(text, zone, "").cast(pa.timestamp("us", "UTC"))
    return text.cast(pa.timestamp("us"))


def _with_point(array: pa.Array, dialect: Dialect) -> pa.Array:
    if dialect.decimal == ".":
        return array
    # A point in a file with decimal commas is a thousands mark or a fault: it must not pass as a decimal.
    return pc.replace_substring(pc.replace_substring(array, ".", "?"), ",", ".")


def _keep(array: pa.Array, pattern: str) -> pa.Array:
    return _null_where(array, pc.invert(pc.match_substring_regex(array, pattern)))


def _null_where(array: pa.Array, mask: pa.Array) -> pa.Array:
    if not pc.any(mask).as_py():
        return array
    return pc.if_else(pc.fill_null(mask, False), pa.scalar(None, array.type), array)


def _is_marker(array: pa.Array) -> pa.Array:
    return pc.is_in(array, value_set=pa.array(MARKERS, array.type))
