"""Guesses at 1,000 columns of 1,000,000 rows: processor seconds, held against 60.

python benchmarks/guess_speed.py [rows] [columns]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.description import roles_of

LIMIT = 60.0
PART = 100_000


def _made(kind: str, rng: np.random.Generator, n: int) -> pa.Array:
    words = np.array([f"word{i}" for i in range(20)])
    codes = np.array([f"A{i:04d}" for i in range(3_000)])
    if kind == "patient_id":
        return pa.array(rng.integers(10**8, 10**9, n))
    if kind == "cost":
        return pa.array(np.exp(rng.normal(7, 1, n)).round(2))
    if kind == "admission_date":
        return pa.array(np.datetime64("2015-01-01") + rng.integers(0, 3_000, n))
    if kind in ("word", "code"):
        levels = words if kind == "word" else codes
        return pa.array(levels[rng.integers(0, len(levels), n)])
    if kind in ("score", "result"):
        return pa.array(rng.gamma(5, 20, n).round(4 if kind == "score" else 1))
    return pa.array(rng.integers(0, {"flag": 2, "grade": 5, "age": 100}[kind], n))


KINDS = ("patient_id", "cost", "admission_date", "word", "code", "score", "result", "flag", "grade", "age")


def main() -> None:
    """Write a file, guess, and hold the time against the limit."""
    rows, columns = (int(a) for a in (sys.argv[1:3] or (1_000_000, 1_000)))
    names = [f"{KINDS[i % len(KINDS)]}_{i}" for i in range(columns)]
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        writer = None
        for start in range(0, rows, PART):
            n = min(PART, rows - start)
            part = pa.table([_made(name.rpartition("_")[0], rng, n) for name in names], names=names)
            writer = writer or pq.ParquetWriter(path, part.schema)
            writer.write_table(part)
        assert writer is not None
        writer.close()
        begun = time.process_time()
        table = sf.scan(path, keep_text=True)
        scanned = time.process_time()
        schema = roles_of(table)
        done = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{rows:,} rows x {columns:,} columns: head {scanned - begun:.1f} s, all rows {done - scanned:.1f} s"
    )
    print(f"{(done - begun) / LIMIT:.2f} of {LIMIT:.0f} processor seconds; {memory:.1f} GB at most")
    assert {str(schema[n].role) for n in names if n.startswith("patient")} <= {"identifier", "person"}
    if done - begun > LIMIT:
        sys.exit("slower than the limit")


if __name__ == "__main__":
    main()
