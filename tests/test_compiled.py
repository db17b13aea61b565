"""The cache of compiled kernels, when two runs fill it at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sfumato._compiled import compiled

MODULE = """
from sfumato._compiled import compiled

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
from sfumato._compiled import compiled

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
