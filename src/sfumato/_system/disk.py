"""What must reach the disk, and be read and written at a place of a file."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from sfumato._system.locks import POSIX

# Windows would turn line ends into two bytes.
_ALWAYS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # a pipe is not waited for when it is opened


def opened(path: str | Path, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a file, byte for byte, which no other program inherits."""
    return os.open(path, flags | _ALWAYS, mode)


def to_disk(path: Path) -> None:
    """Wait until the disk has a file, or the names in a directory; some file systems cannot do the latter."""
    if path.is_dir():
        try:
            sync_directory(path)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        return
    descriptor = os.open(
        path, os.O_RDONLY if POSIX else os.O_RDWR
    )  # Windows wants to write what it waits for
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(folder: Path) -> None:
    """Wait until the disk has the names in a directory: a file without its name is none after a power cut.

    Windows opens no directory; its file system keeps a journal of names, and decides itself when to write it.
    """
    if not POSIX:
        return
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def read_at(descriptor: int, size: int, place: int) -> bytes:
    """Bytes from a place of a file that nobody else uses meanwhile."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, place)
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.read(descriptor, size)


def write_at(descriptor: int, content: bytes, place: int) -> int:
    """Write to a place of a file that nobody else uses meanwhile; how many bytes were written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, content, place)
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.write(descriptor, content)


def put_new(beside: str | Path, path: str | Path) -> None:
    """Give a finished file its name; FileExistsError if somebody was first, whose file stays.

    Where a disk of Windows knows no second names, it is renamed, which never replaces a file there.
    """
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        if POSIX:
            raise
        os.rename(beside, path)


def free_space(folder: Path) -> int:
    """Bytes that this user may still write there."""
    return shutil.disk_usage(folder).free
