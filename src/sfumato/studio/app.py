"""The application: one address for each screen, one for each action of it, and three for all of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from sfumato.errors import ParameterError, SfumatoError
from sfumato.studio import frame
from sfumato.studio.dropped_file import MOST_BYTES, name_of, receive
from sfumato.studio.markup import Html
from sfumato.studio.plan_folder import StaleEdit
from sfumato.studio.screens import SCREENS
from sfumato.studio.screens.screen import Screen
from sfumato.studio.studio import Studio
from sfumato.studio.texts import LANGUAGES, Words, preferred
from sfumato.studio.view import Form, PageView

Endpoint = Callable[[Request], Awaitable[Response]]
_HTML = "text/html; charset=utf-8"
_STATIC = {
    "style.css": "text/css", "studio.js": "text/javascript", "tree.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}  # fmt: skip
_QUERY = re.compile(r"[a-z]+=[A-Za-z0-9_.-]*(?:&[a-z]+=[A-Za-z0-9_.-]*)*")
_MOST_FIELDS = 2_000
DROP = "/open/drop"
LARGE = {DROP: MOST_BYTES + 1}  # bytes that an address takes where that is more than usual
_COOKIE = "sfumato-language"


def build(studio: Studio) -> Starlette:
    """The application for one studio; the gate stands before it."""
    app = Starlette(exception_handlers={HTTPException: _routing})
    app.router.redirect_slashes = False

    def add(path: str, endpoint: Endpoint, method: str = "GET") -> None:
        app.router.add_route(path, endpoint, methods=[method], include_in_schema=False)

    for screen in SCREENS:
        add(f"/{screen.name}", _shown(studio, screen))
        for name in screen.actions:
            add(f"/{screen.name}/{name}", _acted(studio, screen, name), "POST")
        for path, endpoint in screen.documents.items():
            add(f"/{screen.name}/{path}", _document(studio, screen, endpoint))
    for name, kind in _STATIC.items():
        add(f"/static/{name}", _static(name, kind))
    add(DROP, _dropped(studio), "POST")
    add("/", _home(studio))
    add("/state", _state(studio))
    add("/language", _language, "POST")
    add("/tasks/cancel", _cancel(studio), "POST")
    return app


# -- requests ------------------------------------------------------------------------------------------


async def read_form(request: Request) -> Form:
    """The fields of a form; anything that is not one is refused."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415)
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), encoding="utf-8",
            errors="strict", max_num_fields=_MOST_FIELDS,
        )  # fmt: skip
    except ValueError:
        raise HTTPException(400) from None
    fields: dict[str, tuple[str, ...]] = {}
    for name, given in pairs:
        if "\0" in given:
            raise HTTPException(400)
        fields[name] = (*fields.get(name, ()), given)
    return Form(fields)


def _words(request: Request) -> Words:
    asked = request.cookies.get(_COOKIE, "")
    return Words(asked if asked in LANGUAGES else preferred(request.headers.get("accept-language", "")))


def _view(studio: Studio, request: Request, screen: str, trouble: SfumatoError | None = None) -> PageView:
    query = {k: v for k, v in request.query_params.items() if len(v) < 200}
    return PageView(studio, _words(request), screen, trouble, query)


def _mark(view: PageView, screen: Screen) -> str:
    """What a screen adds to what a window compares; nothing where no file is open."""
    if screen.mark is None or view.studio.plan_folder is None or not view.folder.there:
        return ""
    return f".{screen.mark(view)}"


def _rendered(view: PageView, screen: Screen) -> str:
    view.changes = view.studio.changes
    if screen.needs_plan and (view.studio.plan_folder is None or not view.folder.there):
        from sfumato.studio.screens.start import nothing_open

        content = nothing_open(view)
    elif screen.needs_plan and not screen.linked and view.folder.linked:
        from sfumato.studio.screens.start import for_linked_tables

        content = for_linked_tables(view)
    else:
        view.mark = _mark(view, screen)
        content = screen.show(view)
    return frame.page(view, [s.name for s in SCREENS], content)


def _without_content(view: PageView) -> str:
    view.changes = view.studio.changes
    return frame.page(view, [s.name for s in SCREENS], Html(""))


# -- addresses -----------------------------------------------------------------------------------------


def _shown(studio: Studio, screen: Screen) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await _answer(studio, request, screen)

    return endpoint


async def _answer(
    studio: Studio, request: Request, screen: Screen, trouble: SfumatoError | None = None, status: int = 200
) -> Response:
    """The page of a screen; drawn in a thread, as it may count."""
    view = _view(studio, request, screen.name, trouble)
    try:
        drawn = await asyncio.to_thread(_rendered, view, screen)
    except SfumatoError as error:
        view = _view(studio, request, screen.name, error)
        drawn = await asyncio.to_thread(_without_content, view)
        status = 422 if status == 200 else status
    return Response(drawn, status, media_type=_HTML)


def _acted(studio: Studio, screen: Screen, name: str) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        form = await read_form(request)
        if studio.read_only:
            refused = ParameterError(
                "nothing can be changed here.", hint="start the studio without --read-only"
            )
            return await _answer(studio, request, screen, refused, 403)
        back = _back(form, screen)
        try:
            _ = form.revision  # every form of ours carries the state that the person saw
            where = await asyncio.to_thread(screen.actions[name], _view(studio, request, screen.name), form)
        except StaleEdit as error:
            return await _answer(studio, request, back, error, 409)
        except SfumatoError as error:
            return await _answer(studio, request, back, error, 422)
        return RedirectResponse(where or _address(form, back), 303)

    return endpoint


def _dropped(studio: Studio) -> Endpoint:
    """A file that comes as it is, its name beside it in a header: none is ever in an address."""

    async def endpoint(request: Request) -> Response:
        screen = SCREENS[0]
        if studio.read_only:
            refused = ParameterError("nothing can be changed here.", hint="start without --read-only")
            return await _answer(studio, request, screen, refused, 403)
        if request.headers.get("content-type", "") != "application/octet-stream":
            raise HTTPException(415)
        parts = request.stream()
        try:
            name = await receive(studio.chosen, name_of(request.headers.get("x-file-name", "")), parts)
            if request.headers.get("x-open", "") != "yes":
                return RedirectResponse("/open", 303)
            recipient = request.headers.get("x-recipient", "public")
            await asyncio.to_thread(studio.open_data, name, recipient)
        except ClientDisconnect:
            raise HTTPException(400) from None
        except SfumatoError as error:
            async for _ in parts:  # a browser hears nothing before it has sent everything
                pass
            return await _answer(studio, request, screen, error, 422)
        return RedirectResponse("/", 303)

    return endpoint


def _back(form: Form, screen: Screen) -> Screen:
    """The screen that a form was sent from: undo stands on all of them."""
    wanted = form.fields.get("screen", ("",))[0]
    return next((s for s in SCREENS if s.name == wanted), screen)


def _address(form: Form, screen: Screen) -> str:
    """Back to where on a screen a form was sent from, if it says so."""
    query = form.fields.get("query", ("",))[0]
    return f"/{screen.name}?{query}" if len(query) < 500 and _QUERY.fullmatch(query) else f"/{screen.name}"


def _document(
    studio: Studio, screen: Screen, show: Callable[[PageView, Mapping[str, str]], Response]
) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        view = _view(studio, request, screen.name)
        given = {k: str(v) for k, v in request.path_params.items()}
        try:
            return await asyncio.to_thread(show, view, given)
        except SfumatoError:
            raise HTTPException(404) from None

    return endpoint


def _static(name: str, kind: str) -> Endpoint:
    content = (files("sfumato.studio") / "static" / name).read_text("utf-8")
    if name == "style.css":
        content = frame.style(content)

    async def endpoint(_: Request) -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8")

    return endpoint


def _home(studio: Studio) -> Endpoint:
    async def endpoint(_: Request) -> Response:
        there = studio.plan_folder is not None and studio.plan_folder.there
        linked = there and studio.plan_folder is not None and studio.plan_folder.linked
        offered = studio.offered is not None
        return RedirectResponse("/open" if offered or not there else "/tables" if linked else "/columns", 303)

    return endpoint


def _state(studio: Studio) -> Endpoint:
    """What a window asks every second: whether it shows what is, and how far work is."""

    async def endpoint(request: Request) -> Response:
        view = _view(studio, request, "open")
        wanted = request.query_params.get("screen", "")
        screen = next((s for s in SCREENS if s.name == wanted), SCREENS[0])
        view.screen = screen.name
        changes = await asyncio.to_thread(lambda: f"{studio.changes}{_mark(view, screen)}")
        said = {"changes": changes, "work": frame.work_status(view)}
        return Response(json.dumps(said), media_type="application/json")

    return endpoint


async def _language(request: Request) -> Response:
    form = await read_form(request)
    wanted = form.fields.get("language", ("",))[0]
    if wanted not in LANGUAGES:
        raise HTTPException(400)
    back = _back(form, SCREENS[0])
    answer = RedirectResponse(_address(form, back), 303)
    answer.set_cookie(_COOKIE, wanted, max_age=31_536_000, httponly=True, samesite="strict")
    return answer


def _cancel(studio: Studio) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        form = await read_form(request)
        if studio.worker is not None and not studio.read_only:
            studio.worker.cancel(form.fields.get("task", ("",))[0])
        return RedirectResponse(_address(form, _back(form, SCREENS[0])), 303)

    return endpoint


async def _routing(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "There is nothing here.", 405: "That cannot be done here."}
    said = words.get(error.status_code, "The request could not be understood.")
    return Response(f"{said}\n", error.status_code, media_type="text/plain; charset=utf-8")
