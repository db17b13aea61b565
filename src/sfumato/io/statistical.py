"""SAS, SPSS and Stata files: the data with the dictionary that came with it.

Variable labels, value labels, measurement levels and user-missing codes become the schema; codes
stay in the data as they are, and the table above turns the missing ones into missing. Opening a file
reads its numbers once, because these formats keep codes and measurements alike as floating-point
numbers and tell only by their values which letters (.a, .B) stand for missing.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sfumato.errors import DataError, MissingExtraError, listed
from sfumato.io.file_checks import require_files, require_same
from sfumato.schema import Column, Kind, Schema, Value
from sfumato.sources import BatchSource

Family = Literal["spss", "stata", "sas"]
Content = Literal["text", "number", "date", "datetime"]

_READERS: dict[str, tuple[Family, str, bool]] = {  # family, function, whether it can keep missing codes
    ".sav": ("spss", "read_sav", True), ".zsav": ("spss", "read_sav", True),
    ".por": ("spss", "read_por", False), ".dta": ("stata", "read_dta", True),
    ".sas7bdat": ("sas", "read_sas7bdat", True), ".xpt": ("sas", "read_xport", False),
}  # fmt: skip
_DATES = {
    "spss": {"DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"},
    "sas": {"DATE", "DDMMYY", "MMDDYY", "YYMMDD", "WEEKDATE", "WEEKDATX", "E8601DA", "B8601DA", "IS8601DA",
            *(f"{order}{mark}" for order in ("DDMMYY", "MMDDYY", "YYMMDD") for mark in "BCDNPS")},
}  # fmt: skip
_DATETIMES = {
    "spss": {"DATETIME", "YMDHMS"},
    "sas": {"DATETIME", "DATEAMPM", "MDYAMPM", "E8601DT", "B8601DT", "B8601DN", "IS8601DT"},
}
EPOCH_DAYS = {"spss": 141_428, "stata": 3_653, "sas": 3_653}
"""Days from the first day each program counts from to 1970."""

_CHUNK_CELLS = (2_000_000, 8_000_000)  # a chunk skips over all rows before it, so few large ones
LISTED_RANGE = 50  # a range of so many whole numbers is written out as codes
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_800  # of the years 1 to 9999
_TAG_BASE = -9_007_199_254_740_000


def tag_code(tag: str) -> int:
    """The number that stands for .a to .z, .A to .Z and ._ in the data: -90071992547400 and 01 to 27.

    It is exact as a floating-point number too, and no measurement is near it.
    """
    return _TAG_BASE - (27 if tag == "_" else ord(tag.lower()) - ord("a") + 1)


def code_tag(code: object) -> str | None:
    """The letter a number stands for, in small type; None for any other number."""
    if isinstance(code, (int, float)) and 1 <= (place := _TAG_BASE - code) <= 27 and place == int(place):
        return "_" if place == 27 else chr(ord("a") + int(place) - 1)
    return None


@dataclass
class _Variable:
    """What the file says about a variable, and what its values show."""

    name: str
    family: Family
    content: Content
    format: str
    label: str
    measure: str
    labels: Mapping[Any, str]
    ranges: list[tuple[Any, Any]]
    whole: bool  # numbers are integers; a candidate until the scan is over
    tags: set[str] = field(default_factory=set)
    seen: set[Any] = field(default_factory=set)  # values inside missing ranges


@dataclass(frozen=True)
class _Reader:
    """A file and how pyreadstat reads it."""

    path: Path
    family: Family
    function: Any
    keeps_codes: bool
    encoding: str | None

    def __call__(self, **options: object) -> tuple[dict[str, list[Any]], Any]:
        """Columns as lists, and the metadata; dates as the numbers the file holds."""
        if self.keeps_codes:
            options["user_missing"] = True
        if self.encoding is not None and self.path.suffix.lower() != ".por":
            options["encoding"] = self.encoding
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="column .* is duplicated")
                return self.function(  # type: ignore[no-any-return]
                    str(self.path), output_format="dict", disable_datetime_conversion=True, **options
                )
        except MemoryError:
            raise
        except Exception as error:  # whatever it met; its words may hold cells
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> DataError:
        name, words = self.path.name, str(error)
        if isinstance(error, UserWarning):
            return DataError(f"{name}: a column name repeats.", hint="rename one of the variables")
        if self.encoding is not None and not _is_encoding(self.encoding):
            return DataError(f"'{self.encoding}' is not a known encoding.", hint='encoding="latin1"')
        if isinstance(error, UnicodeDecodeError) or "encod" in words or "convert" in words:
            return DataError(f"{name}: text is not in the encoding it claims.", hint='encoding="latin1"')
        return DataError(f"{name} is damaged, or is not what its suffix says.", hint="export it again")


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return False
    return True


def read(path: Path, *, encoding: str | None = None) -> tuple[BatchSource, Schema]:
    """A file as batches of its codes, and its dictionary as a schema."""
    reader = _reader(Path(path), encoding)
    same = require_same([reader.path])
    if reader.path.suffix.lower() == ".xpt" and reader.path.stat().st_size % 80:  # it does not say its rows
        raise DataError(f"{reader.path.name} ends before its last row.", hint="copy it again")
    _, meta = reader(metadataonly=True)
    variables = _variables(meta, reader.family)
    rows = _scan(reader, variables, meta.number_rows)
    known = {v.name: v for v in variables}
    schema = pa.schema([_field(v) for v in variables])

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        unknown = [repr(c) for c in columns if c not in known]
        if unknown:
            hint = f"it has {listed([repr(n) for n in known])}"
            raise DataError(f"{reader.path.name} has no column {listed(unknown)}.", hint=hint)
        wanted = pa.schema([schema.field(c) for c in columns])
        for chunk in _chunks(reader, list(columns), rows):
            arrays = [_array(chunk[f.name], known[f.name], f.type, reader.path) for f in wanted]
            yield pa.RecordBatch.from_arrays(arrays, schema=wanted)

    source = BatchSource(schema, batches, rows=rows, origin=reader.path, require_same=same)
    return source, Schema(tuple(_column(v) for v in variables))


def _reader(path: Path, encoding: str | None) -> _Reader:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("Reading SAS, SPSS and Stata files", "stats") from None
    if path.suffix.lower() not in _READERS:
        raise DataError(f"{path.name} is no SAS, SPSS or Stata file.", hint=listed(list(_READERS)))
    require_files([path])
    family, function, keeps_codes = _READERS[path.suffix.lower()]
    return _Reader(path, family, getattr(pyreadstat, function), keeps_codes, encoding)


def _variables(meta: Any, family: Family) -> list[_Variable]:
    variables = []
    for name in meta.column_names:
        format_ = meta.original_variable_types.get(name) or ""
        stored = meta.readstat_variable_types[name]
        content = "text" if stored == "string" else _content(format_, family)
        labels = meta.variable_value_labels.get(name, {})
        measure = meta.variable_measure.get(name, "unknown")
        ranges = [(r["lo"], r["hi"]) for r in meta.missing_ranges.get(name, [])]
        integral = stored.startswith("int")
        coded = bool(labels) or measure in ("nominal", "ordinal") or re.fullmatch(r"[A-Z]*\d+(\.0)?", format_)
        whole = content == "number" and bool(integral or coded or family == "sas")
        label = meta.column_names_to_labels.get(name) or ""
        variables.append(_Variable(name, family, content, format_, label, measure, labels, ranges, whole))
    return variables


def _content(format_: str, family: Family) -> Content:
    """What a number means by its display format. Times of day stay numbers: they may pass 24 hours."""
    if family == "stata":
        if format_.startswith(("%tc", "%tC")):
            return "datetime"
        return "date" if format_.startswith(("%td", "%d")) else "number"
    stem = re.sub(r"\d*\.?\d*$", "", format_.upper())
    if stem in _DATES[family]:
        return "date"
    return "datetime" if stem in _DATETIMES[family] else "number"


# -- values --------------------------------------------------------------------------------------


def _chunks(reader: _Reader, columns: list[str], rows: int | None) -> Iterator[dict[str, list[Any]]]:
    """Chunk by chunk; a file of unknown length ends with a short one."""
    if not columns or rows == 0:
        return
    least, most = _CHUNK_CELLS
    cells = len(columns) * (rows or 0)
    size = max(1, min(most, max(least, cells // 16)) // len(columns))
    offset = 0
    while rows is None or offset < rows:
        chunk, _ = reader(usecols=columns, row_offset=offset, row_limit=size)
        got = len(next(iter(chunk.values())))
        if got:
            yield chunk
        if got < size:
            if rows is not None and offset + got != rows:
                raise DataError(f"{reader.path.name} ends before its last row.", hint="copy it again")
            return
        offset += got


def _scan(reader: _Reader, variables: Sequence[_Variable], rows: int | None) -> int | None:
    """Read the numbers once: which are whole, which letters and which missing codes occur."""
    tagged = reader.keeps_codes and reader.family != "spss"
    wanted = [v for v in variables if v.content == "number" and (v.whole or v.ranges or tagged)]
    count = 0
    for chunk in _chunks(reader, [v.name for v in wanted], rows):
        for variable in wanted:
            _look(variable, chunk[variable.name])
        count += len(chunk[wanted[0].name])
    return count if wanted and rows is None else rows


def _look(variable: _Variable, values: list[Any]) -> None:
    different = set(values)
    different.discard(None)
    variable.tags |= {v for v in different if isinstance(v, str)}
    numbers = [v for v in different if not isinstance(v, str)]
    if variable.whole:
        variable.whole = all(v == v and abs(v) <= 2**53 and v == int(v) for v in numbers)
    for low, high in variable.ranges:
        variable.seen |= {v for v in numbers if low <= v <= high}


def _array(values: list[Any], variable: _Variable, type_: pa.DataType, path: Path) -> pa.Array:
    if variable.content == "text":  # none of the three programs tells an empty text from a missing one
        return pa.array([v or None for v in values], pa.string())
    if variable.content == "number":
        if variable.tags:
            codes = {tag: tag_code(tag) for tag in variable.tags}
            values = [codes.get(v) if isinstance(v, str) else v for v in values]
        return pa.array(values, pa.float64()).cast(type_)
    numbers = np.array([np.nan if v is None or isinstance(v, str) else v for v in values], np.float64)
    return _moments(numbers, variable, type_, path)


def _moments(numbers: np.ndarray[Any, Any], variable: _Variable, type_: pa.DataType, path: Path) -> pa.Array:
    """Days, seconds or milliseconds since the program's first day, as dates and times."""
    seconds = _since_1970(numbers, variable)
    outside = (seconds < _FIRST_SECOND) | (seconds >= _LAST_SECOND)  # never true of NaN
    for low, high in variable.ranges:
        seconds[outside & (numbers >= low) & (numbers <= high)] = np.nan  # a code no calendar has
    empty = np.isnan(seconds)
    wrong = int(np.count_nonzero(outside & ~empty))
    if wrong:
        raise DataError(
            f"{path.name}: column {variable.name!r} has {wrong} dates outside the years 1 to 9999.",
            hint="declare them as missing, or correct them, where the file was made",
        )
    seconds[empty] = 0
    whole = np.floor(seconds)
    if variable.content == "date":
        return pa.array((whole // 86_400).astype(np.int32), mask=empty).cast(type_)
    micros = whole.astype(np.int64) * 1_000_000 + np.rint((seconds - whole) * 1e6).astype(np.int64)
    return pa.array(micros, mask=empty).cast(type_)


def _since_1970(number: Any, variable: _Variable) -> Any:
    """A stored date or time, or an array of them, as seconds."""
    return number * unit_seconds(variable.family, variable.content) - EPOCH_DAYS[variable.family] * 86_400.0


def unit_seconds(family: Family, content: Content) -> float:
    """Seconds in one unit of a stored date or time."""
    if family == "spss":
        return 1.0
    if content == "date":
        return 86_400.0
    return 0.001 if family == "stata" else 1.0


# -- dictionary ----------------------------------------------------------------------------------


def _field(variable: _Variable) -> pa.Field:
    """The Arrow type, and what a write-back needs beyond the schema as marks."""
    number = pa.int64() if variable.whole else pa.float64()
    types = {"text": pa.string(), "number": number, "date": pa.date32(), "datetime": pa.timestamp("us")}
    marks = {
        "sfumato.family": variable.family, "sfumato.format": variable.format,
        "sfumato.measure": variable.measure,
    }  # fmt: skip
    if variable.ranges:
        marks["sfumato.missing"] = json.dumps(variable.ranges)
    return pa.field(variable.name, types[variable.content], metadata=marks)


def _column(variable: _Variable) -> Column:
    missing = _missing_codes(variable)
    labels = {str(t): text for v, text in variable.labels.items() if (t := _value(v, variable)) is not None}
    valid = set(labels) - {str(code) for code in missing}
    kind, reason = _kind(variable, bool(valid))
    number = "integer" if variable.whole else "real"
    type_ = number if variable.content == "number" else variable.content
    return Column(
        variable.name, kind, type=type_, labels=labels, missing_codes=missing, reason=reason,
        description=variable.label,
    )  # fmt: skip


def _kind(variable: _Variable, labelled: bool) -> tuple[Kind, str]:
    if variable.content in ("date", "datetime"):
        return Kind.DATE, f"the file shows it as {variable.format}"
    if variable.measure == "ordinal":
        return Kind.ORDINAL, "the file says ordinal"
    if variable.measure == "nominal" or (labelled and variable.measure != "scale"):
        declared = variable.measure == "nominal"
        return Kind.NOMINAL, "the file says nominal" if declared else "its values have labels"
    if variable.content == "number":
        declared = variable.measure == "scale"
        return Kind.NUMERIC, "the file says scale" if declared else "a number without labels"
    return Kind.NOMINAL, "text; the file does not say what kind"


def _missing_codes(variable: _Variable) -> tuple[Value, ...]:
    found: set[Any] = set(variable.seen)
    for low, high in variable.ranges:
        if low == high:
            found.add(low)
        elif variable.content == "number":
            found |= {v for v in variable.labels if not isinstance(v, str) and low <= v <= high}
            if variable.whole and high - low <= LISTED_RANGE:
                found |= set(range(int(np.ceil(low)), int(high) + 1))
    if variable.content == "number":
        labelled = {v for v in variable.labels if isinstance(v, str)}
        found |= {tag_code(tag) for tag in variable.tags | labelled}
    values = {_value(v, variable) for v in found}
    return tuple(sorted(v for v in values if v is not None))


def _value(raw: str | float, variable: _Variable) -> Value | None:
    """A value as the data has it; None if it cannot be one."""
    if variable.content == "text":
        return str(raw)
    if variable.content in ("date", "datetime"):
        return None if isinstance(raw, str) else _moment(raw, variable)
    if isinstance(raw, str):
        return None if len(raw) != 1 else _number(tag_code(raw), variable)
    return _number(raw, variable)


def _number(raw: float, variable: _Variable) -> Value:
    return int(raw) if variable.whole and raw == int(raw) else float(raw)


def _moment(raw: float, variable: _Variable) -> Value | None:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=_since_1970(raw, variable))
    except OverflowError:  # a code that is no date
        return None
    return moment.date() if variable.content == "date" else moment.replace(tzinfo=None)
