"""What intruders reach, beside what they reach on people who are not in the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from sfumato.errors import ParameterError
from sfumato.report.contents import DataTable, Figure
from sfumato.report.figures.common import Spec, in_expression, short
from sfumato.report.palette import CONTROL, INK, MUTED, RELEASED
from sfumato.report.words import clean, number
from sfumato.score import Score

_KINDS = ["attack", "control", "plain guess"]
_COLOURS = [RELEASED, CONTROL, MUTED]
_SHAPES = ["circle", "diamond", "square"]
_LETTERS = 54  # of a name: beside its lanes where the page is wide, above them where it is narrow
_ABOVE, _LANES = 22, 30  # pixels for a name above its lanes, and for these
_NARROW = 300  # pixels of the drawing on a narrow screen


def attacks(scores: Sequence[Score], *, title: str = "Attacks against their controls") -> Figure:
    """How often each attack succeeds, with its interval, beside its control and a plain guess.

    Successes that are shares (0 to 1) have one axis; attacks on another scale are drawn only if all are.
    """
    known = [s for s in scores if s.section == "attack" and math.isfinite(s.value)]
    tried = [s for s in known if s.range == (0, 1)] or known
    if not tried:
        raise ParameterError("there is no attack with a value to draw.", hint="give scores of attacks")
    points = [point for i, s in enumerate(tried) for point in _points(i, s)]
    spans = [
        {"i": i, "of": "attack", "low": s.low, "high": s.high}
        for i, s in enumerate(tried)
        if s.low is not None and s.high is not None
    ]
    above = [s for s in tried if s.low is not None and s.low > max(_known(s.control), _known(s.baseline))]
    found = f"{len(above)} of {len(tried)} attacks" if above else "No attack"
    rows = [(s.name, s.value, s.low, s.high, s.control, s.baseline, s.knowledge) for s in tried]
    columns = ("attack", "success", "low", "high", "control", "plain guess", "the intruder knows")
    return Figure(
        _spec(tried, points, spans, beside=True),
        title,
        "Success of each attack on people in the data, with its interval, beside the same attack on people "
        "who are not (control) and a plain guess. "
        f"{found} {'lie' if len(above) > 1 else 'lies'} above both, interval and all.",
        DataTable(columns, rows, "Attack success", folded=True, words=(0, 6)),
        narrow=_spec(tried, points, spans, beside=False),
    )


def _known(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else 0.0


def _points(i: int, s: Score) -> Iterator[dict[str, Any]]:
    """What is drawn in the three lanes of one attack."""
    spread = "" if s.low is None else f", interval {number(s.low)} to {number(s.high)}"
    lanes = (
        (s.value, f"{number(s.value)}{spread}. The intruder knows {s.knowledge}"),
        (s.control, f"{number(s.control)} on people not in the data"),
        (s.baseline, f"{number(s.baseline)} by a plain guess"),
    )
    for of, (value, says) in zip(_KINDS, lanes, strict=True):
        if value is not None and math.isfinite(value):
            yield {"i": i, "of": of, "value": value, "says": clean(f"{s.name}: {says}")}


def _spec(
    tried: list[Score], points: list[dict[str, Any]], spans: list[dict[str, Any]], *, beside: bool
) -> Spec:
    """Three lanes for each attack. beside: its name stands beside the lanes, else above them."""
    shown = [short(clean(s.name), _LETTERS if beside else _LETTERS - 2) for s in tried]
    wider = 14 + max(map(len, shown))  # pixels: a reader's letters may be wider than ours
    names = in_expression(shown)
    axis: Spec = {"labelExpr": f"{names}[datum.value]", "title": None, "grid": True, "gridOpacity": 0.6}
    if not beside:
        axis |= {"labelAlign": "left", "labelPadding": -2, "labelOffset": -_LANES / 2 - 10, "labelColor": INK}
        axis |= {"grid": False, "labelFontSize": 10}
    values = [p["value"] for p in points] + [d["high"] for d in spans]
    scale = {"domainMin": min([0.0, *values]), "nice": True}
    if 0.6 < max(values) <= 1:
        scale["domainMax"] = 1
    across = {"title": "success", "tickCount": 5}
    if tried[0].range == (0, 1):
        across = {"title": "share of attempts that succeed", "format": "~%", "tickCount": 5}
    x = {"type": "quantitative", "scale": scale, "axis": across}
    of = {"field": "of", "type": "nominal"}
    legend = {
        "title": None,
        "orient": "top",
        "offset": 18 if beside else 26,
        "symbolSize": 90,
        "symbolOpacity": 1,
    }
    above = {"paddingInner": _ABOVE / (_ABOVE + _LANES), "paddingOuter": 0, "align": 1}
    gaps = {"paddingInner": 0.25} if beside else above
    at = {
        "y": {
            "field": "i",
            "type": "ordinal",
            "axis": axis,
            "scale": gaps,
        },
        "yOffset": {**of, "sort": _KINDS, "scale": {"domain": _KINDS}},
    }
    band: Spec = {"type": "rule", "strokeWidth": 6, "opacity": 0.38, "strokeCap": "round", "aria": False}
    return {
        "width": 560 if beside else _NARROW,
        "padding": {"left": wider if beside else 4, "top": 5, "right": 5, "bottom": 5},
        "height": (30 if beside else _ABOVE + _LANES) * len(tried),
        "layer": [
            {
                "data": {"values": spans},
                "mark": {**band, "color": RELEASED},
                "encoding": {**at, "x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 64, "opacity": 1},
                "encoding": {
                    **at,
                    "x": {**x, "field": "value"},
                    "color": {**of, "legend": legend, "scale": {"domain": _KINDS, "range": _COLOURS}},
                    "shape": {**of, "legend": legend, "scale": {"domain": _KINDS, "range": _SHAPES}},
                    "description": {"field": "says"},
                },
            },
        ],
    }
