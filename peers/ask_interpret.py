"""DP-EBM of interpret: scores of all rows for each split and epsilon, and the CPU seconds it took.

Question: {"features": file.npy of (rows, features), "outcome": file.npy, "train": file.npy of (splits, rows),
true for rows to learn from, "low": [...], "high": [...], "epsilons": [...],
"delta": ..., "out": file.npy}. Answer: {"seconds": ...}; the scores, (epsilons, splits, rows), are
in `out`. Its promise has a delta, unlike ours.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from interpret.privacy import DPExplainableBoostingClassifier  # noqa: E402


def model(question, epsilon, seed):
    return DPExplainableBoostingClassifier(
        epsilon=epsilon, delta=question["delta"], random_state=seed, n_jobs=1,
        privacy_bounds=np.array([question["low"], question["high"]]).T,
        feature_types=["continuous"] * len(question["low"]),
    )  # fmt: skip


def answer(question):
    features, outcome, train = (np.load(question[k]) for k in ("features", "outcome", "train"))
    features = np.clip(features, question["low"], question["high"])
    started = time.process_time()
    scores = np.zeros((len(question["epsilons"]), *train.shape))
    for i, epsilon in enumerate(question["epsilons"]):
        for split, rows in enumerate(train):
            fitted = model(question, epsilon, split).fit(features[rows], outcome[rows])
            scores[i, split] = fitted.predict_proba(features)[:, 1]
    np.save(question["out"], scores)
    return {"seconds": time.process_time() - started}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
