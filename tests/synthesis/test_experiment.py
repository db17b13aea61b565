"""The experiment runs, and the shapes of the paper's figures are there in its quick mode."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from experiments import pegs_risk_utility


@pytest.mark.soak
def test_the_quick_run_has_the_papers_shape(tmp_path: Path) -> None:
    folder = pegs_risk_utility.main(["--quick", "--out", str(tmp_path)])
    with (folder / "pegs_risk_utility.csv").open() as file:
        rows = list(csv.DictReader(file))

    def of(figure: str, measure: str, method: str, epsilon: float) -> float:
        return next(
            float(r["value"])
            for r in rows
            if (r["figure"], r["measure"], r["method"]) == (figure, measure, method)
            and float(r["epsilon"]) == epsilon
        )

    for method in ("PeGS", "PeGS.rs"):  # more epsilon, nearer to the original: figures 6 and 8
        assert of("6 marginal", "mae", method, 100) < 0.6 * of("6 marginal", "mae", method, 0.1)
        assert of("8 marginal ranks", "kendall", method, 100) > of("8 marginal ranks", "kendall", method, 0.1)
    assert of("6 marginal", "mae", "PeGS.rs", 5) < of("6 marginal", "mae", "PeGS", 5)
    assert of("12 intruder", "unique", "PeGS", 0.1) > of("12 intruder", "unique", "bootstrap", float("inf"))
    with (folder / "pegs_blocks.csv").open() as file:
        shares = [r for r in csv.DictReader(file) if r["column"] == "zip"]
    for part in {r["rows"] for r in shares}:  # figure 5: shares of each part add up to one
        assert abs(sum(float(r["share"]) for r in shares if r["rows"] == part) - 1) < 1e-9
    assert "Figure 5" in (folder / "pegs_risk_utility.md").read_text()
    assert (folder / "pegs_discharges.svg").read_text().startswith("<svg")
