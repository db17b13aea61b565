"""What intruders reach, beside what they reach on people who are not in the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.report.figures.common import FILES, Spec, floats, in_expression, percent, shares
from sfumato.report.page import DataTable, Figure
from sfumato.report.palette import CONTROL, MUTED, PAPER, RELEASED
from sfumato.report.words import clean, number
from sfumato.score import Score


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
            spans.append({**what, "low": s.low, "high": s.high})
        found = [("attack", s.value, said), ("control", s.control, f"{s.name}: on people not in the data")]
        for of, value, says in [*found, ("plain guess", s.baseline, f"{s.name}: a plain guess")]:
            if value is not None:
                says = says if of == "attack" else f"{says}: {number(value)}"
                points.append({**what, "of": of, "value": value, "says": clean(says)})
        rows.append((s.name, s.value, s.low, s.high, s.control, s.baseline, s.knowledge))
    above = [s.name for s in tried if s.low is not None and s.low > max(s.control or 0, s.baseline or 0)]
    y = {"field": "i", "type": "ordinal", "axis": {
        "labelExpr": f"{in_expression([clean(s.name) for s in tried])}[datum.value]", "title": None, "labelLimit": 190}}
    scale = {"domain": [min(0.0, *(s.range[0] for s in tried if np.isfinite(s.range[0])), 0.0),
                        max(1.0, *(p["value"] for p in points), *(d["high"] for d in spans))]}
    x = {"type": "quantitative", "scale": scale, "axis": {"title": "success", "tickCount": 5}}
    if scale["domain"] == [0.0, 1.0]:
        x["axis"] = {"title": "share of attempts that succeed", "format": ".0%", "tickCount": 5}
    kinds = ["attack", "control", "plain guess"]
    legend = {"title": None, "orient": "top", "symbolSize": 90}
    colour = {"field": "of", "type": "nominal", "legend": legend,
              "scale": {"domain": kinds, "range": [RELEASED, CONTROL, MUTED]}}
    shape = {"field": "of", "type": "nominal", "legend": legend,
             "scale": {"domain": kinds, "range": ["circle", "diamond", "stroke"]}}
    spec: Spec = {
        "width": 380,
        "height": {"step": 34},
        "layer": [
            {"data": {"values": spans}, "mark": {"type": "rule", "strokeWidth": 6, "opacity": 0.35,
             "strokeCap": "round", "color": RELEASED, "aria": False},
             "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {"data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1,
             "stroke": PAPER, "strokeWidth": 1},
             "encoding": {"y": y, "x": {**x, "field": "value"}, "color": colour, "shape": shape,
                          "description": {"field": "says"}}},
        ],
    }  # fmt: skip
    found_above = f"{len(above)} of {len(tried)} attacks" if above else "No attack"
    verb = "lie" if len(above) > 1 else "lies"
    return Figure(
        spec,
        title,
        "Success of each attack on people in the data, with its interval, beside the same attack on people "
        f"who are not (control) and a plain guess. {found_above} {verb} above both by more than its interval.",
        DataTable(
            ("attack", "success", "low", "high", "control", "plain guess", "the intruder knows"),
            rows, "Attack success", folded=True,
        ),
    )  # fmt: skip
