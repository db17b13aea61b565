"""drift: whether those who are asked about still look like those before, from noisy histograms."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.terminal import Terminal
from sfumato.errors import DataError

_WORDS = {True: "changed", False: "not seen", None: "too few"}


def drift(
    terminal: Terminal,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="As `serve --drift` keeps it.")] = Path(
        "sfumato.drift"
    ),
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="One model only.")] = "",
) -> None:
    """Show how what a service is asked changes from period to period, from noisy histograms alone."""
    from sfumato.privacy import Guarantee
    from sfumato.service.drift import Histograms, report

    if not file.exists():
        raise DataError(f"no file {file.name}.", hint="sfumato serve --drift-ledger LEDGER makes it")
    with closing(Histograms(file, create=False)) as histograms:
        told = [report(histograms, name) for name in histograms.models if model in ("", name)]
    lines: list[Text | Grid] = []
    for about in told:
        changed = sorted({f for p in about["periods"] for f, x in p["features"].items() if x["changed"]})
        against = {p["held_against"] for p in about["periods"] if not p["baseline"]}
        since = "not as those it was fitted on" if against == {"fitted"} else "changed since the first period"
        verdict = f"{since}: {', '.join(changed)}" if changed else "no change was seen"
        lines.append(
            Text.assemble((about["model"], "bold"), f": {verdict}.", style="yellow" if changed else "")
        )
        grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for title in (
            "Period from",
            "Version",
            "Requests, about",
            "Epsilon",
            "Feature",
            "Distance",
            "Change",
        ):
            grid.add_column(title)
        for period in about["periods"]:
            if period["baseline"]:
                grid.add_row(
                    period["start"], period["version"], str(period["requests"]), f"{period['epsilon']:g}",
                    "all", "", "baseline",
                )  # fmt: skip
                continue
            for name, found in period["features"].items():
                grid.add_row(
                    period["start"], period["version"], str(period["requests"]), f"{period['epsilon']:g}",
                    name, f"{found['distance']:.2f}", _WORDS[found["changed"]],
                )  # fmt: skip
        lines.append(grid)
        whole = Guarantee.from_json(json.dumps(about["guarantee"]))
        lines.append(Text(f"All periods together: {'; '.join(c.title for c in whole)}."))
    terminal.result(lines or Text("No period has ended yet."), told)
