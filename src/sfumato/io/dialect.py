"""How a text table is written: separator, decimal sign, encoding, date order.

Nothing in a CSV file says how it is to be read, so the first megabyte is looked at and the finding is
said in one line. Whatever is found can be overruled by the caller.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.io.heads import HEAD, decoded, encoding_of, is_gzip, read_head

SEPARATORS = (",", ";", "\t", "|")
DATE_ORDERS = ("YMD", "DMY", "MDY")
# In columns of numbers and dates these say "missing"; in text they may be a country or a name.
MARKERS = ("NA", "N/A", "#N/A", "NULL", "Null", "null", "NaN", "nan", "None", "none", ".")
_FEW = 1 << 17  # enough to tell a separator
_NAMES = {"\t": "tab", " ": "space"}
_ORDER_WORDS = {"YMD": "year first", "DMY": "day first", "MDY": "month first"}
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})[./-]\d{4}(?:[ T]\d{1,2}:\d\d.*)?")
# Above the names: what divides the cells.
_EXCEL_LINE = re.compile(r"sep=([^\r\n])(?:\r\n|\r|\n)", re.IGNORECASE)
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
        encoding = encoding_of(data, path, given.get("encoding"), more)
        excel_separator, text = _without_excel_line(decoded(data, encoding, path, more))
        quote = given.get("quote") or _quote(text)
        separator = given.get("separator") or excel_separator or _separator(text, quote, more)
        rows = _parse(text, separator, quote, more)
        if not rows:
            raise DataError(f"{path.name} is empty.", hint="give a file with a header and rows")
        if len(rows[0]) == 1 and not given.get("separator"):
            _refuse_title(text, quote, more, path)
        header = given["header"] if "header" in given else _has_header(rows, path)
        body = rows[1:] if header else rows
        gaps = {"", "?", *MARKERS, *given.get("missing", ())}
        body = [[cell if cell not in gaps else "" for cell in row] for row in body]
        decimal = given.get("decimal") or _decimal(body, separator)
        found = cls(separator, quote, decimal, encoding, "YMD", header, given.get("missing", ()))
        return replace(found, date_order=given.get("date_order") or _date_order(body, path))


def first_rows(path: Path, dialect: Dialect) -> list[list[str]]:
    """The rows of the head, for the names and for a look whether there are any below them."""
    data, more = read_head(path)
    encoding = encoding_of(data, path, dialect.encoding, more)
    _, text = _without_excel_line(decoded(data, encoding, path, more))
    return _parse(text, dialect.separator, dialect.quote, more)


def lines_before_header(path: Path, dialect: Dialect) -> tuple[int, int]:
    """Lines above the names: the one that Excel writes, and empty ones, which Arrow skips as rows."""
    data, more = read_head(path)
    excel_separator, text = _without_excel_line(decoded(data, dialect.encoding, path, more))
    empty = re.match(r"(?:\r\n|\r|\n)*", text)
    return int(bool(excel_separator)), len(re.findall(r"\r\n|\r|\n", empty[0])) if empty else 0


def _without_excel_line(text: str) -> tuple[str, str]:
    """The separator that a first line 'sep=;' names, if there is one, and the text below it."""
    found = _EXCEL_LINE.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def ragged_lines(path: Path, dialect: Dialect, width: int) -> Iterator[int]:
    """The lines of the file on which rows of another width start."""
    opener = gzip.open if is_gzip(path) else open
    with opener(path, "rt", encoding=dialect.encoding, errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=dialect.separator, quotechar=dialect.quote)
        line = 1
        with suppress(csv.Error):  # a cell too long for this reader: the count has to do
            for row in reader:
                excel = line == 1 and row and row[0].lower() in ("sep=", f"sep={dialect.separator}")
                if row and len(row) != width and not excel:
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


# -- shape -----------------------------------------------------------------------------------------


def _parse(text: str, separator: str, quote: str, more: bool) -> list[list[str]]:
    """Rows of cells, empty lines left out; a last row that the head cut off is left out as well."""
    limit = csv.field_size_limit(2 * HEAD)  # a setting of the whole process: put back below
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


def _refuse_title(text: str, quote: str, more: bool, path: Path) -> None:
    """One cell above rows that agree on several is a title or a remark: all rows would become one column."""
    for separator in SEPARATORS:
        widths = [len(row) for row in _parse(text[:_FEW], separator, quote, more or len(text) > _FEW)[1:]]
        if len(widths) < 2 or min(widths) < 2 or len(set(widths)) > 1:
            continue
        below = _parse(text[:_FEW], "\0", quote, more)[1:]
        if widths[0] > 2 or not all(_NUMBER.fullmatch(row[0]) or f"{separator} " in row[0] for row in below):
            raise DataError(
                f"the first line of {path.name} has 1 cell, all lines below have {widths[0]}.",
                hint="take the lines above the names away; if it is one column, say separator='|'",
            )


def _has_header(rows: Sequence[Sequence[str]], path: Path) -> bool:
    """Names, unless the first row holds numbers or dates above a column of the same."""
    suspects = [
        (k, cell)
        for k, cell in enumerate(rows[0])
        if _is_quantity(cell) and not re.fullmatch(r"(19|20)\d\d", cell)  # a year may be a name
    ]
    if not suspects or _counts_up(rows):
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


def _counts_up(rows: Sequence[Sequence[str]]) -> bool:
    """0, 1, 2, ...: names that a program gave to columns without names, perhaps beside that of the rows."""
    cells = [cell for cell in rows[0] if cell]
    name = rows[0][0]
    if name and len(cells) > 3 and not _is_quantity(name) and all(row[0] != name for row in rows[1:]):
        cells = cells[1:]  # with fewer it may be the first row of a file without names
    return len(cells) > 1 and cells in ([str(i + first) for i in range(len(cells))] for first in (0, 1))


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
