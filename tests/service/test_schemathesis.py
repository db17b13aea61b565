"""Schemathesis, asked as a program of its own, finds no difference between the document and the service."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import PATIENCE
from serving import running

from sfumato.privacy import Ledger
from sfumato.service.installation import Installation


@pytest.mark.parametrize(
    ("phases", "cases"),
    [("examples,fuzzing", 4), pytest.param("examples,coverage,fuzzing", 40, marks=pytest.mark.soak)],
)
def test_schemathesis_finds_no_difference(
    tmp_path: Path, released: Path, noisy: Path, phases: str, cases: int
) -> None:
    if importlib.util.find_spec("schemathesis") is None:
        pytest.skip("schemathesis is not installed")
    Ledger.open(tmp_path / "study.ledger", budget=100.0).set_client("clinic", 50.0)
    installation = Installation(tmp_path / "sfumato.keys", create=True)
    _, key = installation.create_key("clinic", ("score", "admin", "metrics"), rate=1e5, burst=100_000)
    installation.close()
    with running(tmp_path, released, noisy, "--ledger", "study.ledger", "--allow-unproved") as service:
        done = subprocess.run(
            [
                sys.executable, "-m", "schemathesis.cli", "run",
                f"http://127.0.0.1:{service.port}/openapi.json", "-H", f"Authorization: Bearer {key}",
                "--phases", phases, "-n", str(cases), "--checks", "all",
                "--seed", "1", "--generation-deterministic", "--no-shrink", "--request-timeout", "120",
            ],
            cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
        assert "passed" in done.stdout
        assert not [line for line in service.logs if line["event"] == "fault"]
