"""The same plan here and on Spark: counts, rows and files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from planned import PLAN, rows, written

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.io.spark import parquet_on_spark
from sfumato.plan import Plan
from sfumato.plan.drift import read as profile
from sfumato.release import fingerprint

ROOT = Path(__file__).parents[2]
STEP = 'method = "pegs"\nalpha = 1.0\nchoose = "data"\nblock = 7\nrows = 1_000\n'
ON_PARQUET = PLAN.partition("[columns]")[0].replace("data.csv", "data.parquet")


def folder_of(tmp_path: Path) -> Path:
    """Data as Parquet, and a plan that synthesizes it."""
    plan = f"{ON_PARQUET}\n[[steps]]\n{STEP}\n[assess]\nskip = true\n"
    path = written(tmp_path, plan, **{"data.csv": rows(600)})
    sf.write(sf.scan(tmp_path / "data.csv", tmp_path / "schema.toml"), tmp_path / "data.parquet")
    return path


def test_a_plan_on_spark_gives_what_it_gives_here(spark: Any, tmp_path: Path) -> None:
    plan = Plan.read(folder_of(tmp_path))
    frame = spark.createDataFrame(pq.read_table(tmp_path / "data.parquet")).repartition(3)
    there = plan.run(tmp_path / "there", input=frame)
    here = plan.run(tmp_path / "here")
    out = there.releases["step-1"]
    assert [p.name for p in (out / "public" / "data.parquet").iterdir()] == ["part-00000.parquet"]
    assert sf.verify(out).ok and not (tmp_path / ".there.sfumato").exists()
    assert profile(out).equals(profile(here.releases["step-1"]))  # every column counted there and here
    release = there.load()
    assert release.internal is not None
    table = sf.scan(tmp_path / "data.parquet", plan.schema)
    drawn = sf.PeGS(alpha=1.0, choose="data", block=7).fit(table).sample(1_000, key=release.internal.key)
    assert drawn.data.to_arrow().equals(release.data.to_arrow())
    assert plan.run(tmp_path / "there", input=frame.repartition(2)).unchanged  # in whatever order rows lie
    key = sf.Key.from_seed(1)
    fewer = sf.scan(frame.limit(599), plan.schema)
    assert fingerprint(fewer, key) != fingerprint(sf.scan(frame, plan.schema), key)


def test_on_spark_the_input_is_parquet() -> None:
    with pytest.raises(ParameterError, match="Parquet"), parquet_on_spark("data.csv", "local[1]"):
        pass


@pytest.mark.soak
def test_the_benchmark_finds_everything_equal(spark: Any) -> None:
    """Two executors of their own; PLUGS by parts, and several files. `spark`: not beside another Spark."""
    script = ROOT / "benchmarks" / "scale.py"
    done = subprocess.run([sys.executable, str(script), "20000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "rows equal for the same key: pegs True, plugs True" in done.stdout
