"""Tables to publish: how many cells are withheld, what was proved, and how long it took.

Three tables of hospital stays; sensitive are 1 to 4 people (then 1 to 10). The limits are the numbers of
withheld cells that a release must not exceed, with no cell open to the attacker and nobody who is alone in a
cell learning another. Then rounding of D3, and cell keys for a million cells. Run with `python
benchmarks/tables.py D1 D2 D3 rounding keys`, or without names for the two small ones; `large` is a table of a
hundred thousand cells.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

import sfumato as sf

AREA, COUNTY = "hospital_service_area", "hospital_county"
TABLES = {
    "D1": (f"{AREA},age,apr_drg_code", {5: 280, 11: 430}),
    "D2": (f"{AREA}>{COUNTY},age,illseveritydesc", {5: 410, 11: 575}),
    "D3": (f"{AREA}>{COUNTY},age,apr_drg_code", {5: 2380}),
    "large": (f"{AREA}>{COUNTY},age,apr_drg_code,gender,illseveritydesc", {5: 10**9}),
}
PLACES = 64 * 4 * 32  # of D3, those without people included
SECONDS = 45.0  # for the search; counting and the attack come on top


def measure(name: str, minimum: int, cost: str) -> None:
    layout, limits = TABLES[name]
    data = Path(os.environ["SFUMATO_DATA"]) / "sparcs" / "sparcs2020_musculoskeletal_charges.parquet"
    start = time.process_time()
    method = sf.CellSuppression(cost=cost, time_limit=SECONDS, effort="fast" if name == "large" else "normal")
    release = sf.tabulate(data, layout, sf.MinimumCount(minimum), method=method)
    used = time.process_time() - start
    assert release.internal is not None
    found = release.internal.extra["suppression"]["count"]
    cells = release.internal.tables["cells"].to_pydict()
    counts = sum(n for n, gone in zip(cells["rows"], cells["withheld"], strict=True) if gone)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name} 1-{minimum - 1} by {cost}: {found['withheld']} of {len(cells['rows'])} cells withheld "
        f"(limit {limits[minimum]}), counts {counts}, {found['for contributors']:g} for contributors, "
        f"{found['by program only']} by program only; {used:.0f} CPU s, {memory:.1f} GB"
    )


def measure_rounding(base: int, most: int) -> None:
    data = Path(os.environ["SFUMATO_DATA"]) / "sparcs" / "sparcs2020_musculoskeletal_charges.parquet"
    sf.tabulate(data, AREA, method=sf.ControlledRounding(base))  # compiles the kernel
    start = time.process_time()
    release = sf.tabulate(data, TABLES["D3"][0], method=sf.ControlledRounding(base))
    used = time.process_time() - start
    assert release.internal is not None
    found = release.internal.extra["rounding"]
    listed = release.data.rows()
    print(
        f"D3 to multiples of {base}: at most {found['farthest']} off (limit {most}), on average "
        f"{found['mean']:.2f} over {listed:,} cells with people, {found['mean'] * listed / PLACES:.2f} over "
        f"all {PLACES:,}; {used:.1f} CPU s with counting"
    )


def measure_keys(cells: int = 1_000_000) -> None:
    random = np.random.default_rng(0)
    counts = random.integers(0, 40, cells)
    keys = random.integers(0, 2**63, cells).astype(np.uint64)
    start = time.process_time()
    moved = sf.CellKeys().perturb(counts, keys)
    used = time.process_time() - start
    print(f"cell keys: {cells:,} cells in {used:.2f} CPU s, moved by {np.abs(moved - counts).mean():.2f}")


def main() -> None:
    if "SFUMATO_DATA" not in os.environ:
        print("tables: SFUMATO_DATA is not set")
        return
    for name in sys.argv[1:] or ["D1", "D2"]:
        if name == "rounding":
            measure_rounding(3, 3)
            measure_rounding(5, 6)
            continue
        if name == "keys":
            measure_keys()
            continue
        for minimum in TABLES[name][1]:
            measure(name, minimum, "cells")
        if name in ("D1", "D2"):
            measure(name, 5, "counts")


if __name__ == "__main__":
    main()
