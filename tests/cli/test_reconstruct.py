"""reconstruct and assess-aggregates, through the real entry point."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.cli.app import run


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    g, h = rng.integers(0, 12, 600), rng.integers(0, 4, 600)
    x = rng.normal(size=600)
    y = 50 + 10 * x + rng.normal(size=600)
    full = pa.table({"county": [f"c{i}" for i in g], "unit": [f"u{i}" for i in h], "x": x, "y": y})
    pq.write_table(full, tmp_path / "full.parquet")
    pq.write_table(full.drop(["y"]), tmp_path / "people.parquet")
    for name, group in (("county", g), ("unit", h)):
        lines = [
            f"{name[0]}{k},{float(y[group == k].mean())!r},{(group == k).sum()}" for k in np.unique(group)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"{name},y,n", *lines]) + "\n")
    return tmp_path, g, h, y


@pytest.mark.parametrize("method", ["mp", "er", "er-corrected", "ludia", "cudia"])
def test_reconstruct(files, method, capsys) -> None:
    folder, g, _, y = files
    out = folder / f"{method}.parquet"
    code = run(
        ["reconstruct", str(folder / "people.parquet"), str(folder / "county.csv"), "--by", "county",
         "--value", "y", "--sizes", "n", "--method", method, "--columns", "x", "--out", str(out), "--json"]
    )  # fmt: skip
    assert code == 0
    assert json.loads(capsys.readouterr().out)["groups"] == 12
    got = pq.read_table(out)["y"].to_numpy()
    gap = np.abs((np.bincount(g, got) - np.bincount(g, y)) / np.bincount(g)).max()
    assert (gap < 1e-9) == (method != "er")


def test_stacked_levels_and_intervals(files) -> None:
    folder, g, h, y = files
    out = folder / "y.parquet"
    code = run(
        ["reconstruct", str(folder / "people.parquet"), str(folder / "county.csv"), "--by", "county",
         "--value", "y", "--level", f"unit={folder / 'unit.csv'}", "--columns", "x", "--interval", "0.9",
         "--out", str(out)]
    )  # fmt: skip
    assert code == 0
    rows = pq.read_table(out)
    assert {"y", "y_low", "y_high"} <= set(rows.column_names)
    for group in (g, h):
        gap = (np.bincount(group, rows["y"].to_numpy()) - np.bincount(group, y)) / np.bincount(group)
        assert np.abs(gap).max() < 1e-9


def test_assess_aggregates_says_which_groups_to_coarsen(files, capsys) -> None:
    folder, *_ = files
    arguments = [
        "assess-aggregates",
        str(folder / "full.parquet"),
        "--by",
        "county",
        "--value",
        "y",
        "--json",
    ]
    code = run([*arguments, "--method", "er-corrected", "--columns", "x", "--tolerance", "0.05"])
    found = json.loads(capsys.readouterr().out)
    assert code == 1 and found["coarsen"] > 0 and found["too_few_people"] == 0
    assert "details" not in found["scores"][0]
    controlled = run([*arguments, "--columns", "x", "--control", str(folder / "full.parquet")])
    assert controlled == 0


def test_bad_input_is_said(files, capsys) -> None:
    folder, *_ = files
    common = ["reconstruct", str(folder / "people.parquet"), str(folder / "county.csv"), "--by", "county"]
    assert run([*common, "--value", "y", "--method", "magic", "--out", str(folder / "y.csv")]) == 2
    assert run([*common, "--value", "y", "--level", "unit", "--out", str(folder / "y.csv")]) == 2
    assert "COLUMN=FILE" in capsys.readouterr().err
    assert not (folder / "y.csv").exists()


@pytest.mark.parametrize("left_out", ["--by", "--value", "--out"])
def test_what_must_be_said_is_asked_for(files, capsys, left_out: str) -> None:
    folder, *_ = files
    said = {"--by": "county", "--value": "y", "--out": str(folder / "z.csv")}
    words = [word for name, value in said.items() if name != left_out for word in (name, value)]
    assert run(["reconstruct", str(folder / "people.parquet"), str(folder / "county.csv"), *words]) == 2
    assert left_out in capsys.readouterr().err and not (folder / "z.csv").exists()


def test_known_values_and_hints_that_name_options(files, capsys) -> None:
    folder, *_ = files
    out = folder / "y.parquet"
    line = ["reconstruct", str(folder / "people.parquet"), str(folder / "county.csv"), "--by", "county"]
    line += ["--value", "y", "--columns", "x", "--out", str(out), "--known", str(folder / "full.parquet")]
    assert run([*line, "--interval", "0.9", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sigma"][0] < 4  # of ten; groups alone would say more
    assert run([*line, "--method", "mp", "--overwrite"]) == 2
    assert "--known is for --method ludia" in capsys.readouterr().err
    means = (folder / "county.csv").read_text().splitlines()
    (folder / "fewer.csv").write_text("\n".join(means[:-1]) + "\n")
    line[2] = str(folder / "fewer.csv")
    assert run([*line, "--overwrite"]) != 0
    said = " ".join(capsys.readouterr().err.split())
    assert "--partial lets groups be missing" in said and "partial=True" not in said
