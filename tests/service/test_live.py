"""A real service on loopback, two workers: what only sockets and processes show."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cli_support import PATIENCE, environment
from serving import WHOLE, Running, certificate, running

from sfumato.privacy import Ledger
from sfumato.service.installation import Installation

SCORE, NOISY = "/v1/models/diabetes/score", "/v1/models/dpat/score"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    Ledger.open(folder / "study.ledger", budget=100.0).set_client("clinic", 50.0)
    return folder


@pytest.fixture(scope="module")
def key(house: Path) -> str:
    installation = Installation(house / "sfumato.keys", create=True)
    _, text = installation.create_key("clinic", ("score", "metrics"), rate=1e5, burst=100_000)
    installation.close()
    return text


@pytest.fixture(scope="module")
def live(house: Path, key: str, released: Path, noisy: Path) -> Iterator[Running]:
    arguments = (released, noisy, "--ledger", "study.ledger", "--allow-unproved", "--workers", "2")
    with running(house, *arguments) as service:
        yield service


def test_identical_questions_at_once_over_workers_are_debited_once(
    live: Running, key: str, house: Path
) -> None:
    ledger = Ledger.open(house / "study.ledger")
    before = ledger.spent
    barrier = threading.Barrier(16)

    def question(_: int) -> bytes:
        barrier.wait()
        return live.ask("POST", NOISY, WHOLE, key=key).body

    with ThreadPoolExecutor(16) as pool:
        answers = set(pool.map(question, range(16)))
    assert len(answers) == 1 and b"risk_score" in answers.pop()
    assert ledger.spent == before + 0.5


def test_different_questions_at_once_are_debited_each(live: Running, key: str, house: Path) -> None:
    ledger = Ledger.open(house / "study.ledger")
    before = ledger.spent
    rows = [{**WHOLE, "age": 20 + i, "bmi": 31} for i in range(20)]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda row: live.ask("POST", NOISY, row, key=key), rows))
    assert {a.status for a in answers} == {200}
    assert ledger.spent == before + 10.0


def test_metrics_add_up_over_workers_and_name_nobody(live: Running, key: str) -> None:
    def total() -> float:
        text = live.ask("GET", "/metrics", key=key).body.decode()
        assert "clinic" not in text and key.split("_")[1] not in text
        line = next(x for x in text.splitlines() if x.startswith('sfumato_scores_total{outcome="released"}'))
        return float(line.split()[1])

    before = total()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: live.ask("POST", SCORE, [WHOLE] * 3, key=key), range(20)))
    assert total() == before + 60


def raw(live: Running, message: bytes, patience: float = PATIENCE) -> bytes:
    with socket.create_connection(("127.0.0.1", live.port), timeout=patience) as line:
        line.sendall(message)
        line.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while part := line.recv(65_536):
                answer += part
        except (TimeoutError, ConnectionResetError):
            pass
        return answer


SMUGGLED = {
    "two lengths": b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}",
    "length and chunks": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "odd chunks": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "negative length": b"Content-Length: -1\r\n\r\n",
    "folded header": b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "bare line feed": b"X: a\nAuthorization: Bearer x\r\nContent-Length: 2\r\n\r\n{}",
    "null in a header": b"X: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
    "large headers": b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    "lying chunk": b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n{}",
    "short body": b"Content-Length: 500\r\n\r\n{",
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_odd_requests_get_one_answer_and_no_fault(name: str, live: Running) -> None:
    start = b"POST /v1/models/diabetes/score HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    answer = raw(live, start + SMUGGLED[name])
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert not answer or answer.split()[1] in (b"400", b"401", b"411", b"413", b"431"), answer[:200]


@pytest.mark.parametrize(
    "line",
    [
        b"\x00\xff\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
    ],
)
def test_what_is_no_http_is_refused(line: bytes, live: Running) -> None:
    answer = raw(live, line)
    assert not answer or not answer.split()[1].startswith(b"5"), answer[:100]


def test_a_thousand_idle_connections_stop_nobody(live: Running, key: str) -> None:
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 2000:
        pytest.skip("this machine opens fewer files at once")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), most))
    with contextlib.ExitStack() as idle:
        for _ in range(1005):
            with contextlib.suppress(ConnectionError):
                idle.enter_context(socket.create_connection(("127.0.0.1", live.port), PATIENCE))
        for _ in range(5):
            assert live.ask("GET", "/healthz").status == 200
            assert live.ask("POST", SCORE, WHOLE, key=key).status == 200
    assert live.ask("GET", "/healthz").status == 200


def test_no_file_of_data_is_open_and_the_logs_are_clean(live: Running, key: str, house: Path) -> None:
    for _ in range(11):
        live.ask("POST", SCORE, {**WHOLE, "bmi": 41.170293}, key=key)
        live.ask("POST", SCORE, {**WHOLE, "bmi": "zebra"}, key=key)
    logs = live.logs
    text = json.dumps(logs)
    assert key not in text and key.split("_", 2)[2] not in text
    assert "41.170293" not in text and "zebra" not in text and "127.0.0.1" not in text
    requests = [line for line in logs if line["event"] == "request"]
    assert len({line["id"] for line in requests}) == len(requests) > 20
    assert {line["level"] for line in logs} <= {"info", "warning"}  # a warning: what is no HTTP
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(live.process.pid)], capture_output=True, text=True
    ).stdout.split()
    for pid in [str(live.process.pid), *children]:
        opened = [str(p.readlink()) for p in Path(f"/proc/{pid}/fd").iterdir() if p.exists()]
        files = {Path(f).name for f in opened if f.startswith(str(house.parent))}
        assert all(f.startswith(("sfumato.", "study.ledger", "errors-", "out-")) for f in files), files


def until_closed(port: int) -> None:
    """Wait until nobody is let in any more."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError("the service still takes requests")


def test_stopping_finishes_what_was_begun(house: Path, key: str, released: Path) -> None:
    with running(house, released / "diabetes.sfm", "--keys", "sfumato.keys") as service:
        body = json.dumps([WHOLE] * 1000).encode()
        head = (
            f"POST {SCORE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        ).encode()
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as line:
            line.sendall(head)
            assert line.recv(65_536).startswith(b"HTTP/1.1 100")  # the request is under way
            line.sendall(body[:1000])
            service.process.send_signal(signal.SIGTERM)
            until_closed(service.port)
            line.sendall(body[1000:])
            answer = b""
            while part := line.recv(65_536):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200") and answer.count(b"risk_score") == 1000
        assert service.process.wait(PATIENCE) == 0
        assert service.logs[-1]["event"] in ("stopped", "server")
        assert any(entry["event"] == "stopped" for entry in service.logs)


def test_tls_is_spoken_and_remembered(house: Path, key: str, released: Path) -> None:
    certificate(house)
    with running(
        house, released / "diabetes.sfm", "--ssl-certfile", "cert.pem", "--ssl-keyfile", "key.pem", tls=True
    ) as service:
        answer = service.ask("POST", SCORE, WHOLE, key=key)
        assert answer.status == 200
        assert "max-age" in answer.headers["strict-transport-security"]
        assert not raw(service, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP")


def test_the_serving_code_needs_no_data_library() -> None:
    script = (
        "import sys, sfumato.service.app, sfumato.prediction.artefact;"
        "print([m for m in ('pandas', 'polars', 'duckdb', 'sklearn', 'numba', 'scipy') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment())
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
