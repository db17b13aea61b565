"""Chapter 2 of the dissertation in shape: coarsen, generalize and suppress, impute; on simulated births.

python experiments/publishing.py [--quick] [--out DIR]

The chapter takes 1,492 deliveries of one hospital in Texas: sex, ZIP code, payment, length of stay, charges.
Here they are the obstetric stays of simulated discharges. Figure 2.3: how many records share all five
values. Figure 2.4: rare values after two ways to generalize. Figures 2.5 and 2.6: mosaic plots before and
after generalizing and suppressing at k = 3. Tables 2.2 and 2.3: two regressions, on the original, and
combined over ten imputed files (section 2.3), with the utility exp(-||b - b'||^2) of section 2.4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from shape_output import arguments, picture, table

import sfumato as sf
from sfumato.hierarchy import Prefixes
from sfumato.measures import coefficient_utility, interval_overlap

QUASI = ["sex", "pay", "zip"]
COLUMNS = [*QUASI, "los_days", "charge_usd"]
MODELS = {
    "los_days": "charge_usd",
    "charge_usd": "los_days",
}  # each is explained by the other, sex and payment
K = 3


def births(rows: int) -> sf.Table:
    """Obstetric stays without outliers, charges in twenty ranges (section 2.1)."""
    whole = sf.samples.discharges(rows, seed=2).to_arrow()
    frame = whole.filter(pa.compute.equal(whole["mdc"].cast(pa.string()), "14")).select(COLUMNS).drop_null()
    dear = np.quantile(frame["charge_usd"].to_numpy(), 0.99)
    frame = frame.filter(pa.compute.less(frame["charge_usd"], dear))
    step = np.ceil(dear / 20 / 500) * 500
    steps = (frame["charge_usd"].to_numpy() // step * step).astype(np.int64)
    frame = frame.set_column(COLUMNS.index("charge_usd"), "charge_usd", pa.array(steps))
    roles = {name: "quasi-identifier" if name in QUASI else "other" for name in COLUMNS}
    schema = sf.scan(frame).schema
    for name, role in roles.items():
        schema = schema.with_(name, role=role)
    return sf.scan(frame, schema)


def regression(data: sf.Table, response: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Least squares of a response on the other number, sex and payment: names, coefficients, errors."""
    import statsmodels.formula.api as smf

    frame = data.to_arrow().to_pandas()
    found = smf.ols(f"{response} ~ C(sex) + C(pay) + {MODELS[response]}", frame.dropna()).fit()
    return list(found.params.index), found.params.to_numpy(), found.bse.to_numpy()


def duplicates(data: sf.Table, columns: list[str]) -> list[dict[str, Any]]:
    """Figure 2.3: records by how many share all their values."""
    sizes = data.counts(*columns).n
    return [
        {"shared by": int(size), "records": int(size * (sizes == size).sum())}
        for size in np.unique(sizes)[:20]
    ]


def generalized(data: sf.Table, out: Path) -> list[dict[str, Any]]:
    """Figures 2.4 to 2.6: rare values by level of the ZIP code, and what 3-anonymity takes."""
    hierarchies = {
        "sex": sf.Hierarchy.of_rows([[v, "*"] for v in data.codebooks(["sex"])["sex"].levels.to_pylist()]),
        "pay": sf.Hierarchy.of_rows([[v, "*"] for v in data.codebooks(["pay"])["pay"].levels.to_pylist()]),
        "zip": Prefixes((2, 1)),
    }
    rows = []
    for name, method in (
        ("as it is", None),
        ("one level for all, 4% suppressed at most", sf.OptimalRecoding(max_suppressed=0.04)),
        ("each record by itself", sf.LocalRecoding(effort="fast")),
    ):
        released = (
            data
            if method is None
            else sf.anonymize(data, sf.KAnonymity(K), method=method, hierarchies=hierarchies, seed=1)
        )
        found = sf.assess(data, released, quasi_identifiers=QUASI, effort="quick", hierarchies=None)
        rows.append({
            "release": name, "k": int(found["k, the smallest class"].value),
            "unique": found["unique on all quasi-identifiers"].value,
            "total variation, pairs": found["total variation, pairs"].value,
        })  # fmt: skip
        if method is not None:
            found.save(out / f"publishing_{'local' if 'each' in name else 'optimal'}.html", overwrite=True)
    return rows


def imputed(data: sf.Table, files: int) -> list[dict[str, Any]]:
    """Tables 2.2 and 2.3: coefficients of the original, and combined over imputed files."""
    method = sf.MultipleImputation(columns=tuple(COLUMNS), order=(*QUASI, "los_days", "charge_usd"))
    n = data.rows()
    synthetic = [sf.synthesize(data, method=method, rows=n, seed=i).data for i in range(files)]
    rows = []
    for response in MODELS:
        names, before, error = regression(data, response)
        found = [dict(zip(names_, zip(b, e, strict=True), strict=True)) for names_, b, e in
                 (regression(s, response) for s in synthetic)]  # fmt: skip
        after = []
        for name, b, e in zip(names, before, error, strict=True):
            pairs = [f[name] for f in found if name in f]
            both = sf.combine_estimates([q for q, _ in pairs], [s**2 for _, s in pairs])
            after.append((both.estimate, both.variance**0.5))
            rows.append({"model": response, "term": name, "original": b, "its error": e,
                         "imputed": both.estimate, "error": both.variance**0.5})  # fmt: skip
        estimates = np.array(after)
        scale = np.where(error > 0, error, 1.0)
        ends = [np.stack([b - 1.96 * s, b + 1.96 * s], axis=1) for b, s in
                ((before, error), (estimates[:, 0], estimates[:, 1]))]  # fmt: skip
        for term, value in (
            ("(utility, in standard errors)", coefficient_utility(before / scale, estimates[:, 0] / scale)),
            ("(mean overlap of intervals)", float(np.mean(interval_overlap(*ends)))),
        ):
            rows.append({"model": response, "term": term, "original": 1.0, "its error": 0.0,
                         "imputed": value, "error": 0.0})  # fmt: skip
    return rows


def main() -> None:
    given = arguments(__doc__ or "")
    data = births(6_000 if given.quick else 20_000)
    print(f"{data.rows():,} births")
    same = duplicates(data, COLUMNS)
    print("\nFigure 2.3\n" + table(same, given.out, "publishing_duplicates"))
    bars = {"x": {"field": "shared by", "type": "ordinal"}, "y": {"field": "records", "type": "quantitative"}}
    picture({"mark": "bar", "encoding": bars}, same, given.out, "publishing_duplicates")
    print("\nFigures 2.4 to 2.6\n" + table(generalized(data, given.out), given.out, "publishing_k"))
    models = imputed(data, 3 if given.quick else 10)
    print("\nTables 2.2 and 2.3\n" + table(models, given.out, "publishing_models"))


if __name__ == "__main__":
    main()
