"""The cache of the map: every run found again, nothing else taken for one, whole after a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_support import PATIENCE, environment
from toys import copies, distance, drawn, people, sampled, values

from sfumato.assessment.frontier import Candidate, frontier
from sfumato.assessment.frontier.cache import Cache
from sfumato.errors import OutputError
from sfumato.score import Score
from sfumato.seeds import Key
from sfumato.table import Table

TESTS = Path(__file__).resolve().parents[1]


def test_a_second_drawing_reuses_every_run(tmp_path: Path) -> None:
    first = drawn(cache=tmp_path / "cache", key=None)
    again = drawn(cache=tmp_path / "cache", key=None, workers=3)
    assert values(first) == values(again)
    assert not any(r.reused for r in first.runs) and all(r.reused for r in again.runs)


def test_the_cache_is_for_its_owner_and_names_no_value(tmp_path: Path) -> None:
    drawn(cache=tmp_path / "cache")
    assert oct((tmp_path / "cache").stat().st_mode)[-3:] == "700"
    for path in (tmp_path / "cache").iterdir():
        assert "gout" not in path.read_text()
    assert "MUST NOT LEAVE" in (tmp_path / "cache" / "README.txt").read_text()
    other = Cache.open(tmp_path / "other")
    assert other.name("x") != Cache.open(tmp_path / "cache").name("x")  # keyed: not a plain hash


@pytest.mark.parametrize("change", ["table", "measure", "key", "settings", "code", "control"])
def test_what_a_result_depends_on_is_run_anew(tmp_path: Path, change: str) -> None:
    def measured(original: Table, released: Table, control: Table | None, key: Key) -> Score:
        return distance(original, released, control, key)

    def other(table: Table, key: Key) -> Table:
        return sampled(table, key, share=0.3)

    table, options = people(), {"risk": copies, "utility": distance, "key": Key.from_seed(1)}
    methods = [Candidate("sample", sampled, {"share": 0.5})]
    cache = tmp_path / "cache"
    frontier(table, methods, repeats=1, workers=1, cache=cache, **options)  # type: ignore[arg-type]
    match change:
        case "table":
            table = people(rows=401)
        case "measure":
            options["utility"] = measured
        case "key":
            options["key"] = Key.from_seed(2)
        case "settings":
            methods = [Candidate("sample", sampled, {"share": 0.51})]
        case "code":
            methods = [Candidate("sample", other, {})]
        case "control":
            options["control"] = people(50, seed=9)
    again = frontier(table, methods, repeats=1, workers=1, cache=cache, **options)  # type: ignore[arg-type]
    assert not again.runs[0].reused


def test_a_broken_entry_is_run_again(tmp_path: Path) -> None:
    first = drawn(cache=tmp_path / "cache")
    entries = sorted((tmp_path / "cache").glob("*.json"))
    entries[0].write_text(entries[0].read_text()[:40])
    entries[1].write_text("{}")
    for path, text in zip(entries[2:5], ({"low": "0"}, {"high": "1"}, {}), strict=True):
        document = json.loads(path.read_text())
        document["risk"] |= {"low": 0.0, "high": 1.0, "confidence": 0.95} | text  # "0" < "1" as 0 < 1
        path.write_text(json.dumps(document))
    again = drawn(cache=tmp_path / "cache")
    assert sum(not r.reused for r in again.runs) == 4
    assert sum(r.risk is not None and r.risk.low is not None for r in again.runs) == 1  # numbers are taken
    assert values(first) == values(again)


def test_a_folder_of_something_else_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="is not a cache"):
        drawn(cache=tmp_path)


SCRIPT = """
import sys
from toys import copies, distance, people, slow
from sfumato.assessment.frontier import Candidate, frontier

if __name__ == "__main__":
    log = sys.argv[2]
    methods = [Candidate("slow", slow, {"share": s / 10, "log": log}) for s in range(1, 9)]
    found = frontier(
        people(), methods, risk=copies, utility=distance, repeats=2, cache=sys.argv[1], workers=2
    )
    found.save(sys.argv[3])
"""


@pytest.mark.soak
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    script, cache, log, out = (tmp_path / n for n in ("run.py", "cache", "log.txt", "map.parquet"))
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(cache), str(log), str(out)]
    variables = {**environment(), "PYTHONPATH": f"{environment()['PYTHONPATH']}{os.pathsep}{TESTS}"}
    (hold := tmp_path / "hold").touch()  # so that it cannot end before it is killed
    running = subprocess.Popen(command, env=variables)
    try:
        end = time.monotonic() + PATIENCE
        while len(list(cache.glob("*.json"))) < 4 and time.monotonic() < end and running.poll() is None:
            time.sleep(0.02)
        assert running.poll() is None, "it ended before it could be killed"
        running.send_signal(signal.SIGKILL)
    finally:
        running.kill()
        running.wait()
    kept = len(list(cache.glob("*.json")))
    assert 4 <= kept < 16 and not out.exists()
    hold.unlink()
    made = len(log.read_text().splitlines())
    assert subprocess.run(command, env=variables, timeout=PATIENCE).returncode == 0
    assert len(log.read_text().splitlines()) - made == 16 - kept  # only what was missing was run
    assert pq.read_table(out).num_rows == 16
