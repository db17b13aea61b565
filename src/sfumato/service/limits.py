"""Rate limits per key that hold over all workers together.

Each key has one number in a shared file: the time at which its calls so far would all have arrived, had
they come evenly (the generic cell rate algorithm). A call is let through if that time is no more than a
burst ahead.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import time
from pathlib import Path

from sfumato._system import disk, locks
from sfumato.service.installation import MOST_KEYS
from sfumato.service.keys import ApiKey

_TIME = struct.Struct("<d")
_TOKEN_PLACES = 1 << 20  # for holders of tokens, by hash: two at one place share the stricter of their rates


def place_of(digest: bytes) -> int:
    """The place of a holder who has no number, after those of all keys."""
    return MOST_KEYS + int.from_bytes(digest[:8], "big") % _TOKEN_PLACES


class Limits:
    """The shared numbers, one for each key. The clock is the machine's monotonic one, common to all
    processes."""

    def __init__(self, path: str | Path) -> None:
        self._file = disk.opened(path, os.O_RDWR | os.O_CREAT)
        size = (MOST_KEYS + _TOKEN_PLACES) * _TIME.size
        if os.fstat(self._file).st_size != size:
            os.ftruncate(self._file, size)  # a hole: nothing is written until a key calls
        self._times = mmap.mmap(self._file, size)

    def close(self) -> None:
        """Let go of the file."""
        self._times.close()
        os.close(self._file)

    def wait(self, key: ApiKey) -> int:
        """0 if the call may pass, which is then counted; else the whole seconds until the next may."""
        place = key.number * _TIME.size
        interval = 1 / key.rate
        locks.hold_bytes(self._file, _TIME.size, place)  # held for a few instructions only
        try:
            now = time.monotonic()
            due: float = max(now, _TIME.unpack_from(self._times, place)[0])
            ahead = due - now - interval * (key.burst - 1)
            if ahead > 1e-9:
                return max(1, math.ceil(ahead))
            _TIME.pack_into(self._times, place, due + interval)
            return 0
        finally:
            locks.let_go_of_bytes(self._file, _TIME.size, place)
