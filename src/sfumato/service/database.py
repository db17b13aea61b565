"""Answers and rates that several machines share, in PostgreSQL: postgresql://user@host/database#name.

One question is worked on by one thread of one machine at a time: an advisory lock of the server, held by the
connection that also looks the answer up and keeps it. A machine that dies loses its connection, and with it
the lock. A connection that is lost in between keeps nothing, and what is not kept is not sent: so no two
answers to one question are ever seen. The keyed hashes need one secret on all machines: each has a copy of
the same file of keys, and one with another secret is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import math
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from sfumato.errors import OutputError, VerificationError
from sfumato.privacy.postgres import is_postgres, postgres_address
from sfumato.service import logs
from sfumato.service.answers import FREE_SHARE, MOST_BYTES, PAID_SHARE, Answers, FileAnswers, Kept
from sfumato.service.keys import ApiKey

if TYPE_CHECKING:
    import psycopg

_WAIT = 20  # seconds for a lock
_NOW = "extract(epoch FROM clock_timestamp())"
_TIDY = 60.0
_LEASE = 1.0  # seconds for which calls that were taken ahead may be used
_RETRY = 5.0  # seconds until a server that is gone is asked again about rates


class Server:
    """One connection for each thread; a lost one is made anew unless locks were held on it."""

    def __init__(self, url: str) -> None:
        address = postgres_address(url, "shared answers", name="service", example="clinic")
        self._address, self._psycopg = address, address.driver
        self.schema, self.name = f"sfumato_answers_{address.name}", address.title
        self._here = threading.local()
        self._all: list[Any] = []
        self._lock = threading.Lock()

    def lay_out(self, secret: bytes) -> None:
        """Make the tables if they are not there; refuse those of another secret."""
        mark = hmac.digest(secret, b"whose answers these are", "sha256")
        with self.faults_named(), self.connection().transaction():
            ask = self.connection().execute
            ask("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.schema,))
            there = ask("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", (self.schema,)).fetchone()
            if there is None:
                ask(f"CREATE SCHEMA {self.schema}")
            ask(
                f"CREATE TABLE IF NOT EXISTS {self.schema}.meta "
                "(name text PRIMARY KEY, content bytea NOT NULL)"
            )
            ask(
                f"CREATE TABLE IF NOT EXISTS {self.schema}.answers (question bytea PRIMARY KEY, "
                "body bytea NOT NULL, answer bytea NOT NULL, expires double precision NOT NULL)"
            )
            ask(f"CREATE INDEX IF NOT EXISTS answers_expire ON {self.schema}.answers (expires)")
            ask(
                f"CREATE TABLE IF NOT EXISTS {self.schema}.rates "
                "(holder text PRIMARY KEY, due double precision NOT NULL)"
            )
            ask(f"INSERT INTO {self.schema}.meta VALUES ('secret', %s) ON CONFLICT DO NOTHING", (mark,))
            found = ask(f"SELECT content FROM {self.schema}.meta WHERE name = 'secret'").fetchone()
        if found is None or not hmac.compare_digest(bytes(found[0]), mark):
            raise VerificationError(
                f"the answers {self.name} belong to an installation with another secret.",
                hint="give every machine a copy of the same file of keys, or name other answers: #other",
            )

    def connection(self) -> psycopg.Connection[Any]:
        """This thread's own. While it holds locks it is never replaced: they went with it."""
        found = getattr(self._here, "connection", None)
        if found is not None and (found.closed or found.broken):
            if getattr(self._here, "locks", 0):
                raise self._lost()
            found = None
        if found is None:
            found = self._connect()
        return found

    def _connect(self) -> psycopg.Connection[Any]:
        made = self._address.connected("answers")
        try:
            made.execute(
                f"SET synchronous_commit = on; SET lock_timeout = '{_WAIT}s'; "
                f"SET statement_timeout = '{_WAIT + 10}s'"
            )
        except self._psycopg.Error:
            raise self._lost() from None
        self._here.connection, self._here.locks = made, 0
        with self._lock:
            self._all = [c for c in self._all if not c.closed] + [made]
        return made

    def _lost(self) -> OutputError:
        return OutputError(f"answers {self.name}: the connection was lost.", hint="try again")

    def count_lock(self, step: int) -> None:
        """One lock more, or less, on this thread's connection."""
        self._here.locks = getattr(self._here, "locks", 0) + step

    @contextlib.contextmanager
    def faults_named(self) -> Iterator[None]:
        """Turn the server's errors into ours, without its words."""
        try:
            yield
        except self._psycopg.Error as error:
            if (error.sqlstate or "") in ("55P03", "57014", "40P01"):
                raise OutputError(
                    "another worker is busy with the same question.", hint="try again"
                ) from None
            raise self._lost() from None

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all = []


class SharedAnswers(Answers):
    """The kept answers of several machines."""

    def __init__(self, url: str, secret: bytes, keep_hours: float) -> None:
        super().__init__(secret)
        self._server = Server(url)
        self._table = f"{self._server.schema}.answers"
        self._keep = keep_hours * 3600
        self._here: set[bytes] = set()
        self._change = threading.Condition()
        self._tidied = -math.inf
        self._server.lay_out(secret)

    def close(self) -> None:
        """Hang up."""
        self._server.close()

    @contextlib.contextmanager
    def alone(self, question: bytes) -> Iterator[None]:
        """Nobody else, on any machine, is at work on this question meanwhile."""
        with self._change:  # a server's lock does not part the questions of one connection
            if not self._change.wait_for(lambda: question not in self._here, _WAIT):
                raise OutputError("another worker is busy with the same question.", hint="try again")
            self._here.add(question)
        place = int.from_bytes(question[:8], "big", signed=True)
        try:
            with self._server.faults_named():
                self._server.connection().execute("SELECT pg_advisory_lock(%s)", (place,))
            self._server.count_lock(1)
            try:
                yield
            finally:
                self._let_go(place)
        finally:
            with self._change:
                self._here.discard(question)
                self._change.notify_all()

    def _let_go(self, place: int) -> None:
        try:
            with self._server.faults_named():
                self._server.connection().execute("SELECT pg_advisory_unlock(%s)", (place,))
        except OutputError:
            with contextlib.suppress(OutputError):
                self._server.connection().close()  # whatever it holds goes with it
        finally:
            self._server.count_lock(-1)

    def find(self, question: bytes) -> Kept | None:
        """What was answered, if that has not expired by the server's clock."""
        with self._server.faults_named():
            row = (
                self._server.connection()
                .execute(
                    f"SELECT body, answer FROM {self._table} WHERE question = %s AND expires > {_NOW}",
                    (question,),
                )
                .fetchone()
            )
        return None if row is None else Kept(bytes(row[0]), bytes(row[1]))

    def require_room(self, *, paid: bool) -> None:
        """Refuse before anything is paid for, if an answer could not be kept."""
        with self._server.faults_named():
            sql = "SELECT pg_total_relation_size(%s::regclass)"
            row = self._server.connection().execute(sql, (self._table,)).fetchone()
        assert row is not None, "a SELECT without FROM gives one row"
        if row[0] > MOST_BYTES * (PAID_SHARE if paid else FREE_SHARE):
            raise OutputError(f"{self._server.name} is full.", hint="keep answers for fewer hours")

    def keep(self, answers: Mapping[bytes, Kept]) -> None:
        """Keep what was answered to each question: all or none, on the connection that holds the locks."""
        connection = self._server.connection()
        with self._server.faults_named(), connection.transaction():
            self._tidy(connection)
            connection.cursor().executemany(
                f"INSERT INTO {self._table} VALUES (%s, %s, %s, {_NOW} + %s) ON CONFLICT (question) "
                "DO UPDATE SET body = excluded.body, answer = excluded.answer, expires = excluded.expires",
                [(question, kept.body, kept.answer, self._keep) for question, kept in answers.items()],
            )

    def first(self, mark: bytes, until: float) -> bool:
        """Note a mark that may come once until a time; whether this was the first time, on any machine."""
        connection = self._server.connection()
        with self._server.faults_named(), connection.transaction():
            self._tidy(connection)
            connection.execute(
                f"DELETE FROM {self._table} WHERE question = %s AND expires <= {_NOW}", (mark,)
            )
            done = connection.execute(
                f"INSERT INTO {self._table} VALUES (%s, '', '', %s) ON CONFLICT DO NOTHING", (mark, until)
            )
        return bool(done.rowcount == 1)

    def _tidy(self, connection: psycopg.Connection[Any]) -> None:
        if time.monotonic() - self._tidied > _TIDY:
            connection.execute(f"DELETE FROM {self._table} WHERE expires <= {_NOW}")
            self._tidied = time.monotonic()


class SharedRates:
    """Rates that hold over all machines. Calls are taken ahead in small numbers, so that few ask the server.

    What was taken ahead and not used within a second is lost: never more than the rate passes, sometimes
    less. While the server is gone, each machine's own limits hold alone.
    """

    def __init__(self, url: str) -> None:
        self._server = Server(url)
        self._leases: dict[str, tuple[int, float]] = {}
        self._gone = -math.inf
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="rates")

    def close(self) -> None:
        """Hang up."""
        self._threads.shutdown(wait=True)
        self._server.close()

    async def waited(self, key: ApiKey) -> int:
        """0 if the call may pass, which is then counted; else the whole seconds until the next may."""
        if self.taken(key):
            return 0
        wait, more = await asyncio.get_running_loop().run_in_executor(self._threads, self.wait, key)
        self.lease(key, more)
        return wait

    def taken(self, key: ApiKey) -> bool:
        """Whether a call that was taken ahead is at hand; it is used up. Called on the event loop alone."""
        left, until = self._leases.get(key.id, (0, 0.0))
        now = time.monotonic()
        if now - self._gone < _RETRY:
            return True
        if left <= 0 or now > until:
            return False
        self._leases[key.id] = (left - 1, until)
        return True

    def lease(self, key: ApiKey, calls: int) -> None:
        """Calls that were taken ahead may be used from now on."""
        if len(self._leases) > 10_000:
            self._leases.clear()
        self._leases[key.id] = (calls, time.monotonic() + _LEASE)

    def wait(self, key: ApiKey) -> tuple[int, int]:
        """Seconds until the next call may pass, and how many more were taken ahead. Blocks: on a thread."""
        most = max(1, int(min(key.burst / 20, key.rate / 10)))
        try:
            with self._server.faults_named():
                for calls in dict.fromkeys((most, 1)):
                    due = self._pass(key, calls)
                    if due <= 0:
                        return 0, calls - 1
            return max(1, math.ceil(due)), 0
        except OutputError as error:
            logs.event("rates_not_shared", logging.WARNING, **logs.fault(error))
            self._gone = time.monotonic()
            return 0, 0

    def _pass(self, key: ApiKey, calls: int) -> float:
        """0 if so many calls pass, which are then counted; else the seconds until one may."""
        interval = 1 / key.rate
        ask = self._server.connection().execute
        table = f"{self._server.schema}.rates"
        row = ask(f"SELECT {_NOW}").fetchone()
        assert row is not None, "a SELECT without FROM gives one row"
        now = row[0]
        passed = ask(
            f"INSERT INTO {table} AS r VALUES (%(id)s, %(now)s + %(cost)s) ON CONFLICT (holder) DO UPDATE "
            "SET due = greatest(r.due, %(now)s) + %(cost)s "
            "WHERE greatest(r.due, %(now)s) - %(now)s <= %(room)s + 1e-9 RETURNING due",
            {
                "id": key.id,
                "now": float(now),
                "cost": calls * interval,
                "room": interval * (key.burst - calls),
            },
        ).fetchone()
        if passed is not None:
            return 0.0
        due = ask(f"SELECT due FROM {table} WHERE holder = %s", (key.id,)).fetchone()
        return float((due[0] if due else float(now)) - float(now) - interval * (key.burst - 1)) or 1.0


def open_answers(place: str, secret: bytes, keep_hours: float) -> Answers:
    """The answers in a file, or at a URL of PostgreSQL."""
    return (SharedAnswers if is_postgres(place) else FileAnswers)(place, secret, keep_hours)
