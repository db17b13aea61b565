"""A logistic regression with noise in what is minimized: the mechanism of `PrivateLogistic`, and its proof.

Guarantee: epsilon-DP, adding or removing one row (or one person with at most L rows), for the sum of the
           two grants: e for the noise in the objective, e_r for the rounding.

The ideal mechanism. Rows have x in R^d as basis.py promises, |x|^2 <= d_l + F_b =: B, and y in {0, 1}. With
o, gamma and the law of V public,

    theta(V) = argmin  sum_i l(o + x_i'theta, y_i)  +  gamma/2 |theta|^2  +  V'theta          (1)

l the loss of loss.py of sharpness m, with slope G and curvature G' at s = (o + x'theta)(1 - 2y), what speaks
against what was observed. (1) is strictly convex with a unique minimum, where its gradient is zero:

    V = -sum_i (1 - 2 y_i) G(s_i) x_i - gamma theta                                            (2)

so V -> theta is one-to-one and onto R^d, and both ways it has continuous derivatives, as G has. The density
of theta is that of V at (2) times |det dV/dtheta| = det(H + gamma I), H = sum G'(s_i) x_i x_i'.

One row more, at any theta; u = G(s) of that row, in (0, 1).
(a) V changes by u x or -u x: by at most u in each coordinate that is not one-hot; in L1 by at most u F_b
    over the one-hot ones, of which F_b are not zero.
(b) V = Z + U, where Z is on the lattice h Z^d with P(Z) proportional to exp(-max |Z_l| / b - sum |Z_b| / c)
    (`cube_and_laplace`), and U is uniform on the cell [-h/2, h/2)^d, so V has a density: P(Z) / h^d on the
    cell of Z. This is no approximation: V is continuous, and what it lacks of the smooth law is charged in
    (c).
(c) If V changes by s, its Z changes by at most |s_j| + h in a coordinate with s_j != 0, and not at all
    where s_j = 0. So by (a) the density changes by a factor of at most exp((u + h)/b + F_b (u + h)/c).
    With b and c such that (1 + h)/b + F_b (1 + h)/c <= e this is at most exp(e (u + h)/(1 + h)).
(d) With the row, det(H + gamma I) is multiplied by 1 + G'(s) x'(H + gamma I)^-1 x. As H is not negative
    this is between 1 and 1 + G'(s) B / gamma, and G'(s) <= m (1 - u) by (b) of loss.py. So it is at most
    exp(e (1 - u)/(1 + h)) for gamma >= m B (1 + h)/e.
(e) The density of theta with the row over that without: at most exp of e (u + h + 1 - u)/(1 + h) = e.
    Without over with: (c) alone, as the factor of (d) is not below 1. Both are at most exp(e): what the
    slope leaves of e the curvature takes, and all of e goes into the noise.
(f) L rows more: b, c and gamma for e/L. Each row then costs at most e/L by (e), with any rows before it.

The machine's. It has Z, not U, finds a theta-hat that is near theta(Z + U), and publishes

    clip(theta-hat) rounded to the grid w Z^d, + discrete Laplace noise (in w)                  (3)

(g) (1) is gamma-strongly convex: |theta-hat - theta(Z + U)|_2 <= |its gradient at theta-hat| / gamma
    <= (tau + h sqrt(d)/2)/gamma =: r, where tau bounds the gradient for Z (solver.py, with every rounding
    error) and the rest is U. tau, so r, is public, whatever the rows: see (i).
(h) Clipping brings no two points further apart. Two numbers at distance t round to whole numbers at
    distance at most t + 1: so (3) before its noise is, in L1, at most D = sqrt(d) r / w + d grid steps
    away from what the ideal theta would give. Noise of scale 2D/e_r: the law of (3) is within exp(e_r/2)
    of (3) made from the ideal theta; that one changes by exp(e) with a row, as it is post-processing; and
    back to the machine's with the row, exp(e_r/2). Together e + e_r.
(i) No branch that can fail depends on the rows: where floats do not reach tau the solver goes on in
    decimals of more and more digits. Time is not published.

Assumes:   that o, the basis, tau and the share of the cube are public or were paid for before; that no
           person has more than L rows; that exp of the machine is right to 8 units in the last place.
Tested by: tests/prediction/test_objective.py: (a), (c), (d) and (e) on random, empty and one-row tables
           with x in the corners, and that half of gamma is caught; (g), (h);
           tests/prediction/test_objective_law.py: the law of (3), counted out on a coarse lattice;
           tests/prediction/test_loss.py;
           tests/prediction/test_logistic_audit.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.features.grid import Codes
from sfumato.prediction.basis import Basis
from sfumato.prediction.loss import SteepLoss
from sfumato.prediction.solver import LogisticObjective, minimize
from sfumato.privacy.grants import Grant
from sfumato.privacy.lattice import cube_and_laplace
from sfumato.privacy.noise import laplace
from sfumato.privacy.rounding import sqrt_up

Floats = NDArray[np.float64]
CELL = Fraction(1, 2**30)  # h: the lattice of V
GRID = Fraction(1, 2**40)  # w: the grid of what is published
LARGEST = 2**10  # coefficients are clipped there: e^1024 is no odds
_TOLERANCE = Fraction(1, 2**26)  # tau for each coordinate and 2^16 rows: more of them make more errors


@dataclass(frozen=True)
class Perturbation:
    """The public numbers of the mechanism, from public numbers alone.

    width, linear, one_hot: d, d_l, F_b. most: L. epsilon: e, of the noise in the objective. rows: as
    declared or noised; it sets tau and nothing else. sharpness: m, of the loss.
    """

    width: int
    linear: int
    one_hot: int
    epsilon: Fraction
    rows: float
    most: int = 1
    sharpness: int = 1

    @property
    def gamma(self) -> float:
        """m B L (1 + h)/e, rounded up: (d) and (f)."""
        wanted = self.sharpness * (self.linear + self.one_hot) * self.most * (1 + CELL) / self.epsilon
        found = float(wanted)
        return found if Fraction(found) >= wanted else math.nextafter(found, math.inf)

    @property
    def loss(self) -> SteepLoss:
        """l of (1)."""
        return SteepLoss(self.sharpness)

    @property
    def share(self) -> Fraction:
        """The part of e that the cube gets, by d_l and F_b alone: noise of both blocks grows with them."""
        if not self.one_hot:
            return Fraction(1)
        return Fraction(self.linear, self.linear + 2 * self.one_hot)

    @property
    def sensitivities(self) -> tuple[int, int]:
        """S and T of `cube_and_laplace`, in cells: (1 + h)/h and F_b (1 + h)/h, for L rows: (c) and (f)."""
        steps = int(1 / CELL) + 1
        return self.most * steps, max(self.most * self.one_hot * steps, 1)

    @property
    def tolerance(self) -> Fraction:
        """tau."""
        return _TOLERANCE * self.width * max(1, math.ceil(self.rows / 2**16))

    @property
    def drift(self) -> int:
        """2 D: how far in L1 and grid steps two neighbours may be from their ideal ones, together: (h)."""
        root = Fraction(sqrt_up(self.width))
        radius = (self.tolerance + CELL * root / 2) / Fraction(self.gamma)
        return 2 * (math.ceil(root * radius / GRID) + self.width)


@dataclass(frozen=True, eq=False)
class PublishedFit:
    """What (3) gives. coefficients: on the grid. sigma: of V, (d,). rounding: sigma of the noise of (3)."""

    coefficients: Floats
    sigma: Floats
    rounding: float


def published(
    basis: Basis, codes: Codes, outcome: Codes, offset: float, law: Perturbation, grants: tuple[Grant, Grant]
) -> PublishedFit:
    """The coefficients, for a grant of e and one of e_r. The first must not be below `law.epsilon`."""
    hot = basis.is_one_hot
    cells = (int((~hot).sum()), int(hot.sum()))
    cube, other = cube_and_laplace(cells, law.sensitivities, law.share, grants[0])
    noise = np.empty(basis.width, dtype=object)
    noise[~hot], noise[hot] = cube.values, other.values
    cell = float(CELL)
    problem = LogisticObjective(
        basis, codes, outcome, offset, law.gamma, np.array([Fraction(int(z)) * CELL for z in noise]), law.loss
    )
    found = minimize(problem, law.tolerance)
    steps = np.array([_on_grid(theta) for theta in found], dtype=np.int64)
    noisy = laplace(steps, law.drift, grants[1])
    sigma = np.where(hot, other.sigma, cube.sigma) * cell
    grid = float(GRID)
    return PublishedFit(noisy.values.astype(np.float64) * grid, sigma, noisy.sigma * grid)


def _on_grid(theta: Fraction) -> int:
    """The nearest number of grid steps, clipped: (3)."""
    return round(min(max(theta, Fraction(-LARGEST)), Fraction(LARGEST)) / GRID)
