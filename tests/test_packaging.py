"""What a user's `pip install` brings: a light core, and extras that are asked for by name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from architecture import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = WHOLE["project"]
BUILD = WHOLE["dependency-groups"]["build"]  # what installs this folder itself
HEAVY = {
    "ibis-framework", "splink", "pyspark", "py4j", "pandas", "polars", "sqlalchemy", "psycopg",
    "fastapi", "starlette", "uvicorn", "flask", "django", "tornado", "aiohttp", "gunicorn",
}  # fmt: skip


def closure(requirements: list[str]) -> set[str]:
    """Everything the requirements pull in, by the metadata of what is installed here."""
    todo = [Requirement(r) for r in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        if (key := (name, frozenset(wanted.extras))) in seen:
            continue
        seen.add(key)
        for text in metadata.requires(name) or []:
            needed = Requirement(text)
            contexts = [{"extra": e} for e in ("", *wanted.extras)]
            if needed.marker is None or any(needed.marker.evaluate(c) for c in contexts):
                todo.append(needed)
    return {name for name, _ in seen}


def test_the_core_is_light() -> None:
    pulled = closure(PROJECT["dependencies"])
    assert {"numpy", "narwhals", "pyarrow", "llvmlite"} <= pulled  # the walk does walk
    assert not pulled & HEAVY


@pytest.mark.parametrize(
    ("extra", "brings"),
    [("spark", "pyspark"), ("service", "starlette"), ("linkage", "splink"), ("ibis", "ibis-framework")],
)
def test_extras_bring_the_rest(extra: str, brings: str) -> None:
    assert brings in closure(PROJECT["optional-dependencies"][extra])


def test_the_service_needs_no_second_way_to_a_database() -> None:
    assert "sqlalchemy" not in closure(PROJECT["optional-dependencies"]["service"])


def test_the_extras_are_the_promised_ones() -> None:
    assert {"spark", "ibis", "service", "linkage", "stats", "excel", "cloud", "dev"} <= set(
        PROJECT["optional-dependencies"]
    )


def locked(lock: str) -> dict[tuple[str, str], set[str]]:
    """The hashes of every name and version of a lock."""
    found: dict[tuple[str, str], set[str]] = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / lock).read_text(encoding="utf-8").strip()):
        pin = re.match(r"([a-z0-9][a-z0-9.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", entry)
        assert pin is not None, entry
        found[pin[1], pin[2]] = set(re.findall(r"--hash=(sha256:[0-9a-f]{64})", entry))
    return found


DEMO = [
    *PROJECT["dependencies"],
    *PROJECT["optional-dependencies"]["service"],
    *BUILD,
]
# The libraries of the clouds are not installed for the tests, which stay on loopback; fsspec itself is.
PINNED = [r for name, extra in PROJECT["optional-dependencies"].items() if name != "cloud" for r in extra]
ALL = [*PROJECT["dependencies"], *PINNED, *BUILD]


@pytest.mark.parametrize(("lock", "asked"), [("requirements.lock", ALL), ("requirements-demo.lock", DEMO)])
def test_the_lock_pins_all_that_is_asked_for(lock: str, asked: list[str]) -> None:
    pinned = locked(lock)
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "sfumato":
            versions = [version for known, version in pinned if known == name]
            assert versions, f"{name} is not in the lock: make lock"
            assert all(map(requirement.specifier.contains, versions)), (
                f"{name} is locked outside its range: make lock"
            )
    assert all(pinned.values()), "every entry has its hashes"


def test_the_lock_of_the_demo_is_a_part_of_the_other() -> None:
    """So that the second stage of the environment (Makefile) changes nothing of the first."""
    light, whole = locked("requirements-demo.lock"), locked("requirements.lock")
    assert {pin: hashes for pin, hashes in whole.items() if pin in light} == light
    names = {name for name, _ in light}
    assert closure(DEMO) <= names
    brings = {
        "pyspark",
        "pandas",
        "polars",
        "ibis-framework",
        "splink",
        "pytest",
        "hypothesis",
        "mypy",
        "ruff",
        "mkdocs",
    }
    assert brings <= {name for name, _ in whole} and not brings & names


def test_the_build_tools_are_those_of_the_project() -> None:
    assert WHOLE["build-system"]["requires"] == BUILD


def run(*command: str | Path, at: Path, **environment: str) -> str:
    """What a command prints; its own words if it fails."""
    done = subprocess.run(command, cwd=at, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def test_the_wheel_in_a_clean_environment_is_light_and_works(tmp_path: Path) -> None:
    build = (
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "wheel",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    )
    run(*build, "-w", "dist", ROOT, at=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("sfumato-*.whl")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "venv", "--quiet", "--python", sys.executable, "venv", at=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    try:
        run(uv, "pip", "install", "--quiet", "--python", python, wheel, at=tmp_path)
    except AssertionError as error:
        if re.search("Failed to fetch|network|dns|connect", str(error), re.IGNORECASE):
            pytest.skip("no package index can be reached here")
        raise
    listing = run(uv, "pip", "list", "--python", python, "--format=freeze", at=tmp_path)
    names = {canonicalize_name(line.split("==")[0]) for line in listing.splitlines()}
    assert "sfumato" in names
    assert not names & HEAVY
    command = tmp_path / "venv" / "bin" / "sfumato"
    said = run(command, "plan", "schema", "--json", at=tmp_path, PYTHONPATH="")
    assert json.loads(said)["title"] == "Sfumato plan"
    assert any((tmp_path / "venv").rglob("sfumato/py.typed"))
    run(command, "sample", "discharges", "50", "--out", "rows.csv", at=tmp_path, PYTHONPATH="")
    assert len((tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()) == 51


@pytest.mark.soak
def test_an_installation_without_a_network(tmp_path: Path) -> None:
    """As docs/development.md says: everything is fetched first, and nothing afterwards."""
    lock = ROOT / "requirements.lock"
    pip = (sys.executable, "-m", "pip", "--quiet", "download", "-d", "wheels")
    run(*pip, "--require-hashes", "-r", lock, at=tmp_path)
    run(*pip, "setuptools", "wheel", at=tmp_path)
    run(sys.executable, "-m", "venv", "venv", at=tmp_path)
    there = (tmp_path / "venv" / "bin" / "python", "-m", "pip", "--quiet", "install", "--no-index")
    nowhere = {"PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    run(*there, "--find-links", "wheels", "-r", lock, at=tmp_path, **nowhere)
    run(*there, "--no-deps", "--no-build-isolation", ROOT, at=tmp_path, **nowhere)
    assert "sfumato" in run(tmp_path / "venv" / "bin" / "sfumato", "--version", at=tmp_path, PYTHONPATH="")
