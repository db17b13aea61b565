"""Where a table begins: lines above the names, a row of units below them, separators at the ends of lines.

It looks at rows of text cells, of a text file or of a sheet. What is plain is skipped, and the caller says
so; what can be read in two ways is refused with the option that decides it. A title is one filled cell, a
comment begins with '#'; the names below are filled, different, and no numbers.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sfumato.errors import DataError, ParameterError, SfumatoWarning

HEAD = 1 << 20
"""How many bytes of a text file are looked at."""
MOST_ABOVE = 60  # lines above the names
LOOKED_AT = 200  # rows below the names
# In columns of numbers and dates these say "missing"; in text they may be a country or a name.
MARKERS = ("NA", "N/A", "#N/A", "NULL", "Null", "null", "NaN", "nan", "None", "none", ".")
_GAPS = frozenset({"", "?", "-", *MARKERS})
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"(\d{1,2})([./-]) ?(\d{1,2})[./-] ?\d{4}\.?(?:[ T]\d{1,2}:\d\d.*)?")
_ISO_DATE = re.compile(r"\d{4}[./-] ?\d{1,2}[./-] ?\d{1,2}\.?(?:[ T].*)?")
_YEAR = re.compile(r"(19|20)\d\d")
_SPELT = """
    y yr yrs year years month months mo week weeks wk day days d hour hours hr hrs h min mins minute
    minutes s sec secs second seconds ms jahr jahre monat monate woche wochen tag tage stunde stunden
    minuten sekunden an ans mois jour jours heure heures año años mes meses día días anno anni mese mesi
    giorni jaar jaren maanden dagen kg g mg µg μg ug mcg ng pg t lb lbs oz km m cm mm µm μm nm in inch
    inches ft feet l dl cl ml µl μl ul fl mol mmol µmol μmol umol nmol pmol meq iu u ku miu mmhg cmh kpa
    hpa pa bar bpm hz db °c °f kcal kj j cal % percent prozent ‰ ppm usd eur gbp chf euro euros dollar
    dollars € $ £ ¥ cells zellen copies count n number anzahl score points punkte rpm mv v w unit units
    einheit unité yyyy yyyy-mm-dd dd.mm.yyyy dd/mm/yyyy mm/dd/yyyy dd-mm-yyyy hh:mm hh:mm:ss date datum
    text string code codes category integer float none
"""
_TOTAL = re.compile(
    r"(grand |sub)?totals?|sum|sums|summe|gesamt|gesamtsumme|insgesamt|somme|ensemble|suma|totales?|"
    r"totale|totaal|totalt|soma|i alt",
    re.IGNORECASE,
)
_UNITS = frozenset(_SPELT.split())
_PARTS = re.compile(r"[/·*^\s²³⁹]+|\d+|(?<=[a-z])-(?=\d)")


class TextRow(NamedTuple):
    """The cells of a row, and the line of the file on which it begins, from 1."""

    line: int
    cells: list[str]


def parse_rows(text: str, separator: str, quote: str, more: bool) -> list[TextRow]:
    """Rows of cells, empty lines left out; a last row that the head cut off is left out as well."""
    limit = csv.field_size_limit(2 * HEAD)  # a setting of the whole process: put back below
    rows, line = [], 1
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote)
        for cells in reader:
            if cells:
                rows.append(TextRow(line, [cell.strip() for cell in cells]))
            line = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)
    return rows[:-1] if more and len(rows) > 1 else rows


def is_quantity(cell: str) -> bool:
    """Whether a cell is a number or a date."""
    return bool(NUMBER.fullmatch(cell) or DATE.fullmatch(cell) or _ISO_DATE.fullmatch(cell))


def is_unit(cell: str) -> bool:
    """Whether a cell is a unit of measurement: 'mg/dl', '(years)', '[°C]', '10^9/l'."""
    inner = cell.strip().lower()
    if len(inner) > 24:
        return False
    if inner[:1] + inner[-1:] in ("()", "[]", "{}") and len(inner) > 2:
        return True
    parts = [part for part in _PARTS.split(inner) if part]
    return bool(parts) and (inner in _UNITS or all(part in _UNITS for part in parts))


# -- lines above the names -------------------------------------------------------------------------


def lines_above(rows: Sequence[TextRow], name: str, word: str = "line", *, sure: bool = False) -> int:
    """How many rows stand above the names; refused where that is not plain.

    word: what a row is called where the file is looked at: a line, or a row of a sheet.
    sure: the caller named the separator, so one cell is one column.
    """
    count, comments = titles(rows)
    if not count:
        if len(rows[0].cells) > 1 or not sure:
            _refuse_comment_or_names(rows, name, word)
        return 0
    names, below = rows[count], rows[count + 1 :]
    if comments == count or not any(_filled(row.cells) for row in rows[:count]):
        return count
    if not _named(names.cells):
        if len(rows[0].cells) == len(names.cells):
            return 0  # names that lack some: said where they are read
        raise DataError(
            f"{name}: {word} 1 looks like a title, and no {word} below it holds a name for each column.",
            hint=f"say header=N, the {word} with the names, or header=0 if there are none",
        )
    plain = any(contrast(names.cells, below)) or any(_is_sentence(row) for row in rows[:count])
    if not plain and names.line - rows[count - 1].line < 2:  # no empty line between them either
        raise DataError(
            f"{name}: {word} {names.line} could be the names below a title, or the first row of data.",
            hint=f"say header={names.line}, or header=1 if {word} 1 holds the names",
        )
    return count


def titles(rows: Sequence[TextRow]) -> tuple[int, int]:
    """How many leading rows are titles or comments above a row of the table's width; and comments alone."""
    width = _table_width(rows)
    count = comments = 0
    while count < min(len(rows) - 1, MOST_ABOVE) and (
        _is_title(rows[count].cells, width) or _is_comment(rows[count:])
    ):
        comments += rows[count].cells[0].startswith("#")
        count += 1
    if not count or width < 2:
        return 0, 0
    fits = len(rows[count].cells) == width or _filled(rows[count].cells) == width
    return (count, comments) if fits else (0, 0)


def _table_width(rows: Sequence[TextRow]) -> int:
    """The usual number of cells in the later half of the rows."""
    later = rows[len(rows) // 2 :]
    return Counter(len(row.cells) for row in later).most_common(1)[0][0] if later else 0


def _is_title(cells: Sequence[str], width: int) -> bool:
    filled = _filled(cells)
    if width < 2 or (filled == width and len(cells) == width):
        return False
    if filled <= 1 or cells[0].startswith("#"):
        return True
    return filled == 2 and width > 2 and cells[0].endswith(":")


def _is_comment(rows: Sequence[TextRow]) -> bool:
    """'# a, b' as wide as the table, above another comment or above names: words, no units, above numbers."""
    if not re.match(r"#\s", rows[0].cells[0]) or len(rows) < 3:
        return False
    below = rows[1].cells
    words = [cell for cell, odd in zip(below, contrast(below, rows[2:]), strict=True) if odd]
    return below[0].startswith("#") or (bool(words) and not all(map(is_unit, words)))


def _is_sentence(row: TextRow) -> bool:
    """Several words, or a colon at the end: nobody names a column so and leaves the others empty."""
    return _filled(row.cells) == 1 and bool(re.search(r"\S\s+\S|:$", next(filter(None, row.cells))))


def _refuse_comment_or_names(rows: Sequence[TextRow], name: str, word: str) -> None:
    """'# a, b' above as many cells: names, or a comment with a comma in it?"""
    if len(rows) < 2 or not re.match(r"#\s", rows[0].cells[0]):
        return
    if len(rows[0].cells) == 1 and is_quantity(rows[1].cells[0]):
        return  # '# of visits' above numbers
    if len(rows[0].cells) == len(rows[1].cells) and not any(map(is_quantity, rows[1].cells)):
        raise DataError(
            f"{name}: {word} 1 begins with '#': a comment, or the names?",
            hint=f"say header=1 or header={rows[1].line}, the {word} with the names",
        )


def _named(cells: Sequence[str]) -> bool:
    """A name for each column: filled, different, no numbers but years. The first may be empty (row names)."""
    names = list(cells)
    while names and not names[-1]:
        names.pop()
    rest = names[1:] if names and not names[0] else names
    return (
        bool(rest)
        and all(rest)
        and len(set(rest)) == len(rest)
        and not any(is_quantity(cell) and not _YEAR.fullmatch(cell) for cell in rest)
    )


def _filled(cells: Sequence[str]) -> int:
    return sum(cell != "" for cell in cells)


# -- a row of units ---------------------------------------------------------------------------------


def has_units(rows: Sequence[TextRow], name: str, word: str = "line") -> bool:
    """Whether the row below the names holds units. rows: from the names on. Refused if it may be names."""
    if len(rows) < 3:
        return False
    first = rows[1].cells
    odd = contrast(first, rows[2:])
    if not any(odd):
        return False
    numbers = [k for k, is_odd in enumerate(odd) if is_odd is not None]
    words = [k for k in numbers if odd[k]]
    rest = [cell for k, cell in enumerate(first) if k not in numbers]
    apart = all(odd[k] or first[k] in _GAPS for k in numbers)  # no number among the words
    units = all(is_unit(first[k]) for k in words) and any(_is_plain(first[k]) for k in words)
    if units and apart and all(cell in _GAPS or (is_unit(cell) and _is_plain(cell)) for cell in rest):
        return True
    if units or (len(words) > 1 and apart):
        raise DataError(
            f"{name}: {word} {rows[1].line} holds words where all {word}s below hold numbers or dates.",
            hint=f"say header={rows[1].line} if it holds the names, units=True if units or explanations, "
            "units=False if data",
        )
    return False


def _is_plain(unit: str) -> bool:
    """A unit that is nothing else: 'm' may be a man and 'n' a no, 'kg' and '%' are not."""
    return len(unit) > 1 or not unit.isalnum()


def contrast(cells: Sequence[str], below: Sequence[TextRow]) -> list[bool | None]:
    """For each column whether a word stands above numbers; None where no numbers are below."""
    found: list[bool | None] = []
    for k, cell in enumerate(cells):
        column = [row.cells[k] for row in below[:LOOKED_AT] if k < len(row.cells)]
        filled = [other for other in column if other not in _GAPS]
        if not filled or not all(map(is_quantity, filled)):
            found.append(None)
        else:
            found.append(cell not in _GAPS and not is_quantity(cell))
    return found


# -- lines below the table ----------------------------------------------------------------------------


def refuse_footer(
    rows: Sequence[Sequence[str]], name: str, word: str = "line", *, notes: bool = True
) -> None:
    """Refuse a table that ends in a sum or a note. rows: the last ones, cells of equal number.

    notes: whether notes are; of a sheet a warning names them.
    """
    if len(rows) < 3 or len(rows[-1]) < 2:
        return
    body = [list(row) for row in rows[:-1]]
    usual = sorted(_filled(row) for row in body)[len(body) // 2]
    last = rows[-1]
    first = next((cell for cell in last if cell), "")
    total = _TOTAL.fullmatch(first) is not None and not any(_TOTAL.fullmatch(c) for row in body for c in row)
    note = notes and _filled(last) == 1 and usual > 1 and bool(last[0]) and _is_note(first, body)
    if total or note:
        what = "a sum" if total else "a note"
        raise DataError(
            f"{name}: the last {word} looks like {what} below the table, and would be read as a person.",
            hint=f"take the {word}s below the table away (head -n -1 FILE > NEW leaves out the last one of a "
            "text file)",
        )


def _is_note(cell: str, body: Sequence[Sequence[str]]) -> bool:
    """A sentence where the others hold a word, or a mark that only notes begin with."""
    if re.match(r"[#*†‡(]|\w+: ?\S|\d+ rows\b", cell):
        return not any(re.match(r"[#*†‡(]|\w+: ?\S", row[0]) for row in body if row)
    others = [len(row[0].split()) for row in body if row and row[0]]
    return len(cell.split()) >= 3 and (not others or max(others) < 3)


# -- separators at the ends -------------------------------------------------------------------------


def nameless_end(rows: Sequence[TextRow]) -> int:
    """How many columns at the end have neither a name nor a cell: separators that close each line."""
    if len(rows) < 2:
        return 0
    names, body = rows[0].cells, [row.cells for row in rows[1:]]
    width = len(body[0])
    if body[0][-1]:
        return 0
    if any(len(cells) != width for cells in body):
        return 0
    filled = max((k + 1 for cells in (names, *body) for k, cell in enumerate(cells) if cell), default=0)
    return width - filled if 0 < filled < width else 0


def chosen_line(rows: Sequence[TextRow], line: int, name: str, word: str = "line") -> int:
    """The position of the row that begins on a line which the caller named."""
    for k, row in enumerate(rows):
        if row.line == line:
            return k
    raise ParameterError(
        f"{name}: no row of cells begins on {word} {line}.", hint=f"header=N is the {word} with the names"
    )


# -- what was skipped, in words -----------------------------------------------------------------------


def words(header: int, skip: int, units: bool, word: str = "line") -> list[str]:
    """What was skipped, for the line that says how a file was read; nothing for an ordinary one."""
    parts = [] if header else ["no header"]
    if skip:
        above = f"{skip} {word}{'s' * (skip > 1)} above skipped"
        parts.append(f"names on {word} {header} ({above})" if header else above)
    if units:
        parts.append("a row of units below the names skipped")
    return parts


def say_skipped(name: str, header: int, skip: int, word: str = "line") -> None:
    """Warn that lines above the names were left out."""
    lines = f"the first {skip} {word}s are" if skip > 1 else f"the first {word} is"
    names = f"; the names are taken from {word} {header}" if header else ""
    warnings.warn(
        f"{name}: {lines} skipped as title or comment{names}. Say header=1 if that is wrong.",
        SfumatoWarning,
        stacklevel=4,
    )


def say_units(name: str, line: int, word: str = "line") -> None:
    """Warn that the row below the names was left out."""
    warnings.warn(
        f"{name}: the row below the names ({word} {line}) is skipped: it holds units. "
        "Say units=False if it is data.",
        SfumatoWarning,
        stacklevel=4,
    )
