"""Risk and utility of PeGS and PeGS.rs: figures 5 to 12 of Park and Ghosh (2014), and the uniqueness panel of
figure 3.12 in the dissertation, on simulated discharges and on diabetes130.

    python experiments/pegs_risk_utility.py [--quick] [--out DIR]

As in the paper: 1,000 rows at epsilon = 0.1 to 100 *for each row*, blocks of ten, parents by mutual
information. Such parents are read off the data: these files are for measuring, not for release. Seeds are
uniform, and once more rows of the data, as the paper's figures have them. Beside them stand a bootstrap of
1,000 original rows and, for the discharges, the paper's baseline PMI. diabetes130 is read from the folder
SFUMATO_DATA names, and left out without it.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato import measures
from sfumato.counts import Coded
from sfumato.samples import DISCHARGE_VARIABLES, discharges
from sfumato.schema import Column, Kind, Schema
from sfumato.seeds import Key
from sfumato.synthesis.imputation.engines import ElasticNet
from sfumato.synthesis.imputation.pmi import PMI
from sfumato.synthesis.pegs import FittedPeGS, PeGS
from sfumato.synthesis.sampler import Sampler
from sfumato.table import Table

EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
ROWS, BLOCK, REPEATS = 1_000, 10, 3
METHODS = {  # name: rows of a block, seeds from the data
    "PeGS": (None, False),
    "PeGS.rs": (BLOCK, False),
    "PeGS, data seeds": (None, True),
    "PeGS.rs, data seeds": (BLOCK, True),
}
PICTURES = {
    "6 marginal": ("mse", "mae"),
    "7 conditional": ("mse", "mae"),
    "8 marginal ranks": ("kendall", "spearman"),
    "9 conditional ranks": ("kendall", "spearman"),
    "10 regression": ("linear", "logistic"),
    "12 intruder": ("group missed", "number missed", "unique"),
}


@dataclass(frozen=True)
class Study:
    """A table, and which of its columns play the parts of the paper's.

    given: what conditionals are taken given. number: what is regressed on `features`, and guessed by the
    intruder who knows `known`; group: the diagnosis that the intruder guesses. keys: what is unique or not.
    """

    name: str
    table: Table
    given: tuple[str, str]
    number: str
    features: tuple[str, ...]
    group: str
    known: tuple[str, ...]
    keys: tuple[str, ...]


def studies(quick: bool) -> Iterator[Study]:
    rows = 3_000 if quick else 60_000
    yield Study(
        "discharges", discharges(rows, 1).select(DISCHARGE_VARIABLES), ("age", "zip"), "charge",
        ("age", "sev", "cat", "los"), "mdc", ("age", "sex", "zip"), ("age", "sex", "zip"),
    )  # fmt: skip
    folder = os.environ.get("SFUMATO_DATA")
    if folder and not quick:
        data = pq.read_table(Path(folder) / "diabetes130" / "diabetes130_categorical16.parquet")
        data = data.drop_columns(["medical_specialty", "diag2_chapter", "admission_source_id"])
        kinds = [
            Column(f.name, Kind.NOMINAL, type="text", missing=False) if "string" in str(f.type)
            else Column(f.name, Kind.ORDINAL, type="integer", missing=False)
            for f in data.schema
        ]  # fmt: skip
        yield Study(
            "diabetes130", Table.from_arrow(data, Schema(tuple(kinds))), ("age", "payer_code"), "los_days",
            ("age", "number_diagnoses", "insulin", "diabetesMed"), "diag1_chapter",
            ("age", "gender", "payer_code"), ("age", "gender", "payer_code"),
        )  # fmt: skip


# -- figures -----------------------------------------------------------------------------------------


def marginals(study: Study, old: Coded, new: Coded) -> Iterator[tuple[str, str, float]]:
    """Figures 6 and 8: averages over categories, then over variables."""
    for figure, name, measure in (
        ("6 marginal", "mse", measures.mean_squared_error),
        ("6 marginal", "mae", measures.mean_absolute_error),
        ("8 marginal ranks", "kendall", _ranked(measures.kendall)),
        ("8 marginal ranks", "spearman", _ranked(measures.spearman)),
    ):
        yield figure, name, _mean(measure(old.counts(c), new.counts(c)) for c in old.columns)


def conditionals(study: Study, old: Coded, new: Coded) -> Iterator[tuple[str, str, float]]:
    """Figures 7 and 9: given the first and the second conditioning variable, averaged."""
    errors, taus, rhos = [], [], []
    for given in study.given:
        for column in old.columns:
            if column == given:
                continue
            before, after = old.counts(column, given), new.counts(column, given)
            errors.append(measures.conditional_errors(before, after))
            p, q, _, _ = measures.conditionals(before, after)
            taus += [measures.kendall(a, b) for a, b in zip(p, q, strict=True)]
            rhos += [measures.spearman(a, b) for a, b in zip(p, q, strict=True)]
    yield "7 conditional", "mse", _mean(e.mse for e in errors)
    yield "7 conditional", "mae", _mean(e.mae for e in errors)
    yield "9 conditional ranks", "kendall", _mean(taus)
    yield "9 conditional ranks", "spearman", _mean(rhos)


def coefficients(study: Study, coded: Coded) -> dict[str, NDArray[np.float64]]:
    """Figures 10 and 11: the linear and the logistic model, with an intercept."""
    from sklearn.linear_model import LogisticRegression

    x = np.stack([np.ones(coded.rows), *(numbers(coded, c) for c in study.features)], axis=1)
    y = numbers(coded, study.number)
    there = np.isfinite(x).all(axis=1) & np.isfinite(y)
    x, y = x[there], y[there]
    linear = np.linalg.lstsq(x, y, rcond=None)[0]
    high = y > np.nanmedian(numbers(study.table.encode([study.number]), study.number))
    if high.all() or not high.any():
        return {"linear": linear, "logistic": np.full(x.shape[1], math.nan)}
    scale = np.abs(x).max(axis=0) + (np.abs(x).max(axis=0) == 0)
    model = LogisticRegression(C=1e4, fit_intercept=False, max_iter=500).fit(x / scale, high)
    return {"linear": linear, "logistic": model.coef_[0] / scale}


def intruder(study: Study, old: Coded, new: Coded) -> Iterator[tuple[str, str, float]]:
    """Figure 12: the most frequent group, and the mean number, among released rows that fit what is known.

    A person whom no released row fits is guessed by the whole file. Unique: rows alone in their keys.
    """
    sizes = [old.books[old.columns.index(c)].size for c in study.known]
    key = [
        np.ravel_multi_index([d.codes[d.columns.index(c)] for c in study.known], sizes) for d in (old, new)
    ]
    groups = [d.codes[d.columns.index(study.group)].astype(np.int64) for d in (old, new)]
    c = int(max(g.max() for g in groups)) + 1
    table = np.bincount(key[1] * c + groups[1], minlength=math.prod(sizes) * c).reshape(-1, c)
    whole = np.bincount(groups[1], minlength=c)
    guess = np.where(table.sum(1) > 0, table.argmax(1), whole.argmax())
    yield "12 intruder", "group missed", float(np.mean(guess[key[0]] != groups[0]))
    numbers_ = [numbers(d, study.number) for d in (old, new)]
    there = [np.isfinite(n) for n in numbers_]
    n = np.bincount(key[1][there[1]], minlength=math.prod(sizes))
    total = np.bincount(key[1][there[1]], numbers_[1][there[1]], minlength=math.prod(sizes))
    mean = np.where(n > 0, total / np.maximum(n, 1), numbers_[1][there[1]].mean())
    error = np.abs(mean[key[0]] - numbers_[0])[there[0]].mean() / np.nanstd(numbers_[0])
    yield "12 intruder", "number missed", float(error)
    yield "12 intruder", "unique", float((new.counts(*study.keys).n == 1).sum() / new.rows)


def numbers(coded: Coded, column: str) -> NDArray[np.float64]:
    """A column as numbers: its levels where they are numbers, else their place in order; missing is NaN."""
    book = coded.books[coded.columns.index(column)]
    levels = book.levels.to_pylist()
    known = [float(v) if isinstance(v, (int, float)) else float(i) for i, v in enumerate(levels)]
    return np.array([*known, math.nan])[coded.codes[coded.columns.index(column)].astype(np.int64)]


def _ranked(measure: Callable[..., float]) -> Callable[..., float]:
    return lambda before, after: measure(before.dense(), after.dense())


def _mean(found: Any) -> float:
    known = [v for v in found if not math.isnan(v)]
    return float(np.mean(known)) if known else math.nan


# -- runs --------------------------------------------------------------------------------------------


def fit(study: Study, m: int, block: int | None, epsilon: float) -> FittedPeGS:
    return PeGS(epsilon_per_row=epsilon, parents=m, choose="data", block=block, domain="data").fit(
        study.table
    )


def synthetic(fitted: FittedPeGS, rows: int, key: Key) -> Coded:
    sampler = Sampler(fitted.laws(rows), key, 1, fitted.method.block, fitted.pool)
    return Coded(fitted.blocks.domain.books, sampler.codes(0, rows))


def run(study: Study, ms: Sequence[int], epsilons: Sequence[float], repeats: int) -> Iterator[dict[str, Any]]:
    old = study.table.encode()
    truth = coefficients(study, old)
    for m in ms:
        fitted = {block: fit(study, m, block, 1.0) for block in (None, BLOCK)}
        for repeat in range(repeats):
            for epsilon in epsilons:
                for name, (block, from_data) in METHODS.items():
                    method = fit_again(fitted[block], epsilon, old.codes if from_data else None)
                    new = synthetic(method, ROWS, Key.from_seed(repeat * 1_000 + m))
                    yield from scores(study, old, new, truth, {"m": m, "method": name, "epsilon": epsilon})
            draw = Key.from_seed(repeat).generator("bootstrap").integers(0, old.rows, ROWS)
            again = Coded(old.books, old.codes[:, draw])
            yield from scores(study, old, again, truth, {"m": m, "method": "bootstrap", "epsilon": math.inf})


def imputed(
    study: Study, epsilons: Sequence[float], repeats: int, most_rows: int
) -> Iterator[dict[str, Any]]:
    """The paper's baseline, PMI, learnt from some of the rows, for time.

    Each of its models sees all other columns: it has no m, and stands with m = 2.
    """
    engine = ElasticNet(folds=2, most_rows=most_rows)
    fitted = PMI(epsilon_per_row=1.0, domain="data", engine=engine).fit(study.table)
    old, books = study.table.encode(), fitted.domain.books
    truth = coefficients(study, old)
    for epsilon in epsilons:
        method = replace(fitted, method=replace(fitted.method, epsilon_per_row=epsilon))
        for repeat in range(repeats):
            rows = method.sample(ROWS, seed=repeat).data.to_arrow().select([b.name for b in books])
            columns = (rows.column(i).combine_chunks() for i in range(rows.num_columns))
            new = Coded(books, np.stack([b.encode(c) for b, c in zip(books, columns, strict=True)]))
            yield from scores(study, old, new, truth, {"m": 2, "method": "PMI", "epsilon": epsilon})


def fit_again(fitted: FittedPeGS, epsilon: float, pool: NDArray[Any] | None) -> FittedPeGS:
    """The same building blocks with another prior, and other seeds."""
    return replace(fitted, method=replace(fitted.method, epsilon_per_row=epsilon), pool=pool)


def scores(
    study: Study, old: Coded, new: Coded, truth: dict[str, NDArray[np.float64]], setting: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    found = [*marginals(study, old, new), *conditionals(study, old, new), *intruder(study, old, new)]
    mine = coefficients(study, new)
    for kind, beta in mine.items():
        found.append(("10 regression", kind, float(np.abs((beta - truth[kind]) / truth[kind]).sum())))
        for i, b in enumerate(beta):
            name = ("intercept", *study.features)[i]
            found.append(("11 coefficients", f"{kind} {name}", float((b - truth[kind][i]) / truth[kind][i])))
    for figure, measure, value in found:
        yield {"data": study.name, **setting, "figure": figure, "measure": measure, "value": value}


def block_shares(study: Study, blocks: int, length: int) -> list[dict[str, Any]]:
    """Figure 5: shares of the first and of the last rows of long blocks, at epsilon 1 a block.

    And, as figure 3.5 of the dissertation has it, of rows of PeGS with the same noise, which cost 1 each.
    """
    fitted = fit(study, 2, length, 1.0 / length)
    new, books = synthetic(fitted, blocks * length, Key.from_seed(5)).codes, fitted.blocks.domain.books
    parts = {
        "original": study.table.encode(),
        "PeGS": synthetic(fit(study, 2, None, 1.0), blocks, Key.from_seed(5)),
        "first of a block": Coded(books, np.ascontiguousarray(new[:, ::length])),
        "last of a block": Coded(books, np.ascontiguousarray(new[:, length - 1 :: length])),
    }
    return [
        {"data": study.name, "column": column, "rows": name, "level": str(level), "share": float(share)}
        for column in study.given
        for name, part in parts.items()
        for level, share in zip([*part.books[part.columns.index(column)].levels.to_pylist(), "missing"],
                                measures.shares(part.counts(column)), strict=False)
    ]  # fmt: skip


def first_and_last(shares: Sequence[dict[str, Any]], length: int) -> Iterator[dict[str, Any]]:
    """Figure 5 in numbers: how far first and last rows are from the original, and from even shares."""
    found: dict[tuple[str, str], list[float]] = {}
    for r in shares:
        found.setdefault((r["column"], r["rows"]), []).append(r["share"])
    for (column, rows), share in found.items():
        if not rows.endswith("of a block"):
            continue
        for against, other in (("original", found[column, "original"]), ("even", [1 / len(share)])):
            yield {
                "data": shares[0]["data"], "m": 2, "method": "PeGS.rs", "epsilon": 1.0 / length,
                "figure": "5 blocks", "measure": f"{rows.split()[0]} row, {column}, distance from {against}",
                "value": float(np.abs(np.array(share) - other).sum() / 2),
            }  # fmt: skip


# -- out ---------------------------------------------------------------------------------------------


def averaged(rows: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], float]:
    gathered: dict[tuple[Any, ...], list[float]] = {}
    for r in rows:
        key = (r["data"], r["figure"], r["measure"], r["m"], r["method"], r["epsilon"])
        gathered.setdefault(key, []).append(r["value"])
    return {k: _mean(v) for k, v in gathered.items()}


def report(rows: Sequence[dict[str, Any]], epsilons: Sequence[float]) -> str:
    """The table in Markdown: one line for each measure, method and m."""
    mean = averaged(rows)
    lines = ["# PeGS: risk and utility", "", "Means over repeats; epsilon is that of each row.", ""]
    for data in dict.fromkeys(r["data"] for r in rows):
        lines += [f"## {data}", "", "| figure | measure | m | method | " +
                  " | ".join(f"{e:g}" for e in epsilons) + " | bootstrap |",
                  "|---|---|---|---|" + "---|" * (len(epsilons) + 1)]  # fmt: skip
        for figure, names in PICTURES.items():
            for measure in names:
                for m in sorted({r["m"] for r in rows}):
                    for method in METHODS:
                        cells = [mean.get((data, figure, measure, m, method, e), math.nan) for e in epsilons]
                        last = mean.get((data, figure, measure, m, "bootstrap", math.inf), math.nan)
                        shown = " | ".join(f"{v:.4g}" for v in [*cells, last])
                        lines.append(f"| {figure} | {measure} | {m} | {method} | {shown} |")
        lines += ["", "Figure 5, half the summed distance of shares:", ""]
        lines += [f"- {k[2]}: {v:.3f}" for k, v in mean.items() if k[0] == data and k[1] == "5 blocks"]
        lines += [
            "",
            "Figure 11, relative deviation of the linear coefficients at the least epsilon and at 10:",
            "",
        ]
        for method in METHODS:
            for m in sorted({r["m"] for r in rows}):
                at = {k[2]: v for k, v in mean.items() if k[:2] == (data, "11 coefficients")
                      and k[3:] == (m, method, epsilons[0]) and k[2].startswith("linear")}  # fmt: skip
                high = {k: mean.get((data, "11 coefficients", k, m, method, 10.0), math.nan) for k in at}
                shown = ", ".join(f"{k[7:]} {v:+.2f} / {high[k]:+.2f}" for k, v in at.items())
                lines.append(f"- {method}, m = {m}: {shown}")
        lines += ["", *_verdicts(mean, data, epsilons), ""]
    return "\n".join(lines)


def _verdicts(mean: dict[tuple[Any, ...], float], data: str, epsilons: Sequence[float]) -> list[str]:
    """Where the paper's sentences hold."""
    said = []
    for m in sorted({k[3] for k in mean if k[0] == data}):
        for seeds in ("", ", data seeds"):
            names = [f"PeGS{seeds}", f"PeGS.rs{seeds}"]
            at = {
                e: [mean.get((data, "6 marginal", "mae", m, n, e), math.nan) for n in names] for e in epsilons
            }
            better = [f"{e:g}" for e, (a, b) in at.items() if b < a]
            said.append(f"- m = {m}{seeds or ', uniform seeds'}: the marginals of PeGS.rs are nearer than "
                        f"those of PeGS at epsilon {', '.join(better) or '(none)'}.")  # fmt: skip
    return said


def pictures(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """One picture for each table: measures over epsilon, by method and m."""
    import vl_convert

    mean = averaged(rows)
    for data in dict.fromkeys(r["data"] for r in rows):
        panels = []
        for figure, names in PICTURES.items():
            for measure in names:
                points = [
                    {"epsilon": k[5], "value": v, "method": k[4], "m": k[3]}
                    for k, v in mean.items()
                    if k[:3] == (data, figure, measure) and k[4] != "bootstrap" and not math.isnan(v)
                ]
                floor = [
                    v for k, v in mean.items() if k[:3] == (data, figure, measure) and k[4] == "bootstrap"
                ]
                line = {
                    "data": {"values": points}, "mark": {"type": "line", "point": True},
                    "encoding": {
                        "x": {"field": "epsilon", "type": "quantitative", "scale": {"type": "log"}},
                        "y": {"field": "value", "type": "quantitative", "title": measure},
                        "color": {"field": "method", "type": "nominal", "title": None},
                        "strokeDash": {"field": "m", "type": "ordinal"},
                        "shape": {"field": "m", "type": "ordinal"},
                    },
                }  # fmt: skip
                rule = {
                    "data": {"values": [{"value": _mean(floor)}]},
                    "mark": {"type": "rule", "strokeDash": [4, 4]},
                    "encoding": {"y": {"field": "value", "type": "quantitative"}},
                }
                panels.append({"title": f"Figure {figure}: {measure}", "width": 240, "height": 160,
                               "layer": [line, rule]})  # fmt: skip
        spec = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "columns": 3, "concat": panels,
                "title": f"{data}: dashed is a bootstrap of the original"}  # fmt: skip
        (folder / f"pegs_{data}.svg").write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")


def write(rows: Sequence[dict[str, Any]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main(arguments: Sequence[str] | None = None) -> Path:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds: fewer rows and settings")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    asked = parser.parse_args(arguments)
    epsilons = EPSILONS[::3] if asked.quick else EPSILONS
    blocks, length = (50, 50) if asked.quick else (350, 500)
    rows: list[dict[str, Any]] = []
    shares: list[dict[str, Any]] = []
    for study in studies(asked.quick):
        rows += run(study, (2,) if asked.quick else (1, 2, 3), epsilons, 1 if asked.quick else REPEATS)
        if study.name == "discharges":
            rows += imputed(study, epsilons, 1 if asked.quick else REPEATS, 200 if asked.quick else 2_000)
        shares += block_shares(study, blocks, length)
        rows += first_and_last([r for r in shares if r["data"] == study.name], length)
    asked.out.mkdir(parents=True, exist_ok=True)
    write(rows, asked.out / "pegs_risk_utility.csv")
    write(shares, asked.out / "pegs_blocks.csv")
    (asked.out / "pegs_risk_utility.md").write_text(report(rows, epsilons) + "\n", encoding="utf-8")
    pictures(rows, asked.out)
    return asked.out


if __name__ == "__main__":
    print(f"written to {main()}")
