"""HTML that cannot be written wrongly: everything is escaped unless it was made here.

    el("p", "rows: ", el("b", 12), class_="small")    <p class="small">rows: <b>12</b></p>

Names of attributes lose an underscore at their end and have - for _ (`class_`, `aria_label`, `data_column`).
None and False leave an attribute out, True stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sfumato.errors import printable

_EMPTY = frozenset({"br", "hr", "img", "input", "link", "meta"})
Child = object


class Html(str):
    """Text that is HTML already. Made by `el` and `join` alone."""

    __slots__ = ()


def text(value: object) -> Html:
    """Any text, with nothing in it that a browser would act on, and no signs that turn writing round."""
    if isinstance(value, Html):
        return value
    said = str(value)
    return Html(escape(said if said.isprintable() else printable(said)))


def el(name: str, /, *children: Child, **attributes: object) -> Html:
    """One element; children that are None or empty are left out."""
    said = "".join(_attribute(n, v) for n, v in attributes.items() if v is not None and v is not False)
    if name in _EMPTY:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Several things one after the other; lists are unfolded."""
    parts: list[str] = []
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, Iterable) and not isinstance(child, str):
            parts.append(join(*child))
        else:
            parts.append(text(child))
    return Html("".join(parts))


def _attribute(name: str, value: object) -> str:
    spelt = name.rstrip("_").replace("_", "-")
    return f" {spelt}" if value is True else f' {spelt}="{text(value)}"'
