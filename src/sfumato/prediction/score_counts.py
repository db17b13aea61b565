"""Scores counted by outcome in public bins, and every figure that follows from the counts.

What a model card and a comparison ask of test rows is this table and nothing else, so both cost the same: a
row is in one cell of it. Bins are narrow near 0 and 1, so that scores of a rare outcome are told apart too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_LOW = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4)
EDGES = np.array([*_LOW, 0.5, *(round(1 - e, 3) for e in reversed(_LOW))])
BINS = len(EDGES) - 1
_MIDDLES = (EDGES[:-1] + EDGES[1:]) / 2
_FEWEST = 5  # of either outcome, below which nothing is said of a group


def cells(scores: Floats, outcome: Ints) -> Ints:
    """The cell of each row, of 2 BINS: its bin and its outcome."""
    place = np.clip(np.searchsorted(EDGES, scores, side="right") - 1, 0, BINS - 1)
    return (2 * place + outcome).astype(np.int64)


def counted(cell: Ints, codes: Ints, size: int) -> Ints:
    """The counts of each level of a group, flat: (size * BINS * 2,)."""
    return np.bincount(codes * 2 * BINS + cell, minlength=2 * BINS * size).astype(np.int64)


def figures(table: Ints, scale: float = 0.0) -> dict[str, Any]:
    """What counts (BINS, 2) say of a score. scale: of the noise in each of them.

    Totals are sums of all cells, those below 0 too, so that they are unbiased; only how the rows of an
    outcome are spread over bins takes what is below 0 as 0. Where either outcome has fewer rows than noise
    might have made, nothing is said.
    """
    totals = np.maximum(table.sum(axis=0), 0).astype(np.float64)
    rows = float(totals.sum())
    noise = 3 * scale * np.sqrt(2 * BINS)
    if totals.min() < max(_FEWEST, noise):
        nothing = dict.fromkeys(
            ("rate", "mean_score", "observed_over_predicted", "auroc", "calibration_error")
        )
        return {"rows": rows, **nothing, "too_small_to_say": True}
    spread = np.maximum(table, 0).astype(np.float64)
    counts = spread * totals / np.maximum(spread.sum(axis=0), 1.0)
    above = np.cumsum(counts[::-1, 1])[::-1] - counts[:, 1]
    wins = float((counts[:, 0] * (above + 0.5 * counts[:, 1])).sum())
    predicted = counts.sum(axis=1) * _MIDDLES
    return {
        "rows": rows,
        "rate": float(totals[1] / rows),
        "mean_score": float(predicted.sum() / rows),
        "observed_over_predicted": float(totals[1] / predicted.sum()),
        "auroc": wins / float(totals[0] * totals[1]),
        "calibration_error": float(np.abs(_wide(counts[:, 1]) - _wide(predicted)).sum() / rows),
        "too_small_to_say": False,
    }


def _wide(values: Floats) -> Floats:
    """Sums over ten bins of equal width: the calibration error as everybody states it."""
    found = np.zeros(10)
    np.add.at(found, np.minimum((_MIDDLES * 10).astype(np.int64), 9), values)
    return found


def calibration(table: Ints) -> list[dict[str, Any]]:
    """Of each bin its rows and the rate of the outcome among them."""
    counts = np.maximum(table, 0)
    return [
        {
            "low": float(EDGES[i]),
            "high": float(EDGES[i + 1]),
            "rows": float(counts[i].sum()),
            "rate": float(counts[i, 1] / counts[i].sum()) if counts[i].sum() else None,
        }
        for i in range(BINS)
    ]
