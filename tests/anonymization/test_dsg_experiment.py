"""The experiment of the thesis runs, on simulated data, and counts votes as it says."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from architecture import ROOT, SOURCE
from cli_support import PATIENCE

FOLDER = ROOT / "experiments"


@pytest.fixture(scope="module")
def dsg() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("dsg", FOLDER / "dsg.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["dsg"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


@pytest.mark.soak
def test_it_runs(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    environment.pop("SFUMATO_DATA", None)
    command = [sys.executable, str(FOLDER / "dsg.py"), "--quick", "--out", str(tmp_path)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3 * PATIENCE)
    assert answer.returncode == 0, answer.stderr[-2_000:]
    made = {f.name for f in tmp_path.iterdir()}
    assert {"dsg.md", "errors.csv", "votes.csv", "cost.csv", "figure_16.csv", "figure_19.csv"} <= made
    assert {"figure_19.svg", "figures_20_to_24.svg", "cost.svg"} <= made


def test_votes(dsg: ModuleType) -> None:
    """Nine ballots: a leads on four, b beats each other one in a race of two."""
    ballots = [{"a": 1, "b": 2, "c": 3}] * 4 + [{"a": 3, "b": 1, "c": 2}] * 3 + [{"a": 3, "b": 2, "c": 1}] * 2
    assert dsg.plurality(ballots) == "a (4/9)"
    assert dsg.copeland(ballots) == "b"
    circle = [{"a": 1, "b": 2, "c": 3}, {"a": 3, "b": 1, "c": 2}, {"a": 2, "b": 3, "c": 1}]
    assert dsg.copeland(circle) == "a, b, c"


def test_an_interval_covers_what_it_should(dsg: ModuleType) -> None:
    assert dsg.interval([1.0, 1.0, 1.0]) == "1 [1, 1]"
    assert dsg.interval([0.0, 2.0]).startswith("1 [-11.7")
