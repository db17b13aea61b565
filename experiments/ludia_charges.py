"""Dissertation, section 4.5.2, table 4.3 and figures 4.6 to 4.8, on New York's musculoskeletal stays of 2020.

    SFUMATO_DATA=... python experiments/ludia_charges.py [--quick] [--out DIR]

Charges are masked and known as means of their logs per facility, county or service area. What is printed
for Texas is done here for another state, other stays and other columns: shapes can be compared, numbers
cannot.
"""

from __future__ import annotations

import os
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

LEVELS = {"facility": "permanent_facility_id", "county": "hospital_county", "area": "hospital_service_area"}
KNOWN = [
    "log_los", "age", "gender", "race", "ethnicity", "apr_medical_surgical_description", "illseveritydesc",
    "deathrisk", "payment_typology_1",
]  # fmt: skip
METHODS: dict[str, Any] = {
    "MP": MoorePenrose(),
    "ER": EcologicalRegression(columns=KNOWN),
    "ER + correction": EcologicalRegression(correction=True, columns=KNOWN),
    "LUDIA": LUDIA(columns=KNOWN, shrinkage=1.0),
    "CUDIA": CUDIA(4, columns=KNOWN, seed=1),
}
SHOWN = ("MP", "ER", "LUDIA")


def stays(rows: int | None) -> pa.Table:
    folder = Path(os.environ["SFUMATO_DATA"]) / "sparcs"
    table = pq.read_table(folder / "sparcs2020_musculoskeletal_charges.parquet")
    table = table.filter(pc.and_(pc.greater(table["total_charges"], 0), pc.greater(table["los"], 0)))
    if rows is not None:
        table = table.take(np.random.default_rng(0).permutation(table.num_rows)[:rows])
    table = table.append_column("log_los", pc.ln(table["los"].cast(pa.float64())))
    facility = table["permanent_facility_id"].cast(pa.string())
    place = table.column_names.index("permanent_facility_id")
    table = table.set_column(place, "permanent_facility_id", facility)
    return table.select([*LEVELS.values(), *KNOWN, "los", "total_charges"])


def reconstructed(table: pa.Table, level: str, method: Any) -> tuple[Any, np.ndarray]:
    """The fit and the reconstructed logs of charges."""
    full = sf.Table.from_arrow(table)
    made = Aggregates.compute(full, LEVELS[level], {"total_charges": "mean_log"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SfumatoWarning)
        fitted = method.fit(full.drop(["total_charges"]), made)
    return fitted, fitted.reconstruct().numbers()[:, 0]


def table_4_3(table: pa.Table) -> tuple[list[dict[str, Any]], dict[tuple[str, str], np.ndarray]]:
    truth = np.log(table["total_charges"].to_numpy())
    rows, found = [], {}
    for level in LEVELS:
        for title, method in METHODS.items():
            fitted, got = reconstructed(table, level, method)
            found[level, title] = got
            error = np.abs(got - truth)
            rows.append(
                {
                    "level": level, "groups": len(fitted.grouping.sizes), "method": title,
                    "MAE": float(error.mean()), "MAE sd": float(error.std()),
                    "MSE": float((error**2).mean()), "MSE sd": float((error**2).std()),
                }
            )  # fmt: skip
    return rows, found


def daily(
    table: pa.Table, found: dict[tuple[str, str], np.ndarray]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Figure 4.6: scatter of reconstructed against original; histograms of charges per day."""
    los = table["los"].to_numpy()
    truth = np.log(table["total_charges"].to_numpy())
    logs = {"original": truth, **{m: found["facility", m] for m in SHOWN}}
    edges = np.linspace(0, 40_000, 41)
    bars, numbers = [], []
    for title, values in logs.items():
        per_day = np.exp(values) / los
        numbers.append(
            {
                "method": title, "average daily charge": float(per_day.mean()),
                "median": float(np.median(per_day)), "90th percentile": float(np.quantile(per_day, 0.9)),
            }
        )  # fmt: skip
        heights, _ = np.histogram(per_day, edges)
        bars += [
            {"method": title, "dollars a day": float(a), "share": float(h) / len(los)}
            for a, h in zip(edges[:-1], heights, strict=True)
        ]
    return bars, numbers


def random_intercepts(
    table: pa.Table, found: dict[tuple[str, str], np.ndarray]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Figure 4.7: a random-intercept model of log charges on log stay by county, for the smaller counties.

    What the models say, and for each county the two ends of its line.
    """
    import pandas as pd
    import statsmodels.formula.api as smf

    frame = table.select(["hospital_county", "log_los"]).to_pandas()
    sizes = frame["hospital_county"].value_counts()
    small = frame["hospital_county"].isin(sizes[(sizes >= 20) & (sizes <= 600)].index).to_numpy()
    fits = {}
    logs = {
        "original": np.log(table["total_charges"].to_numpy()),
        **{m: found["county", m] for m in ("MP", "ER", "ER + correction", "LUDIA")},
    }
    for title, values in logs.items():
        part = pd.DataFrame(
            {"y": values[small], "x": frame["log_los"][small], "g": frame["hospital_county"][small]}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = smf.mixedlm("y ~ x", part, groups=part["g"]).fit(reml=True)
        effects = {k: float(v.iloc[0]) for k, v in fit.random_effects.items()}
        fits[title] = (float(fit.params["x"]), effects, float(fit.params["Intercept"]))
    true = fits["original"][1]
    stay = np.quantile(frame["log_los"][small], [0.02, 0.98])
    lines = [
        {"method": title, "county": g, "log stay": float(x), "log charge": common + effect + slope * float(x)}
        for title, (slope, effects, common) in fits.items()
        for g, effect in effects.items()
        for x in stay
    ]
    return [
        {
            "method": title, "slope": slope,
            "MSE of random intercepts": float(np.mean([(effects[g] - true[g]) ** 2 for g in true])),
            "sd of random intercepts": float(np.std(list(effects.values()))),
        }
        for title, (slope, effects, _) in fits.items()
    ], lines  # fmt: skip


def lasso(table: pa.Table) -> list[dict[str, Any]]:
    """Figure 4.8: a Lasso trained on reconstructed charges of four fifths, tested on the last fifth."""
    from sklearn.linear_model import LassoCV
    from sklearn.preprocessing import OneHotEncoder

    order = np.random.default_rng(1).permutation(table.num_rows)
    cut = table.num_rows * 4 // 5
    train, test = table.take(order[:cut]), table.take(order[cut:])
    names = [k for k in KNOWN if k != "log_los"]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    one = encoder.fit_transform(train.select(names).to_pandas())
    two = encoder.transform(test.select(names).to_pandas())
    x = np.column_stack([train["log_los"].to_numpy(), one])
    x_new = np.column_stack([test["log_los"].to_numpy(), two])
    truth = np.log(test["total_charges"].to_numpy())
    rows = []
    for title in ("original", *METHODS):
        y = np.log(train["total_charges"].to_numpy())
        if title != "original":
            _, y = reconstructed(train, "facility", METHODS[title])
        error = np.abs(LassoCV(cv=3, random_state=0).fit(x, y).predict(x_new) - truth)
        rows.append({"trained on": title, "MAE": float(error.mean()), "sd": float(error.std())})
    return rows


def main() -> None:
    chosen = options(__doc__ or "")
    table = stays(4_000 if chosen.quick else None)
    rows, found = table_4_3(table)
    save_table(rows, chosen.out / "ludia_charges")
    bars, numbers = daily(table, found)
    save_table(numbers, chosen.out / "ludia_daily")
    save_table(bars, chosen.out / "ludia_daily_bars")
    effects, lines = random_intercepts(table, found)
    save_table(lines, chosen.out / "ludia_county_lines")
    save_table(effects, chosen.out / "ludia_intercepts")
    predicted = lasso(table)
    save_table(predicted, chosen.out / "ludia_lasso")
    truth = np.log(table["total_charges"].to_numpy())
    some = np.random.default_rng(2).permutation(len(truth))[:1500]
    points = [
        {"method": m, "original": float(truth[i]), "reconstructed": float(found["facility", m][i])}
        for m in SHOWN
        for i in some
    ]
    save_table(points, chosen.out / "ludia_points")
    save_picture(
        {
            "vconcat": [
                {
                    "data": {"values": points},
                    "facet": {"column": {"field": "method", "sort": list(SHOWN)}},
                    "spec": {
                        "mark": {"type": "circle", "size": 6, "opacity": 0.4}, "width": 220, "height": 220,
                        "encoding": {
                            "x": {"field": "original", "type": "quantitative", "scale": {"zero": False}},
                            "y": {"field": "reconstructed", "type": "quantitative", "scale": {"zero": False}},
                        },
                    },
                },
                {
                    "data": {"values": bars},
                    "mark": {"type": "line", "interpolate": "step-after"}, "width": 700, "height": 220,
                    "encoding": {
                        "x": {"field": "dollars a day", "type": "quantitative"},
                        "y": {"field": "share", "type": "quantitative"},
                        "color": {"field": "method", "type": "nominal"},
                    },
                },
            ]
        },
        chosen.out / "ludia_charges",
    )  # fmt: skip
    for part in (rows, numbers, effects, predicted):
        print(markdown(part))


if __name__ == "__main__":
    main()
