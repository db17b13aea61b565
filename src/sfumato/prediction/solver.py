"""The minimum of a perturbed logistic objective, with a proof that it is near: point (g) of objective.py.

    minimize(problem, tolerance)      # theta, and |gradient at theta|_2 <= tolerance for certain

Newton's method in floats; each gradient comes with a bound of its own rounding errors. Where the bound is
not below the tolerance, whatever the reason, the same sums are made in decimals of more digits, and more,
until it is: the minimum exists, so this ends. Nothing here fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.features.grid import Codes
from sfumato.prediction.basis import Basis
from sfumato.prediction.loss import SteepLoss

Floats = NDArray[np.float64]
Exact = NDArray[np.object_]  # of fractions

_UNIT = 2.0**-53  # the relative error of one operation on floats
_STEPS = 60  # of Newton in floats; ten are usual
_EXP = 16  # units by which a computed slope may be wrong for an exact score: loss.py
_FIRST_DIGITS = 40
_SUMMED = 256  # rows that are summed in floats; sums over such parts are exact
_KEPT = 2**25  # coordinates of all rows that are kept in memory


@dataclass(frozen=True, eq=False)
class LogisticObjective:
    """sum_i l(offset + x_i'theta, y_i) + gamma/2 |theta|^2 + noise'theta, l the loss.

    codes: (features, rows) for `basis`; outcome: 0 or 1, (rows,); noise: exact fractions, (d,).
    """

    basis: Basis
    codes: Codes
    outcome: Codes
    offset: float
    gamma: float
    noise: Exact
    loss: SteepLoss

    def gradient(self, theta: Floats) -> tuple[Floats, float]:
        """The gradient in floats, and a bound of the L2 norm of the true one.

        Of a coordinate: sums over at most k = 256 rows of products with |x| <= 1 and a slope of at most 1
        err by k^2 units at most, in any order; sums over parts (fsum) by one rounding; a score errs by
        (d + 2)(|o| + |theta|_1) units, the slope by half of that and `_EXP` units more.
        """
        parts: list[Floats] = []
        for place, x in self._parts():
            sign = self._signs[place]
            parts.append(_summed(sign * self.loss.slope(sign * (self.offset + x @ theta)), x))
        return self._bounded(theta, np.vstack(parts) if parts else np.empty((0, len(theta))))

    def _bounded(self, theta: Floats, parts: Floats) -> tuple[Floats, float]:
        d, rows = len(theta), len(self.outcome)
        noise = self.noise.astype(np.float64)
        found = np.array(
            [math.fsum([*parts[:, j], self.gamma * theta[j], noise[j]]) for j in range(d)], dtype=np.float64
        )
        score = (d + 2) * (abs(self.offset) + float(np.abs(theta).sum()))
        per_row = min(rows, _SUMMED) + score / 2 + _EXP
        other = float((np.abs(self.gamma * theta) + np.abs(noise) + np.abs(found)).max())
        error = (rows * per_row + other) * _UNIT * 1.01 + 1e-300
        return found, (float(np.linalg.norm(found)) + math.sqrt(d) * error) * (1 + 1e-12)

    def _parts(self) -> Iterable[tuple[slice, Floats]]:
        if self.basis.width * len(self.outcome) > _KEPT:
            return self.basis.parts(self.codes)
        return self._kept

    @cached_property
    def _kept(self) -> list[tuple[slice, Floats]]:
        return list(self.basis.parts(self.codes))

    @cached_property
    def _signs(self) -> Floats:
        """Of each row 1 if its outcome is 0, else -1: times its score, how much speaks against it."""
        return np.where(self.outcome == 1, -1.0, 1.0)

    def hessian(self, theta: Floats) -> Floats:
        """H + gamma I in floats: it leads the search, and nothing rests on it."""
        total = self.gamma * np.eye(len(theta))
        for place, x in self._parts():
            bend = self.loss.curvature(self._signs[place] * (self.offset + x @ theta))
            total += (x * bend[:, None]).T @ x
        return total

    def exact_gradient(self, theta: Exact, digits: int) -> tuple[Exact, Fraction]:
        """As `gradient`, in decimals of so many digits."""
        d, rows = len(theta), len(self.outcome)
        with localcontext(Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)):
            at = np.array([_decimal(t) for t in theta], dtype=object)
            offset = Decimal(self.offset)  # exactly
            total = np.array([Decimal(0)] * d, dtype=object)
            for place, x in self._parts():
                wide = np.array([[Decimal(v) for v in row] for row in x.tolist()], dtype=object)
                signs = [-1 if y else 1 for y in self.outcome[place]]
                scores = wide @ at + offset
                slopes = [i * self.loss.exact_slope(i * s) for i, s in zip(signs, scores, strict=True)]
                total = total + np.array(slopes, dtype=object) @ wide
            sums = [Fraction(t) for t in total]
        gamma = Fraction(self.gamma)
        found = np.array([s + gamma * t + z for s, t, z in zip(sums, theta, self.noise, strict=True)])
        unit = Fraction(1, 10 ** (digits - 1))
        score = (d + 3) * (abs(Fraction(self.offset)) + sum(abs(t) for t in theta))
        error = rows * (rows + score / 2 + _EXP) * unit * Fraction(11, 10)
        return found, _norm(found) + error * (math.isqrt(d) + 1)


def minimize(problem: LogisticObjective, tolerance: Fraction) -> Exact:
    """theta with |gradient|_2 <= tolerance, as exact fractions."""
    with np.errstate(over="ignore", invalid="ignore"):
        theta, bound = _in_floats(problem, float(tolerance) * 0.99)
    if bound <= float(tolerance) * 0.99:
        return np.array([Fraction(float(t)) for t in theta], dtype=object)
    return _in_decimals(problem, theta, tolerance)


def _in_floats(problem: LogisticObjective, tolerance: float) -> tuple[Floats, float]:
    """Newton's method; a step that does not shorten the gradient is halved, then taken safely."""
    theta = np.zeros(problem.basis.width)
    gradient, bound = problem.gradient(theta)
    for _ in range(_STEPS):
        if bound <= tolerance or not np.isfinite(bound):
            break
        try:
            step = np.linalg.solve(problem.hessian(theta), gradient)
        except np.linalg.LinAlgError:  # in floats, at a vast epsilon: decimals go on from here
            break
        size = 1.0
        for _ in range(20):
            tried, reached = problem.gradient(theta - size * step)
            if reached < bound:
                break
            size /= 2
        else:
            break
        theta, gradient, bound = theta - size * step, tried, reached
    if not np.isfinite(theta).all():
        theta = np.zeros_like(theta)
    return theta, bound


def _in_decimals(problem: LogisticObjective, start: Floats, tolerance: Fraction) -> Exact:
    """Steps with the float Hessian on gradients of more and more digits.

    A step that does not lower |gradient| is replaced by one down the gradient over rows d/2 + gamma, the
    largest curvature there can be: that one always does, and brings theta nearer by a factor below 1.
    """
    theta = np.array([Fraction(float(t)) for t in start], dtype=object)
    steepest = Fraction(problem.gamma) + Fraction(len(problem.outcome) * len(theta), 2)
    digits = _FIRST_DIGITS
    gradient, bound = problem.exact_gradient(theta, digits)
    while bound > tolerance:
        if bound > 2 * _norm(gradient):  # more of it is rounding error than not
            digits *= 2
            gradient, bound = problem.exact_gradient(theta, digits)
            continue
        tried = _short(theta - _float_step(problem, theta, gradient), digits)
        ahead = problem.exact_gradient(tried, digits)
        if ahead[1] >= bound:
            tried = _short(theta - gradient / steepest, digits)
            ahead = problem.exact_gradient(tried, digits)
        theta, (gradient, bound) = tried, ahead
    return theta


def _float_step(problem: LogisticObjective, theta: Exact, gradient: Exact) -> Exact:
    scale = max(abs(g) for g in gradient) or Fraction(1)
    direction = np.array([float(g / scale) for g in gradient])
    at = np.array([float(max(min(t, Fraction(10) ** 300), -(Fraction(10) ** 300))) for t in theta])
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            step = np.linalg.solve(problem.hessian(at), direction)
        except np.linalg.LinAlgError:
            step = np.full(len(direction), np.nan)
    if not np.isfinite(step).all():
        return np.array([Fraction(0)] * len(theta), dtype=object)
    return np.array([Fraction(float(s)) * scale for s in step], dtype=object)


def _summed(residual: Floats, x: Floats) -> Floats:
    """Of each 256 rows the sum of residual times x, (parts, d)."""
    whole = len(x) // _SUMMED * _SUMMED
    blocks = np.matmul(residual[:whole].reshape(-1, 1, _SUMMED), x[:whole].reshape(-1, _SUMMED, x.shape[1]))
    return np.vstack([blocks[:, 0, :], residual[whole:] @ x[whole:]])


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _short(numbers: Exact, digits: int) -> Exact:
    """The numbers with so many digits, so that fractions do not grow from step to step."""
    with localcontext(Context(prec=digits)):
        return np.array([Fraction(_decimal(n)) for n in numbers], dtype=object)


def _norm(vector: Exact) -> Fraction:
    """The L2 norm, rounded up, right to a hundred bits."""
    total = sum((v * v for v in vector), Fraction(0))
    if not total:
        return Fraction(0)
    shift = 100 - (total.numerator.bit_length() - total.denominator.bit_length()) // 2
    return (math.isqrt(math.ceil(total * Fraction(4) ** shift)) + 1) / Fraction(2) ** shift
