"""The service under load, from a second process on loopback.

Scores per second of the released-model path against an empty FastAPI route on the same server, with p50 and
p99 (wanted: at least .7 of it); of a model as it is fitted by default, and of one with intervals. All are
taken in short turns, one after another, and the ratio is the median over turns, so that what else the machine
does meets all of them alike. Then the debiting path of a noisy model against a bare SQLite commit.
--seconds N (of each turn), --turns N, --connections N, --free (without the debiting path).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sqlite3
import statistics
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
    serve = ["-m", "sfumato", "serve", "diabetes.sfm", "plain.sfm", "--port", str(ours)]
    with started(["-c", EMPTY, str(empty)], folder, empty) as a, started(serve, folder, ours) as b:
        many = request("/v1/models/plain/score", key, b"[" + b",".join([row] * 100) + b"]")
        ways = {
            "empty FastAPI route": (empty, a, request("/", key, row)),
            "one score": (ours, b, request("/v1/models/plain/score", key, row)),
            "one score with its interval": (ours, b, request("/v1/models/diabetes/score", key, row)),
        }
        for port, _, message in ways.values():
            load(port, [forever(message)] * asked.connections, 0.5)
        taken: dict[str, list[float]] = {name: [] for name in ways}
        rates: dict[str, list[int]] = {name: [] for name in ways}
        cost = dict.fromkeys(ways, 0.0)
        for _ in range(asked.turns):  # in turns: whatever else the machine does, all have to bear
            for name, (port, process, message) in ways.items():
                before = cpu_seconds(process)
                times = load(port, [forever(message)] * asked.connections, asked.seconds)
                cost[name] += cpu_seconds(process) - before
                taken[name] += times
                rates[name].append(len(times))
        base, *others = ways
        said(base, taken[base], asked.turns * asked.seconds)
        for name in others:
            said(name, taken[name], asked.turns * asked.seconds)
            ratio = statistics.median(r / max(e, 1) for r, e in zip(rates[name], rates[base], strict=True))
            cpu = cost[base] / len(taken[base]) / (cost[name] / len(taken[name]))
            verdict = "held" if ratio >= 0.7 else "NOT HELD"
            print(f"  ratio {ratio:.2f} by the clock, {cpu:.2f} by CPU (wanted: at least 0.7; {verdict})")
        each = ", ".join(f"{1e6 * cost[name] / len(taken[name]):.0f}" for name in ways)
        print(f"  CPU of the server a call: {each} us")
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
    from sfumato.prediction.logistic import PrivateLogistic
    from sfumato.privacy import Ledger
    from sfumato.privacy.signatures import SigningKey
    from sfumato.samples import diabetes
    from sfumato.service.installation import Installation

    fit(folder)
    people = diabetes(20_000, seed=1)
    PrivateLogistic(1.0, people.schema).fit(people, "diabetes").save(
        folder / "plain.sfm", SigningKey.fresh(), name="plain"
    )
    DPaT(epsilon_per_call=1e-6).fit(diabetes(2000, seed=1), "diabetes").save(folder / "dpat.dpat", "dpat")
    Ledger.open(folder / "study.ledger", budget=900.0).set_client("load", 900.0)
    installation = Installation(folder / "sfumato.keys", create=True)
    _, key = installation.create_key("load", ("score",), rate=1e6, burst=1_000_000)
    installation.close()
    return key, CALLS["diabetes"].encode()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=1.0)
    options.add_argument("--turns", type=int, default=8)
    options.add_argument("--connections", type=int, default=8)
    options.add_argument("--free", action="store_true")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = Path(name)
        key, row = prepare(folder)
        print(f"one worker each, {asked.connections} connections; the load comes from this process")
        free_scores(folder, key, row, asked)
        if not asked.free:
            print("one worker, one connection, each question new")
            paid_scores(folder, key, row, asked)


if __name__ == "__main__":
    main()
