"""A table as Markdown and CSV, and a Vega-Lite picture as PNG, into the folder asked for."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any


def arguments(about: str, **more: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="few repeats, to see that it runs")
    parser.add_argument("--repeats", type=int, help="fewer (or more) splits or trials than the paper's")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    for name, words in more.items():
        parser.add_argument(f"--{name}", default="", help=words)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def table(rows: list[dict[str, Any]], out: Path, name: str) -> str:
    with (out / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    head = "| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]) + "\n"
    body = "".join("| " + " | ".join(_shown(v) for v in row.values()) + " |\n" for row in rows)
    (out / f"{name}.md").write_text(head + body)
    return head + body


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def picture(spec: dict[str, Any], rows: list[dict[str, Any]], out: Path, name: str) -> None:
    import vl_convert

    whole = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": rows}, "config": {"view": {"stroke": None}}, **spec,
    }  # fmt: skip
    (out / f"{name}.png").write_bytes(vl_convert.vegalite_to_png(json.dumps(whole), scale=2))
