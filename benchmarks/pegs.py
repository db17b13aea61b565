"""PeGS: rows a second and core, seeded and under a secret key, and the time to fit from Parquet.

    python benchmarks/pegs.py [--rows N] [--fit N]

CPU seconds of one thread. Each sampler is held against its limit: 5 and 2 million rows a second seeded (PeGS,
PeGS.rs with blocks of ten), 2 and 1.2 million in the mode an epsilon is claimed for.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.io import scan
from sfumato.samples import DISCHARGE_VARIABLES, discharges
from sfumato.seeds import Key
from sfumato.synthesis.pegs import PeGS
from sfumato.synthesis.sampler import CHUNK, Sampler

LIMITS = {(None, True): 5.0, (10, True): 2.0, (None, False): 2.0, (10, False): 1.2}


def sampling(rows: int) -> None:
    table = discharges(100_000, 1)
    print(f"sampling {rows:,} rows x 13 columns, m = 2, one core")
    for (block, seeded), limit in LIMITS.items():
        method = PeGS(epsilon_per_row=1.0, columns=DISCHARGE_VARIABLES, parents=2, choose="data", block=block)
        fitted = method.fit(table)
        key = Key.from_seed(1) if seeded else Key.fresh()
        sampler = Sampler(fitted.laws(rows), key, 1, block)
        sampler.codes(0, 1_000)
        step = CHUNK // 10 * 10
        best = 0.0
        for _ in range(3):
            start = time.process_time()
            for first in range(0, rows, step):
                sampler.codes(first, min(step, rows - first))
            best = max(best, rows / (time.process_time() - start) / 1e6)
        name = f"{'PeGS.rs, blocks of 10' if block else 'PeGS'}, {'seeded' if seeded else 'secret key'}"
        print(f"  {name:34} {best:5.2f} million rows/s   {best / limit:4.2f} of the limit ({limit})")


def fitting(rows: int) -> None:
    small = discharges(50_000, 2).select(DISCHARGE_VARIABLES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        chunk = small.to_arrow()
        encoded = pa.table({n: chunk[n].combine_chunks().dictionary_encode() for n in chunk.column_names})
        with pq.ParquetWriter(path, encoded.schema) as writer:
            for _ in range(max(1, rows // small.rows())):
                writer.write_table(encoded)
        table = scan(path, small.schema)
        opened = 0
        source = table.source
        original = source.open  # type: ignore[union-attr]

        def counted(columns: object) -> object:
            nonlocal opened
            opened += 1
            return original(columns)  # type: ignore[arg-type]

        object.__setattr__(source, "open", counted)
        start, wall = time.process_time(), time.perf_counter()
        fitted = PeGS(epsilon_per_row=1.0, parents=2, choose="data").fit(table)
        cpu, wall = time.process_time() - start, time.perf_counter() - wall
        held = sum(b.counts.cells for b in fitted.blocks.blocks)
        print(f"fit of {fitted.blocks.rows:,} rows x 13 from Parquet, parents from the data, m = 2")
        print(f"  {cpu:5.2f} CPU s, {wall:5.2f} s; read {opened} time(s); {held:,} cells")
        assert all(np.isclose(b.counts.total, fitted.blocks.rows) for b in fitted.blocks.blocks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--fit", type=int, default=10_000_000)
    asked = parser.parse_args()
    sampling(asked.rows)
    fitting(asked.fit)
