"""The command line through its real entry point, with a cell that must never be shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

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


# Found by every interpreter at its start, those that a command starts in turn too.
_FINDER = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {hidden!r} else super().find_spec(name, path, target)

sys.meta_path = [Finder if f is PathFinder else f for f in sys.meta_path]
"""


def environment_of(lock: Path, folder: Path) -> dict[str, str]:
    """As if nothing but this package and what a lock lists were installed; the folder is for its finder."""
    listed = re.findall(r"^([a-z0-9][a-z0-9.-]*)==", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    there = {*map(canonicalize_name, listed), "sfumato"}
    hidden = {
        module
        for module, owners in packages_distributions().items()
        if there.isdisjoint(map(canonicalize_name, owners))
    }
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_FINDER.format(hidden=hidden), encoding="utf-8")
    return {**environment(), "PYTHONPATH": f"{folder}{os.pathsep}{SOURCE}"}


# Seconds after which a process is taken to hang. No test is about them: on a machine with much else to do,
# what takes ten seconds may well take a hundred.
PATIENCE = 600


def process(
    *arguments: object, cwd: Path, before: tuple[str, ...] = (), variables: Mapping[str, str] | None = None
) -> Answer:
    """The command in a process of its own."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "sfumato", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=variables or environment(),
        cwd=cwd,
        timeout=PATIENCE,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def everything(folder: Path) -> set[str]:
    """All files and folders, hidden ones too."""
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*")}
