"""The pictures of docs/gallery.md, drawn small from the tables that the other experiments wrote.

    python experiments/gallery.py [--results experiments/results] [--out docs/gallery]

Reads what is there and says what is not; computes nothing of its own. What is drawn stands in `pictures`.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from pictures import PICTURES
from pictures.marks import Picture, Row

_ROOM = {"left": 30, "right": 40, "top": 5, "bottom": 5}  # a browser's letters may be wider
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_CONFIG = {  # shown as an image, which the page describes
    "aria": False,
    "axisQuantitative": {"labelOverlap": "greedy", "labelSeparation": 5, "tickCount": 5},
    "axisLeft": {"titlePadding": 14},
}
LARGEST = 60_000  # bytes of a picture: it is kept with the pages


def drawn(results: Path, out: Path) -> tuple[list[Path], list[str]]:
    """The pictures written, and the tables that were not there."""
    import vl_convert

    out.mkdir(parents=True, exist_ok=True)
    written, absent = [], []
    for name, picture in PICTURES.items():
        path = results / (picture.table if "." in picture.table else f"{picture.table}.csv")
        if not path.exists():
            absent.append(path.name)
            continue
        whole = {"$schema": _SCHEMA, **drawing(picture, path), "padding": _ROOM, "config": _CONFIG}
        svg = _shorter(vl_convert.vegalite_to_svg(json.dumps(whole)))
        if len(svg) > LARGEST:
            raise SystemExit(f"{name} takes {len(svg):,} bytes; {LARGEST:,} are the most.")
        (out / f"{name}.svg").write_text(svg, encoding="utf-8")
        written.append(out / f"{name}.svg")
    return written, sorted(set(absent))


def drawing(picture: Picture, path: Path) -> dict[str, Any]:
    """A drawing with its rows; one that an experiment wrote has them already."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return dict(json.loads(text))
    rows = picture.rows([_plain(r) for r in csv.DictReader(text.splitlines())])
    used = _fields(picture.spec)
    values = [{k: v for k, v in r.items() if k in used} for r in rows]
    encoding = dict(picture.spec["encoding"])
    if "facet" in encoding and not encoding["facet"]["sort"]:  # panels in the order of the table
        encoding["facet"] = {
            **encoding["facet"],
            "sort": list(dict.fromkeys(r[encoding["facet"]["field"]] for r in rows)),
        }
    return {**picture.spec, "encoding": encoding, "data": {"values": values}}


def _shorter(svg: str) -> str:
    """Places to a hundredth of a pixel: the same to the eye, in fewer bytes. Labels are left alone."""

    def rounded(attribute: re.Match[str]) -> str:
        return re.sub(r"-?\d+\.\d{3,}(e-?\d+)?", lambda n: f"{round(float(n[0]), 2):g}", attribute[0])

    return re.sub(r' (d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"', rounded, svg)


def _fields(spec: Any) -> set[str]:
    """The fields that a drawing names."""
    if isinstance(spec, list):
        return {f for part in spec for f in _fields(part)}
    if not isinstance(spec, dict):
        return set()
    return {v for k, v in spec.items() if k == "field"} | {f for v in spec.values() for f in _fields(v)}


def _plain(row: dict[str, str]) -> Row:
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
