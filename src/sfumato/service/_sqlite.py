"""SQLite as the service uses it: one file for its owner alone, write-ahead log, every commit on disk."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from sfumato._system import disk
from sfumato.errors import DataError, OutputError, SfumatoError

_WAIT = 30.0  # seconds to wait for others who are writing


def connect(path: str | Path, application: int, layout: str, *, create: bool) -> sqlite3.Connection:
    """Open a file of ours, or lay one out; another program's file is refused and not changed."""
    target = Path(path)
    mode = "rwc" if create else "rw"
    with faults_named(target.name):
        if create:  # for the owner alone from its first moment on; one that is there is not even opened,
            with contextlib.suppress(FileExistsError):  # as closing it would end SQLite's locks on it
                os.close(disk.opened(target, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        connection = sqlite3.connect(
            f"file:{quote(str(target.absolute()))}?mode={mode}",
            uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False,
        )  # fmt: skip
        try:
            _lay_out(connection, target.name, application, layout, create)
        except BaseException:
            connection.close()
            raise
        return connection


def _lay_out(connection: sqlite3.Connection, name: str, application: int, layout: str, create: bool) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if found != application and not (create and empty and found == 0):
        raise DataError(f"{name} is not a file of this kind.", hint="give another path")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA secure_delete = ON")
    with writing(connection):
        connection.execute(f"PRAGMA application_id = {application}")
        for statement in layout.split(";"):
            if statement.strip():
                connection.execute(statement)


@contextlib.contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One atomic step that others wait for; on disk when it ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def faults_named(name: str) -> Iterator[None]:
    """Turn the database's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(getattr(error, "sqlite_errorname", "") or "", name) from None
    except OSError as error:
        raise OutputError(f"{name}: {error.strerror}.", hint="check path and rights") from None


def _translated(code: str, name: str) -> SfumatoError:
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return OutputError(f"{name} is in use by others.", hint="try again")
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return OutputError(f"{name} is not there or cannot be written.", hint="check path and rights")
    if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return OutputError(f"{name}: the disk is full or failing.", hint="make room")
    return DataError(f"{name} is not a file of this kind, or is damaged.", hint="restore it")
