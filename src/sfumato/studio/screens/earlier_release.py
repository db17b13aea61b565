"""A part of "Sign and release": what was released before of these people, and what may still be spent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import ParameterError, PlanError, SfumatoError
from sfumato.plan import Plan
from sfumato.plan.database import DatabasePlan
from sfumato.plan.output_folders import records
from sfumato.plan.steps import known_ledger
from sfumato.privacy.rounding import shown
from sfumato.studio.markup import Html, el, join
from sfumato.studio.plan_folder import PLAN, named
from sfumato.studio.tasks.release import OUT
from sfumato.studio.toml_text import with_entry, without_part
from sfumato.studio.view import Form, PageView
from sfumato.studio.work import DONE, FAILED

DRIFT = "drift"
REGISTER = "../register"  # in the chosen folder, so that the plans of all quarters share it
_MOST = 200  # folders that are looked into


def earlier_releases(view: PageView) -> list[str]:
    """Releases of runs in the chosen folder, by their names from there; the plan's own is none."""
    root, own = view.studio.chosen.root, view.folder.folder / OUT
    found: list[str] = []
    for item in sorted(os.scandir(root), key=lambda e: e.name)[: 20 * _MOST]:
        if item.name.startswith(".") or not item.is_dir(follow_symlinks=False) or len(found) > _MOST:
            continue
        folder = Path(item.path)
        place = folder / OUT if (folder / OUT).exists() else folder  # a plan's folder, or a release by itself
        if place != own and not place.is_symlink() and any(records(place)):
            found.append(place.relative_to(root).as_posix())
    return found


def place_of(view: PageView, name: str) -> Path:
    """Where an earlier release lies; refused if it is none of the list."""
    if name not in earlier_releases(view):
        raise ParameterError(
            "there is no such earlier release in this folder.", hint="choose one of the list"
        )
    return view.studio.chosen.inside(name)


def compared_with(view: PageView) -> str:
    """The earlier release that the data was last held against and that a run is offered with."""
    task = view.worker.latest(DRIFT)
    if task is None or task.state != DONE:
        return ""
    name = str(task.given.get("name", ""))
    return name if name in earlier_releases(view) else ""


def earlier_section(view: PageView) -> Html:
    """Drift since the last release, and the register."""
    t, found = view.t, earlier_releases(view)
    parts: list[object] = [el("h2", t("earlier.title"))]
    if not found:
        parts.append(el("p", t("earlier.none"), class_="small"))
    else:
        task = view.worker.latest(DRIFT)
        last = str(task.given.get("name", "")) if task is not None else ""
        options = [el("option", n, value=n, selected=n == last) for n in found]
        field = el(
            "div", el("label", t("earlier.which"), for_="earlier"),
            el("select", options, name="earlier", id="earlier", disabled=view.fixed), class_="field",
        )  # fmt: skip
        parts += [
            el("p", t("earlier.lead")),
            view.form("drift", field, view.button(t("earlier.compare"), id="compare", class_="quiet")),
        ]
        if task is not None and task.open:
            parts.append(view.progress(task))
        elif task is not None and task.state == FAILED:
            parts.append(view.failure(task))
        elif task is not None and task.state == DONE:
            stale = (
                el("p", t("earlier.stale"), class_="warn") if task.revision != view.folder.revision else None
            )
            items = [el("li", words) for words in task.found["sentences"]]
            parts.append(join(stale, el("h3", t("earlier.found", name=last)), el("ul", items, id="drift")))
    return el("section", *parts, _register(view), id="earlier-part")


def _register(view: PageView) -> Html:
    """Whether a register of all releases is kept."""
    t, given = view.t, view.document.get("register", {})
    folder = given.get("folder") if isinstance(given, dict) else None
    if not folder:
        words, label, action = t("register.none"), t("register.keep"), "keep"
    else:
        n = _entries(view, str(folder))
        words, label, action = t("register.holds", n=n, folder=folder), t("register.leave"), "leave"
    button = view.button(label, name="register", value=action, id="register", class_="quiet")
    return join(el("h3", t("register.title")), el("p", words), view.form("register", button))


def _entries(view: PageView, folder: str) -> int:
    place = view.folder.folder / folder
    return sum(1 for _ in place.glob("release-*.parquet")) if place.is_dir() else 0


def budget_section(view: PageView) -> Html | None:
    """What this plan spends, and what its ledger has left; nothing where nothing is spent."""
    t, plan = view.t, view.folder.checked
    if isinstance(plan, PlanError):
        return None
    spent, named_ledger = _costs(plan), bool(plan.document.get("budget"))
    if not spent and not named_ledger:
        return None
    parts: list[object] = [el("h2", t("budget.title"))]
    if spent:
        lines = [el("li", f"{name}: {cost}") for name, cost in spent]
        parts += [el("p", t("budget.run")), el("ul", lines)]
    if not named_ledger:
        parts.append(el("p", t("budget.none"), class_="warn"))
        return el("section", *parts, id="budget-part")
    try:
        ledger = known_ledger(plan) if isinstance(plan, Plan) else plan.ledger
    except SfumatoError as error:
        parts.append(el("div", el("p", error.message), el("p", error.hint, class_="small"), class_="warn"))
        return el("section", *parts, id="budget-part")
    if ledger is None:
        parts.append(el("p", t("budget.new")))
    else:
        kind = ledger.budget.kind
        row = el(
            "tr", el("th", kind, scope="row"),
            el("td", shown(ledger.budget.amount, upward=False), class_="n"),
            el("td", shown(ledger.spent), class_="n"), el("td", shown(ledger.left, upward=False), class_="n"),
        )  # fmt: skip
        heads = ("budget.kind", "budget.whole", "budget.spent", "budget.left")
        head = el("tr", [el("th", t(n), scope="col", class_=None if i == 0 else "n")
                         for i, n in enumerate(heads)])  # fmt: skip
        parts.append(el("table", el("thead", head), el("tbody", row), id="budget"))
        if ledger.locked:
            parts.append(el("p", ledger.locked, class_="warn"))
    return el("section", *parts, id="budget-part")


def _costs(plan: Plan | DatabasePlan) -> list[tuple[str, str]]:
    """What each step that is paid for costs, known without looking at the data."""
    found = []
    linked = [plan.synthesis] if isinstance(plan, DatabasePlan) and "synthesis" in plan.document else []
    for step in plan.steps if isinstance(plan, Plan) else linked:
        try:
            spending = step.spends(plan.folder)
        except SfumatoError:
            continue  # what is wrong with it is said on top
        if spending.claimed:
            amounts = spending.amounts() or {}
            found.append((step.name, ", ".join(f"{k} = {shown(a)}" for k, a in amounts.items()) or "epsilon"))
    return found


# -- doing ---------------------------------------------------------------------------------------------


def compare(view: PageView, form: Form) -> str | None:
    """Hold the data against what an earlier release was made of."""
    name = form.text("earlier")
    place = place_of(view, name)
    if isinstance(view.folder.plan, PlanError):
        raise view.folder.plan
    view.worker.submit(DRIFT, {"name": name, "previous": str(place)}, view.folder.revision)
    return None


def set_register(view: PageView, form: Form) -> str | None:
    """Keep a register of all releases, or no longer."""
    keep = form.text("register") == "keep"

    def change(texts: Mapping[str, str]) -> dict[str, str]:
        text = texts[PLAN]
        if keep:
            return {**texts, PLAN: with_entry(text, ("register", "folder"), REGISTER)}
        return {**texts, PLAN: without_part(text, "register")}

    view.folder.edit(named("edit.register" if keep else "edit.no_register"), change, form.revision)
    return None
