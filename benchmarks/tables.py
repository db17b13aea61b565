"""Tables to publish: how many cells are withheld, what was proved, and how long it took.

Three tables of hospital stays; sensitive are 1 to 4 people (then 1 to 10). The limits are the numbers of
withheld cells that a release must not exceed, with no cell open to the attacker and nobody who is alone in a
cell learning another. Run with `python benchmarks/tables.py D1 D2 D3`, or without names for the two small
ones.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

import sfumato as sf

AREA, COUNTY = "hospital_service_area", "hospital_county"
TABLES = {
    "D1": (f"{AREA},age,apr_drg_code", {5: 280, 11: 430}),
    "D2": (f"{AREA}>{COUNTY},age,illseveritydesc", {5: 410, 11: 575}),
    "D3": (f"{AREA}>{COUNTY},age,apr_drg_code", {5: 2380}),
    "large": (f"{AREA}>{COUNTY},age,apr_drg_code,gender,illseveritydesc", {5: 10**9}),
}
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


def main() -> None:
    if "SFUMATO_DATA" not in os.environ:
        print("tables: SFUMATO_DATA is not set")
        return
    for name in sys.argv[1:] or ["D1", "D2"]:
        for minimum in TABLES[name][1]:
            measure(name, minimum, "cells")
        if name in ("D1", "D2"):
            measure(name, 5, "counts")


if __name__ == "__main__":
    main()
