"""Risk of a million rows by eight quasi-identifiers: the limit is half a minute for everything on two cores.

Then, where SFUMATO_DATA names public tables, journalist and marketer risk of samples as they are estimated
from the population's size, against the truth: the whole table is the population.

python benchmarks/risk.py [rows]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.assessment import risk

COARSE = ["age", "sex", "ethnicity", "race", "zip", "hospital", "pay", "disp"]
FINE = ["born", "sex", "ethnicity", "race", "zip", "admitted", "los_days", "dx"]

TABLES = {
    "adult/adult_arx_30162.parquet": (
        ["age", "sex", "race", "education"],
        ["age", "sex", "race", "marital-status", "education", "native-country"],
        ["age", "sex", "occupation", "workclass", "native-country", "education", "race"],
    ),
    "diabetes130/diabetes130_categorical16.parquet": (
        ["race", "gender", "age", "admission_type_id", "discharge_disposition_id"],
        ["race", "gender", "age", "medical_specialty", "diag1_chapter", "los_days"],
    ),
    "sparcs/sparcs2020_musculoskeletal_charges.parquet": (
        ["hospital_county", "gender", "race", "age", "ethnicity"],
        ["permanent_facility_id", "gender", "race", "age", "ethnicity", "los"],
        ["hospital_county", "gender", "race", "age", "ccsr_diagnosis_code", "los"],
    ),
    "brfss/brfss2015_diabetes_indicators.parquet": (
        ["Age", "Sex", "Education", "Income"],
        ["Age", "Sex", "Education", "Income", "BMI"],
        ["Age", "Sex", "Education", "Income", "BMI", "PhysHlth", "GenHlth"],
    ),
    "meps/meps2004_adults.parquet": (
        ["age", "sex", "race", "education"],
        ["age", "sex", "race", "hispanic", "education", "region", "famsize"],
        ["age", "sex", "region", "famsize", "income_category", "ins_dental"],
    ),
}
SEEDS = range(4)


def estimates(folder: Path) -> None:
    """A line per table, set of columns and fraction (the first draw), and how near all draws came."""
    near: dict[tuple[str, float], list[tuple[bool, bool, bool]]] = {}
    print(f"{'':<56}{'truth':>9}{'estimate':>10}  interval; * is off by more than a factor of 1.5")
    for path, sets in TABLES.items():
        rows = pq.read_table(folder / path)
        everybody = sf.scan(rows)
        for columns in sets:
            for fraction in (0.01, 0.1, 0.3):
                for seed in SEEDS:
                    chosen = np.random.default_rng(seed).permutation(len(rows))[: round(fraction * len(rows))]
                    found = risk.classes(sf.scan(rows.take(pa.array(chosen))), columns)
                    truth = {s.name: s.value for s in risk.intruders(found, population=everybody)}
                    for score in risk.intruders(found, population_size=len(rows))[-2:]:
                        true, held = truth[score.name], score.low <= truth[score.name] <= score.high
                        close = true / 1.5 <= score.value <= 1.5 * true
                        narrow = held and score.high <= 4 * score.low
                        near.setdefault((score.name, fraction), []).append((close, held, close or narrow))
                        if seed == 0:
                            what = (
                                f"{path.split('/')[0]}, {len(columns)} columns, {fraction:.0%}, {score.name}"
                            )
                            ends = f"[{score.low:.4f}, {score.high:.4f}]"
                            print(f"{what:<48}{true:9.4f}{score.value:10.4f}  {ends}{'' if close else ' *'}")
    for (name, fraction), all_ in near.items():
        close, held, either = (sum(x) / len(all_) for x in zip(*all_, strict=True))
        said = (
            f"{close:.2f} of {len(all_)} within a factor of 1.5, {held:.2f} within the interval, "
            f"{either:.2f} within the factor or an interval at most four times as high as low"
        )
        print(f"{name}, {fraction:.0%}: {said}")


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
        timed(
            f"{name}: journalist and marketer",
            lambda found=found: risk.intruders(found, sampling_fraction=0.05),
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
    if os.environ.get("SFUMATO_DATA"):
        estimates(Path(os.environ["SFUMATO_DATA"]))
