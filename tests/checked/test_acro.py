"""A script that uses ACRO runs with our names, and what ACRO leaves open is closed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

pd = pytest.importorskip("pandas")
pytest.importorskip("statsmodels")

SCRIPT = (Path(__file__).parent / "acro_script.py").read_text(encoding="utf-8")
LIMIT = 10


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Four hundred people; one way every group is large, two ways some are small."""
    draw = np.random.default_rng(2)
    n = 400
    data = pd.DataFrame(
        {
            "ward": draw.choice(list("abcdef"), n, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05]),
            "smokes": draw.choice(["never", "once", "often"], n, p=[0.7, 0.22, 0.08]),
            "age": draw.integers(20, 90, n),
            "cost": draw.gamma(2.0, 300.0, n).round(2),
            "all": "n",
        }
    )
    path = tmp_path_factory.mktemp("acro") / "people.csv"
    data.to_csv(path, index=False)
    return path


def opened(file, answer) -> int:
    """How many counts below ten follow to the unit from the two-way and the one-way tables."""
    data = pd.read_csv(file)
    true = pd.crosstab(data["ward"], data["smokes"])
    cells = [(i, j) for i in true.index for j in true.columns]
    rows, values = [], []
    for (i, j), k in zip(cells, range(len(cells)), strict=True):
        if answer["two"][i].get(j) is not None:
            rows.append(np.eye(len(cells))[k])
            values.append(answer["two"][i][j])
    for which, side in (("one", 0), ("other", 1)):
        for label, row in answer[which].items():
            if row["n"] is not None:
                rows.append(np.array([float(c[side] == label) for c in cells]))
                values.append(row["n"])
    found = 0
    for k, (i, j) in enumerate(cells):
        if 0 < true.loc[i, j] < LIMIT:
            ends = [
                linprog(
                    s * np.eye(len(cells))[k],
                    A_eq=np.array(rows),
                    b_eq=values,
                    bounds=(0, None),
                    method="highs",
                )
                for s in (1, -1)
            ]
            found += ends[0].fun + ends[1].fun > -1  # less than a person apart
    return found


def ours(file, folder):
    script = SCRIPT.replace("from acro import ACRO", "from sfumato.checked import ACRO")
    names = {"file": str(file), "folder": str(folder)}
    exec(compile(script, "script", "exec"), names)
    return names["answer"]


def test_the_script_runs_with_our_names_and_nothing_is_opened(file, tmp_path, capsys) -> None:
    answer = ours(file, tmp_path / "out")
    assert "wards by smoking" in capsys.readouterr().out
    assert opened(file, answer) == 0
    assert (tmp_path / "out" / "review.html").exists() and (
        tmp_path / "out" / "outputs" / "wards.csv"
    ).exists()
    true = pd.crosstab(pd.read_csv(file)["ward"], pd.read_csv(file)["smokes"])
    shown = {(i, j) for i, row in answer["two"].items() for j, v in row.items() if v is not None}
    assert shown and all(true.loc[i, j] == answer["two"][i][j] >= LIMIT for i, j in shown)


@pytest.mark.soak
def test_the_same_script_with_acro_leaves_cells_open(file, tmp_path, peer) -> None:
    theirs = peer("acro", script=SCRIPT, file=str(file), folder=str(tmp_path / "theirs"))
    answer = ours(file, tmp_path / "ours")
    assert opened(file, theirs) > 0 == opened(file, answer)
    for i, row in answer["two"].items():  # what it withholds as small, we withhold
        for j, value in row.items():
            assert value is None or theirs["two"][i][j] is not None
