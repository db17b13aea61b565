"""Figures 2 to 7 of the LUGS paper (2013), in shape, on claims simulated by CMS (DE-SynPUF, inpatient).

python experiments/lugs.py [--quick] [--out DIR]     the data folder is named by SFUMATO_DATA
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.measures import log_linear
from sfumato.schema import Column, Kind, Schema
from sfumato.seeds import Key
from sfumato.synthesis.lugs.method import LUGS
from sfumato.table import Table

COLUMNS = {
    "sex": "Gender", "age_cat": "Age", "drg": "DRG", "icd9_proc2": "ICD9", "los_cat": "Days",
    "pmt_quintile": "Amount",
}  # fmt: skip
LOG_L = (0.05, 0.1, 0.2, 0.5, 0.69)
STRENGTHS = (0.001, 0.003, 0.01, 0.03)  # lambda of figure 7
LAGS = 20
KEY = Key.from_seed(1)  # which min-hashes, and which path: a table that can be made again
ROWS = 15_000


def load(rows: int) -> Table:
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        sys.exit("set SFUMATO_DATA to the folder that holds desynpuf/")
    raw = pq.read_table(Path(folder) / "desynpuf" / "bsa_like_inpatient_from_desynpuf.parquet")
    chosen = np.sort(np.random.default_rng(0).choice(raw.num_rows, rows, replace=False))
    raw = raw.select(list(COLUMNS)).take(pa.array(chosen))
    arrays = [pa.array([v or None for v in map(str, raw.column(c).to_pylist())]) for c in COLUMNS]
    table = pa.table(arrays, names=list(COLUMNS.values()))
    return Table.from_arrow(table, Schema(tuple(Column(n, Kind.NOMINAL) for n in table.column_names)))


def chi_square(data: pa.Table) -> float:
    """Pearson's, of mutual independence of Age, Gender and Amount, at equal numbers of rows."""
    table = Table.from_arrow(data, Schema(tuple(Column(n, Kind.NOMINAL) for n in data.column_names)))
    return float(log_linear(table.counts("Age", "Gender", "Amount").dense()).chi_square)


def artificial(data: pa.Table, original: pa.Table) -> float:
    """The share of rows that are in no row of the original."""
    seen = set(zip(*(original.column(c).to_pylist() for c in original.column_names), strict=True))
    rows = zip(*(data.column(c).to_pylist() for c in original.column_names), strict=True)
    return float(np.mean([row not in seen for row in rows]))


def features(data: pa.Table, levels: dict[str, list[str]]) -> tuple[np.ndarray, np.ndarray]:
    parts = []
    for name in ("Age", "Gender", "DRG", "ICD9"):
        place = {v: i for i, v in enumerate(levels[name])}
        codes = np.array([place.get(v, 0) for v in data.column(name).to_pylist()])
        parts.append(np.eye(len(place), dtype=np.float32)[codes][:, 1:])
    return np.hstack(parts), np.array([float(v or 0) for v in data.column("Amount").to_pylist()])


def predicted(data: pa.Table, original: pa.Table, levels: dict[str, list[str]]) -> dict[str, float]:
    """Lasso trained on the rows given and tested on the original: squared error, and AUC of Amount > 3."""
    from sklearn.linear_model import Lasso, LogisticRegression
    from sklearn.metrics import roc_auc_score

    x, y = features(data, levels)
    x0, y0 = features(original, levels)
    error = np.mean((Lasso(alpha=1e-3, max_iter=3_000).fit(x, y).predict(x0) - y0) ** 2)
    model = LogisticRegression(C=0.3, max_iter=200).fit(x, y > 3)
    return {"mse": float(error), "auc": float(roc_auc_score(y0 > 3, model.decision_function(x0)))}


def by_strength(data: pa.Table, original: pa.Table, levels: dict[str, list[str]]) -> list[dict[str, float]]:
    """Figure 7: both predictions with an absolute penalty of each strength, tested on the original."""
    from sklearn.linear_model import Lasso, LogisticRegression
    from sklearn.metrics import roc_auc_score

    x, y = features(data, levels)
    x0, y0 = features(original, levels)
    found = []
    for strength in STRENGTHS:
        guess = Lasso(alpha=strength, max_iter=3_000).fit(x, y).predict(x0)
        cost = 1 / (strength * len(y))
        model = LogisticRegression(l1_ratio=1, solver="liblinear", C=cost, max_iter=200, random_state=0)
        score = model.fit(x, y > 3).decision_function(x0)
        found.append({"lambda": strength, "mse": float(np.mean((guess - y0) ** 2)),
                      "auc": float(roc_auc_score(y0 > 3, score))})  # fmt: skip
    return found


def rarer(data: pa.Table, original: pa.Table) -> dict[str, float]:
    """Figures 4 and 5 in a number: the rows with a value that is among the rarer half of the original's."""
    shares = {n: _shares(data, original, n) for n in ("ICD9", "DRG")}
    return {f"rarer half, {n}": float(np.sum(s[len(s) // 2 :])) for n, s in shares.items()}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows = 2_000 if given.quick else ROWS
    table = load(rows)
    original = table.to_arrow()
    levels = {n: sorted({v or "" for v in original.column(n).to_pylist()}) for n in original.column_names}
    missing = {n: original.column(n).null_count / rows for n in original.column_names}
    lines: list[dict[str, Any]] = [
        {
            "log_l": 0.0, "keys": "original", "chi_square": chi_square(original), "artificial": 0.0,
            "missing": float(np.mean(list(missing.values()))), **predicted(original, original, levels),
            **rarer(original, original),
        }
    ]  # fmt: skip
    marginals = _marginals(original, original, "original", "original")
    lasso = [{"keys": "original", "log_l": 0.0, **r} for r in by_strength(original, original, levels)]
    lags: list[dict[str, Any]] = []
    trace: list[dict[str, Any]] = []
    for hashes in (2, 0):
        for log_l in LOG_L[:2] if given.quick else LOG_L:
            fitted = LUGS(log_l=log_l, hashes=hashes, cap=True).fit(table, key=KEY)
            data = fitted.sample(rows, seed=1).data.to_arrow()
            keys = f"{hashes} min-hashes" if hashes else "exact"
            chain = fitted.autocorrelations(300 if given.quick else 3_000, LAGS, key=KEY)
            gaps = [data.column(n).null_count / rows for n in data.column_names]
            lines.append(
                {
                    "log_l": log_l, "keys": keys,
                    "chi_square": chi_square(data), "artificial": artificial(data, original),
                    "missing": float(np.mean(gaps)), **predicted(data, original, levels),
                    **rarer(data, original),
                    **{f"autocorrelation at 5, {n}": values[4] for n, values in chain.items()},
                }
            )  # fmt: skip
            if hashes:
                trace = [{"sweep": i, **row} for i, row in enumerate(fitted.path(300, key=KEY).to_pylist())]
            marginals += _marginals(data, original, keys, str(log_l))
            lasso += [{"keys": keys, "log_l": log_l, **r} for r in by_strength(data, original, levels)]
            lags += [
                {"keys": keys, "log_l": log_l, "column": n, "lag": i, "autocorrelation": value}
                for n, values in chain.items()
                for i, value in enumerate(values, 1)
            ]
    write(given.out / "lugs.csv", lines)
    write(given.out / "lugs_marginals.csv", marginals)
    write(given.out / "lugs_lambda.csv", lasso)
    write(given.out / "lugs_autocorrelation.csv", lags)
    for line in lines:
        print({k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()})
    write(given.out / "lugs_path.csv", trace)
    _picture(given.out / "lugs_path.png", trace, {"mark": "point", "encoding": {
        "x": {"field": "sweep", "type": "quantitative"}, "y": {"field": "Age", "type": "ordinal"},
        "color": {"field": "Amount", "type": "ordinal"}}})  # fmt: skip
    for value in ("chi_square", "artificial", "missing", "mse", "auc"):
        line = {"type": "line", "point": True}
        _picture(given.out / f"lugs_{value}.png", lines, {"mark": line, "encoding": {
            "x": {"field": "log_l", "type": "quantitative"}, "y": {"field": value, "type": "quantitative"},
            "color": {"field": "keys"}}})  # fmt: skip
    facet = {"row": {"field": "column"}, "column": {"field": "keys"}}
    _picture(given.out / "lugs_marginals.png", marginals, {"facet": facet, "spec": {
        "mark": "line", "encoding": {"x": {"field": "rank", "type": "quantitative"},
        "y": {"field": "share", "type": "quantitative"}, "color": {"field": "log_l"}}}})  # fmt: skip


def _marginals(data: pa.Table, original: pa.Table, keys: str, log_l: str) -> list[dict[str, Any]]:
    """Figures 4 and 5: what became of the forty most frequent procedures and diagnosis groups."""
    return [
        {"column": n, "keys": keys, "log_l": log_l, "rank": i, "share": share}
        for n in ("ICD9", "DRG")
        for i, share in enumerate(_shares(data, original, n)[:40])
    ]


def _shares(data: pa.Table, original: pa.Table, name: str) -> list[float]:
    """The shares of the original's most frequent values, in their order there."""
    before = original.column(name).value_counts().to_pylist()
    order = [e["values"] for e in sorted(before, key=lambda e: -e["counts"])]
    after = {e["values"]: e["counts"] / data.num_rows for e in data.column(name).value_counts().to_pylist()}
    return [after.get(v, 0.0) for v in order]


def _picture(path: Path, values: list[dict[str, Any]], spec: dict[str, Any]) -> None:
    import vl_convert

    whole = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "data": {"values": values}, **spec}
    path.write_bytes(vl_convert.vegalite_to_png(json.dumps(whole), scale=2))


if __name__ == "__main__":
    main()
