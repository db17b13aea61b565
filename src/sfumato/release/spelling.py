"""Cells of a text file that are equal, and written differently.

30, 030, +30 and "30" are one age where classes are counted, and four marks for who reads the letters: rows
that count as alike could be told apart. So the rows of a CSV file are written anew, as a release writes them,
and compared with what lies there. A later version, or another version of a library, may write a number
otherwise; so a difference is a warning, and a person looks.
"""

from __future__ import annotations

import filecmp
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from sfumato.release.checks import Outcome, VerificationCheck
from sfumato.release.core import write_data
from sfumato.table import Table

_HOW = "written anew from its rows"
_CELLS = "not spelt as a release is: rows that count as alike can be told apart by how they are written"
_PACKED = "packed with notes or parts that no release has"
_BLOCK = 1 << 20


def check_spelling(path: Path, rows: Table) -> list[VerificationCheck]:
    """A warning where a text file is not written as its rows would be; nothing of other files."""
    return list(_differences(path, rows))


def _differences(path: Path, rows: Table) -> Iterator[VerificationCheck]:
    if not path.name.endswith((".csv", ".csv.gz")) or not path.is_file():
        return
    shown = path.name
    with tempfile.TemporaryDirectory() as name:
        anew = Path(name) / path.name
        write_data(anew, rows)
        if path.suffix == ".gz":
            if not _plain(path):
                yield VerificationCheck(shown, Outcome.WARNED, _HOW, _PACKED)
            path, anew = _unpacked(path, name, "there"), _unpacked(anew, name, "anew")
        if not filecmp.cmp(path, anew, shallow=False):
            yield VerificationCheck(shown, Outcome.WARNED, _HOW, _CELLS)


def _unpacked(path: Path, folder: str, name: str) -> Path:
    target = Path(folder) / name
    with gzip.open(path) as source, target.open("wb") as sink:
        shutil.copyfileobj(source, sink, _BLOCK)
    return target


def _plain(path: Path) -> bool:
    """Whether a gzip file has no name, comment or further header, and one part only."""
    unpacker = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(0)
        while block := file.read(_BLOCK):
            if unpacker.eof:
                return False
            unpacker.decompress(block)
    return head[3:] == b"\0" and not unpacker.unused_data
