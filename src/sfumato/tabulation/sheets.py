"""Tables as people read them: rows and columns, for a workbook that may leave and a page that may not.

The workbook shows every withheld cell by one sign, whatever the reason. The page is internal: it shows true
counts, which cells are small, and which only hide others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cells.layout import TOTAL, Layout, read_layouts
from sfumato.errors import DataError, MissingExtraError, OutputError, ParameterError
from sfumato.io.atomic import atomic_file, write_text
from sfumato.privacy import HiddenCells
from sfumato.release import Release
from sfumato.tabulation.history import COUNT

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

_MOST_COLUMNS = 16_000
_MOST_ROWS = 1_000_000

Labels = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CrossTable:
    """One table with rows and columns. cell: of (row, column), the number of the cell in long form."""

    title: str
    rows: tuple[Labels, ...]
    columns: tuple[Labels, ...]
    names: tuple[str, ...]
    cell: Mapping[tuple[Labels, Labels], int]


def cross_tables(columns: Mapping[str, Sequence[str]], layouts: Sequence[Layout]) -> Iterator[CrossTable]:
    """Lay cells in long form out; the last axis of each table runs to the right."""
    names = list(columns)
    cells = list(zip(*columns.values(), strict=True))
    for layout in layouts:
        outside = [n for n in names if n not in layout.columns]
        right = layout.axes[-1] if len(layout.axes) > 1 else ()
        down = tuple(n for axis in layout.axes[: len(layout.axes) - bool(right)] for n in axis)
        at_down, at_right = [names.index(n) for n in down], [names.index(n) for n in right]
        at_outside = [names.index(n) for n in outside]
        found: dict[tuple[Labels, Labels], int] = {}
        for i, labels in enumerate(cells):
            if all(labels[j] == TOTAL for j in at_outside):
                found[tuple(labels[j] for j in at_down), tuple(labels[j] for j in at_right)] = i
        rows = tuple(sorted({r for r, _ in found}, key=_order))
        heads = tuple(sorted({c for _, c in found}, key=_order))
        yield CrossTable(layout.text, rows, heads, down, found)


def _order(labels: Labels) -> tuple[tuple[bool, str], ...]:
    """Parts before their total."""
    return tuple((label == TOTAL, label) for label in labels)


def _claim(release: Release) -> HiddenCells:
    for claim in release.guarantee:
        if isinstance(claim, HiddenCells):
            return claim
    raise ParameterError("this release holds no tables with hidden cells.", hint="give what sf.tabulate made")


def _said(labels: Labels) -> str:
    shown = [label for label in labels if label != TOTAL]
    return " / ".join(shown) if shown else "all"


def write_workbook(release: Release, path: str | Path, *, sign: str = "*", overwrite: bool = False) -> Path:
    """Write the tables of a release as an Excel workbook, one sheet each. sign: stands for a withheld cell.

    Combinations that do not occur are 0. Text is never run as a formula.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtraError("Writing Excel files", "excel") from None
    if not sign.strip() or any(c.isdigit() for c in sign):
        raise ParameterError("the sign of a withheld cell is text without digits.", hint="'*' or 'c'")
    claim = _claim(release)
    data = release.data.to_arrow()
    labels = {name: data[name].to_pylist() for name in claim.columns}
    shown = [COUNT, *([claim.summed] if claim.summed else [])]
    values = {name: data[name].to_pylist() for name in shown}
    target = Path(path)
    with atomic_file(target, overwrite=overwrite) as draft:
        book = xlsxwriter.Workbook(str(draft), {"in_memory": True})
        bold = book.add_format({"bold": True})
        pairs = itertools.product(cross_tables(labels, read_layouts(claim.layout)), shown)
        for number, (table, name) in enumerate(pairs, 1):
            if len(table.columns) > _MOST_COLUMNS or len(table.rows) > _MOST_ROWS:
                raise OutputError("a table is too large for a sheet.", hint="write .csv, in long form")
            sheet = book.add_worksheet(f"table {number}")
            sheet.write_string(0, 0, f"{name} by {table.title}; {sign} is withheld", bold)
            _fill(sheet, table, values[name], sign, bold)
        book.close()
    return target


def _fill(sheet: Worksheet, table: CrossTable, values: Sequence[object], sign: str, bold: Format) -> None:
    for j, name in enumerate(table.names):
        sheet.write_string(2, j, name, bold)
    left = len(table.names)
    for j, head in enumerate(table.columns):
        sheet.write_string(2, left + j, _said(head) if head else COUNT, bold)
    for i, row in enumerate(table.rows):
        for j, label in enumerate(row):
            sheet.write_string(3 + i, j, "all" if label == TOTAL else label)
        for j, head in enumerate(table.columns):
            number = table.cell.get((row, head))
            value = 0 if number is None else values[number]
            if value is None:
                sheet.write_string(3 + i, left + j, sign)
            elif isinstance(value, str):
                sheet.write_string(3 + i, left + j, value)
            else:
                sheet.write_number(3 + i, left + j, value)


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em; color: #222; }
.internal { background: #8b1a1a; color: #fff; padding: .6em 1em; font-weight: 600; }
table { border-collapse: collapse; margin: 1em 0 2em; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #ccc; padding: .15em .5em; text-align: right; } th { text-align: left; }
td.few { background: #d9534f; color: #fff; } td.hides { background: #f0c36d; } td.none { color: #bbb; }
"""


def write_pattern_page(release: Release, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write an internal page: true counts, small ones red, those that only hide others yellow."""
    claim = _claim(release)
    if release.internal is None or "cells" not in release.internal.tables:
        raise DataError("the release has no internal record.", hint="give the release as it was made")
    cells = release.internal.tables["cells"]
    labels = {name: cells[name].to_pylist() for name in claim.columns}
    counts, why = cells["rows"].to_pylist(), cells["why"].to_pylist()
    parts = []
    for table in cross_tables(labels, read_layouts(claim.layout)):
        head = "".join(f"<th>{escape(n)}</th>" for n in (*table.names, *map(_said, table.columns)))
        body = "".join(_row(table, row, counts, why) for row in table.rows)
        parts.append(f"<h2>{escape(table.title)}</h2><table><tr>{head}</tr>{body}</table>")
    few, hides = why.count("few people"), why.count("hides another cell")
    text = (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Withheld cells (internal)</title>"
        f"<style>{_STYLE}</style><p class='internal'>INTERNAL: true counts. This page must not leave.</p>"
        f"<h1>Withheld cells</h1><p>{few:,} cells have too few people (red); {hides:,} are withheld so that "
        f"these cannot be reckoned back (yellow); {len(why) - few - hides:,} are shown.</p>"
        f"{''.join(parts)}</html>"
    )
    return write_text(path, text, overwrite=overwrite, private=True)


def _row(table: CrossTable, row: Labels, counts: Sequence[int], why: Sequence[str]) -> str:
    kinds = {"few people": "few", "hides another cell": "hides", "": "shown"}
    cells = []
    for head in table.columns:
        number = table.cell.get((row, head))
        if number is None:
            cells.append("<td class='none'>0</td>")
        else:
            reason = why[number]
            cells.append(f"<td class='{kinds[reason]}' title='{escape(reason)}'>{counts[number]}</td>")
    names = "".join(f"<th>{escape('all' if label == TOTAL else label)}</th>" for label in row)
    return f"<tr>{names}{''.join(cells)}</tr>"
