"""The log of what was released: one line per signed statement, each chained to the one before by SHA-256.

A signature says who signed. Whoever steals a key signs too, and the log does not have it: `verify` with a log
lets only signatures count that are in it. It is a file of JSON lines, or a table in PostgreSQL
(postgresql://user@host/database#name), and is only ever added to.

    hash = SHA-256([before, number, at, statement, key, name] in canonical JSON); the first `before` is empty

Limits: the chain shows that a line was changed, taken out of the middle or put in. An older copy of the log
    in place of the newer one is a sound chain that lacks the last lines: what they released no longer counts,
    and nothing counts that did not before. Whoever may write the log may add lines, with any `at` not before
    the last one. It holds digests of what was signed, keys and names; nothing of the data.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Protocol

from sfumato._system import disk, locks
from sfumato.errors import DataError, OutputError, ParameterError, VerificationError
from sfumato.privacy.postgres import is_postgres, postgres_address
from sfumato.privacy.signatures.envelope import canonical, strict_json
from sfumato.privacy.signatures.keys import is_digest, is_public_key
from sfumato.privacy.signatures.statement import is_name

_FIELDS = ("number", "at", "statement", "key", "name", "hash")
_WAIT = 60  # seconds to wait for others who are writing


@dataclass(frozen=True)
class LogEntry:
    """A line of the log. at: when, in UTC. statement: the SHA-256 of what was signed. key, name: by whom."""

    number: int
    at: str
    statement: str
    key: str
    name: str
    hash: str = ""

    def link(self, before: str) -> str:
        """The hash of this line after the one before."""
        return hashlib.sha256(canonical([before, *astuple(self)[:-1]])).hexdigest()


class _Store(Protocol):
    name: str

    def read(self) -> list[LogEntry]:
        """All lines, unchecked."""

    def writing(self) -> contextlib.AbstractContextManager[Any]:
        """Alone with the log: all lines, unchecked, and what adds one."""


class ReleaseLog:
    """A log at its place. A path that does not exist is started by the first line that is added.

    >>> path = sf.pseudonymize(sf.samples.members(40).select(["id", "sex"]), columns=["id"]).save("out")
    >>> log = sf.ReleaseLog.at("released.log")
    >>> statement = sf.sign(path, sf.SigningKey.fresh(), "A. Miller", log=log)
    >>> len(log.entries())
    1
    """

    def __init__(self, store: _Store) -> None:
        self._store = store

    @classmethod
    def at(cls, place: ReleaseLog | str | Path) -> ReleaseLog:
        """The log in a file, or at a URL of PostgreSQL."""
        if isinstance(place, ReleaseLog):
            return place
        if is_postgres(place):
            return cls(_Postgres(str(place)))
        return cls(_File(Path(place)))

    def entries(self) -> tuple[LogEntry, ...]:
        """All lines, oldest first; the whole chain is walked."""
        return tuple(self._checked(self._store.read()))

    def days(self) -> dict[str, date]:
        """The statements that are in it, each with the day of its first line."""
        found: dict[str, date] = {}
        for entry in self.entries():
            found.setdefault(entry.statement, _day(entry.at))
        return found

    def append(self, statement: str, key: str, name: str) -> LogEntry:
        """Add one line, after the chain was walked; on disk when this ends."""
        if not is_digest(statement) or not is_public_key(key) or not is_name(name):
            raise ParameterError(
                "a line of the log has a digest, a key and a name.", hint="sign(..., log=...)"
            )
        with self._store.writing() as (lines, add):
            before = self._checked(lines)
            last = before[-1] if before else LogEntry(0, "", "", "", "")
            now = max(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), last.at)  # a clock may be set back
            line = LogEntry(last.number + 1, now, statement, key, name)
            line = replace(line, hash=line.link(last.hash))
            add(line)
        return line

    def _checked(self, lines: Sequence[LogEntry]) -> list[LogEntry]:
        before = LogEntry(0, "", "", "", "")
        for line in lines:
            if (line.number, line.hash) != (before.number + 1, line.link(before.hash)) or line.at < before.at:
                raise VerificationError(
                    f"log {self._store.name} was changed at line {before.number + 1}: its chain is broken.",
                    hint="restore it from a copy; nothing in it counts as it is",
                )
            before = line
        return list(lines)


# -- a file --------------------------------------------------------------------------------------


class _File:
    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name

    def read(self) -> list[LogEntry]:
        """All lines, unchecked."""
        with self._opened(os.O_RDONLY, shared=True) as file:
            return self._lines(file)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Any]:
        """Alone with the log."""
        if self.path.is_symlink() and not self.path.exists():  # whoever put it there would choose the place
            raise OutputError(
                f"log {self.name} is a link to a place where nothing is.", hint="name the place"
            )
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        with self._opened(flags) as file:

            def add(line: LogEntry) -> None:
                raw = canonical(dict(zip(_FIELDS, astuple(line), strict=True))) + b"\n"
                if os.write(file, raw) != len(raw):
                    raise OutputError(f"log {self.name}: the disk is full.", hint="make room")
                os.fsync(file)

            yield self._lines(file), add

    @contextlib.contextmanager
    def _opened(self, flags: int, shared: bool = False) -> Iterator[int]:
        try:
            file = disk.opened(self.path, flags | disk.AT_ONCE, 0o644)
        except FileNotFoundError:
            raise DataError(
                f"there is no log {self.name}.", hint="sfumato sign RELEASE --log starts one"
            ) from None
        except (OSError, ValueError):
            raise DataError(f"log {self.name} cannot be opened.", hint="check path and rights") from None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise DataError(f"log {self.name} is no ordinary file.", hint="give a file")
            locks.hold(file, shared=shared)
            yield file
        except OSError as error:
            raise OutputError(f"log {self.name}: {error.strerror}.", hint="see to the disk") from None
        finally:
            locks.close(file)

    def _lines(self, file: int) -> list[LogEntry]:
        with open(os.dup(file), "rb") as source:
            source.seek(0)
            raw = source.read()
        try:
            *lines, rest = raw.decode("ascii").split("\n")
            documents = [strict_json(line) for line in lines]
            if rest or any(sorted(d) != sorted(_FIELDS) for d in documents):
                raise ValueError
            if any(type(d[k]) is not _kind(k) for d in documents for k in _FIELDS):
                raise ValueError
            return [LogEntry(**d) for d in documents]
        except (ValueError, TypeError):
            raise VerificationError(
                f"{self.name} is not a log of releases, or its last line was cut off.",
                hint="restore it from a copy",
            ) from None


def _day(at: str) -> date:
    """The day of a line; one that is no time counts as never."""
    try:
        return datetime.fromisoformat(at).date()
    except ValueError:
        return date.max


def _kind(field: str) -> type:
    return int if field == "number" else str


# -- a table in PostgreSQL -----------------------------------------------------------------------


class _Postgres:
    def __init__(self, url: str) -> None:
        address = postgres_address(url, "a log", name="releases", example="releases")
        self._address, self._psycopg = address, address.driver
        self.name, name = address.title, address.name
        self._table = f"sfumato_log_{name}.released"
        self._schema = f"sfumato_log_{name}"

    def read(self) -> list[LogEntry]:
        """All lines, unchecked."""
        with self._connected() as connection:
            return self._lines(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Any]:
        """Alone with the log: everybody else waits at its lock."""
        with self._connected() as connection:
            connection.execute(f"SET LOCAL lock_timeout = '{_WAIT}s'")
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self._schema,))
            if not self._there(connection):
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
                connection.execute(
                    f"CREATE TABLE {self._table} (number INTEGER PRIMARY KEY, at TEXT NOT NULL,"
                    " statement TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL)"
                )
            insert = f"INSERT INTO {self._table} ({', '.join(_FIELDS)}) VALUES (%s, %s, %s, %s, %s, %s)"
            yield self._lines(connection), lambda line: connection.execute(insert, astuple(line))

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        """One transaction; the server's own words may hold names and addresses, and are not passed on."""
        try:
            with self._psycopg.connect(**self._address.settings) as connection:
                yield connection
        except self._psycopg.Error as error:
            code = f" ({error.sqlstate})" if error.sqlstate else ""
            raise OutputError(
                f"log {self.name}: the server refused{code}, or is not there.",
                hint="check host, user, password, database and rights",
            ) from None

    def _there(self, connection: Any) -> bool:
        sql = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'released'"
        return connection.execute(sql, (self._schema,)).fetchone() is not None

    def _lines(self, connection: Any) -> list[LogEntry]:
        if not self._there(connection):
            raise DataError(f"there is no log {self.name}.", hint="sfumato sign RELEASE --log starts one")
        rows = connection.execute(
            f"SELECT {', '.join(_FIELDS)} FROM {self._table} ORDER BY number"
        ).fetchall()
        return [LogEntry(*row) for row in rows]
