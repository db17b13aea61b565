"""What a screen is given: the state, the words, and the parts that all screens are made of.

A screen never writes HTML by hand nor an address: `form`, `button` and `link` know both, and a form carries
the revision that the person saw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError, SfumatoError
from sfumato.schema import Schema
from sfumato.studio.look import ColumnLook, Look
from sfumato.studio.markup import Child, Html, el, join
from sfumato.studio.plan_folder import PlanFolder
from sfumato.studio.studio import Studio
from sfumato.studio.texts import Words
from sfumato.studio.work import Task, Worker

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Form:
    """What a form has sent: plain texts by name. revision: the one that the person saw."""

    fields: Mapping[str, tuple[str, ...]]

    def text(self, name: str, default: str | None = None) -> str:
        """One value."""
        found = self.fields.get(name, ())
        if len(found) != 1:
            if default is not None and not found:
                return default
            raise ParameterError(f"the form lacks '{name}'.", hint="load the page again")
        return found[0]

    def several(self, name: str) -> list[str]:
        """All values of a name, as of boxes that are ticked."""
        return list(self.fields.get(name, ()))

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number within bounds."""
        given = self.text(name)
        if not given.isascii() or not given.isdigit() or len(given) > 12 or not least <= int(given) <= most:
            raise ParameterError(f"'{name}' is a whole number from {least} to {most}.", hint="correct it")
        return int(given)

    @property
    def revision(self) -> int:
        """The revision that the person saw."""
        return self.whole("revision", 0, 10**9)


@dataclass
class PageView:
    """One page for one request. trouble: what went wrong with what was sent, said on top."""

    studio: Studio
    t: Words
    screen: str
    trouble: SfumatoError | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    changes: str = ""  # of the studio, before the page is drawn: what comes meanwhile is drawn the next time
    mark: str = ""  # what else decides what the screen shows, see `Screen`

    # -- the state -----------------------------------------------------------------------------------

    @property
    def folder(self) -> PlanFolder:
        """The plan that is open; screens that need none must not ask."""
        if self.studio.plan_folder is None:
            raise ParameterError("no file is open.", hint="open one first")
        return self.studio.plan_folder

    @property
    def worker(self) -> Worker:
        """Who does long work."""
        if self.studio.worker is None:
            raise ParameterError("no file is open.", hint="open one first")
        return self.studio.worker

    @property
    def look(self) -> Look | None:
        """What was seen of the data, once that is done."""
        return self.studio.look

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The plan, parsed."""
        return self.folder.document

    @cached_property
    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """What the plan says of each column."""
        found = self.document.get("columns", {})
        return {n: e for n, e in found.items() if isinstance(e, dict)} if isinstance(found, dict) else {}

    @cached_property
    def schema(self) -> Schema | None:
        """What the schema says, without the plan's roles; None where it cannot be read."""
        return self.folder.schema

    def role_of(self, name: str) -> str:
        """The role of a column: what the plan says, else the schema; "drop" if it is left out."""
        entry = self.columns.get(name, {})
        if entry.get("drop"):
            return "drop"
        known = self.schema
        return str(
            entry.get("role") or (known[name].role if known is not None and name in known else "other")
        )

    def column(self, name: str) -> ColumnLook:
        """What was counted of a column."""
        look = self.look
        return look.columns[name] if look is not None and name in look.columns else ColumnLook(name)

    # -- parts ---------------------------------------------------------------------------------------

    @property
    def fixed(self) -> bool:
        """Whether nothing can be changed here."""
        return self.studio.read_only

    def form(self, action: str, *children: Child, **attributes: object) -> Html:
        """A form that is sent to an action of this screen."""
        revision = 0 if self.studio.plan_folder is None else self.folder.revision
        seen = el("input", type="hidden", name="revision", value=revision)
        return el(
            "form", seen, *children, method="post", action=f"/{self.screen}/{action}", data_enhance=True,
            **attributes,
        )  # fmt: skip

    def button(self, label: Child, **attributes: object) -> Html:
        """A button that sends its form; it does nothing where nothing can be changed."""
        return el("button", label, type="submit", disabled=self.fixed, **attributes)

    def hidden(self, **values: object) -> Html:
        """Values that a form carries without showing them."""
        return join(el("input", type="hidden", name=n, value=v) for n, v in values.items())

    def progress(self, task: Task) -> Html:
        """How far a task is; drawn anew while it runs."""
        share = task.done / task.total if task.total else None
        bar = el("progress", value=None if share is None else f"{share:.3f}", max=1, aria_label=task.label)
        state = self.t("work.running" if task.state == "running" else "work.waiting")
        return el("p", el("span", state, ": ", self.t.said(task.label or task.kind)), bar, class_="progress")

    def failure(self, task: Task) -> Html:
        """Why a task came to nothing."""
        said = self.t.said
        return el(
            "div", el("p", el("strong", self.t("work.failed"), ": "), said(task.said)),
            el("p", said(task.hint), class_="small") if task.hint else None, class_="warn", role="alert",
        )  # fmt: skip
