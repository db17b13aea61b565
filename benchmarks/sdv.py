"""Fit and sample against SDV's GaussianCopula: CPU seconds on the same rows, one thread.

    python benchmarks/sdv.py [--rows N]

Simulated discharges, 13 columns; ages, stays and charges are numbers to SDV and all others categories, which
is the quicker way for it. Each method learns from N rows and draws N. PeGS (m = 2, under a secret key) is
held against the limit: 50 times faster. The private synthesizer, whose rows cost nothing once it is fitted,
stands beside; so does the distance of pairs of columns to the data (total variation), because a quick method
that learns nothing is no match. SDV runs in an environment of its own (make peers PEERS=sdv).
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import peers
import sfumato as sf
from sfumato.samples import DISCHARGE_VARIABLES

NUMBERS = ("age", "los", "charge")
LIMIT = 50.0


def distance(truth: sf.Table, rows: sf.Table) -> float:
    """The mean total variation over all pairs of columns."""
    pairs = list(itertools.combinations(DISCHARGE_VARIABLES, 2))
    tables = [t.tabulate(pairs) for t in (truth, rows)]
    found = []
    for pair in pairs:
        shares = [t[pair].dense() / t[pair].total for t in tables]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def ours(method: Any, path: Path, schema: sf.Schema, rows: int) -> tuple[float, float, pa.Table]:
    """CPU seconds of fit and of sample, from a Parquet file to rows in memory."""
    start = time.process_time()
    fitted = method.fit(sf.scan(path, schema))
    middle = time.process_time()
    drawn = fitted.sample(rows).data.to_arrow()
    return middle - start, time.process_time() - middle, drawn


def settled(drawn: pa.Table, schema: sf.Schema) -> sf.Table:
    """SDV's numbers at the lower end of their band, as the columns have them."""
    for name in NUMBERS:
        levels = np.array(schema[name].levels)
        values = drawn[name].to_numpy(zero_copy_only=False).astype(float)
        gaps = np.isnan(values)
        band = levels[np.clip(np.searchsorted(levels, np.where(gaps, 0, values), "right") - 1, 0, None)]
        place = drawn.column_names.index(name)
        drawn = drawn.set_column(place, name, pa.array(band, mask=gaps))
    return sf.Table.from_arrow(drawn, schema)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    asked = options.parse_args()
    table = sf.samples.discharges(asked.rows, 1).select(DISCHARGE_VARIABLES)
    methods = {
        "PeGS": sf.PeGS(alpha=1.0, parents=2, choose="data"),
        "PrivateSynthesizer": sf.PrivateSynthesizer(1.0),
    }
    small = sf.samples.discharges(2_000, 2).select(DISCHARGE_VARIABLES)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "rows.parquet", Path(folder) / "drawn.parquet"
        pq.write_table(small.to_arrow(), path)
        for method in methods.values():  # to have everything compiled
            ours(method, path, table.schema, 2_000)
        pq.write_table(table.to_arrow(), path)
        print(f"fit and sample of {asked.rows:,} rows x 13, CPU seconds; mean distance of pairs")
        spent = {}
        for name, method in methods.items():
            fit, sample, drawn = ours(method, path, table.schema, asked.rows)
            spent[name] = fit + sample
            far = distance(table, sf.Table.from_arrow(drawn, table.schema))
            print(f"  {name:20} {fit:7.2f} + {sample:6.2f} s   {far:.3f}", flush=True)
        if peers.python_of("sdv") is None:
            print("  SDV was not built here: make peers PEERS=sdv")
            return
        question = {"data": str(path), "numbers": NUMBERS, "rows": asked.rows, "out": str(out)}
        answer = peers.ask("sdv", question, seconds=7200)
        far = distance(table, settled(pq.read_table(out), table.schema))
        print(f"  {'SDV GaussianCopula':20} {answer['fit']:7.2f} + {answer['sample']:6.2f} s   {far:.3f}")
        for name, seconds in spent.items():
            ratio = answer["cpu_seconds"] / seconds
            print(f"  {name}: {ratio:.0f} times faster" + f", limit {LIMIT:g}" * (name == "PeGS"))


if __name__ == "__main__":
    main()
