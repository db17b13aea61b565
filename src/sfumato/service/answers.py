"""What was answered before: the same bytes again, for nothing.

Kept are keyed hashes of the questions (HMAC with the installation's secret: nobody who finds the file can
try out patients) and the bytes of the answers, for a limited time. An answer is on disk before it is sent.
So whatever a client has seen, it gets again; and what was debited and not yet kept when a process died was
seen by nobody.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import OutputError
from sfumato.service._sqlite import connect, faults_named, writing
from sfumato.service.single_flight import SingleFlight

_APPLICATION = 0x53464D41  # "SFMA"
_LAYOUT = """
CREATE TABLE IF NOT EXISTS answers (
    question BLOB PRIMARY KEY, body BLOB NOT NULL, answer BLOB NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_expire ON answers (expires)
"""
_TIDY = 60.0  # seconds between two removals of what has expired
MOST_BYTES = 1 << 30  # of the file
PAID_SHARE = 0.95
FREE_SHARE = 0.5  # of that, for answers that cost nothing: they must not crowd out those that do


@dataclass(frozen=True)
class Kept:
    """An answer, and the keyed hash of the body it answers."""

    body: bytes
    answer: bytes


class Answers(ABC):
    """The kept answers of one installation: in a file that the workers of a machine share (`FileAnswers`),
    or in PostgreSQL for several machines (`shared.SharedAnswers`)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def hash(self, *parts: bytes) -> bytes:
        """The keyed hash of a question. Lengths go in too, so that no two lists of parts run together."""
        mac = hmac.new(self._secret, digestmod=hashlib.sha256)
        for part in parts:
            mac.update(len(part).to_bytes(8, "big") + part)
        return mac.digest()

    @abstractmethod
    def alone(self, question: bytes) -> AbstractContextManager[None]:
        """Nobody else is at work on this question meanwhile."""

    @abstractmethod
    def find(self, question: bytes) -> Kept | None:
        """What was answered, if that has not expired."""

    @abstractmethod
    def require_room(self, *, paid: bool) -> None:
        """Refuse before anything is paid for, if an answer could not be kept."""

    @abstractmethod
    def keep(self, answers: Mapping[bytes, Kept]) -> None:
        """Keep what was answered to each question: all or none, durable when it returns."""

    @abstractmethod
    def first(self, mark: bytes, until: float) -> bool:
        """Note, durably, a mark that may come once until a time; whether this was the first time."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""


class FileAnswers(Answers):
    """In a file; several workers on one machine share it."""

    def __init__(self, path: str | Path, secret: bytes, keep_hours: float) -> None:
        super().__init__(secret)
        self.name = Path(path).name
        self._keep = keep_hours * 3600
        self._connection = connect(path, _APPLICATION, _LAYOUT, create=True)
        self._connection.execute(f"PRAGMA max_page_count = {MOST_BYTES // 4096}")
        self._lock = threading.Lock()
        self._flights = SingleFlight(Path(path).with_name(f"{self.name}-locks"))
        self._tidied = 0.0

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()
        self._flights.close()

    @contextmanager
    def alone(self, question: bytes) -> Iterator[None]:
        """Nobody else is at work on this question meanwhile."""
        with self._flights.alone(question):
            yield

    def find(self, question: bytes) -> Kept | None:
        """What was answered, if that has not expired."""
        with self._lock, faults_named(self.name):
            row = self._connection.execute(
                "SELECT body, answer FROM answers WHERE question = ? AND expires > ?", (question, time.time())
            ).fetchone()
        return None if row is None else Kept(bytes(row[0]), bytes(row[1]))

    def require_room(self, *, paid: bool) -> None:
        """Refuse before anything is paid for, if an answer could not be kept."""
        with self._lock, faults_named(self.name):
            size, used, free = (
                int(self._connection.execute(f"PRAGMA {what}").fetchone()[0])
                for what in ("page_size", "page_count", "freelist_count")
            )
        if size * (used - free) > MOST_BYTES * (PAID_SHARE if paid else FREE_SHARE):
            raise OutputError(f"{self.name} is full.", hint="keep answers for fewer hours")

    def keep(self, answers: Mapping[bytes, Kept]) -> None:
        """Keep what was answered to each question: all or none."""
        now = time.time()
        with self._lock, faults_named(self.name), writing(self._connection):
            self._tidy(self._connection, now)
            self._connection.executemany(
                "INSERT OR REPLACE INTO answers VALUES (?,?,?,?)",
                [(question, kept.body, kept.answer, now + self._keep) for question, kept in answers.items()],
            )

    def first(self, mark: bytes, until: float) -> bool:
        """Note, on disk, a mark that may come once until a time; whether this was the first time."""
        now = time.time()
        with self._lock, faults_named(self.name), writing(self._connection):
            self._tidy(self._connection, now)
            self._connection.execute("DELETE FROM answers WHERE question = ? AND expires <= ?", (mark, now))
            cursor = self._connection.execute(
                "INSERT OR IGNORE INTO answers VALUES (?,?,?,?)", (mark, b"", b"", until)
            )
        return cursor.rowcount == 1

    def _tidy(self, connection: sqlite3.Connection, now: float) -> None:
        if abs(now - self._tidied) > _TIDY:
            connection.execute("DELETE FROM answers WHERE expires <= ?", (now,))
            self._tidied = now
