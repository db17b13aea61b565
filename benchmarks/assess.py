"""Two files of a million rows x 13 columns: all 78 pairs and 286 triples, against SDMetrics' quality report.

Both sides start from the same two Parquet files, and reading them is counted on both. SDMetrics runs in its
own environment (make peers) with its default settings, every column declared categorical, as the columns
are. It compares columns and pairs, no triples, and by default looks at 50,000 rows for the pairs; it is
asked a second time to look at all of them (`num_rows_subsample = None`), as we do. Imports and compiled
kernels are counted on neither side. Ours is the median of five runs; SDMetrics runs once.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import peers
import sfumato as sf
from sfumato.assessment.reading.alignment import align
from sfumato.assessment.utility import distances

ROWS = 1_000_000
RUNS = 5


def ours(files: dict[str, str], schema: sf.Schema) -> tuple[float, float, list[sf.Score]]:
    """Seconds, seconds of processor, and the scores of all columns, pairs and triples."""
    start = time.perf_counter(), time.process_time()
    pair = align(*(sf.scan(files[name], schema=schema) for name in ("original", "released")))
    scores = distances(pair, ways=(1, 2, 3))
    return time.perf_counter() - start[0], time.process_time() - start[1], scores


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for seed, name in enumerate(("original", "released"), 1):
            table = sf.samples.discharges(ROWS, seed=seed).select(sf.samples.DISCHARGE_VARIABLES)
            files[name] = str(sf.write(table, Path(folder) / f"{name}.parquet"))
        ours(files, table.schema)  # compiled kernels are not what is measured
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        runs = [ours(files, table.schema) for _ in range(RUNS)]
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        seconds, processor = (statistics.median(r[i] for r in runs) for i in (0, 1))
        print(
            f"{ROWS:,} rows x {len(table.columns)} columns, both from Parquet: {seconds:.2f} s, "
            f"{processor:.2f} s of processor (wanted: under 60 s); further runs added {more / 1024:.0f} MB"
        )
        for score in runs[0][2]:
            print(f"  {score} of {score.details['sets']} tables")
        if peers.python_of("sdmetrics") is None:
            print("  SDMetrics was not built here: make peers")
            return
        for words, everything in (("as it comes, pairs on 50,000 rows", False), ("on all rows", True)):
            theirs = peers.ask("sdmetrics", {**files, "all_rows": everything}, seconds=3_600)
            print(
                f"  SDMetrics' quality report {words}: {theirs['seconds']:.1f} s, "
                f"{theirs['reading']:.1f} of it reading, {theirs['seconds'] / seconds:.0f} times ours "
                f"(wanted: 20); processor {theirs['cpu_seconds']:.1f} s, "
                f"{theirs['cpu_seconds'] / processor:.0f} times"
            )


if __name__ == "__main__":
    main()
