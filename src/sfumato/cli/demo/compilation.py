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
    from dataclasses import replace

    from sfumato.cli.demo.publishers import MAP_COLUMNS, MAP_KNOWN, levels_of, ways
    from sfumato.plan.production import Surroundings, produce
    from sfumato.samples import discharges

    few = discharges(400, seed=1).select(MAP_COLUMNS)
    around = Surroundings(hierarchies=levels_of(few))
    asked = {"lugs": {"rows": 400}}
    for way in ways():
        if way.method in ("local", "resample", "lugs"):
            more = asked.get(way.method, {"quasi_identifiers": MAP_KNOWN})
            produce(replace(way, settings={**way.settings, **more}), few, around)


if __name__ == "__main__":
    compile_kernels()
