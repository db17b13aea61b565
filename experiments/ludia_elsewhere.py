"""LUDIA where it was not tuned: three data sets that nobody looked at while its default was chosen.

    SFUMATO_DATA=... python experiments/ludia_elsewhere.py [--quick] [--out DIR]

One column is masked, its means (of logs) are known by group, and all methods reconstruct it with their
defaults. What was known and by which groups was fixed before the first run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.reconstruction.aggregate import Aggregates
from sfumato.reconstruction.baselines import EcologicalRegression, MoorePenrose
from sfumato.reconstruction.cudia import CUDIA
from sfumato.reconstruction.ludia import LUDIA

sys.path.insert(0, str(Path(__file__).parent))
from reconstruction_output import markdown, options, save_picture, save_table

METHODS: dict[str, Any] = {
    "MP": MoorePenrose(),
    "ER": EcologicalRegression(),
    "ER + correction": EcologicalRegression(correction=True),
    "LUDIA": LUDIA(shrinkage=1.0),
    "LUDIA, cautious": LUDIA(cautious=True, shrinkage=1.0),
    "LUDIA, daring": LUDIA(sharing=None, most_iterations=10, shrinkage=1.0),
    "CUDIA": CUDIA(4, seed=1),
}


def _folder() -> Path:
    return Path(os.environ["SFUMATO_DATA"])


def meps(rows: int | None) -> tuple[str, pa.Table, dict[str, list[str]]]:
    """Log of a year's medical expenditure (plus one) of American adults, 2004."""
    table = _some(pq.read_table(_folder() / "meps" / "meps2004_adults.parquet"), rows)
    age = pc.multiply(pc.floor(pc.divide(table["age"].cast(pa.float64()), 10.0)), 10.0)
    table = table.append_column("decade", age.cast(pa.int64()).cast(pa.string()))
    table = table.append_column("y", pc.ln(pc.add(table["exp_tot"].cast(pa.float64()), 1.0)))
    known = [
        "age", "sex", "race", "hispanic", "education", "income_family", "famsize", "any_limitation", "mcs12",
        "pcs12", "ins_medicare", "ins_medicaid", "ins_uninsured", "use_disch", "use_rx",
    ]  # fmt: skip
    by = {
        "region and decade of age": ["region", "decade"],
        "region, decade, education": ["region", "decade", "education"],
    }
    return "expenditure", table.select([*dict.fromkeys(["region", "decade", *known, "y"])]), by


def stays(rows: int | None) -> tuple[str, pa.Table, dict[str, list[str]]]:
    """Log of days in hospital of diabetic patients, 1999 to 2008."""
    table = _some(pq.read_table(_folder() / "diabetes130" / "diabetic_data.parquet"), rows)
    names = [
        "num_lab_procedures",
        "num_procedures",
        "num_medications",
        "number_inpatient",
        "number_diagnoses",
    ]
    for name in [*names, "time_in_hospital"]:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(pa.float64()))
    table = table.append_column("y", pc.ln(table["time_in_hospital"]))
    known = [*names, "gender", "insulin", "change", "A1Cresult", "readmitted"]
    by = {
        "medical specialty": ["medical_specialty"],
        "specialty and age": ["medical_specialty", "age"],
        "first diagnosis": ["diag_1"],
    }
    groups = ["medical_specialty", "age", "diag_1"]
    return "length of stay", table.select([*groups, *known, "y"]), by


def outpatients(rows: int | None) -> tuple[str, pa.Table, dict[str, list[str]]]:
    """Log of submitted charges by hospital and kind of service, Medicare outpatients 2015."""
    table = _some(pq.read_table(_folder() / "medicare_opps" / "opps_provider_apc_cy2015.parquet"), rows)
    charge = table["Average Estimated Total Submitted Charges"].cast(pa.float64())
    allowed = pc.ln(table["Average Medicare Allowed Amount"].cast(pa.float64()))
    services = pc.ln(table["Comprehensive APC Services"].cast(pa.float64()))
    made = pa.table(
        {
            "hospital": table["Provider ID"].cast(pa.string()),
            "region": table["Provider Hospital Referral Region (HRR)"], "state": table["Provider State"],
            "service": table["APC Description"], "allowed": allowed, "services": services, "y": pc.ln(charge),
        }
    )  # fmt: skip
    return "charges", made, {"hospital": ["hospital"], "referral region": ["region"], "state": ["state"]}


def _some(table: pa.Table, rows: int | None) -> pa.Table:
    if rows is None:
        return table
    return table.take(np.random.default_rng(0).permutation(table.num_rows)[:rows])


def measured(title: str, table: pa.Table, by: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Mean absolute error, correlation with the truth within groups, and how often intervals hold."""
    grouping_columns = {n for names in by.values() for n in names}
    truth = table["y"].to_numpy()
    rows = []
    for level, names in by.items():
        others = [n for n in grouping_columns if n not in names]
        full = sf.Table.from_arrow(table.drop_columns(others) if others else table)
        made = Aggregates.compute(full, names, "y")
        people = full.drop(["y"])
        mean = _group_means(table, names, truth)
        for method, how in METHODS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # groups of one
                fitted = how.fit(people, made)
                got = fitted.reconstruct(interval=0.9).to_arrow()
            y, low, high = (got[n].to_numpy() for n in ("y", "y_low", "y_high"))
            apart = y - _group_means(table, names, y)
            within = float(np.corrcoef(apart, truth - mean)[0, 1]) if apart.std() > 1e-9 else 0.0
            rows.append(
                {
                    "masked": title, "level": level, "groups": len(fitted.grouping.sizes), "method": method,
                    "MAE": float(np.abs(y - truth).mean()),
                    "MAE / MP": 0.0, "correlation within groups": within,
                    "0.9 intervals hold": float(((low <= truth) & (truth <= high)).mean()),
                    "half-width": float((high - low).mean() / 2),
                }
            )  # fmt: skip
            rows[-1]["MAE / MP"] = rows[-1]["MAE"] / rows[_first(rows)]["MAE"]
            print(rows[-1], flush=True)
    return rows


def _first(rows: list[dict[str, Any]]) -> int:
    """The row of MP at the level of the last row."""
    return len(rows) - 1 - list(METHODS).index(rows[-1]["method"])


def _group_means(table: pa.Table, names: list[str], values: np.ndarray) -> np.ndarray:
    """The mean of each person's group."""
    code = np.zeros(table.num_rows, np.int64)
    for n in names:
        one = table[n].combine_chunks().dictionary_encode()
        code = code * (len(one.dictionary) + 1) + one.indices.fill_null(len(one.dictionary)).to_numpy()
    _, code = np.unique(code, return_inverse=True)
    means: np.ndarray = (np.bincount(code, values) / np.bincount(code))[code]
    return means


def main() -> None:
    chosen = options(__doc__ or "")
    rows = []
    for make in (meps, stays, outpatients):
        rows += measured(*make(2_000 if chosen.quick else None))
    save_table(rows, chosen.out / "ludia_elsewhere")
    save_picture(
        {
            "data": {"values": rows},
            "facet": {"row": {"field": "masked", "sort": None}},
            "spec": {
                "mark": {"type": "point", "filled": True}, "width": 420,
                "encoding": {
                    "x": {"field": "MAE / MP", "type": "quantitative", "scale": {"type": "log"}},
                    "y": {"field": "level", "type": "nominal", "sort": None},
                    "color": {"field": "method", "type": "nominal"},
                },
            },
            "resolve": {"scale": {"y": "independent"}},
        },
        chosen.out / "ludia_elsewhere",
    )  # fmt: skip
    print(markdown(rows))


if __name__ == "__main__":
    main()
