"""The risk-utility map: what each setting of each method keeps and gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.report.contents import Cell, DataTable, Figure
from sfumato.report.figures.common import Spec, short
from sfumato.report.figures.labels import PLACES, labelled
from sfumato.report.palette import CATEGORIES, INK, MUTED, PAPER, SHAPES
from sfumato.report.words import clean, number

_ROOM = 0.06  # of an axis, free at each end
_CROWD = 80  # points; beyond, the intervals of those off the front would hide the rest


@dataclass(frozen=True)
class MapPoint:
    """One setting of one method. Intervals may be left out; settings are shown when it is pointed at."""

    method: str
    risk: float
    utility: float
    risk_interval: tuple[float, float] | None = None
    utility_interval: tuple[float, float] | None = None
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)


def pareto(
    risk: Sequence[float],
    utility: Sequence[float],
    *,
    utility_better: Literal["higher", "lower"] = "higher",
) -> NDArray[np.bool_]:
    """Which points no other point beats: none has less risk at the same utility or better, or the reverse.

    A point that is not a number is never on the front.
    """
    r = np.asarray(risk, dtype=np.float64)
    u = np.asarray(utility, dtype=np.float64) * (1 if utility_better == "higher" else -1)
    front = np.zeros(len(r), dtype=np.bool_)
    known = np.flatnonzero(np.isfinite(r) & np.isfinite(u))
    best, best_risk = -np.inf, np.nan
    for i in known[np.lexsort((-u[known], r[known]))]:  # by rising risk, the useful ones first
        front[i] = u[i] > best or (u[i] == best and r[i] == best_risk)
        if u[i] > best:
            best, best_risk = u[i], r[i]
    return front


def frontier(
    points: Sequence[MapPoint],
    *,
    risk: str = "risk",
    utility: str = "utility",
    utility_better: Literal["higher", "lower"] = "higher",
    max_risk: float | None = None,
    width: int = 760,
    height: int = 400,
) -> Figure:
    """The map: risk to the right, what is better upwards, the Pareto front joined, intervals as thin lines.

    Each point has its name beside it where there is room; all of them are in the table.

    max_risk: a threshold, drawn as a line.
    """
    drawn = [p for p in points if np.isfinite(p.risk) and np.isfinite(p.utility)]
    if not drawn:
        raise ParameterError("there is no point to draw.", hint="give points with a risk and a utility")
    front = pareto([p.risk for p in drawn], [p.utility for p in drawn], utility_better=utility_better)
    methods = list(dict.fromkeys(clean(p.method) for p in drawn))
    values = [_value(p, bool(on), risk, utility) for p, on in zip(drawn, front, strict=True)]
    crowd = len(drawn) > _CROWD  # the tooltip and the table still have every interval
    if crowd:
        values = [v if v["front"] else {**v, "r0": None, "u0": None} for v in values]
    ends = _ends(values, "risk", "r0", "r1"), _ends(values, "utility", "u0", "u1")
    flip = utility_better == "lower"  # up is better on every map
    labelled(values, ends, (width, height), flip=flip, only_front=crowd)
    colour = {"domain": methods, "range": [CATEGORIES[i % len(CATEGORIES)] for i in range(len(methods))]}
    turn = len(CATEGORIES)  # the ninth has the first colour again, and another shape
    shapes = [SHAPES[(i + i // turn) % len(SHAPES)] for i in range(len(methods))]
    shape = {"domain": methods, "range": shapes}
    used = {v["place"] for v in values}
    layers = _layers(ends, (risk, utility), flip, (colour, shape), used, max_risk)
    spec: Spec = {"width": width, "height": height, "data": {"values": values}, "layer": layers}
    left = len(points) - len(drawn)
    note = f" {left} settings without a value are not drawn." if left else ""
    of = "those on the front" if crowd else "all"
    return Figure(
        spec,
        "The risk-utility map",
        f"{len(drawn)} settings of {len(methods)} methods. Risk: {risk}. Utility: {utility}. Ringed and "
        f"joined by the dashed line are the {int(front.sum())} that no other setting beats in "
        f"both; thin lines are the intervals of {of}.{note}",
        _table(drawn, front, risk, utility),
    )


def _layers(
    ends: tuple[list[float], list[float]],
    titles: tuple[str, str],
    flip: bool,
    scales: tuple[Spec, Spec],
    used: set[str],
    max_risk: float | None,
) -> list[Spec]:
    """The front, the intervals, the rings, the names and the points; scales: of colour and shape."""
    (risk, utility), (colour, shape) = titles, scales
    legend = {
        "title": None,
        "orient": "top",
        "symbolSize": 80,
        "columns": 3,
        "labelLimit": 150,
        "symbolOpacity": 1,
    }
    x = {"type": "quantitative", "scale": {"domain": ends[0], "zero": False, "nice": False},
         "axis": {"title": f"{short(clean(risk), 60)} (further left is safer)", "tickCount": 6}}  # fmt: skip
    y = {"type": "quantitative",
         "scale": {"domain": ends[1], "zero": False, "nice": False, "reverse": flip},
         "axis": {"title": f"{short(clean(utility), 34)} (further up is better)",
                  "tickCount": 6}}  # fmt: skip
    by = {"color": {"field": "method", "type": "nominal", "scale": colour, "legend": legend}}
    at = {"x": {**x, "field": "risk"}, "y": {**y, "field": "utility"}}
    thin = {"type": "rule", "opacity": 0.45, "strokeWidth": 1.5, "aria": False}
    layers: list[Spec] = [
        {"transform": [{"filter": "datum.front"}],
         "mark": {"type": "line", "color": INK, "strokeWidth": 1.5, "strokeDash": [5, 4], "opacity": 0.7,
                  "interpolate": "step-after", "aria": False},
         "encoding": {**at, "order": {"field": "risk"}}},
        {"transform": [{"filter": "isValid(datum.r0)"}], "mark": thin,
         "encoding": {"x": {**x, "field": "r0"}, "x2": {"field": "r1"}, "y": at["y"], **by}},
        {"transform": [{"filter": "isValid(datum.u0)"}], "mark": thin,
         "encoding": {"y": {**y, "field": "u0"}, "y2": {"field": "u1"}, "x": at["x"], **by}},
        {"transform": [{"filter": "datum.front"}],
         "mark": {"type": "point", "shape": "circle", "size": 240, "filled": False, "stroke": INK,
                  "strokeWidth": 1.4, "aria": False},
         "encoding": at},
        {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "stroke": PAPER,
                  "strokeWidth": 1},
         "encoding": {**at, **by, "description": {"field": "says"},
                      "shape": {"field": "method", "type": "nominal", "scale": shape, "legend": legend}}},
    ]  # fmt: skip
    layers[-1:-1] = [_labels(place, at) for place in PLACES if place in used]
    if max_risk is not None:
        layers.append(_threshold(max_risk, x))
    return layers


def _ends(values: Sequence[Mapping[str, Any]], *names: str) -> list[float]:
    """Where an axis begins and ends: a little beyond everything that is drawn."""
    found = [v[n] for v in values for n in names if v[n] is not None and np.isfinite(v[n])]
    low, high = min(found), max(found)
    room = _ROOM * ((high - low) or abs(high) or 1.0)
    return [low - room, high + room]


def _labels(place: str, at: Spec) -> Spec:
    """The labels on one side of their points."""
    dx, dy, align = PLACES[place]
    return {
        "transform": [{"filter": f"datum.place == '{place}'"}],
        "mark": {"type": "text", "dx": dx, "dy": dy, "align": align, "baseline": "middle", "fontSize": 10,
                 "color": MUTED, "aria": False},
        "encoding": {**at, "text": {"field": "label"}},
    }  # fmt: skip


def _value(point: MapPoint, front: bool, risk: str, utility: str) -> dict[str, Any]:
    settings = ", ".join(f"{k} = {_shown(v)}" for k, v in point.settings.items())
    says = (
        f"{point.method}{': ' if settings else ''}{settings}\n"
        f"{risk} {_with(point.risk, point.risk_interval)}\n"
        f"{utility} {_with(point.utility, point.utility_interval)}"
        + ("\non the Pareto front" if front else "")
    )
    r, u = point.risk_interval or (None, None), point.utility_interval or (None, None)
    return {
        "method": clean(point.method), "risk": point.risk, "utility": point.utility, "front": front,
        "r0": r[0], "r1": r[1], "u0": u[0], "u1": u[1], "says": clean(says), "label": _label(point),
    }  # fmt: skip


def _label(point: MapPoint) -> str:
    """The method with its first setting, which tells it from the others of the method."""
    said = [f"{k} {_shown(v)}" for k, v in list(point.settings.items())[:1]]
    return short(clean(", ".join([point.method, *said])), 30)


def _shown(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _with(value: float, interval: tuple[float, float] | None) -> str:
    return number(value) + (f" ({number(interval[0])} to {number(interval[1])})" if interval else "")


def _threshold(max_risk: float, x: Spec) -> Spec:
    datum = {**x, "datum": max_risk}
    rule = {"mark": {"type": "rule", "color": MUTED, "strokeDash": [2, 3], "aria": False}}
    text = {
        "mark": {"type": "text", "align": "left", "dx": 5, "y": 8, "color": MUTED, "aria": False,
                 "text": f"at most {number(max_risk)}"},
    }  # fmt: skip
    return {"data": {"values": [{}]}, "layer": [rule, text], "encoding": {"x": datum}}


def _table(points: Sequence[MapPoint], front: NDArray[np.bool_], risk: str, utility: str) -> DataTable:
    names = tuple(dict.fromkeys(str(k) for p in points for k in p.settings))
    rows: list[tuple[Cell, ...]] = []
    for p, on in sorted(zip(points, front, strict=True), key=lambda pair: (not pair[1], pair[0].risk)):
        settings = tuple(_shown(p.settings[k]) if k in p.settings else "" for k in names)
        shown = (_with(p.risk, p.risk_interval), _with(p.utility, p.utility_interval))
        rows.append((p.method, *settings, *shown, bool(on)))
    columns = ("method", *names, risk, utility, "on the front")
    words = (len(columns) - 3, len(columns) - 2)
    return DataTable(columns, rows, "All settings, those on the front first", folded=True, words=words)
