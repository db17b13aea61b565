"""A part of "Tables and linked data": several tables with keys, and whose rows they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import ParameterError, SfumatoError
from sfumato.plan.database import DatabasePlan
from sfumato.plan.database_signature import digest_of
from sfumato.studio.linked_picture import linked_picture
from sfumato.studio.markup import Html, el, join
from sfumato.studio.studio import LINKED
from sfumato.studio.texts import Words
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import DONE, FAILED


def linked_section(view: PageView) -> Html:
    """The picture, the same in words, and what does not hold."""
    t, task = view.t, view.worker.latest(LINKED)
    whole = view.folder.linked
    parts: list[object] = [
        el("h1" if whole else "h2", t("linked.title")), el("p", t("linked.plan" if whole else "linked.lead"))
    ]  # fmt: skip
    if task is not None and task.open:
        parts.append(view.progress(task))
    else:
        if task is not None and task.state == FAILED:
            parts.append(view.failure(task))
        if whole or len(view.studio.chosen.files()) > 1:
            again = t("linked.again" if task is not None and task.state == DONE else "linked.look")
            parts.append(view.form("look", view.button(again, id="linked-look", class_="quiet")))
        else:
            parts.append(el("p", t("linked.none"), class_="small"))
    if task is not None and task.state == DONE:
        parts.append(_found(view, task.found))
        if whole:
            parts.append(el("p", el("a", t("linked.to_release"), href="/release", class_="go")))
    return el("section", *parts, id="linked")


def _found(view: PageView, found: Mapping[str, Any]) -> Html:
    t = view.t
    persons = found["persons"]
    head = el("tr", [el("th", t(f"linked.{n}"), scope="col", class_="n" if n == "rows" else None)
                     for n in ("table", "rows", "keys", "whose")])  # fmt: skip
    rows = [
        el("tr", el("th", one["name"], scope="row"), el("td", t.number(int(one["rows"])), class_="n"),
           el("td", _keys(one, t)), el("td", _whose(one, t)))
        for one in found["tables"]
    ]  # fmt: skip
    reasons = [el("li", f"{k['child']}.{k['column']} → {k['parent']}.{k['key']}",
                  f": {k['why']}" if k["why"] else "") for k in found["links"]]  # fmt: skip
    faults = [
        el(
            "li",
            el("strong", t("linked.fault"), ": ") if fatal else None,
            words,
            class_="bad" if fatal else None,
        )
        for fatal, words in found["differences"]
    ]
    return join(
        el("p", t("linked.form", form=found["form"])) if found["form"] else None,
        el("p", t("linked.persons", n=int(persons)), class_="figure") if persons is not None else None,
        el("div", linked_picture(found, t), class_="scroll whole", role="region", tabindex="0",
           aria_label=t("linked.title")),
        el("table", el("thead", head), el("tbody", rows), id="linked-tables"),
        join(el("h3", t("linked.links")), el("ul", reasons, class_="small")) if reasons else None,
        join(el("h3", t("linked.differences")), el("ul", faults)) if faults
        else el("p", t("linked.holds"), class_="good"),
    )  # fmt: skip


def _keys(one: Mapping[str, Any], t: Words) -> str:
    return ", ".join(f"{c['name']}{' → ' + c['to'] if c['to'] else ''}" for c in one["columns"] if c["key"])


def _whose(one: Mapping[str, Any], t: Words) -> str:
    """Whose rows a table holds, in words."""
    if one["apart"]:
        return t("linked.unconfirmed" if one["unconfirmed"] else "linked.nobody")
    if not one["route"]:
        return t("linked.unknown")
    column, through = one["route"]
    return str(
        t("linked.through", column=column, table=through) if through else t("linked.own", column=column)
    )


def left_out(view: PageView) -> Html:
    """What a run of a plan for linked tables would leave out, or cannot do, as far as it was looked at."""
    t, task = view.t, view.worker.latest(LINKED)
    parts: list[object] = [el("h1", t("nav.release")), el("h2", t("linked.title"))]
    if task is None or task.state != DONE:
        parts.append(view.progress(task) if task is not None and task.open else el("p", t("linked.unseen")))
    else:
        waiting = [one["name"] for one in task.found["tables"] if one["unconfirmed"]]
        fatal = sum(1 for found in task.found["differences"] if found[0])
        persons = task.found["persons"]
        if persons is not None:
            parts.append(el("p", t("linked.persons", n=int(persons)), class_="figure"))
        if fatal:
            parts.append(el("p", t("linked.faults", n=fatal), class_="bad"))
        if waiting:
            parts.append(el("p", t("linked.waiting", n=len(waiting), names=", ".join(waiting[:12]))))
    parts.append(el("p", el("a", t("linked.to_tables"), href="/tables")))
    return el("section", *parts)


def linked_digest(plan: DatabasePlan) -> str:
    """Of what a signature of a plan covers; nothing while its declaration cannot be read."""
    try:
        return digest_of(plan.document, plan.folder)
    except SfumatoError:
        return ""


def look(view: PageView, form: Form) -> str | None:
    """Look at the tables of the plan, or at the files of the folder as linked ones."""
    task = view.worker.latest(LINKED)
    if task is not None and task.open:
        raise ParameterError("the tables are being looked at already.", hint="wait, or cancel it")
    given = {} if view.folder.linked else {"data": str(view.studio.chosen.root)}
    view.worker.submit(LINKED, given, view.folder.revision)
    return "/tables#linked"
