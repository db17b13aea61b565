"""Workbooks that would not fit: an archive is measured before anything unpacks it.

A workbook is a ZIP archive of XML, and a small one can hold gigabytes: the same bytes over and over, or two
cells at opposite corners of a sheet whose rectangle is then made in memory. The sizes that an archive states
may be wrong, so what comes out is counted, and thrown away, up to the limit.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path
from typing import IO

from sfumato.errors import DataError

MOST_BYTES = 4 * 2**30  # of XML in all
MOST_RATIO = 100  # unpacked to packed: workbooks of repetitive tables reach about thirty
_HARMLESS = 64 * 2**20  # bytes that any ratio may unpack to
_MOST_EMPTY = 50  # cells of the rectangle for each cell that is there
_MOST_CELLS = 20_000_000  # that any rectangle may have
_CHUNK = 2**20
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*?\br=[\"'](\d{1,9})[\"']")
_WIDE = re.compile(rb"\br=[\"']([A-Z]{2,3})\d")  # up to Z every sheet may be wide
_CELL = re.compile(rb"<(?:\w+:)?c[ />]")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\b[^>]*?\bref=[\"']\$?[A-Z]+\$?(\d{1,9}):\$?[A-Z]+\$?(\d{1,9})")
_OVERLAP = 256  # bytes of a tag that two chunks may share

Merged = dict[str, set[tuple[int, int]]]
"""By the file of a sheet in its archive: from which row to which cells are merged."""


def require_fitting(path: Path) -> Merged:
    """Refuse a workbook that unpacks to far more than it should; what is no archive is left to others.

    Gives the merged cells that were seen on the way.
    """
    merged: Merged = {}
    if not zipfile.is_zipfile(path):
        return merged
    packed = path.stat().st_size
    allowed = min(MOST_BYTES, max(_HARMLESS, MOST_RATIO * packed))
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as raw:
            for entry in archive.infolist():
                sheet = _Rectangle(path.name)
                allowed -= _measured(entry, raw, allowed, path.name, sheet)
                if sheet.merged:
                    merged[entry.filename] = sheet.merged
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError):
        pass  # damaged: whoever reads it says so
    return merged


def _measured(entry: zipfile.ZipInfo, raw: IO[bytes], allowed: int, name: str, sheet: _Rectangle) -> int:
    """The bytes that an entry unpacks to, its rectangle of cells looked at on the way."""
    raw.seek(entry.header_offset)
    head = raw.read(30)
    raw.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    unpack = zlib.decompressobj(-zlib.MAX_WBITS) if entry.compress_type == zipfile.ZIP_DEFLATED else None
    left, size = entry.compress_size, 0
    is_sheet = "sheet" in entry.filename.lower() and entry.filename.lower().endswith(".xml")
    while left > 0 and (data := raw.read(min(_CHUNK, left))):
        left -= len(data)
        while data:
            out = data if unpack is None else unpack.decompress(data, _CHUNK)
            data = b"" if unpack is None else unpack.unconsumed_tail
            size += len(out)
            if size > allowed:
                raise DataError(
                    f"{name} unpacks to more than a workbook of its size should hold; it was not opened.",
                    hint="ask who sent it; a large table is better sent as .csv or .parquet",
                )
            if is_sheet:
                sheet.look(out)
    return size


class _Rectangle:
    """From the first cell of a sheet to the last in either direction, against the cells that are there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows, self.columns, self.cells = 0, 26, 0
        self.merged: set[tuple[int, int]] = set()
        self._before = b""

    def look(self, data: bytes) -> None:
        """Take in the next bytes of the sheet; refuse a rectangle that is almost all empty."""
        text = self._before + data
        self.cells += len(_CELL.findall(data))
        self.rows = max([self.rows, *(int(n) for n in _ROW.findall(text))])
        self.columns = max([self.columns, *(_position(n) for n in set(_WIDE.findall(text)))])
        self.merged |= {(int(first), int(last)) for first, last in _MERGED.findall(text)}
        self._before = data[-_OVERLAP:]
        area = self.rows * self.columns
        if area > _MOST_CELLS and area > _MOST_EMPTY * (self.cells + self.rows):
            raise DataError(
                f"{self.name} has a sheet whose cells lie too far apart; it was not opened.",
                hint="take away what stands far from the table, and save it again",
            )


def _position(letters: bytes) -> int:
    """A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
