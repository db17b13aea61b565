"""How often intervals of PrivateLogistic cover the fit without noise: Pima, BRFSS 2015, Adult, diabetes130.

python experiments/private_intervals.py [--quick] [--repeats N] [--out DIR] [--only NAME]

Of each split and epsilon one fit with intervals; beside it the same objective is minimized without noise,
which nobody can publish. Covered is the share of test rows whose score without noise lies in its 90%
interval. Rows of one fit are covered together or not at all, so the mean over fits is what counts.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from private_scores import EPSILONS, Task, bench, brfss, halves, pima
from shape_output import arguments, table

import sfumato as sf
from sfumato.prediction import objective
from sfumato.prediction.solver import LogisticObjective

ROWS = 1_000  # of each test half
_minimize = objective.minimize


def both(fitted: dict[str, Any]) -> Any:
    """The solver, which also notes what it finds without noise."""

    def found(problem: LogisticObjective, tolerance: Fraction) -> Any:
        silent = replace(problem, noise=np.array([Fraction(0)] * len(problem.noise), dtype=object))
        fitted["theta"] = _minimize(silent, tolerance).astype(np.float64)
        fitted["basis"], fitted["offset"] = problem.basis, problem.offset
        return _minimize(problem, tolerance)

    return found


def covered(task: Task, epsilon: float, repeats: int) -> list[float]:
    shares = []
    for train, test in halves(task, repeats):
        fitted: dict[str, Any] = {}
        objective.minimize = both(fitted)
        model = sf.PrivateLogistic(epsilon, intervals=True, anyway=True).fit(train, task.target)
        objective.minimize = _minimize
        codes = model._encoded(test)[:, :ROWS]
        spread = np.array([model.released().spread(c.tolist()) for c in codes.T])
        silent = fitted["offset"] + fitted["basis"].rows(codes) @ fitted["theta"]
        shares.append(float((np.abs(model._log_odds(codes) - silent) <= 1.645 * spread).mean()))
    return shares


def main() -> None:
    given = arguments(__doc__ or "", only="files whose name has this in it")
    warnings.simplefilter("ignore", sf.SfumatoWarning)
    folder = Path(os.environ["SFUMATO_DATA"])
    tasks = [pima(folder)]
    if not given.quick:
        tasks += [
            brfss(folder, 6_000), brfss(folder, 25_000),
            bench(folder, "adult/bench13", "Adult", "income", "sex"),
            bench(folder, "diabetes130/bench14", "diabetes130", "readmit", "gender"),
        ]  # fmt: skip
    rows = []
    for task in [t for t in tasks if given.only in t.name]:
        for epsilon in EPSILONS:
            found = covered(task, epsilon, given.repeats or (2 if given.quick else 40))
            error = float(np.std(found) / len(found) ** 0.5)
            rows.append({"data": task.name, "epsilon": epsilon, "covered": float(np.mean(found)),
                         "standard error": error, "fits": len(found)})  # fmt: skip
            print(rows[-1], flush=True)
    print(table(rows, given.out, "private_intervals"))


if __name__ == "__main__":
    main()
