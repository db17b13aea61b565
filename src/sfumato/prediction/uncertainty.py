"""How far noise may have moved a fitted score: from sums that were paid for, never from rows for free.

A fit without noise would have had theta_0; the noise V moved it by about -H^-1 V, H the curvature of the
objective (objective.py), so that Var(theta) = H^-1 S H^-1 with S the known variances of V. H is private.
What is bought of it are the sums W = sum w, A_j = sum w x_j and Q_j = sum w x_j^2 over rows, w = p(1 - p)
<= 1/4 at the published score, with cube noise: H ~ gamma I + A A'/W + diag(Q - A^2/W), each coordinate's
own curvature and what all share with the intercept. Dependence among features is not asked for (its noise
would grow with the square of their number): `DEPENDENCE` widens all intervals for it.

Guarantee: of `bought`, grant.epsilon-DP.
Because:   each of its 2d - 1 sums changes by at most 1/4 with a row: 2^10/4 of the steps that are summed,
           and half a step for rounding a row's term; L rows by L times that; cube noise.
Assumes:   that the coefficients were published before.
Tested by: tests/prediction/test_uncertainty.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.prediction.basis import Basis
from sfumato.prediction.grid import Codes
from sfumato.prediction.objective import Published
from sfumato.privacy.grants import Grant
from sfumato.privacy.lattice import cube

Floats = NDArray[np.float64]
DEPENDENCE = (
    1.15  # by which intervals are widened: features that depend on each other are harder to tell apart
)
_STEPS = 2**10  # of a row's term


def bought(
    basis: Basis, codes: Codes, scores: Floats, most: int, found: Published, gamma: float, grant: Grant
) -> Floats:
    """The covariance of the coefficients, (d, d), from sums with noise. scores: the log-odds of each row."""
    d = basis.width
    sums = np.zeros(2 * d - 1, dtype=np.int64)
    weights = np.exp(-np.abs(scores)) / (1 + np.exp(-np.abs(scores))) ** 2
    for place, x in basis.parts(codes):
        w = weights[place, None]
        terms = np.hstack([w * x, w * x[:, 1:] ** 2])
        sums += np.rint(terms * _STEPS).astype(np.int64).sum(axis=0)
    noisy = cube(sums, most * (_STEPS // 4 + 1), grant)
    values, sigma = noisy.values.astype(np.float64) / _STEPS, noisy.sigma / _STEPS
    return _covariance(values, sigma, found, gamma)


def _covariance(values: Floats, sigma: float, found: Published, gamma: float) -> Floats:
    """Of less curvature than was counted by its noise: intervals are rather too wide than too narrow."""
    d = len(found.coefficients)
    total = max(values[0] - sigma, 0.0)
    means = np.clip(values[:d] / max(values[0], 1.0), -1.0, 1.0) if total else np.zeros(d)
    means[0] = 1.0
    squares = np.clip(np.append(values[0], values[d:]) - sigma, 0.0, max(values[0], 0.0))
    own = np.maximum(squares - total * means**2, 0.0)
    curvature = gamma * np.eye(d) + total * np.outer(means, means) + np.diag(own)
    inverse = np.linalg.inv(curvature)
    covariance: Floats = DEPENDENCE**2 * inverse @ np.diag(found.sigma**2) @ inverse
    return covariance + np.eye(d) * found.rounding**2
