"""A simulated OMOP CDM of many persons in Parquet files: checked, pseudonymized, saved and verified.

    python benchmarks/omop.py [--persons 100000]

Prints rows, processor seconds and the peak of memory of each step, each in a process of its own; then holds
the release against the input: no key dangles, and every person's gap from observation to first visit stays.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

import sfumato as sf
from sfumato.samples._omop import omop_blocks, omop_lists

_SEED = 25


def written(persons: int, folder: Path) -> int:
    """The CDM as files, block by block; its rows."""
    folder.mkdir()
    writers: dict[str, pq.ParquetWriter] = {}
    rows = 0
    for block in omop_blocks(persons, _SEED):
        for name, table in block.items():
            if name not in writers:
                writers[name] = pq.ParquetWriter(folder / f"{name}.parquet", table.schema)
            writers[name].write_table(table)
            rows += table.num_rows
    for writer in writers.values():
        writer.close()
    for name, table in omop_lists().items():
        pq.write_table(table, folder / f"{name}.parquet")
    return rows


def pseudonymized(folder: Path) -> None:
    """Read, checked, under pseudonyms, dates moved."""
    db = sf.scan_database(folder / "cdm")
    sf.pseudonymize(db, shift_dates=365, key=sf.Key.from_seed(1)).save(folder / "release")


def verified(folder: Path) -> None:
    """As whoever receives it does."""
    assert sf.verify(folder / "release").ok


def counted(folder: Path) -> None:
    """Start of the first visit against start of observation: the gap of every person stays."""
    import duckdb

    def gaps(where: Path) -> list[tuple[int, int]]:
        first = (
            f"SELECT person_id, min(visit_start_date) AS v FROM '{where}/visit_occurrence.parquet' GROUP BY 1"
        )
        return duckdb.sql(
            f"SELECT o.observation_period_start_date - f.v, count(*) FROM ({first}) f JOIN "
            f"'{where}/observation_period.parquet' o USING (person_id) GROUP BY 1 ORDER BY 1"
        ).fetchall()

    assert gaps(folder / "cdm") == gaps(folder / "release" / "public")
    out = sf.scan_database(folder / "release" / "public", check=False)
    assert not [d for d in out.differences if d.fatal]


STEPS = {f.__name__: f for f in (pseudonymized, verified, counted)}


def main() -> None:
    """Write it, then one process for each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--step", choices=list(STEPS))
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.step:
        began = time.process_time()
        STEPS[asked.step](asked.folder)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(f"{asked.step:14} {time.process_time() - began:8.1f} CPU s  {peak:8.0f} MB at most")
        return
    with tempfile.TemporaryDirectory() as place:
        rows = written(asked.persons, Path(place) / "cdm")
        print(f"{asked.persons:,} persons, {rows:,} rows", flush=True)
        for step in STEPS:
            command = [sys.executable, __file__, "--step", step, "--folder", place]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
