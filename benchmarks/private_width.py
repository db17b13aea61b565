"""Many columns: a simulated table of 150 columns and 100,000 rows, fitted and sampled at epsilon 1.

Five hidden traits drive columns of 2 to 20 levels. Processor seconds, the peak of memory, the pairs that were
measured, and how far tables of two columns are off. --columns, --rows, --profile.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import time
from itertools import combinations
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa

import sfumato as sf

WANTED = "120 CPU s, 2 GB"


def simulated(columns: int, rows: int) -> tuple[Any, list[int]]:
    """Codes (columns, rows) and how many levels each has."""
    draw = np.random.default_rng(26)
    traits = draw.normal(size=(5, rows))
    sizes = draw.integers(2, 21, columns).tolist()
    codes = np.empty((columns, rows), np.uint8)
    for j, size in enumerate(sizes):
        pull = draw.normal(size=5) * (draw.random(5) < 0.4)
        codes[j] = np.digitize(
            pull @ traits + draw.normal(size=rows), np.sort(draw.normal(size=size - 1)) * 1.5
        )
    return codes, sizes


def table_of(codes: Any, sizes: list[int]) -> sf.Table:
    """The codes as a table with a public domain."""
    by = sf.Provenance.declared("the benchmark", "simulated")
    columns = [
        sf.Column(f"v{j}", "nominal", type="integer", levels=tuple(range(k)), missing=False, provenance=by)
        for j, k in enumerate(sizes)
    ]
    data = pa.table({f"v{j}": c.astype(np.int64) for j, c in enumerate(codes)})
    return sf.Table.from_arrow(data, sf.Schema(tuple(columns)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--columns", type=int, default=150)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--profile", action="store_true")
    asked = options.parse_args()
    codes, sizes = simulated(asked.columns, asked.rows)
    table = table_of(codes, sizes)
    small = table_of(codes[:6, :2_000], sizes[:6])
    sf.PrivateSynthesizer(1.0).fit(small).sample()  # compilation
    watch = cProfile.Profile()
    if asked.profile:
        watch.enable()
    start = time.process_time()
    model = sf.PrivateSynthesizer(epsilon=1.0, delta=1e-9).fit(table)
    fitted = time.process_time() - start
    rows = model.sample().data.encode().codes.astype(np.int64)
    seconds = time.process_time() - start
    watch.disable()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    draw = np.random.default_rng(1)
    pairs = [*combinations(range(asked.columns), 2)]
    off = []
    for place in draw.choice(len(pairs), min(600, len(pairs)), replace=False):
        a, b = pairs[place]
        shares = [
            np.bincount(x[a].astype(np.int64) * sizes[b] + x[b], minlength=sizes[a] * sizes[b]) / x.shape[1]
            for x in (codes, rows)
        ]
        off.append(np.abs(shares[0] - shares[1]).sum() / 2)
    print(
        f"{asked.columns} columns, {asked.rows:,} rows: {seconds:.0f} CPU s ({fitted:.0f} of them the fit), "
        f"{peak:.1f} GB; {len(model.measured.pairs):,} of {len(pairs):,} pairs measured, tables of two "
        f"columns off by {np.mean(off):.4f}  (wanted: {WANTED})"
    )
    if asked.profile:
        pstats.Stats(watch).sort_stats("tottime").print_stats(18)


if __name__ == "__main__":
    main()
