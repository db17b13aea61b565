"""Estimates from several imputed data sets put together: one estimate, one interval.

With q_i an estimate and u_i its variance in data set i of m, q the mean of the q_i, u that of the u_i, and
b the variance of the q_i between sets:

    missing cells filled (Rubin 1987)        T = u + (1 + 1/m) b
    partially synthetic (Reiter 2003)        T = u + b / m
    wholly synthetic (Raghunathan et al 2003) T = (1 + 1/m) b - u; where that is negative, u
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError

RULES = ("missing", "partial", "whole")


@dataclass(frozen=True)
class Combined:
    """An estimate, its variance, and the degrees of freedom of its t law."""

    estimate: float
    variance: float
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval that covers the truth with this probability, if models and rule hold."""
        from scipy import stats

        if not 0 < level < 1:
            raise ParameterError("level must be between 0 and 1.", hint="interval(0.95)")
        law = stats.norm if math.isinf(self.freedom) else stats.t(self.freedom)
        half = float(law.ppf(0.5 + level / 2)) * math.sqrt(self.variance)
        return self.estimate - half, self.estimate + half


def combine(estimates: Sequence[float], variances: Sequence[float], rule: str) -> Combined:
    """Put the estimates of several data sets together. rule: missing, partial or whole."""
    q, u = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    faults = []
    if rule not in RULES:
        faults.append(f"rule must be {', '.join(RULES)}")
    if q.ndim != 1 or q.shape != u.shape or len(q) < 2:
        faults.append("two or more data sets are needed, an estimate and a variance of each")
    elif not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        faults.append("estimates must be finite, and variances not negative")
    if faults:
        raise ParameterError(f"combine: {'; '.join(faults)}.", hint="combine(means, variances, 'whole')")
    m, within, between = len(q), float(u.mean()), float(q.var(ddof=1))
    extra = between / m if rule == "partial" else (1 + 1 / m) * between
    if rule == "whole":
        total = extra - within
        if total <= 0:  # too few sets to tell; u is on the safe side for sets no larger than the data
            return Combined(float(q.mean()), within, math.inf)
        return Combined(float(q.mean()), total, (m - 1) * (1 - within / extra) ** 2)
    freedom = math.inf if not extra else (m - 1) * (1 + within / extra) ** 2
    return Combined(float(q.mean()), within + extra, freedom)
