"""The application: all routes, refusals in one form, and what stands before them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.errors import SfumatoError
from sfumato.service import logs, page
from sfumato.service.inference_protocol import InferenceProtocol
from sfumato.service.middleware import NOTE, Middleware
from sfumato.service.openapi import document, drift_path
from sfumato.service.registry import Served
from sfumato.service.replies import Refusal, dumps
from sfumato.service.settings import VARIABLE, Settings
from sfumato.service.token_endpoint import TokenEndpoint
from sfumato.service.worker import Route, Service, as_json


class RouteGroup(Protocol):
    """Routes that speak somebody else's protocol, and how the document describes them."""

    def routes(self) -> list[Route]:
        """Method, address and function of each."""
        ...

    def paths(self, models: Sequence[Served] = ()) -> dict[str, Any]:
        """As the OpenAPI document has them; `models` are described one by one."""
        ...


def route_groups(service: Service) -> list[RouteGroup]:
    """The protocols that are spoken beside our own, by what the operator set up."""
    groups: list[RouteGroup] = [InferenceProtocol(service)]
    if service.tokens is not None and service.tokens.access.clients:
        groups.append(TokenEndpoint(service.tokens, service.settings.seconds_to_send))
    if service.settings.fhir:
        from sfumato.io.fhir import read_mappings
        from sfumato.service.cds_hooks import CdsHooks

        groups.append(CdsHooks(service, read_mappings(service.settings.fhir)))
    return groups


def build(service: Service) -> Middleware:
    """The application: routes, refusals as JSON, and the front before them."""
    import sfumato

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        logs.event("started", models=len(service.registry.names))
        ticking = asyncio.create_task(service.tick())
        yield
        ticking.cancel()
        await asyncio.to_thread(service.close)
        logs.event("stopped")

    app = Starlette(lifespan=lifespan, exception_handlers=_REFUSED)
    app.router.redirect_slashes = False
    settings = service.settings
    groups = route_groups(service)

    def more(models: Sequence[Served] = ()) -> dict[str, Any]:
        told = {} if service.drift is None else drift_path()
        return told | {path: about for group in groups for path, about in group.paths(models).items()}

    limits = (settings.body_bytes, settings.most_rows)
    general = dumps(document(sfumato.__version__, *limits, root_path=settings.root_path, more=more()))

    async def openapi(request: Request) -> Response:
        request.scope[NOTE].route = "openapi"
        if "authorization" not in request.headers:
            return Response(general, media_type="application/json")
        models = service.allowed(await service.admit(request, "openapi"))
        return as_json(document(sfumato.__version__, *limits, models, settings.root_path, more(models)))

    routes: list[Route] = [*service.routes(), ("GET", "/openapi.json", openapi)]
    for group in groups:
        routes += group.routes()
    for method, path, endpoint in routes:
        app.router.add_route(path, endpoint, methods=[method], include_in_schema=False)
    for address, route, content, kind in page.files():
        app.router.add_route(address, _static(route, content, kind), methods=["GET"], include_in_schema=False)
    return Middleware(
        app,
        service.metrics,
        secure=settings.secure,
        root_path=settings.root_path,
        telemetry=service.telemetry,
        score=_straight(service),
    )


def _straight(service: Service) -> ASGIApp:
    """The route of scores alone, refused as by the router; what is unforeseen goes further up."""

    async def score(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            body = await service.score_bytes(request)
        except Refusal as refusal:
            await _answered(request, refusal)(scope, receive, send)
        except SfumatoError as error:
            await (await _unreachable(request, error))(scope, receive, send)
        else:
            headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    return score


def _static(route: str, content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        request.scope[NOTE].route = route
        return Response(content, media_type=kind)

    return endpoint


def _answered(request: Request, refusal: Refusal) -> Response:
    request.scope[NOTE].code = refusal.code
    return refusal.response()


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _answered(request, error)


async def _unreachable(request: Request, error: Exception) -> Response:
    # A file or database that cannot be reached: said without its name, logged by kind and place.
    logs.event("unavailable", 40, id=request.scope[NOTE].id, **logs.fault(error))
    return _answered(request, Refusal("unavailable", headers={"retry-after": "1"}))


async def _unforeseen(request: Request, _: Exception) -> Response:
    # It is raised again when this is sent; the middleware logs it by kind and place.
    return _answered(request, Refusal("fault"))


async def _routing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "unknown", 405: "no_method"}.get(error.status_code, "bad_request")
    return _answered(request, Refusal(code, headers=dict(error.headers or {})))


# Every refusal in one form, whoever raises it.
_REFUSED: dict[Any, Any] = {
    Refusal: _ours, SfumatoError: _unreachable, Exception: _unforeseen, HTTPException: _routing
}  # fmt: skip


def create() -> Middleware:
    """The application of a worker process, by the settings in its environment."""
    logs.set_up()
    return build(Service(Settings.from_json(os.environ[VARIABLE])))
