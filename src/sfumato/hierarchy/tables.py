"""Tables of levels as text: one line per value, most specific first, as ARX and others write them.

ARX puts semicolons between the cells, others commas or tabs; which one it is is found by looking. There is
no header. Cells that hold the separator, a quote or a line break stand in quotes.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from sfumato.errors import DataError
from sfumato.hierarchy.levels import Hierarchy

MOST_BYTES = 256 * 1024 * 1024
_SEPARATORS = (";", ",", "\t", "|")
_EMPTY_ON_PURPOSE = re.compile(r'^\s*"\s*"', re.MULTILINE)


def read_levels(path: str | Path, *, separator: str | None = None, encoding: str = "utf-8-sig") -> Hierarchy:
    """Read a table of levels from a file."""
    path = Path(path)
    return parse_levels(read_text(path, encoding), separator=separator, name=path.name)


def parse_levels(text: str, *, separator: str | None = None, name: str = "the table of levels") -> Hierarchy:
    """Read a table of levels from text; all faults are listed at once. `name` is what messages call it."""
    found = separator or _separator(text)
    rows = _rows(text, found, name)
    if any(not row[0].strip() for row in rows) and not _EMPTY_ON_PURPOSE.search(text):
        raise DataError(
            f"{name} has a line without a value in front.",
            hint='take it out, as missing cells need no line; a value that is an empty text is written as ""',
        )
    return Hierarchy.of_rows(rows, name=name)


def write_levels(hierarchy: Hierarchy, *, separator: str = ";") -> str:
    """The table of levels as text, as ARX writes it; `parse_levels` gives back an equal hierarchy."""
    # Quoted by hand: Python's writer leaves a carriage return without quotes.
    special = {separator, '"', "\r", "\n"}

    def quoted(cell: str) -> str:
        plain = cell and special.isdisjoint(cell)
        return cell if plain else '"' + cell.replace('"', '""') + '"'

    return "".join(separator.join(map(quoted, row)) + "\n" for row in hierarchy.rows())


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """A file as text, unless it is far too large to be a hierarchy."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(
                f"{path.name} is too large for a hierarchy: more than {MOST_BYTES >> 20} MB.",
                hint="give the table of levels, not the data",
            )
        return path.read_bytes().decode(encoding)
    except OSError as error:
        raise DataError(
            f"{path.name} cannot be read: {error.strerror or 'no reason given'}.", hint="check the path"
        ) from None
    except (UnicodeDecodeError, LookupError):
        raise DataError(f"{path.name} is not {encoding} text.", hint="say its encoding") from None


def _rows(text: str, separator: str, name: str) -> list[list[str]]:
    """The cells; an empty line holds no value and is passed over."""
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        return [row for row in lines if row]
    except csv.Error:
        raise DataError(f"{name} is not well-formed CSV.", hint="look at its quotes") from None


def _separator(text: str) -> str:
    """The separator that gives every line as many cells as the first, and the most of them.

    Only where none does (the table is ragged) the one that occurs most.
    """
    best, most = "", 1
    for sign in _SEPARATORS:
        try:
            widths = {len(row) for row in _rows(text, sign, "")}
        except DataError:
            continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = sign, width
    return best or max(_SEPARATORS, key=text.count)
