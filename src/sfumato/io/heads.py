"""The first bytes of a text file: packed or not, text or not, and in which encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import warnings
import zipfile
import zlib
from pathlib import Path

from sfumato.errors import DataError, SfumatoWarning
from sfumato.io import archives
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


def packing(path: Path) -> str:
    """How a file is packed, whatever its name says: "gzip", "zip", or not at all."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        require_files([path])
        raise DataError(f"{path.name} cannot be read: {error.strerror}.", hint="check the path") from None
    if start[:2] == b"\x1f\x8b":
        return "gzip"
    return "zip" if start[:2] == b"PK" and path.name.lower().endswith(".zip") else ""


def open_bytes(path: Path) -> io.BufferedIOBase:
    """The bytes of a file, unpacked."""
    packed = packing(path)
    if packed == "zip":
        return archives.open_member(path)
    return gzip.open(path) if packed else path.open("rb")


def read_head(path: Path, size: int = HEAD) -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether there are more."""
    packed = packing(path)
    try:
        with open_bytes(path) as file:
            data = file.read(size + 1)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile):
        what = f"a damaged {packed} file" if packed else "damaged"
        raise DataError(f"{path.name} is {what}.", hint="copy or pack it again") from None
    return data[:size], len(data) > size


def encoding_of(data: bytes, path: Path, given: str | None, more: bool) -> str:
    """UTF-8 unless a byte order mark or the bytes themselves say otherwise; then what Windows wrote."""
    for start, what in _MAGIC:
        if data.startswith(start):
            raise DataError(f"{path.name} is {what}, not a text table.", hint="give the file its own suffix")
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


def decoded(data: bytes, encoding: str, path: Path, more: bool) -> str:
    """The bytes as text. more: the last character may be cut in two."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=not more)
    except UnicodeError:
        raise DataError(
            f"{path.name} is not {encoding} text.", hint="say encoding='...', for example 'latin-1'"
        ) from None


def require_plausible(text: str, name: str) -> None:
    """Say that the encoding is a guess; refuse where what it gives is no language of Western Europe."""
    high = len(_HIGH.findall(text))
    if len(_STRANGE.findall(text)) > 0.1 * high:
        raise DataError(
            f"{name} is not UTF-8, and its letters make no words in {FALLBACK} either.",
            hint="say encoding='...': usual are cp1250 (Polish, Czech), cp1251 (Cyrillic), cp1253 (Greek), "
            "mac_roman, cp850 (DOS), shift_jis, gb18030, euc_kr",
        )
    warnings.warn(
        f"{name} is not UTF-8: its letters are read as {FALLBACK} (Western Europe). "
        "Say encoding='...' if names look wrong.",
        SfumatoWarning,
        stacklevel=4,
    )
