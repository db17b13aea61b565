"""Kernels of later steps, compiled in a process of their own while earlier steps play (`stage.Compilation`).

Only a first run has them to compile; what is compiled is kept for all later ones, of the demo or not.
"""

from __future__ import annotations


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
