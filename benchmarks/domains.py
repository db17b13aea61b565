"""Domains found privately: which share of the rows has a level that was found.

    python benchmarks/domains.py [folder of the data]

Diabetes 130-US hospitals (UCI 296), the three columns of diagnoses cut to three digits: epsilon 0.5 and delta
1e-9 for each column, by rows, and by persons with one row each. Limits: 94% and 92% of the rows.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf

DIAGNOSES = ("diag_1", "diag_2", "diag_3")
LIMITS = {False: 0.94, True: 0.92}


def stays(folder: Path) -> sf.Table:
    """The diagnoses of all stays, three digits each, and whose they are."""
    path = folder / "diabetes130" / "diabetic_data.parquet"
    raw = pq.read_table(path, columns=["patient_nbr", *DIAGNOSES])
    cut = {n: pc.utf8_slice_codeunits(raw[n].cast(pa.string()).combine_chunks(), 0, 3) for n in DIAGNOSES}
    columns = (
        sf.Column("patient_nbr", sf.Kind.NOMINAL, sf.Role.PERSON),
        *(sf.Column(n, sf.Kind.NOMINAL, sf.Role.SENSITIVE, missing_codes=("?",)) for n in DIAGNOSES),
    )
    data = pa.table({"patient_nbr": raw["patient_nbr"].cast(pa.string()), **cut})
    return sf.Table.from_arrow(data, sf.Schema(columns))


def coverage(folder: Path, *, persons: bool) -> dict[str, tuple[float, int]]:
    """For each column the share of rows with a level that was found, and how many there are."""
    found = sf.DomainSearch(epsilon=0.5, delta=1e-9, persons=persons).find(stays(folder), DIAGNOSES)
    out = {}
    for name in DIAGNOSES:
        levels = found.schema[name].levels or ()
        counts = found.table.counts(name).dense()[: len(levels)]  # those without a diagnosis are left out
        out[name] = (1 - float(counts[levels.index("other")] / counts.sum()), len(levels) - 1)
    return out


def main() -> int:
    """Print the coverage; 1 if it is below the limits."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SFUMATO_DATA", "data"))
    missed = 0
    for persons, least in LIMITS.items():
        start = time.process_time()
        for name, (share, levels) in coverage(folder, persons=persons).items():
            missed += share < least
            who = "persons, L = 1" if persons else "rows"
            print(f"{name} by {who}: {levels} levels, {share:.1%} of the rows (at least {least:.0%})")
        print(f"  {time.process_time() - start:.1f} s")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
