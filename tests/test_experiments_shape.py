"""The experiments on keeping the shape run, quickly, and say what they are about."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "experiments"


def run(script: str, out: Path, data_dir: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), "--quick", "--out", str(out)],
        env={**os.environ, "SFUMATO_DATA": str(data_dir)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.soak
def test_reidentification(tmp_path: Path, data_dir: Path) -> None:
    run("reidentification.py", tmp_path, data_dir)
    rows = list(csv.DictReader((tmp_path / "reidentification.csv").open()))
    assert len(rows) == 6
    for row in rows:
        assert float(row["largest exact of a record"]) <= float(row["1/k"]) + 1e-12
        assert row["records proven above 1/k"] == "0"
    assert (tmp_path / "reidentification_by_k.png").stat().st_size > 5_000


@pytest.mark.soak
def test_market_risk(tmp_path: Path, data_dir: Path) -> None:
    run("market_risk.py", tmp_path, data_dir)
    rows = list(csv.DictReader((tmp_path / "market_curves.csv").open()))
    kept = {
        (r["method"], r["k"]): float(r["similarity"])
        for r in rows
        if r["market"] == "same" and r["coding"] == "dummy"
    }
    assert kept["resample", "100"] > 0.8 > 0.6 > kept["centroid", "100"]
    assert (tmp_path / "market_bias.png").stat().st_size > 5_000
