"""The plan: its whole text, what was done to it, undo and redo, and how it runs without the studio."""

from __future__ import annotations

from sfumato.studio.frame import listed_text
from sfumato.studio.markup import Html, el
from sfumato.studio.plan_folder import PLAN
from sfumato.studio.screens.screen import Screen
from sfumato.studio.view import Form, PageView

_SHOWN = 40


def show(view: PageView) -> Html:
    """The text, and the history."""
    t, folder = view.t, view.folder
    edits = folder.history
    done = el("ol", [el("li", t.edit(e)) for e in edits[:_SHOWN]], reversed=True, start=len(edits))
    return el(
        "section", el("h1", t("plan.title")), el("p", t("plan.lead", folder=folder.folder.name)),
        el("div", listed_text(folder.texts.get(PLAN, ""), "line"), class_="scroll whole", role="region",
           tabindex="0", aria_label=PLAN),
        el("h2", t("plan.history")), done if edits else el("p", t("plan.history.none")),
        el("h2", t("plan.run")),
        el("pre", el("code", f"sfumato run {folder.folder.name}/{PLAN} --out release")),
    )  # fmt: skip


def undo(view: PageView, form: Form) -> str | None:
    """Take the last edit back."""
    view.folder.undo(form.revision)
    return None


def redo(view: PageView, form: Form) -> str | None:
    """Do it again."""
    view.folder.redo(form.revision)
    return None


SCREEN = Screen("plan", show, {"undo": undo, "redo": redo}, linked=True)
