"""A part of "Tables and linked data": what a plan for linked tables does with them, one of three entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import ParameterError
from sfumato.plan.database_settings import entries
from sfumato.studio.markup import Html, el
from sfumato.studio.method_forms import declared_fields, read_declared
from sfumato.studio.plan_folder import PLAN, named
from sfumato.studio.screens.screen import Action
from sfumato.studio.toml_text import with_entry, without_entry, without_part
from sfumato.studio.view import Form, PageView

_FIRST: Mapping[str, Mapping[str, object]] = {
    "codes": {"k": 5, "m": 2},
    "pseudonyms": {"coarsen_dates": "week"},
    "synthesis": {},
}
_PAID = "budget"  # pays for synthesis, and for nothing else


def chosen(document: Mapping[str, Any]) -> str:
    """The entry that a plan has; pseudonyms alone where it names none."""
    return next((name for name in ("codes", "synthesis") if name in document), "pseudonyms")


def settings_section(view: PageView) -> Html:
    """The three to choose from, and the settings of the one that is chosen."""
    t, mine = view.t, chosen(view.document)
    buttons = [
        view.button(
            t(f"linked.do.{name}"), name="entry", value=name, id=f"linked-{name}", class_="choice",
            aria_pressed="true" if name == mine else "false",
        )
        for name in entries()
    ]  # fmt: skip
    given = view.document.get(mine, {})
    fields = declared_fields(view, list(entries()[mine].values()), given if isinstance(given, dict) else {})
    return el(
        "section", el("h2", t("linked.do")), el("p", t("linked.do.lead")),
        view.form("entry", buttons, class_="choices", role="toolbar", aria_label=t("linked.do")),
        el("p", t(f"linked.do.{mine}.means"), class_="small"),
        view.form(
            "settings", view.hidden(entry=mine), fields, view.button(t("linked.do.keep"), id="linked-keep"),
            id="linked-settings",
        ),
        id="linked-do",
    )  # fmt: skip


# -- doing ---------------------------------------------------------------------------------------------


def choose(view: PageView, form: Form) -> str | None:
    """Another of the three; what the plan said of the others goes, and undo brings it back."""
    name = _known(view, form)

    def change(texts: Mapping[str, str]) -> dict[str, str]:
        text, document = texts[PLAN], view.document
        others = [n for n in (*entries(), *(() if name == "synthesis" else (_PAID,))) if n != name]
        for other in others:
            if other in document:
                text = without_part(text, other)
        if name not in document:
            text = text if _FIRST[name] else f"{text.rstrip()}\n\n[{name}]\n"
            for key, value in _FIRST[name].items():
                text = with_entry(text, (name, key), value)
        return {**texts, PLAN: text}

    view.folder.edit(named("edit.linked", what=name), change, form.revision)
    return None


def keep(view: PageView, form: Form) -> str | None:
    """Other settings for the chosen entry; those without a field stay as they are."""
    name = _known(view, form)
    if name != chosen(view.document):
        raise ParameterError("the plan does something else by now.", hint="load the page again")
    fields = entries()[name]
    wanted = read_declared(form, list(fields.values()), name)

    def change(texts: Mapping[str, str]) -> dict[str, str]:
        text, given = texts[PLAN], view.document.get(name, {})
        for key, value in wanted.items():
            if given.get(key) != value:
                text = with_entry(text, (name, key), value)
        for key in given.keys() & fields.keys() - wanted.keys():
            text = without_entry(text, (name, key))
        return {**texts, PLAN: text}

    view.folder.edit(named("edit.linked_settings", what=name), change, form.revision)
    return None


def _known(view: PageView, form: Form) -> str:
    name = form.text("entry")
    if not view.folder.linked or name not in entries():
        raise ParameterError("this plan cannot do that.", hint="choose one of the list")
    return name


ACTIONS: Mapping[str, Action] = {"entry": choose, "settings": keep}
