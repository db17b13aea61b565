"""The command line through its real entry point, with a cell that must never be shown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
CANARY = "zebra-7319"


@dataclass(frozen=True)
class Answer:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


Sfumato = Callable[..., Answer]


def environment() -> dict[str, str]:
    """For a process of its own that sees this source tree."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "100", "NO_COLOR": "1"}


def process(*arguments: object, cwd: Path, before: tuple[str, ...] = ()) -> Answer:
    """The command in a process of its own."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "sfumato", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=cwd,
        timeout=120,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def everything(folder: Path) -> set[str]:
    """All files and folders, hidden ones too."""
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*")}
