"""The loss of `PrivateLogistic`: no steeper than 1 anywhere, and more curved than the log-loss.

Noise in the objective (objective.py) has to hide the slope of one row's loss, at most 1, and moves the
coefficients by about noise over curvature. The log-loss wastes room: a row whose slope is u costs
1 - (1 - u)^2 of epsilon and could cost 1. This one uses all of it. With s the log-odds *against* what was
observed (the score if the outcome is 0, minus the score if it is 1) its slope is

    G(s) = e^s - e^((m+1) s) / (2m + 1)   for s < 0,      1 - e^(-m s) / (2m + 1)   for s >= 0          (1)

m = 1 or 2, the sharpness. What is used of it, each line a test:
(a) 0 < G < 1, and G is continuous with a continuous derivative: m/(2m + 1) from both sides of 0.
(b) 0 < G' <= m (1 - G): for s >= 0 both are equal; for s < 0 the difference is
    m - (m + 1) e^s + e^((m+1) s), which falls to 0 at s = 0. The log-loss has G' = G (1 - G).
(c) G(s) = e^s G(-s): where the outcome is 1 with log-odds s, slopes cancel on average. So the score that
    minimizes it is the log-odds, as with the log-loss; rows only weigh differently.
(d) G' <= 1/2; and on average over outcomes the curvature is G(s)/(1 + e^s), at most m/(2m + 1), at s = 0.
    The log-loss has 1/4 there: at m = 1 a third more curvature for the same noise, at m = 2 six tenths.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SteepLoss:
    """(1). sharpness: m."""

    sharpness: int = 1

    def __post_init__(self) -> None:
        if self.sharpness not in (1, 2):  # (d) was shown for these
            raise ParameterError("the sharpness of a loss is 1 or 2.", hint="SteepLoss(1)")

    @property
    def steepest_curvature(self) -> Fraction:
        """The largest curvature on average over outcomes: (d)."""
        return Fraction(self.sharpness, 2 * self.sharpness + 1)

    def slope(self, against: Floats) -> Floats:
        """G, in floats: for an s that is exact it errs by at most 16 units of 2^-53.

        exp errs by 16 units of itself, which (1) multiplies by G' <= 1/2; powers, quotient, difference and
        product add at most one unit each.
        """
        small = np.exp(-np.abs(against))
        rest = 1 - small**self.sharpness / (2 * self.sharpness + 1)
        found: Floats = np.where(against < 0, small * rest, rest)
        return found

    def curvature(self, against: Floats) -> Floats:
        """G', in floats."""
        m, small = self.sharpness, np.exp(-np.abs(against))
        power = small**m / (2 * m + 1)
        found: Floats = np.where(against < 0, small * (1 - (m + 1) * power), m * power)
        return found

    def usual_curvature(self, scores: Floats) -> Floats:
        """The curvature on average over outcomes, for rows with these log-odds: (d)."""
        small = np.exp(-np.abs(scores))
        found: Floats = small * (1 - small**self.sharpness / (2 * self.sharpness + 1)) / (1 + small)
        return found

    def exact_slope(self, against: Decimal) -> Decimal:
        """G, in as many digits as decimals have where it is called."""
        small = (-abs(against)).exp()
        rest = 1 - small**self.sharpness / (2 * self.sharpness + 1)
        return small * rest if against < 0 else rest
