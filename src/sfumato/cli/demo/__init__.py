"""demo: what exists so far, on simulated data, step by step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.terminal import Terminal


def command(run: Callable[[Sequence[str]], int]) -> Callable[..., int]:
    """The command. run: the command line it is part of, through which it shows the other commands."""

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
        ] = 6_000,
    ) -> int:
        """Show what Sfumato does, on simulated hospital discharges, in half a minute (two the first time)."""
        from sfumato.cli.demo.performance import perform
        from sfumato.cli.demo.stage import Stage
        from sfumato.io.atomic import atomic_directory

        spoken = not (terminal.json or terminal.quiet)
        if out is not None:
            with atomic_directory(out) as folder:
                return perform(Stage(terminal, run, folder, rows, spoken), kept=out)
        with tempfile.TemporaryDirectory(prefix="sfumato-demo-") as name:
            return perform(Stage(terminal, run, Path(name), rows, spoken))

    return demo
