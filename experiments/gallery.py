"""The pictures of docs/gallery.md, drawn small from the tables that the other experiments wrote.

    python experiments/gallery.py [--results experiments/results] [--out docs/gallery]

Reads what is there and says what is not; draws nothing of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

_ROOM = {"left": 30, "right": 40, "top": 5, "bottom": 5}  # a browser's letters may be wider
LARGEST = 60_000  # bytes of a picture: it is kept with the pages
_RECONSTRUCTED = ["MP", "ER", "ER + correction", "LUDIA"]
_SHAPE = ["centroid", "resample", "dither"]


def _line(
    x: str, y: str, colour: str, *, log: str = "", dash: str = "", facet: str = "", title: str = ""
) -> dict[str, Any]:
    """Points joined by lines; log: which axes are logarithmic; title: what y is, if not its name."""
    scale = {axis: {"type": "log"} if axis in log else {"zero": False} for axis in "xy"}
    encoding: dict[str, Any] = {
        "x": {"field": x, "type": "quantitative", "scale": scale["x"], "axis": {"grid": False}},
        "y": {
            "field": y,
            "aggregate": "mean",
            "title": title or y,
            "type": "quantitative",
            "scale": scale["y"],
        },
        "color": {"field": colour, "type": "nominal"},
    }
    if dash:
        encoding["strokeDash"] = {"field": dash, "type": "nominal"}
    if facet:
        encoding["facet"] = {"field": facet, "type": "nominal", "columns": 2, "title": None}
        encoding["y"]["scale"] = {"zero": True}
    return {"mark": {"type": "line", "point": {"size": 14}, "strokeWidth": 1.5}, "encoding": encoding}


def _market(row: dict[str, Any]) -> bool:
    return bool(row["market"] == "old" and row["coding"] == "dummy")


def _pegs(figure: str, measure: str) -> Any:
    """Of one panel: two parents, simulated discharges; a bootstrap has no epsilon to stand at."""

    def wanted(row: dict[str, Any]) -> bool:
        here = row["data"] == "discharges" and row["m"] == "2" and row["epsilon"] not in ("inf", "0.002")
        return bool(here and row["figure"] == figure and row["measure"] == measure)

    return wanted


PICTURES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "reidentification-by-k": (
        "reidentification_by_k",
        lambda r: True,
        _line("k", "frequency", "method", log="xy"),
    ),
    "market-bias": ("market_curves", _market, _line("k", "bias", "method", log="x", dash="shift")),
    "market-r2": ("market_curves", _market, _line("k", "r2", "method", log="x", dash="shift")),
    "market-similarity": (
        "market_curves",
        lambda r: _market(r) and r["shift"] == "counts" and r["method"] in _SHAPE,
        _line("k", "similarity", "method", log="x"),
    ),
    "pegs-marginals": (
        "pegs_risk_utility",
        _pegs("6 marginal", "mse"),
        _line("epsilon", "value", "method", log="xy", title="mean squared error"),
    ),
    "pegs-ranks": (
        "pegs_risk_utility",
        _pegs("8 marginal ranks", "kendall"),
        _line("epsilon", "value", "method", log="x", title="Kendall's tau"),
    ),
    "pegs-intruder": (
        "pegs_risk_utility",
        _pegs("12 intruder", "group missed"),
        _line("epsilon", "value", "method", log="x", title="guesses that miss"),
    ),
    "dsg-height": (
        "dsg/figure_19",
        lambda r: True,
        {
            "mark": "bar",
            "encoding": {
                "x": {
                    "field": "height",
                    "aggregate": "mean",
                    "title": "height lost, mean",
                    "type": "quantitative",
                },
                "y": {"field": "algorithm", "type": "nominal", "title": None, "sort": "x"},
            },
        },
    ),
    "dsg-cost": ("dsg/cost", lambda r: True, _line("combinations", "seconds", "search", log="xy")),
    "lugs-artificial": (
        "lugs",
        lambda r: r["keys"] != "original",
        _line("log_l", "artificial", "keys", title="rows that nobody has"),
    ),
    "lugs-auc": ("lugs", lambda r: r["keys"] != "original", _line("log_l", "auc", "keys")),
    "dpat-icu": (
        "dpat_icu",
        lambda r: r["claimed epsilon"] != "no noise",
        _line("claimed epsilon", "AUROC", "method", log="x"),
    ),
    "ludia-worlds": (
        "ludia_simulated",
        lambda r: r["method"] in _RECONSTRUCTED,
        _line("points per partition", "median MAE", "method", log="x", facet="world"),
    ),
}


def drawn(results: Path, out: Path) -> tuple[list[Path], list[str]]:
    """The pictures written, and the tables that were not there."""
    import vl_convert

    out.mkdir(parents=True, exist_ok=True)
    written, absent = [], []
    for name, (table, wanted, spec) in PICTURES.items():
        path = results / f"{table}.csv"
        if not path.exists():
            absent.append(path.name)
            continue
        with path.open(newline="", encoding="utf-8") as file:
            rows = [_plain(r) for r in csv.DictReader(file) if wanted(r)]
        size = {"width": 220, "height": 150} if "facet" in spec["encoding"] else {"width": 380, "height": 230}
        whole = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **size, **spec,
                 "padding": _ROOM, "data": {"values": rows}}  # fmt: skip
        picture = vl_convert.vegalite_to_svg(json.dumps(whole))
        if len(picture) > LARGEST:
            raise SystemExit(f"{name} takes {len(picture):,} bytes; {LARGEST:,} are the most.")
        (out / f"{name}.svg").write_text(picture, encoding="utf-8")
        written.append(out / f"{name}.svg")
    return written, sorted(set(absent))


def _plain(row: dict[str, str]) -> dict[str, Any]:
    def value(text: str) -> Any:
        try:
            return float(f"{float(text):.4g}")
        except ValueError:
            return text

    return {k: value(v) for k, v in row.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("experiments/results"))
    parser.add_argument("--out", type=Path, default=Path("docs/gallery"))
    parser.add_argument("--quick", action="store_true", help="as the other scripts; nothing changes")
    given = parser.parse_args()
    done, missing = drawn(given.results, given.out)
    print(f"{len(done)} pictures written to {given.out}.")
    if missing:
        print(f"Not there yet: {', '.join(missing)}.")
