"""A studio to click in: in this process, through its gate, every byte of a request ours to choose; or a
real one.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cli_support import environment
from planned import rows

from sfumato.studio.app import LARGE, build
from sfumato.studio.chosen_folder import ChosenFolder, plan_folder_of
from sfumato.studio.plan_folder import PlanFolder
from sfumato.studio.studio import Studio
from sfumato.studio.tasks import task_of
from sfumato.studio.tasks.look import look
from sfumato.studio.tasks.order import Order
from sfumato.studio.work import DONE, Task
from sfumato.web.gate import Gate
from sfumato.web.origins import OwnAddress
from sfumato.web.tickets import Tickets

OWN = OwnAddress(8123)


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def revision(self) -> int:
        found = re.search(r'name="revision" value="(\d+)"', self.text)
        assert found is not None, self.text[:500]
        return int(found[1])


@dataclass
class Window:
    """One browser window of a studio in this process."""

    studio: Studio
    tickets: Tickets = field(default_factory=Tickets)
    faults: list[Exception] = field(default_factory=list)
    cookie: str = ""

    def __post_init__(self) -> None:
        self.gate = Gate(build(self.studio), OWN, self.tickets, self.faults.append, larger=LARGE)
        if not self.cookie:
            session = self.tickets.redeem(self.tickets.new())
            self.cookie = f"{self.gate.cookie}={session}"

    def raw(
        self, method: str, path: str, body: bytes = b"", headers: list[tuple[str, str]] | None = None,
        query: str = "",
    ) -> Reply:  # fmt: skip
        """A request as it is, header by header."""
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": path, "raw_path": path.encode("utf-8", "replace"),
            "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 1), "state": {},
            "server": ("127.0.0.1", OWN.port),
            "headers": [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in headers or []],
        }  # fmt: skip
        return asyncio.run(self._ask(scope, body))

    async def _ask(self, scope: dict[str, Any], body: bytes) -> Reply:
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return parts.pop(0) if parts else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.gate(scope, receive, send)
        headers = {n.decode(): v.decode() for n, v in sent[0]["headers"]}
        return Reply(sent[0]["status"], headers, b"".join(m.get("body", b"") for m in sent[1:]))

    @property
    def usual(self) -> list[tuple[str, str]]:
        """The headers that a browser sends from a page of ours."""
        host = OWN.hosts[0].decode()
        return [
            ("host", host),
            ("origin", f"http://{host}"),
            ("sec-fetch-site", "same-origin"),
            ("cookie", self.cookie),
        ]

    def get(self, path: str) -> Reply:
        path, _, query = path.partition("#")[0].partition("?")
        return self.raw("GET", path, headers=[h for h in self.usual if h[0] != "origin"], query=query)

    def post(self, path: str, revision: int | None = None, **fields: object) -> Reply:
        """Send a form, and follow to where it leads."""
        reply = self.raw_post(path, revision, **fields)
        return self.get(reply.headers["location"]) if reply.status == 303 else reply

    def raw_post(self, path: str, revision: int | None = None, **fields: object) -> Reply:
        """Send a form; where it leads is in the answer."""
        if revision is None:
            revision = 0 if self.studio.plan_folder is None else self.studio.plan_folder.revision
        body = urlencode({"revision": revision, **fields}).encode()
        kind = ("content-type", "application/x-www-form-urlencoded")
        path, _, query = path.partition("?")
        return self.raw("POST", path, body, [*self.usual, kind], query)


def prepared(folder: Path, text: str | None = None) -> Path:
    """A file of data with a plan that was proposed, looked at by a task of an earlier start."""
    data = folder / "visits.csv"
    data.write_text(rows(120) if text is None else text, encoding="utf-8")
    plan = plan_folder_of(data)
    place = plan / ".studio" / "work" / "1-a"
    place.mkdir(parents=True)
    given = {"data": str(data), "options": {}, "propose": True, "recipient": "public"}
    found = look(Order("look", given, plan, place))
    for name in ("plan.toml", "schema.toml"):
        shutil.copy(place / name, plan / name)
    task = Task("1-a", "look", given, state=DONE, found=dict(found))
    (place / "task.json").write_text(json.dumps(asdict(task)), encoding="utf-8")
    return data


@contextmanager
def opened(data: Path, *, read_only: bool = False) -> Iterator[Window]:
    """A window of a studio for a file, or for its folder."""
    studio = Studio(ChosenFolder.at(data), read_only=read_only, warm=False)
    try:
        if data.is_file():
            studio.open_data(data.name)
        yield Window(studio)
    finally:
        studio.leave()  # codes stay: the next window need not count again


@contextmanager
def unchanged(data: Path) -> Iterator[Window]:
    """A window whose every edit is taken back at the end, and in which nothing of ours has failed."""
    with opened(data) as window:
        yield window
        folder = folder_of(window)
        while folder.undoable:
            folder.undo()
        assert window.faults == []


def folder_of(window: Window) -> PlanFolder:
    """The plan that is open."""
    assert window.studio.plan_folder is not None
    return window.studio.plan_folder


def done(window: Window, kind: str, **given: object) -> Task:
    """A task, done here as its process does it."""
    worker, folder = window.studio.worker, folder_of(window)
    assert worker is not None
    identity = f"9-{kind}"
    place = worker.own(Task(identity, kind))
    place.mkdir(parents=True, exist_ok=True)
    found = task_of(kind)(Order(kind, given, folder.folder, place))
    worker._tasks[identity] = task = Task(identity, kind, given, folder.revision, DONE, found=found)
    return task


class RunningStudio:
    """`sfumato studio` in a process of its own."""

    def __init__(self, *arguments: object, cwd: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", "studio", *map(str, arguments), "--no-browser", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=environment(), text=True,
        )  # fmt: skip
        assert self.process.stdout is not None and self.process.stderr is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(self.process.stderr.read())
            text += line
        self.said = json.loads(text)
        self.address = str(self.said["address"])

    def stop(self) -> tuple[int, str]:
        """As by Ctrl-C: the exit code, and what was printed."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=600)
        return self.process.returncode, out + err
