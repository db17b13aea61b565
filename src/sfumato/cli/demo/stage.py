"""What a step of the demo stands on: it shows a title, why, the command, and the result."""

from __future__ import annotations

import io
import shlex
import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table as Grid
from rich.text import Text

from sfumato.cli.demo.compilation import compiling
from sfumato.cli.terminal import Terminal


@dataclass(frozen=True)
class DemoStep:
    """One thing worth showing. play: does it and gives back what came out, in one line."""

    title: str
    why: str
    play: Callable[[Stage], str]


@dataclass
class Stage:
    """The folder a demo plays in, and its voice. compiled: waits for kernels that are compiled meanwhile."""

    terminal: Terminal
    folder: Path
    rows: int
    spoken: bool = True
    mishaps: list[str] = field(default_factory=list)
    compiled: Callable[[], object] = lambda: None

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def show(self, *parts: RenderableType) -> None:
        """Print, unless only the summary is wanted."""
        if self.spoken:
            for part in parts:
                self.terminal.out.print(part)

    def command(self, *words: str | Path | int, expect: int = 0) -> None:
        """Show a command as a user would type it in the folder, and run it through the real entry point."""
        from sfumato.cli.app import run

        typed = shlex.join(str(w.relative_to(self.folder)) if isinstance(w, Path) else str(w) for w in words)
        self.show(Text(f"$ sfumato {typed}", "bold cyan"))
        silent = io.StringIO()
        with (
            nullcontext() if self.spoken else redirect_stdout(silent),
            nullcontext() if self.spoken else redirect_stderr(silent),
        ):
            code = run([str(w) for w in words])
        if code == 130:  # the command has said so already; the demo stops with it
            raise KeyboardInterrupt
        if code != expect:
            self.mishaps.append(f"sfumato {words[0]} ended with {code} instead of {expect}")

    def code(self, text: str) -> None:
        """Show what a user would write in Python."""
        self.show(Syntax(text.strip(), "python", theme="ansi_dark", background_color="default"))


def perform(terminal: Terminal, folder: Path, rows: int, kept: Path | None = None) -> int:
    """Play all steps, then one screen that sums up."""
    from sfumato.cli.demo.steps import STEPS

    stage = Stage(terminal, folder, rows, spoken=not (terminal.json or terminal.quiet))
    start = time.perf_counter()
    done: list[tuple[DemoStep, str]] = []
    with compiling() as stage.compiled:
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
    terminal.result(["", _summary(done, stage, seconds, where)], plain)
    return 1 if stage.mishaps else 0


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
