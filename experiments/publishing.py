"""Chapter 2 of the dissertation in shape: coarsen, generalize and suppress, impute; on simulated births.

python experiments/publishing.py [--quick] [--out DIR]

The chapter takes 1,492 deliveries of one hospital in Texas: sex, ZIP code, payment, length of stay, charges.
Here they are the obstetric stays of simulated discharges. Figures 2.1 and 2.2: stays and charges before and
after coarsening; table 2.1: what is in the file. Figure 2.3: how many records share all five values. Figure
2.4: records by ZIP area, after two ways to generalize. Figures 2.5 and 2.6: mosaic plots before and after
generalizing and suppressing at k = 3. Figure 2.7, tables 2.2 and 2.3: two regressions, on the original, and
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


def obstetric(rows: int) -> pa.Table:
    whole = sf.samples.discharges(rows, seed=2).to_arrow()
    return whole.filter(pa.compute.equal(whole["mdc"].cast(pa.string()), "14")).select(COLUMNS).drop_null()


def births(frame: pa.Table) -> sf.Table:
    """Obstetric stays without outliers, charges in twenty ranges (section 2.1)."""
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


def scattered(before: pa.Table, after: pa.Table, most: int = 250) -> list[dict[str, Any]]:
    """Figures 2.1 and 2.2: stays and charges of some records and of the dearest, before and after."""
    rows = []
    for title, frame in (("as it is", before), ("coarsened, outliers gone", after)):
        charge, stay = frame["charge_usd"].to_numpy(), frame["los_days"].to_numpy()
        dearest = np.argsort(-charge, kind="stable")[: most // 10]
        some = np.random.default_rng(0).choice(len(charge), min(most, len(charge)), replace=False)
        pairs = sorted({(int(stay[i]), int(charge[i])) for i in (*dearest, *some)})
        rows += [{"data": title, "days": days, "charge": dollars} for days, dollars in pairs]
    return rows


def summary(data: sf.Table) -> list[dict[str, Any]]:
    """Table 2.1: the most frequent values, and quartiles."""
    frame = data.to_arrow()
    rows = []
    for name in QUASI:
        counted = sorted(frame[name].value_counts().to_pylist(), key=lambda e: (-e["counts"], e["values"]))
        rows += [_line(name, str(e["values"]), e["counts"]) for e in counted[:6]]
    for name in ("los_days", "charge_usd"):
        values = frame[name].to_numpy()
        places = {"least": 0.0, "first quartile": 0.25, "median": 0.5, "third quartile": 0.75, "largest": 1.0}
        rows += [_line(name, title, np.quantile(values, q)) for title, q in places.items()]
        rows.append(_line(name, "mean", values.mean()))
    return rows


def _line(column: str, what: str, value: Any) -> dict[str, Any]:
    return {"column": column, "what": what, "number": float(value)}


def areas(data: sf.Table) -> list[dict[str, Any]]:
    """Figure 2.4: records by three digits of the ZIP code, which the sample has, and by two."""
    codes = data.to_arrow()["zip"].to_pylist()
    rows = []
    for digits in (3, 2):
        values, n = np.unique([code[:digits] for code in codes], return_counts=True)
        rows += [
            {"level": f"{digits} digits", "area": f"{v}{'*' * (5 - digits)}", "records": int(c)}
            for v, c in zip(values, n, strict=True)
        ]
    return rows


def mosaic(releases: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """Figures 2.5 and 2.6: tiles as large as their share; sex and payment across, ZIP areas down."""
    rows = []
    for title, frame in releases.items():
        counted = frame.group_by(QUASI).aggregate([([], "count_all")]).to_pylist()
        across: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for e in counted:
            key = (str(e["sex"]), str(e["pay"]))
            across.setdefault(key, []).append((str(e["zip"]), e["count_all"]))
        left = 0.0
        for (sex, pay), tiles in sorted(across.items()):
            width, low = sum(n for _, n in tiles) / frame.num_rows, 0.0
            for place, n in sorted(tiles):
                high = low + n / sum(m for _, m in tiles)
                rows.append({
                    "release": title, "sex": sex, "pay": pay, "zip": place, "records": n,
                    "left": left, "right": left + width, "low": low, "high": high,
                })  # fmt: skip
                low = high
            left += width
    return rows


def fitted(data: sf.Table, most: int = 120) -> list[dict[str, Any]]:
    """Figure 2.7: fitted values of both regressions against the original, for some records."""
    import statsmodels.formula.api as smf

    frame = data.to_arrow().to_pandas().dropna()
    some = np.sort(np.random.default_rng(0).choice(len(frame), most, replace=False))
    rows = []
    for response, other in MODELS.items():
        guess = smf.ols(f"{response} ~ C(sex) + C(pay) + {other}", frame).fit().fittedvalues.to_numpy()
        truth = frame[response].to_numpy()
        rows += [{"model": response, "original": float(truth[i]), "fitted": float(guess[i])} for i in some]
    return rows


def duplicates(data: sf.Table, columns: list[str]) -> list[dict[str, Any]]:
    """Figure 2.3: records by how many share all their values."""
    sizes = data.counts(*columns).n
    return [
        {"shared by": int(size), "records": int(size * (sizes == size).sum())}
        for size in np.unique(sizes)[:20]
    ]


def generalized(data: sf.Table, out: Path) -> tuple[list[dict[str, Any]], dict[str, pa.Table]]:
    """Figures 2.5 and 2.6: what 3-anonymity takes, and the releases."""
    hierarchies = {
        "sex": sf.Hierarchy.of_rows([[v, "*"] for v in data.codebooks(["sex"])["sex"].levels.to_pylist()]),
        "pay": sf.Hierarchy.of_rows([[v, "*"] for v in data.codebooks(["pay"])["pay"].levels.to_pylist()]),
        "zip": Prefixes((2, 1)),
    }
    rows, releases = [], {}
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
        releases[name] = (data if method is None else released.data).to_arrow()
        if method is not None:
            found.save(out / f"publishing_{'local' if 'each' in name else 'optimal'}.html", overwrite=True)
    return rows, releases


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
    raw = obstetric(6_000 if given.quick else 20_000)
    data = births(raw)
    print(f"{data.rows():,} births")
    table(scattered(raw, data.to_arrow()), given.out, "publishing_scatter")
    print("\nTable 2.1\n" + table(summary(data), given.out, "publishing_summary"))
    table(areas(data), given.out, "publishing_areas")
    table(fitted(data), given.out, "publishing_fitted")
    same = duplicates(data, COLUMNS)
    print("\nFigure 2.3\n" + table(same, given.out, "publishing_duplicates"))
    bars = {"x": {"field": "shared by", "type": "ordinal"}, "y": {"field": "records", "type": "quantitative"}}
    picture({"mark": "bar", "encoding": bars}, same, given.out, "publishing_duplicates")
    taken, releases = generalized(data, given.out)
    print("\nFigures 2.5 and 2.6\n" + table(taken, given.out, "publishing_k"))
    table(mosaic(releases), given.out, "publishing_mosaic")
    models = imputed(data, 3 if given.quick else 10)
    print("\nTables 2.2 and 2.3\n" + table(models, given.out, "publishing_models"))


if __name__ == "__main__":
    main()
