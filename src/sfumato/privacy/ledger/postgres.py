"""A ledger in PostgreSQL: postgresql://user@host/database#name, one schema of its own per ledger.

Writers queue at one row. The first statement of a debit locks the row that holds the head of the chain; what
is read after that is the latest, since each statement at READ COMMITTED sees all that was committed before
it. SERIALIZABLE would be as sound, but all debits conflict with each other, so that all but one of those
that run at the same time would fail and have to be tried again; in a queue each waits once. Should the lock
ever not hold, the debit is still conditional (`chain.append`): the head must be the one that was read, and
the account must have room, or nothing is committed.

Readers see one snapshot (REPEATABLE READ) and wait for nobody.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sfumato.errors import (
    BudgetError,
    DataError,
    OutputError,
    SfumatoError,
    VerificationError,
)
from sfumato.privacy.ledger.tables import Connection
from sfumato.privacy.postgres import postgres_address

if TYPE_CHECKING:
    import psycopg

_WAIT = 60  # seconds to wait for others who are writing
_PATIENCE = 90.0  # seconds after which a server that does not answer is given up
_IDLE = 8  # connections that are kept for the next debit


class PostgresStore:
    """A ledger's tables in a schema of a PostgreSQL database."""

    def __init__(self, url: str) -> None:
        address = postgres_address(url, "a ledger", name="ledger", example="study")
        self._address, self._psycopg = address, address.driver
        self.name, self.place = address.title, address.place
        self._schema = f"sfumato_{address.name}"
        self._idle: list[Any] = []
        self._process = os.getpid()
        weakref.finalize(self, _close, self._idle, self._process)

    # -- connections -----------------------------------------------------------------------------

    def _begin(self, how: str) -> _Asking:
        """A connection within a transaction; one that died while idle is replaced, for nothing was lost."""
        if self._process != os.getpid():  # a forked child must not speak on its parent's connections
            self._idle, self._process = [], os.getpid()
            weakref.finalize(self, _close, self._idle, self._process)
        while True:
            try:
                connection, fresh = self._idle.pop(), False
            except IndexError:
                connection, fresh = self._address.connected("ledger", " Nothing was granted."), True
            asking = _Asking(connection)
            try:
                asking.execute(how)
                return asking
            except BaseException as error:
                asking.end()
                broken = connection.broken
                connection.close()
                if fresh or not (broken and isinstance(error, self._psycopg.OperationalError)):
                    raise

    @contextlib.contextmanager
    def _step(self, how: str) -> Iterator[Connection]:
        with self._faults_named():
            asking = self._begin(how)
            try:
                yield asking
                done = asking.execute("COMMIT").statusmessage
                if done != "COMMIT":  # the server rolls a failed transaction back without an error
                    raise OutputError(f"ledger {self.name}: the server did not commit. Nothing was granted.")
            except BaseException:
                with contextlib.suppress(Exception):
                    asking.execute("ROLLBACK")
                raise
            finally:
                asking.end()
                self._give_back(asking.connection)

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
        idle = connection.info.transaction_status == self._psycopg.pq.TransactionStatus.IDLE
        if idle and len(self._idle) < _IDLE and self._process == os.getpid():
            self._idle.append(connection)
        else:
            connection.close()

    # -- what a store does -----------------------------------------------------------------------

    def _prelude(self, isolation: str, rest: str = "") -> str:
        # pg_temp last: a temporary table must not stand in front of ours.
        return (
            f"BEGIN ISOLATION LEVEL {isolation}; SET LOCAL search_path = {self._schema}, pg_temp; "
            f"SET LOCAL lock_timeout = '{_WAIT}s'; SET LOCAL statement_timeout = '{_WAIT + 15}s'; "
            f"SET LOCAL idle_in_transaction_session_timeout = '{_WAIT}s'; {rest}"
        )

    def transaction(self, *, write: bool) -> contextlib.AbstractContextManager[Connection]:
        """One atomic step; a writer is alone from the first statement on."""
        if not write:
            return self._step(self._prelude("REPEATABLE READ READ ONLY"))
        # A commit is a promise here, whatever the database is set to.
        alone = "SET LOCAL synchronous_commit = on; SELECT value FROM meta WHERE key = 'head' FOR UPDATE"
        return self._step(self._prelude("READ COMMITTED", alone))

    def exists(self) -> bool:
        """Whether the schema holds a ledger."""
        with self._step(self._prelude("READ COMMITTED")) as connection:
            return self._there(connection)

    def _there(self, connection: Connection) -> bool:
        # The catalogue is read as tables: to_regclass may answer from what it knew before it had to wait.
        sql = (
            "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relname = 'meta'"
        )
        return connection.execute(sql, (self._schema,)).fetchone() is not None

    def create(self, fill: Callable[[Connection], None]) -> None:
        """Make a new ledger in one transaction; of several who try, the first makes it."""
        with self._step(self._prelude("READ COMMITTED")) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (self._schema,))
            if self._there(connection):
                return
            # Asked first: who may not make schemas may still use one that was made for them.
            sql = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?"
            if connection.execute(sql, (self._schema,)).fetchone() is None:
                connection.execute(f"CREATE SCHEMA {self._schema}")
            fill(connection)

    def examine(self, connection: Connection) -> None:
        """Damage below the tables is the server's to find."""

    def now(self, connection: Connection) -> datetime:
        """The time, by the clock that all who write share: the server's."""
        now: datetime = connection.execute("SELECT clock_timestamp()").fetchone()[0]
        return now.astimezone(UTC)

    # -- faults ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _faults_named(self) -> Iterator[None]:
        """Turn the server's errors into ours, without its words; nothing is granted then."""
        try:
            yield
        except SfumatoError:
            raise
        except (self._psycopg.Error, OSError) as error:
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> SfumatoError:
        state = getattr(error, "sqlstate", None) or ""
        if state in ("55P03", "57014", "40001", "40P01"):
            return BudgetError(
                f"ledger {self.name} is in use by others. Nothing was granted.", hint="try again"
            )
        if state in ("25006", "42501"):
            return OutputError(
                f"ledger {self.name} cannot be written. Nothing was granted.",
                hint="check the rights of this user, and that the server is not a standby",
            )
        if state.startswith(("53", "58")):
            return OutputError(
                f"ledger {self.name}: the server is out of room or failing ({state}). Nothing was granted.",
                hint="see to the server",
            )
        if state == "42P01":
            return DataError(f"there is no ledger {self.name}.", hint="give a budget to start one")
        if isinstance(error, (self._psycopg.OperationalError, OSError)) or state.startswith(("57", "08")):
            return OutputError(
                f"ledger {self.name}: the connection to the server was lost. Nothing was granted; "
                "what was being debited may have been debited.",
                hint="try again when the server is there",
            )
        return VerificationError(
            f"ledger {self.name} is damaged, or was changed by other means ({state}). Nothing was granted.",
            hint="restore a backup: sfumato ledger restore",
        )


class _Asking:
    """SQL with question marks, as SQLite takes it, to a server that must answer.

    A server that is stopped keeps its connections open and says nothing. A second thread watches the time
    since the last question, and hangs up when it was too long; the question then fails.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._until = time.monotonic() + _PATIENCE
        self._ended = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def execute(self, sql: str, parameters: tuple[Any, ...] = (), /) -> psycopg.Cursor[Any]:
        """Run one statement within the transaction."""
        self._until = time.monotonic() + _PATIENCE
        if not parameters:  # then several statements may be sent at once
            return self.connection.execute(sql)
        return self.connection.execute(_signs(sql), tuple(parameters))

    def executemany(self, sql: str, many: Sequence[tuple[Any, ...]], /) -> None:
        """Run one statement many times."""
        self._until = time.monotonic() + _PATIENCE
        return self.connection.cursor().executemany(_signs(sql), many)

    def end(self) -> None:
        """Nothing more is asked."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(max(self._until - time.monotonic(), 0.01)):
            if time.monotonic() >= self._until:
                with contextlib.suppress(Exception):
                    line = socket.socket(fileno=os.dup(self.connection.fileno()))
                    line.shutdown(socket.SHUT_RDWR)
                    line.close()
                return


def _signs(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


def _close(connections: list[Any], process: int) -> None:
    if process == os.getpid():
        for connection in connections:
            connection.close()
