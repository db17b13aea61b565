"""Risk of a million rows by eight quasi-identifiers: the limit is half a minute for everything on two cores.

python benchmarks/risk.py [rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import sfumato as sf
from sfumato.assessment import risk

COARSE = ["age", "sex", "ethnicity", "race", "zip", "hospital", "pay", "disp"]
FINE = ["born", "sex", "ethnicity", "race", "zip", "admitted", "los_days", "dx"]


def timed(what: str, action: Callable[[], Any]) -> Any:
    start, worked = time.perf_counter(), time.process_time()
    out = action()
    taken, work = time.perf_counter() - start, time.process_time() - worked
    print(f"{what:<40}{taken:7.2f} s {work:7.2f} s of work")
    return out


def main(rows: int) -> None:
    table = sf.samples.discharges(rows, seed=1)
    holdout = sf.samples.discharges(rows // 2, seed=2)
    risk.risks(
        table.select(table.columns).with_schema(table.schema), COARSE[:3], sensitive=["sev"]
    )  # compiles
    start = time.perf_counter()
    for name, columns in (("coarse", COARSE), ("fine", FINE)):
        found = timed(f"{name}: classes", lambda columns=columns: risk.classes(table, columns))
        searched = timed(f"{name}: sets of up to four", lambda found=found: risk.search(found))
        print(f"{'':<4}{found.counts.cells:,} classes, {len(searched.unique)} sets")
        timed(
            f"{name}: population",
            lambda found=found: risk.population_uniqueness(found, sampling_fraction=0.05),
        )
    timed("l and t of two columns", lambda: risk.diversity(table, COARSE, ["mdc", "charge_usd"]))
    variables = sf.samples.DISCHARGE_VARIABLES
    timed("equal records, thirteen columns", lambda: risk.copies(table, holdout, columns=variables))
    taken = time.perf_counter() - start
    print(f"{'all of these against thirty seconds':<44}{taken / 30:7.2f}")
    timed(
        "closest of 2,000 records", lambda: risk.closest(table, holdout, control=holdout, columns=variables)
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
