"""The first bytes of a text file: packed or not, text or not, and in which encoding."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

from sfumato.errors import DataError
from sfumato.io.file_checks import require_files

HEAD = 1 << 20
"""How many bytes are looked at."""

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


def is_gzip(path: Path) -> bool:
    """Whether a file is compressed, whatever its name says."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def read_head(path: Path, size: int = HEAD) -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether there are more."""
    try:
        with path.open("rb") as file:
            data = file.read(size + 1)
    except OSError as error:
        require_files([path])
        raise DataError(f"{path.name} cannot be read: {error.strerror}.", hint="check the path") from None
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(path) as packed:
                data = packed.read(size + 1)
        except (OSError, EOFError, zlib.error):
            raise DataError(f"{path.name} is a damaged gzip file.", hint="copy or pack it again") from None
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
        return "cp1252"
    return "utf-8"


def decoded(data: bytes, encoding: str, path: Path, more: bool) -> str:
    """The bytes as text. more: the last character may be cut in two."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=not more)
    except UnicodeError:
        raise DataError(
            f"{path.name} is not {encoding} text.", hint="say encoding='...', for example 'latin-1'"
        ) from None
