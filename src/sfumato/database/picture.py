"""Tables and links as a picture: lines for a terminal, SVG for a page. Names and numbers, no cell."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sfumato.errors import printable

if TYPE_CHECKING:
    from sfumato.database.database import Database

_WIDTH, _LINE, _GAP, _MOST = 230, 17, 60, 12


def drawn(database: Database, *, rows: bool = True) -> str:
    """A tree of tables: children below their parents, with the columns they join by."""
    lines: list[str] = []

    def put(name: str, before: str, joint: str, seen: tuple[str, ...]) -> None:
        size = f"  {database.tables[name].rows():,} rows" if rows else ""
        lines.append(f"{before}{joint}{printable(name)}{size}{_said(database, name)}")
        below = [link for link in database.children(name) if link.child not in seen]
        inner = before + ("" if not joint else "│  " if joint.startswith("├") else "   ")
        for i, link in enumerate(below):
            put(link.child, inner, "└─ " if i == len(below) - 1 else "├─ ", (*seen, link.child))

    for name in database.order:
        if not database.parents(name):
            put(name, "", "", (name,))
    return "\n".join(lines)


def _said(database: Database, name: str) -> str:
    if name in database.apart:
        return "  (no persons)" if name not in database.unconfirmed else "  (no persons? unconfirmed)"
    by = [f"{printable(k.column)} -> {printable(k.target)}" for k in database.parents(name)]
    route = database.route(name)
    person = f"person: {printable(route[0])}" if route is not None and route[1] is None else ""
    parts = [*([person] if person else []), *by]
    return f"  [{'; '.join(parts)}]" if parts else ""


def drawn_svg(database: Database) -> str:
    """Boxes with their columns, parents to the left, a line for each link."""
    depth: dict[str, int] = {}
    for name in database.order:
        depth[name] = max((depth[k.parent] + 1 for k in database.parents(name)), default=0)
    places: dict[str, tuple[int, int, int]] = {}
    heights = dict.fromkeys(range(max(depth.values()) + 1), 10)
    parts: list[str] = []
    for name in database.order:
        columns = _shown(database, name)
        x, y = 10 + depth[name] * (_WIDTH + _GAP), heights[depth[name]]
        height = _LINE * (len(columns) + 1) + 12
        places[name] = (x, y, height)
        heights[depth[name]] += height + 20
        parts.append(_box(name, columns, x, y, height, name in database.apart))
    lines = [_line(places[k.parent], places[k.child]) for k in database.links]
    width = 20 + (max(depth.values()) + 1) * (_WIDTH + _GAP) - _GAP
    size = f'viewBox="0 0 {width} {max(heights.values())}" width="{width}"'
    said = 'role="img" aria-label="tables and links" font-family="sans-serif"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {said}>{"".join(lines + parts)}</svg>'


def _shown(database: Database, name: str) -> list[str]:
    keys = database.key_columns[name]
    person = database.person_column(name) if name not in database.apart else None
    marked = [f"{c}  ({'person' if c == person else 'key'})" for c in keys]
    rest = [c for c in database.tables[name].columns if c not in keys]
    more = [f"and {len(rest) - _MOST} more"] if len(rest) > _MOST else []
    return [*marked, *rest[:_MOST], *more]


def _box(name: str, columns: list[str], x: int, y: int, height: int, apart: bool) -> str:
    dash = ' stroke-dasharray="4 3"' if apart else ""
    ink = f'fill="#f6f8fa" stroke="#57606a"{dash}'
    box = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="5" {ink}/>'
    title = f'<text x="{x + 10}" y="{y + 17}" font-size="13" font-weight="bold">{escape(name)}</text>'
    lines = [
        f'<text x="{x + 10}" y="{y + 17 + _LINE * (i + 1)}" font-size="12">{escape(c[:34])}</text>'
        for i, c in enumerate(columns)
    ]
    return box + title + "".join(lines)


def _line(parent: tuple[int, int, int], child: tuple[int, int, int]) -> str:
    x1, y1 = parent[0] + _WIDTH, parent[1] + 24
    x2, y2 = child[0], child[1] + 24
    middle = (x1 + x2) / 2
    path = f"M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}"
    return f'<path d="{path}" fill="none" stroke="#0969da" stroke-width="1.5"/>'
