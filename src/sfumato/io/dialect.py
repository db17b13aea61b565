"""How a text table is written: separator, decimal sign, encoding, date order.

Nothing in a CSV file says how it is to be read, so the first megabyte is looked at and the finding is
said in one line. Whatever is found can be overruled by the caller.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.io.alike import require_files

SEPARATORS = (",", ";", "\t", "|")
DATE_ORDERS = ("YMD", "DMY", "MDY")
_HEAD = 1 << 20
_FEW = 1 << 17  # enough to tell a separator
_NAMES = {"\t": "tab", " ": "space"}
_ORDER_WORDS = {"YMD": "year first", "DMY": "day first", "MDY": "month first"}
# First bytes of files that people rename to .csv by mistake, and what they are.
_MAGIC = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3", "a SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"$FL", "an SPSS file"),
    (b"<stata_dta>", "a Stata file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x7fELF", "a program"),
)
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})[./-]\d{4}(?:[ T]\d{1,2}:\d\d.*)?")
_ISO_DATE = re.compile(r"\d{4}[./-]\d{1,2}[./-]\d{1,2}(?:[ T].*)?")


@dataclass(frozen=True)
class Dialect:
    """The way one text table is written.

    missing: cell texts that stand for "missing" in every column, besides the empty cell.
    header: the first row holds the names; otherwise they are made up: column_1, column_2, ...
    """

    separator: str = ","
    quote: str = '"'
    decimal: str = "."
    encoding: str = "utf-8"
    date_order: str = "YMD"
    header: bool = True
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(self.missing))
        faults = []
        for name in ("separator", "quote"):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value) != 1 or not 0 < ord(value) < 128 or value in "\r\n":
                faults.append(f"{name} must be one plain character")
        if self.decimal not in (".", ","):
            faults.append("decimal must be '.' or ','")
        if self.date_order not in DATE_ORDERS:
            faults.append(f"dates must be one of {', '.join(DATE_ORDERS)}")
        if self.decimal == self.separator:
            faults.append("decimal and separator must differ")
        if not all(isinstance(m, str) for m in self.missing):
            faults.append("missing must hold texts, as they stand in the file")
        try:
            "".encode(self.encoding)  # unlike codecs.lookup, knows what is text: 'hex' is not
        except (LookupError, TypeError, ValueError):
            faults.append("encoding is not known to Python")
        if faults:
            raise ParameterError(f"dialect: {'; '.join(faults)}.", hint="see docs/scan.md")

    def __str__(self) -> str:
        parts = [f"separator {_NAMES.get(self.separator) or repr(self.separator)}"]
        parts += [f"decimal '{self.decimal}'", f"encoding {self.encoding}"]
        parts.append(f"dates {_ORDER_WORDS[self.date_order]}")
        if self.quote != '"':
            parts.append(f"quote {self.quote!r}")
        if not self.header:
            parts.append("no header")
        if self.missing:
            parts.append(f"missing {', '.join(map(repr, self.missing))}")
        return ", ".join(parts)

    @classmethod
    def detect(cls, path: str | Path, **overrides: Any) -> Dialect:
        """Look at the head of a file. An override that is not None wins over what is found."""
        path = Path(path)
        given = _checked_overrides(overrides)
        data, more = read_head(path)
        encoding = _encoding(data, path, given.get("encoding"), more)
        text = _decode(data, encoding, path, more)
        quote = given.get("quote") or _quote(text)
        separator = given.get("separator") or _separator(text, quote, more)
        rows = _parse(text, separator, quote, more)
        if not rows:
            raise DataError(f"{path.name} is empty.", hint="give a file with a header and rows")
        header = given["header"] if "header" in given else _has_header(rows, path)
        body = rows[1:] if header else rows
        decimal = given.get("decimal") or _decimal(body, separator)
        found = cls(separator, quote, decimal, encoding, "YMD", header, given.get("missing", ()))
        return replace(found, date_order=given.get("date_order") or _date_order(body, path))


def first_rows(path: Path, dialect: Dialect) -> list[list[str]]:
    """The rows of the head, for the names and for a look whether there are any below them."""
    data, more = read_head(path)
    encoding = _encoding(data, path, dialect.encoding, more)
    return _parse(_decode(data, encoding, path, more), dialect.separator, dialect.quote, more)


def lines_before_header(path: Path, dialect: Dialect) -> int:
    """How many empty lines stand above the names: Arrow leaves them out, but counts them when it skips."""
    data, more = read_head(path)
    text = _decode(data, dialect.encoding, path, more)
    empty = re.match(r"(?:\r\n|\r|\n)*", text)
    return len(re.findall(r"\r\n|\r|\n", empty[0])) if empty else 0


def ragged_lines(path: Path, dialect: Dialect, width: int) -> Iterator[int]:
    """The lines of the file on which rows of another width start."""
    opener = gzip.open if is_gzip(path) else open
    with opener(path, "rt", encoding=dialect.encoding, errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=dialect.separator, quotechar=dialect.quote)
        line = 1
        with suppress(csv.Error):  # a cell too long for this reader: the count has to do
            for row in reader:
                if row and len(row) != width:
                    yield line
                line = reader.line_num + 1


def _checked_overrides(overrides: dict[str, Any]) -> dict[str, Any]:
    known = {f.name for f in fields(Dialect)}
    unknown = sorted(set(overrides) - known)
    if unknown:
        raise ParameterError(
            f"unknown part of a dialect: {', '.join(unknown)}.", hint=f"known are {', '.join(sorted(known))}"
        )
    given = {key: value for key, value in overrides.items() if value is not None}
    Dialect(**({"separator": "|" if given.get("decimal") == "," else ","} | given))  # refuse bad ones early
    return given


def is_gzip(path: Path) -> bool:
    """Whether a file is compressed, whatever its name says."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def read_head(path: Path, size: int = _HEAD) -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether there are more."""
    try:
        with path.open("rb") as file:
            data = file.read(size + 1)
    except OSError as error:
        require_files([path])
        raise DataError(f"{path.name} cannot be read: {error.strerror}.", hint="check the path") from None
    if data[:2] == b"\x1f\x8b":
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, size + 1)
        except zlib.error:
            raise DataError(f"{path.name} is a damaged gzip file.", hint="copy or pack it again") from None
    return data[:size], len(data) > size


# -- encoding --------------------------------------------------------------------------------------


def _encoding(data: bytes, path: Path, given: str | None, more: bool) -> str:
    """UTF-8 unless a byte order mark or the bytes themselves say otherwise; then what Windows wrote."""
    for start, what in _MAGIC:
        if data.startswith(start):
            raise DataError(f"{path.name} is {what}, not a text table.", hint="give the file its own suffix")
    marked = next(
        (
            name
            for mark, name in (
                (codecs.BOM_UTF8, "utf-8-sig"),
                (codecs.BOM_UTF16_LE, "utf-16"),
                (codecs.BOM_UTF16_BE, "utf-16"),
            )
            if data.startswith(mark)
        ),
        None,
    )
    if given or marked == "utf-16":
        return given or "utf-16"
    if b"\0" in data:
        raise DataError(
            f"{path.name} is a binary file, not a text table.",
            hint="if it is UTF-16 text, say encoding='utf-16-le'",
        )
    if marked:
        return marked
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not more)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _decode(data: bytes, encoding: str, path: Path, more: bool) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=not more)
    except UnicodeError:
        raise DataError(
            f"{path.name} is not {encoding} text.", hint="say encoding='...', for example 'latin-1'"
        ) from None


# -- shape -----------------------------------------------------------------------------------------


def _parse(text: str, separator: str, quote: str, more: bool) -> list[list[str]]:
    """Rows of cells, empty lines left out; a last row that the head cut off is left out as well."""
    limit = csv.field_size_limit(2 * _HEAD)  # a setting of the whole process: put back below
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote)
        rows = [[cell.strip() for cell in row] for row in reader if row]
    finally:
        csv.field_size_limit(limit)
    return rows[:-1] if more and len(rows) > 1 else rows


def _quote(text: str) -> str:
    """The apostrophe only where the quotation mark does not occur and whole cells stand in apostrophes."""
    if '"' in text:
        return '"'
    quoted = len(re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", text, flags=re.MULTILINE))
    return "'" if quoted > text.count("\n") / 2 and quoted > 1 else '"'


def _separator(text: str, quote: str, more: bool) -> str:
    """The one that cuts the header, and most rows into as many cells as the header."""
    scores, absent = [], []
    for separator in SEPARATORS:
        rows = _parse(text[:_FEW], separator, quote, more or len(text) > _FEW)
        if rows and len(rows[0]) > 1:
            alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
            scores.append((round(alike, 2), len(rows[0]), separator))
        elif all(len(row) == 1 for row in rows):
            absent.append(separator)
    if scores:
        return max(scores)[2]
    return absent[0] if absent else ","  # one column: cut at what does not occur


def _has_header(rows: Sequence[Sequence[str]], path: Path) -> bool:
    """Names, unless the first row holds numbers or dates above a column of the same."""
    suspects = [
        (k, cell)
        for k, cell in enumerate(rows[0])
        if _is_quantity(cell) and not re.fullmatch(r"(19|20)\d\d", cell)  # a year may be a name
    ]
    if not suspects or _counts_up([cell for _, cell in suspects]):
        return True
    body = rows[1:2000]
    alike = any(
        sum(k < len(row) and (_is_quantity(row[k]) or not row[k]) for row in body) >= 0.9 * len(body)
        for k, _ in suspects
    )
    if alike:
        warnings.warn(
            f"{path.name} has no header: its columns are called column_1, column_2, ...",
            SfumatoWarning,
            stacklevel=4,
        )
    return not alike


def _counts_up(cells: Sequence[str]) -> bool:
    """0, 1, 2, ...: names that a program gave to columns without names."""
    if not all(cell.isdecimal() for cell in cells) or len(cells) < 2:
        return False
    return [int(cell) for cell in cells] == list(range(int(cells[0]), int(cells[0]) + len(cells)))


def _is_quantity(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell) or _ISO_DATE.fullmatch(cell))


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[list[str]]:
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    for k in range(width):
        yield [row[k] for row in rows if k < len(row) and row[k]]


def _mostly(cells: Sequence[str], pattern: re.Pattern[str]) -> bool:
    """Whether the first cells are of a form: a cheap look before all are looked at."""
    first = cells[:200]
    return sum(bool(pattern.fullmatch(cell)) for cell in first) >= 0.8 * len(first)


# -- numbers and dates -----------------------------------------------------------------------------


def _decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """The comma, if more columns are numbers with it than with the point."""
    if separator == ",":
        return "."
    votes = Counter[str]()
    for cells in _columns(rows):
        numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)] if _mostly(cells, _NUMBER) else []
        if numbers and len(numbers) >= 0.9 * len(cells):
            votes[","] += any("," in cell for cell in numbers)
            votes["."] += any("." in cell for cell in numbers)
    return "," if votes[","] > votes["."] else "."


def _date_order(rows: Sequence[Sequence[str]], path: Path) -> str:
    """What the values allow: a part above 12 is the day. Dots are European; the rest is a stated guess."""
    votes: Counter[str] = Counter()
    for cells in _columns(rows):
        dates = [m for cell in cells if (m := _DATE.fullmatch(cell))] if _mostly(cells, _DATE) else []
        if not dates or len(dates) < 0.9 * len(cells):
            continue
        first = max(int(match[1]) for match in dates)
        second = max(int(match[3]) for match in dates)
        if first <= 12 < second:
            votes["MDY"] += 1
        elif second <= 12 < first or (first <= 12 and all(match[2] == "." for match in dates)):
            votes["DMY"] += 1
        elif first <= 12 and second <= 12:
            votes["?"] += 1
    if votes["DMY"] or votes["MDY"]:
        return "DMY" if votes["DMY"] >= votes["MDY"] else "MDY"
    if votes["?"]:
        warnings.warn(
            f"{path.name}: {votes['?']} column{'s' * (votes['?'] > 1)} with dates that can be read day first "
            "or month first; read day first. Say dates='MDY' if that is wrong.",
            SfumatoWarning,
            stacklevel=4,
        )
        return "DMY"
    return "YMD"
