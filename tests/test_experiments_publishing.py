"""Chapter 2 of the dissertation runs in its quick form, and says what it should."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import PATIENCE

FOLDER = Path(__file__).parent.parent / "experiments"


@pytest.mark.soak
def test_publishing(tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / "publishing.py"), "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3 * PATIENCE)
    assert done.returncode == 0, done.stderr
    releases = list(csv.DictReader((tmp_path / "publishing_k.csv").open()))
    assert [int(row["k"]) for row in releases] == [1, 3, 3]
    assert float(releases[2]["total variation, pairs"]) < float(releases[1]["total variation, pairs"])
    terms = {(r["model"], r["term"]): r for r in csv.DictReader((tmp_path / "publishing_models.csv").open())}
    slope = terms["charge_usd", "los_days"]
    assert abs(float(slope["imputed"]) / float(slope["original"]) - 1) < 0.25
    assert (tmp_path / "publishing_local.html").stat().st_size > 50_000
    tiles = list(csv.DictReader((tmp_path / "publishing_mosaic.csv").open()))
    for name in {t["release"] for t in tiles}:
        mine = [t for t in tiles if t["release"] == name]
        area = sum(
            (float(t["right"]) - float(t["left"])) * (float(t["high"]) - float(t["low"])) for t in mine
        )
        assert abs(area - 1) < 1e-9  # a mosaic covers its square
        assert (min(int(t["records"]) for t in mine) >= 3) == (name != "as it is")
    for name in ("scatter", "summary", "areas", "fitted"):
        assert len((tmp_path / f"publishing_{name}.csv").read_text().splitlines()) > 10
