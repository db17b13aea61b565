"""An address that can be used once, and the session it becomes.

A ticket goes through a terminal, a list of processes and a browser's history: whoever finds it there finds it
used. What it is exchanged for is a cookie that no script can read and no other site's page can send.
Only digests are kept, so that looking one up says nothing about another.
"""

from __future__ import annotations

import hashlib
import secrets
import threading

_BYTES = 32


class Tickets:
    """Tickets that were given out and not used yet, and the sessions that used ones became."""

    def __init__(self) -> None:
        self._open: set[bytes] = set()
        self._sessions: set[bytes] = set()
        self._lock = threading.Lock()

    def new(self) -> str:
        """A ticket for one browser."""
        ticket = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._open.add(_digest(ticket))
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """A new session for a ticket, which is used up; None if it is not one of ours or was used."""
        with self._lock:
            digest = _digest(ticket)
            if digest not in self._open:
                return None
            self._open.discard(digest)
            session = secrets.token_urlsafe(_BYTES)
            self._sessions.add(_digest(session))
            return session

    def knows(self, session: str) -> bool:
        """Whether this is a session of ours."""
        with self._lock:
            return _digest(session) in self._sessions


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
