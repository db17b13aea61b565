"""The file behind a ledger: SQLite, one connection per operation, every fault a SfumatoError.

A connection per operation costs about a millisecond and needs no care about threads and forks. The journal
is SQLite's default (rollback), which also works where write-ahead logs do not, and is synchronized before
and after each commit, the directory included.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from sfumato._system import disk, permissions, processes
from sfumato.errors import BudgetError, DataError, OutputError, SfumatoError, VerificationError
from sfumato.privacy.ledger.create import lay_out
from sfumato.privacy.ledger.tables import Connection

_LEDGER = 0x53464D4C  # "SFML"
_BACKUP = 0x53464D42  # "SFMB": what is a backup is no ledger, and cannot be spent from by mistake
_FOREIGN = "SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index') LIMIT 1"
_WAIT = 60.0  # seconds to wait for others who are writing

_process = object()  # renewed in a forked child, so that a ledger in memory knows its own process


def _renew() -> None:
    global _process
    _process = object()


processes.after_fork(_renew)


@contextlib.contextmanager
def faults_named(name: str) -> Iterator[None]:
    """Turn the database's errors into ours; in each of these cases nothing is granted."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, name) from None
    except UnicodeDecodeError:  # of a damaged text, by sqlite3
        raise _damaged(name) from None
    except OSError as error:
        raise OutputError(
            f"ledger {name}: {error.strerror}. Nothing was granted.", hint="check the path"
        ) from None


def _translated(error: sqlite3.Error, name: str) -> SfumatoError:
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BudgetError(f"ledger {name} is in use by others. Nothing was granted.", hint="try again")
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return OutputError(
            f"ledger {name} cannot be written. Nothing was granted.",
            hint="check the rights of file and directory",
        )
    if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return OutputError(
            f"ledger {name}: the disk is full or failing. Nothing was granted.", hint="make room"
        )
    return _damaged(name)


def _damaged(name: str) -> DataError:
    return DataError(
        f"{name} is not a ledger, or is damaged. Nothing was granted.",
        hint="restore the file; never start a new one for data that were used before",
    )


class FileStore:
    """A ledger's tables in a file."""

    _application = _LEDGER
    _what = "a ledger"

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        self.name = name or path.name

    @property
    def place(self) -> str:
        """Where it lies, whatever way leads there."""
        return os.path.realpath(self.path)

    def exists(self) -> bool:
        """Whether the file is there; an empty one is, and is a fault."""
        return os.path.lexists(self.path)

    def create(self, fill: Callable[[Connection], None]) -> None:
        """Write a new ledger beside, then link it into place: nobody ever sees half of one."""
        with faults_named(self.name):
            if os.path.lexists(f"{self.path}-journal"):
                raise OutputError(
                    f"ledger {self.name} is gone and its journal is still there. Nothing was granted.",
                    hint="restore the ledger, or remove the journal if the ledger was never used",
                )
            beside = self.path.with_name(f".{self.name}.{secrets.token_hex(8)}")
            try:
                with contextlib.closing(_connect(beside, "rwc")) as connection:
                    permissions.set_mode(
                        beside, 0o600
                    )  # purposes say what was looked at: the owner's business
                    connection.execute(f"PRAGMA application_id = {self._application}")
                    with _step(connection, write=True):
                        fill(connection)
                with contextlib.suppress(FileExistsError):  # another process was first: theirs counts
                    disk.put_new(beside, self.path)
            finally:
                beside.unlink(missing_ok=True)
                disk.sync_directory(self.path.parent)

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """One atomic step; a writer holds the file alone from the first read on."""
        with faults_named(self.name), contextlib.closing(_connect(self.path, "rw")) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            if application != self._application:
                hint = (
                    "sfumato ledger restore BACKUP LEDGER" if application == _BACKUP else "give a ledger file"
                )
                raise DataError(f"{self.name} is not {self._what}. Nothing was granted.", hint=hint)
            if connection.execute(_FOREIGN).fetchone() is not None:
                raise VerificationError(
                    f"ledger {self.name} holds a trigger or a view, which could undo a debit. Nothing was "
                    "granted.",
                    hint="restore the file; no version of this program writes one",
                )
            with _step(connection, write):
                yield connection

    def now(self, connection: Connection) -> datetime:
        """The time, by the clock that all who write share."""
        return datetime.now(UTC)

    def examine(self, connection: Connection) -> None:
        """Look for damage below the tables."""
        if connection.execute("PRAGMA quick_check").fetchone()[0] != "ok":
            raise DataError(f"ledger {self.name} is damaged. Nothing was granted.", hint="restore the file")


class BackupStore(FileStore):
    """The same tables in a file that grants nothing."""

    _application = _BACKUP
    _what = "a backup of a ledger"


class MemoryStore:
    """A ledger's tables in memory, for one process."""

    name = place = "in memory"

    def __init__(self, meta: dict[str, str]) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with _step(self._connection, write=True):
            lay_out(self._connection, meta)
        self._lock = threading.Lock()
        self._process = _process

    def now(self, connection: Connection) -> datetime:
        """The time, by the clock that all who write share."""
        return datetime.now(UTC)

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """One atomic step. A forked child has a copy of the memory, and must not spend it again."""
        if self._process is not _process:
            raise BudgetError(
                "a ledger in memory belongs to the process that made it.",
                hint="share a file: Ledger.open(path)",
            )
        with self._lock, faults_named(self.name), _step(self._connection, write):
            yield self._connection


@contextlib.contextmanager
def _step(connection: sqlite3.Connection, write: bool) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A commit that failed may have ended the transaction already.
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}", uri=True, timeout=_WAIT, isolation_level=None
    )
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: reach the platter, not only the drive's cache
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection
