"""Private scores: fitting and scoring as ratios, and how good they are beside what promises nothing.

Fitting against counting the additive score's tables without noise; scoring one row by the released model
against one call of scikit-learn's logistic regression, and against 50 microseconds; areas under the curve on
simulated check-ups beside logistic regression. --quick: fewer rows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import sfumato as sf
from sfumato.features.grid import FeatureGrid
from sfumato.table import Table


def seconds(act: Callable[[], object], repeats: int = 5) -> float:
    """The best of several runs, in CPU seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        act()
        best = min(best, time.process_time() - start)
    return best


def counted(people: Table, target: str) -> int:
    """The tables of the additive score without noise: the least that any fit has to do."""
    grid = FeatureGrid.of(people.schema, target=target)
    codes = grid.encode(people)
    outcome = people.encode([target]).codes[0].astype(np.int64)
    return sum(int(np.bincount(2 * c + outcome).sum()) for c in codes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    rows = 5_000 if parser.parse_args().quick else 50_000
    target = "diabetes"
    people = sf.samples.diabetes(rows, seed=1).drop(["id"])
    test = sf.samples.diabetes(5_000, seed=2).drop(["id"])
    truth = np.array(test.to_arrow()[target].to_pylist())

    score = sf.AdditiveScore(epsilon=1.0)
    forest = sf.AlphaForest(epsilon=1.0)
    bare = seconds(lambda: counted(people, target))
    for name, model in (("AdditiveScore", score), ("AlphaForest", forest)):
        spent = seconds(lambda m=model: m.fit(people, target), 1)  # type: ignore[misc]
        print(
            f"{name}: fit of {rows:,} rows {spent:.2f} s, {spent / bare:.1f} times counting its tables once"
        )

    grid = FeatureGrid.of(people.schema, target=target)
    codes, own = grid.encode(people).T, grid.encode(test).T
    outcome = people.encode([target]).codes[0]
    plain = LogisticRegression(max_iter=500).fit(codes, outcome)
    one = {f.name: f.levels[0] if f.levels else f.low for f in score.released().features}
    call = seconds(lambda: [plain.predict_proba(own[:1]) for _ in range(200)]) / 200
    for name, model in (("AdditiveScore", score), ("AlphaForest", forest)):
        released = model.released()
        each = seconds(lambda r=released: [r.score([one]) for _ in range(500)]) / 500  # type: ignore[misc]
        print(
            f"{name}: one row {each * 1e6:.1f} us, {50e-6 / each:.1f} times within 50 us, "
            f"{call / each:.0f} times as fast as one call of logistic regression"
        )
    best = roc_auc_score(truth, plain.predict_proba(own)[:, 1])
    for name, model in (("AdditiveScore", score), ("AlphaForest", forest)):
        area = roc_auc_score(truth, model.predict_proba(test)[:, 1])
        print(f"{name}: area {area:.3f} at epsilon 1, {area / best:.3f} of logistic regression's")


if __name__ == "__main__":
    main()
