"""The installation's own file: its keys, which version of each model is current, and its secret.

It changes seldom. Every worker looks at SQLite's change counter with each request (some microseconds), so
that a revoked key is refused and a new version answers in all of them from the next request on.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.errors import DataError, ParameterError
from sfumato.service import history, keys
from sfumato.service._sqlite import connect, faults_named, writing
from sfumato.service.keys import ApiKey

_APPLICATION = 0x53464D4B  # "SFMK"
_LAYOUT = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, client TEXT NOT NULL, scopes TEXT NOT
    NULL, rate REAL NOT NULL, burst INTEGER NOT NULL, hash BLOB NOT NULL, created REAL NOT NULL, expires
    REAL, revoked REAL);
CREATE TABLE IF NOT EXISTS activations (
    number INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, version TEXT NOT NULL, at REAL NOT NULL,
    undone REAL);
"""
_COLUMNS = "number, id, client, scopes, rate, burst, hash, created, expires, revoked"
_LATEST = "FROM activations WHERE model = ? AND undone IS NULL ORDER BY number DESC"
MOST_KEYS = 100_000  # numbers are never used again; the shared rate limits have this many places


class Installation:
    """Keys, active versions and the secret; safe to use from several threads and processes."""

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.name = Path(path).name
        self._connection = connect(path, _APPLICATION, _LAYOUT + history.LAYOUT, create=create)
        self._lock = threading.Lock()
        self._seen = -1
        self._keys: dict[str, ApiKey] = {}
        self._active: dict[str, str] = {}
        with self._lock, faults_named(self.name), writing(self._connection):
            self._connection.execute(
                "INSERT OR IGNORE INTO meta VALUES ('secret', ?)", (secrets.token_bytes(32),)
            )
        self.secret = bytes(
            self._connection.execute("SELECT content FROM meta WHERE name = 'secret'").fetchone()[0]
        )
        self.refresh()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def refresh(self) -> None:
        """Notice what other processes changed."""
        with self._lock:
            try:  # before each request: quicker than faults_named, which is asked only if it fails
                seen = self._connection.execute("PRAGMA data_version").fetchone()[0]
                if seen == self._seen:
                    return
            except (sqlite3.Error, OSError):
                pass
            with faults_named(self.name):
                seen = self._connection.execute("PRAGMA data_version").fetchone()[0]
                self._read()
                self._seen = seen

    def _read(self) -> None:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM keys").fetchall()
        self._keys = {key.id: key for key in map(_key, rows)}
        # The last activation that was not undone.
        rows = self._connection.execute(
            "SELECT model, version FROM activations WHERE undone IS NULL ORDER BY number"
        ).fetchall()
        self._active = dict(rows)

    # -- keys --------------------------------------------------------------------------------------

    def holder(self, authorization: str) -> ApiKey | None:
        """Whose key this is, or None if it opens nothing."""
        self.refresh()
        given = keys.parse(authorization)
        if given is None:
            return None
        key = self._keys.get(given[0])
        return key if keys.opens(key, given[1], time.time()) else None

    def listed(self) -> tuple[ApiKey, ...]:
        """All keys, oldest first; no secret is among what is kept."""
        self.refresh()
        return tuple(sorted(self._keys.values(), key=lambda key: key.number))

    def create_key(
        self,
        client: str,
        scopes: tuple[str, ...] = ("score",),
        rate: float = 50.0,
        burst: int = 100,
        *,
        who: str = "",
    ) -> tuple[ApiKey, str]:
        """A new key and its text, which is shown this once."""
        keys.checked(client, scopes, rate, burst)
        identity, text, kept = keys.draw()
        row = (identity, client, " ".join(scopes), float(rate), int(burst), kept, time.time(), None, None)
        with self._change():
            self._insert(row)
            self._note(who, "created key", f"{identity} of {client}: {' '.join(scopes)}")
        return self._keys[identity], text

    def rotate_key(self, identity: str, overlap: float, *, who: str = "") -> tuple[ApiKey, str]:
        """A new key in place of another, which works on for `overlap` seconds."""
        if not 0 <= overlap <= 366 * 86_400:
            raise ParameterError("an overlap is at most a year.", hint="--overlap 7d")
        old = self._known(identity)
        now = time.time()
        if not old.usable(now):
            raise ParameterError(
                "this key is not in use any more.", hint="sfumato keys create makes a new one"
            )
        new, text, kept = keys.draw()
        end = min(now + overlap, old.expires or now + overlap)
        with self._change():
            self._insert((new, old.client, " ".join(old.scopes), old.rate, old.burst, kept, now, None, None))
            self._connection.execute("UPDATE keys SET expires = ? WHERE id = ?", (end, identity))
            self._note(who, "rotated key", f"{identity} to {new}")
        return self._keys[new], text

    def revoke_key(self, identity: str, *, who: str = "") -> ApiKey:
        """Refuse a key from now on, in every worker; this cannot be undone."""
        key = self._known(identity)
        with self._change():
            self._connection.execute(
                "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (time.time(), key.id)
            )
            self._note(who, "revoked key", f"{key.id} of {key.client}")
        return self._keys[key.id]

    def _insert(self, row: tuple[object, ...]) -> None:
        columns = _COLUMNS.removeprefix("number, ")
        cursor = self._connection.execute(f"INSERT INTO keys ({columns}) VALUES (?,?,?,?,?,?,?,?,?)", row)
        if (cursor.lastrowid or 0) >= MOST_KEYS:
            raise ParameterError("an installation has at most 99,999 keys.", hint="start another one")

    def _known(self, identity: str) -> ApiKey:
        self.refresh()
        key = self._keys.get(identity)
        if key is None:
            raise ParameterError("no key has this id.", hint="sfumato keys list shows the ids")
        return key

    # -- versions ----------------------------------------------------------------------------------

    def active(self, model: str) -> str | None:
        """The version that was made current, or None if nobody chose."""
        return self._active.get(model)

    @property
    def activated(self) -> dict[str, str]:
        """The version of each model that was made current."""
        return dict(self._active)

    def activate(self, model: str, version: str, *, who: str = "") -> str:
        """Make a version current, in every worker, from the next request on; the history's new head."""
        with self._change():
            self._connection.execute(
                "INSERT INTO activations (model, version, at) VALUES (?,?,?)", (model, version, time.time())
            )
            return self._note(who, "activated", f"{model} {version}")

    def settle(self, model: str, versions: Sequence[str]) -> None:
        """At the start: if no version that is at hand was made current, the last of them is."""
        with self._change():
            rows = self._connection.execute(f"SELECT version {_LATEST} LIMIT 1", (model,)).fetchall()
            if not rows or rows[0][0] not in versions:
                self._connection.execute(
                    "INSERT INTO activations (model, version, at) VALUES (?,?,?)",
                    (model, versions[-1], time.time()),
                )
                self._note(history.SERVICE, "activated", f"{model} {versions[-1]}, as nobody had chosen")

    def roll_back(self, model: str, at_hand: Sequence[str], *, who: str = "") -> tuple[str, str]:
        """Make the version current that was so before and is at hand: which, and the history's new head."""
        with self._change():
            rows = self._connection.execute(f"SELECT number, version {_LATEST}", (model,)).fetchall()
            earlier = (row for row in rows[1:] if row[1] in at_hand and row[1] != rows[0][1])
            number, version = next(earlier, (None, None))
            if number is None:
                raise DataError("there is no earlier version to go back to.", hint="activate one by name")
            self._connection.execute(
                "UPDATE activations SET undone = ? WHERE model = ? AND number > ? AND undone IS NULL",
                (time.time(), model, number),
            )
            head = self._note(who, "rolled back", f"{model} to {version}")
        return str(version), head

    # -- history -----------------------------------------------------------------------------------

    def history(self, seen: str = "") -> tuple[history.HistoryLine, ...]:
        """Who did what, oldest first; the chain is checked. seen: a head that was noted elsewhere."""
        with self._lock, faults_named(self.name):
            return history.read(self._connection, self.name, seen)

    def _note(self, who: str, did: str, what: str) -> str:
        return history.add(self._connection, who or history.at_terminal(), did, what)

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """A step that writes; what is known is read anew, as our own changes do not move our counter."""
        with self._lock, faults_named(self.name):
            with writing(self._connection):
                yield
            self._read()


def _key(row: sqlite3.Row | tuple[object, ...]) -> ApiKey:
    key = ApiKey(*row)
    return replace(key, scopes=tuple(str(key.scopes).split()), hash=bytes(key.hash))
