"""Connections: how many may be open, how many of one address, and how long one may wait before it asks.

An open connection costs a place whether it asks or not. Beyond the places of an address, or of all, the one
that has waited longest without a question is closed for the new one; only where all are being answered is the
new one refused. Who asks is therefore never kept out by who does not: not `/healthz` either.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.service import logs
from sfumato.service.settings import VARIABLE, Settings

MOST_AT_ONCE = 1000  # connections of one worker
_QUIET = 60.0  # seconds between two lines of the log about it


def place_of(client: tuple[str, int] | None) -> str:
    """Whose connections count together: an IPv4 address, or the 64 bits an IPv6 network is given."""
    try:
        address = ipaddress.ip_address((client or ("", 0))[0].partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 for one connection, which has to ask in time and may be closed for one that does."""

    _closed, _said = 0, -_QUIET  # of this worker: how many since the last line of the log, and when it was

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        settings = Settings.from_json(os.environ[VARIABLE])
        self._seconds, self._most = settings.seconds_to_ask, settings.connections_per_address
        self._timer: asyncio.TimerHandle | None = None
        self.place, self.since = "", 0.0

    @property
    def under_way(self) -> bool:
        """Whether a question was asked and is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or that of one who does not ask."""
        super().connection_made(transport)
        self.place, self.since = place_of(self.client), self.loop.time()
        self._arm()
        others = [c for c in self.connections if isinstance(c, GuardedProtocol) and c is not self]
        near = [c for c in others if c.place == self.place]
        if len(near) >= self._most:
            self._make_room(near)
        elif len(others) >= MOST_AT_ONCE:
            self._make_room(others)

    def _make_room(self, others: list[GuardedProtocol]) -> None:
        idle = [c for c in others if not c.under_way]
        (min(idle, key=lambda c: c.since) if idle else self).leave()

    def leave(self) -> None:
        """Close at once; the place is free from now on, not only when the loop comes to it."""
        self.connections.discard(self)
        self._disarm()
        self.transport.abort()
        GuardedProtocol._closed += 1
        if self.loop.time() >= GuardedProtocol._said + _QUIET:
            logs.event("connections_closed", logging.WARNING, number=GuardedProtocol._closed)
            GuardedProtocol._closed, GuardedProtocol._said = 0, self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._disarm()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """After anything came or was answered: who is asking has no deadline, who dawdles has."""
        super().handle_events()
        if self.under_way:
            self._disarm()
        elif self._timer is None and (self.conn.trailing_data[0] or self.conn.their_state is not h11.IDLE):
            self._arm()

    def on_response_complete(self) -> None:
        """From now on it waits again; without a further byte the server's own limit for that closes it."""
        self.since = self.loop.time()
        super().on_response_complete()

    def _arm(self) -> None:
        self._timer = self.loop.call_later(self._seconds, self._too_slow)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.under_way and not self.transport.is_closing():
            self.leave()
