"""One conclusion from several synthetic or imputed files: combining rules.

For m files with estimates q_i and their variances v_i: q-bar their mean, b the variance between them, v-bar
the mean variance within. Fully synthetic (Raghunathan, Reiter and Rubin 2003): T_s = (1 + 1/m) b - v-bar,
which can be negative; then the non-negative variant v-bar * (rows of a synthetic file / rows of the
original) is taken. Partially synthetic (Reiter 2003): T_p = b / m + v-bar. Missing cells filled (Rubin 1987):
T_m = (1 + 1/m) b + v-bar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ParameterError


@dataclass(frozen=True)
class Combined:
    """The combined estimate. variance: T; df: degrees of freedom of its t law (infinite: normal).

    non_negative: whether T_s was negative and the variant was taken.
    """

    estimate: float
    variance: float
    df: float
    between: float
    within: float
    non_negative: bool = False

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The interval at this confidence."""
        from scipy import stats

        if not 0 < confidence < 1:
            raise ParameterError("confidence must be between 0 and 1.", hint="confidence=0.95")
        tail = (1 + confidence) / 2
        reach = stats.norm.ppf(tail) if math.isinf(self.df) else stats.t.ppf(tail, self.df)
        half = float(reach) * math.sqrt(self.variance)
        return self.estimate - half, self.estimate + half


def combine_estimates(
    estimates: ArrayLike,
    variances: ArrayLike,
    *,
    kind: Literal["fully", "partially", "missing"] = "fully",
    size_ratio: float = 1.0,
) -> Combined:
    """Combine the estimates of several files made from the same original.

    kind: what was drawn: all cells, those of some columns or rows, or the missing ones.
    size_ratio: rows of one synthetic file / rows of the original, for the non-negative variant.

    >>> found = sf.combine_estimates([10.1, 9.9, 10.0, 10.2, 9.8], [0.08, 0.09, 0.08, 0.09, 0.08])
    >>> round(found.estimate, 2)
    10.0
    >>> [round(end, 2) for end in found.interval(0.95)]
    [9.43, 10.57]
    """
    q, v = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    faults = []
    if q.ndim != 1 or q.shape != v.shape or len(q) < 2:
        faults.append("estimates and variances are lists of the same length, two at least")
    elif not (np.isfinite(q).all() and np.isfinite(v).all() and (v >= 0).all()):
        faults.append("estimates are finite, variances finite and not negative")
    if kind not in ("fully", "partially", "missing"):
        faults.append("kind is fully, partially or missing")
    if not size_ratio > 0:
        faults.append("size_ratio is positive")
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="combine_estimates([1.0, 1.2], [0.1, 0.1])")
    m, mean, between, within = len(q), float(q.mean()), float(q.var(ddof=1)), float(v.mean())
    if kind != "fully":
        extra = between / m if kind == "partially" else (1 + 1 / m) * between
        df = (m - 1) * (1 + within / extra) ** 2 if extra > 0 else math.inf
        return Combined(mean, within + extra, df, between, within)
    variance = (1 + 1 / m) * between - within
    if variance <= 0:
        return Combined(mean, size_ratio * within, math.inf, between, within, non_negative=True)
    df = (m - 1) * (1 - within / ((1 + 1 / m) * between)) ** 2
    return Combined(mean, variance, df, between, within)
