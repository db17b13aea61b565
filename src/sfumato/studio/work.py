"""Long work in the background: one task at a time, in a process of its own, with progress and cancel.

A process, because a thread can neither be stopped nor kept from slowing down the clicks of who is waiting.
The next one is started ahead and has loaded what is slow to load when a task comes. It is told to stop as by
Ctrl-C, so that nothing half-written stays; if it does not, it is ended. It ends by itself when the studio
does. What came of each task is kept on disk in the studio's folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.io.atomic import write_text
from sfumato.studio.journal import refuse_link
from sfumato.studio.seal import is_ours, seal

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"
OPEN_STATES = (WAITING, RUNNING)
_GRACE = 10.0  # seconds to stop by itself
_MOST = 200  # tasks that are remembered
_VOUCHED = ("run", "sign")  # they say that a release is authentic


@dataclass(frozen=True)
class Task:
    """One piece of work. given: its settings. found: what came of it. said: why it failed, and what next.

    revision: of the plan that it was made for. seconds: of the clock, while it ran.
    """

    id: str
    kind: str
    given: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0
    state: str = WAITING
    label: str = ""
    done: int = 0
    total: int | None = None
    found: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    hint: str = ""
    begun: float = 0.0
    seconds: float = 0.0

    @property
    def open(self) -> bool:
        """Whether it waits or runs."""
        return self.state in OPEN_STATES


class Worker:
    """Does tasks one after the other. folder: of the plan. place: where each task has a folder of its own.

    ended: called in the worker's thread with every task that has come to an end. warm: whether a process is
    kept ready for the next task.
    """

    def __init__(
        self, folder: Path, place: Path, ended: Callable[[Task], None] | None = None, *, warm: bool = True
    ) -> None:
        self.folder, self.place, self._warm = folder, place, warm
        self._ended = ended
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Condition()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self.serial = 0  # rises whenever a task begins or ends
        refuse_link(place)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._recall()
        self._spare = _start() if warm else None
        self._thread = threading.Thread(target=self._work, daemon=True, name="studio-worker")
        self._thread.start()

    # -- asking --------------------------------------------------------------------------------------

    def submit(self, kind: str, given: Mapping[str, Any] | None = None, revision: int = 0) -> Task:
        """Put a task behind those that wait."""
        with self._lock:
            task = Task(f"{time.time_ns():x}-{secrets.token_hex(3)}", kind, dict(given or {}), revision)
            self._tasks[task.id] = task
            self.serial += 1
            self._lock.notify_all()
            return task

    def cancel(self, identity: str) -> None:
        """Stop a task, or take it from those that wait."""
        with self._lock:
            task = self._tasks.get(identity)
            if task is None or not task.open:
                return
            waiting = task.state == WAITING
            self._tasks[identity] = replace(task, state=CANCELLED)
            self.serial += 1
            process = None if waiting else self._process
            if waiting:
                self._keep(self._tasks[identity])
        if process is not None:
            _stop(process)

    def tasks(self, kind: str | None = None) -> list[Task]:
        """All tasks, the latest first."""
        with self._lock:
            return [t for t in reversed(self._tasks.values()) if kind in (None, t.kind)]

    def latest(self, kind: str) -> Task | None:
        """The latest task of a kind."""
        return next(iter(self.tasks(kind)), None)

    def running(self) -> Task | None:
        """What is being done now, or waits to be."""
        return next((t for t in reversed(self.tasks()) if t.open), None)

    def own(self, task: Task) -> Path:
        """The folder of a task."""
        return self.place / task.id

    def close(self) -> None:
        """Stop what runs, and end."""
        with self._lock:
            self._closed = True
            process = self._process
            self._lock.notify_all()
        if process is not None:
            _stop(process)
        self._thread.join(_GRACE + 5)
        if self._spare is not None:
            _end(self._spare)

    # -- doing ---------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._closed and not (task := self._next()):
                    self._lock.wait()
                if self._closed:
                    return
                assert task is not None
                task = replace(task, state=RUNNING, begun=time.time())
                self._tasks[task.id] = task
                self.serial += 1
                process = self._process = self._spare or _start()
                self._spare = None
            own = self.own(task)
            own.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._keep(task)
            outcome = self._follow(process, task)
            _end(process)
            with self._lock:
                self._process = None
                if self._warm and not self._closed:
                    self._spare = _start()
                after = replace(self._tasks[task.id], **outcome, seconds=time.time() - task.begun)
                if self._tasks[task.id].state == CANCELLED:
                    after = replace(after, state=CANCELLED, found={}, said="", hint="")
                self._tasks[task.id] = after
            self._keep(after)
            if self._ended is not None and after.state != CANCELLED:
                self._tell(after)
            with self._lock:
                self.serial += 1

    def _tell(self, task: Task) -> None:
        assert self._ended is not None
        try:
            self._ended(task)
        except SfumatoError as error:
            with self._lock:
                self._tasks[task.id] = replace(task, state=FAILED, said=error.message, hint=error.hint)

    def _next(self) -> Task | None:
        return next((t for t in self._tasks.values() if t.state == WAITING), None)

    def _follow(self, process: subprocess.Popen[bytes], task: Task) -> dict[str, Any]:
        """Send the task, hear how far it is, and give back how it ended."""
        assert process.stdin is not None and process.stdout is not None
        order = {"kind": task.kind, "given": dict(task.given), "folder": str(self.folder),
                 "place": str(self.own(task)), "revision": task.revision}  # fmt: skip
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                said = json.loads(line)
                if "progress" in said:
                    label, done, total = said["progress"]
                    with self._lock:
                        now = self._tasks[task.id]
                        self._tasks[task.id] = replace(now, label=label, done=done, total=total)
                elif "found" in said:
                    return {"state": DONE, "found": said["found"]}
                elif "stopped" in said:
                    return {"state": CANCELLED}
                else:
                    return {"state": FAILED, "said": said["said"], "hint": said["hint"]}
        except (OSError, ValueError):
            pass
        return {"state": FAILED, "said": "the work ended without a word.", "hint": "was there enough memory?"}

    # -- remembering ---------------------------------------------------------------------------------

    def _keep(self, task: Task) -> None:
        own = self.own(task)
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        fields = {k: getattr(task, k) for k in Task.__dataclass_fields__}
        text = json.dumps(fields)
        if task.kind in _VOUCHED:
            write_text(own / "seal", seal(text), overwrite=True, private=True)
        write_text(own / "task.json", text, overwrite=True, private=True)

    def _recall(self) -> None:
        """The tasks of earlier starts; one that ran when the studio was killed did not end well.

        They may have come with a plan of somebody else's: a task lies in its own folder, or it is none, and
        what one says of a release counts only with our seal.
        """
        known = sorted(p.parent for p in self.place.glob("*/task.json") if not p.parent.is_symlink())
        for own in known[-_MOST:]:
            try:
                text = (own / "task.json").read_text("utf-8")
                task = Task(**json.loads(text))
                if task.kind in _VOUCHED and not is_ours(text, (own / "seal").read_text("utf-8")):
                    continue
            except (OSError, ValueError, TypeError, RecursionError):
                continue
            if task.id != own.name or not _is_sound(task):
                continue
            if task.open:
                task = replace(task, state=CANCELLED)
            self._tasks[task.id] = task


def _is_sound(task: Task) -> bool:
    """Whether what was read back has the kinds of values that a task has."""
    texts = (task.kind, task.state, task.label, task.said, task.hint)
    numbers = (task.revision, task.begun, task.seconds)
    return (
        all(isinstance(t, str) for t in texts)
        and all(isinstance(n, int | float) for n in numbers)
        and isinstance(task.given, dict)
        and isinstance(task.found, dict)
    )


def _start() -> subprocess.Popen[bytes]:
    """A process that loads what is slow to load and waits for its one task."""
    return subprocess.Popen(
        [sys.executable, "-m", "sfumato.studio.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # libraries may print a cell
        start_new_session=True,  # Ctrl-C at the terminal is for the studio, which then stops this
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """As by Ctrl-C; who does not hear is ended a while later."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        late = threading.Timer(_GRACE, process.kill)
        late.daemon = True
        late.start()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its ears, which ends it, and wait."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
