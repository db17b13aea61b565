"""Sign and release: what is still open, the limits, the signature, the run, and whether it verifies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sfumato.errors import ParameterError, PlanError
from sfumato.plan import Plan
from sfumato.plan.database import DatabasePlan
from sfumato.plan.database_signature import signed_by as signer_of
from sfumato.plan.database_signature import signed_linked
from sfumato.plan.limits import ACCEPTED, RECIPIENT, RECIPIENTS, asked_of
from sfumato.plan.limits import recipient as known_recipient
from sfumato.plan.signature import signed
from sfumato.studio.markup import Html, el, join
from sfumato.studio.plan_folder import PLAN, named
from sfumato.studio.screens.earlier_release import (
    budget_section,
    compare,
    compared_with,
    earlier_section,
    place_of,
    set_register,
)
from sfumato.studio.screens.linked_data import left_out, linked_digest
from sfumato.studio.screens.release_key import key_section, sign_with_key
from sfumato.studio.screens.run_outcome import outcome
from sfumato.studio.screens.screen import Screen
from sfumato.studio.tasks.release import OUT
from sfumato.studio.toml_text import with_entry, without_entry
from sfumato.studio.view import Form, PageView

RUN = "run"
_SHOWN = 12


def show(view: PageView) -> Html:
    """The way from open guesses to a verified release, top to bottom."""
    linked = view.folder.linked
    return join(
        left_out(view) if linked else _open(view), _limits(view), budget_section(view),
        None if linked else earlier_section(view), _signature(view), _run(view), key_section(view),
    )  # fmt: skip


# -- what is open --------------------------------------------------------------------------------------


def _open(view: PageView) -> Html:
    t = view.t
    waiting = [n for n, e in view.columns.items() if not e.get("reviewed", True)]
    if not waiting:
        said = el("p", t("release.all_reviewed"), class_="figure good")
    else:
        more = t("release.more", n=len(waiting) - _SHOWN) if len(waiting) > _SHOWN else ""
        said = join(
            el("p", t("open_guesses", n=len(waiting)), class_="figure"),
            el("p", ", ".join(waiting[:_SHOWN]), " ", more, class_="small"),
            el("p", el("a", t("release.to_columns"), href="/columns")),
        )
    return el("section", el("h1", t("nav.release")), el("h2", t("release.guesses")), said)


# -- limits --------------------------------------------------------------------------------------------


def _limits(view: PageView) -> Html:
    t = view.t
    given: Mapping[str, Any] = view.document.get("thresholds", {})
    choose = None if view.folder.linked else _recipient(view, str(given.get(RECIPIENT, "")))
    rows, fields = [], [n for n in given if n not in (RECIPIENT, ACCEPTED)]
    for i, name in enumerate(fields):
        box = el(
            "input",
            type="text",
            inputmode="decimal",
            name="limit",
            id=f"limit-{i}",
            value=given[name],
            disabled=view.fixed,
            size=8,
        )
        rows.append(
            el(
                "tr",
                el("th", el("label", t.said(name), for_=f"limit-{i}"), scope="row"),
                el("td", view.hidden(name=name), box),
            )
        )
    reason = el(
        "div",
        el("label", t("release.accepted"), for_="accepted"),
        el(
            "textarea",
            given.get(ACCEPTED, ""),
            name="accepted",
            id="accepted",
            rows=2,
            cols=60,
            disabled=view.fixed,
        ),
        el("p", t("release.accepted.note"), class_="small"),
        class_="field",
    )
    change = view.form(
        "limits",
        el("table", el("tbody", rows)),
        reason,
        view.button(t("release.limits.set"), id="set-limits", class_="quiet"),
    )
    return el("section", el("h2", t("release.limits")), choose, change)


def _recipient(view: PageView, who: str) -> Html:
    """Who receives it: the limits that are usual for them."""
    t = view.t
    options = [el("option", t(f"recipient.{n}"), value=n, selected=n == who) for n in RECIPIENTS]
    field = el(
        "div", el("label", t("open.recipient"), for_="recipient"),
        el("select", options, name="recipient", id="recipient", disabled=view.fixed),
        el("p", t("release.recipient.note"), class_="small"), class_="field",
    )  # fmt: skip
    button = view.button(t("release.recipient.set"), class_="quiet", id="set-recipient")
    return view.form("recipient", field, button)


# -- signature -----------------------------------------------------------------------------------------


def _signature(view: PageView) -> Html:
    t, plan = view.t, view.folder.checked
    if isinstance(plan, PlanError):
        return el("section", el("h2", t("release.sign")), el("p", t("release.faults")))
    parts: list[object] = [el("h2", t("release.sign"))]
    signed_by, unreviewed = signer_of(plan.document), tuple[str, ...]()
    if isinstance(plan, Plan):
        signed_by, unreviewed = plan.signed, plan.unreviewed
    if signed_by is not None and not plan.draft:
        by, on = signed_by
        parts.append(
            el("p", t("release.signed", by=by, on=on.isoformat()), class_="figure good", id="signed")
        )
    else:
        parts.append(el("p", t("release.unsigned"), el("br"), el("span", t.said(plan.draft), class_="small")))
    if plan.accepted:
        parts.append(el("p", t("release.covers", words=plan.accepted), class_="small"))
    box = el(
        "input",
        type="text",
        name="name",
        id="signer",
        required=True,
        maxlength=200,
        autocomplete="name",
        disabled=view.fixed,
    )
    every = None
    if unreviewed:
        every = el(
            "div",
            el("input", type="checkbox", name="every", value="yes", id="every", disabled=view.fixed),
            el("label", t("release.every", n=len(unreviewed)), for_="every"),
            class_="tick",
        )
    field = el("div", el("label", t("release.name"), for_="signer"), box, class_="field")
    parts.append(view.form("sign", field, every, view.button(t("release.sign"), id="sign")))
    return el("section", *parts)


# -- run -----------------------------------------------------------------------------------------------


def _run(view: PageView) -> Html:
    t, task, plan = view.t, view.worker.latest(RUN), view.folder.checked
    parts: list[object] = [el("h2", t("release.run")), el("p", t("release.run.lead", folder=OUT))]
    runs = not isinstance(plan, PlanError)
    there = (view.folder.folder / OUT).exists()
    if task is not None and task.open:
        parts.append(view.progress(task))
    elif runs:
        replace = None
        if there:
            replace = el(
                "div",
                el(
                    "input",
                    type="checkbox",
                    name="overwrite",
                    value="yes",
                    id="overwrite",
                    disabled=view.fixed,
                ),
                el(
                    "label",
                    t(f"release.overwrite{'.linked' if view.folder.linked else ''}"),
                    for_="overwrite",
                ),
                class_="tick",
            )
        parts.append(view.form("run", replace, _beside(view), view.button(t("release.run"), id="run")))
    else:
        parts.append(el("p", t("release.faults")))
    if task is not None and not task.open:
        parts.append(outcome(view, task, _digest(plan)))
    return el("section", *parts, id="run-part")


def _digest(plan: Plan | DatabasePlan | PlanError) -> str:
    """Of what a signature covers; nothing where that cannot be told."""
    if isinstance(plan, Plan):
        return plan.digest
    return linked_digest(plan) if isinstance(plan, DatabasePlan) else ""


def _beside(view: PageView) -> Html | None:
    """The earlier release that the new one is attacked together with, if the data was held against one."""
    t, name = view.t, "" if view.folder.linked else compared_with(view)
    if not name:
        return None
    target = os.path.relpath(view.studio.chosen.inside(name), view.folder.folder)
    return join(
        el("div", el("input", type="checkbox", name="previous", value=name, id="previous", checked=True,
                     disabled=view.fixed),
           el("label", t("earlier.attack", name=name), for_="previous"), class_="tick"),
        el("p", t("earlier.command"), " ", el("code", f"sfumato run {PLAN} --out {OUT} --previous {target}"),
           class_="small"),
    )  # fmt: skip


# -- doing ---------------------------------------------------------------------------------------------


def set_recipient(view: PageView, form: Form) -> str | None:
    """Another recipient, and the limits that are usual for them; k of the steps follows."""
    who = known_recipient(form.text("recipient"))

    def change(texts: Mapping[str, str]) -> dict[str, str]:
        text = with_entry(texts[PLAN], ("thresholds", RECIPIENT), who.name)
        for limit in asked_of(who):
            text = with_entry(text, ("thresholds", limit.name), limit.value)
        steps = view.document.get("steps", [])
        for i, step in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(step.get("k"), int):
                text = with_entry(text, ("steps", i, "k"), who.k)
        return {**texts, PLAN: text}

    view.folder.edit(named("edit.recipient", who=who.name), change, form.revision)
    return None


def set_limits(view: PageView, form: Form) -> str | None:
    """Other limits, and why a missed one is accepted."""
    names, values = form.several("name"), form.several("limit")
    given = view.document.get("thresholds", {})
    if len(names) != len(values) or not all(n in given and n not in (RECIPIENT, ACCEPTED) for n in names):
        raise ParameterError("the form does not fit the plan.", hint="load the page again")
    limits = {n: _number(n, v) for n, v in zip(names, values, strict=True)}
    accepted = " ".join(form.text("accepted", "").split())[:2_000]

    def change(texts: Mapping[str, str]) -> dict[str, str]:
        text = texts[PLAN]
        for name, limit in limits.items():
            if given[name] != limit:
                text = with_entry(text, ("thresholds", name), limit)
        place = ("thresholds", ACCEPTED)
        text = with_entry(text, place, accepted) if accepted else without_entry(text, place)
        return {**texts, PLAN: text}

    view.folder.edit(named("edit.limits"), change, form.revision)
    return None


def _number(name: str, text: str) -> float | int:
    try:
        found = float(text.strip().replace(",", "."))
    except ValueError:
        found = float("nan")
    if not abs(found) < 1e9:
        raise ParameterError(f"the limit '{name}' must be a number.", hint="such as 0.09")
    return int(found) if found.is_integer() else found


def sign(view: PageView, form: Form) -> str | None:
    """A person signs the plan as it is."""
    plan = view.folder.checked
    if isinstance(plan, PlanError):
        raise plan
    if isinstance(plan, DatabasePlan):
        text, name = view.folder.texts[PLAN], form.text("name")
        made = signed_linked(text, plan.document, plan.folder, name)
        view.folder.edit(
            named("edit.sign", by=made.by), lambda texts: {**texts, PLAN: made.text}, form.revision
        )
        return None
    after = signed(plan, form.text("name"), all_reviewed=form.text("every", "") == "yes")
    by = "" if after.signed is None else after.signed[0]
    view.folder.edit(named("edit.sign", by=by), lambda texts: {**texts, PLAN: after.text}, form.revision)
    return None


def run(view: PageView, form: Form) -> str | None:
    """Run the plan as it is, in the background."""
    plan = view.folder.checked
    if isinstance(plan, PlanError):
        raise plan
    task = view.worker.latest(RUN)
    if task is not None and task.open:
        raise ParameterError("the plan is running already.", hint="wait, or cancel it")
    if form.revision != view.folder.refresh():
        from sfumato.studio.plan_folder import StaleEdit

        raise StaleEdit
    name = form.text("previous", "")
    given = {
        "overwrite": form.text("overwrite", "") == "yes",
        "previous": str(place_of(view, name)) if name else "",
    }
    view.worker.submit(RUN, given, view.folder.revision)
    return None


SCREEN = Screen(
    "release", show,
    {"recipient": set_recipient, "limits": set_limits, "sign": sign, "run": run, "key": sign_with_key,
     "drift": compare, "register": set_register},
    linked=True,
)  # fmt: skip
