"""Numbers and days as they are: the largest Kolmogorov-Smirnov distance of each number, zeros included.

Real data by SFUMATO_DATA: MEPS 2004 (19,386 adults), and smaller tables with amounts. Of every number only a
public range is declared, round as one who knows the questionnaire gives it. delta 1e-9, row as unit.
Wanted, with about 19,000 rows: .02 at epsilon 10, .04 at 1. --evenly: drawn evenly in declared bins.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.stats import ks_2samp

import sfumato as sf

WANTED = {10.0: 0.02, 1.0: 0.04}
RANGES = {
    "meps/meps2004_adults.parquet": {
        "weight": (0.0, 100_000.0), "age": (0, 120), "income_family": (0.0, 1_000_000.0), "famsize": (0, 30),
        "mcs12": (0.0, 100.0), "pcs12": (0.0, 100.0), "ins_dental": (0.0, 1.0), "exp_tot": (0.0, 1_000_000.0),
        "exp_dent": (0.0, 100_000.0), "exp_self": (0.0, 100_000.0), "use_disch": (0.0, 100.0),
        "use_los": (0.0, 366.0), "use_dent": (0.0, 100.0), "use_rx": (0.0, 1_000.0),
    },
    "rdata_small/Ecdat_MedExp.csv": {
        "med": (0.0, 100_000.0), "lc": (0.0, 10.0), "lpi": (0.0, 20.0), "fmde": (0.0, 20.0),
        "ndisease": (0.0, 100.0), "linc": (0.0, 20.0), "lfam": (0.0, 5.0), "educdec": (0.0, 30.0),
        "age": (0.0, 120.0),
    },
    "rdata_small/AER_NMES1988.csv": {
        "visits": (0, 366), "nvisits": (0, 366), "ovisits": (0, 366), "novisits": (0, 366),
        "emergency": (0, 100), "hospital": (0, 100), "chronic": (0, 20), "age": (0.0, 12.0),
        "school": (0, 30), "income": (-10.0, 100.0),
    },
}  # fmt: skip


def case(path: Path, ranges: dict[str, Any]) -> tuple[sf.Table, pd.DataFrame]:
    """The table, of which numbers have a range and other columns their levels."""
    data = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path).drop(columns="rownames")
    by = sf.Provenance.declared("the benchmark", "the questionnaire")
    columns = []
    for name in data:
        if name in ranges:
            kind = "integer" if data[name].dtype.kind == "i" else "real"
            columns.append(
                sf.Column(name, "numeric", type=kind, edges=ranges[name], missing=False, provenance=by)
            )
        else:
            data[name] = data[name].astype(str)
            levels = tuple(sorted(data[name].unique()))
            columns.append(sf.Column(name, "nominal", levels=levels, missing=False, provenance=by))
    return sf.Table.from_arrow(
        pa.Table.from_pandas(data, preserve_index=False), sf.Schema(tuple(columns))
    ), data


def main() -> None:
    """Fit each table at each epsilon, and print how far its numbers are from the data's."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--fits", type=int, default=5)
    options.add_argument("--only", default="")
    options.add_argument("--evenly", action="store_true")
    options.add_argument("--each", action="store_true", help="a line for each number")
    asked = options.parse_args()
    folder = os.environ.get("SFUMATO_DATA", "")
    if not folder:
        raise SystemExit("SFUMATO_DATA names no folder")
    for path, ranges in RANGES.items():
        if asked.only not in path:
            continue
        table, data = case(Path(folder) / path, ranges)
        for epsilon, wanted in WANTED.items():
            found, started = [], time.process_time()
            for _ in range(asked.fits):
                more = {"numbers": "bins"} if asked.evenly else {}
                model = sf.PrivateSynthesizer(epsilon=epsilon, delta=1e-9, **more).fit(table)
                rows = model.sample().data.to_arrow()
                found.append([ks_2samp(data[n], rows[n].to_numpy()).statistic for n in ranges])
            spent = (time.process_time() - started) / asked.fits
            worst = np.array(found).max(axis=1)
            print(
                f"{Path(path).stem}, {len(data):,} rows, epsilon {epsilon:g}: KS of the worst number "
                f"{worst.mean():.4f} (fits {worst.min():.4f} to {worst.max():.4f}, wanted {wanted} with "
                f"19,000 rows), of all {np.mean(found):.4f}; {spent:.1f} CPU s"
            )
            if asked.each:
                for name, one in zip(ranges, np.array(found).T, strict=True):
                    print(f"    {name:15s} {one.mean():.4f} {one.max():.4f}")


if __name__ == "__main__":
    main()
