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
    bars = list(csv.DictReader((tmp_path / "reidentification_classes.csv").open()))
    assert len(bars) == 2 * 3 * 20 and len({b["method"] for b in bars}) == 3


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


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole splits are kept; one that was cut short is done again."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import market_risk

    rows = [(s, "old", k, "dither", "none", "dummy", 0.1 * s, 0.5, 0.9) for s in (0, 1) for k in (5, 10)]
    kept = tmp_path / "market_splits.csv"
    market_risk.add_splits(kept, rows, anew=True)
    whole = kept.read_bytes()
    assert market_risk.load_splits(kept) == rows
    for cut in (2, 3, 10, 40):  # bytes lost at the end, the line break first: the second split goes
        kept.write_bytes(whole[:-cut])
        assert market_risk.load_splits(kept) == rows[:2]
