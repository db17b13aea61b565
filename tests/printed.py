"""The commands that pages print: which they are, who plays them, and how they are run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from architecture import ROOT
from cli_support import PATIENCE, Sfumato, environment
from serving import free_port
from unplayed import BY_CI, UNPLAYED

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HERE = re.compile(r"<<'(\w+)'")
_OF_A_SHELL = re.compile(r"[|<$&;*]")


# -- what is printed -----------------------------------------------------------------------------------------


def pages() -> dict[str, Path]:
    """Every page that may print a command, by the name that tests call it by."""
    docs = ROOT / "docs"
    found = {p.relative_to(docs).as_posix(): p for p in sorted(docs.rglob("*.md"))}
    found |= {p.name: p for p in sorted(ROOT.glob("*.md"))}
    return {name.removesuffix(".md"): path for name, path in found.items()}


def commands_of(text: str) -> list[str]:
    """Every `$` line of the console blocks, with what goes on below it; lines of output are left out.

    PowerShell's lines begin with `>`.
    """
    found: list[str] = []
    for block in _BLOCK.findall(text):
        end, goes_on = "", False
        for line in block.splitlines():
            if end or goes_on:
                found[-1] += "\n" + line
            elif line.startswith(("$ ", "> ")):
                found.append(line[2:])
            else:
                continue
            if end:
                end = "" if line == end else end
                continue
            goes_on = _open(found[-1])
            if here := _HERE.search(line):
                end = here[1]
    return found


def _open(command: str) -> bool:
    """Whether a shell waits for more: a line's end is taken back, or a quote is open."""
    quote, i = "", 0
    while i < len(command):
        c = command[i]
        if c == "\\" and quote != "'":
            if i == len(command) - 1:
                return True
            i += 1
        elif quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "#" and command[i - 1 : i].strip() == "":
            i = command.find("\n", i) if "\n" in command[i:] else len(command)
        i += 1
    return bool(quote)


def printed(page: str) -> list[str]:
    """The commands of a page."""
    return commands_of(pages()[page].read_text(encoding="utf-8"))


def left_to_tests(page: str) -> list[str]:
    """The commands of a page that a test must play: all but those on the two short lists."""
    others = (*BY_CI.get(page, ()), *UNPLAYED.get(page, {}))
    return [c for c in printed(page) if not any(c.startswith(o) for o in others)]


# -- how it is run -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """A command and how it ended."""

    command: str
    code: int
    said: str


def tools(folder: Path) -> dict[str, str]:
    """The variables of a shell in which `sfumato` is this source and `python3` this Python."""
    place = folder.parent / "tools"
    place.mkdir(exist_ok=True)
    for name, words in (("sfumato", "-m sfumato "), ("python3", "")):
        (place / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n', encoding="utf-8")
        (place / name).chmod(0o755)
    return {**environment(), "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}


def shell(command: str, folder: Path, variables: Mapping[str, str] | None = None) -> Ended:
    """One command in a shell of its own."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**tools(folder), **(variables or {})}, capture_output=True,
        text=True, timeout=4 * PATIENCE,
    )  # fmt: skip
    return Ended(command, done.returncode, done.stdout + done.stderr)


@contextlib.contextmanager
def going_on(command: str, folder: Path, ready: str) -> Iterator[str]:
    """What goes on until it is stopped: what it said once it was ready; stopped as by Ctrl-C."""
    said = folder.parent / f"{time.monotonic_ns()}.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=folder, env=tools(folder), stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + PATIENCE
        while re.search(ready, said.read_text(encoding="utf-8")) is None:
            assert process.poll() is None and time.monotonic() < end, said.read_text("utf-8")[-1500:]
            time.sleep(0.1)
        yield said.read_text(encoding="utf-8")
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        assert process.returncode in (0, 130), said.read_text("utf-8")[-1500:]
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def served(command: str, folder: Path) -> Iterator[tuple[int, str]]:
    """What a `sfumato serve` of a page serves, at a port that is free: the port, and what it said."""
    port = free_port()
    with going_on(f"{command.partition('#')[0]} --port {port}", folder, '"event": "started"') as said:
        waits = "curl -sf --noproxy '*' -o /dev/null --retry 60 --retry-delay 1 --retry-all-errors"
        assert shell(f"{waits} http://127.0.0.1:{port}/readyz", folder).code == 0, said
        yield port, said


# -- who plays them ------------------------------------------------------------------------------------------


class Play:
    """A test plays every command of its pages, as it stands: what is forgotten fails the test.

    The call is found by `players`: its arguments are the pages' names, as they are.
    """

    def __init__(self, *pages: str) -> None:
        self._left = {page: left_to_tests(page) for page in pages}
        assert all(self._left.values()), "a page without a command to play"
        self.run: Callable[[str], Ended] = lambda command: shell(command, Path.cwd())

    def inside(self, sfumato: Sfumato) -> Play:
        """Plain commands of Sfumato in this process, which is quicker; all others in a shell."""

        def run(command: str) -> Ended:
            words = command.split(" ", 1)[0]
            if words != "sfumato" or _OF_A_SHELL.search(_without_quotes(command)):
                return shell(command, Path.cwd())
            answer = sfumato(*shlex.split(command.replace("\\\n", " "), comments=True)[1:])
            return Ended(command, answer.code, answer.all)

        self.run = run
        return self

    def __enter__(self) -> Play:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            assert not any(self._left.values()), f"printed and not played: {self._left}"

    def swap(self, page: str, old: str, new: str) -> None:
        """Let something else stand for a name of the page's that nobody can know before."""
        assert any(old in command for command in self._left[page]), old
        self._left[page] = [command.replace(old, new) for command in self._left[page]]

    def take(self, page: str, beginning: str) -> str:
        """The next command of a page, for a test that runs it itself."""
        assert self._left[page] and self._left[page][0].startswith(beginning), self._left[page][:1]
        return self._left[page].pop(0)

    def next(self, page: str, beginning: str, code: int = 0, /, **changed: str) -> Ended:
        """Run the next command of a page. changed: what stands for a name of the page's, by that name."""
        command = self.take(page, beginning)
        for old, new in changed.items():
            assert old in command, old
            command = command.replace(old, new)
        return self._ended(command, code)

    def rest(self, page: str, codes: Mapping[str, int] | None = None, *, until: str = "") -> None:
        """Run what is left of a page, or the part before a command. codes: of those that do not give 0."""
        while self._left[page] and not (until and self._left[page][0].startswith(until)):
            command = self._left[page].pop(0)
            self._ended(command, next((c for w, c in (codes or {}).items() if w in command), 0))

    def ask(self, page: str, port: int, host: str = "127.0.0.1:8000", **variables: str) -> dict[str, object]:
        """The next curl of a page, sent to what is served at a port: the answer."""
        command = (
            self.take(page, "curl").replace(host, f"127.0.0.1:{port}").replace("https://127", "http://127")
        )
        ended = shell(command.replace("curl ", "curl -s --noproxy '*' ", 1), Path.cwd(), variables)
        assert ended.code == 0, ended
        return dict(json.loads(ended.said))

    def _ended(self, command: str, code: int) -> Ended:
        ended = self.run(command)
        assert ended.code == code, f"{command}: {ended.code}\n{ended.said[-1500:]}"
        return ended


def _without_quotes(command: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"|\s#.*", "", command)


def players() -> dict[str, str]:
    """Which test plays a page: `Play("page", ...)` within it."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for call in re.finditer(r"\bPlay\(([^)]*)\)", text):
            test = re.findall(r"^(?:async )?def (test_\w+)", text[: call.start()], re.MULTILINE)
            for page in re.findall(r"\"([\w./-]+)\"", call[1]):
                assert test and page not in found, f"{page}: played twice, or by no test"
                found[page] = f"{path.relative_to(ROOT)}::{test[-1]}"
    return found
