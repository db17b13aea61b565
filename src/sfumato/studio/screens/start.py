"""Open: a file of the folder, or invented data; and how a file is read, which can be corrected."""

from __future__ import annotations

from sfumato.errors import ParameterError
from sfumato.io import write
from sfumato.io.addresses import last_name
from sfumato.samples import diabetes, discharges, icu, members
from sfumato.studio.look import Look
from sfumato.studio.markup import Html, el, join
from sfumato.studio.plan_folder import StaleEdit
from sfumato.studio.screens.screen import Screen
from sfumato.studio.screens.sources import (
    address_form,
    drop_field,
    name_database,
    offered_tables,
    open_folder,
    open_linked,
    open_table,
    recipient_field,
)
from sfumato.studio.studio import LINKED, LOOKING
from sfumato.studio.tasks.look import MOST_VALUES
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import FAILED

_SAMPLES = {"discharges": discharges, "members": members, "diabetes": diabetes, "icu": icu}
_MOST_ROWS = 100_000
_FEW_ROWS, _FEW_COLUMNS, _LONGEST = 5, 12, 80  # that show how a file was read
_CHOICES = {
    "separator": (",", ";", "|", "\t"),
    "decimal": (".", ","),
    "dates": ("YMD", "DMY", "MDY"),
    "encoding": ("utf-8", "cp1252", "latin-1", "utf-16"),
}


def show(view: PageView) -> Html:
    """What is open, and what can be."""
    here = join(_current(view)) if view.studio.plan_folder is not None else None
    if view.fixed:
        return join(here, _files(view))
    offered = None if view.studio.offered is None else offered_tables(view, view.studio.offered)
    return join(here, offered, _files(view), address_form(view), _samples(view))


def nothing_open(view: PageView) -> Html:
    """In place of a screen that needs a plan."""
    task = None if view.studio.worker is None else view.worker.latest(LOOKING) or view.worker.latest(LINKED)
    if task is not None and task.open:
        said = join(el("p", view.t("open.looking")), view.progress(task))
    elif task is not None and task.state == FAILED:
        said = view.failure(task)
    else:
        said = join(el("p", view.t("no_plan")), el("p", el("a", view.t("no_plan.next"), href="/open")))
    return el("section", el("h1", view.t(f"nav.{view.screen}")), said)


def for_linked_tables(view: PageView) -> Html:
    """In place of a screen that is for one table, where the plan is for several."""
    link = el("a", view.t("nav.tables"), href="/tables", class_="go")
    return el(
        "section", el("h1", view.t(f"nav.{view.screen}")), el("p", view.t("linked.other")), el("p", link)
    )


# -- what is open --------------------------------------------------------------------------------------


def _current(view: PageView) -> Html:
    t, look = view.t, view.look
    task = view.worker.latest(LOOKING) or view.worker.latest(LINKED)
    parts: list[object] = [el("h1", t("open.current")), el("p", el("strong", last_name(view.studio.data)))]
    if task is not None and task.open:
        parts += [el("p", t("open.looking")), view.progress(task)]
    elif task is not None and task.state == FAILED:
        parts.append(view.failure(task))
    if view.folder.linked:
        parts.append(el("p", el("a", t("nav.tables"), href="/tables", class_="go")))
    if look is not None:
        said = t("open.rows_columns", rows=look.rows, columns=len(look.columns))
        parts.append(el("p", said, class_="figure"))
        if look.reading:
            parts.append(el("p", t.said(look.reading), class_="stamp"))
        if view.folder.there:
            parts.append(el("p", el("a", t("open.next"), href="/columns", class_="go")))
        if look.reading and not view.fixed:
            parts.append(_dialect(view))
        parts.append(_first_rows(view, look))
    return el("section", *parts)


def _first_rows(view: PageView, look: Look) -> Html | None:
    """How the first rows were read: who sees them sees whether separator, dates and names are right."""
    shown = [n for n in look.coded if look.columns[n].levels <= MOST_VALUES][:_FEW_COLUMNS]
    if not shown:
        return None
    t, head = view.t, look.memory.setdefault("first rows", {})
    for name in shown:
        if name not in head:
            head[name] = look.head(name, _FEW_ROWS)
    rows = [
        el("tr", [el("td", "" if v is None else str(v)[:_LONGEST]) for v in row])
        for row in zip(*(head[n] for n in shown), strict=True)
    ]
    names = el("tr", [el("th", n, scope="col") for n in shown])
    more = len(look.columns) - len(shown)
    return el(
        "div", el("h3", t("open.first_rows")),
        el("div", el("table", el("thead", names), el("tbody", rows), class_="pairs"), class_="scroll whole",
           role="region", tabindex="0", aria_label=t("open.first_rows")),
        el("p", t("open.more_columns", n=more), class_="small") if more else None,
        el("p", t("internal"), class_="small"), id="first-rows",
    )  # fmt: skip


def _dialect(view: PageView) -> Html:
    t, given = view.t, view.studio.reading
    fields = []
    for name, choices in _CHOICES.items():
        options = [el("option", t("open.automatic"), value="")]
        for value in choices:
            word = t("tab") if value == "\t" else value
            options.append(el("option", word, value=value, selected=given.get(name) == value))
        box = el("select", options, name=name, id=f"dialect-{name}", data_submit=True)
        fields.append(el("div", el("label", t(f"open.{name}"), for_=f"dialect-{name}"), box))
    header = el(
        "input",
        type="number",
        min=0,
        max=10_000,
        name="header",
        id="dialect-header",
        value=given.get("header"),
    )
    fields.append(el("div", el("label", t("open.header"), for_="dialect-header"), header))
    return el(
        "details",
        el("summary", t("open.dialect")),
        el("p", t("open.dialect.lead"), class_="small"),
        view.form("again", el("div", fields, class_="fields"), view.button(t("open.again"))),
        id="dialect",
    )


# -- what can be opened --------------------------------------------------------------------------------


def _files(view: PageView) -> Html:
    t, files = view.t, view.studio.chosen.files()
    parts: list[object] = [
        el("h2" if view.studio.plan_folder else "h1", t("open.title")),
        el("p", t("open.lead")),
        el("p", t("open.folder"), ": ", el("code", str(view.studio.chosen.root)), class_="stamp"),
    ]
    if not view.fixed:
        parts.append(drop_field(view))
    if not files:
        return el("section", *parts, el("p", t("open.none")))
    head = el("tr", *(el("th", t(f"open.{n}"), scope="col") for n in ("name", "size", "plan")), el("th"))
    rows = []
    for i, file in enumerate(files):
        label = t("open.continue" if file.begun else "open.begin")
        button = view.button(
            label,
            name="file",
            value=file.name,
            id=f"file-{i}",
            class_="quiet",
            aria_label=f"{label}: {file.name}",
        )
        if view.fixed and file.begun:
            button = el("span")
        state = t("open.database" if file.database else "open.started" if file.begun else "open.new")
        size = f"{t.number(round(file.size / 1000, 1) if file.size < 10_000_000 else file.size // 1000)} kB"
        rows.append(
            el(
                "tr",
                el("th", file.name, scope="row"),
                el("td", size, class_="n"),
                el("td", state),
                el("td", button),
            )
        )
    table = el("table", el("thead", head), el("tbody", rows), class_="list")
    whole = None
    if len(files) > 1 and not view.fixed:
        whole = view.form("folder", view.button(t("open.linked"), id="open-linked", class_="quiet"))
    return el("section", *parts, view.form("file", recipient_field(view, "file"), table), whole)


def _samples(view: PageView) -> Html:
    t = view.t
    options = [el("option", t(f"sample.{name}"), value=name) for name in _SAMPLES]
    fields = join(
        el(
            "div",
            el("label", t("open.samples"), for_="sample"),
            el("select", options, name="sample", id="sample"),
        ),
        el(
            "div",
            el("label", t("open.rows"), for_="rows"),
            el(
                "input",
                type="number",
                name="rows",
                id="rows",
                value=2000,
                min=50,
                max=_MOST_ROWS,
                required=True,
            ),
        ),
    )
    return el(
        "section",
        el("h2", t("open.samples")),
        el("p", t("open.samples.lead")),
        view.form(
            "sample",
            el("div", fields, class_="fields"),
            recipient_field(view, "sample"),
            view.button(t("open.sample"), id="write-sample"),
        ),
    )


# -- doing ---------------------------------------------------------------------------------------------


def open_file(view: PageView, form: Form) -> str | None:
    """Open a file of the folder."""
    view.studio.open_data(form.text("file"), form.text("recipient", "public"))
    return "/"


def write_sample(view: PageView, form: Form) -> str | None:
    """Write invented data as a file of the folder, and open it."""
    name, rows = form.text("sample"), form.whole("rows", 50, _MOST_ROWS)
    if name not in _SAMPLES:
        raise ParameterError("there is no such sample.", hint=", ".join(_SAMPLES))
    file = f"{name}-{rows}.csv"
    target = view.studio.chosen.root / file
    if not target.exists():
        table = _SAMPLES[name](rows)
        write(table, target, schema=table.schema)
    view.studio.open_data(file, form.text("recipient", "public"))
    return "/"


def read_again(view: PageView, form: Form) -> str | None:
    """Read the open file in another way."""
    if form.revision != view.folder.refresh():
        raise StaleEdit
    options: dict[str, object] = {}
    for name, choices in _CHOICES.items():
        given = form.text(name, "")
        if given and given not in choices:
            raise ParameterError(f"'{name}' cannot be that.", hint="choose one of the list")
        if given:
            options[name] = given
    if form.text("header", ""):
        options["header"] = form.whole("header", 0, 10_000)
    view.studio.read_again(options)
    return None


SCREEN = Screen(
    "open", show,
    {"file": open_file, "sample": write_sample, "again": read_again, "database": name_database,
     "table": open_table, "linked": open_linked, "folder": open_folder},
    needs_plan=False, linked=True,
)  # fmt: skip
