"""What the experiments share: their options, and tables and pictures in a folder that is not committed."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def options(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a few seconds: fewer repeats and sizes")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where tables and pictures go")
    parser.add_argument("--repeats", type=int, default=None, help="other than the script's own number")
    return parser.parse_args()


def save_table(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """CSV, and Markdown beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(rows[0])
    with open(path.with_suffix(".csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    path.with_suffix(".md").write_text(markdown(rows), encoding="utf-8")


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row[n]) for n in names) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def save_picture(spec: Mapping[str, Any], path: Path, scale: float = 1.5) -> None:
    """A Vega-Lite picture as PNG, drawn without a network."""
    import vl_convert

    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".png").write_bytes(vl_convert.vegalite_to_png(json.dumps(spec), scale=scale))
