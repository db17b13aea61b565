"""The few kinds of picture there are: lines, bars, dots and tiles, alone or in panels.

A picture has the table it reads, a Vega-Lite drawing, and which of the table's rows it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Spec = dict[str, Any]
WHOLE = {"width": 380, "height": 230}


@dataclass(frozen=True)
class Picture:
    """table: a CSV file of the results without its ending, or a JSON file that is a drawing already."""

    table: str
    spec: Spec
    rows: Callable[[list[Row]], list[Row]] = list


def number(
    field: str, title: str = "", *, log: bool = False, zero: bool = False, ticks: Sequence[float] = (),
    **more: Any,
) -> Spec:  # fmt: skip
    """A channel for amounts; without a title it has the field's name. ticks: what its axis says."""
    scale = {"type": "log", "nice": False} if log else {"zero": zero}
    axis = {"axis": {"grid": not log} | ({"values": list(ticks)} if ticks else {})}
    return {"field": field, "title": title or field, "type": "quantitative", "scale": scale, **axis, **more}


def name(field: str, title: str | None = "", *, order: Sequence[str] | None = None, **more: Any) -> Spec:
    """A channel for names; title "": the field's own name, None: none. Without an order, as they come."""
    titled, sort = field if title == "" else title, list(order) if order else None
    return {"field": field, "title": titled, "type": "nominal", "sort": sort, **more}


def lines(x: Spec, y: Spec, colour: Spec, *, dash: Spec | None = None, points: bool = True) -> Spec:
    """Points joined by lines; several rows at one place are averaged."""
    mark: Spec = {"type": "line", "strokeWidth": 1.5}
    if points:
        mark["point"] = {"size": 14}
    plain = {"axis": {**x.get("axis", {}), "grid": False}}
    encoding = {"x": {**x, **plain}, "y": {"aggregate": "mean", **y}, "color": colour}
    return {"mark": mark, "encoding": encoding | ({"strokeDash": dash} if dash else {}), **WHOLE}


def bars(x: Spec, y: Spec, colour: Spec | None = None) -> Spec:
    return {"mark": "bar", "encoding": {"x": x, "y": y} | ({"color": colour} if colour else {}), **WHOLE}


def dots(x: Spec, y: Spec, colour: Spec | None = None, size: int = 12) -> Spec:
    mark = {"type": "circle", "size": size, "opacity": 0.6}
    return {"mark": mark, "encoding": {"x": x, "y": y} | ({"color": colour} if colour else {}), **WHOLE}


def panels(
    spec: Spec, by: str, *, columns: int = 2, order: Sequence[str] | None = None, free: str = "",
    width: int = 220, height: int = 150,
) -> Spec:  # fmt: skip
    """One panel for each value of a field; free: the axes that are each panel's own."""
    facet = {**name(by, None, order=order), "columns": columns}
    apart = {"resolve": {"scale": dict.fromkeys(free, "independent")}} if free else {}
    size = {"width": width, "height": height}
    return {**spec, **apart, **size, "encoding": {**spec["encoding"], "facet": facet}}


def folded(rows: list[Row], fields: dict[str, str]) -> list[Row]:
    """Several columns as one: a row for each, named by `what`, with its `value`."""
    return [
        {**row, "what": title, "value": row[f]} for f, title in fields.items() for row in rows if row[f] != ""
    ]


def where(**wanted: Any) -> Callable[[list[Row]], list[Row]]:
    """The rows whose fields have these values; a tuple holds any of several."""

    def chosen(rows: list[Row]) -> list[Row]:
        kept = {k: v if isinstance(v, tuple) else (v,) for k, v in wanted.items()}
        return [r for r in rows if all(r[k] in v for k, v in kept.items())]

    return chosen


def some(rows: list[Row], by: str, most: int) -> list[Row]:
    """At most so many rows of each value of a field, evenly from first to last: a small picture of many."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[by], []).append(row)
    return [r for g in groups.values() for r in g[:: max(1, -(-len(g) // most))]]
