"""The experiment on Pima runs, quickly, and shows what it is about."""

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
def test_chapter_5_on_pima(tmp_path: Path, data_dir: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "dpat_pima.py"), "--quick", "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent / "src"), "SFUMATO_DATA": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "dpat_pima.csv").open()))
    area = {(r["method"], r["epsilon"]): float(r["AUROC"]) for r in rows}
    assert area["AdditiveScore", "1.0"] > 0.6 and area["AdditiveScore, breast cancer", "1.0"] > 0.85
    assert area["C4.5 (not private)", "none"] > 0.65 and ("EDPaT (claim fails)", "1.0") in area
    assert (tmp_path / "dpat_pima.png").stat().st_size > 5_000
    gains = list(csv.DictReader((tmp_path / "dpat_pima_gains.csv").open()))
    by_node = {n: [g for g in gains if g["node"] == n] for n in dict.fromkeys(g["node"] for g in gains)}
    admitted = []
    for found in by_node.values():
        best = max(found, key=lambda g: float(g["least"]))
        admitted.append(all(float(best["least"]) >= float(g["largest"]) for g in found if g is not best))
    assert admitted == [True, False]  # figure 5.5: the root splits, the leaf does not
    assert (tmp_path / "dpat_pima_roc.csv").exists()
    for name in ("dpat_pima_tree", "dpat_pima_structure"):
        assert "glucose" in (tmp_path / f"{name}.json").read_text(encoding="utf-8")
