"""Wei and others, figures 3 to 10: MEPS 2004."""

from __future__ import annotations

from collections.abc import Callable

from pictures.marks import Picture, Row, Spec, bars, folded, lines, name, number, panels

_METHODS = ("centroid", "resample", "dither")
_SIDE_BY_SIDE = {"centroid": "centroids", "resample": "resampling", "dither": "dither"}
_K = number("k", log=True, ticks=(2, 10, 100, 1000))
_PANELS = {
    ("dummy", "bias"): "(a) bias in %, dummies", ("dummy", "r2"): "(b) R², dummies",
    ("numeric", "bias"): "(c) bias in %, numeric", ("numeric", "r2"): "(d) R², numeric",
    ("dummy", "similarity"): "(e) similarity",
}  # fmt: skip


def _same_market(rows: list[Row]) -> list[Row]:
    here = [r for r in rows if r["market"] == "same" and r["shift"] == "none"]
    long = folded(here, {f: f for f in ("bias", "r2", "similarity")})
    return [
        {**r, "what": _PANELS[r["coding"], r["what"]]} for r in long if (r["coding"], r["what"]) in _PANELS
    ]


def _shifted(codings: tuple[str, ...]) -> Callable[[list[Row]], list[Row]]:
    def chosen(rows: list[Row]) -> list[Row]:
        here = [r for r in rows if r["market"] == "old" and r["coding"] in codings]
        many = len(codings) > 1
        return [{**r, "what": _SIDE_BY_SIDE[r["method"]] + f", {r['coding']}" * many} for r in here]

    return chosen


def _by_method(value: str, title: str, codings: tuple[str, ...]) -> Picture:
    """The three methods side by side, a colour for each way to weigh for the shift."""
    many = len(codings) > 1
    order = [m + f", {c}" * many for c in codings for m in _SIDE_BY_SIDE.values()]
    weights = name("shift", "weights", order=("none", "logistic", "counts"))
    drawing = lines(_K, number(value, title), weights, points=not many)
    spec = panels(drawing, "what", columns=3, order=order, free="y" if many else "", width=160, height=130)
    return Picture("market_curves", spec, _shifted(codings))


def _histogram(field: str, title: str) -> Spec:
    """Bars from one edge to the next, which are in the table already."""
    spec = bars(number(field, title, bin={"binned": True}), number("classes", zero=True))
    return {**spec, "encoding": {**spec["encoding"], "x2": {"field": "to"}}}


def _edged(field: str) -> Callable[[list[Row]], list[Row]]:
    """Twenty bars for each k, over 1.5 / k."""

    def chosen(rows: list[Row]) -> list[Row]:
        methods = [f", {r['method']}" if "method" in r else "" for r in rows]
        return [
            {**r, "what": f"k = {r['k']:g}{m}", "to": r[field] + 1.5 / r["k"] / 20}
            for r, m in zip(rows, methods, strict=True)
        ]

    return chosen


PICTURES = {
    "wei-classes": Picture(
        "reidentification_classes",
        panels(
            _histogram("frequency", "found, share of plays"),
            "what", columns=3, order=[f"k = {k}, {m}" for k in (5, 10) for m in _METHODS], free="xy",
            width=150, height=100,
        ),
        _edged("frequency"),
    ),
    "wei-differences": Picture(
        "reidentification_differences",
        panels(
            _histogram("difference", "found: resampling less centroids"),
            "what", order=("k = 5", "k = 10"), free="x", height=110,
        ),
        _edged("difference"),
    ),
    "reidentification-by-k": Picture(
        "reidentification_by_k",
        lines(_K, number("frequency", "found, share of plays", log=True), name("method")),
    ),
    "market-same": Picture(
        "market_curves",
        panels(lines(_K, number("value", " "), name("method", order=_METHODS)), "what", columns=3,
               order=sorted(_PANELS.values()), free="y", width=160, height=130),
        _same_market,
    ),
    "market-bias": _by_method("bias", "bias, %", ("dummy", "numeric")),
    "market-r2": _by_method("r2", "R²", ("dummy", "numeric")),
    "market-similarity": _by_method("similarity", "similarity", ("dummy",)),
}  # fmt: skip
