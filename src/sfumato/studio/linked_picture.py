"""Tables and links as a picture: boxes with their keys, parents to the left, a line for each link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.studio.markup import Html, el, text
from sfumato.studio.texts import Words

_WIDTH, _LINE, _GAP, _FEW = 220, 18, 54, 8
_LONGEST = 30


def linked_picture(found: Mapping[str, Any], t: Words) -> Html:
    """The picture; the table beside it says the same in words."""
    tables = {str(one["name"]): one for one in found["tables"]}
    links = [k for k in found["links"] if k["parent"] != k["child"]]
    depth: dict[str, int] = {}
    for name in tables:  # parents stand before their children
        above = [depth[k["parent"]] + 1 for k in links if k["child"] == name and k["parent"] in depth]
        depth[name] = max(above, default=0)
    heights = dict.fromkeys(range(max(depth.values(), default=0) + 1), 10)
    places: dict[str, tuple[int, int]] = {}
    boxes = []
    for name, one in tables.items():
        lines = _lines(one, t)
        x, y = 10 + depth[name] * (_WIDTH + _GAP), heights[depth[name]]
        height = _LINE * (len(lines) + 1) + 14
        places[name] = x, y
        heights[depth[name]] += height + 18
        boxes.append(_box(one, lines, (x, y, height), t))
    width = 20 + len(heights) * (_WIDTH + _GAP) - _GAP
    label = t("linked.picture", n=len(tables), links=len(found["links"]))
    return el(
        "svg", *[_line(places[k["parent"]], places[k["child"]]) for k in links], *boxes,
        viewBox=f"0 0 {width} {max(heights.values())}", role="img", aria_label=label, class_="linked",
        width=width,
    )  # fmt: skip


def _lines(one: Mapping[str, Any], t: Words) -> list[str]:
    """Keys and the person first; then some of the rest."""
    keys = [c for c in one["columns"] if c["key"]]
    rest = [c["name"] for c in one["columns"] if not c["key"]]
    marked = [f"{_short(c['name'])} · {_said(one, c, t)}" for c in keys]
    more = [t("linked.more", n=len(rest) - _FEW)] if len(rest) > _FEW else []
    return [*marked, *map(_short, rest[:_FEW]), *more]


def _said(one: Mapping[str, Any], column: Mapping[str, Any], t: Words) -> str:
    if column["name"] == one["person"]:
        return t("linked.person")
    return t("linked.key") if column["own"] else t("linked.points")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _box(one: Mapping[str, Any], lines: Sequence[str], place: tuple[int, int, int], t: Words) -> Html:
    x, y, height = place
    kind = "apart" if one["apart"] else "people"
    parts = [
        Html(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="6" class="{kind}"></rect>'),
        Html(f'<text x="{x + 10}" y="{y + 18}" class="name">{text(_short(one["name"]))}</text>'),
        Html(f'<text x="{x + _WIDTH - 10}" y="{y + 18}" class="rows" text-anchor="end">'
             f"{text(t.number(int(one['rows'])))}</text>"),
    ]  # fmt: skip
    parts += [
        Html(f'<text x="{x + 10}" y="{y + 18 + _LINE * (i + 1)}">{text(line)}</text>')
        for i, line in enumerate(lines)
    ]
    return el("g", *parts)


def _line(parent: tuple[int, int], child: tuple[int, int]) -> Html:
    x1, y1, x2, y2 = parent[0] + _WIDTH, parent[1] + 26, child[0], child[1] + 26
    middle = (x1 + x2) / 2
    return Html(f'<path d="M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}" class="link"></path>')
