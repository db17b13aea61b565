"""Whether a request is meant for us, and comes from our own page.

Any page in the same browser can send requests to loopback, and a name of its own can be made to point there
(DNS rebinding). It cannot choose what the browser says of it: Host is the name in its address bar, Origin and
Sec-Fetch-Site say where the request was made.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

_SAFE = ("GET", "HEAD")
_OURS = (b"same-origin", b"none")  # none: typed, or opened from the terminal


@dataclass(frozen=True)
class OwnAddress:
    """The address on loopback that a browser knows us by."""

    port: int

    @property
    def hosts(self) -> tuple[bytes, ...]:
        """What may stand in Host; nothing else is us."""
        return tuple(f"{name}:{self.port}".encode() for name in ("127.0.0.1", "localhost"))

    @property
    def url(self) -> str:
        """As it is printed."""
        return f"http://127.0.0.1:{self.port}"

    def refusal(self, scope: Scope) -> str:
        """Why a request is not answered: "host", "origin" or "site"; empty if it is."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name, []).append(value)
        if len(given.get(b"host", ())) != 1 or given[b"host"][0] not in self.hosts:
            return "host"
        origin = given.get(b"origin", [])
        if origin and origin != [b"http://" + given[b"host"][0]]:
            return "origin"
        if not origin and scope["method"] not in _SAFE:
            return "origin"  # every browser says where a form comes from
        if any(value not in _OURS for value in given.get(b"sec-fetch-site", ())):
            return "site"
        return ""
