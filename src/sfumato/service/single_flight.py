"""One at a time for each question, over the threads and processes of one machine.

Among processes the kernel keeps the lock (one byte of a file for each question) and drops it when a process
dies, however it dies: nobody waits for a dead worker, and no lease has to run out. Such locks do not part the
threads of one process, so these have a list of their own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from sfumato._system import disk, locks
from sfumato.errors import OutputError

_PAUSE = 0.002


class SingleFlight:
    """Who is at work on what. A process opens the file once: closing any of two would end all its locks."""

    def __init__(self, path: str | Path, patience: float = 20.0) -> None:
        self._file = disk.opened(path, os.O_RDWR | os.O_CREAT)
        self._here: set[bytes] = set()
        self._change = threading.Condition()
        self._patience = patience

    def close(self) -> None:
        """Let go of the file, and of all locks."""
        os.close(self._file)

    @contextlib.contextmanager
    def alone(self, question: bytes) -> Iterator[None]:
        """Nobody else is at work on this question meanwhile."""
        end = time.monotonic() + self._patience
        with self._change:
            if not self._change.wait_for(lambda: question not in self._here, self._patience):
                raise _busy()
            self._here.add(question)
        place = int.from_bytes(question[:8], "big") >> 2  # 62 bits: an offset is a signed number
        try:
            self._take(place, end)
            try:
                yield
            finally:
                locks.let_go_of_bytes(self._file, 1, place)
        finally:
            with self._change:
                self._here.discard(question)
                self._change.notify_all()

    def _take(self, place: int, end: float) -> None:
        # Asked again and again instead of waiting in the kernel, whose search for deadlocks takes the
        # threads of a process for one and finds some where none are.
        while True:
            try:
                locks.hold_bytes(self._file, 1, place, wait=False)
                return
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN):
                    raise OutputError("the locks of the service failed.", hint="use a local disk") from None
            if time.monotonic() > end:
                raise _busy()
            time.sleep(_PAUSE)


def _busy() -> OutputError:
    return OutputError("another worker is busy with the same question.", hint="try again")
