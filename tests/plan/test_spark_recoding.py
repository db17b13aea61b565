"""Generalizing on Spark: executors write the rows, and the classes are those that are found here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cli_support import PATIENCE
from printed import Play

import sfumato as sf

KNOWN = ["age_years", "county"]
HIERARCHIES = {
    "age_years": sf.hierarchy.Intervals((10, 20, 40)),
    "county": sf.hierarchy.Suppression(),
    "dx_other": "icd9",
}
PLAN = """\
sfumato_plan = 2
[input]
data = "data.parquet"
schema = "schema.toml"
[prepare]
redundant = "ignore"
[columns.age_years]
hierarchy = { recipe = "intervals", widths = [10, 20, 40] }
[columns.county]
hierarchy = "suppress"
[[steps]]
method = "optimal"
k = 5
persons = false
max_suppressed = 0.05
quasi_identifiers = ["age_years", "county"]
[assess]
skip = true
"""


def stays(rows: int) -> sf.Table:
    return sf.samples.discharges(rows, seed=1).select([*KNOWN, "dx", "dx_other"])


def test_executors_write_what_is_found_here(spark: Any, tmp_path: Path) -> None:
    """With one level for all and k^m, and where alike rows part; in an order that is not the source's."""
    table = stays(900)
    there = sf.scan(spark.createDataFrame(table.to_arrow()).repartition(3), table.schema)
    asked = sf.KAnonymity(5) & sf.KMAnonymity(5, 2, "dx_other")
    for name, method, criterion in (
        ("optimal", sf.OptimalRecoding(max_suppressed=0.05), asked),
        ("mondrian", sf.Mondrian("relaxed"), sf.KAnonymity(5)),
    ):
        options: dict[str, Any] = {"method": method, "hierarchies": HIERARCHIES, "quasi_identifiers": KNOWN}
        here = sf.anonymize(table, criterion, **options).data.to_arrow()
        release = sf.anonymize(there, criterion, **options)
        release.save(tmp_path / name)
        assert [p.name for p in (tmp_path / name / "public" / "data.parquet").iterdir()] == [
            "part-00000.parquet"
        ]
        assert sf.verify(tmp_path / name).ok
        written = sf.Release.load(tmp_path / name).data.to_arrow()
        columns = here.column_names if name == "optimal" else KNOWN  # who of alike rows goes where is drawn
        assert written.column_names == here.column_names and counted(written, columns) == counted(
            here, columns
        )
        assert min(counted(written, KNOWN).values()) >= 5
        assert written["dx"].to_pylist() != table.to_arrow()["dx"].to_pylist()


def counted(table: Any, columns: list[str]) -> Counter[Any]:
    """How often each combination stands there, by plain Python."""
    return Counter(tuple(row.values()) for row in table.select(columns).to_pylist())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster on loopback: a master and two workers, each a process of its own."""
    pyspark = pytest.importorskip("pyspark")
    home = Path(pyspark.__file__).parent
    env = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, kind: str, *more: str) -> Path:
        log = tmp_path / f"{name}.log"
        command = [
            str(home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{kind}",
            "--host",
            "127.0.0.1",
        ]
        with log.open("wb") as file:
            started.append(
                subprocess.Popen([*command, "--host", "127.0.0.1", *more], stdout=file, stderr=file, env=env)
            )
        return log

    def said(log: Path, words: str) -> str:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(words, log.read_text(errors="replace"))):
            assert time.monotonic() < end and all(p.poll() is None for p in started), log.read_text()[-2_000:]
            time.sleep(0.2)
        return found[0]

    try:
        log = start("master", "master.Master", "--port", "0", "--webui-port", "0")
        url = said(log, r"spark://127\.0\.0\.1:\d+")
        for name in ("one", "two"):
            folder = str(tmp_path / name)
            worker = start(
                name, "worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir",
                folder, url,
            )  # fmt: skip
            said(worker, "Successfully registered with master")
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(PATIENCE)


@pytest.mark.soak
def test_a_cluster_of_two_workers_runs_a_plan_from_end_to_end(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = stays(4_000)
    folder = tmp_path / "work"
    (folder / "data.parquet").mkdir(parents=True)
    arrow = table.to_arrow()
    for i in range(4):
        pq.write_table(arrow.slice(i * 1_000, 1_000), folder / "data.parquet" / f"part-{i}.parquet")
    (folder / "schema.toml").write_text(sf.samples.signed_schema(table.schema).to_toml())
    (folder / "plan.toml").write_text(PLAN)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.chdir(folder)
    with Play("scale") as play:
        play.swap("scale", "spark://master:7077", cluster)
        play.next("scale", "sfumato run")
        kept = sf.Release.load("release").data.to_arrow()
        shutil.rmtree("release")
        play.next("scale", "sfumato run")  # on two executors of its own
        assert sf.Release.load("release").data.to_arrow().schema == kept.schema
    (public,) = folder.glob("release/**/public")
    assert sf.verify(public.parent).ok
    written = sf.Release.load(public.parent).data.to_arrow()
    assert min(counted(written, KNOWN).values()) >= 5
    ran = {log.parents[2].name for log in tmp_path.glob("*/app-*/*/stderr")}
    assert ran == {"one", "two"}  # both workers had an executor
