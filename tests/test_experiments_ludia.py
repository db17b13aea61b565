"""The experiments run in their quick form and leave a table, a picture and words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from architecture import ROOT, SOURCE
from cli_support import PATIENCE


def _run(script: str, out) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "experiments" / script), "--quick", "--out", str(out)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3 * PATIENCE)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.soak
def test_simulated_worlds(tmp_path) -> None:
    if not (ROOT / "experiments").is_dir():
        pytest.skip("the experiments are not part of this copy")
    assert "LUDIA against ER" in _run("ludia_simulated.py", tmp_path)
    for name in ("ludia_simulated.csv", "ludia_simulated.md", "ludia_simulated.png", "ludia_starts.csv"):
        assert (tmp_path / name).stat().st_size > 100


@pytest.mark.soak
def test_charges(tmp_path, data_dir) -> None:
    if not (ROOT / "experiments").is_dir():
        pytest.skip("the experiments are not part of this copy")
    assert "average daily charge" in _run("ludia_charges.py", tmp_path)
    for name in ("ludia_charges.csv", "ludia_intercepts.md", "ludia_lasso.csv", "ludia_charges.png"):
        assert (tmp_path / name).stat().st_size > 100
    for name in ("ludia_points.csv", "ludia_daily_bars.csv", "ludia_county_lines.csv"):
        assert (tmp_path / name).stat().st_size > 100


@pytest.mark.soak
def test_elsewhere(tmp_path, data_dir) -> None:
    if not (ROOT / "experiments").is_dir():
        pytest.skip("the experiments are not part of this copy")
    assert "correlation within groups" in _run("ludia_elsewhere.py", tmp_path)
    for name in ("ludia_elsewhere.csv", "ludia_elsewhere.md", "ludia_elsewhere.png"):
        assert (tmp_path / name).stat().st_size > 100
