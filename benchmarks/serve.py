"""The service under load, from a second process on loopback.

Scores per second of the released-model path against an empty FastAPI route on the same server, taken in
turns in one run (wanted: at least .7), with p50 and p99; and the debiting path of a noisy model against a
bare SQLite commit. --seconds N (of each turn), --turns N, --connections N.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
EMPTY = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/")
async def empty(): return {}
uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="warning", http="h11")
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(arguments: list[str], folder: Path, port: int) -> Iterator[int]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=folder, env=environment, stdout=nowhere, stderr=nowhere
        )
    try:
        end = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > end or process.poll() is not None:
                    raise RuntimeError("the server does not start") from None
                time.sleep(0.2)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def cpu_seconds(process: int) -> float:
    """What a server has computed so far: unlike the clock, this does not depend on who else is at work."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- load ----------------------------------------------------------------------------------------------


async def one(port: int, requests: Iterator[bytes], end: float, times: list[float]) -> None:
    """One connection that asks again as soon as it is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        start = time.perf_counter()
        if start > end:
            break
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"refused: {head[:40]!r}")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - start)
    writer.close()


def load(port: int, requests: list[Iterator[bytes]], seconds: float) -> list[float]:
    times: list[float] = []

    async def all_of_them() -> None:
        end = time.perf_counter() + seconds
        await asyncio.gather(*(one(port, r, end, times) for r in requests))

    asyncio.run(all_of_them())
    return times


def request(path: str, key: str, body: bytes) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def forever(message: bytes) -> Iterator[bytes]:
    while True:
        yield message


def said(name: str, times: list[float], seconds: float) -> float:
    ordered = sorted(times)
    rate = len(times) / seconds
    p50, p99 = (1000 * ordered[int(len(ordered) * q)] for q in (0.5, 0.99))
    print(f"  {name:34s} {rate:8.0f} a second   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms", flush=True)
    return rate


# -- the three measurements ------------------------------------------------------------------------------


def free_scores(folder: Path, key: str, row: bytes, asked: argparse.Namespace) -> None:
    empty, ours = free_port(), free_port()
    serve = ["-m", "sfumato", "serve", "diabetes.sfm", "--port", str(ours)]
    with started(["-c", EMPTY, str(empty)], folder, empty) as a, started(serve, folder, ours) as b:
        score = request("/v1/models/diabetes/score", key, row)
        nothing = request("/", key, row)
        many = request("/v1/models/diabetes/score", key, b"[" + b",".join([row] * 100) + b"]")
        taken: dict[str, list[float]] = {"empty": [], "score": []}
        for port, message in ((empty, nothing), (ours, score)):
            load(port, [forever(message)] * asked.connections, 0.5)
        before = cpu_seconds(a), cpu_seconds(b)
        for _ in range(asked.turns):  # in turns: whatever else the machine does, both have to bear
            taken["empty"] += load(empty, [forever(nothing)] * asked.connections, asked.seconds)
            taken["score"] += load(ours, [forever(score)] * asked.connections, asked.seconds)
        total = asked.turns * asked.seconds
        base = said("empty FastAPI route", taken["empty"], total)
        rate = said("one score of a released model", taken["score"], total)
        verdict = "held" if rate >= 0.7 * base else "NOT HELD"
        print(f"  ratio {rate / base:.2f} (wanted: at least 0.7; {verdict})")
        cost = [
            1e6 * (cpu_seconds(process) - start) / len(taken[name])
            for process, start, name in zip((a, b), before, ("empty", "score"), strict=True)
        ]
        print(
            f"  CPU of the server a call: {cost[0]:.0f} and {cost[1]:.0f} us, ratio {cost[0] / cost[1]:.2f}"
        )
        hundred = load(ours, [forever(many)] * 2, asked.seconds)
        print(f"  a hundred rows a call: {100 * len(hundred) / asked.seconds:,.0f} scores a second")


def bare_commits(path: Path, seconds: float) -> list[float]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("CREATE TABLE t (x)")
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("COMMIT")
        times.append(time.perf_counter() - start)
    connection.close()
    return times


def paid_scores(folder: Path, key: str, row: bytes, asked: argparse.Namespace) -> None:
    port = free_port()
    options = ["--ledger", "study.ledger", "--allow-unproved", "--port", str(port)]
    base = json.loads(row)

    def different() -> Iterator[bytes]:
        for i in range(1_000_000):
            yield request(
                "/v1/models/dpat/score", key, json.dumps({**base, "glucose": 60 + i / 5000}).encode()
            )

    with started(["-m", "sfumato", "serve", "dpat.dpat", *options], folder, port):
        commits: list[float] = []
        paid: list[float] = []
        questions = different()
        load(port, [questions], 0.5)
        for turn in range(asked.turns):
            commits += bare_commits(folder / f"bare-{turn}.db", asked.seconds)
            paid += load(port, [questions], asked.seconds)
        total = asked.turns * asked.seconds
        bare = said("bare SQLite commit", commits, total)
        rate = said("one debited noisy score", paid, total)
        print(f"  a debited score takes {bare / rate:.1f} bare commits (it makes two: ledger and answer)")
        again = request("/v1/models/dpat/score", key, row)
        load(port, [iter([again])], 5)
        said("the same question again", load(port, [forever(again)], asked.seconds), asked.seconds)


def prepare(folder: Path) -> tuple[str, bytes]:
    from sfumato.cli.demo_models import CALLS, fit
    from sfumato.prediction.dpat import DPaT
    from sfumato.privacy import Ledger
    from sfumato.samples import diabetes
    from sfumato.service.installation import Installation

    fit(folder)
    DPaT(epsilon_per_call=1e-6).fit(diabetes(2000, seed=1), "diabetes").save(folder / "dpat.dpat", "dpat")
    Ledger.open(folder / "study.ledger", budget=900.0).set_client("load", 900.0)
    installation = Installation(folder / "sfumato.keys", create=True)
    _, key = installation.create_key("load", ("score",), rate=1e6, burst=1_000_000)
    installation.close()
    return key, CALLS["diabetes"].encode()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--turns", type=int, default=4)
    options.add_argument("--connections", type=int, default=8)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = Path(name)
        key, row = prepare(folder)
        print(f"one worker each, {asked.connections} connections; the load comes from this process")
        free_scores(folder, key, row, asked)
        print("one worker, one connection, each question new")
        paid_scores(folder, key, row, asked)


if __name__ == "__main__":
    main()
