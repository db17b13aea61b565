"""diffprivlib's random forest: scores for test rows, and the CPU seconds they took.

Question: {"train": file.npy of (rows, features), "outcome": file.npy, "test": file.npy, "low": [...],
"high": [...], "epsilon": ..., "trees": ..., "depth": ..., "seed": ...}. Answer: {"scores": [...], "seconds": ...}.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from diffprivlib.models import RandomForestClassifier  # noqa: E402


def answer(question):
    train, outcome, test = (np.load(question[k]) for k in ("train", "outcome", "test"))
    started = time.process_time()
    model = RandomForestClassifier(
        n_estimators=question["trees"], max_depth=question["depth"], epsilon=question["epsilon"],
        bounds=(np.array(question["low"]), np.array(question["high"])), classes=[0, 1],
        random_state=question["seed"], n_jobs=1,
    )  # fmt: skip
    model.fit(np.clip(train, question["low"], question["high"]), outcome)
    scores = model.predict_proba(np.clip(test, question["low"], question["high"]))[:, 1]
    return {"scores": scores.tolist(), "seconds": time.process_time() - started}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
