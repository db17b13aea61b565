"""Chapter 5 of Park's dissertation on Pima: AUROC against epsilon, of its trees and of sound scores.

Split 50:50 thirty times. DPaT and EDPaT claim epsilon for each *call* and keep no such promise
(docs/dpat.md); AdditiveScore, AlphaForest and diffprivlib's forest promise it for *all calls together*,
DP-EBM with a delta of 1e-5 besides. Then the two sound scores on breast cancer (thirty splits) and on Adult
(ten). Figures 5.3 to 5.5, on all women: a tree, a 0-DiffStructure, and the gains at two of its nodes.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from adult_schema import SCHEMA
from breast_limits import LIMITS
from shape_output import arguments, picture, table
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss, roc_auc_score, roc_curve

import sfumato as sf
from sfumato.prediction import tree_figures
from sfumato.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
import peers

STATED = sf.Provenance.declared("the experiment", "round bounds of what is measured")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
BOUNDS = {
    "pregnancies": (0, 20), "glucose": (0, 200), "pressure": (0, 130), "skin": (0, 100), "insulin": (0, 900),
    "bmi": (0, 70), "pedigree": (0, 2.5), "age": (18, 90),
}  # fmt: skip
PEERS = {"diffprivlib": {"trees": 10, "depth": 5}, "interpret": {"delta": 1e-5}}
NAMES = {"diffprivlib": "diffprivlib forest", "interpret": "DP-EBM"}
Line = tuple[str, float | None, float, float]


def schema(bounds: dict[str, tuple[float, float]]) -> sf.Schema:
    columns = [
        sf.Column(n, "numeric", edges=(float(a), float(b)), clamp=True, missing=False, provenance=STATED)
        for n, (a, b) in bounds.items()
    ]
    outcome = sf.Column(
        "outcome", "flag", type="boolean", levels=(False, True), missing=False, provenance=STATED
    )
    return sf.Schema((*columns, outcome))


def as_table(x: Any, y: Any, bounds: dict[str, tuple[float, float]]) -> Table:
    data = {n: pa.array(x[:, j]) for j, n in enumerate(bounds)}
    return Table.from_arrow(pa.table({**data, "outcome": pa.array(y.astype(bool))}), schema(bounds))


def halves(people: Table, split: int) -> tuple[Table, Table]:
    rows = people.to_arrow()
    order = np.random.default_rng(split).permutation(rows.num_rows)
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    return tuple(Table.from_arrow(rows.take(half), people.schema) for half in (train, test))  # type: ignore[return-value]


def judged(model: Any, test: Table, target: str) -> tuple[float, float]:
    """AUROC and log-loss on rows that were not learnt from."""
    p = model.predict_proba(test)[:, 1]
    truth = np.array(test.to_arrow()[target].to_pylist()) == test.schema[target].levels[1]  # type: ignore[index]
    return float(roc_auc_score(truth, p)), float(log_loss(truth, np.clip(p, 1e-6, 1 - 1e-6)))


def one_split(people: Table, split: int, epsilons: tuple[float, ...]) -> list[Line]:
    train, test = halves(people, split)
    found: list[Line] = []
    tree = sf.AlphaTree(1.0, min_leaf=20).fit(train, "outcome")
    found.append(("C4.5 (not private)", None, *judged(tree, test, "outcome")))
    for name, model in (("DPaT (claim fails)", sf.DPaT(2.0)), ("EDPaT (claim fails)", sf.EDPaT())):
        model.fit(train, "outcome")
        truth = np.array(test.to_arrow()["outcome"].to_pylist())
        for epsilon in (*epsilons, None):
            area = roc_auc_score(truth, model.set_params(epsilon_per_call=epsilon).answer(test))
            found.append((name, epsilon, float(area), float("nan")))
    for name, kind in (("AdditiveScore", sf.AdditiveScore), ("AlphaForest", sf.AlphaForest)):
        for epsilon in epsilons:
            fitted = kind(epsilon, anyway=True).fit(train, "outcome")
            found.append((name, epsilon, *judged(fitted, test, "outcome")))
    return found


def curves(people: Table, split: int = 0, epsilon: float = 1.0) -> list[dict[str, Any]]:
    """Figure 5.6(b): ROC curves of one split, of answers as noisy as each call claims."""
    train, test = halves(people, split)
    truth = np.array(test.to_arrow()["outcome"].to_pylist())
    answers = {
        "C4.5": sf.AlphaTree(1.0, min_leaf=20).fit(train, "outcome").predict_proba(test)[:, 1],
        "DPaT": sf.DPaT(2.0, epsilon_per_call=epsilon).fit(train, "outcome").answer(test),
        "EDPaT": sf.EDPaT(epsilon_per_call=epsilon).fit(train, "outcome").answer(test),
    }
    grid = np.linspace(0, 1, 51)
    rows = []
    for name, values in answers.items():
        false, true, _ = roc_curve(truth, values)
        heights = np.interp(grid, false, true)
        rows += [
            {"method": name, "false positives": float(x), "true positives": float(y)}
            for x, y in zip(grid, heights, strict=True)
        ]
    return rows


def structures(people: Table, out: Path) -> list[dict[str, Any]]:
    """Figures 5.3 and 5.4 as drawings; figure 5.5: gains and their ranges where it splits, and where not."""
    regular = sf.AlphaTree(1.0).fit(people, "outcome").tree_
    found = sf.DPaT(1.0).fit(people, "outcome").tree_
    for name, tree in (("dpat_pima_tree", tree_figures.cut(regular, 8)), ("dpat_pima_structure", found)):
        spec = json.dumps(tree_figures.spec(tree, "diabetes"))
        (out / f"{name}.json").write_text(spec, encoding="utf-8")
    stopped = [n for n in found.nodes if n.is_leaf and n.candidates]
    largest = max(stopped, key=lambda n: n.size)
    nodes = {"the root: it splits": found.nodes[0], f"a leaf of {largest.size} women: it does not": largest}
    return [
        {"node": title, "variable": found.variables[c.variable].name,
         "least": c.kappa, "gain": c.gain, "largest": c.lambda_}
        for title, node in nodes.items()
        for c in node.candidates
    ]  # fmt: skip


def of_peers(x: Any, y: Any, repeats: int, epsilons: tuple[float, ...]) -> list[Line]:
    found: list[Line] = []
    train = np.zeros((repeats, len(y)), bool)
    for split in range(repeats):
        train[split, np.random.default_rng(split).permutation(len(y))[: len(y) // 2]] = True
    with tempfile.TemporaryDirectory() as folder:
        files = {n: str(Path(folder, f"{n}.npy")) for n in ("features", "outcome", "train", "out")}
        for name, array in (("features", x), ("outcome", y), ("train", train)):
            np.save(files[name], array)
        limits = {
            "low": [float(a) for a, _ in BOUNDS.values()],
            "high": [float(b) for _, b in BOUNDS.values()],
        }
        for peer, more in PEERS.items():
            if peers.python_of(peer) is None:
                print(f"{NAMES[peer]}: its environment was not built (make peers)")
                continue
            peers.ask(peer, {**files, **limits, **more, "epsilons": list(epsilons)}, seconds=3600)
            scores = np.load(files["out"])
            for i, epsilon in enumerate(epsilons):
                for split in range(repeats):
                    test = ~train[split]
                    p = np.clip(scores[i, split, test], 1e-6, 1 - 1e-6)
                    area = float(roc_auc_score(y[test], p))
                    found.append((NAMES[peer], epsilon, area, float(log_loss(y[test], p))))
    return found


def elsewhere(folder: Path, repeats: int, small: bool) -> list[Line]:
    """Breast cancer, where features are many and rows few, and Adult, where rows are many; epsilon 1."""
    data = load_breast_cancer()
    bounds = {n: LIMITS[j] for j, n in enumerate(data.feature_names)}
    breast = as_table(data.data, 1 - data.target, bounds)
    rows = pq.read_table(folder / "adult" / "adult_uci_48842.parquet").select(SCHEMA.names)
    adult = Table.from_arrow(rows.slice(0, 4000) if small else rows, SCHEMA)
    found: list[Line] = []
    for split in range(3 * repeats):  # the small data set thirty times, the large one ten
        for name, people, target in (("breast cancer", breast, "outcome"), ("Adult", adult, "income")):
            if people is adult and split >= repeats:
                continue
            train, test = halves(people, 100 + split)
            for kind in (sf.AdditiveScore, sf.AlphaForest):
                fitted = kind(1.0, anyway=True).fit(train, target)
                found.append((f"{kind.__name__}, {name}", 1.0, *judged(fitted, test, target)))
    return found


def summary(found: list[Line]) -> list[dict[str, Any]]:
    rows = []
    for method, epsilon in dict.fromkeys((m, e) for m, e, _, _ in found):
        areas = np.array([a for m, e, a, _ in found if (m, e) == (method, epsilon)])
        losses = np.array([b for m, e, _, b in found if (m, e) == (method, epsilon)])
        rows.append({
            "method": method, "epsilon": "none" if epsilon is None else epsilon, "AUROC": float(areas.mean()),
            "standard deviation": float(areas.std()),
            "standard error": float(areas.std() / len(areas) ** 0.5),
            "log-loss": float(losses.mean()), "repeats": len(areas),
        })  # fmt: skip
    return rows


def figure(rows: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    drawn = [r for r in rows if r["epsilon"] != "none" and "," not in r["method"]]
    level = next(r for r in rows if r["method"].startswith("C4.5"))
    ends = sorted({r["epsilon"] for r in drawn})
    drawn += [{**level, "epsilon": e} for e in (ends[0], ends[-1])]
    drawn = [{k: r[k] for k in ("method", "epsilon", "AUROC")} for r in drawn]
    encoding = {
        "x": {"field": "epsilon", "type": "quantitative", "scale": {"type": "log"}},
        "y": {"field": "AUROC", "type": "quantitative", "scale": {"zero": False}},
        "color": {"field": "method", "type": "nominal"},
    }
    return {"width": 460, "height": 300, "mark": {"type": "line", "point": True}, "encoding": encoding}, drawn


def main() -> None:
    given = arguments(__doc__ or "")
    folder = Path(os.environ["SFUMATO_DATA"])
    start = time.process_time()
    repeats, epsilons, others = (1, (1.0,), 1) if given.quick else (30, EPSILONS, 10)
    raw = pq.read_table(folder / "pima" / "pima_indians_diabetes.parquet").to_pandas()
    x, y = raw.iloc[:, :-1].to_numpy(float), raw.iloc[:, -1].to_numpy(int)
    people = as_table(x, y, BOUNDS)
    found = [line for split in range(repeats) for line in one_split(people, split, epsilons)]
    found += [] if given.quick else of_peers(x, y, repeats, epsilons)
    found += elsewhere(folder, others, given.quick)
    rows = summary(found)
    print(table(rows, given.out, "dpat_pima"))
    table(curves(people), given.out, "dpat_pima_roc")
    print(table(structures(people, given.out), given.out, "dpat_pima_gains"))
    picture(*figure(rows), given.out, "dpat_pima")
    at_one = {r["method"]: r["AUROC"] for r in rows if r["epsilon"] == 1.0}
    print(
        f"At epsilon 1 AdditiveScore reaches {at_one['AdditiveScore']:.3f} for all calls together; EDPaT "
        f"{at_one['EDPaT (claim fails)']:.3f} for each call, and its claim fails."
    )
    print(f"{time.process_time() - start:.0f} s of one core, without the peers")


if __name__ == "__main__":
    main()
