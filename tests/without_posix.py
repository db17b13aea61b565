"""What a process of Windows would find: no module and no function that only POSIX has.

`hide()` takes them away and puts in a stand-in for `msvcrt`, made of the real locks of Linux: they belong to
the open file, exclude even its own process, fail with EACCES, and hold from where the file stands. What is
not imitated: that a locked or open file cannot be read or removed by others, and access lists.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import types

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
FUNCTIONS = (
    "fork", "forkpty", "register_at_fork", "getuid", "geteuid", "getgid", "getegid", "fchmod", "fchown",
    "chown", "statvfs", "fstatvfs", "pread", "pwrite", "preadv", "pwritev", "O_CLOEXEC", "O_NONBLOCK",
    "O_NOFOLLOW", "O_DIRECTORY", "O_SYNC", "O_DSYNC", "mkfifo", "mknod", "sched_getaffinity", "getloadavg",
    "sched_setaffinity", "setsid", "killpg", "getpgid", "lockf", "fdatasync", "sync", "nice",
    "posix_fallocate",
)  # fmt: skip
SIGNALS = (
    "SIGKILL",
    "SIGHUP",
    "SIGQUIT",
    "SIGUSR1",
    "SIGUSR2",
    "SIGALRM",
    "SIGCHLD",
    "pthread_kill",
    "setitimer",
)


def hide() -> None:
    """Take away what Windows has not; for this process, for good.

    Modules of Python itself that look at the system are loaded before: they are those of Linux here.
    """
    import asyncio
    import concurrent.futures
    import getpass
    import multiprocessing.connection
    import shutil
    import signal
    import subprocess
    import tempfile

    assert all((asyncio, concurrent.futures, getpass, multiprocessing.connection, subprocess, tempfile))

    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # as on Windows
    stand_in = _msvcrt()
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)
    for name in SIGNALS:
        if hasattr(signal, name):
            delattr(signal, name)
    sys.modules["msvcrt"] = stand_in


def _msvcrt() -> types.ModuleType:
    import fcntl

    held: set[tuple[int, int]] = set()  # inode and place of the open files of this process

    def locking(descriptor: int, mode: int, size: int) -> None:
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        assert size > 0 and place + size < 1 << 31, "older systems read 32 bits"
        mine = (descriptor, place)
        if mode == module.LK_UNLCK:
            if mine not in held:
                raise OSError(errno.EACCES, os.strerror(errno.EACCES))
            held.discard(mine)
            kind = fcntl.F_UNLCK
        else:
            assert mode == module.LK_NBLCK, "LK_LOCK gives up after ten seconds"
            if mine in held:  # a second lock of the same bytes is refused, even to who holds the first
                raise OSError(errno.EACCES, os.strerror(errno.EACCES))
            kind = fcntl.F_WRLCK
        writable = descriptor_is_writable(descriptor)
        about = struct.pack(
            "hhqqi", kind if writable or kind == fcntl.F_UNLCK else fcntl.F_RDLCK, 0, place, size, 0
        )
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, about)
        except OSError:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES)) from None
        if kind != fcntl.F_UNLCK:
            held.add(mine)

    def descriptor_is_writable(descriptor: int) -> bool:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY

    module = types.ModuleType("msvcrt")
    module.LK_UNLCK, module.LK_LOCK, module.LK_NBLCK = 0, 1, 2  # type: ignore[attr-defined]
    module.locking = locking  # type: ignore[attr-defined]
    return module


# -- what is tried there -----------------------------------------------------------------------------


def everything() -> None:
    """Import every module of the house; the entry point of `python -m` would run it."""
    import importlib
    import pkgutil

    import sfumato

    for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
        if module.name != "sfumato.__main__":
            importlib.import_module(module.name)


def work(folder: str) -> None:
    """Release, verify, sign, log and debit, as somebody on Windows would."""
    import warnings
    from pathlib import Path

    import pyarrow as pa

    import sfumato as sf
    from sfumato.privacy import Budget, Ledger
    from sfumato.privacy.signatures.log import ReleaseLog
    from sfumato.service.limits import Limits
    from sfumato.service.single_flight import SingleFlight

    os.chdir(folder)
    columns = (
        sf.Column("patient", sf.Kind.NOMINAL, sf.Role.PERSON),
        sf.Column("days", sf.Kind.NUMERIC, sf.Role.SENSITIVE, "integer"),
    )
    rows = pa.table({"patient": ["A1", "B2", "C3"], "days": [3, 5, 2]})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sf.pseudonymize(sf.scan(rows, sf.Schema(columns))).save("release")
        key = sf.SigningKey.fresh()
        key.save("officer.key")
        key.save_public("officer.pub")
        os.chmod("officer.key", 0o644)  # says nothing here, so it must not be refused
        again = sf.SigningKey.load("officer.key")
        sf.sign("release", again, "A. Miller", log="released.log")
        found = sf.verify("release", trusted="officer.pub", log="released.log")
        ledger = Ledger.open("study.ledger", Budget(epsilon=1.0))
        ledger.grant(epsilon=0.25, purpose="first")
        Ledger.open("study.ledger").grant(epsilon=0.25, purpose="second")
    assert found.standing == "authentic" and found.ok, found
    assert len(ReleaseLog.at("released.log").entries()) == 1
    assert Ledger.look("study.ledger").left == 0.5
    assert b"\r" not in Path("released.log").read_bytes()
    ours = [str(w.message) for w in said if issubclass(w.category, sf.SfumatoWarning)]
    assert sum("no files for their owner alone" in text for text in ours) == 1, ours
    Limits("limits").close()
    flights = SingleFlight("flights")
    with flights.alone(b"one question"), flights.alone(b"another question"):
        pass
    flights.close()


if __name__ == "__main__":
    hide()
    everything() if sys.argv[1] == "import" else work(sys.argv[1])
