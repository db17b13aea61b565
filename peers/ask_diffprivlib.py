"""diffprivlib's random forest: scores of all rows for each split and epsilon, and the CPU seconds it took.

Question: {"features": file.npy of (rows, features), "outcome": file.npy, "train": file.npy of (splits, rows),
true for rows to learn from, "low": [...], "high": [...], "epsilons": [...],
"trees": ..., "depth": ..., "out": file.npy}. Answer: {"seconds": ...}; the scores, (epsilons, splits, rows),
are in `out`.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from diffprivlib.models import RandomForestClassifier  # noqa: E402


def model(question, epsilon, seed):
    return RandomForestClassifier(
        n_estimators=question["trees"], max_depth=question["depth"], epsilon=epsilon,
        bounds=(np.array(question["low"]), np.array(question["high"])), classes=[0, 1], random_state=seed,
        n_jobs=1,
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
