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

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
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
    [("spark", "pyspark"), ("service", "starlette"), ("linkage", "splink"), ("ibis", "sqlalchemy")],
)
def test_extras_bring_the_rest(extra: str, brings: str) -> None:
    names = closure(PROJECT["optional-dependencies"][extra])
    assert brings in names or (extra == "ibis" and "ibis-framework" in names)


def test_the_extras_are_the_promised_ones() -> None:
    assert {"spark", "ibis", "service", "linkage", "stats", "excel", "dev"} <= set(
        PROJECT["optional-dependencies"]
    )


def test_the_lock_pins_all_that_is_asked_for() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([a-z0-9][a-z0-9.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", lock, flags=re.MULTILINE))
    asked = [*PROJECT["dependencies"], *(r for e in PROJECT["optional-dependencies"].values() for r in e)]
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "sfumato":
            assert name in pinned, f"{name} is not in the lock: make lock"
            assert requirement.specifier.contains(pinned[name]), (
                f"{name} is locked outside its range: make lock"
            )
    entries = re.split(r"\n(?=\S)", lock.strip())
    assert all("--hash=sha256:" in entry for entry in entries if "==" in entry)


@pytest.mark.soak
def test_a_clean_installation_is_light_and_works(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True, cwd=tmp_path)
    listing = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    ).stdout
    names = {canonicalize_name(line.split("==")[0]) for line in listing.splitlines()}
    assert "sfumato" in names
    assert not names & HEAVY
    subprocess.run([python, "-c", "import sfumato; print(sfumato.Schema)"], check=True, cwd=tmp_path)


def test_the_wheel_holds_all_that_runs(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-index"]
    subprocess.run([*pip, "wheel", *alone, "--no-build-isolation", "-w", tmp_path / "dist", ROOT], check=True)
    (wheel,) = (tmp_path / "dist").glob("sfumato-*.whl")
    subprocess.run([*pip, "install", *alone, "--target", tmp_path / "site", wheel], check=True)
    assert (tmp_path / "site" / "sfumato" / "py.typed").exists()
    installed = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}

    def said(*arguments: str) -> str:
        run = [sys.executable, *arguments]
        return subprocess.run(
            run, cwd=tmp_path, env=installed, check=True, capture_output=True, text=True
        ).stdout

    assert said("-c", "import sfumato; print(sfumato.__file__)").startswith(str(tmp_path))
    assert json.loads(said("-m", "sfumato", "plan", "schema", "--json"))["title"] == "Sfumato plan"
