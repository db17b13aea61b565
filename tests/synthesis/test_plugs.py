"""PLUGS: parts on processes and on Spark executors, mixed; the same law in every part."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import samples
from sfumato.errors import DataError, ParameterError
from sfumato.synthesis.lugs.executors import cells_of
from sfumato.synthesis.lugs.method import LUGS
from sfumato.synthesis.lugs.parallel import PLUGS, Job

COLUMNS = samples.DISCHARGE_VARIABLES[:5]
METHOD = LUGS(log_l=0.05, columns=COLUMNS)


def distance(a: Any, b: Any) -> float:
    """The mean total variation of single columns."""
    gaps = []
    for name in COLUMNS:
        p, q = (t.counts(name).dense() / t.counts(name).total for t in (a, b))
        gaps.append(abs(p - q).sum() / 2)
    return float(np.mean(gaps))


@pytest.mark.soak
def test_processes_give_what_one_would() -> None:
    table = samples.discharges(6_000, seed=1).select(COLUMNS)
    fitted = PLUGS(METHOD, partitions=3, workers=2).fit(table)
    release = fitted.sample(3_001, seed=4)
    assert release.data.rows() == 3_001 == release.data.to_arrow().num_rows
    alone = METHOD.fit(table).sample(3_001, seed=4)
    assert distance(release, alone) < 0.08  # both are smoothed by hashing; parts change little
    assert release.internal is not None and len(release.internal.extra["rows by part"]) == 3
    assert fitted.sample(3_001, seed=4).data.to_arrow().equals(release.data.to_arrow())


@pytest.mark.soak
def test_spark_executors_learn_their_own_rows(spark: Any) -> None:
    data = samples.discharges(3_000, seed=2).select(COLUMNS)
    weighted = data.to_arrow().append_column("w", [np.where(np.arange(3_000) < 2_000, 2.0, 1.0)])
    schema = sf.Schema((*data.schema, sf.Column("w", sf.Kind.NUMERIC, sf.Role.WEIGHT, type="real")))
    table = sf.scan(spark.createDataFrame(weighted.to_pandas()), schema)
    rules = (sf.Never({"sex": "male", "race": "asian"}),)
    method = replace(METHOD, weight="w", constraints=rules, cap=True)
    release = PLUGS(method, partitions=2, on="spark").fit(table).sample(1_001, seed=1)
    alone = sf.Table.from_arrow(weighted, schema)
    here = PLUGS(method, partitions=2, workers=1).fit(alone).sample(1_001, seed=1)
    assert release.data.to_arrow().equals(here.data.to_arrow())  # the same rows in the same order
    assert not any(r["sex"] == "male" and r["race"] == "asian" for r in here.data.to_arrow().to_pylist())
    assert distance(here, method.fit(alone).sample(1_000, seed=1)) < 0.15


def test_rows_are_dealt_out_by_what_they_hold_not_by_their_order() -> None:
    """A fair share of every part; a row and its like go each its own way."""
    codes = np.random.default_rng(3).integers(0, 3, (4_000, 2)).astype(np.uint16)
    job = Job(METHOD, (), sf.Key.from_seed(5).to_bytes(), (1,) * 4)
    cells, n = np.unique(cells_of(codes), return_counts=True)
    part, line, times = job.deal(cells, n)
    assert np.bincount(line, times).tolist() == n.tolist()
    shares = np.bincount(part, times)
    assert (abs(shares - 1_000) < 5 * np.sqrt(4_000 * 0.25 * 0.75)).all()  # 5 sigma: once in 4e5, seed fixed
    assert len(line) == 4 * len(cells)  # copies of one row are in every part
    other = job.deal(cells[::-1], n[::-1])
    back = len(cells) - 1 - other[1]
    assert set(zip(part, line, times, strict=True)) == set(zip(other[0], back, other[2], strict=True))


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="partitions"):
        PLUGS(partitions=0)
    with pytest.raises(ParameterError, match="processes or spark"):
        PLUGS(on="moon")  # type: ignore[arg-type]
    table = samples.discharges(10, seed=1).select(COLUMNS)
    with pytest.raises(DataError, match="fewer rows than parts"):
        PLUGS(METHOD, partitions=11).fit(table)
    with pytest.raises(ParameterError, match="not a Spark table"):
        PLUGS(METHOD, on="spark").fit(table)


def test_a_plain_script_is_run_once(tmp_path: Path) -> None:
    """No guard around its main part: what it pays for is paid for once."""
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "import pyarrow as pa\n"
        "import sfumato as sf\n"
        "log = Path(__file__).with_name('runs')\n"
        "log.write_text((log.read_text() if log.exists() else '') + 'run\\n')\n"
        "table = sf.Table.from_arrow(pa.table({'a': ['x', 'y'] * 200, 'b': ['u', 'v', 'v', 'u'] * 100}))\n"
        "release = sf.synthesize(table, sf.PLUGS(sf.LUGS(), partitions=3, workers=2), 30, seed=1)\n"
        "print(release.data.rows())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "30" and (tmp_path / "runs").read_text() == "run\n"
