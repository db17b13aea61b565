"""demo: what exists so far, on simulated data, step by step."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.terminal import Terminal


def demo(
    terminal: Terminal,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Keep the files in this new folder.", show_default=False
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", min=2_000, help="How many discharges are simulated.")
    ] = 20_000,
) -> int:
    """Show what Sfumato does, on simulated hospital discharges, in half a minute (two the first time)."""
    from sfumato.cli.demo.stage import perform
    from sfumato.io.atomic import atomic_directory

    if out is not None:
        with atomic_directory(out) as folder:
            return perform(terminal, folder, rows, kept=out)
    with tempfile.TemporaryDirectory(prefix="sfumato-demo-") as name:
        return perform(terminal, Path(name), rows)
