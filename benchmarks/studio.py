"""The studio on diabetes130 (101,766 x 50): the first screen, each click while a map is drawn, memory.

Limits: the first screen within 3 s, 95 of 100 clicks within 300 ms. A click is a form and the page it leads
to; where there is a Chromium, also from the button to the page that is drawn. Times are of the clock, as a
person waits, and of the studio's own processor; a busy machine makes the clock's longer, so its load is
printed too.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from pyarrow import csv, parquet

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

CLICKS = 25  # of each kind
PATIENCE = 240  # seconds until the map is under way
LIMIT = 300  # ms, for 95 of 100 clicks


class Client:
    """A browser's requests by hand."""

    def __init__(self, address: str) -> None:
        self.host = address.split("/")[2]
        self.cookie = ""
        _, headers, _ = self.ask("GET", "/enter?" + address.partition("?")[2])
        self.cookie = headers["set-cookie"].partition(";")[0]

    def ask(self, method: str, path: str, body: str = "") -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection(self.host, timeout=600)
        headers = {"cookie": self.cookie, "origin": f"http://{self.host}"} if self.cookie else {}
        if body:
            headers["content-type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body or None, headers)
        reply = connection.getresponse()
        found = {k.lower(): v for k, v in reply.getheaders()}
        return reply.status, found, reply.read().decode()

    @property
    def state(self) -> dict[str, str]:
        """The revision of the plan, and the work under way."""
        said = json.loads(self.ask("GET", "/state")[2])
        return {"revision": said["changes"].split(".")[1], "work": said["work"]}

    def click(self, path: str, **fields: object) -> float:
        """One click, in milliseconds: the form, and the page that it leads to."""
        revision = self.state["revision"]
        start = time.perf_counter()
        status, headers, _ = self.ask("POST", path, urlencode({"revision": revision, **fields}))
        assert status == 303, (path, status)
        assert self.ask("GET", headers["location"])[0] == 200
        return 1000 * (time.perf_counter() - start)

    def look(self, path: str) -> float:
        """One screen, in milliseconds."""
        start = time.perf_counter()
        assert self.ask("GET", path)[0] == 200
        return 1000 * (time.perf_counter() - start)


def processor(pid: int) -> float:
    said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    said = Path(f"/proc/{pid}/status").read_text()
    return int(said.partition("VmHWM:")[2].split()[0]) / 1024


def work_of(pid: int) -> list[int]:
    """The processes that the studio has started."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(place.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(place.parent.name))
        except (OSError, ValueError):
            continue
    return found


@contextmanager
def studio_of(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """A studio for the stays, its address, and when it was started."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "sfumato", "studio", "stays.csv", "--no-browser", "--json"]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder, text=True)
    try:
        assert studio.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = studio.stdout.readline()
            assert line, "the studio did not start"
            said += line
        yield studio, json.loads(said)["address"], start
    finally:
        studio.send_signal(signal.SIGINT)
        studio.communicate()


def main() -> None:
    if "SFUMATO_DATA" not in os.environ:
        print("SFUMATO_DATA is not set: nothing to look at")
        return
    with tempfile.TemporaryDirectory() as place:
        stays = parquet.read_table(Path(os.environ["SFUMATO_DATA"]) / "diabetes130" / "diabetic_data.parquet")
        csv.write_csv(stays, Path(place) / "stays.csv")
        del stays
        print(f"load of the machine before: {os.getloadavg()[0]:.1f}, processors: {os.cpu_count()}\n")
        with studio_of(Path(place)) as (studio, address, start):
            measured(studio.pid, address, start)


def measured(pid: int, address: str, start: float) -> None:
    client = Client(address)
    client.ask("GET", "/open")
    first, cost = time.perf_counter() - start, processor(pid)
    while 'class="bars"' not in client.ask("GET", "/columns")[2]:
        time.sleep(0.2)
    print(f"{'':34}{'clock':>10}{'processor':>12}")
    print(f"{'first screen':34}{first:9.2f}s{cost:11.2f}s   limit 3 s")
    print(f"{'all columns looked at':34}{time.perf_counter() - start:9.2f}s")
    client.click("/map/begin")
    end = time.monotonic() + PATIENCE
    while "point-" not in client.ask("GET", "/map")[2] and time.monotonic() < end:
        time.sleep(0.5)
    print(f"{'first point of the map':34}{time.perf_counter() - start:9.2f}s")
    roles, ticked = ("sensitive", "other"), ("diag_1", "diag_2", "num_medications")
    kinds: dict[str, Callable[[int], float]] = {
        "a role": lambda i: client.click("/columns/role", column="number_diagnoses", role=roles[i % 2]),
        "a guess looked at again": lambda i: client.click(
            f"/columns/{('reopen', 'accept')[i % 2]}", column="gender"
        ),
        "what an intruder may know": lambda i: client.click(
            f"/knowledge/{('tick', 'untick')[i % 2]}", column=ticked[i // 2 % 3]
        ),
        "undo": lambda i: client.click("/plan/undo", screen="columns"),
        "redo": lambda i: client.click("/plan/redo", screen="columns"),
        "another screen": lambda i: client.look(
            ("/columns", "/knowledge", "/hierarchies", "/map", "/release")[i % 5]
        ),
    }
    print(f"\n{'clicks, while the map is drawn':34}{'median':>10}{'95%':>10}{'processor':>12}   ms")
    every: list[float] = []
    drawn = 0
    for name, click in kinds.items():
        before, times = processor(pid), []
        for i in range(CLICKS):
            times.append(click(i))
            drawn += "cancel-work" in client.state["work"]
        every += times
        line(name, times, 1000 * (processor(pid) - before) / CLICKS)
    line("all", every, None)
    in_browser(client)
    print(f"\nthe map was being drawn at {drawn} of {len(every)} clicks")
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")
    print(f"memory of the studio, at most: {memory(pid):.0f} MB")
    print(f"memory of the work, at most: {max(map(memory, work_of(pid)), default=0):.0f} MB")


def line(name: str, times: list[float], used: float | None) -> None:
    cost = "" if used is None else f"{used:.0f}"
    late = sum(t > LIMIT for t in times)
    limit = f"   limit {LIMIT} ms, {late} of {len(times)} later" if used is None else ""
    print(f"{name:34}{statistics.median(times):10.0f}{p95(times):10.0f}{cost:>12}{limit}")


def in_browser(client: Client) -> None:
    """A role, from the button to the page as it is drawn; nothing where there is no Chromium."""
    import chromium

    program = chromium.executable()
    if program is None:
        print("no Chromium here: clicks were measured without a browser alone")
        return
    name, _, value = client.cookie.partition("=")
    click = """(async () => {
        const card = [...document.querySelectorAll('.card')].find(c => c.textContent.includes(NAME));
        const roles = ['s', 'o'].map(k => card.querySelector(`button[data-key=${k}]`));
        const button = roles.find(b => b.getAttribute('aria-pressed') === 'false');
        const start = performance.now();
        button.click();
        while (document.body.hasAttribute('aria-busy')) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - start;
    })()""".replace("NAME", "'number_diagnoses'")
    with chromium.Browser(program) as browser:
        browser.resize(1280, 900)
        browser.ask("Network.setCookie", name=name, value=value, url=f"http://{client.host}/")
        browser.visit(f"http://{client.host}/columns")
        times = [float(browser.evaluate(click)) for _ in range(CLICKS)]
    line("a role, in Chromium", times, None)


def p95(times: list[float]) -> float:
    return sorted(times)[int(0.95 * (len(times) - 1))]


if __name__ == "__main__":
    main()
