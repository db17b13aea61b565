"""Cells of a sheet that are merged: only the first of them holds the value, the others are read as missing.

Above the names that is a title; in the table a value would be lost for all rows but one. .xlsx and .ods files
are looked into; the binary formats are not, and that is said.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from sfumato.errors import DataError, SfumatoWarning
from sfumato.io.workbook_checks import Merged

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_UNSEEN = (".xls", ".xlsb")


def require_unmerged(path: Path, sheet: str, names_row: int, found: Merged, where: str) -> None:
    """Refuse merged cells among the names or below. names_row: from 1. found: in the archive of the file."""
    suffix = path.suffix.lower()
    if suffix in _UNSEEN:
        warnings.warn(
            f"{path.name}: merged cells cannot be seen in {suffix} files; all but the first of them are read "
            "as missing. If it has some, save it as .xlsx.",
            SfumatoWarning,
            stacklevel=4,
        )
        return
    merged = _of_ods(path, sheet) if suffix == ".ods" else iter(found.get(_file_of(path, sheet, found), ()))
    rows = sorted(first for first, last in merged if last >= names_row)
    if rows:
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise DataError(
            f"{where} has merged cells in its table (row {rows[0]}{more}): only the first one holds a value.",
            hint="unmerge them in a spreadsheet program and fill each cell; header=N if the names are lower",
        )


def _file_of(path: Path, sheet: str, found: Merged) -> str:
    """Where in its archive an .xlsx workbook keeps a sheet."""
    if not found:
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            book = archive.read("xl/workbook.xml").decode("utf-8", "replace")
            links = archive.read("xl/_rels/workbook.xml.rels").decode("utf-8", "replace")
        targets = {
            attributes.get("Id", ""): attributes.get("Target", "")
            for attributes in (e.attrib for e in ElementTree.fromstring(links))
        }
        for entry in ElementTree.fromstring(book).iter():
            if entry.tag.endswith("}sheet") and entry.get("name") == sheet:
                key = next((v for k, v in entry.attrib.items() if k.endswith("}id")), "")
                target = targets.get(key, "")
                return target.lstrip("/") if target.startswith("/") else str(PurePosixPath("xl") / target)
    except (KeyError, ElementTree.ParseError, zipfile.BadZipFile, OSError):
        pass
    return next(iter(found)) if len(found) == 1 else ""


def _of_ods(path: Path, sheet: str) -> Iterator[tuple[int, int]]:
    """From which row to which cells are merged in a sheet of an OpenDocument workbook."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("content.xml") as content:
            row, here = 0, False
            for event, entry in ElementTree.iterparse(content, ("start", "end")):
                if entry.tag == f"{_TABLE}table":
                    row, here = 0, event == "start" and entry.get(f"{_TABLE}name") == sheet
                elif entry.tag == f"{_TABLE}table-row" and event == "end":
                    if here:
                        yield from ((row + 1, row + high) for high in map(_height, entry) if high)
                    row += int(entry.get(f"{_TABLE}number-rows-repeated", "1"))
                    entry.clear()
    except (KeyError, ElementTree.ParseError, zipfile.BadZipFile, OSError, ValueError):
        return


def _height(cell: ElementTree.Element) -> int:
    """Over how many rows a merged cell goes; 0 if it is not merged."""
    high, wide = (cell.get(f"{_TABLE}number-{what}-spanned", "1") for what in ("rows", "columns"))
    if not re.fullmatch(r"\d{1,9}", high) or (high, wide) == ("1", "1"):
        return 0
    return int(high)
