"""The frame around every screen: where one is, undo and redo, the work under way, the plan beside."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from sfumato.errors import PlanError
from sfumato.report.palette import variables
from sfumato.studio.dropped_file import MOST_BYTES
from sfumato.studio.markup import Html, el, join, text
from sfumato.studio.plan_folder import PLAN, LinkedPlan
from sfumato.studio.texts import LANGUAGES
from sfumato.studio.view import PageView

_GROUND = ("#f7f5f0", "#14171d")
_MOST_LINES = 5_000


def page(view: PageView, screens: Sequence[str], content: Html) -> str:
    """The whole page."""
    t, there = view.t, view.studio.plan_folder is not None
    title = f"{t(f'nav.{view.screen}')} · {t('studio')}"
    main = el(
        "main", _trouble(view), _faults(view), content, id="main", tabindex="-1", data_screen=view.screen
    )
    body = join(
        el("a", t("skip"), href="#main", class_="skip"),
        el("div", _top(view), class_="top"),
        el(
            "div",
            _nav(view, screens),
            main,
            _beside(view) if there else None,
            class_="frame" if there else "frame alone",
        ),
        el("p", id="live", class_="hidden", role="status"),
    )
    head = join(
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="robots", content="noindex"),
        el("title", title),
        el("link", rel="icon", href="/static/icon.svg"),
        el("link", rel="stylesheet", href="/static/style.css"),
        el("script", type="module", src="/static/studio.js"),
        el("script", type="module", src="/static/tree.js") if view.screen == "hierarchies" else None,
    )
    whole = el(
        "html",
        el("head", head),
        el(
            "body",
            body,
            data_changes=f"{view.changes}{view.mark}",
            data_closed=t("closed"),
            **({} if view.fixed else _dropping(view)),
        ),
        lang=t.language,
    )
    return f"<!DOCTYPE html>\n{whole}\n"


def _dropping(view: PageView) -> dict[str, object]:
    """What the page says while a file is dropped into it; where nothing can be changed, none is taken."""
    t = view.t
    return {
        "data_drop": t("drop.here"), "data_copying": t("drop.copying"), "data_large": t("drop.large"),
        "data_unread": t("drop.unread"), "data_most": MOST_BYTES,
    }  # fmt: skip


def style(sheet: str) -> str:
    """The style sheet with the colours of the reports, light and dark."""
    light, dark = (f":root{{--ground:{_GROUND[d]};{variables(bool(d))}}}" for d in (0, 1))
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n{sheet}"


def _top(view: PageView) -> Html:
    t, folder = view.t, view.studio.plan_folder
    name = "" if folder is None else folder.folder.name
    parts = [
        el("p", el("strong", t("studio")), el("span", name, class_="stamp") if name else None, class_="brand")
    ]
    if folder is not None:
        edits = [
            el(
                "form",
                el("input", type="hidden", name="revision", value=folder.revision),
                _place(view),
                el(
                    "button",
                    t(what),
                    type="submit",
                    class_="quiet",
                    id=f"do-{what}",
                    disabled=view.fixed or not said,
                    title=t(f"{what}.what", edit=t.edit(said)) if said else None,
                ),
                method="post",
                action=f"/plan/{what}",
                data_enhance=True,
            )
            for what, said in (("undo", folder.undoable), ("redo", folder.redoable))
        ]
        parts.append(el("div", edits, class_="edits"))
    parts.append(_work(view))
    parts.append(_languages(view))
    return el("header", *parts)


def _place(view: PageView) -> Html:
    """Where one is, for forms that stand on every screen."""
    query = urlencode(dict(view.query))
    return join(view.hidden(screen=view.screen), view.hidden(query=query) if query else None)


def _languages(view: PageView) -> Html:
    """A button for each language, named in itself."""
    own = {"en": "English", "de": "Deutsch"}
    buttons = [
        el(
            "button",
            own[code],
            type="submit",
            name="language",
            value=code,
            lang=code,
            class_="quiet",
            aria_pressed="true" if code == view.t.language else "false",
        )
        for code in LANGUAGES
    ]
    return el(
        "form",
        _place(view),
        buttons,
        method="post",
        action="/language",
        class_="languages",
        aria_label=view.t("language"),
        role="group",
    )


def work_status(view: PageView) -> Html:
    """The task under way, for the top of the page; empty if there is none."""
    worker = view.studio.worker
    task = None if worker is None else worker.running()
    if task is None:
        return Html("")
    cancel = el(
        "form",
        el("input", type="hidden", name="task", value=task.id),
        _place(view),
        el(
            "button",
            view.t("work.cancel"),
            type="submit",
            class_="quiet",
            disabled=view.fixed,
            id="cancel-work",
        ),
        method="post",
        action="/tasks/cancel",
        data_enhance=True,
    )
    return join(view.progress(task), cancel)


def _work(view: PageView) -> Html:
    return el("div", work_status(view), id="work", class_="work")


def _nav(view: PageView, screens: Sequence[str]) -> Html:
    t, items = view.t, []
    for name in screens:
        here = name == view.screen
        badge = None
        if name == "columns" and view.studio.plan_folder is not None:
            open_ = sum(not e.get("reviewed", True) for e in view.columns.values())
            badge = el("span", open_, class_="badge", title=t("open_guesses", n=open_)) if open_ else None
        link = el("a", t(f"nav.{name}"), badge, href=f"/{name}", aria_current="page" if here else None)
        items.append(el("li", link))
    return el("nav", el("ol", items), class_="screens", aria_label=t("screens"))


def _trouble(view: PageView) -> Html | None:
    if view.trouble is None:
        return None
    hint = el("p", view.t.said(view.trouble.hint), class_="small") if view.trouble.hint else None
    return el(
        "div", el("p", view.t.said(view.trouble.message)), hint, class_="trouble", role="alert", id="trouble"
    )


def _faults(view: PageView) -> Html | None:
    """What keeps the plan from running, with the lines."""
    folder = view.studio.plan_folder
    if folder is None or not folder.there or view.screen == "open":
        return None
    t, found = view.t, folder.plan
    if not isinstance(found, PlanError) or isinstance(found, LinkedPlan):
        return None
    faults = found.faults or ((1, found.message),)
    items = [
        el(
            "li",
            el("a", view.t("fault.line", line=str(line)), href=f"/plan#line-{line}"),
            ": ",
            view.t.said(words),
        )
        for line, words in faults[:12]
    ]
    title = t("faults", n=len(faults))
    return el(
        "details", el("summary", title), el("ul", items), class_="faults", id="faults", open=len(faults) < 3
    )


def _beside(view: PageView) -> Html:
    """The plan's text, always in sight where there is room."""
    t = view.t
    note = el("p", t("beside.note"), class_="small")
    listing = listed_text(view.folder.texts.get(PLAN, ""), "beside")
    return el(
        "aside",
        el("h2", t("beside"), class_="side"),
        note,
        el("div", listing, class_="scroll", role="region", tabindex="0", aria_label=t("beside")),
        class_="beside",
        id="beside",
    )


def listed_text(source: str, prefix: str) -> Html:
    """A text with numbered lines that can be pointed to; comments are muted."""
    lines = []
    for number, line in enumerate(source.split("\n")[:_MOST_LINES], 1):
        mark = "note" if line.lstrip().startswith("#") else "head" if line.startswith("[") else None
        lines.append(el("span", text(line or " "), class_=mark, id=f"{prefix}-{number}"))
    return el("pre", el("code", join(*(Html(f"{line}\n") for line in lines))))
