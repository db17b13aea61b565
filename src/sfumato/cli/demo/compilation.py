"""The last step's kernels, compiled on another core while the first steps play.

Only a first run has them to compile; what is compiled is kept for all later ones, of the demo or not.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def compiling() -> Iterator[Callable[[], object]]:
    """Compile in another process while this lasts. What is given waits until that process is done."""
    silent = subprocess.DEVNULL
    other = subprocess.Popen([sys.executable, "-m", __name__], stdin=silent, stdout=silent, stderr=silent)
    try:
        yield other.wait
    finally:
        other.kill()  # nothing half-written stays: numba puts whole files in place
        other.wait()


def compile_kernels() -> None:
    """The ways of the map that no step before it takes, on a few rows."""
    from sfumato.cli.demo.publishers import MAP_COLUMNS, ways
    from sfumato.samples import discharges
    from sfumato.seeds import Key

    few = discharges(400, seed=1).select(MAP_COLUMNS)
    for way in ways(few):
        if way.name in ("local", "resample", "LUGS"):
            way(few, Key.from_seed(1))


if __name__ == "__main__":
    compile_kernels()
