"""Zip archives that hold one text table, read without unpacking them to the disk."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path, PurePosixPath
from typing import cast

from sfumato.errors import DataError, listed

TABLES = (".csv", ".tsv", ".txt")
_ENCRYPTED = 0x1


def open_member(path: Path) -> io.BufferedIOBase:
    """The bytes of the one text table in an archive."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise DataError(f"{path.name} is a damaged zip archive.", hint="copy or pack it again") from None
    member = _member(archive, path.name)
    try:
        return cast(io.BufferedIOBase, archive.open(member))
    except (NotImplementedError, RuntimeError):  # a method of packing, or a password
        raise DataError(f"{path.name} cannot be unpacked here.", hint=f"unzip {path.name}") from None


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """The file in it. What a system adds by itself (folders, names that begin with a dot) does not count."""
    inside = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir()
        and not entry.filename.startswith("__MACOSX/")
        and not PurePosixPath(entry.filename).name.startswith(".")
    ]
    if len(inside) != 1:
        held = f"{len(inside)} files" if inside else "no file"
        raise DataError(
            f"{name} holds {held}; an archive is read if it holds one text table.",
            hint=f"unzip {name}, then name the file" if inside else "pack it again",
        )
    entry = inside[0]
    if entry.flag_bits & _ENCRYPTED:
        raise DataError(f"{name} is locked with a password.", hint=f"unzip {name}, then name the file")
    if not entry.filename.lower().endswith(TABLES):
        raise DataError(
            f"{name} holds a file that is not a text table ({listed(list(TABLES))}).",
            hint=f"unzip {name}, then name the file",
        )
    return entry
