"""What intruders reach, beside what they reach on people who are not in the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from sfumato.errors import ParameterError
from sfumato.report.contents import DataTable, Figure
from sfumato.report.figures.common import Spec, in_expression, short
from sfumato.report.palette import CONTROL, MUTED, RELEASED
from sfumato.report.words import clean, number
from sfumato.score import Score

_KINDS = ["attack", "control", "plain guess"]
_COLOURS = [RELEASED, CONTROL, MUTED]
_SHAPES = ["circle", "diamond", "square"]
_LETTERS = 30  # of a line


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
        _spec(tried, points, spans),
        title,
        "Success of each attack on people in the data, with its interval, beside the same attack on people "
        "who are not (control) and a plain guess. "
        f"{found} {'lie' if len(above) > 1 else 'lies'} above both, interval and all.",
        DataTable(columns, rows, "Attack success", folded=True),
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


def _lines(name: str) -> list[str]:
    """A name in two lines: attacks of one kind differ in their last words."""
    first, *rest = wrap(name, _LETTERS, break_on_hyphens=False) or [""]
    return [short(first, _LETTERS), short(" ".join(rest), _LETTERS)] if rest else [first]


def _spec(tried: list[Score], points: list[dict[str, Any]], spans: list[dict[str, Any]]) -> Spec:
    names = ",".join(in_expression(_lines(clean(s.name))) for s in tried)
    axis = {"labelExpr": f"[{names}][datum.value]", "title": None, "grid": True}
    values = [p["value"] for p in points] + [d["high"] for d in spans]
    scale = {"domainMin": min([0.0, *values]), "nice": True}
    if 0.6 < max(values) <= 1:
        scale["domainMax"] = 1
    across = {"title": "success", "tickCount": 5}
    if tried[0].range == (0, 1):
        across = {"title": "share of attempts that succeed", "format": "~%", "tickCount": 5}
    x = {"type": "quantitative", "scale": scale, "axis": across}
    of = {"field": "of", "type": "nominal"}
    legend = {"title": None, "orient": "top", "symbolSize": 90, "symbolOpacity": 1}
    at = {
        "y": {"field": "i", "type": "ordinal", "axis": axis, "scale": {"paddingInner": 0.25}},
        "yOffset": {**of, "sort": _KINDS, "scale": {"domain": _KINDS}},
    }
    band = {"type": "rule", "strokeWidth": 6, "opacity": 0.38, "strokeCap": "round", "aria": False}
    return {
        "width": 330,
        "padding": {"left": 28, "top": 5, "right": 5, "bottom": 5},  # a reader's letters may be wider
        "height": 46 * len(tried),
        "layer": [
            {
                "data": {"values": spans},
                "mark": {**band, "color": RELEASED},
                "encoding": {**at, "x": {**x, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
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
