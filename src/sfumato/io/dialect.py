"""How a text table is written: separator, decimal sign, encoding, date order.

Nothing in a CSV file says how it is to be read, so the first megabyte is looked at and the finding is
said in one line. Whatever is found can be overruled by the caller.
"""

from __future__ import annotations

import csv
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
from sfumato.io import layout
from sfumato.io.doubts import refuse_marked_quotes, refuse_repeated_names, refuse_spaces
from sfumato.io.heads import FALLBACK, decoded, encoding_of, open_bytes, packing, read_head, require_plausible
from sfumato.io.layout import DATE, MARKERS, NUMBER, TextRow, is_quantity, parse_rows
from sfumato.io.separators import FEW, quote_of, refuse_one_column, separator_of

DATE_ORDERS = ("YMD", "DMY", "MDY")
_THOUSANDS = re.compile(
    r"[+-]?[1-9]\d{0,2}(\.\d{3})+"
)  # a point that marks thousands, where commas do decimals
_NAMES = {"\t": "tab", " ": "space"}
_ORDER_WORDS = {"YMD": "year first", "DMY": "day first", "MDY": "month first"}
# Above the names: what divides the cells.
_TAIL, _LAST = 1 << 16, 40  # bytes and lines at the end that are looked at
_EXCEL_LINE = re.compile(r"sep=([^\r\n])(?:\r\n|\r|\n)", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """The way one text table is written.

    missing: cell texts that stand for "missing" in every column, besides the empty cell.
    header: the line with the names, from 1; 0 if there is none, and they are made up: column_1, column_2, ...
    skip: the lines above the table. units: the row below the names holds units, and is no data.
    closing: columns at the end without name and cells, as a separator at the end of every line makes them.
    """

    separator: str = ","
    quote: str = '"'
    decimal: str = "."
    encoding: str = "utf-8"
    date_order: str = "YMD"
    header: int = 1
    missing: tuple[str, ...] = ()
    skip: int = 0
    units: bool = False
    closing: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(self.missing))
        faults = []
        for name in ("header", "skip", "closing"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                faults.append(f"{name} must be a whole number, 0 or more")
        if not isinstance(self.units, bool):
            faults.append("units must be true or false")
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
        parts += layout.words(self.header, self.skip, self.units)
        if self.closing:
            parts.append("a separator at the end of each line")
        if self.missing:
            parts.append(f"missing {', '.join(map(repr, self.missing))}")
        return ", ".join(parts)

    @classmethod
    def detect(cls, path: str | Path, **overrides: object) -> Dialect:
        """Look at the head of a file. An override that is not None wins over what is found."""
        path = Path(path)
        given = _checked_overrides(overrides)
        data, more = read_head(path)
        encoding = encoding_of(data, path, given.get("encoding"), more)
        excel_separator, text = _without_excel_line(decoded(data, encoding, path, more))
        if encoding == FALLBACK and "encoding" not in given:
            require_plausible(text, path.name)
        quote = given.get("quote") or quote_of(text)
        refuse_marked_quotes(text, quote, path.name)
        separator = given.get("separator") or excel_separator
        separator = separator or separator_of(text, quote, more, given.get("header", 0))
        rows = parse_rows(text, separator, quote, more)
        if not rows:
            raise DataError(f"{path.name} is empty.", hint="give a file with a header and rows")
        one = len(rows[0].cells) == len(rows[-1].cells) == 1
        if one and not given.keys() & {"separator", "header"}:
            refuse_one_column(text, quote, more, path.name)
            refuse_spaces(text, path.name)
        above = _rows_above(rows, path, given)
        rows = rows[above:]
        skip, cells = rows[0].line - 1, [row.cells for row in rows]
        header = (
            skip + 1 if given.get("header") or ("header" not in given and _has_header(cells, path)) else 0
        )
        if header:
            refuse_repeated_names([(row.line, row.cells) for row in rows], path.name)
        units = bool(given["units"] if "units" in given else header and layout.has_units(rows, path.name))
        if units and not header:
            raise ParameterError(f"{path.name} has no names, so no units below them.", hint="leave units out")
        closing = given["closing"] if "closing" in given else layout.nameless_end(rows)
        gaps = {"", "?", *MARKERS, *given.get("missing", ())}
        body = [[cell if cell not in gaps else "" for cell in row] for row in cells[bool(header) + units :]]
        if above and not given.get("header"):
            layout.say_skipped(path.name, header, skip)
        if units and "units" not in given:
            layout.say_units(path.name, rows[1].line)
        decimal = given.get("decimal") or _decimal(body, separator)
        order = given.get("date_order") or _date_order(body, path)
        missing = given.get("missing", ())
        return cls(separator, quote, decimal, encoding, order, header, missing, skip, units, closing)


def _rows_above(rows: Sequence[TextRow], path: Path, given: dict[str, Any]) -> int:
    """How many rows stand above the names, or above the first row if there are none."""
    if given.get("header"):
        return layout.chosen_line(rows, given["header"], path.name)
    if "skip" in given:
        return next((k for k, row in enumerate(rows) if row.line > given["skip"]), 0)
    if "header" in given:  # there are no names, so nothing but comments is told from data
        count, comments = layout.titles(rows)
        return count if comments == count else 0
    return layout.lines_above(rows, path.name, sure="separator" in given)


def first_rows(path: Path, dialect: Dialect) -> list[list[str]]:
    """The rows of the head, names and units among them, for a look whether there are any below."""
    data, more = read_head(path)
    encoding = encoding_of(data, path, dialect.encoding, more)
    _, text = _without_excel_line(decoded(data, encoding, path, more))
    found: list[list[str]] = []
    for size in (FEW, len(text)):  # all of it only where the first part does not show them
        rows = parse_rows(text[:size], dialect.separator, dialect.quote, more or size < len(text))
        found = [row.cells for row in rows if row.line > dialect.skip]
        if len(found) > bool(dialect.header) + dialect.units:
            break
    return found


def last_rows(path: Path, dialect: Dialect) -> list[list[str]]:
    """The last rows of a file that lies open, or of one that is small enough to unpack."""
    if packing(path):
        data, more = read_head(path)
        if more:
            return []
    else:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - _TAIL))
            data = file.read()
        more = size > _TAIL
    encoding = "utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding
    if more and encoding.startswith(("utf-16", "utf-32")):
        return []
    lines = data.decode(encoding, "replace").splitlines(keepends=True)[1:]  # the first may be cut, or names
    if any(line.count(dialect.quote) % 2 for line in lines):
        return []  # a cell over several lines
    return [row.cells for row in parse_rows("".join(lines[-_LAST:]), dialect.separator, dialect.quote, False)]


def rows_before_data(path: Path, dialect: Dialect) -> int:
    """Rows to pass over below the skipped lines: names, units, and empty lines between them."""
    if not dialect.header:
        return 0
    if not dialect.units:
        return 1
    data, more = read_head(path)
    text = decoded(data, dialect.encoding, path, more)
    lines = io.StringIO(text, newline="")
    for _ in range(dialect.skip):
        next(lines, "")
    reader = csv.reader(lines, delimiter=dialect.separator, quotechar=dialect.quote)
    count = found = 0
    for cells in reader:
        count, found = count + 1, found + bool(cells)
        if found == 2:
            break
    return count


def require_same_layout(paths: Sequence[Path], dialect: Dialect, given: dict[str, Any]) -> None:
    """Files of one table begin alike: the same lines above the names, units in all of them or in none."""
    told = {key: given[key] for key in ("header", "units") if given.get(key) is not None}
    known = {
        key: getattr(dialect, key) for key in ("separator", "quote", "decimal", "encoding", "date_order")
    }
    other = []
    for path in paths[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)  # said of the first one
            found = Dialect.detect(path, missing=dialect.missing, **known, **told)
        if replace(found, header=dialect.header, skip=dialect.skip) != dialect or (
            not told.get("header") and (found.header, found.skip) != (dialect.header, dialect.skip)
        ):
            other.append(path.name)
    if other:
        raise DataError(
            f"{len(other)} of {len(paths)} files begin in another way than {paths[0].name} (lines above the "
            f"names, no names, a row of units, separators at the ends): {', '.join(other[:5])}.",
            hint="read them apart, or say header=... and units=... if they are alike",
        )


def _without_excel_line(text: str) -> tuple[str, str]:
    """The separator that a first line 'sep=;' names, if there is one, and the text with that line empty."""
    found = _EXCEL_LINE.match(text)
    return (found[1], "\n" + text[found.end() :]) if found else ("", text)


def ragged_lines(path: Path, dialect: Dialect, width: int) -> Iterator[int]:
    """The lines of the file on which rows of another width start; names and units may be narrower."""
    stream: Any = open_bytes(path)
    with io.TextIOWrapper(stream, encoding=dialect.encoding, errors="replace", newline="") as file:
        for _ in range(dialect.skip):
            next(file, "")
        reader = csv.reader(file, delimiter=dialect.separator, quotechar=dialect.quote)
        line, passed = 1, 0
        with suppress(csv.Error):  # a cell too long for this reader: the count has to do
            for row in reader:
                passed += bool(row)
                if row and len(row) != width and passed > bool(dialect.header) + dialect.units:
                    yield line + dialect.skip
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


def _has_header(rows: Sequence[Sequence[str]], path: Path) -> bool:
    """Names, unless the first row holds numbers or dates above a column of the same."""
    suspects = [
        (k, cell)
        for k, cell in enumerate(rows[0])
        if is_quantity(cell) and not re.fullmatch(r"(19|20)\d\d", cell)  # a year may be a name
    ]
    if not suspects or _counts_up(rows):
        return True
    body = rows[1:2000]
    alike = any(
        sum(k < len(row) and (is_quantity(row[k]) or not row[k]) for row in body) >= 0.9 * len(body)
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
    if name and len(cells) > 3 and not is_quantity(name) and all(row[0] != name for row in rows[1:]):
        cells = cells[1:]  # with fewer it may be the first row of a file without names
    return len(cells) > 1 and cells in ([str(i + first) for i in range(len(cells))] for first in (0, 1))


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
        numbers = [cell for cell in cells if NUMBER.fullmatch(cell)] if _mostly(cells, NUMBER) else []
        if numbers and len(numbers) >= 0.9 * len(cells):
            votes[","] += any("," in cell for cell in numbers)
            votes["."] += any("." in cell for cell in numbers)
            votes["thousands"] += all(_THOUSANDS.fullmatch(cell) for cell in numbers if "." in cell) and any(
                "." in cell for cell in numbers
            )
    return "," if votes[","] > votes["."] - votes["thousands"] else "."


def _date_order(rows: Sequence[Sequence[str]], path: Path) -> str:
    """What the values allow: a part above 12 is the day. Dots are European; the rest is a stated guess."""
    votes: Counter[str] = Counter()
    for cells in _columns(rows):
        dates = [m for cell in cells if (m := DATE.fullmatch(cell))] if _mostly(cells, DATE) else []
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
        order = "DMY" if votes["DMY"] >= votes["MDY"] else "MDY"
        if votes["DMY"] and votes["MDY"]:
            warnings.warn(
                f"{path.name}: dates are day first in some columns and month first in others; read "
                f"{_ORDER_WORDS[order]}, the others stay text. Say dates='...' if that is wrong.",
                SfumatoWarning,
                stacklevel=4,
            )
        return order
    if votes["?"]:
        warnings.warn(
            f"{path.name}: {votes['?']} column{'s' * (votes['?'] > 1)} with dates that can be read day first "
            "or month first; read day first. Say dates='MDY' if that is wrong.",
            SfumatoWarning,
            stacklevel=4,
        )
        return "DMY"
    return "YMD"
