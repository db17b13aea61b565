"""diffprivlib's random forest: scores of all rows for each split and epsilon, and the CPU seconds it took.

Question: {"features": file.npy of (rows, features), "outcome": file.npy, "train": file.npy of (splits, rows),
true for rows to learn from, "low": [...], "high": [...], "epsilons": [...],
"trees": ..., "depth": ..., "out": file.npy}. Answer: {"seconds": ...}; the scores, (epsilons, splits, rows),
are in `out`.
"""

import warnings

import numpy as np
from splits import serve

warnings.filterwarnings("ignore")
from diffprivlib.models import RandomForestClassifier  # noqa: E402


def model(question, epsilon, seed):
    return RandomForestClassifier(
        n_estimators=question["trees"], max_depth=question["depth"], epsilon=epsilon,
        bounds=(np.array(question["low"]), np.array(question["high"])), classes=[0, 1], random_state=seed,
        n_jobs=1,
    )  # fmt: skip


if __name__ == "__main__":
    serve(model)
