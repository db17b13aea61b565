"""The map: what each method and setting gives away and what it loses; points arrive while one looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import ParameterError
from sfumato.plan.limits import GAIN
from sfumato.plan.step import Step
from sfumato.studio.map_picture import map_picture
from sfumato.studio.map_points import MAP, TriedSetting, arrived, order_of, own_point, points_of, tasks_of
from sfumato.studio.markup import Html, el, join
from sfumato.studio.method_forms import (
    FEW_METHODS,
    method_address,
    method_links,
    placeable,
    read_settings,
    setting_fields,
)
from sfumato.studio.plan_folder import PLAN, named
from sfumato.studio.precedence import submit_ahead
from sfumato.studio.screens.screen import Screen
from sfumato.studio.toml_text import with_entry, with_item, without_entry
from sfumato.studio.view import Form, PageView

_KEPT = ("method", "name", "of")  # of a step, what is not a setting


def show(view: PageView) -> Html:
    """The map, the chosen point, all points as a table, and a form for one's own setting."""
    t, points = view.t, points_of(view)
    limit = _limit(view)
    chosen = next((p for p in points if p.id == view.query.get("point")), None)
    drawn = [p for p in points if not p.trouble]
    picture = (
        map_picture(drawn, limit, "" if chosen is None else chosen.id, own_point(view), t)
        if drawn
        else el("p", t("map.none"), class_="small")
    )
    return join(
        el("section", el("h1", t("map.title")), el("p", t("map.lead")), _work(view, points), picture,
           el("p", t("map.read"), class_="small") if drawn else None,
           el("p", t("map.limit", limit=limit), class_="small") if drawn and limit else None,
           el("p", t("map.internal"), class_="small")),
        _chosen(view, chosen) if chosen is not None else None,
        _add(view),
        _listed(view, points) if points else None,
    )  # fmt: skip


def _limit(view: PageView) -> float | None:
    given = view.document.get("thresholds", {})
    found = given.get(GAIN) if isinstance(given, Mapping) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _work(view: PageView, points: list[TriedSetting]) -> Html:
    """Begin, pause, go on; and how far it is."""
    t, mine = view.t, tasks_of(view)
    running = next((task for task in view.worker.tasks(MAP) if task.open), None)
    if running is not None:
        pause = view.form("pause", view.button(t("map.pause"), id="map-pause", class_="quiet"))
        return el("div", view.progress(running), pause, class_="last")
    failed = view.failure(mine[0]) if mine and mine[0].state == "failed" else None
    left = len(order_of(view)["points"])
    if not left:
        return join(failed, el("p", t("map.complete", n=len(points)), class_="small"))
    label = t("map.resume", n=left) if points else t("map.begin")
    note = el("p", t("map.time"), class_="small") if not points else None
    return join(failed, view.form("begin", view.button(label, id="map-begin")), note)


def _chosen(view: PageView, point: TriedSetting) -> Html:
    """One point in words, and what can be done with it."""
    t = view.t
    title = el("h2", t("map.point"), ": ", point.label)
    if point.trouble:
        return el("section", title, el("p", t("map.trouble", why=point.trouble)), id="chosen")
    limit = _limit(view)
    verdict = None
    if limit is not None:
        inside = point.risk <= limit
        verdict = el("p", t("map.inside" if inside else "map.outside", limit=limit))
    facts = [
        (t("map.risk"), _number(view, point.risk), t.said((point.axes or {}).get("risk_meaning", ""))),
        (t("map.lost"), _number(view, point.lost), t.said((point.axes or {}).get("utility_meaning", ""))),
        (t("map.seconds"), _number(view, point.seconds), ""),
        (t("map.promises"), "; ".join(map(t.said, point.promises)) or t("map.promises.none"), ""),
    ]
    table = el(
        "table",
        el("tbody", [
            el("tr", el("th", name, scope="row"),
               el("td", value, el("p", means, class_="small") if means else None))
            for name, value, means in facts
        ]),
        class_="facts-list",
    )  # fmt: skip
    actions: list[Html] = []
    if not point.end_post:
        if point.id == own_point(view):
            actions.append(el("p", t("map.is_plan"), class_="stamp"))
        else:
            button = view.button(t("map.take"), id="map-take")
            actions.append(view.form("take", view.hidden(point=point.id), button))
        button = view.button(t("map.preview"), id="map-preview", class_="quiet")
        actions.append(view.form("preview", view.hidden(point=point.id), button))
    return el("section", title, verdict, table, el("div", actions, class_="last"), id="chosen")


def _listed(view: PageView, points: list[TriedSetting]) -> Html:
    """All points: the same as the picture, for who does not see it, and those without a place."""
    t, own = view.t, own_point(view)
    good = sorted((p for p in points if not p.trouble), key=lambda p: (not p.front, p.risk, p.lost))
    rows = [
        el("tr", el("td", el("a", p.label, href=f"/map?point={p.id}#chosen", id=f"row-{p.id}")),
           el("td", _number(view, p.risk), class_="n"), el("td", _number(view, p.lost), class_="n"),
           el("td", "; ".join(w for w in (
               t("map.front") if p.front else "", t("map.own") if p.id == own else "",
               t("map.end_post") if p.end_post else "") if w)))
        for p in good
    ]  # fmt: skip
    head = el("tr", [el("th", t(w), scope="col", class_=c) for w, c in (
        ("map.setting", None), ("map.risk", "n"), ("map.lost", "n"), ("map.note", None))])  # fmt: skip
    bad = [el("li", p.label, ": ", p.trouble) for p in points if p.trouble]
    return el(
        "section", el("h2", t("map.all")),
        el("table", el("thead", head), el("tbody", rows), class_="points") if rows else None,
        join(el("h3", t("map.no_place")), el("ul", bad, class_="small")) if bad else None,
    )  # fmt: skip


# -- a setting of one's own ----------------------------------------------------------------------------


def _add(view: PageView) -> Html:
    """Methods to choose from, and the form of the one that is chosen."""
    t, everything = view.t, view.query.get("all") == "1"
    known = placeable()
    method = view.query.get("add", "")
    offered = known if everything else known[:FEW_METHODS]
    links = method_links(view, offered, method, everything=everything)
    other = el(
        "p", el("a", t("map.fewer" if everything else "map.everything", n=len(known)),
                href=method_address("map", method if method in known else "", not everything),
                id="map-level"),
    )  # fmt: skip
    form = None
    if method in known:
        own = next((s for s in view.document.get("steps", ()) if isinstance(s, dict)), {})
        given = {k: v for k, v in own.items() if k not in _KEPT} if own.get("method") == method else {}
        form = view.form(
            "add", view.hidden(method=method), el("h3", t("map.settings_of", method=method)),
            setting_fields(view, method, given, everything=everything),
            view.button(t("map.place"), id="map-place"), id="add-form",
        )  # fmt: skip
    return el(
        "section", el("h2", t("map.add")), el("p", t("map.add.lead")),
        el("details", el("summary", t("map.methods")), links, other,
           id="map-methods", open=bool(method) or everything),
        form, id="add",
    )  # fmt: skip


def _number(view: PageView, value: float) -> str:
    return view.t.number(round(float(value), 3))


# -- doing ---------------------------------------------------------------------------------------------


def begin(view: PageView, form: Form) -> str | None:
    """Draw what is not there yet."""
    _submit(view, order_of(view))
    return None


def pause(view: PageView, form: Form) -> str | None:
    """Stop; what is there stays."""
    for task in view.worker.tasks(MAP):
        if task.open:
            view.worker.cancel(task.id)
    return None


def add(view: PageView, form: Form) -> str | None:
    """Place a setting of one's own."""
    method = form.text("method")
    if method not in placeable():
        raise ParameterError("no such method has a place on the map.", hint="choose one of the list")
    _submit(view, order_of(view, {"method": method, "settings": read_settings(form, method)}))
    return None


def _submit(view: PageView, order: Mapping[str, object]) -> None:
    if not isinstance(view.folder.plan, Exception):
        waiting = [t for t in view.worker.tasks(MAP) if t.state == "waiting"]
        for task in waiting:  # one that waits is taken into the new one
            view.worker.cancel(task.id)
        if order["points"]:
            view.worker.submit(MAP, order, view.folder.revision)
        return
    raise ParameterError("the plan has faults: nothing can be tried yet.", hint="correct what is said on top")


def take(view: PageView, form: Form) -> str | None:
    """The setting of a point becomes the plan's step."""
    point = _known(view, form)
    settings = dict(point.settings)
    step = Step(point.method, settings)
    if step.needs_rows:
        settings["rows"] = 1_000 if view.look is None else max(1, view.look.rows)
    view.folder.edit(
        named("edit.take", setting=point.label),
        lambda texts: {**texts, PLAN: with_step(texts[PLAN], point.method, settings)},
        form.revision,
    )
    return f"/map?point={point.id}"


def with_step(text: str, method: str, settings: Mapping[str, Any]) -> str:
    """The plan with this as its first step; its name, and what it works on, stay."""
    import tomllib

    steps = tomllib.loads(text).get("steps", [])
    if not steps:
        return with_item(text, "steps", {"method": method, **settings})
    for name in steps[0]:
        if name not in _KEPT and name not in settings:
            text = without_entry(text, ("steps", 0, name))
    for name, value in {"method": method, **settings}.items():
        if steps[0].get(name) != value:
            text = with_entry(text, ("steps", 0, name), value)
    return text


def preview(view: PageView, form: Form) -> str | None:
    """See what this setting would make of the rows."""
    point = _known(view, form)
    given = {"method": point.method, "settings": dict(point.settings)}
    submit_ahead(view, "preview", given)
    return "/comparison"


def _known(view: PageView, form: Form) -> TriedSetting:
    wanted = form.text("point")
    found = next((p for p in points_of(view) if p.id == wanted and not p.end_post and not p.trouble), None)
    if found is None:
        raise ParameterError("this point is not on the map any more.", hint="choose another")
    return found


SCREEN = Screen(
    "map", show, {"begin": begin, "pause": pause, "add": add, "take": take, "preview": preview}, mark=arrived
)
