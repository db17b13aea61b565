"""Write SPSS, Stata and SAS transport files with their dictionary.

pyreadstat writes a whole frame at once, so the table is in memory here, unlike in the other formats.
What a format has no place for is told in one warning, never dropped in silence.
"""

from __future__ import annotations

import errno
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato._system import disk, processes
from sfumato.errors import MissingExtraError, OutputError, SfumatoWarning, listed
from sfumato.io.statistical import EPOCH_DAYS, LISTED_RANGE, Content, Family, code_tag, unit_seconds
from sfumato.schema import Column, Kind, Schema
from sfumato.sources import is_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_UNMARKED = "marks of missing codes, which stay as plain values"
_IBM_LARGEST, _IBM_SMALLEST = 4.5e74, 5.4e-79  # beyond 16^62 what writes the file fails
_FAMILIES: dict[str, Family] = {".sav": "spss", ".zsav": "spss", ".dta": "stata", ".xpt": "sas"}
_NAMES = {  # what a variable may be called
    "spss": r"[^\W\d_][\w.@#$]{0,63}",
    "stata": r"[^\W\d]\w{0,31}",
    "sas": r"[A-Za-z_][A-Za-z0-9_]{0,31}",
}
_FORMATS = {
    ("spss", "date"): "DATE11", ("spss", "datetime"): "DATETIME20", ("stata", "date"): "%td",
    ("stata", "datetime"): "%tc", ("sas", "date"): "DATE9", ("sas", "datetime"): "DATETIME20",
}  # fmt: skip
_MEASURES = {
    Kind.NOMINAL: "nominal", Kind.FLAG: "nominal", Kind.ORDINAL: "ordinal", Kind.NUMERIC: "scale",
    Kind.DATE: "scale",
}  # fmt: skip
_LABEL_BYTES = {"spss": (255, 120), "stata": (80, 32_000), "sas": (255, 0)}  # of a variable, of a value
_INTEGERS = {"spss": 2**31 - 1, "stata": 2_147_483_620, "sas": 2**31 - 1}  # Stata keeps the rest for .a to .z


def write(table: pa.Table, draft: Path, schema: Schema | None) -> None:
    """Write a table of flat columns; the suffix of the draft names the format."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("Writing SPSS, Stata and SAS files", "stats") from None
    suffix = draft.suffix.lower()
    family = _FAMILIES[suffix]
    _require_names(table.schema.names, family, draft)
    plans = [_Plan(column, field, schema, family) for column, field in zip(table, table.schema, strict=True)]
    _tell_losses(plans, draft)
    frame = _frame(plans)
    options: dict[str, Any] = {
        "column_labels": {p.name: p.description for p in plans if p.description},
        "variable_format": {p.name: p.format for p in plans if p.format},
    }
    if family != "sas":
        options["variable_value_labels"] = {p.name: p.labels for p in plans if p.labels}
    if family == "spss":
        options["missing_ranges"] = {p.name: p.ranges for p in plans if p.ranges}
        options["variable_measure"] = {p.name: p.measure for p in plans}
        options["compress"] = suffix == ".zsav"
    if family == "stata":
        options["missing_user_values"] = {p.name: p.tags for p in plans if p.tags}
    names = {"spss": "write_sav", "stata": "write_dta", "sas": "write_xport"}
    try:
        getattr(pyreadstat, names[family])(frame, str(draft), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OverflowError) as error:
        raise _explained(error, draft) from None
    if family == "sas" and table.num_columns:
        _require_rows(table, draft)


def _require_rows(table: pa.Table, draft: Path) -> None:
    """Read a transport file back, because its writer is silent about a full disk.

    Whole blocks of 80 bytes and all rows there: then no byte is missing.
    """
    import pyreadstat

    first = table.schema.names[0]
    complete = draft.stat().st_size % 80 == 0
    if complete and table.num_rows:
        try:
            columns, _ = pyreadstat.read_xport(str(draft), usecols=[first], output_format="dict")
            complete = len(columns[first]) == table.num_rows
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
            complete = False
    if not complete:
        raise _disk_fault(draft) or OutputError(
            f"{draft.name} was not written completely.", hint="try another disk, or write .parquet"
        )


class _Plan:
    """How one column is written."""

    def __init__(
        self, column: pa.ChunkedArray, field: pa.Field, schema: Schema | None, family: Family
    ) -> None:
        self.name = field.name
        self.lost: list[str] = []
        marks = {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
        known = schema[field.name] if schema is not None and field.name in schema else None
        self.content = _content(field.type)
        self.description = self._fitting(known.description if known else "", _LABEL_BYTES[family][0])
        same = marks.get("sfumato.family") == family
        by_kind = _MEASURES.get(known.kind, "unknown") if known else "unknown"
        self.measure = marks.get("sfumato.measure") or by_kind
        self.format = marks.get("sfumato.format", "") if same and self.content != "text" else ""
        # Text among numbers or dates stands in no cell: it was taken out when the data was read.
        codes = [
            c for c in (known.missing_codes if known else ()) if self.content == "text" or type(c) is not str
        ]
        if self.content in ("date", "datetime") or (self.content == "text" and family != "spss"):
            self.lost += [_UNMARKED] if codes else []
            codes = []
        self.values: Any = _stored(column, self.content, family, field.name)
        if family == "spss" and pa.types.is_int32(self.values.type) and self._beyond(known, codes):
            self.values = self.values.cast(pa.float64())
        self.whole = pa.types.is_int32(self.values.type)
        self.format = self.format or self._default_format(family)
        self.labels = self._labels(known, family)
        self.ranges = self._ranges(codes, marks if same and (codes or not known) else {}, family)
        self.tags = self._tag(codes, family)

    def _beyond(self, known: Column | None, codes: Sequence[Any]) -> bool:
        """Whether a label or a code is a number for which 32 bits are too few, such as one for a letter."""
        labelled = [_parsed(key, self.content) for key in (known.labels if known else ())]
        return any(v is not None and abs(v) > _INTEGERS["spss"] for v in (*labelled, *codes))

    def _fitting(self, text: str, most: int) -> str:
        """Text cut to so many bytes, and the cut told: some writers cut in silence."""
        encoded = text.encode("utf-8")
        if len(encoded) <= most:
            return text
        self.lost.append(f"labels of more than {most} bytes")
        return encoded[:most].decode("utf-8", "ignore")

    def _default_format(self, family: Family) -> str:
        if family == "spss" and self.whole:
            return "F8.0"
        return _FORMATS.get((family, self.content), "")

    def _labels(self, known: Column | None, family: Family) -> dict[Any, str]:
        """Value labels with the values typed as the column is."""
        if known is None or not known.labels:
            return {}
        labellable = self.content == "number" and self._labelled_whole(known)
        if family == "sas" or (family == "stata" and not labellable):
            self.lost.append("value labels")
            return {}
        labels: dict[Any, str] = {}
        for key, whole_text in known.labels.items():
            value, text = _parsed(key, self.content), self._fitting(whole_text, _LABEL_BYTES[family][1])
            if value is None:
                self.lost.append("labels that fit no value")
            elif family == "stata" and (tag := code_tag(value)) and tag != "_":
                labels[tag] = text
            else:
                labels[int(value) if self.whole else value] = text
        return labels

    def _labelled_whole(self, known: Column) -> bool:
        """Stata labels whole numbers only; the letters for missing may be labelled in any case."""
        values = [_parsed(key, self.content) for key in known.labels]
        return all(v is not None and (code_tag(v) is not None or v == int(v)) for v in values)

    def _ranges(self, codes: Sequence[Any], marks: dict[str, str], family: Family) -> list[Any]:
        if family != "spss":
            return []
        ranges = json.loads(marks.get("sfumato.missing", "[]"))
        if ranges and (not codes or _says(ranges, codes, self.whole)):
            return [{"lo": low, "hi": high} for low, high in ranges]
        if self.content == "text":
            fit = [c for c in codes if isinstance(c, str) and len(c.encode()) <= 8]
            if len(fit) > 3 or len(fit) < len(codes):
                self.lost.append("missing codes beyond three short texts")
            return fit[:3]
        marked = spss_missing([float(c) for c in codes])
        if marked is None:
            self.lost.append("missing codes beyond three values, or a range and a value")
        return marked or []

    def _tag(self, codes: Sequence[Any], family: Family) -> list[str]:
        """Put the letters in place of their codes (Stata), or nothing where there is no place for them."""
        if family == "spss":
            return []
        tags = {code: tag for code in codes if (tag := code_tag(code))}
        if len(tags) < len(codes):
            self.lost.append(_UNMARKED)
        if not tags:
            return []
        if family == "sas":
            self.lost.append("letters for missing values")
        values = self.values.to_pylist()
        letters = {code: tag for code, tag in tags.items() if family == "stata" and tag != "_"}
        self.values = [letters.get(v) if v in tags else v for v in values]
        if all(v is None or isinstance(v, str) or v == int(v) for v in self.values):
            self.values = [v if v is None or isinstance(v, str) else _small(v) for v in self.values]
        return sorted(letters.values())


def _says(ranges: Sequence[tuple[Any, Any]], codes: Sequence[Any], whole: bool) -> bool:
    """Whether the ranges of a file mark what the schema says is missing; a person may have changed it."""
    for low, high in ranges:
        listed_once = low == high or (whole and high - low <= LISTED_RANGE)  # its codes were in the schema
        if listed_once and not any(low <= c <= high for c in codes):
            return False
    return all(any(low <= c <= high for low, high in ranges) for c in codes)


def _small(value: float) -> int | float:
    return int(value) if abs(value) <= _INTEGERS["stata"] else float(value)


def _content(type_: pa.DataType) -> Content:
    if pa.types.is_date(type_):
        return "date"
    if pa.types.is_timestamp(type_):
        return "datetime"
    return "text" if is_text(type_) else "number"


def _stored(column: pa.ChunkedArray, content: Content, family: Family, name: str) -> pa.Array:
    """The column as the program stores it: text, 32-bit integers, or floating-point numbers."""
    array = column.combine_chunks()
    if content == "text":
        return array.cast(pa.string())
    if content == "number":
        return _numbers(array, family, name)
    micros = array.cast(pa.timestamp("us")).cast(pa.int64())
    # Beyond the year 2255 a float has no place for every microsecond, but 9999-12-31 is a whole second.
    seconds = pc.divide(micros.cast(pa.float64(), safe=False), 1e6)
    shifted = pc.add(seconds, EPOCH_DAYS[family] * 86_400.0)
    return pc.divide(shifted, unit_seconds(family, content))


def _numbers(array: pa.Array, family: Family, name: str) -> pa.Array:
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int32())
    if not pa.types.is_integer(array.type):
        real = array.cast(pa.float64())
        real = pc.if_else(pc.is_nan(real), pa.scalar(None, pa.float64()), real)
        if family == "sas":
            _require_ibm(real, name)
        return real
    limits = pc.min_max(array)
    low, high = limits["min"].as_py() or 0, limits["max"].as_py() or 0
    if max(abs(low), abs(high)) > 2**53:
        raise OutputError(
            f"column {name!r} has whole numbers beyond 2^53, which the format cannot hold exactly.",
            hint="turn the column into text",
        )
    fits = max(abs(low), abs(high)) <= _INTEGERS[family]
    return array.cast(pa.int32() if fits else pa.float64())


def _require_ibm(real: pa.Array, name: str) -> None:
    """A transport file has the numbers of an IBM mainframe: beyond its range they become infinite, or 0."""
    size = pc.abs(real)
    large = pc.greater(size, _IBM_LARGEST)
    small = pc.and_(pc.greater(size, 0.0), pc.less(size, _IBM_SMALLEST))
    if pc.any(pc.or_(large, small)).as_py():
        raise OutputError(
            f"column {name!r} has numbers larger than {_IBM_LARGEST:.0e} or closer to 0 than "
            f"{_IBM_SMALLEST:.0e}, which an .xpt file cannot hold.",
            hint="write .sav, .dta or .parquet",
        )


def spss_missing(codes: Sequence[float]) -> list[Any] | None:
    """Codes as SPSS marks them: up to three values, or one range and one value; None if they do not fit.

    A range is used for neighbouring whole numbers only: it must not swallow a value that is valid.
    """
    codes = sorted(set(codes))
    if len(codes) <= 3:
        return [{"lo": c, "hi": c} for c in codes]
    runs: list[list[float]] = []
    for code in codes:
        if runs and code == runs[-1][-1] + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    longer = [run for run in runs if len(run) > 1]
    if len(runs) > 2 or len(longer) > 1:
        return None
    return [{"lo": run[0], "hi": run[-1]} for run in sorted(runs, key=len, reverse=True)]


def _parsed(key: str, content: Content) -> str | float | None:
    if content == "text":
        return key
    if content != "number":
        return None
    try:
        return int(key)
    except ValueError:
        pass
    try:
        return float(key)
    except ValueError:
        return {"True": 1, "False": 0}.get(key)


def _require_names(names: Sequence[str], family: Family, draft: Path) -> None:
    wrong = [repr(n) for n in names if not re.fullmatch(_NAMES[family], n)]
    lower = [n.lower() for n in names]
    clash = [repr(n) for n in names if lower.count(n.lower()) > 1] if family != "stata" else []
    faults = [f"names that are not allowed: {listed(wrong)}"] if wrong else []
    faults += [f"names that differ in case only: {listed(clash)}"] if clash else []
    if faults:
        raise OutputError(f"{draft.name}: {'; '.join(faults)}.", hint="rename the columns, or write .parquet")


def _tell_losses(plans: Sequence[_Plan], draft: Path) -> None:
    lost = [f"{p.name!r} ({', '.join(dict.fromkeys(p.lost))})" for p in plans if p.lost]
    if lost:
        warnings.warn(
            f"a {draft.suffix} file has no place for: {listed(lost)}. Keep the schema beside it.",
            SfumatoWarning,
            stacklevel=5,
        )


def _frame(plans: Sequence[_Plan]) -> pd.DataFrame | pl.DataFrame:
    """A frame of pandas or polars: pyreadstat takes no other."""
    try:
        import pandas as pd
    except ImportError:
        return _polars_frame(plans)
    columns = {}
    for plan in plans:
        if isinstance(plan.values, list):
            columns[plan.name] = pd.Series(plan.values, dtype=object)
        elif plan.whole:
            columns[plan.name] = plan.values.to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get)
        elif plan.content == "text":
            columns[plan.name] = pd.Series(plan.values.to_pylist(), dtype="str")
        else:
            columns[plan.name] = plan.values.to_pandas()
    return pd.DataFrame(columns)


def _polars_frame(plans: Sequence[_Plan]) -> pl.DataFrame:
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("Writing SPSS, Stata and SAS files", "stats") from None
    return pl.DataFrame(
        [
            pl.Series(p.name, p.values, dtype=pl.Object) if isinstance(p.values, list)
            else pl.Series(p.name, p.values)
            for p in plans
        ]
    )  # fmt: skip


def _explained(error: Exception, draft: Path) -> Exception:
    """An error of pyreadstat in our words: its own may hold cells."""
    fault = _disk_fault(draft) if "write" in str(error).lower() else None
    return fault or OutputError(
        f"{draft.name}: the columns or labels do not fit the format.",
        hint="shorten long texts and labels, or write .parquet",
    )


def _disk_fault(draft: Path) -> OSError | None:
    """pyreadstat does not say why a write failed; the disk and the limits do."""
    if disk.free_space(draft.parent) < 65_536:
        return OSError(errno.ENOSPC, "")
    limit = processes.largest_file()
    if limit is not None and draft.stat().st_size >= limit:
        return OSError(errno.EFBIG, "")
    return None
