"""The first bytes of a text file: packed or not, text or not, and in which encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import cast

from sfumato.errors import DataError, SfumatoWarning
from sfumato.io import archives
from sfumato.io.doubts import ENCODINGS
from sfumato.io.file_checks import require_files
from sfumato.io.layout import HEAD

FALLBACK = "cp1252"
"""What Windows writes in Western Europe: read where the bytes are no UTF-8 and nobody says what they are."""
# Cyrillic, Greek, Polish, Asian text and that of old Macs and DOS, read so: many such letters in a row, signs
# within words, capitals after small letters.
_STRANGE = re.compile(
    r"[À-ÿ]{3}|[A-Za-zÀ-ÿ][¡-¿×÷†‡…‰‹›„”“‚•™ˆ˜][a-zÀ-ÿ]|[a-zß-ÿ][À-ÖØ-ÞŠŽŸŒ][a-zß-ÿ]|[A-Z]Ÿ[a-z]|[a-z][§¤¶¬]"
)
_HIGH = re.compile(r"[^\x00-\x7f]+")
_RARE = re.compile("[¤¦¨©¬¯´¶¸¹]")  # signs that no word of Western Europe has
_TURKISH = re.compile("[ýþðÝÞÐ]")  # what ı, ş, ğ, İ, Ş, Ğ become; Icelandic has them too
_SEVERAL = 4  # runs of such letters

# First bytes of files that people rename to .csv by mistake, and what they are.
_MAGIC = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3", "a SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"$FL", "an SPSS file"),
    (b"<stata_dta>", "a Stata file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x7fELF", "a program"),
)
_MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml|table)", re.IGNORECASE)
_JSON = re.compile(rb'\s*\[?\s*\{\s*"')


_FEW = 8  # heads that are remembered at a time
_HEADS: ContextVar[dict[Path, tuple[bytes, bool, str]] | None] = ContextVar("_HEADS", default=None)


@contextmanager
def remembered_heads() -> Iterator[None]:
    """While it is found out how a file is written, its head is read once."""
    token = _HEADS.set({})
    try:
        yield
    finally:
        _HEADS.reset(token)


def open_plain(path: Path) -> tuple[io.BufferedReader, str]:
    """The bytes of a file as they are, and how it is packed whatever its name says: "gzip", "zip", or not."""
    try:
        file: io.BufferedReader = io.BufferedReader(io.FileIO(path), 1 << 20)
        start = file.peek(4)[:2]
    except OSError as error:
        require_files([path])
        raise DataError(f"{path.name} cannot be read: {error.strerror}.", hint="check the path") from None
    if start == b"\x1f\x8b":
        return file, "gzip"
    return file, "zip" if start == b"PK" and path.name.lower().endswith(".zip") else ""


def packing(path: Path) -> str:
    """How a file is packed."""
    known = (_HEADS.get() or {}).get(path)
    if known is not None:
        return known[2]
    file, packed = open_plain(path)
    file.close()
    return packed


def open_bytes(path: Path) -> io.BufferedIOBase:
    """The bytes of a file, unpacked."""
    file, packed = open_plain(path)
    if not packed:
        return file
    file.close()
    return _unpacked(path, packed, path)


def _unpacked(file: Path | io.BufferedReader, packed: str, path: Path) -> io.BufferedIOBase:
    if packed == "zip":
        return archives.open_member(path)
    return gzip.open(file) if packed else cast(io.BufferedReader, file)


def read_head(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether there are more."""
    heads = _HEADS.get()
    if heads is not None and path in heads:
        return heads[path][:2]
    file, packed = open_plain(path)
    try:
        with file, _unpacked(file, packed, path) as stream:
            data = stream.read(HEAD + 1)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile):
        what = f"a damaged {packed} file" if packed else "damaged"
        raise DataError(f"{path.name} is {what}.", hint="copy or pack it again") from None
    if heads is not None and len(heads) < _FEW:
        heads[path] = data[:HEAD], len(data) > HEAD, packed
    return data[:HEAD], len(data) > HEAD


def encoding_of(data: bytes, path: Path, given: str | None, more: bool) -> str:
    """UTF-8 unless a byte order mark or the bytes themselves say otherwise; then what Windows wrote."""
    for start, what in _MAGIC:
        if data.startswith(start):
            raise DataError(f"{path.name} is {what}, not a text table.", hint="give the file its own suffix")
    _refuse_markup(data.removeprefix(codecs.BOM_UTF8)[:100], path.name)
    marked = next(
        (
            name
            for mark, name in (
                (codecs.BOM_UTF8, "utf-8-sig"),
                (codecs.BOM_UTF16_LE, "utf-16"),
                (codecs.BOM_UTF16_BE, "utf-16"),
            )
            if data.startswith(mark)
        ),
        None,
    )
    if given or marked == "utf-16":
        return given or "utf-16"
    if b"\0" in data:
        raise DataError(
            f"{path.name} is a binary file, not a text table.",
            hint="if it is UTF-16 text, say encoding='utf-16-le'",
        )
    if marked:
        return marked
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not more)
    except UnicodeDecodeError:
        return FALLBACK
    return "utf-8"


def _refuse_markup(start: bytes, name: str) -> None:
    """Web pages and JSON under the name of a table would be cut at their commas."""
    if _MARKUP.match(start):
        raise DataError(
            f"{name} is a web page or XML, not a text table.",
            hint="open it in a spreadsheet program and save it as .csv; a login page cannot be read as one",
        )
    if _JSON.match(start):
        raise DataError(
            f"{name} holds JSON, not a text table.",
            hint=f"write a table from it: pandas.read_json('{name}', lines=True).to_csv('table.csv')",
        )


def decoded(data: bytes, encoding: str, path: Path, more: bool) -> str:
    """The bytes as text. more: the last character may be cut in two."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=not more)
    except UnicodeError:
        raise DataError(
            f"{path.name} is not {encoding} text.", hint=f"say encoding='...': usual are {ENCODINGS}"
        ) from None


def require_plausible(text: str, name: str) -> None:
    """Say that the encoding is a guess; refuse where what it gives is no language of Western Europe."""
    high = len(_HIGH.findall(text))
    together = sum(len(run) > 1 for run in _HIGH.findall(text))  # as letters of two bytes are
    signs = sum(_RARE.search(run) is not None for run in _HIGH.findall(text))
    two_bytes = high >= _SEVERAL and max(2 * signs, together) > 0.6 * high
    if len(_STRANGE.findall(text)) > 0.1 * high or two_bytes:
        raise DataError(
            f"{name} is not UTF-8, and its letters make no words in {FALLBACK} either.",
            hint=f"say encoding='...': usual are {ENCODINGS}",
        )
    turkish = ": if they are Turkish, 'cp1254'" if _TURKISH.search(text) else ""
    warnings.warn(
        f"{name} is not UTF-8: its letters are read as {FALLBACK} (Western Europe). "
        f"Say encoding='...' if names look wrong{turkish}.",
        SfumatoWarning,
        stacklevel=4,
    )
