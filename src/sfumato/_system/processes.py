"""Forks, limits and memory of a process, where the system has them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    _MEASURED = False
else:
    _MEASURED = True

_SESSION = Path("/proc/self/autogroup")  # of Linux: the order of this session among all


def after_fork(forget: Callable[[], None]) -> None:
    """Call this in every forked child first. A system without forks has none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def largest_file() -> int | None:
    """The most bytes that this process may write into one file; None where nothing bounds it."""
    if not _MEASURED:
        return None
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def peak_memory() -> int | None:
    """The most bytes of memory that this process had at once; None where the system does not say."""
    if not _MEASURED:
        return None
    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def yield_to_others(steps: int = 10) -> None:
    """Let other processes go first whenever they want to, where the system knows an order.

    Linux divides time among sessions before it asks for an order within them: a process that has a session of
    its own puts this behind others, too. It does nothing for a terminal that it shares.
    """
    if hasattr(os, "nice"):
        os.nice(steps)
    if hasattr(os, "getsid") and os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # another system, or one that does not divide so
            _SESSION.write_text(str(steps), encoding="ascii")
