"""The commands that a page prints, run as they stand, one after the other, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cli_support import PATIENCE, environment

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HERE = re.compile(r"<<'(\w+)'")


@dataclass(frozen=True)
class Ended:
    """A command and how it ended."""

    command: str
    code: int
    said: str


def commands_of(text: str) -> list[str]:
    """Every `$` line of the console blocks, with what goes on below it; lines of output are left out."""
    found: list[str] = []
    for block in _BLOCK.findall(text):
        end, goes_on = "", False
        for line in block.splitlines():
            if line.startswith("$ ") and not end:
                found.append(line[2:])
            elif end or goes_on:
                found[-1] += "\n" + line
            else:
                continue
            goes_on = line.endswith("\\")
            if end and line == end:
                end = ""
            elif here := _HERE.search(line):
                end = here[1]
    return found


def play(commands: list[str], folder: Path) -> list[Ended]:
    """Each in a shell of its own: `sfumato` is this source, `python3` this Python."""
    tools = folder.parent / "tools"
    tools.mkdir(exist_ok=True)
    for name, words in (("sfumato", "-m sfumato "), ("python3", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    variables = {**environment(), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    ended = []
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=variables, capture_output=True, text=True,
            timeout=4 * PATIENCE,
        )  # fmt: skip
        ended.append(Ended(command, done.returncode, done.stdout + done.stderr))
    return ended
