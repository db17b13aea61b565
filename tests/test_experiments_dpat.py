"""The experiment on simulated patients runs, quickly, and shows what it is about."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import PATIENCE

FOLDER = Path(__file__).parent.parent / "experiments"


@pytest.mark.soak
def test_figure_5_7_in_shape(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "dpat_icu.py"), "--quick", "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent / "src")},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "dpat_icu.csv").open()))
    area = {(r["method"], r["claimed epsilon"]): float(r["AUROC"]) for r in rows}
    assert area["EDPaT", "10.0"] > area["EDPaT", "0.1"] - 0.05 and area["EDPaT", "no noise"] > 0.68
    # Without noise nothing is random: the halves are fixed.
    assert area["EDPaT", "no noise"] > area["DPaT", "no noise"]
    assert area["C4.5, 20 rows a leaf", "no noise"] > area["C4.5, 2 rows a leaf", "no noise"] + 0.05
    assert "None of it is differentially private" in done.stdout
    assert (tmp_path / "dpat_icu.png").stat().st_size > 5_000
