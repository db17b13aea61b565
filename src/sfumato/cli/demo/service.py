"""The demo's service: started, asked once as an app would ask, and stopped."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sfumato.cli.demo.stage import Stage

_PATIENCE = 60.0


def serve(stage: Stage) -> str:
    """Two models of simulated patients, served on loopback; one score with its explanation."""
    from sfumato.cli.demo_models import CALLS, fit
    from sfumato.service.installation import Installation

    folder = stage / "service"
    folder.mkdir()
    fit(folder)
    with closing(Installation(folder / "keys", create=True)) as installation:
        _, key = installation.create_key("demo")
    with _running(folder) as port:
        stage.show(Text("$ sfumato serve service/ --keys service/keys &", "bold cyan"))
        stage.show(
            Text(
                f"$ curl 127.0.0.1:{port}/v1/models/diabetes/score -d '{CALLS['diabetes']}' ...", "bold cyan"
            )
        )
        answer = _asked(port, key, CALLS["diabetes"])
    stage.show(Text(json.dumps({k: v for k, v in answer.items() if k != "explanation"}, indent=1)))
    if "risk_score" not in answer:
        stage.mishaps.append("the service did not answer")
        return "the service did not answer"
    most = max(answer["explanation"]["contributions"], key=lambda c: abs(c["contribution"]))
    return f"a risk of {answer['risk_score']:.0%}, mostly for the {most['feature']}; {answer['guarantee']}"


@contextmanager
def _running(folder: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    options = ["--keys", str(folder / "keys"), "--answers", str(folder / "answers"), "--port", str(port)]
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", "serve", str(folder), *options], stdout=nowhere, stderr=nowhere
        )
    try:
        end = time.monotonic() + _PATIENCE
        while process.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _asked(port: int, key: str, body: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        try:
            connection.request("POST", "/v1/models/diabetes/score?explain=true", body, headers)
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException):
            return {}
        return answer
