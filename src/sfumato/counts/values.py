"""Values in their one form, whatever engine or file they come from.

A missing value is a null, whether it was a null, NaN, or one of the schema's missing codes. Minus zero is
zero; a text outside the levels is the level `other`, where the schema names one;
categoricals, decimals and zoned timestamps are what they mean, not how they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError
from sfumato.schema import Column, Kind
from sfumato.sources import is_text

_CANONICAL: dict[str, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.int64(),
    "real": pa.float64(),
    "decimal": pa.decimal128(38, 9),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "instant": pa.timestamp("us", "UTC"),
}


def type_name(arrow: pa.DataType) -> str:
    """The schema's word for an Arrow type."""
    if pa.types.is_dictionary(arrow):
        return type_name(arrow.value_type)
    tests: list[tuple[Callable[[pa.DataType], bool], str]] = [
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "real"),
        (pa.types.is_decimal, "decimal"),
        (pa.types.is_date, "date"),
    ]
    for test, name in tests:
        if test(arrow):
            return name
    if pa.types.is_timestamp(arrow):
        return "datetime" if arrow.tz is None else "instant"
    return "text"


def shown_type(arrow: pa.DataType) -> str:
    """An Arrow type for people; of a structure only its kind, for its fields may be keys from the cells."""
    if pa.types.is_dictionary(arrow):
        return f"categories of {shown_type(arrow.value_type)}"
    return str(arrow).partition("<")[0] if pa.types.is_nested(arrow) else str(arrow)


def canonical_type(column: Column) -> pa.DataType:
    """The Arrow type in which the column's values are compared, written and released."""
    return _CANONICAL[column.type]


def canonical(column: Column, array: pa.Array) -> pa.Array:
    """The column's values in their one form: canonical type, every kind of missing as null."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        values = canonical(column, array.dictionary)
        return values.take(array.indices)
    if column.kind is Kind.CODES:
        return _canonical_codes(column, array)
    out = _cast(column, array)
    if pa.types.is_string(out.type):
        _require_text(column, out)
    if pa.types.is_floating(out.type):
        # NaN is missing, and adding zero turns minus zero into zero.
        out = pc.add(pc.if_else(pc.is_nan(out), pa.scalar(None, out.type), out), 0.0)
    gaps = missing_values(column, out.type)
    if len(gaps):
        out = pc.if_else(pc.is_in(out, value_set=gaps), pa.scalar(None, out.type), out)
    if column.other is not None and column.levels is not None:  # texts only
        inside = pc.is_in(out, value_set=pa.array([*column.levels, None], out.type))
        out = pc.if_else(inside, out, pa.scalar(column.other, out.type))
    return out


def _require_text(column: Column, array: pa.Array) -> None:
    """Arrow takes any bytes for text until somebody looks."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise _not_text(column) from None


def _decoded(column: Column, array: pa.Array) -> pa.Array:
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        raise _not_text(column) from None


def _not_text(column: Column) -> DataError:
    return DataError(
        f"column '{column.name}' holds bytes that are not UTF-8 text.", hint="convert it where it comes from"
    )


def _cast(column: Column, array: pa.Array) -> pa.Array:
    wanted = canonical_type(column)
    if array.type == wanted:
        return array
    if pa.types.is_binary(array.type):  # an engine's text as it is stored, see io.engines
        array = _decoded(column, array)
    if column.text_marks and is_text(array.type):
        marks = pc.is_in(array, value_set=pa.array(column.text_marks, array.type))
        array = pc.if_else(marks, pa.scalar(None, array.type), array)
    if is_text(array.type) and not pa.types.is_string(wanted):
        array = pc.utf8_trim_whitespace(array)  # ' 41 ' was taken for a number when the type was guessed
    try:
        if pa.types.is_float16(array.type):  # Arrow computes little with these
            array = array.cast(pa.float32())
        if pa.types.is_floating(array.type) and not pa.types.is_floating(wanted):
            array = pc.add(
                pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array), pa.scalar(0, array.type)
            )
        if pa.types.is_decimal(array.type) and wanted == pa.string():
            return pa.array([None if v is None else decimal_text(v) for v in array.to_pylist()], wanted)
        if pa.types.is_floating(array.type) and wanted == pa.string():
            return _real_text(array)
        if pa.types.is_time(array.type) and wanted == pa.string():
            array = array.cast(pa.time64("us"), safe=False)  # as text the unit would show
        if pa.types.is_integer(array.type) and pa.types.is_decimal(wanted):
            array = array.cast(pa.decimal128(19 if array.type != pa.uint64() else 20, 0))
        if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(wanted):
            return _cast_timestamp(array, wanted)
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        # Arrow's own message shows the cell.
        raise DataError(
            f"column '{column.name}' holds cells that are not of type {column.type}.",
            hint=f"give the column another type in the schema, or correct the {shown_type(array.type)} cells",
        ) from None


def _cast_timestamp(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Instants are compared in UTC; a wall-clock time is never given a zone it did not have."""
    if (array.type.tz is None) != (wanted.tz is None):
        raise pa.ArrowInvalid("zone")
    finer = array.type.unit == "ns"  # these may lose digits; coarser ones must not overflow
    return array.cast(pa.timestamp("us", array.type.tz), safe=not finer).cast(wanted)


def _real_text(array: pa.Array) -> pa.Array:
    """Whole numbers as whole numbers are written: Arrow writes 1e+10."""
    whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**53))
    digits = pc.if_else(whole, array, pa.scalar(None, array.type)).cast(pa.int64()).cast(pa.string())
    return pc.coalesce(digits, array.cast(pa.string()))


def decimal_text(value: Decimal) -> str:
    """1.50 and 1.5 are the same number. Not by normalize(): it rounds to 28 digits, and cells have 38."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _canonical_codes(column: Column, array: pa.Array) -> pa.Array:
    """Cells with several codes as sorted, distinct codes joined by the separator."""

    def cell(value: str | Iterable[object]) -> str | None:
        parts = (
            value.split(column.separator)
            if isinstance(value, str)
            else (str(p) for p in value if p is not None)
        )
        codes = sorted({p.strip() for p in parts} - {""} - set(map(str, column.missing_codes)))
        return column.separator.join(codes) or None

    if not pa.types.is_nested(array.type):  # few distinct cells: work on those
        encoded = array.cast(pa.string()).dictionary_encode()
        values = pa.array([cell(v) for v in encoded.dictionary.to_pylist()], pa.string())
        return values.take(encoded.indices)
    return pa.array([None if v is None else cell(v) for v in array.to_pylist()], pa.string())


def missing_values(column: Column, wanted: pa.DataType) -> pa.Array:
    """The schema's missing codes that a cell of this type can hold at all."""
    found = []
    for value in column.missing_codes:
        try:
            found.append(pa.scalar(value).cast(wanted).as_py())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            continue
    return pa.array(found, wanted)
