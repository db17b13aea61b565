"""The fixtures themselves: a guard that never bites, or a Spark in one process, would prove nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def test_another_machine_cannot_be_reached() -> None:
    with socket.socket() as probe, pytest.raises(AssertionError, match="another machine"):
        probe.connect(("192.0.2.1", 80))  # an address set aside for documentation
    with pytest.raises(AssertionError, match="another machine"):
        socket.create_connection(("example.invalid", 80), timeout=1)


def test_loopback_can_be_reached() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
        server.accept()[0] as accepted,
    ):
        accepted.sendall(b"x")
        assert client.recv(1) == b"x"


def test_workers_know_the_groups(request: pytest.FixtureRequest, postgres_url: str) -> None:
    """Otherwise every worker starts a Spark of its own, and fits the service's models again."""
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@postgres")


def test_spark_runs_arrow_batches_in_executors_of_their_own(spark: Any) -> None:
    import pyarrow as pa

    def count(batches: Any) -> Any:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"process": [os.getpid()], "rows": [batch.num_rows]})

    frame = spark.range(1_000).repartition(4)
    answer = frame.mapInArrow(count, "process long, rows long").toArrow()
    assert sum(answer["rows"].to_pylist()) == 1_000
    assert os.getpid() not in answer["process"].to_pylist()
    assert spark.sparkContext.master.startswith("local-cluster[2,")


def test_postgres_answers(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select 1 + 1").fetchone() == (2,)


def test_the_parts_of_the_long_tests_are_all_of_them(tmp_path: Path) -> None:
    """Each long test is in one part, and a part holds no other test."""
    long = "@pytest.mark.soak\n@pytest.mark.parametrize('n', range(10))\ndef test_long(n): pass\n"
    (tmp_path / "test_some.py").write_text(f"import pytest\n{long}def test_short(): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = soak\n")

    # One process for all parts: most of its time goes to loading pytest's plugins.
    play = (
        "import os, sys, pytest\n"
        "options = ['-p', 'conftest', '-p', 'no:schemathesis', '-qq', '--collect-only', '-v', '-m', 'soak']\n"
        "for part in ('', '1/3', '2/3', '3/3'):\n"
        "    os.environ['SFUMATO_PART'] = part\n"
        "    print('part', part, flush=True)\n"
        "    pytest.main([*options, sys.argv[1]])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", play, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    collected: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("part"):
            collected[line.removeprefix("part").strip()] = []
        elif "::" in line:
            collected[list(collected)[-1]].append(line)

    whole, parts = collected[""], [collected[f"{k}/3"] for k in (1, 2, 3)]
    assert len(whole) == 10 and sorted(name for part in parts for name in part) == sorted(whole)
    assert [len(part) for part in parts] == [4, 3, 3]
