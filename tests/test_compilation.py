"""The cache of compiled kernels, when two runs fill it at once."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato import _compilation
from sfumato._compilation import compiled

MODULE = """
from sfumato._compilation import compiled

@compiled
def twice(x):
    return {factor} * x
"""
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
import module
stop = sys.argv[2]
if stop:  # stop where numba has written its index, and not yet the code
    file = module.twice._cache._cache_file
    file._save_data = lambda *a: sys.exit(0)
print(module.twice(1 if sys.argv[3] == "whole" else 1.5))
"""


def run(folder: Path, kind: str, *, stopped: bool = False) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder), "x" * stopped, kind],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.strip()


def test_a_run_never_takes_the_code_of_an_earlier_source(tmp_path: Path) -> None:
    """The source changes; a run is stopped after it entered the new code into the index; another looks."""
    module = tmp_path / "module.py"
    module.write_text(MODULE.format(factor="20000"))
    assert run(tmp_path, "whole") == "20000"
    module.write_text(MODULE.format(factor="3"))
    run(tmp_path, "whole", stopped=True)
    assert run(tmp_path, "whole") == "3"


def test_code_is_still_kept(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE.format(factor="2"))
    assert run(tmp_path, "whole") == "2" and run(tmp_path, "real") == "3.0"
    before = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert len(before) == 2
    assert run(tmp_path, "whole") == "2" and run(tmp_path, "real") == "3.0"
    assert sorted((tmp_path / "cache").rglob("*.nbc")) == before


NAMED = """
from typing import NamedTuple
from sfumato._compilation import compiled

class {name}(NamedTuple):
    x: float

@compiled
def inner(pair):
    return 2 * pair.x

def twice(x):
    return inner({name}(x))
"""


def test_a_class_that_is_called_otherwise_now_ends_nothing(tmp_path: Path) -> None:
    """As after an upgrade: the cache names a class that is gone."""
    for name in ("Old", "New"):
        (tmp_path / "module.py").write_text(NAMED.format(name=name))
        assert run(tmp_path, "real") == "3.0"


def test_constants_of_a_caller_share_one_kernel(tmp_path: Path, monkeypatch) -> None:
    """With a cache of its own: what an earlier run has kept is not compiled."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @compiled
    def times(x: int, by: int) -> int:
        return x * by

    @compiled
    def sum_of_three(x: int) -> int:
        return times(x, 2) + times(x, by=3) + times(x, x)

    assert sum_of_three(5) == 10 + 15 + 25
    assert len(times.signatures) == 1  # type: ignore[attr-defined]


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


WAITING = """
import sys
sys.path.insert(0, sys.argv[1])
import module, sfumato._compilation as c
genuine = c._lock
def lock(path):
    print("asks", flush=True)  # before it waits
    return genuine(path)
c._lock = lock
module.twice(1)
print(sum(module.twice.stats.cache_hits.values()))
"""


def test_of_two_runs_one_compiles_and_the_other_takes_it(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE.format(factor="2"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run(tmp_path, "real")  # the index is there, of other numbers
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    with open(f"{index}.lock", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waits = subprocess.Popen(
            [sys.executable, "-c", WAITING, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert waits.stdout is not None and waits.stdout.readline() == "asks\n"
        # What a run that holds the lock does, which this one cannot be asked for twice.
        holder = "import sfumato._compilation as c; c._lock = lambda path: None"
        done = subprocess.run(
            [sys.executable, "-c", f"{holder}\n{RUN}", str(tmp_path), "", "whole"],
            capture_output=True, text=True, env=environment, check=True,
        )  # fmt: skip
        assert done.stdout == "2\n"
    assert waits.communicate()[0] == "1\n"  # taken from the cache


def test_a_lock_that_is_never_let_go_ends_nothing(
    tmp_path: Path, own_cache: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compilation, "_PATIENCE", 0.05)

    @compiled
    def thrice(x: int) -> int:
        return 3 * x

    path = f"{thrice._cache._cache_file._index_path}.lock"  # type: ignore[attr-defined]
    with open(path, "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert thrice(2) == 6


def test_without_a_place_for_a_lock_it_compiles(own_cache: None) -> None:
    @compiled
    def fourfold(x: int) -> int:
        return 4 * x

    Path(f"{fourfold._cache._cache_file._index_path}.lock").mkdir()  # type: ignore[attr-defined]
    assert fourfold(2) == 8


def test_a_kernel_that_calls_itself_waits_for_nobody(own_cache: None) -> None:
    @compiled
    def sum_to(n: int) -> int:
        return 0 if n <= 0 else n + sum_to(n - 1)

    assert sum_to(4) == 10
