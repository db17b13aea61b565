"""What intruders reach, beside what they reach on people who are not in the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.errors import ParameterError
from sfumato.report.figures.common import Spec, in_expression
from sfumato.report.page import DataTable, Figure
from sfumato.report.palette import CONTROL, MUTED, RELEASED
from sfumato.report.words import clean, number
from sfumato.score import Score

_KINDS = ["attack", "control", "plain guess"]


def attacks(scores: Sequence[Score], *, title: str = "Attacks against their controls") -> Figure:
    """How often each attack succeeds, with its interval, beside its control and a plain guess."""
    tried = [s for s in scores if s.section == "attack" and np.isfinite(s.value)]
    if not tried:
        raise ParameterError("there is no attack with a value to draw.", hint="give scores of attacks")
    points, spans, rows = [], [], []
    for i, s in enumerate(tried):
        what = {"i": i, "name": clean(s.name)}
        spread = "" if s.low is None else f", interval {number(s.low)} to {number(s.high)}"
        said = f"{s.name}: {number(s.value)}{spread}. The intruder knows {s.knowledge}"
        if s.low is not None:
            spans.append({**what, "of": "attack", "low": s.low, "high": s.high})
        found = [("attack", s.value, said), ("control", s.control, f"{s.name}: on people not in the data")]
        for of, value, says in [*found, ("plain guess", s.baseline, f"{s.name}: a plain guess")]:
            if value is not None:
                says = says if of == "attack" else f"{says}: {number(value)}"
                points.append({**what, "of": of, "value": value, "says": clean(says)})
        rows.append((s.name, s.value, s.low, s.high, s.control, s.baseline, s.knowledge))
    above = [s.name for s in tried if s.low is not None and s.low > max(s.control or 0, s.baseline or 0)]
    y = {
        "field": "i",
        "type": "ordinal",
        "axis": {
            "labelExpr": f"{in_expression([clean(s.name) for s in tried])}[datum.value]",
            "title": None,
            "labelLimit": 170,
            "grid": True,
        },
    }
    reach = max(*(p["value"] for p in points), *(d["high"] for d in spans), 0.0)
    scale = {"domainMin": min(0.0, *(p["value"] for p in points)), "nice": True}
    if 0.6 < reach <= 1:
        scale["domainMax"] = 1
    x = {"type": "quantitative", "scale": scale, "axis": {"title": "success", "tickCount": 5}}
    if all(s.range == (0, 1) for s in tried):
        x["axis"] = {"title": "share of attempts that succeed", "format": "~%", "tickCount": 5}
    lanes = {"field": "of", "type": "nominal", "sort": _KINDS, "scale": {"domain": _KINDS}}
    legend = {"title": None, "orient": "top", "symbolSize": 90, "symbolOpacity": 1}
    colour = {
        "field": "of",
        "type": "nominal",
        "legend": legend,
        "scale": {"domain": _KINDS, "range": [RELEASED, CONTROL, MUTED]},
    }
    shape = {
        "field": "of",
        "type": "nominal",
        "legend": legend,
        "scale": {"domain": _KINDS, "range": ["circle", "diamond", "square"]},
    }
    spec: Spec = {
        "width": 330,
        "height": {"step": 46},
        "layer": [
            {"data": {"values": spans}, "mark": {"type": "rule", "strokeWidth": 6, "opacity": 0.38,
             "strokeCap": "round", "color": RELEASED, "aria": False},
             "encoding": {"y": y, "yOffset": lanes, "x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {"data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
             "encoding": {"y": y, "yOffset": lanes, "x": {**x, "field": "value"}, "color": colour,
                          "shape": shape, "description": {"field": "says"}}},
        ],
    }  # fmt: skip
    found_above = f"{len(above)} of {len(tried)} attacks" if above else "No attack"
    verb = "lie" if len(above) > 1 else "lies"
    return Figure(
        spec,
        title,
        "Success of each attack on people in the data, with its interval, beside the same attack on people "
        f"who are not (control) and a plain guess. {found_above} {verb} above both, interval and all.",
        DataTable(
            ("attack", "success", "low", "high", "control", "plain guess", "the intruder knows"),
            rows, "Attack success", folded=True,
        ),
    )  # fmt: skip
