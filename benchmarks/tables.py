"""Tables to publish: how many cells are withheld, what was proved, and how long it took.

Three tables of hospital stays; sensitive are 1 to 4 people (then 1 to 10). The limits are the numbers of
withheld cells that a release must not exceed, with no cell open to the attacker and nobody who is alone in a
cell learning another. Then rounding of D3, and cell keys for a million cells. Run with `python
benchmarks/tables.py D1 D2 D3 rounding keys`, or without names for the two small ones; `large` is a table of a
hundred thousand cells, `exact` proves of tables of a few hundred cells that nothing less will do. `noise`:
D1 and county x age x diagnosis under an epsilon of 1, against noise on inner cells alone, summed up as it
falls.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf

AREA, COUNTY, DRG = "hospital_service_area", "hospital_county", "apr_drg_code"
TABLES = {
    "D1": (f"{AREA},age,apr_drg_code", {5: 280, 11: 430}),
    "D2": (f"{AREA}>{COUNTY},age,illseveritydesc", {5: 410, 11: 575}),
    "D3": (f"{AREA}>{COUNTY},age,apr_drg_code", {5: 2380}),
    "large": (f"{AREA}>{COUNTY},age,apr_drg_code,gender,illseveritydesc", {5: 10**9}),
}
PLACES = 64 * 4 * 32  # of D3, those without people included
SECONDS = 52.0  # for the search and the attacker; counting comes on top


def measure(name: str, minimum: int, cost: Literal["cells", "counts"], contributors: bool = True) -> None:
    layout, limits = TABLES[name]
    data = Path(os.environ["SFUMATO_DATA"]) / "sparcs" / "sparcs2020_musculoskeletal_charges.parquet"
    start = time.process_time()
    effort: Literal["fast", "normal"] = "fast" if name == "large" else "normal"
    method = sf.CellSuppression(effort, cost, time_limit=SECONDS, contributors=contributors)
    release = sf.tabulate(data, layout, sf.MinimumCount(minimum), method=method)
    used = time.process_time() - start
    assert release.internal is not None
    found = release.internal.extra["suppression"]["count"]
    cells = release.internal.tables["cells"].to_pydict()
    counts = sum(n for n, gone in zip(cells["rows"], cells["withheld"], strict=True) if gone)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    asked = "" if contributors else ", without contributors"
    print(
        f"{name} 1-{minimum - 1} by {cost}{asked}: {found['withheld']} of "
        f"{len(cells['rows'])} cells withheld "
        f"(limit {limits[minimum]}), counts {counts}, {found['for contributors']:g} for contributors, "
        f"{found['by program only']} by program only; {used:.0f} CPU s, {memory:.1f} GB"
    )


def measure_exact(seconds: float = 60.0) -> None:
    """Tables of two ways, of levels, and of three ways; of some diagnosis groups alone, which are sparse."""
    data = Path(os.environ["SFUMATO_DATA"]) / "sparcs" / "sparcs2020_musculoskeletal_charges.parquet"
    rows = pq.read_table(data)
    sizes = sorted((-d["counts"], d["values"]) for d in rows[DRG].value_counts().to_pylist())
    groups = [drg for _, drg in sizes]
    for name, layout, kept in (
        ("two ways", f"{AREA},{DRG}", groups),
        ("two ways", f"{COUNTY},age", groups),
        ("levels", f"{AREA}>{COUNTY},illseveritydesc", groups),
        ("three ways", f"age,gender,{DRG}", groups),
        ("three ways, ten groups", f"age,illseveritydesc,{DRG}", groups[10:20]),
        ("three ways, group 1", f"{AREA},age,illseveritydesc", groups[:1]),
        ("three ways, group 2", f"{AREA},age,illseveritydesc", groups[1:2]),
        ("three ways, group 12", f"{AREA},age,illseveritydesc", groups[11:12]),
    ):
        part = rows.filter(pc.is_in(rows[DRG], value_set=pa.array(kept, rows[DRG].type)))
        start = time.process_time()
        method = sf.CellSuppression("exact", time_limit=seconds)
        release = sf.tabulate(part, layout, sf.MinimumCount(5), method=method)
        used = time.process_time() - start
        assert release.internal is not None
        found = release.internal.extra["suppression"]["count"]
        few = release.internal.tables["cells"].to_pydict()["why"].count("few people")
        print(
            f"exact, {name}: {release.data.rows()} cells, {few} sensitive, "
            f"{found['withheld']} withheld, gap {found['gap']:.3f}; {used:.0f} CPU s",
            flush=True,
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


def measure_noise(layout: str, delta: float) -> None:
    data = Path(os.environ["SFUMATO_DATA"]) / "sparcs" / "sparcs2020_musculoskeletal_charges.parquet"
    table = sf.scan(data, columns=layout.split(","), keep_text=True)
    levels = {n: tuple(b.levels.to_pylist()) for n, b in table.codebooks(layout.split(",")).items()}
    for name, known in levels.items():  # a benchmark: as if somebody had listed them without looking
        table = table.with_schema(table.schema.with_(name, levels=known, missing=True))
    table = table.with_schema(table.schema.declare("benchmark", "taken for public"))
    start = time.process_time()
    release = sf.tabulate(table, layout, method=sf.PrivateTables(1.0, delta))
    used = time.process_time() - start
    shown = release.data.to_arrow()
    axes = [shown[n].to_pylist() for n in levels]
    true = table.counts(*levels).dense()
    books = [[*(("" if v is None else str(v)) for v in b.decode(np.arange(b.size)).to_pylist()), "_T"]
             for b in table.codebooks(list(levels)).values()]  # fmt: skip
    every = np.pad(true, [(0, 1)] * true.ndim)
    for axis in range(true.ndim):  # totals along every axis, after the last level
        last = [slice(None)] * axis + [-1]
        every[tuple(last)] = every.sum(axis=axis)
    places = tuple(np.array([book.index(v) for v in axis]) for book, axis in zip(books, axes, strict=True))
    off = np.abs(shown["count"].to_numpy() - every[places])
    inner = np.all([p < len(b) - 1 for p, b in zip(places, books, strict=True)], axis=0)
    plain = np.random.default_rng(0).laplace(0, 1, true.shape)  # the same law, for the comparison only
    summed = np.pad(plain, [(0, 1)] * true.ndim)
    for axis in range(true.ndim):
        summed[tuple([slice(None)] * axis + [-1])] = summed.sum(axis=axis)
    totals = ~inner
    print(
        f"noise, {layout}, delta {delta:g}: {len(off):,} cells; off by {off[inner].mean():.2f} (inner), "
        f"{off[totals].mean():.2f} (totals); Laplace noise on inner cells alone {np.abs(plain).mean():.2f}, "
        f"{np.abs(summed[places])[totals].mean():.2f}; {used:.1f} CPU s"
    )


def main() -> None:
    if "SFUMATO_DATA" not in os.environ:
        print("tables: SFUMATO_DATA is not set")
        return
    for name in sys.argv[1:] or ["D1", "D2"]:
        if name == "rounding":
            measure_rounding(3, 3)
            measure_rounding(5, 6)
            continue
        if name == "exact":
            measure_exact()
            continue
        if name == "keys":
            measure_keys()
            continue
        if name == "noise":
            for layout in (f"{AREA},age,apr_drg_code", f"{COUNTY},age,apr_drg_code"):
                measure_noise(layout, 0.0)
                measure_noise(layout, 1e-9)
            continue
        for minimum in TABLES[name][1]:
            measure(name, minimum, "cells")
        if name in ("D1", "D2"):
            measure(name, 5, "cells", contributors=False)
            measure(name, 5, "counts")


if __name__ == "__main__":
    main()
