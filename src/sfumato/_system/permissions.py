"""Who may read a file: the mode of a file, on systems where it says so.

On Windows a mode says nothing: who may read a file is decided by the access list it inherits from its folder.
So nothing is refused there for its mode, nothing is promised either, and the first file that should have been
its owner's alone is accompanied by one warning.
"""

from __future__ import annotations

import getpass
import os
import stat
import warnings
from pathlib import Path

from sfumato._system.locks import POSIX
from sfumato.errors import SfumatoWarning

OTHERS = stat.S_IRWXG | stat.S_IRWXO
_said: set[str] = set()


def open_to(mode: int, whom: int = OTHERS) -> bool:
    """Whether a mode lets others in; where modes say nothing: no, with a warning that it is not known."""
    if not POSIX:
        not_kept()
        return False
    return bool(mode & whom)


def not_kept() -> None:
    """Warn, once in a process, where the system keeps no file for its owner alone."""
    if not POSIX and not _said:
        _said.add("modes")
        warnings.warn(
            "this system has no files for their owner alone: keys and internal records can be read by "
            "everybody whom their folder lets in. Keep them in a folder of your own (docs/windows.md).",
            SfumatoWarning,
            stacklevel=3,
        )


def set_mode(path: str | Path, mode: int) -> None:
    """Set who may read a file or a directory, as far as the system can."""
    if POSIX:
        os.chmod(path, mode)
    elif not mode & OTHERS:
        not_kept()


def set_mode_of(descriptor: int, mode: int) -> None:
    """Set who may read an open file, as far as the system can."""
    if POSIX:
        os.fchmod(descriptor, mode)
    elif not mode & OTHERS:
        not_kept()


def is_own(about: os.stat_result) -> bool:
    """Whether a file belongs to this user; where files show no owner, those in one's own folders do."""
    return not POSIX or about.st_uid == os.getuid()


def user() -> str:
    """What tells this user from the others of this machine, fit for a file's name."""
    if POSIX:
        return str(os.getuid())
    return "".join(c for c in getpass.getuser() if c.isalnum()) or "user"
