"""The demo as it is played: all steps one after the other, and what was seen at the end."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.demo.stage import Compilation, DemoStep, Stage
from sfumato.cli.demo.steps import STEPS


def perform(stage: Stage, kept: Path | None = None) -> int:
    """Play all steps, then one screen that sums up. kept: where the files will be afterwards."""
    start = time.perf_counter()
    done: list[tuple[DemoStep, str]] = []
    with Compilation() as stage.compilation, _witness_of_its_own():
        for number, step in enumerate(STEPS, 1):
            stage.show("", Rule(Text(f" {number} of {len(STEPS)}: {step.title} ", "bold"), align="left"))
            stage.show(Text(step.why, "italic"), "")
            done.append((step, step.play(stage)))
    seconds = time.perf_counter() - start
    kept_as = f"The files are in {kept}: open report.html and map.html."
    where = kept_as if kept else "The files were temporary; --out DIR keeps them, reports too."
    plain = {
        "steps": [{"title": s.title, "result": result} for s, result in done],
        "seconds": round(seconds, 1),
        "folder": None if kept is None else str(kept),
        "mishaps": stage.mishaps,
    }
    stage.terminal.result(["", _summary(done, stage, seconds, where)], plain)
    return 1 if stage.mishaps else 0


@contextmanager
def _witness_of_its_own() -> Iterator[None]:
    """What ledgers remember of simulated people ends with the demo: it can be played again."""
    name = "SFUMATO_STATE"
    before = os.environ.get(name)
    with tempfile.TemporaryDirectory(prefix="sfumato-demo-state-") as folder:
        os.environ[name] = folder
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


def _summary(done: list[tuple[DemoStep, str]], stage: Stage, seconds: float, where: str) -> Panel:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", overflow="fold", ratio=2)
    grid.add_column(overflow="fold", ratio=5)
    for step, result in done:
        grid.add_row(step.title, result)
    words = Text(
        f"\n{len(done)} steps in {seconds:.1f} s on {stage.rows:,} simulated discharges. {where}", "dim"
    )
    faults = [Text(m, "bold red") for m in stage.mishaps]
    inside = Grid.grid()
    parts: list[RenderableType] = [grid, words, *faults]
    for part in parts:
        inside.add_row(part)
    return Panel(Padding(inside, (0, 1)), title="What you have seen", border_style="green")
