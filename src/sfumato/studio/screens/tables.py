"""Tables and linked data: tables to publish, cell by cell, with why each is withheld; and linked tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.cells.layout import read_layouts
from sfumato.errors import DataError, ParameterError, PlanError
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import find, names
from sfumato.studio.cell_picture import PublishedCells, cell_tables, why_withheld
from sfumato.studio.markup import Html, el, join
from sfumato.studio.method_forms import PREFIX, method_address, method_links, read_settings, setting_fields
from sfumato.studio.plan_folder import PLAN, named
from sfumato.studio.precedence import submit_ahead
from sfumato.studio.screens.linked_data import linked_section, look
from sfumato.studio.screens.linked_settings import ACTIONS, settings_section
from sfumato.studio.screens.screen import Screen
from sfumato.studio.toml_text import with_item, without_part
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import DONE, FAILED, Task

TABLES = "tables"
_NOISE, _MOST_LEVELS = "noise", 500
_APART = ("identifier", "person", "drop")


def methods() -> list[str]:
    """The methods that count tables, those that a newcomer meets first in front."""
    known = [n for n in names() if declaration_of(find(n)).does is Does.TABULATE]
    return sorted(known, key=lambda n: not declaration_of(find(n)).first)


def show(view: PageView) -> Html:
    """The tables of the plan, their cells, one cell's reason, a form for another, and linked tables."""
    if view.folder.linked:
        return join(linked_section(view), settings_section(view))
    task = view.worker.latest(TABLES)
    return join(_listed(view, task), _worked_out(view, task), _add(view), linked_section(view))


def _entries(view: PageView) -> list[Mapping[str, Any]]:
    given = view.document.get("tables", [])
    return [e for e in given if isinstance(e, dict)] if isinstance(given, list) else []


# -- what is there -------------------------------------------------------------------------------------


def _listed(view: PageView, task: Task | None) -> Html:
    t, entries = view.t, _entries(view)
    parts: list[object] = [el("h1", t("nav.tables")), el("p", t("tables.lead"))]
    if not entries:
        parts.append(el("p", t("tables.none")))
        return el("section", *parts)
    rows = []
    for i, entry in enumerate(entries):
        settings = [f"{k} = {v}" for k, v in entry.items() if k not in ("by", "method", "name")]
        button = view.form(
            "remove", view.hidden(number=i),
            view.button(t("tables.remove"), id=f"remove-{i}", class_="quiet",
                        aria_label=t("tables.remove.of", n=i + 1)),
        )  # fmt: skip
        by = entry.get("by", [])
        rows.append(el(
            "tr", el("th", "; ".join(map(str, by)) if isinstance(by, list) else str(by), scope="row"),
            el("td", str(entry.get("method", ""))), el("td", ", ".join(settings), class_="small"),
            el("td", button),
        ))  # fmt: skip
    head = el("tr", [el("th", t(f"tables.{n}"), scope="col") for n in ("by", "method", "settings")], el("th"))
    parts.append(el("table", el("thead", head), el("tbody", rows), class_="list", id="tables"))
    if view.document.get("steps") and any(e.get("method") != _NOISE for e in entries):
        button = view.button(t("tables.instead"), id="tables-instead", class_="quiet")
        parts.append(el("div", el("p", t("tables.beside_rows")), view.form("instead", button), class_="warn"))
    if task is not None and task.open:
        parts.append(view.progress(task))
    elif not isinstance(view.folder.plan, PlanError):
        parts.append(view.form("work", view.button(t("tables.work"), id="tables-work")))
    if task is not None and task.state == FAILED:
        parts.append(view.failure(task))
    return el("section", *parts)


def _worked_out(view: PageView, task: Task | None) -> Html | None:
    """The cells, as the last work has left them."""
    t = view.t
    if task is None or task.state != DONE or not _entries(view):
        return None
    place = view.worker.own(task)
    parts: list[Html | None] = []
    if task.revision != view.folder.revision:
        parts.append(el("p", t("tables.stale"), class_="warn"))
    asked = _asked(view)
    why: Html | None = None
    for number, found in enumerate(task.found["tables"]):
        try:
            cells = PublishedCells.read(place, number)
        except DataError as error:
            parts.append(el("p", error.message))
            continue
        cell = asked[1] if asked is not None and asked[0] == number else None
        if cell is not None:
            why = why_withheld(cells, found, cell, t)
        counted = found["reasons"]
        legend = [
            el("li", el("span", t(f"tables.mark.{kind}"), class_=f"mark {kind}"), " ",
               t(f"tables.reason.{kind}"), ": ", t.number(int(counted[reason])))
            for reason, kind in (("few people", "few"), ("hides another cell", "hides"),
                                 ("a group in one category", "group")) if reason in counted
        ]  # fmt: skip
        parts += [
            el("h2", found["name"]),
            el("p", found["sentence"], class_="figure" + (" good" if found["met"] else "")),
            el("p", "; ".join(map(t.said, found["claims"])), class_="small"),
            el("ul", legend, class_="legend") if legend else None,
            cell_tables(cells, found, number, cell, t),
        ]  # fmt: skip
    note = el("p", t("tables.internal"), class_="small")
    return join(el("section", *parts, note, id="cells"), why)


def _asked(view: PageView) -> tuple[int, int] | None:
    """Which cell was asked about: numbers, so that no label is in an address."""
    given = view.query.get("table", ""), view.query.get("cell", "")
    if all(g.isascii() and g.isdigit() and len(g) < 9 for g in given):
        return int(given[0]), int(given[1])
    return None


# -- another table -------------------------------------------------------------------------------------


def _add(view: PageView) -> Html:
    t, known = view.t, methods()
    everything = view.query.get("all") == "1"
    method = view.query.get("add", "")
    method = method if method in known else known[0]
    level = el("a", t("tables.fewer" if everything else "tables.everything"),
               href=method_address("tables", method, not everything), id="tables-level")  # fmt: skip
    form = view.form(
        "add", view.hidden(method=method), _axes(view),
        setting_fields(view, method, {}, everything=everything, apart=("by",)),
        view.button(t("tables.add"), id="tables-add"), id="add-form",
    )  # fmt: skip
    return el(
        "section", el("h2", t("tables.add.title")), el("p", t("tables.add.lead")),
        method_links(view, known, method, everything=everything),
        el("h3", t("map.settings_of", method=method)), form, el("p", level),
        id="add",
    )  # fmt: skip


def _axes(view: PageView) -> Html:
    """Columns to choose from, those with few values first; or tables as a plan writes them."""
    t = view.t
    open_ = [n for n in view.columns if view.role_of(n) not in _APART and _levels(view, n) <= _MOST_LEVELS]
    options = [
        el("option", f"{n} ({t('columns.levels', n=_levels(view, n))})" if _levels(view, n) else n, value=n)
        for n in sorted(open_, key=lambda n: _levels(view, n))
    ]
    return el(
        "div",
        el("div", el("label", t("tables.axes"), for_="axes"),
           el("select", options, name="axes", id="axes", multiple=True, size=min(8, max(2, len(options))),
              disabled=view.fixed, aria_describedby="axes-means"),
           el("p", t("tables.axes.means"), class_="small", id="axes-means"), class_="field"),
        el("div", el("label", t("tables.written"), for_=f"{PREFIX}by"),
           el("input", type="text", name=f"{PREFIX}by", id=f"{PREFIX}by", spellcheck="false", maxlength=1000,
              autocomplete="off", disabled=view.fixed, aria_describedby="by-means"),
           el("p", t("tables.written.means"), class_="small", id="by-means"), class_="field"),
        class_="fields",
    )  # fmt: skip


def _levels(view: PageView, name: str) -> int:
    return view.column(name).levels


# -- doing ---------------------------------------------------------------------------------------------


def add(view: PageView, form: Form) -> str | None:
    """One more entry of the plan."""
    method = form.text("method")
    if method not in methods():
        raise ParameterError("no such method counts tables.", hint="choose one of the list")
    written = [w.strip() for w in form.text(f"{PREFIX}by", "").split(";") if w.strip()]
    axes = form.several("axes")
    by = [*([",".join(axes)] if axes else []), *written]
    if not by:
        raise ParameterError("a table needs a column.", hint="choose one, or several")
    unknown = [n for x in read_layouts(by) for n in x.columns if n not in view.columns]
    if unknown:
        raise ParameterError(
            f"there is no column {', '.join(map(repr, unknown[:6]))}.", hint="such as 'county,age'"
        )
    fields = {k: v for k, v in form.fields.items() if k != f"{PREFIX}by"}
    settings = read_settings(Form({**fields, f"{PREFIX}by": tuple(by)}), method)
    entry = {"method": method, **settings, "by": by}
    view.folder.edit(
        named("edit.add_tables", by="; ".join(by)),
        lambda texts: {**texts, PLAN: with_item(texts[PLAN], "tables", entry)},
        form.revision,
    )
    return "/tables"


def remove(view: PageView, form: Form) -> str | None:
    """Take an entry out of the plan."""
    number = form.whole("number", 0, 999)
    if number >= len(_entries(view)):
        raise ParameterError("there is no such entry.", hint="load the page again")
    view.folder.edit(
        named("edit.remove_tables", number=number + 1),
        lambda texts: {**texts, PLAN: without_part(texts[PLAN], "tables", number)},
        form.revision,
    )
    return "/tables"


def instead(view: PageView, form: Form) -> str | None:
    """Release tables in place of rows: the steps leave the plan; undo has them back."""

    def change(texts: Mapping[str, str]) -> dict[str, str]:
        text = texts[PLAN]
        for _ in view.document.get("steps", []):
            text = without_part(text, "steps", 0)
        return {**texts, PLAN: text}

    view.folder.edit(named("edit.no_rows"), change, form.revision)
    return "/tables"


def work(view: PageView, form: Form) -> str | None:
    """Count the tables in the background."""
    if isinstance(view.folder.plan, PlanError):
        raise view.folder.plan
    if not _entries(view):
        raise ParameterError("the plan has no table to publish.", hint="add one")
    submit_ahead(view, TABLES, {})
    return "/tables"


SCREEN = Screen(
    "tables",
    show,
    {"add": add, "remove": remove, "instead": instead, "work": work, "look": look, **ACTIONS},
    linked=True,
)
