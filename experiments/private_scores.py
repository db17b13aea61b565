"""Private scores side by side, and what privacy costs: Pima, BRFSS 2015, Adult and diabetes130.

python experiments/private_scores.py [--quick] [--repeats N] [--out DIR]

Area under the ROC curve, expected calibration error (ten bins), observed over predicted cases by sex, and
the processor time of a fit, on rows that were not learnt from, at epsilon 0.5, 1 and 2. PrivateLogistic,
AdditiveScore and AlphaForest promise pure epsilon. DP-EBM (interpret; it has a delta) and diffprivlib's
forest are asked in environments of their own (make peers), on features as numbers. Logistic regression and
boosted trees without privacy say what there is to be had. Bounds and levels are those of the
questionnaires.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from shape_output import arguments, table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import peers
import sfumato as sf
from sfumato.prediction.basis import Basis, FeatureShape
from sfumato.prediction.grid import FeatureGrid
from sfumato.schema import Column, Kind, Provenance, Schema
from sfumato.table import Table

EPSILONS = (0.5, 1.0, 2.0)
FORM = Provenance.declared("who asked the questions", "the questionnaire, or what can be measured")
OURS = (sf.PrivateLogistic, sf.AdditiveScore, sf.AlphaForest)
PEERS = {"interpret": {"delta": 1e-5}, "diffprivlib": {"trees": 10, "depth": 5}}
NAMES = {"interpret": "DP-EBM (delta 1e-5)", "diffprivlib": "diffprivlib's forest"}
PIMA = {
    "pregnancies": (0, 20), "glucose": (0, 200), "blood_pressure": (0, 130), "skin_thickness": (0, 100),
    "insulin": (0, 900), "bmi": (0, 70), "pedigree": (0, 2.5), "age": (18, 90),
}  # fmt: skip
ASKED = {"GenHlth": (1, 5), "MentHlth": (0, 30), "PhysHlth": (0, 30), "Age": (1, 13), "Education": (1, 6),
         "Income": (1, 8)}  # fmt: skip
SCHOOL = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
"Some-college",
          "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")  # fmt: skip
GAINS = ("0-0", "1-2999", "3000-4999", "5000-7499", "7500-9999", "10000-19999", "20000+")
DRUGS = ("[0, 5)", "[5, 10)", "[10, 15)", "[15, 20)", "[20, 25)", "[25, 30)", "[30, 40)", "[40, 200)")
ORDERED: dict[str, dict[str, tuple[str, ...]]] = {
    "adult/bench13": {"age": (), "hours": (), "education": SCHOOL, "cap_gain": GAINS, "cap_loss": ()},
    "diabetes130/bench14": {
        "age": (), "los": tuple(str(i) for i in range(1, 15)), "n_med": DRUGS, "n_inp": (),
    },
}  # fmt: skip


class Task(NamedTuple):
    """One file, and how it is split. train: rows to learn from; the rest, at most 100,000, is for judging."""

    name: str
    rows: pa.Table
    schema: Schema
    target: str
    train: int
    splits: int
    sex: str = ""


def number(name: str, low: float, high: float) -> Column:
    return Column(
        name, Kind.NUMERIC, edges=(float(low), float(high)), missing=False, clamp=True, provenance=FORM
    )


def flag(name: str, *levels: Any) -> Column:
    kind: Any = {"type": "integer"} if isinstance(levels[0], int) else {}
    return Column(name, Kind.FLAG, levels=levels, missing=False, provenance=FORM, **kind)


def pima(folder: Path) -> Task:
    rows = pq.read_table(folder / "pima" / "pima_indians_diabetes.parquet")
    columns = [*(number(n, *b) for n, b in PIMA.items()), flag("outcome", 0, 1)]
    return Task("Pima", rows, Schema(tuple(columns)), "outcome", len(rows) // 2, 40)


def brfss(folder: Path, train: int) -> Task:
    rows = pq.read_table(folder / "brfss" / "brfss2015_diabetes_indicators.parquet")
    columns = []
    for name in rows.column_names:
        if name == "BMI":
            columns.append(number(name, 10, 60))
        elif name in ASKED:
            levels = tuple(range(ASKED[name][0], ASKED[name][1] + 1))
            columns.append(
                Column(name, Kind.ORDINAL, type="integer", levels=levels, missing=False, provenance=FORM)
            )
        else:
            columns.append(flag(name, 0, 1))
    return Task(f"BRFSS, {train:,} rows", rows, Schema(tuple(columns)), "Diabetes_binary", train, 5, "Sex")


def bench(folder: Path, part: str, name: str, target: str, sex: str) -> Task:
    domain = json.loads((folder / part / "domain.json").read_text())
    columns = []
    for column, levels in domain.items():
        missing = "None" in levels  # read as missing
        known = ORDERED[part].get(column) or tuple(v for v in levels if v != "None")
        kind = Kind.ORDINAL if column in ORDERED[part] else Kind.FLAG if len(known) == 2 else Kind.NOMINAL
        columns.append(Column(column, kind, levels=known, missing=missing, provenance=FORM))
    parts = [pq.read_table(folder / part / f"{n}.parquet").select(list(domain)) for n in ("train", "test")]
    return Task(name, pa.concat_tables(parts), Schema(tuple(columns)), target, len(parts[0]), 5, sex)


def halves(task: Task, repeats: int | None) -> Iterator[tuple[Table, Table]]:
    for split in range(repeats or task.splits):
        order = np.random.default_rng(split).permutation(len(task.rows))
        places = order[: task.train], order[task.train : task.train + 100_000]
        yield tuple(Table.from_arrow(task.rows.take(p), task.schema) for p in places)  # type: ignore[misc]


def outcome_of(rows: Table, target: str) -> np.ndarray:
    second = rows.schema[target].levels[1]
    return np.array([v == second for v in rows.to_arrow()[target].to_pylist()]).astype(int)


def judged(truth: np.ndarray, p: np.ndarray, sexes: np.ndarray | None) -> dict[str, float]:
    place = np.minimum((p * 10).astype(int), 9)
    error = sum(
        abs(p[place == i].mean() - truth[place == i].mean()) * (place == i).mean()
        for i in range(10)
        if (place == i).any()
    )
    found = {"AUROC": float(roc_auc_score(truth, p)), "ECE": float(error)}
    ratios = (
        [] if sexes is None else [truth[sexes == s].sum() / p[sexes == s].sum() for s in np.unique(sexes)[:2]]
    )
    return found | dict(zip(("O/P, first sex", "O/P, second sex"), map(float, ratios), strict=False))


def without_privacy(train: Table, test: Table, target: str) -> Iterator[tuple[str, np.ndarray, float]]:
    grid = FeatureGrid.of(train.schema, target=target, steps=128)
    truth = outcome_of(train, target)
    basis = Basis.of(grid.axes, FeatureShape.FOLDED)
    for name, model, of in (
        ("logistic, not private", LogisticRegression(max_iter=500), lambda t: basis.rows(grid.encode(t))[:,
        1:]),
        ("boosted trees, not private", HistGradientBoostingClassifier(max_leaf_nodes=8, learning_rate=0.08),
         lambda t: grid.encode(t).T),
    ):  # fmt: skip
        start = time.process_time()
        model.fit(of(train), truth)
        taken = time.process_time() - start
        yield name, model.predict_proba(of(test))[:, 1], taken


def of_peers(train: Table, test: Table, target: str, epsilons: tuple[float, ...]) -> Iterator[Any]:
    """Scores of the test rows by each peer that is there, on features as numbers between public bounds."""
    grid = FeatureGrid.of(train.schema, target=target, steps=128)
    codes = [grid.encode(t).T.astype(float) for t in (train, test)]
    sizes = [a.bins - 1 + bool(a.book.missing) for a in grid.axes]
    with tempfile.TemporaryDirectory() as folder:
        files = {n: str(Path(folder, f"{n}.npy")) for n in ("features", "outcome", "train", "out")}
        np.save(files["features"], np.vstack(codes))
        np.save(files["outcome"], np.concatenate([outcome_of(t, target) for t in (train, test)]))
        np.save(files["train"], (np.arange(len(codes[0]) + len(codes[1])) < len(codes[0]))[None])
        for peer, more in PEERS.items():
            if peers.python_of(peer) is None:
                continue
            limits = {"low": [0.0] * len(sizes), "high": [float(max(s, 1)) for s in sizes]}
            told = peers.ask(peer, {**files, **limits, **more, "epsilons": list(epsilons)}, seconds=7200)
            scores = np.load(files["out"])
            for i, epsilon in enumerate(epsilons):
                yield NAMES[peer], epsilon, scores[i, 0, len(codes[0]) :], told["seconds"] / len(epsilons)


def lines(task: Task, repeats: int | None, quick: bool) -> Iterator[dict[str, Any]]:
    epsilons = (1.0,) if quick else EPSILONS
    for train, test in halves(task, repeats):
        truth = outcome_of(test, task.target)
        sexes = np.array(test.to_arrow()[task.sex].to_pylist()) if task.sex else None
        for kind in OURS:
            for epsilon in epsilons:
                start = time.process_time()
                model = kind(epsilon, anyway=True).fit(train, task.target)
                taken = time.process_time() - start
                p = model.predict_proba(test)[:, 1]
                yield {"data": task.name, "method": kind.__name__, "epsilon": epsilon,
                       **judged(truth, p, sexes), "CPU s": taken}  # fmt: skip
        for name, p, taken in without_privacy(train, test, task.target):
            yield {
                "data": task.name,
                "method": name,
                "epsilon": "none",
                **judged(truth, p, sexes),
                "CPU s": taken,
            }
        for name, epsilon, p, taken in [] if quick else of_peers(train, test, task.target, epsilons):
            yield {
                "data": task.name,
                "method": name,
                "epsilon": epsilon,
                **judged(truth, p, sexes),
                "CPU s": taken,
            }


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for key in dict.fromkeys((f["data"], f["method"], f["epsilon"]) for f in found):
        mine = [f for f in found if (f["data"], f["method"], f["epsilon"]) == key]
        row: dict[str, Any] = dict(zip(("data", "method", "epsilon"), key, strict=True))
        for name in ("AUROC", "ECE", "O/P, first sex", "O/P, second sex", "CPU s"):
            values = [f[name] for f in mine if name in f]
            row[name] = float(np.mean(values)) if values else ""
        row["standard error of AUROC"] = float(np.std([f["AUROC"] for f in mine]) / len(mine) ** 0.5)
        rows.append(row | {"splits": len(mine)})
    return rows


def main() -> None:
    given = arguments(__doc__ or "")
    warnings.simplefilter("ignore", sf.SfumatoWarning)
    folder = Path(os.environ["SFUMATO_DATA"])
    tasks = [pima(folder)]
    if not given.quick:
        tasks += [
            brfss(folder, 6_000), brfss(folder, 25_000),
            bench(folder, "adult/bench13", "Adult", "income", "sex"),
            bench(folder, "diabetes130/bench14", "diabetes130", "readmit", "gender"),
        ]  # fmt: skip
    found: list[dict[str, Any]] = []
    for task in tasks:
        for line in lines(task, 1 if given.quick else given.repeats, given.quick):
            found.append(line)
        print(table(summary(found), given.out, "private_scores"), flush=True)


if __name__ == "__main__":
    main()
