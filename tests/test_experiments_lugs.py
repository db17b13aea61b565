"""The experiment on DE-SynPUF runs, quickly, twice alike, and writes what the gallery draws."""

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
def test_figures_2_to_7(tmp_path: Path, data_dir: Path) -> None:
    for place in ("one", "two"):
        done = subprocess.run(
            [sys.executable, str(FOLDER / "lugs.py"), "--quick", "--out", str(tmp_path / place)],
            env={**os.environ, "PYTHONPATH": str(FOLDER.parent / "src"), "SFUMATO_DATA": str(data_dir)},
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE,
        )
        assert done.returncode == 0, done.stderr
    for name in ("lugs", "lugs_path", "lugs_autocorrelation", "lugs_marginals", "lugs_lambda"):
        first, second = ((tmp_path / place / f"{name}.csv").read_bytes() for place in ("one", "two"))
        assert first == second and first.count(b"\n") > 4
    rows = list(csv.DictReader((tmp_path / "one" / "lugs.csv").open()))
    artificial = {(r["keys"], r["log_l"]): float(r["artificial"]) for r in rows}
    assert artificial["2 min-hashes", "0.1"] > 0.5 > artificial["exact", "0.1"] > artificial["exact", "0.05"]
