"""The example of a guest, installed by pip: its own tests, a plan, and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from architecture import SOURCE
from guests import EXAMPLE, install_example, installed

import sfumato as sf

CANARY = "zebra7319"
PLAN = """\
sfumato_plan = 2
[input]
data = "people.csv"
schema = "schema.toml"
[[steps]]
method = "rounding"
base = 10
[assess]
effort = "quick"
"""
BROKEN = {"sfumato.methods": {"broken": "Method"}, "sfumato.checks": {"broken": "CHECK"}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_example(tmp_path_factory.mktemp("site"))


def run(*command: str, site: Path, at: Path, **more: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(SOURCE.parent), str(site)])
    return subprocess.run(
        [sys.executable, *command], cwd=at, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "200", **more},
    )  # fmt: skip


def test_the_example_passes_its_own_tests(site: Path) -> None:
    done = run(
        "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "tests", site=site, at=EXAMPLE
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_by_plan_and_command_line(site: Path, tmp_path: Path) -> None:
    broken = installed(tmp_path / "broken", "guest-broken", f"import {CANARY}", BROKEN)
    data = pa.table({"age": list(range(20, 80)), "sex": ["f", "m"] * 30})
    sf.write(data, tmp_path / "people.csv")
    (tmp_path / "schema.toml").write_text(sf.scan(tmp_path / "people.csv").schema.to_toml(), encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    both = Path(f"{site}{os.pathsep}{broken}")
    done = run("-m", "sfumato", "run", "plan.toml", "--out", "release", site=both, at=tmp_path)
    assert done.returncode == 0, done.stderr
    words = " ".join((done.stdout + done.stderr).split())
    assert "Not ours (sfumato-rounding): numbers rounded to multiples of 10" in words
    assert "broken of guest-broken (sfumato.checks): left out" in words and "Traceback" not in words
    done = run("-m", "sfumato", "verify", "release", site=both, at=tmp_path)
    assert done.returncode == 3 and "asked only with guests" in done.stdout and "left out" not in done.stderr
    done = run("-m", "sfumato", "verify", "release", "--guests", "--json", site=both, at=tmp_path)
    assert done.returncode == 3 and "recounted by sfumato-rounding" in done.stdout
    off = run("-m", "sfumato", "plan", "check", "plan.toml", site=site, at=tmp_path, SFUMATO_GUESTS="off")
    assert off.returncode != 0 and "method must be one of" in off.stdout + off.stderr
    done = run("-m", "sfumato", "methods", site=both, at=tmp_path)
    assert "rounding" in done.stdout and "not ours" in done.stdout
    assert CANARY not in done.stderr
    one = ("pseudonymize", "people.csv", "-s", "schema.toml", "-m", "rounding", "--columns", "age")
    done = run("-m", "sfumato", *one, "--base", "20", "--out", "round", site=both, at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(sf.scan(tmp_path / "round/public/data.parquet").to_arrow()["age"].to_pylist()) <= {
        20,
        40,
        60,
        80,
    }
    done = run("-m", "sfumato", *one, "--base", "1", "--out", "none", site=both, at=tmp_path)
    assert done.returncode == 2 and "--base must be at least 2" in done.stderr
