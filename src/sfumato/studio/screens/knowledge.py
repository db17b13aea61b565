"""Who knows what: tick what an intruder may know of a person; how many rows that singles out moves at once.

A tick is a role: what others may know is a quasi-identifier, and is made more general.
"""

from __future__ import annotations

from sfumato.errors import ParameterError
from sfumato.schema import Kind, Role
from sfumato.studio.column_edits import with_role
from sfumato.studio.look import MOST_SIZE, Look
from sfumato.studio.markup import Html, el, join
from sfumato.studio.pictures import meter
from sfumato.studio.plan_folder import named
from sfumato.studio.screens.screen import Screen
from sfumato.studio.view import Form, PageView

KNOWN = str(Role.QUASI_IDENTIFIER)
_APART = (str(Role.IDENTIFIER), str(Role.PERSON))
_USUAL_K = 11
_MOST = 300  # columns that are listed, and all that are ticked


def known(view: PageView) -> list[str]:
    """The columns that an intruder may know, as the plan says."""
    return [n for n in view.columns if view.role_of(n) == KNOWN]


def wanted_k(view: PageView) -> int:
    """How many each person is to hide among: the k of the first step that has one."""
    steps = view.document.get("steps", [])
    found = [s["k"] for s in steps if isinstance(s, dict) and isinstance(s.get("k"), int)]
    return min(found[0], MOST_SIZE) if found else _USUAL_K


def show(view: PageView) -> Html:
    """What is singled out, the most telling columns, and the boxes."""
    look = view.look
    head = [el("h1", view.t("knowledge.title")), el("p", view.t("knowledge.lead"))]
    if look is None:
        return el("section", *head, el("p", view.t("open.looking")))
    ticked = look.countable(known(view))
    return join(
        el("section", *head, _figures(view, look, ticked)),
        el("section", el("h2", view.t("knowledge.telling")), _telling(view, look, ticked)),
        el("section", el("h2", view.t("knowledge.columns")), _boxes(view, look, ticked)),
    )


def _figures(view: PageView, look: Look, ticked: list[str]) -> Html:
    t, found, k = view.t, look.grouping(ticked), wanted_k(view)
    if not ticked:
        return el("p", t("knowledge.none"), class_="figure")
    alone, few = found.unique / look.rows, found.below(k) / look.rows
    rows = [
        (t("knowledge.alone"), t.share(alone), alone, t("knowledge.rows", n=found.unique)),
        (t("knowledge.few", k=k), t.share(few), few, t("knowledge.rows", n=found.below(k))),
    ]
    cells = [
        el(
            "tr",
            el("th", label, scope="row"),
            el("td", el("strong", share), class_="n"),
            el("td", meter(value, f"{label}: {share}")),
            el("td", said, class_="small"),
        )
        for label, share, value, said in rows
    ]
    classes = t("knowledge.classes", n=found.classes, smallest=found.smallest)
    return join(el("table", el("tbody", cells), id="uniqueness"), el("p", classes, class_="small"))


def _telling(view: PageView, look: Look, ticked: list[str]) -> Html:
    t, steps = view.t, look.telling(ticked)
    if not steps:
        return el("p", t("knowledge.none"))
    rows = [
        el(
            "tr",
            el("th", " + ".join(columns), scope="row"),
            el("td", el("strong", t.share(alone / look.rows)), class_="n"),
            el("td", meter(alone / look.rows, t.share(alone / look.rows))),
        )
        for columns, alone in steps
    ]
    head = el(
        "tr",
        el("th", t("knowledge.set"), scope="col"),
        el("th", t("knowledge.alone"), scope="col", colspan=2),
    )
    note = el("p", t("knowledge.telling.note"), class_="small")
    return join(el("table", el("thead", head), el("tbody", rows), id="telling"), note)


def _boxes(view: PageView, look: Look, ticked: list[str]) -> Html:
    t = view.t
    names = [n for n in look.coded if view.role_of(n) not in _APART and n in view.columns]
    names.sort(key=lambda n: -look.columns[n].bits)
    most, all_, chosen = set(names[:_MOST]), len(names), set(ticked)
    names = [n for n in names if n in most or n in chosen]
    rows = []
    for i, name in enumerate(names):
        on = name in ticked
        seen = look.columns[name]
        box = view.form(
            "untick" if on else "tick",
            view.hidden(column=name),
            view.button(
                t("knowledge.yes") if on else t("knowledge.no"),
                id=f"know-{i}",
                class_="choice",
                aria_pressed="true" if on else "false",
                aria_label=f"{t('knowledge.yes' if on else 'knowledge.no')}: {name}",
            ),
        )
        told = t(
            "columns.identifying.bar", share=t.share(seen.identifying), bits=t.number(round(seen.bits, 1))
        )
        rows.append(
            el(
                "tr",
                el("td", box),
                el("th", name, scope="row"),
                el("td", meter(seen.identifying, told), el("span", told, class_="small")),
                el("td", t(f"role.{view.role_of(name)}"), class_="small"),
            )
        )
    titles = ("knowledge.may", "knowledge.column", "columns.identifying", "columns.role")
    head = el("tr", [el("th", t(n), scope="col") for n in titles])
    return join(
        el("p", t("knowledge.note"), class_="small"),
        el("table", el("thead", head), el("tbody", rows)),
        el("p", t("knowledge.more", n=all_ - len(names)), class_="small") if len(names) < all_ else None,
    )


# -- doing ---------------------------------------------------------------------------------------------


def tick(view: PageView, form: Form) -> str | None:
    """An intruder may know this column."""
    return _set(view, form, KNOWN)


def untick(view: PageView, form: Form) -> str | None:
    """An intruder does not know it: it is again what it was taken for, if that was something else."""
    name, schema = form.text("column"), view.schema
    if schema is None or name not in schema:
        raise ParameterError("there is no such column.", hint="load the page again")
    taken = str(schema[name].role)
    gone = schema[name].kind is Kind.TEXT
    return _set(view, form, "drop" if gone else taken if taken != KNOWN else str(Role.OTHER))


def _set(view: PageView, form: Form, role: str) -> str | None:
    name, look = form.text("column"), view.look
    suggested = {} if look is None else {c.name: c.hierarchy for c in look.columns.values()}
    view.folder.edit(
        named("edit.role", column=name, role=role),
        lambda texts: with_role(texts, name, role, suggested),
        form.revision,
    )
    return None


SCREEN = Screen("knowledge", show, {"tick": tick, "untick": untick})
