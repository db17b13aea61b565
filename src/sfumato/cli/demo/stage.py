"""What a step of the demo stands on: it shows a title, why, the command, and the result."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from rich.console import RenderableType
from rich.syntax import Syntax
from rich.text import Text

from sfumato.cli.exit_codes import INTERRUPTED
from sfumato.cli.terminal import Terminal


@dataclass(frozen=True)
class DemoStep:
    """One thing worth showing. play: does it and gives back what came out, in one line."""

    title: str
    why: str
    play: Callable[[Stage], str]


class Compilation:
    """Compiles in another process from `start` on, at the latest until the block ends."""

    def __init__(self) -> None:
        self._other: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Once numba is loaded here: two processes that load it first would each compile its bytecode."""
        silent = subprocess.DEVNULL
        command = [sys.executable, "-m", "sfumato.cli.demo.compilation"]
        self._other = subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent)

    def wait(self) -> None:
        """Until what was started is done."""
        if self._other is not None:
            self._other.wait()

    def __enter__(self) -> Compilation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._other is not None:
            self._other.kill()  # nothing half-written stays: numba puts whole files in place
            self._other.wait()


@dataclass
class Stage:
    """The folder a demo plays in, and its voice.

    run: the command line, as `sfumato.cli.app.run`. compilation: of kernels that later steps need.
    """

    terminal: Terminal
    run: Callable[[Sequence[str]], int]
    folder: Path
    rows: int
    spoken: bool = True
    mishaps: list[str] = field(default_factory=list)
    compilation: Compilation = field(default_factory=Compilation)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def show(self, *parts: RenderableType) -> None:
        """Print, unless only the summary is wanted."""
        if self.spoken:
            for part in parts:
                self.terminal.out.print(part)

    def command(self, *words: str | Path | int, expect: int = 0, draft: bool = False) -> None:
        """Show a command as a user would type it in the folder, and run it through the real entry point.

        draft: it may also end with 1, as where a release misses a limit and is a draft.
        """
        typed = shlex.join(str(w.relative_to(self.folder)) if isinstance(w, Path) else str(w) for w in words)
        self.show(Text(f"$ sfumato {typed}", "bold cyan"))
        silent = io.StringIO()
        with (
            nullcontext() if self.spoken else redirect_stdout(silent),
            nullcontext() if self.spoken else redirect_stderr(silent),
        ):
            code = self.run([str(w) for w in words])
        if code == INTERRUPTED:  # the command has said so already; the demo stops with it
            raise KeyboardInterrupt
        if code != expect and not (draft and code == 1):
            self.mishaps.append(f"sfumato {words[0]} ended with {code} instead of {expect}")

    def code(self, text: str) -> None:
        """Show what a user would write in Python."""
        self.show(Syntax(text.strip(), "python", theme="ansi_dark", background_color="default"))
