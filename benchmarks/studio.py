"""The studio on diabetes130 (101,766 x 50): the first screen, each kind of click, memory; while work goes on.

Limits: the first screen within 3 s, 95 of 100 clicks within 300 ms. A click is a form and the page it leads
to. Times are of the clock, as a person waits, and of the studio's own processor; a busy machine makes the
clock's longer.
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
from pathlib import Path
from urllib.parse import urlencode

from pyarrow import csv, parquet

CLICKS = 25  # of each kind


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

    def click(self, path: str, **fields: object) -> str:
        revision = json.loads(self.ask("GET", "/state")[2])["changes"].split(".")[1]
        status, headers, _ = self.ask("POST", path, urlencode({"revision": revision, **fields}))
        assert status == 303, (path, status)
        return self.ask("GET", headers["location"])[2]


def processor(pid: int) -> float:
    said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    said = Path(f"/proc/{pid}/status").read_text()
    return int(said.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    if "SFUMATO_DATA" not in os.environ:
        print("SFUMATO_DATA is not set: nothing to look at")
        return
    with tempfile.TemporaryDirectory() as place:
        stays = parquet.read_table(Path(os.environ["SFUMATO_DATA"]) / "diabetes130" / "diabetic_data.parquet")
        csv.write_csv(stays, Path(place) / "stays.csv")
        start = time.perf_counter()
        command = [sys.executable, "-m", "sfumato", "studio", "stays.csv", "--no-browser", "--json"]
        studio = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=place, text=True)
        try:
            measured(studio, start)
        finally:
            studio.send_signal(signal.SIGINT)
            studio.communicate()


def measured(studio: subprocess.Popen[str], start: float) -> None:
    assert studio.stdout is not None
    said = ""
    while not said.rstrip().endswith("}"):
        said += studio.stdout.readline()
    client = Client(json.loads(said)["address"])
    client.ask("GET", "/open")
    first, cost = time.perf_counter() - start, processor(studio.pid)
    while "column-0" not in client.ask("GET", "/columns")[2]:
        time.sleep(0.1)
    while 'class="bars"' not in client.ask("GET", "/columns")[2]:
        time.sleep(0.1)
    print(f"{'':34}{'clock':>10}{'processor':>12}")
    print(f"{'first screen':34}{first:9.2f}s{cost:11.2f}s   limit 3 s")
    print(f"{'all columns looked at':34}{time.perf_counter() - start:9.2f}s")
    client.click("/release/sign", name="A. Miller", every="yes")
    client.click("/release/run")
    roles = ("sensitive", "other")
    kinds = {
        "a role": lambda i: client.click("/columns/role", column="number_diagnoses", role=roles[i % 2]),
        "a guess looked at again": lambda i: client.click(
            f"/columns/{('reopen', 'accept')[i % 2]}", column="gender"
        ),
        "what an intruder may know": lambda i: client.click(
            f"/knowledge/{('tick', 'untick')[i % 2]}",
            column=("diag_1", "diag_2", "num_medications")[i // 2 % 3],
        ),
        "undo": lambda i: client.click("/plan/undo", screen="columns"),
        "redo": lambda i: client.click("/plan/redo", screen="columns"),
    }
    print(f"\n{'clicks, while a plan runs':34}{'median':>10}{'95%':>10}{'processor':>12}   ms")
    every: list[float] = []
    for name, click in kinds.items():
        before, times = processor(studio.pid), []
        for i in range(CLICKS):
            at = time.perf_counter()
            click(i)
            times.append(1000 * (time.perf_counter() - at))
        used = 1000 * (processor(studio.pid) - before) / CLICKS
        every += times
        print(f"{name:34}{statistics.median(times):10.0f}{p95(times):10.0f}{used:12.0f}")
    print(f"{'all':34}{statistics.median(every):10.0f}{p95(every):10.0f}{'':12}   limit 300 ms")
    print(f"\nmemory of the studio, at most: {memory(studio.pid):.0f} MB")


def p95(times: list[float]) -> float:
    return sorted(times)[int(0.95 * (len(times) - 1))]


if __name__ == "__main__":
    main()
