"""Keep other processes from a file, or from a few bytes of it. A process that ends lets go, however it ends.

POSIX: `hold` is flock, of an open file, and parts threads that opened it twice; `hold_bytes` is lockf, of a
process, and does not part its threads. Both are advisory.
Windows: both lock bytes of the open file, and part threads too. Such a lock keeps others from reading those
bytes, so they lie far behind any content. There are no shared locks: readers wait for each other.

Whoever must wait is told by BlockingIOError, on every system, unless it asked to wait.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import threading
import time
from pathlib import Path
from typing import IO, Any, Protocol, cast

try:
    import fcntl
except ImportError:  # Windows
    POSIX = False
else:
    POSIX = True

_FAR = 1 << 30  # behind the content of every file that is locked, and below what 32 bits can say
_PAUSE = 0.002
_seeking = threading.Lock()  # a lock on Windows begins where the file stands, which all threads share


class _Msvcrt(Protocol):
    LK_NBLCK: int
    LK_UNLCK: int

    def locking(self, descriptor: int, mode: int, size: int) -> None:
        """Lock or unlock bytes from where the file stands."""


def hold(descriptor: int, *, wait: bool = True, shared: bool = False) -> None:
    """Lock a whole file. shared: with others who only read, where the system can."""
    if POSIX:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, how if wait else how | fcntl.LOCK_NB)
    else:
        _bytes(descriptor, 1, _FAR - 1, wait)


def let_go(descriptor: int) -> None:
    """Unlock what `hold` has locked."""
    if POSIX:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    else:
        _unlock(descriptor, 1, _FAR - 1)


def close(descriptor: int) -> None:
    """Close a file that was locked as a whole, which lets it go; Windows would do so some time later."""
    try:
        if not POSIX:
            _unlock(descriptor, 1, _FAR - 1)
    finally:
        os.close(descriptor)


def close_last(file: IO[Any], path: Path) -> None:
    """Let go of the lock of a folder whose owner may just have removed it, lock and all.

    Windows removes no open file: there the lock is closed here, and goes with its folder if it lies alone
    in it. Whoever has opened it in the meantime keeps it. Elsewhere whoever opened it closes it.
    """
    if POSIX:
        return
    _unlock(file.fileno(), 1, _FAR - 1)
    file.close()
    with contextlib.suppress(OSError):
        if [p.name for p in path.parent.iterdir()] == [path.name]:
            path.unlink()
            path.parent.rmdir()


def hold_bytes(descriptor: int, size: int, place: int, *, wait: bool = True) -> None:
    """Lock some bytes of a file; they need not be there. size 0: all from `place` on."""
    if POSIX:
        fcntl.lockf(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB, size, place)
    else:
        _bytes(descriptor, *_far(size, place), wait)


def let_go_of_bytes(descriptor: int, size: int, place: int) -> None:
    """Unlock what `hold_bytes` has locked, with the same numbers."""
    if POSIX:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, size, place)
    else:
        _unlock(descriptor, *_far(size, place))


# -- Windows ---------------------------------------------------------------------------------------------


def _far(size: int, place: int) -> tuple[int, int]:
    """Size and place behind all content. Two places that fall together wait for each other, no more."""
    return (1, _FAR) if size == 0 else (size, _FAR + place % (_FAR - size))


def _msvcrt() -> _Msvcrt:
    return cast(_Msvcrt, importlib.import_module("msvcrt"))


def _at(descriptor: int, mode: int, size: int, place: int) -> None:
    with _seeking:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, place, os.SEEK_SET)
        try:
            _msvcrt().locking(descriptor, mode, size)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


def _bytes(descriptor: int, size: int, place: int, wait: bool) -> None:
    # LK_LOCK would give up after ten seconds: asked again and again instead.
    while True:
        try:
            return _at(descriptor, _msvcrt().LK_NBLCK, size, place)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                raise
            if not wait:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        time.sleep(_PAUSE)


def _unlock(descriptor: int, size: int, place: int) -> None:
    """Unlock; what was never locked is no fault, as everywhere else."""
    try:
        _at(descriptor, _msvcrt().LK_UNLCK, size, place)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise
