"""Before and after: rows and classes side by side, why a cell is what it is, what was lost where."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import ParameterError
from sfumato.methods.declaration import Does, declaration_of
from sfumato.methods.names import find
from sfumato.studio.markup import Html, el, join
from sfumato.studio.pictures import meter
from sfumato.studio.precedence import submit_ahead
from sfumato.studio.screens.screen import Screen
from sfumato.studio.tasks.preview import AFTER, ALIKE, BEFORE, ROWS, SIZE
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import DONE, Task

PREVIEW, WITHOUT = "preview", "without"
_PAGE, _SMALL = 20, 12
_STAR = "*"


def show(view: PageView) -> Html:
    """The latest preview; before there is one, the button that makes it."""
    t = view.t
    latest = view.worker.latest(PREVIEW)
    done = next((task for task in view.worker.tasks(PREVIEW) if task.state == DONE), None)
    parts = [
        el("h1", t("comparison.title")),
        el("p", t("comparison.lead")),
        el("p", t("internal"), class_="small"),
        view.progress(latest) if latest is not None and latest.open else None,
        view.failure(latest) if latest is not None and latest.state == "failed" else None,
        _make(view),
    ]
    head = el("section", *parts)
    if done is None:
        return head
    rows = _read(view.worker.own(done) / ROWS)
    if rows is None:
        return head
    return join(head, _said(view, done), _rows(view, done, rows), _losses(view, done), _classes(view, done))


@lru_cache(2)
def _parquet(path: Path, mark: int) -> pa.Table:
    return pq.read_table(path)


def _read(path: Path) -> pa.Table | None:
    try:
        return _parquet(path, path.stat().st_mtime_ns)
    except (OSError, pa.ArrowException):
        return None


def _make(view: PageView) -> Html:
    method = str(_own_step(view).get("method", ""))
    if not method or isinstance(view.folder.plan, Exception):
        return el("p", view.t("comparison.no_step"), class_="small")
    button = view.button(view.t("comparison.make", method=method), id="comparison-make")
    return view.form("make", button)


def _own_step(view: PageView) -> Mapping[str, Any]:
    return next((s for s in view.document.get("steps", ()) if isinstance(s, dict)), {})


def _said(view: PageView, task: Task) -> Html:
    """What it is a preview of, and what came of it."""
    t, found = view.t, task.found
    settings = ", ".join(f"{k} = {v}" for k, v in found["settings"].items())
    rows = found["rows"]
    facts = [(t("comparison.method"), f"{found['method']} ({settings})")]
    gone = int(rows.get("withheld", 0)) + int(rows.get("left_out", 0))
    facts.append((t("comparison.rows"), t("comparison.rows.words", read=int(rows.get("read", 0)),
                                          released=int(found["released"]), gone=gone)))  # fmt: skip
    if found.get("loss") is not None:
        facts.append((t("comparison.loss"), f"{t.share(float(found['loss']))}"))
    facts.append((t("map.promises"), "; ".join(map(t.said, found["claims"])) or t("map.promises.none")))
    stale = el("p", t("comparison.stale"), class_="warn") if task.revision != view.folder.revision else None
    lines = [el("tr", el("th", n, scope="row"), el("td", v)) for n, v in facts]
    return el("section", el("h2", t("comparison.result")), stale,
              el("table", el("tbody", lines), class_="facts-list"))  # fmt: skip


# -- rows ----------------------------------------------------------------------------------------------


def _rows(view: PageView, task: Task, rows: pa.Table) -> Html:
    """A page of rows, before above after; a cell that has changed can be asked why."""
    t, follows = view.t, bool(task.found["follows"])
    pages = max(1, -(-rows.num_rows // _PAGE))
    page = min(_query(view, "page"), pages - 1)
    part = rows.slice(page * _PAGE, _PAGE)
    known = [n for n in task.found["known"] if BEFORE + n in rows.column_names]
    others = [n.removeprefix(BEFORE) for n in rows.column_names if n.startswith(BEFORE)]
    columns = [*known, *(n for n in others if n not in known)]
    chosen = (_query(view, "row"), _query(view, "column")) if "row" in view.query else None
    head = el("tr", el("th", "", scope="col"), [el("th", n, scope="col") for n in columns],
              el("th", t("comparison.class"), scope="col", class_="n") if follows else None)  # fmt: skip
    values = {n: part.column(n).to_pylist() for n in part.column_names}
    body = [_pair(view, values, columns, i, page, chosen, follows) for i in range(part.num_rows)]
    links = [
        el("a", t(w), href=f"/comparison?page={p}#rows", id=f"rows-{w.rpartition('.')[2]}")
        for w, p in (("comparison.previous", page - 1), ("comparison.next", page + 1))
        if 0 <= p < pages
    ]
    why = None
    if follows and chosen is not None and chosen[0] < part.num_rows and chosen[1] < len(columns):
        why = _why(view, task, values, columns[chosen[1]], chosen[0])
    return el(
        "section",
        el("h2", t("comparison.side_by_side"), id="rows"),
        el("p", t(f"comparison.{'follows' if follows else 'invented'}", n=rows.num_rows), class_="small"),
        why,
        el("div", el("table", el("thead", head), body, class_="pairs"), class_="scroll whole", tabindex="0",
           role="region", aria_label=t("comparison.side_by_side")),
        el("p", links, el("span", t("comparison.page", page=page + 1, pages=pages), class_="small"),
           class_="last"),
    )  # fmt: skip


def _pair(
    view: PageView, values: Mapping[str, list[Any]], columns: list[str], i: int, page: int,
    chosen: tuple[int, int] | None, follows: bool,
) -> Html:  # fmt: skip
    t = view.t
    size = int(values[SIZE][i])
    first, second = [], []
    for j, name in enumerate(columns):
        old, new = values[BEFORE + name][i], values[AFTER + name][i]
        first.append(el("td", _cell(old)))
        changed = follows and size and old != new
        shown: object = _cell(new) if size or not follows else "–"
        if changed:
            shown = el("a", shown, href=f"/comparison?page={page}&row={i}&column={j}#why", id=f"cell-{i}-{j}",
                       title=t("comparison.ask"))  # fmt: skip
        mark = "changed" if changed else None
        if chosen == (i, j):
            mark = "changed asked"
        second.append(el("td", shown, class_=mark))
    ends = [el("td", ""), el("td", size or t("comparison.gone"), class_="n")] if follows else [None, None]
    return el(
        "tbody", el("tr", el("th", t("comparison.before"), scope="row"), first, ends[0]),
        el("tr", el("th", t("comparison.after"), scope="row"), second, ends[1], class_="after"),
    )  # fmt: skip


def _cell(value: object) -> str:
    return "∅" if value is None else str(value)[:60]


def _why(view: PageView, task: Task, values: Mapping[str, list[Any]], name: str, i: int) -> Html:
    """Why a cell was made more general, from counts of its class."""
    t, size = view.t, int(values[SIZE][i])
    new = values[AFTER + name][i]
    alike = values.get(ALIKE + name)
    k = task.found.get("k")
    words = [t("comparison.why.class", n=size)]
    line = _line(task, name)
    if alike is not None and alike[i]:
        n = int(alike[i])
        words.append(t("comparison.why.alike", n=n))
        if isinstance(k, int) and n < k:
            words.append(t("comparison.why.few", n=n, k=k))
        elif isinstance(k, int) and 0 < size - n < k:
            words.append(t("comparison.why.rest", rest=size - n, k=k))
        else:
            words.append(t("comparison.why.others"))
    if line is not None and line.get("goes_with"):
        words.append(t("comparison.why.with", name=line["goes_with"]))
    if line is not None and int(line.get("after", 0)) == 1:
        words.append(t("comparison.why.column"))
    title = t("comparison.why.star" if new == _STAR else "comparison.why.general", column=name)
    return el(
        "div", el("p", el("strong", title)), el("ul", [el("li", w) for w in words]), class_="warn", id="why",
        role="status",
    )  # fmt: skip


def _line(task: Task, name: str) -> Mapping[str, Any] | None:
    lines = (task.found.get("explanation") or {}).get("columns", ())
    return next((line for line in lines if line["name"] == name), None)


def _query(view: PageView, name: str) -> int:
    said = view.query.get(name, "0")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 7 else 0


# -- what was lost -------------------------------------------------------------------------------------


def _losses(view: PageView, task: Task) -> Html | None:
    """Loss by column, and what the others would keep without one."""
    t, told = view.t, task.found.get("explanation")
    if not told:
        return None
    lines = sorted(told["columns"], key=lambda c: -float(c["loss"]))
    titles = (("comparison.column", None), ("comparison.values", "n"), ("comparison.lost", None))
    head = el("tr", [el("th", t(w), scope="col", class_=c) for w, c in titles], el("td", ""))
    body = []
    for line in lines:
        share = t.share(float(line["loss"]))
        values = f"{t.number(int(line['before']))} → {t.number(int(line['after']))}"
        with_ = t("columns.goes_with", name=line["goes_with"]) if line["goes_with"] else ""
        body.append(
            el("tr", el("th", line["name"], scope="row"), el("td", values, class_="n"),
               el("td", meter(float(line["loss"]), f"{line['name']}: {share}"), share),
               el("td", with_, class_="small"))
        )  # fmt: skip
    return el(
        "section", el("h2", t("comparison.losses")), el("p", t("comparison.losses.lead")),
        el("table", el("thead", head), el("tbody", body)), _without(view),
    )  # fmt: skip


def _without(view: PageView) -> Html:
    """What a column costs the others: tried when asked, as it takes a search for each."""
    t = view.t
    task = view.worker.latest(WITHOUT)
    own = _own_step(view).get("method")
    parts: list[object] = [el("h3", t("comparison.without"))]
    fresh = task is not None and task.revision == view.folder.revision
    if task is not None and task.open:
        parts.append(view.progress(task))
    elif task is not None and task.state == DONE and fresh:
        said = [
            el("li", t("comparison.without.words", column=w["column"], instead=t.share(float(w["instead"])),
                       now=t.share(float(w["now"]))))
            for w in task.found["without"]
        ]  # fmt: skip
        parts.append(el("ul", said) if said else el("p", t("comparison.without.none")))
    else:
        if task is not None and task.state == "failed":
            parts.append(view.failure(task))
        if _generalizes(own):
            parts.append(el("p", t("comparison.without.lead"), class_="small"))
            button = view.button(t("comparison.without.try"), id="comparison-without", class_="quiet")
            parts.append(view.form("without", button))
        else:
            parts.append(el("p", t("comparison.without.not"), class_="small"))
    return el("div", *parts)


def _generalizes(method: object) -> bool:
    from sfumato.errors import SfumatoError

    try:
        return isinstance(method, str) and declaration_of(find(method)).does is Does.GENERALIZE
    except SfumatoError:
        return False


def _classes(view: PageView, task: Task) -> Html | None:
    """The smallest classes of the release, as they are written."""
    t, found = view.t, task.found.get("classes")
    if not found:
        return None
    head = el("tr", [el("th", n, scope="col") for n in found["names"]],
              el("th", t("comparison.people"), scope="col", class_="n"))  # fmt: skip
    body = [
        el("tr", [el("td", v) for v in line[:-1]], el("td", t.number(int(line[-1])), class_="n"))
        for line in found["lines"][:_SMALL]
    ]
    return el(
        "section", el("h2", t("comparison.classes")),
        el("p", t("comparison.classes.lead", n=int(found["n"]), smallest=int(found["smallest"]),
                  middle=float(found["middle"]))),
        el("div", el("table", el("thead", head), el("tbody", body)), class_="scroll whole", tabindex="0",
           role="region", aria_label=t("comparison.classes")),
    )  # fmt: skip


# -- doing ---------------------------------------------------------------------------------------------


def make(view: PageView, form: Form) -> str | None:
    """A preview of the plan's own step."""
    step = dict(_own_step(view))
    method = step.pop("method", None)
    if isinstance(view.folder.plan, Exception) or not isinstance(method, str):
        raise ParameterError(
            "the plan has faults: nothing can be tried yet.", hint="correct what is said on top"
        )
    settings = {k: v for k, v in step.items() if k not in ("name", "of")}
    submit_ahead(view, PREVIEW, {"method": method, "settings": settings})
    return None


def try_without(view: PageView, form: Form) -> str | None:
    """What the others would keep without a column."""
    if not _generalizes(_own_step(view).get("method")):
        raise ParameterError("the plan's step makes nothing more general.", hint="nothing to try")
    submit_ahead(view, WITHOUT, {})
    return None


SCREEN = Screen("comparison", show, {"make": make, "without": try_without})
