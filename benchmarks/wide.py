"""Many quasi-identifiers: 18 columns of diabetes130 and 21 of BRFSS, k = 5, 5% suppressed.

Held against a greedy walk that is written here from scratch and shares nothing with the search: from the top,
always the level down that loses least among those that suppress few enough rows. The bound is held against
that of each row's cheapest box (with k rows). Seconds are the processor's.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.anonymization import limits
from sfumato.anonymization.problem import Problem, compress

K, SHARE = 5, 0.05
SECONDS = float(os.environ.get("SFUMATO_BENCH_SECONDS", 60))
DIABETES = [
    "race",
    "gender",
    "age",
    "admission_type_id",
    "discharge_disposition_id",
    "admission_source_id",
    "time_in_hospital",
    "payer_code",
    "medical_specialty",
    "num_lab_procedures",
    "num_procedures",
    "num_medications",
    "number_outpatient",
    "number_emergency",
    "number_inpatient",
    "diag_1",
    "number_diagnoses",
    "readmitted",
]


def bands(values: Iterable[object], widths: tuple[int, ...]) -> sf.Hierarchy:
    """Numbers in bands, the last over all."""
    return sf.Hierarchy.of_rows(
        [[str(v), *(f"{int(float(str(v))) // w * w} by {w}" for w in widths), "*"] for v in values]
    )


def groups(values: Iterable[object], size: int) -> sf.Hierarchy:
    """Codes by their order, some at a time."""
    named = sorted(map(str, values))
    return sf.Hierarchy.of_rows([[v, f"group {i // size}", "*"] for i, v in enumerate(named)])


def codes(values: Iterable[object]) -> sf.Hierarchy:
    """ICD-9: the code, its category, the first two characters of that, the first."""
    rows = []
    for v in map(str, values):
        category = f"{v.split('.')[0]:>03}"
        rows.append([v, f"category {category}", f"{category[:2]}x", f"{category[:1]}xx", "*"])
    return sf.Hierarchy.of_rows(rows)


def hierarchy(values: pd.Series) -> sf.Hierarchy:
    """By what a column holds: few values, numbers, codes."""
    found = values.dropna().unique()
    plain = pd.to_numeric(pd.Series(found), errors="coerce").notna().all()
    if len(found) <= 3:
        return groups(found, len(found))
    if plain and len(found) > 8:
        return bands(found, (2, 4, 16) if len(found) < 50 else (5, 20, 60))
    if values.name == "diag_1":
        return codes(found)
    return groups(found, 3 if len(found) < 30 else 8)


def walk(problem: Problem, k: int, limit: int) -> tuple[float, int]:
    """The greedy walk from the top, by numpy alone: its loss and the nodes it looked at."""
    hierarchies, n = problem.hierarchies, problem.n
    q, rows = len(hierarchies), n.sum()

    def judged(levels: list[int]) -> float | None:
        key = np.zeros(len(n), np.int64)
        loss = np.zeros(len(n))
        for j, level in enumerate(levels):
            node = hierarchies[j].ancestors[level][problem.leaves[:, j]]
            key = pd.factorize(key * (int(node.max()) + 1) + node)[0].astype(np.int64)
            loss += hierarchies[j].loss[hierarchies[j].nodes[level][problem.leaves[:, j]]] / q
        small = np.bincount(key, n)[key] < k
        return None if n[small].sum() > limit else float((n * np.where(small, 1.0, loss)).sum() / rows)

    levels, best, looked = [h.height for h in hierarchies], 1.0, 0
    while True:
        steps = []
        for j in range(q):
            if levels[j]:
                looked += 1
                loss = judged([*levels[:j], levels[j] - 1, *levels[j + 1 :]])
                steps += [] if loss is None else [(loss, j)]
        if not steps or min(steps)[0] >= best:
            return best, looked
        best, j = min(steps)
        levels[j] -= 1


def cheapest_boxes(problem: Problem, k: int, sample: int = 30, tries: int = 15) -> float:
    """The mean over sampled rows of the cheapest box with k rows that is found: never less than the cheapest.

    From each of the nearest rows on, the box takes in whoever widens it least.
    """
    g = np.random.default_rng(1)
    rows = g.choice(len(problem.n), sample, p=problem.n / problem.n.sum())
    found = []
    for r in rows:
        needed = []  # what each other row asks of the box, by column
        for j, h in enumerate(problem.hierarchies):
            level = (h.ancestors == h.ancestors[:, problem.leaves[r, j], None]).argmax(axis=0)
            cost = h.loss[h.nodes[:, problem.leaves[r, j]]] / len(problem.columns)
            needed.append(cost[level][problem.leaves[:, j]])
        need = np.stack(needed, axis=1)
        near = np.argsort(need.sum(axis=1), kind="stable")[:2_000]  # whoever is farther is not needed
        need, n = need[near], problem.n[near]
        best = 1.0
        for seed in range(tries):
            box = need[seed].copy()
            while n[inside := (need <= box + 1e-12).all(axis=1)].sum() < k and box.sum() < best:
                wider = np.where(inside, np.inf, np.maximum(need, box).sum(axis=1))
                box = np.maximum(box, need[wider.argmin()])
            best = min(best, box.sum()) if n[(need <= box + 1e-12).all(axis=1)].sum() >= k else best
        found.append(best)
    return float(np.mean(found))


def measured(name: str, frame: pd.DataFrame, columns: list[str]) -> None:
    """One table: the walk, the search, both bounds."""
    table = sf.Table.from_arrow(sf.scan(frame[columns].astype("string")).to_arrow())
    made = {c: hierarchy(frame[c].astype("string")) for c in columns}
    problem = compress(table, columns, made)
    method = sf.OptimalRecoding(max_suppressed=SHARE, time_limit=SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sf.OptimalRecoding(max_suppressed=SHARE, work_limit=100).search(problem, sf.KAnonymity(K))
        start = time.process_time()
        about = method.search(problem, sf.KAnonymity(K)).about
        ours = time.process_time() - start
    start = time.process_time()
    greedy, looked = walk(problem, K, int(SHARE * problem.rows))
    theirs = time.process_time() - start
    least = cheapest_boxes(problem, K)
    print(
        f"{name}: {problem.rows:,} rows, {problem.combinations:,} combinations, {len(columns)} columns, "
        f"{about['nodes']:.1e} nodes\n"
        f"  greedy walk  loss {greedy:.4f}, {looked} nodes, {theirs:.1f} s CPU\n"
        f"  search       loss {about['score']:.4f}, {about['checked']:,} nodes, {ours:.1f} s CPU, "
        f"{about['suppressed'] / problem.rows:.2%} suppressed\n"
        f"  bound        {about['bound']:.4f}; of each row's cheapest box at most {least:.4f} (sampled)",
        flush=True,
    )


def main() -> None:
    limits.clock = time.process_time  # the limit is one of the processor, however busy the machine
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        print("SFUMATO_DATA is not set: nothing is measured")
        return
    wanted = sys.argv[1:] or ["diabetes130", "brfss"]
    if "diabetes130" in wanted:
        frame = pd.read_parquet(Path(folder) / "diabetes130" / "diabetic_data.parquet")
        measured("diabetes130", frame, DIABETES)
    if "brfss" in wanted:
        frame = pd.read_parquet(Path(folder) / "brfss" / "brfss2015_diabetes_indicators.parquet")
        measured("BRFSS 2015", frame.astype("int64"), [c for c in frame.columns if c != "Diabetes_binary"])


if __name__ == "__main__":
    main()
