"""What a text table may be besides what it looks like: refused, or said, before it is misread in silence.

Names that stand again among the rows (files put together), quotes marked by a backslash, columns under each
other by spaces, years of another calendar, long numbers that a spreadsheet has cut, codes and thousands that
look like fractions.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError, SfumatoWarning, listed

ENCODINGS = (
    "cp1250 (Polish, Czech), cp1251 (Cyrillic), cp1253 (Greek), mac_roman, cp850 (DOS), shift_jis, gb18030, "
    "euc_kr, cp1254 (Turkish), cp1255 (Hebrew), cp1256 (Arabic), cp874 (Thai), koi8_r, big5"
)
"""What files that are not UTF-8 are mostly written in."""
_MARKED_QUOTE = re.compile(r'(?<!\\)\\"(?=[^,;\t|\r\n])')
_OTHER_YEARS = r"(^|[^0-9])2[45][0-9]{2}([^0-9]|$)"  # of the Buddhist calendar: 2563 is 2020
_OLD_YEARS = r"(^|[^0-9])1[34][0-9]{2}([^0-9]|$)"  # of the Persian or the Islamic calendar
_CUT_NUMBER = r"^-?[0-9][.,][0-9]+[eE]\+?1[1-9]$"  # 1.23457E+15 was a number of sixteen digits
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"  # 12.500 is twelve and a half, or a German's 12,500
_LOOK = 200  # lines
_CELLS = 20_000  # looked at for numbers that are written in two ways


def refuse_repeated_names(lines: Sequence[tuple[int, Sequence[str]]], name: str) -> None:
    """Refuse a table among whose rows the names stand again. lines: numbers and cells, the names first."""
    names = [cell.strip() for cell in lines[0][1]]
    again = [n for n, cells in lines[1:] if [c.lstrip("\ufeff").strip() for c in cells] == names]
    if again and len(names) > 1:
        where = listed([str(n) for n in again[:3]])
        raise DataError(
            f"{name}: the names stand again in line {where}, as where files were put together.",
            hint="take the lines with the names away, but for the first; or give the files in a folder",
        )


def repeated_names(batch: pa.RecordBatch) -> int:
    """How many rows hold the names of three columns or more."""
    if batch.num_columns < 3:
        return 0
    hits = pc.equal(batch.column(0), batch.schema.names[0])
    for column, name in zip(batch.columns[1:3], batch.schema.names[1:3], strict=True):
        hits = pc.and_(hits, pc.equal(column, name))
    return int(pc.sum(hits).as_py() or 0)


def refuse_marked_quotes(text: str, quote: str, name: str) -> None:
    """Refuse cells in which a backslash stands before a quote, as other programs mark it."""
    if quote == '"' and _MARKED_QUOTE.search(text):
        raise DataError(
            f"{name} marks quotes inside cells with a backslash.",
            hint='write such a quote twice: pandas.read_csv(FILE, escapechar="\\\\").to_csv(...) does',
        )


def refuse_spaces(text: str, name: str) -> None:
    """Refuse columns that stand under each other by spaces: each line would be one cell."""
    lines = [line for line in text.splitlines()[:_LOOK] if line.strip()]
    widths = {len(line.split()) for line in lines}
    padded = sum("  " in line for line in lines)
    if len(lines) > 2 and len(widths) == 1 and min(widths) > 1 and padded > 0.5 * len(lines):
        raise DataError(
            f"the columns of {name} stand under each other, divided by spaces.",
            hint="write them with a separator: pandas.read_fwf(FILE).to_csv('data.csv', index=False)",
        )


def say_doubts(cells: pa.Array, type_name: str, column: str, name: str, *, commas: bool = True) -> None:
    """Say where dates have years of another calendar, and where numbers may be something else.

    commas: a comma stands between cells, so that a point marks decimals, not thousands.
    """
    filled = pc.drop_null(cells)
    if not len(filled):
        return
    if type_name in ("date", "datetime") and _share(filled, _OTHER_YEARS) == 1.0:
        what = "has years after 2400: of the Buddhist calendar? Take 543 off, or they are read as they are"
    elif type_name in ("date", "datetime") and _share(filled, _OLD_YEARS) == 1.0:
        what = "has years before 1500: of the Persian or the Islamic calendar? They are read as they are"
    elif type_name == "real" and _share(filled, _CUT_NUMBER) > 0.5:
        what = "holds long numbers that a spreadsheet has cut (1.2E+15): their last digits are lost"
    elif type_name == "real" and not commas and _share(filled, _THOUSANDS) == 1.0:
        what = "may have points for thousands, and is read as fractions: say decimal=',' if so"
    elif type_name == "real" and _written_twice(filled.slice(0, _CELLS)):
        what = (
            "writes the same number in two ways (as 1.1 and 1.10 are), and they are read as one: if they are "
            'codes, give the column type = "text" in a schema'
        )
    else:
        return
    warnings.warn(f"{name}: '{column}' {what}.", SfumatoWarning, stacklevel=3)


def _written_twice(cells: pa.Array) -> bool:
    """Whether fractions differ in nothing but zeros at their end, as versions and codes of ICD-9 do."""
    cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    fractions = pc.unique(cells.filter(pc.match_substring_regex(cells, r"^[+-]?[0-9]+\.[0-9]+$")))
    return len(pc.unique(pc.utf8_rtrim(fractions, "0"))) < len(fractions)


def _share(cells: pa.Array, form: str) -> float:
    return float(pc.sum(pc.match_substring_regex(cells, form)).as_py() or 0) / len(cells)
