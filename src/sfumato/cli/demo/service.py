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
        answer = _asked(port, key, "/v1/models/diabetes/score?explain=true", CALLS["diabetes"])
        stage.show(Text(json.dumps({k: v for k, v in answer.items() if k != "explanation"}, indent=1)))
        stage.show(Text(f"$ curl 127.0.0.1:{port}/v2/models/diabetes/infer -d '...'", "bold cyan"))
        tensors = _asked(port, key, "/v2/models/diabetes/infer", _tensors(CALLS["diabetes"]))
        stage.show(Text(f"$ curl 127.0.0.1:{port}/v1/models/diabetes ...", "bold cyan"))
        judged = _asked(port, key, "/v1/models/diabetes").get("card", {}).get("evaluation", {})
    if "risk_score" not in answer:
        stage.mishaps.append("the service did not answer")
        return "the service did not answer"
    same = [o["data"] for o in tensors.get("outputs", ()) if o["name"] == "risk_score"]
    if same != [[answer["risk_score"]]]:
        stage.mishaps.append("the Open Inference Protocol gave another score")
    by_sex = ", ".join(
        f"{g['level']} {g['observed_over_predicted']:.2f}"
        for g in judged.get("subgroups", ())
        if g["observed_over_predicted"] is not None
    )
    if judged.get("auroc") is not None:
        stage.show(
            Text(f"On others: area under the curve {judged['auroc']:.2f}, observed over predicted {by_sex}.")
        )
    else:
        stage.mishaps.append("the served model carries no evaluation")
    most = max(answer["explanation"]["contributions"], key=lambda c: abs(c["contribution"]))
    low, high = answer["interval"]
    return (
        f"a risk of {answer['risk_score']:.0%} ({low:.0%} to {high:.0%} without noise), mostly for the "
        f"{most['feature']}; {answer['guarantee']}; the same by the Open Inference Protocol"
    )


def _tensors(row: str) -> str:
    """One row as tensors, as hospitals' inference clients send them."""
    kinds = {bool: "BOOL", str: "BYTES"}
    inputs = [
        {"name": name, "shape": [1], "datatype": kinds.get(type(value), "FP64"), "data": [value]}
        for name, value in json.loads(row).items()
    ]
    return json.dumps({"inputs": inputs})


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


def _asked(port: int, key: str, path: str, body: str | None = None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        try:
            connection.request("GET" if body is None else "POST", path, body, headers)
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException):
            return {}
        return answer
