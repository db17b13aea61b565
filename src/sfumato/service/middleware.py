"""What stands before every route: a request id, headers that browsers obey, logs, metrics, a last catch."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.service import logs
from sfumato.service.metrics import Metrics
from sfumato.service.replies import Refusal
from sfumato.service.telemetry import Telemetry, trace_of
from sfumato.web.headers import has_two_lengths, page_headers

NOTE = "sfumato.note"  # where in an ASGI scope the note of a request is
_SCORE = re.compile(r"/v1/models/([^/]+)/score")
_SECURE = (b"strict-transport-security", b"max-age=31536000")


@dataclass
class Note:
    """What a log may say about a request. The key's id is public; model and version are ours."""

    id: str
    route: str = "other"
    key: str = ""
    model: str = ""
    version: str = ""
    status: int = 0
    code: str = ""


class Middleware:
    """The outermost layer. Request ids are ours: a caller's own could carry anything into the logs.

    score: answers POST /v1/models/{name}/score without a look at all other routes.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        *,
        secure: bool = False,
        root_path: str = "",
        telemetry: Telemetry | None = None,
        score: ASGIApp | None = None,
    ) -> None:
        self._app, self._metrics, self._root, self._telemetry = app, metrics, root_path, telemetry
        self._score = score or app
        self._headers = [*page_headers(), _SECURE] if secure else page_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        note = scope[NOTE] = Note(secrets.token_hex(8))
        added = [*self._headers, (b"x-request-id", note.id.encode())]
        span = None
        if self._telemetry is not None:
            span, back = self._telemetry.begin(scope["headers"])
            added += back

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                note.status = message["status"]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            if self._root and scope["path"] == self._root:
                note.route, slash = "page", [(b"location", f"{self._root}/".encode())]  # the page needs it
                await answer({"type": "http.response.start", "status": 308, "headers": slash})
                await answer({"type": "http.response.body", "body": b""})
            elif has_two_lengths(scope):
                note.code = "bad_request"
                await _refuse(answer, Refusal("bad_request"), [(b"connection", b"close")])
            else:
                inside = self._inside(scope)
                asked = _SCORE.fullmatch(inside["path"]) if scope["method"] == "POST" else None
                if asked is None:
                    await self._app(inside, receive, answer)
                else:  # what is asked most goes straight to its function
                    inside["path_params"] = {"name": asked[1]}
                    await self._score(inside, receive, answer)
        except Exception as error:
            logs.event("fault", logging.ERROR, id=note.id, route=note.route, **logs.fault(error))
            if not note.status:
                note.code = "fault"
                await _refuse(answer, Refusal("fault"))
        finally:
            seconds = time.perf_counter() - start
            if self._telemetry is not None and span is not None:
                self._telemetry.end(span, scope["method"], note, seconds)
            self._account(note, seconds, "" if span is None else trace_of(span))

    def _inside(self, scope: Scope) -> Scope:
        """The address as the routes know it, whether the proxy took its prefix away or passed it on."""
        if self._root and scope["path"].startswith(f"{self._root}/"):
            return {**scope, "path": scope["path"][len(self._root) :]}
        return scope

    def _account(self, note: Note, seconds: float, trace: str = "") -> None:
        self._metrics.request(note.route, note.status, seconds)
        fields: dict[str, Any] = {"id": note.id, "route": note.route, "status": note.status}
        if note.code:
            fields["code"] = note.code
        if note.key:
            fields["key"] = note.key
        if note.model:
            fields["model"], fields["version"] = note.model, note.version
        if trace:
            fields["trace"] = trace
        logs.event("request", ms=round(1000 * seconds, 2), **fields)


async def _refuse(send: Send, refusal: Refusal, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
    headers = [(b"content-type", b"application/json"), *more]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body()})
