"""Killed at any moment: nothing of the plan is half-written, at most the last click is lost, undo works."""

from __future__ import annotations

import http.client
import json
import random
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from urllib.parse import urlencode

import pytest
from cli_support import environment
from windows import RunningStudio, prepared

from sfumato.studio.plan_folder import PLAN, PlanFolder

# Clicks without a browser: each is acknowledged by its number once it is done.
_CLICKS = """
import sys
from pathlib import Path
from sfumato.studio.plan_folder import PLAN, PlanFolder, named
folder = PlanFolder(Path(sys.argv[1]))
for i in range(int(sys.argv[2]), 10**6):
    text = f"sfumato_plan = 2\\ntitle = \\"{i}\\"\\n# {'x' * (i % 7 * 9000)}\\n"
    more = {f"levels/{i % 3}.csv": f"{i};*\\n"}
    folder.edit(named("edit.found"), lambda before: {**before, PLAN: text, **more})
    print(i, flush=True)
"""


def title(folder: Path) -> int:
    return int(tomllib.loads((folder / PLAN).read_text("utf-8"))["title"])


def killed_while_editing(folder: Path, chance: random.Random, first: int) -> int:
    """Kill a process that edits; gives the last edit that it said was done."""
    process = subprocess.Popen(
        [sys.executable, "-c", _CLICKS, str(folder), str(first)],
        stdout=subprocess.PIPE, env=environment(), text=True,
    )  # fmt: skip
    assert process.stdout is not None
    done = first - 1
    for _ in range(chance.randrange(1, 12)):
        done = int(process.stdout.readline())
    time.sleep(chance.random() * 0.02)
    process.kill()
    rest = [int(line) for line in process.stdout.read().split()]
    process.wait()
    return rest[-1] if rest else done


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.soak)])
def test_edits_survive_kills(tmp_path: Path, kills: int) -> None:
    (tmp_path / PLAN).write_text('sfumato_plan = 2\ntitle = "0"\n', encoding="utf-8")
    chance, done = random.Random(kills), 0
    for _ in range(kills):
        said = killed_while_editing(tmp_path, chance, done + 1)
        on_disk = title(tmp_path)  # whole, whatever state it is of
        assert said - 1 <= on_disk <= said + 1
        with PlanFolder(tmp_path) as document:
            done = title(tmp_path)
            assert (
                said <= done <= said + 1
            )  # what was said to be done is done; at most the last click is lost
            number = done % 3
            assert (tmp_path / "levels" / f"{number}.csv").read_text("utf-8") == f"{done};*\n"
            document.undo()
            assert title(tmp_path) == done - 1
            document.redo()
            assert title(tmp_path) == done
    hidden = [p.name for p in tmp_path.iterdir() if p.name.endswith(".tmp")]
    assert len(hidden) <= kills  # folders of killed writers may stay; no file of the plan is among them


class Clicker:
    """A browser's requests by hand, to a real studio."""

    def __init__(self, studio: RunningStudio) -> None:
        self.host = studio.address.split("/")[2]
        self.connection = http.client.HTTPConnection(self.host, timeout=600)
        self.connection.request("GET", "/enter?" + studio.address.partition("?")[2])
        reply = self.connection.getresponse()
        reply.read()
        self.cookie = (reply.getheader("set-cookie") or "").partition(";")[0]

    def post(self, path: str, **fields: object) -> int:
        headers = {"cookie": self.cookie, "origin": f"http://{self.host}", "connection": "keep-alive",
                   "content-type": "application/x-www-form-urlencoded"}  # fmt: skip
        self.connection.request("POST", path, urlencode(fields), headers)
        reply = self.connection.getresponse()
        reply.read()
        return reply.status


@pytest.mark.soak
def test_the_studio_itself_is_killed(tmp_path: Path) -> None:
    """Fifty times, while clicks come in; each start goes on where the last one was."""
    data = prepared(tmp_path)
    folder, chance = tmp_path / "visits-plan", random.Random(1)
    for _ in range(50):
        studio = RunningStudio(data, cwd=tmp_path)
        clicks, lines = (
            Clicker(studio),
            (folder / ".studio" / "journal.jsonl").read_text("utf-8").splitlines(),
        )
        revision = int(json.loads(lines[-1])["number"])
        acknowledged = {}
        roles = ("sensitive", "other", "quasi-identifier", "drop")
        stop = chance.randrange(1, 8)
        for i in range(stop):
            role = roles[chance.randrange(4)]
            status = clicks.post("/columns/role", revision=revision + i, column="cost", role=role)
            assert status in (303, 409), status
            if status == 409:  # the same role again: no edit, and the number did not rise
                break
            acknowledged["cost"] = role
        studio.process.send_signal(signal.SIGKILL)
        studio.process.communicate()
        said = tomllib.loads((folder / PLAN).read_text("utf-8"))["columns"]["cost"]
        if acknowledged:
            assert said.get("role", "drop") == acknowledged["cost"]
