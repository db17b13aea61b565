"""What stands between the cells of a text table, and around them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.errors import DataError
from sfumato.io import layout
from sfumato.io.layout import NUMBER, TextRow, parse_rows

SEPARATORS = (",", ";", "\t", "|")
FOREIGN = ("؛", "،", "；", "，", "、", "¦", "§", "~", "^", "\x01", "\x02", "\x1e", "\x1f")
"""What stands between cells elsewhere, and cannot be read as that."""
FEW = 1 << 17
"""Characters that are enough to tell a separator."""
_FITS = 0.9  # of the rows as wide as the first: no need to look for a title
_NEVER = "\0"  # cuts no line


def quote_of(text: str) -> str:
    """The apostrophe only where the quotation mark does not occur and whole cells stand in apostrophes."""
    if '"' in text:
        return '"'
    quoted = len(re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", text, flags=re.MULTILINE))
    return "'" if quoted > text.count("\n") / 2 and quoted > 1 else '"'


def separator_of(text: str, quote: str, more: bool, start: int = 0) -> str:
    """The one that cuts the header, and most rows into as many cells as the header.

    start: the line with the names, if the caller named it. Otherwise lines above the names are passed over
    where no separator fits from the first line on.
    """
    scores, below_titles, absent = [], [], []
    for separator in SEPARATORS:
        rows = [row for row in _first(text, separator, quote, more) if row.line >= start]
        widths = [len(row.cells) for row in rows]
        if rows and widths[0] > 1:
            scores.append((round(widths.count(widths[0]) / len(rows), 2), widths[0], separator))
        elif all(width == 1 for width in widths):
            absent.append(separator)
        above = 0 if start else layout.titles(rows)[0]
        table = rows[above:]
        if above and len(set(widths[above:])) == 1 and not _is_one_column(table, text, separator, quote):
            below_titles.append((widths[above], separator))
    best = max(scores, default=(0.0, 0, ""))
    if below_titles and best[0] < _FITS:
        return max(below_titles)[1]
    if scores:
        return best[2]
    return absent[0] if absent else ","  # one column: cut at what does not occur


def _first(text: str, separator: str, quote: str, more: bool) -> list[TextRow]:
    return parse_rows(text[:FEW], separator, quote, more or len(text) > FEW)


def _is_one_column(rows: Sequence[TextRow], text: str, separator: str, quote: str) -> bool:
    """Two cells each, cut out of decimal commas or of sentences."""
    if len(rows[0].cells) > 2 or any(layout.contrast(rows[0].cells, rows[1:])):
        return False
    whole = [row.cells[0] for row in _first(text, _NEVER, quote, False) if row.line >= rows[0].line]
    return all(NUMBER.fullmatch(cell) or f"{separator} " in cell for cell in whole)


def refuse_one_column(text: str, quote: str, more: bool, name: str) -> None:
    """A first line of one cell above rows that a separator cuts alike: all would become one column."""
    whole = _first(text, _NEVER, quote, more)
    for separator in SEPARATORS:
        rows = _first(text, separator, quote, more)[1:]
        widths = [len(row.cells) for row in rows]
        if len(rows) < 2 or min(widths) < 2 or len(set(widths)) > 1:
            continue
        if whole[0].cells[0].startswith("# ") or not _is_one_column(rows, text, separator, quote):
            raise DataError(
                f"the first line of {name} has 1 cell, all lines below have {widths[0]}.",
                hint=f"say header={rows[0].line} if the names are there; if it is one column, separator='|'",
            )
    _refuse_quoted_lines(whole, name)
    for mark in FOREIGN:
        counts = {row.cells[0].count(mark) for row in whole}
        if len(whole) > 1 and len(counts) == 1 and 0 not in counts:
            raise DataError(
                f"each line of {name} holds as many {mark!r}, which seem to stand between cells.",
                hint="write commas in their place; if it is one column, separator='|'",
            )
    if len(whole) > 2 and whole[1].line > whole[0].line + 1:
        raise DataError(
            f"{name}: line 1 stands apart from the column below it: a title, or the name?",
            hint=f"say header=1 or header={whole[1].line}, the line with the name",
        )
    ends = {row.cells[0][-1:] for row in whole[1:]}
    if (
        len(whole) > 2
        and len(ends) == 1
        and ends <= set(SEPARATORS)
        and not whole[0].cells[0].endswith(tuple(ends))
    ):
        raise DataError(
            f"each line of {name} but the first ends with a separator.",
            hint=f"say separator='{ends.pop()}'",
        )


def _refuse_quoted_lines(whole: Sequence[TextRow], name: str) -> None:
    """Lines each of which stands in quotes as a whole, as a table that was saved twice."""
    for separator in SEPARATORS:
        counts = {row.cells[0].count(separator) for row in whole}
        if (
            len(whole) > 1
            and len(counts) == 1
            and 0 not in counts
            and f"{separator} " not in whole[0].cells[0]
        ):
            raise DataError(
                f"each line of {name} stands in quotes as a whole: its cells would become one.",
                hint="take the quotes at the ends of the lines away; if it is one column, separator='|'",
            )
