"""LUDIA at any size: m = 20 columns, p = 1000 groups; the loop does not know how many people there are.

python benchmarks/ludia.py [largest]

Prints, for n from 1e4 up, CPU seconds of X'X and A X (the reading), of ten iterations and of a whole fit, how
much the loop and the fit are of the reading (the limit at 1e6 rows is 5 times), the high-water marks of
fitting and of writing back, each by itself, and the most that Arrow held: what must not grow with n.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS, GROUPS, CHUNK = 20, 1000, 100_000


def write(path: Path, n: int) -> None:
    """People in row groups, drawn chunk by chunk."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([("g", pa.string()), *((name, pa.float64()) for name in names)])
    labels = np.array([f"g{i}" for i in range(GROUPS)], dtype=object)
    with pq.ParquetWriter(path, schema, use_dictionary=["g"]) as writer:
        for start in range(0, n, CHUNK):
            rows = min(CHUNK, n - start)
            g = np.concatenate([np.arange(GROUPS), rng.integers(0, GROUPS, rows - GROUPS)])
            x = rng.normal(size=(rows, COLUMNS)) + 0.1 * (g % 7)[:, None]
            arrays = [pa.array(labels[g]), *(pa.array(x[:, j]) for j in range(COLUMNS))]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def high_water() -> float:
    """The most memory this process ever held, in MB (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def forget_high_water() -> None:
    """Count from what is held now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure(path: Path, out: Path) -> None:
    """One size, in a process of its own so that its memory can be read."""
    import sfumato as sf
    from sfumato.features.design import Design
    from sfumato.reconstruction import factor
    from sfumato.reconstruction.groups import match
    from sfumato.reconstruction.moments import moments_of
    from sfumato.reconstruction.problem import LinearProblem

    warnings.simplefilter("ignore", sf.SfumatoWarning)  # at 1e4 people a group may have one
    rng = np.random.default_rng(1)
    means = pa.table({"g": [f"g{i}" for i in range(GROUPS)], "y": rng.normal(size=GROUPS)})
    made = sf.Aggregates.of(means, "g", "y")
    table = sf.scan(path)
    n = table.rows()
    grouping = match(made, table)
    design = Design.of_people(table, None, grouping.columns)
    first = table.head(1000)
    moments_of(sf.Table.from_arrow(first, table.schema), design, grouping, "refuse")  # compiles
    start = time.process_time()
    moments = moments_of(table, design, grouping, "refuse")
    reading = time.process_time() - start
    problem = LinearProblem.of(moments, grouping)
    start = time.process_time()
    state = factor.begin(problem.statistics, COLUMNS, "mp", "even")
    states = factor.iterate(problem.statistics, state)
    for _ in range(10):
        state = next(states)
    loop = time.process_time() - start
    start = time.process_time()
    fitted = sf.LUDIA(rank=COLUMNS, iterations=10).fit(table, made)
    whole = time.process_time() - start
    memory = high_water()
    forget_high_water()
    fitted.reconstruct().save(out, overwrite=True)
    written = high_water()
    print(
        f"{n:>12,}{reading:>12.2f}{loop:>12.3f}{whole:>12.2f}{(reading + loop) / reading:>12.2f}"
        f"{whole / reading:>12.2f}{memory:>12.0f}{written:>12.0f}"
        f"{pa.default_memory_pool().max_memory() / 2**20:>12.0f}",
        flush=True,
    )


def main(largest: int) -> None:
    titles = (
        "people",
        "X'X, AX s",
        "ten its s",
        "fit s",
        "+ loop x",
        "fit x",
        "fit MB",
        "save MB",
        "Arrow MB",
    )
    print("".join(f"{title:>12}" for title in titles), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        n = 10_000
        while n <= largest:
            path = Path(folder) / f"{n}.parquet"
            write(path, n)
            subprocess.run(
                [sys.executable, __file__, "--one", str(path), str(Path(folder) / "y.parquet")], check=True
            )
            path.unlink()
            n *= 10


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
