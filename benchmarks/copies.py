"""Rows that repeat people's: trees on Adult without the guard and with it, and what the guard costs.

Real data by SFUMATO_DATA (24,129 rows to learn from, 6,033 of other people). Wanted: with the guard, rows
that equal one of the data are at most 1.1 times as many as of other people's rows, and the AUC of boosting
trained on the rows falls by at most .005. --seeds, --engine.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from private import Case, area, codes_of, distance

import sfumato as sf


def share(rows: Any, known: set[bytes]) -> float:
    """Of rows that are known."""
    return float(np.mean([r.tobytes() in known for r in np.ascontiguousarray(rows.T)]))


def main() -> None:
    """Fit and draw, and print copies, distances of pairs and triples, AUC and CPU seconds."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--engine", default="trees")
    asked = options.parse_args()
    folder = os.environ.get("SFUMATO_DATA", "")
    if not folder:
        print("  SFUMATO_DATA is not set: no real data here")
        return
    case = Case("adult", Path(folder))
    truth, test = codes_of(case.train), codes_of(case.test)
    known = {r.tobytes() for r in np.ascontiguousarray(truth.T)}
    print(f"  of other people's rows {share(test, known):.3f} equal one of the data; AUC of real rows "
          f"{area(truth, test):.4f}")  # fmt: skip
    for label, settings in (
        ("as drawn", {}),
        ("with the guard", {"reject_copies": True}),
        ("with the guard, not proper", {"reject_copies": True, "proper": False}),
    ):
        figures = []
        for seed in range(11, 11 + asked.seeds):
            start = time.process_time()
            method = sf.MultipleImputation(asked.engine, **settings)  # type: ignore[arg-type]
            rows = codes_of(method.fit(case.train).sample(truth.shape[1], seed=seed).data)
            seconds = time.process_time() - start
            figures.append((share(rows, known), *(distance(truth, rows, case.sizes, w) for w in (2, 3)),
                            area(rows, test), seconds))  # fmt: skip
        copies, pairs, triples, auc, seconds = np.mean(figures, axis=0)
        print(f"  {asked.engine}, {label:27s} copies {copies:.3f}  pairs {pairs:.4f}  triples {triples:.4f}  "
              f"AUC {auc:.4f}  {seconds:.1f} CPU s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
