"""A file that is dropped into the window, copied into the folder that the person chose. It goes nowhere else.

Guarantee: nothing is written outside the folder, no file that is there is replaced, and of a file that did
           not come whole nothing stays.
Because:   of the name that the browser gives only the last part counts, without signs that lead elsewhere
           (`plain_name`); it is written beside and put in place only where nothing is (io/atomic.py), under a
           further number where something is; the bytes are counted as they come.
Tested by: tests/studio/test_dropped_file.py
"""

from __future__ import annotations

import asyncio
import errno
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

from sfumato._system.disk import free_space
from sfumato.errors import ParameterError
from sfumato.io.atomic import atomic_file
from sfumato.studio.chosen_folder import ChosenFolder, is_readable, plan_folder_of

MOST_BYTES = 2 << 30
_SPARE = 256 << 20  # bytes that must stay free on the disk
_PIECE = 1 << 20
_LONGEST = 150  # bytes of a name, so that its plan's folder has room for one too
_TRIES = 100
_FORBIDDEN = '<>:"/\\|?*'
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{i}" for d in ("com", "lpt") for i in range(1, 10))}


def plain_name(given: str) -> str:
    """A name of a file of data in one folder, on any system; refused where none is left."""
    last = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    kept = "".join("_" if c in _FORBIDDEN else c for c in last if unicodedata.category(c)[0] != "C")
    kept = " ".join(kept.split()).strip(". ")
    stem, dot, suffix = kept.rpartition(".")
    if kept.partition(".")[0].rstrip().lower() in _DEVICES:
        stem = f"_{stem}"
    while stem and len(f"{stem}.{suffix}".encode()) > _LONGEST:
        stem = stem[:-1]
    name = f"{stem.rstrip('. ')}{dot}{suffix}"
    if not dot or not stem or not is_readable(name):
        raise ParameterError(
            "files of this kind are not read.",
            hint="a table as .csv, .parquet, .xlsx, .sav, .dta, .sas7bdat, or a database in a file",
        )
    return name


def name_of(header: str) -> str:
    """The name as the page sends it, escaped for a header."""
    try:
        return unquote_to_bytes(header).decode("utf-8")
    except UnicodeDecodeError:
        raise ParameterError("the name of the file cannot be read.", hint="rename it") from None


async def receive(chosen: ChosenFolder, name: str, parts: AsyncIterator[bytes]) -> str:
    """Copy what comes into the folder; gives the name it has there."""
    place = _place(chosen.root, plain_name(name))
    writing = atomic_file(place, private=True)
    draft = await asyncio.to_thread(writing.__enter__)
    try:
        with draft.open("xb") as file:
            await _copied(file, parts, place)
    except BaseException as error:
        writing.__exit__(type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(writing.__exit__, None, None, None)  # waits for the disk
    return place.name


def _place(root: Path, name: str) -> Path:
    """Where it may lie: under its name, or with a number, where neither a file nor another file's plan is."""
    stem, _, suffix = name.partition(".")
    for other in (name, *(f"{stem} ({i}).{suffix}" for i in range(2, _TRIES))):
        path = root / other
        if not path.exists() and not path.is_symlink() and not plan_folder_of(path).exists():
            return path
    raise ParameterError("there are many files of this name in the folder.", hint="rename the file")


async def _copied(file: BinaryIO, parts: AsyncIterator[bytes], place: Path) -> None:
    """All that comes, piece by piece; refused where it is too much, or nothing."""
    size, buffer = 0, bytearray()
    async for part in parts:
        size += len(part)
        if size > MOST_BYTES:
            raise ParameterError(
                f"the file has more than {MOST_BYTES >> 30} GB.", hint="copy it into the folder by hand"
            )
        buffer += part
        if len(buffer) >= _PIECE:
            await asyncio.to_thread(_put, file, bytes(buffer), place)
            buffer.clear()
    if not size:
        raise ParameterError("the file is empty.", hint="choose another")
    await asyncio.to_thread(_put, file, bytes(buffer), place)


def _put(file: BinaryIO, piece: bytes, place: Path) -> None:
    """Write a piece, and leave room on the disk for others."""
    if free_space(place.parent) < _SPARE + len(piece):
        raise OSError(errno.ENOSPC, "")
    file.write(piece)
