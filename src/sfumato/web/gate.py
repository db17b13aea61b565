"""What stands before an application on one's own machine: Host, Origin, ticket, headers, a last catch.

Guarantee: no request reaches the application unless it was made by a page of ours, or typed, in a browser
           that once had a ticket.
Because:   Host, Origin and Sec-Fetch-Site are checked first (origins.py), then the cookie, which only a
           ticket gives (tickets.py); both before the body is looked at.
Assumes:   the browser says the truth about Host, Origin and Sec-Fetch-Site, and other programs of the same
           user do not read this process's memory or the browser's.
Tested by: tests/studio/test_gate.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.web.headers import FORM_POLICY, Headers, has_two_lengths, page_headers
from sfumato.web.origins import OwnAddress
from sfumato.web.tickets import Tickets

ENTER = "/enter"
_POLICY = b"content-security-policy"
# Not a redirect: a browser that comes by a link from elsewhere would not show its new cookie on it.
_INSIDE = (
    b"<!DOCTYPE html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content='0;url=/'>"
    b"<link rel=icon href=/static/icon.svg><title>Sfumato</title><p><a href='/'>Sfumato</a></p></html>\n"
)


@dataclass(frozen=True)
class Refused:
    """A request that does not come through: what is answered."""

    status: int
    words: str


FOREIGN = Refused(403, "This request does not come from this window. Nothing was read, nothing was changed.")
NO_TICKET = Refused(
    401, "This address was used already, or is not from here. Press Enter in the terminal for a new one."
)
BAD = Refused(400, "The request could not be understood.")
TOO_LARGE = Refused(413, "The request is too large.")
FAULT = Refused(500, "The program has a fault of its own. The terminal says where.")


@dataclass
class Gate:
    """The outermost layer. failed: told of an exception that nobody foresaw; its words may quote a cell.

    body_bytes: the largest request; larger: by address, where it may be more. cookie: its name, one for each
    port, so that two windows can be open.
    """

    app: ASGIApp
    own: OwnAddress
    tickets: Tickets
    failed: Callable[[Exception], None]
    body_bytes: int = 1 << 20
    larger: Mapping[str, int] = field(default_factory=dict)
    _headers: Headers = field(default_factory=lambda: page_headers(FORM_POLICY, "same-origin"))

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"sfumato-{self.own.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or say why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = list(message.get("headers", ()))
                strict = any(name == _POLICY for name, _ in own)  # a paper has a stricter one
                added = [h for h in self._headers if not (strict and h[0] == _POLICY)]
                message["headers"] = [*own, *added]
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await _say(answer, refused)
        elif scope["path"] == ENTER:
            await self._enter(scope, answer)
        elif not self.tickets.knows(self._session(scope)):
            await _say(answer, NO_TICKET)
        else:
            try:
                await self.app(scope, self._limited(receive, self._most(scope)), answer)
            except _TooLarge:
                if not started:
                    await _say(answer, TOO_LARGE)
            except Exception as error:
                self.failed(error)
                if not started:
                    await _say(answer, FAULT)

    def _refusal(self, scope: Scope) -> Refused | None:
        fault = self.own.refusal(scope)
        if fault and not (fault == "site" and scope["path"] == ENTER):  # a ticket may come by any link
            return FOREIGN
        if has_two_lengths(scope):
            return BAD
        length = [value for name, value in scope["headers"] if name == b"content-length"]
        if any(not value.isdigit() for value in length) or len(length) > 1:
            return BAD
        return TOO_LARGE if length and int(length[0]) > self._most(scope) else None

    def _most(self, scope: Scope) -> int:
        return self.larger.get(scope["path"], self.body_bytes)

    async def _enter(self, scope: Scope, send: Send) -> None:
        """A ticket becomes a cookie; who has one already is let in again."""
        try:
            given = parse_qs(scope["query_string"].decode("ascii"), max_num_fields=4).get("ticket", [])
        except ValueError:
            given = []
        session = self.tickets.redeem(given[0]) if len(given) == 1 and scope["method"] == "GET" else None
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(_INSIDE))]
        if session is not None:
            cookie = f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/"
            headers.append((b"set-cookie", cookie.encode()))
        elif not self.tickets.knows(self._session(scope)):
            await _say(send, NO_TICKET)
            return
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": _INSIDE})

    def _session(self, scope: Scope) -> str:
        for name, value in scope["headers"]:
            if name == b"cookie":
                jar: SimpleCookie = SimpleCookie()
                try:
                    jar.load(value.decode("latin-1"))
                except CookieError:
                    continue
                if self.cookie in jar:
                    return jar[self.cookie].value
        return ""

    def _limited(self, receive: Receive, most: int) -> Receive:
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise _TooLarge
            return message

        return limited


class _TooLarge(Exception):
    """More was sent than is taken."""


async def _say(send: Send, refused: Refused) -> None:
    body = f"{refused.words}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
