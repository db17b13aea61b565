"""What a screen is: a name, a function that draws it, and functions for what a person does on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from starlette.responses import Response

from sfumato.studio.markup import Html
from sfumato.studio.view import Form, PageView

Action = Callable[[PageView, Form], str | None]  # gives back where to go; None is the same screen
Document = Callable[[PageView, Mapping[str, str]], Response]


@dataclass(frozen=True)
class Screen:
    """One screen. name: of its address and its words (`nav.NAME`).

    actions: by name, what forms of this screen ask for; sent to /NAME/ACTION. documents: further addresses
    below it that are only read. needs_plan: shown only when a file is open. linked: whether it is for plans
    of linked tables, too. mark: what else decides what it
    shows, such as how many results have arrived: the page is drawn anew when it changes.
    """

    name: str
    show: Callable[[PageView], Html]
    actions: Mapping[str, Action] = field(default_factory=dict)
    documents: Mapping[str, Document] = field(default_factory=dict)
    needs_plan: bool = True
    linked: bool = False
    mark: Callable[[PageView], str] | None = None
