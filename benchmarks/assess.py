"""What an assessment costs: against SDMetrics' quality report, on 300 columns, and in memory.

    python benchmarks/assess.py [rows] [columns] [memory]

rows: two files of a million rows x 13 columns, all 78 pairs and 286 triples with everything else that
`assess` says of utility, against SDMetrics' quality report. Both sides start from the same two Parquet files,
and reading them is counted on both. SDMetrics runs in its own environment (make peers) with its default
settings, every column declared categorical, as the columns are. It compares columns and pairs, no triples,
and by default looks at 50,000 rows for the pairs; it is asked to look at all of them (`num_rows_subsample =
None`), as we do. The second ratio is against SDMetrics as it comes. Imports and compiled kernels are counted
on neither side. Ours is the median of three runs; SDMetrics runs once.

columns: the whole of `sf.assess` on 10,000 rows x 300 columns of all kinds that depend on each other, with a
control, at effort "quick".

memory: the whole of `sf.assess` on two million rows x 13 columns, with a control, at effort "quick".

All seconds are the processor's, which other work on the machine does not change. Each part runs in a process
of its own.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import peers
import sfumato as sf
from sfumato.assessment.reading.alignment import align
from sfumato.assessment.utility import utility

ROWS, RUNS, TIMES = 1_000_000, 3, 20.0
COLUMNS, COLUMN_ROWS, COLUMN_SECONDS = 300, 10_000, 60.0
MANY_ROWS, MOST_BYTES = 2_000_000, 2e9
NAMES = ("original", "released", "control")


def discharges(folder: Path, rows: int, names: tuple[str, ...]) -> dict[str, str]:
    """Simulated discharges, 13 columns, as Parquet files."""
    files = {}
    for seed, name in enumerate(names, 1):
        table = sf.samples.discharges(rows, seed=seed).select(sf.samples.DISCHARGE_VARIABLES)
        files[name] = str(sf.write(table, folder / f"{name}.parquet"))
    return files


def wide(folder: Path) -> dict[str, str]:
    """Numbers, whole numbers, names, flags, days and gaps that go back to twelve hidden causes."""
    files = {}
    for seed, name in enumerate(NAMES, 1):
        draw, law = np.random.default_rng(seed), np.random.default_rng(0)
        causes = draw.normal(size=(COLUMN_ROWS, 12))
        columns: dict[str, object] = {}
        for i in range(COLUMNS):
            z = causes @ (law.normal(size=12) * (law.random(12) < 0.3)) + draw.normal(size=COLUMN_ROWS)
            scale, levels = law.uniform(2, 50), int(law.integers(3, 40))
            whole = np.round(scale * z).astype(int)
            kinds = (
                ("number", np.round(scale * z, 2)), ("whole", whole),
                ("name", np.array([f"c{j}" for j in range(levels)])[np.abs(whole) % levels]),
                ("flag", z > law.normal()),
                ("day", np.datetime64("2010-01-01") + whole.astype("timedelta64[D]")),
                ("gaps", pa.array(whole, mask=draw.random(COLUMN_ROWS) < 0.2)),
            )  # fmt: skip
            kind, values = kinds[i % len(kinds)]
            columns[f"{kind}{i}"] = values
        files[name] = str(folder / f"{name}.parquet")
        pq.write_table(pa.table(columns), files[name])
    return files


def ours(files: dict[str, str]) -> tuple[float, int]:
    """Seconds of everything that is said of utility, and how many tables were counted."""
    schema = sf.samples.discharges(10, seed=1).select(sf.samples.DISCHARGE_VARIABLES).schema
    start = time.process_time()
    pair = align(*(sf.scan(files[name], schema=schema) for name in NAMES[:2]))
    scores = utility(pair, ways=3)
    seconds = time.process_time() - start
    return seconds, sum(s.details["sets"] for s in scores if "sets" in s.details)  # type: ignore[misc]


def rows(folder: Path) -> None:
    """Against SDMetrics."""
    files = discharges(folder, ROWS, NAMES[:2])
    ours(files)  # compiled kernels are not what is measured
    runs = [ours(files) for _ in range(RUNS)]
    seconds = statistics.median(s for s, _ in runs)
    print(
        f"{ROWS:,} rows x 13 columns: everything about utility, with {runs[0][1]} tables of one, two and "
        f"three columns: {seconds:.2f} s"
    )
    if peers.python_of("sdmetrics") is None:
        print("  SDMetrics was not built here: make peers PEERS=sdmetrics")
        return
    for words, everything in (("on all rows", True), ("as it comes, pairs on 50,000 rows", False)):
        theirs = peers.ask("sdmetrics", {**files, "all_rows": everything}, seconds=7_200)["cpu_seconds"]
        limit = f" (limit: {TIMES:g})" if everything else ""
        print(
            f"  SDMetrics' quality report {words}: {theirs:.1f} s, {theirs / seconds:.1f} times ours{limit}"
        )


def assessed(files: dict[str, str], part: str) -> None:
    """The whole of an assessment: its seconds and its memory, of this process from its start."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sf.assess(files["original"], files["released"], control=files["control"], effort="quick")
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    rows, most = f"{found.rows[0]:,} rows x {len(found.columns)} columns", MOST_BYTES / 1e9
    limits = (f" (limit: {COLUMN_SECONDS:g})", "") if part == "columns" else ("", f" (limit: {most:g})")
    print(
        f"{rows}, {len(found.quasi_identifiers)} quasi-identifiers: sf.assess at effort quick "
        f"{seconds:.1f} s{limits[0]}, at most {peak:.2f} GB{limits[1]}, {len(found.scores)} scores"
    )


def main() -> None:
    """All parts, or those named; each in a process of its own, so that its memory is its own."""
    makers = {"columns": wide, "memory": lambda folder: discharges(folder, MANY_ROWS, NAMES)}
    if sys.argv[1:2] == ["assessed"]:
        assessed(json.loads(sys.argv[2]), sys.argv[3])
        return
    for part in sys.argv[1:] or ["rows", *makers]:
        with tempfile.TemporaryDirectory() as folder:
            if part == "rows":
                rows(Path(folder))
                continue
            files = json.dumps(makers[part](Path(folder)))
            subprocess.run([sys.executable, __file__, "assessed", files, part], check=True)


if __name__ == "__main__":
    main()
