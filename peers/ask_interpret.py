"""DP-EBM of interpret: scores of all rows for each split and epsilon, and the CPU seconds it took.

Question: {"features": file.npy of (rows, features), "outcome": file.npy, "train": file.npy of (splits, rows),
true for rows to learn from, "low": [...], "high": [...], "epsilons": [...],
"delta": ..., "out": file.npy}. Answer: {"seconds": ...}; the scores, (epsilons, splits, rows), are
in `out`. Its promise has a delta, unlike ours.
"""

import warnings

import numpy as np
from splits import serve

warnings.filterwarnings("ignore")
from interpret.privacy import DPExplainableBoostingClassifier  # noqa: E402


def model(question, epsilon, seed):
    return DPExplainableBoostingClassifier(
        epsilon=epsilon, delta=question["delta"], random_state=seed, n_jobs=1,
        privacy_bounds=np.array([question["low"], question["high"]]).T,
        feature_types=["continuous"] * len(question["low"]),
    )  # fmt: skip


if __name__ == "__main__":
    serve(model)
