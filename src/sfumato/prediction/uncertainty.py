"""How far noise may have moved a fitted score: from sums that were paid for, never from rows for free.

A fit without noise would have had theta_0; the noise V moved it by about -H^-1 V, H the curvature of the
objective (objective.py), so that Var(theta) = H^-1 S H^-1 with S the known variances of V. H is private.
What is bought of it are the sums W = sum w, A_j = sum w x_j and Q_j = sum w x_j^2 over rows, w = p(1 - p)
<= 1/4 at the published score, with cube noise: H ~ gamma I + A A'/W + diag(Q - A^2/W), each coordinate's
own curvature and what all share with the intercept. Dependence among features is not asked for (its noise
would grow with the square of their number): `DEPENDENCE` widens all intervals for it.

Guarantee: of `bought`, grant.epsilon-DP.
Because:   a row adds w x_j and w x_j^2 to the sums of coordinates that are not one-hot, each at most 1/4
           in size: 2^8 of the steps that are summed, and half a step for rounding; that is cube noise's.
           Of one-hot coordinates, where both are the same, it adds at most 1/4 to one of each of F_b
           features: F_b (2^8 + 1/2) steps in L1, Laplace noise's. L rows add L times as much.
           `cube_and_laplace` pays for both blocks.
Assumes:   that the coefficients were published before.
Tested by: tests/prediction/test_uncertainty.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.prediction.basis import Basis
from sfumato.prediction.grid import Codes
from sfumato.prediction.objective import Perturbation, PublishedFit
from sfumato.privacy.grants import Grant
from sfumato.privacy.lattice import cube_and_laplace

Floats = NDArray[np.float64]
DEPENDENCE = (
    1.15  # by which intervals are widened: features that depend on each other are harder to tell apart
)
_STEPS = 2**10  # of a row's term


def bought(
    basis: Basis, codes: Codes, scores: Floats, law: Perturbation, found: PublishedFit, grant: Grant
) -> Floats:
    """The covariance of the coefficients, (d, d), from sums with noise. scores: the log-odds of each row."""
    hot = basis.is_one_hot
    linear = int((~hot).sum())
    weights = np.exp(-np.abs(scores)) / (1 + np.exp(-np.abs(scores))) ** 2
    sums = np.zeros(2 * linear - 1 + int(hot.sum()), dtype=np.int64)
    for place, x in basis.parts(codes):
        w = weights[place, None]
        terms = np.hstack([w * x[:, ~hot], w * x[:, ~hot][:, 1:] ** 2, w * x[:, hot]])
        sums += np.rint(terms * _STEPS).astype(np.int64).sum(axis=0)
    most_steps = law.most * (_STEPS // 4 + 1)
    cube, other = cube_and_laplace(
        (2 * linear - 1, int(hot.sum())), (most_steps, max(basis.one_hot_features, 1) * most_steps),
        law.share, grant,
    )  # fmt: skip
    noisy = (sums + np.concatenate([cube.values, other.values])).astype(np.float64) / _STEPS
    means, squares = np.empty(basis.width), np.empty(basis.width)
    means[~hot], squares[~hot] = noisy[:linear], np.append(noisy[0], noisy[linear : 2 * linear - 1])
    means[hot] = squares[hot] = noisy[2 * linear - 1 :]
    sigma = np.where(hot, other.sigma, cube.sigma) / _STEPS
    return _covariance(means, squares, sigma, found, law.gamma)


def _covariance(means: Floats, squares: Floats, sigma: Floats, found: PublishedFit, gamma: float) -> Floats:
    """Of less curvature than was counted, by a quarter of its noise: rather too wide than too narrow."""
    d = len(means)
    total = max(float(means[0] - sigma[0] / 4), 0.0)
    centre = np.clip(means / max(means[0], 1.0), -1.0, 1.0) if total else np.zeros(d)
    centre[0] = 1.0
    own = np.clip(squares - sigma / 4, 0.0, max(means[0], 0.0)) - total * centre**2
    curvature = gamma * np.eye(d) + total * np.outer(centre, centre) + np.diag(np.maximum(own, 0.0))
    inverse = np.linalg.inv(curvature)
    covariance: Floats = DEPENDENCE**2 * inverse @ np.diag(found.sigma**2) @ inverse
    return covariance + np.eye(d) * found.rounding**2
