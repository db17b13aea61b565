"""Cost against rows: `optimal` and `local` at k = 5 on simulated tables, five columns or ten.

    python benchmarks/rows.py [columns [rows ...]]

Each search runs in a process of its own, so that its peak of memory is its own. Printed are the processor
seconds of counting, of the search (after compiling; limits are the processor's too), for each million rows,
and the peak of memory from the table in memory on.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.anonymization import limits
from sfumato.anonymization.problem import compress

SIZES = {"age": 100, "zip": 100, "sex": 2, "month": 12, "ward": 8}
MORE = {"pay": 5, "race": 6, "stay": 30, "visits": 10, "source": 4}  # with the others: ten


def table(columns: int, rows: int) -> tuple[sf.Table, dict[str, sf.Hierarchy]]:
    """Skewed draws without order."""
    generator = np.random.default_rng(1)
    sizes = dict(list({**SIZES, **MORE}.items())[:columns])
    cells = {c: (m * generator.beta(1.2, 3, rows)).astype(np.uint8) for c, m in sizes.items()}
    trees = {
        c: sf.Hierarchy.of_rows([[str(v), f"{v // 5 * 5}+", f"{v // 20 * 20} on", "*"] for v in range(m)])
        for c, m in sizes.items()
    }
    return sf.scan(pa.table(cells)), trees


def one(name: str, columns: int, rows: int) -> None:
    """In this process."""
    warnings.simplefilter("ignore")
    limits.clock = time.process_time
    read, trees = table(columns, rows)
    method = {
        "optimal": sf.OptimalRecoding(max_suppressed=0.05, time_limit=60),
        "local": sf.LocalRecoding("fast"),
    }[name]
    few, few_trees = table(columns, 500)
    method.search(compress(few, tuple(few_trees), few_trees), sf.KAnonymity(5))  # compiles
    start = time.process_time()
    problem = compress(read, tuple(trees), trees)
    counted = time.process_time() - start
    start = time.process_time()
    about = method.search(problem, sf.KAnonymity(5)).about
    spent = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    million = rows / 1e6
    print(
        f"{name:8} {rows:>11,} x {columns:2}  {problem.combinations:>10,} combinations  "
        f"counted {counted:6.1f} s  searched {spent:6.1f} s  "
        f"{(counted + spent) / million:6.1f} s per million  {peak:7.0f} MB  "
        f"loss {about['score']:.4f}  bound {about['bound']:.4f}",
        flush=True,
    )


def main(columns: int, sizes: list[int]) -> None:
    for rows in sizes:
        for name in ("optimal", "local"):
            subprocess.run([sys.executable, __file__, "--one", name, str(columns), str(rows)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(int((sys.argv[1:] or ["5"])[0]), [int(float(n)) for n in sys.argv[2:]] or [250_000, 1_000_000])
