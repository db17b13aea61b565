"""DP-EBM of interpret: scores for test rows, and the CPU seconds they took.

Question: {"train": file.npy of (rows, features), "outcome": file.npy, "test": file.npy, "low": [...],
"high": [...], "epsilon": ..., "delta": ..., "seed": ...}. Answer: {"scores": [...], "seconds": ...}. Its promise
has a delta, unlike ours: (epsilon, delta).
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from interpret.privacy import DPExplainableBoostingClassifier  # noqa: E402


def answer(question):
    train, outcome, test = (np.load(question[k]) for k in ("train", "outcome", "test"))
    started = time.process_time()
    model = DPExplainableBoostingClassifier(
        epsilon=question["epsilon"], delta=question["delta"], random_state=question["seed"], n_jobs=1,
        privacy_bounds=np.array([question["low"], question["high"]]).T, privacy_target_min=0,
        privacy_target_max=1, feature_types=["continuous"] * train.shape[1],
    )  # fmt: skip
    model.fit(np.clip(train, question["low"], question["high"]), outcome)
    scores = model.predict_proba(np.clip(test, question["low"], question["high"]))[:, 1]
    return {"scores": scores.tolist(), "seconds": time.process_time() - started}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
