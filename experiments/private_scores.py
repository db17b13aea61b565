"""Private scores side by side, and what privacy costs: Pima, BRFSS 2015, Adult and diabetes130.

python experiments/private_scores.py [--quick] [--repeats N] [--out DIR]

Each figure is written to private_scores.jsonl in DIR as soon as it is there; who stops it and starts it again
goes on from there, and several may run at once on different files (--only NAME) or methods (--by WORD).

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
import sys
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

import sfumato as sf
from sfumato.features.grid import FeatureGrid
from sfumato.prediction.basis import Basis, FeatureShape
from sfumato.schema import Column, Kind, Provenance, Schema
from sfumato.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
import peers

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


class Kept:
    """The figures there are, in a file with one line for each; what is there is not computed again."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def lines(self) -> list[dict[str, Any]]:
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def has(self, *key: Any) -> bool:
        return any((k["data"], k["split"], k["method"], k["epsilon"]) == key for k in self.lines)

    def add(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


NOT_PRIVATE = {
    "logistic, not private": lambda: LogisticRegression(max_iter=500),
    "boosted trees, not private": lambda: HistGradientBoostingClassifier(
        max_leaf_nodes=8, learning_rate=0.08
    ),
}


def ours(name: str, epsilon: Any, train: Table, test: Table, target: str) -> tuple[np.ndarray, float]:
    kind = next(k for k in OURS if k.__name__ == name)
    start = time.process_time()
    model = kind(epsilon, anyway=True).fit(train, target)
    taken = time.process_time() - start
    return model.predict_proba(test)[:, 1], taken


def without_privacy(name: str, train: Table, test: Table, target: str) -> tuple[np.ndarray, float]:
    """The regression sees what ours sees with many rows, the trees see codes."""
    grid = FeatureGrid.of(train.schema, target=target, steps=128)
    basis = Basis.of(grid.axes, FeatureShape.QUADRATIC)
    seen = [
        basis.rows(grid.encode(t))[:, 1:] if name.startswith("logistic") else grid.encode(t).T
        for t in (train, test)
    ]
    model, truth = NOT_PRIVATE[name](), outcome_of(train, target)
    start = time.process_time()
    model.fit(seen[0], truth)
    return model.predict_proba(seen[1])[:, 1], time.process_time() - start


def of_peer(peer: str, train: Table, test: Table, target: str, epsilons: list[float]) -> Iterator[Any]:
    """Scores of the test rows by a peer, on features as numbers between public bounds."""
    grid = FeatureGrid.of(train.schema, target=target, steps=128)
    codes = [grid.encode(t).T.astype(float) for t in (train, test)]
    sizes = [a.bins - 1 + bool(a.book.missing) for a in grid.axes]
    with tempfile.TemporaryDirectory() as folder:
        files = {n: str(Path(folder, f"{n}.npy")) for n in ("features", "outcome", "train", "out")}
        np.save(files["features"], np.vstack(codes))
        np.save(files["outcome"], np.concatenate([outcome_of(t, target) for t in (train, test)]))
        np.save(files["train"], (np.arange(len(codes[0]) + len(codes[1])) < len(codes[0]))[None])
        limits = {"low": [0.0] * len(sizes), "high": [float(max(s, 1)) for s in sizes]}
        asked = {**files, **limits, **PEERS[peer], "epsilons": epsilons}
        told = peers.ask(peer, asked, seconds=7200)
        scores = np.load(files["out"])
        for i, epsilon in enumerate(epsilons):
            yield epsilon, scores[i, 0, len(codes[0]) :], told["seconds"] / len(epsilons)


def add_figures(task: Task, repeats: int | None, epsilons: list[float], by: str, kept: Kept) -> None:
    """Every figure of a file that is not there yet; split by split, so that what there is, is a whole."""
    methods: list[tuple[str, Any]] = [(k.__name__, e) for k in OURS for e in epsilons]
    methods += [(name, "none") for name in NOT_PRIVATE]
    methods += [(NAMES[p], e) for p in PEERS if peers.python_of(p) is not None for e in epsilons]
    methods = [m for m in methods if by in m[0]]
    for split, (train, test) in enumerate(halves(task, repeats)):
        wanted = [m for m in methods if not kept.has(task.name, split, *m)]
        if not wanted:
            continue
        truth = outcome_of(test, task.target)
        sexes = np.array(test.to_arrow()[task.sex].to_pylist()) if task.sex else None

        def add(name: str, epsilon: Any, p: np.ndarray, taken: float) -> None:
            key = {"data": task.name, "split": split, "method": name, "epsilon": epsilon}  # noqa: B023
            kept.add({**key, **judged(truth, p, sexes), "CPU s": taken})  # noqa: B023

        for name, epsilon in wanted:
            if name in NOT_PRIVATE:
                add(name, epsilon, *without_privacy(name, train, test, task.target))
            elif name not in NAMES.values():
                add(name, epsilon, *ours(name, epsilon, train, test, task.target))
        for peer, name in NAMES.items():
            missing = [e for n, e in wanted if n == name]
            for epsilon, p, taken in of_peer(peer, train, test, task.target, missing) if missing else ():
                add(name, epsilon, p, taken)


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
    given = arguments(__doc__ or "", only="files whose name has this in it", by="methods likewise")
    warnings.simplefilter("ignore", sf.SfumatoWarning)
    folder = Path(os.environ["SFUMATO_DATA"])
    tasks = [pima(folder)]
    if not given.quick:
        tasks += [
            brfss(folder, 6_000), brfss(folder, 25_000),
            bench(folder, "adult/bench13", "Adult", "income", "sex"),
            bench(folder, "diabetes130/bench14", "diabetes130", "readmit", "gender"),
        ]  # fmt: skip
    kept = Kept(given.out / f"private_scores{'_quick' * given.quick}.jsonl")
    for task in tasks:
        if given.only in task.name:
            repeats, epsilons = (1, [1.0]) if given.quick else (given.repeats, list(EPSILONS))
            add_figures(task, repeats, epsilons, given.by, kept)
            print(table(summary(kept.lines), given.out, "private_scores"), flush=True)


if __name__ == "__main__":
    main()
