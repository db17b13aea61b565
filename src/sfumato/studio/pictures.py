"""Small pictures that are drawn on the server: bars of counts, a meter. Each has its words for who does not
see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.studio.markup import Html, el
from sfumato.studio.texts import Words

_WIDTH, _HEIGHT = 240, 56


def bars(seen: Mapping[str, Any], label: str, t: Words) -> Html:
    """How often values occur; a bar each, with its value and count for the pointer."""
    drawn = list(seen.get("bars", ()))
    most = max((n for _, n in drawn), default=0) or 1
    if most == 1:
        return Html("")  # every value is one row's own: nothing to draw
    if seen.get("others"):
        drawn.append([t("columns.others", n=int(seen["others"])), int(seen["others_n"])])
    step = _WIDTH / len(drawn)
    parts = [el("title", label)]
    for i, (name, n) in enumerate(drawn):
        height = max(1.0 if n else 0.0, (_HEIGHT - 2) * min(1.0, n / most))
        other = seen.get("others") and i == len(drawn) - 1
        parts.append(
            el("g", el("title", f"{name}: {t.number(n)}"),
               Html(f'<rect x="{i * step:.1f}" y="{_HEIGHT - height:.1f}" width="{max(1.0, step - 1):.1f}" '
                    f'height="{height:.1f}" class="{"rest" if other else "bar"}"></rect>'))
        )  # fmt: skip
    return el("svg", *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label, class_="bars")


def meter(share: float, label: str) -> Html:
    """A share as a line that is filled."""
    width = max(0.0, min(1.0, share)) * 100
    return el(
        "svg", Html('<rect x="0" y="0" width="100" height="6" class="track"></rect>'),
        Html(f'<rect x="0" y="0" width="{width:.1f}" height="6" class="filled"></rect>'),
        viewBox="0 0 100 6", preserveAspectRatio="none", role="img", aria_label=label, class_="meter",
    )  # fmt: skip
