"""The dissertation: chapter 2 on simulated births, 4 on worlds and charges, 5 on Pima and simulated stays."""

from __future__ import annotations

from typing import Any

from pictures.marks import WHOLE, Picture, Row, bars, dots, lines, name, number, panels, some, where

_RECONSTRUCTED = ("MP", "ER", "LUDIA")
_RESPONSES = {"los_days": "days of stay", "charge_usd": "charge, dollars"}
_RELEASES = {
    "as it is": "as it is",
    "one level for all, 4% suppressed at most": "one level for all",
    "each record by itself": "each record by itself",
}


def _tiles(rows: list[Row]) -> list[Row]:
    small = {True: "1 or 2 records", False: "3 or more"}
    return [{**r, "release": _RELEASES[r["release"]], "tile": small[r["records"] < 3]} for r in rows]


def _counties(rows: list[Row]) -> list[Row]:
    """Every third county, the same for each method: all of them hide one another."""
    kept = sorted({r["county"] for r in rows})[::3]
    return [r for r in rows if r["county"] in kept]


def _noisy(rows: list[Row], epsilon: str, none: str, level: str) -> list[Row]:
    """Methods that have an epsilon, on the data of the figure, and a level line for one that has none."""
    drawn = [r for r in rows if r[epsilon] != none and "," not in r["method"]]
    flat = [r for r in rows if r["method"] == level]
    ends = {end(r[epsilon] for r in drawn) for end in (min, max)}
    return drawn + [{**r, epsilon: e} for r in flat for e in sorted(ends)]


def _reconstructions(table: str, rows: Any, **more: Any) -> Picture:
    spec = dots(number("original"), number("reconstructed"), size=10)
    return Picture(table, panels(spec, "method", columns=3, width=150, height=130, **more), rows)


PICTURES = {
    "births-scatter": Picture(
        "publishing_scatter",
        panels(dots(number("days", "days of stay", zero=True), number("charge", "dollars", zero=True)),
               "data", free="y"),
        lambda rows: some(rows, "data", 160),
    ),
    "births-duplicates": Picture(
        "publishing_duplicates",
        bars({"field": "shared by", "type": "ordinal", "title": "how many records have all five values",
              "axis": {"labelAngle": 0}}, number("records", zero=True)) | {"height": 150},
    ),
    "births-areas": Picture(
        "publishing_areas",
        panels(bars({**name("area", None), "axis": {"labelAngle": -60}}, number("records", zero=True)),
               "level", free="xy", height=120),
    ),
    "births-mosaic": Picture(
        "publishing_mosaic",
        panels(
            {
                "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.6},
                "encoding": {
                    "x": number("left", "payment: share of records", zero=True), "x2": {"field": "right"},
                    "y": number("low", "ZIP area: share within", zero=True), "y2": {"field": "high"},
                    "color": name("tile", "combination of", order=("3 or more", "1 or 2 records")),
                },
            },
            "release", columns=3, order=tuple(_RELEASES.values()), width=170, height=170,
        ),
        _tiles,
    ),
    "births-fitted": Picture(
        "publishing_fitted",
        panels(dots(number("original", zero=True), number("fitted", zero=True)), "model", free="xy"),
        lambda rows: [{**r, "model": _RESPONSES[r["model"]]} for r in rows],
    ),
    "ludia-worlds": Picture(
        "ludia_simulated",
        panels(lines(number("points per partition", log=True, ticks=(10, 50, 100, 500)),
                     number("median MAE", zero=True), name("method", order=_RECONSTRUCTED)), "world"),
        where(method=_RECONSTRUCTED),
    ),
    "ludia-starts": _reconstructions("ludia_starts", lambda rows: some(rows, "method", 40)),
    "ludia-charges": _reconstructions(
        "ludia_points", lambda rows: some(rows, "method", 65)
    ),
    "ludia-daily": Picture(
        "ludia_daily_bars",
        {
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.3},
            "encoding": {"x": number("dollars a day", zero=True), "color": name("method"),
                         "y": number("share", "share of stays", zero=True)},
            **WHOLE,
        },
    ),
    "ludia-counties": Picture(
        "ludia_county_lines",
        panels(
            {
                "mark": {"type": "line", "strokeWidth": 0.9, "opacity": 0.7},
                "encoding": {"x": number("log stay"), "y": number("log charge"), "detail": name("county")},
            },
            "method", columns=5, width=105, height=130,
        ),
        _counties,
    ),
    "ludia-lasso": Picture(
        "ludia_lasso",
        bars(number("MAE", "mean absolute error of the log charge, held-out fifth", zero=True),
             {**name("trained on"), "sort": "x"}) | {"height": 120},
    ),
    "dpat-tree": Picture("dpat_pima_tree.json", {}),
    "dpat-structure": Picture("dpat_pima_structure.json", {}),
    "dpat-gains": Picture(
        "dpat_pima_gains",
        panels(
            {
                "mark": {"type": "bar", "height": 4},
                "encoding": {"x": number("least", "gain, from least to largest", zero=True),
                             "x2": {"field": "largest"}, "y": {**name("variable", None), "sort": "-x"}},
            },
            "node", free="x", height=130,
        ),
    ),
    "dpat-pima": Picture(
        "dpat_pima",
        lines(number("epsilon", "epsilon (DPaT, EDPaT: claimed for a call)", log=True, ticks=(0.1, 1, 10)),
              number("AUROC"), name("method")),
        lambda rows: _noisy(rows, "epsilon", "none", "C4.5 (not private)"),
    ),
    "dpat-roc": Picture(
        "dpat_pima_roc",
        lines(number("false positives", zero=True), number("true positives", zero=True), name("method"),
              points=False),
    ),
    "dpat-icu": Picture(
        "dpat_icu",
        lines(number("claimed epsilon", log=True, ticks=(0.01, 0.1, 1, 10)), number("AUROC"), name("method")),
        lambda rows: _noisy(rows, "claimed epsilon", "no noise", "C4.5, 20 rows a leaf"),
    ),
}  # fmt: skip
