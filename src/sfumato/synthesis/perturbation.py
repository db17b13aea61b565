"""How much prior a promise takes, and what a prior costs: Eq. (8) and (9) of PeGS in whole numbers.

A visit to variable i draws category j with probability w_j / W, where w_j = unit * n_j + a_j and W is their
sum over the categories that are possible there. `unit` and the a_j are whole numbers that do not depend on
the data, n_j counts rows (in parts, where rows are weighted or spread to neighbouring levels).

Guarantee: one visit costs at most log(1 + top / a), with top = unit * the most that one row adds to one
           n_j and a = min_j a_j, for adding or removing a row and for replacing one. After a reset a law
           holds no data, so in a block only the first visit to a key costs: for adding or removing a row
           the sum over the M variables of one visit; for replacing one, which changes two keys of each
           table, the sum of log(1 + top / a) + log(1 + mass / (C a)), with mass = unit * all that a row
           adds and C the fewest categories that are possible. Where laws are restricted or rows are
           weighted, replacing a row may change w_j and W of one law at once, and this sum holds for every
           visit.
Because:   with the row, w_j grows by at most top and W by at most mass, and none gets smaller: the ratio of
           the two probabilities is at most (w_j + top) / w_j <= 1 + top / a, and at least W / (W + mass)
           >= 1 / (1 + mass / (C a)), where top >= mass / C. Given the same output, both runs visit the same
           keys; seeds depend on no data.
Assumes:   categories, constraints, parents and prior are public or paid for; the key stays secret.
Tested by: tests/synthesis/test_exact_law.py, tests/synthesis/test_audit.py

With the weights above one row adds at most 1 to n_j and alpha = a / unit, so that the cost of M visits is
M log(1 + 1/alpha) and Eq. (8) follows. a is rounded up, which costs nothing but a little accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.privacy.rounding import exact, up

MAX_ROWS = 2**40  # counts above are refused: sums of weights must fit 63 bits
_UNIT_BITS = 22  # unit * most that a row adds in all, at most
_LARGEST_A = 2**44
_DECIMAL = Context(prec=60)


def dirichlet_alpha(epsilon: float, variables: int) -> float:
    """PeGS Eq. (8): alpha = 1 / (exp(epsilon / M) - 1), for one released row."""
    if not (math.isfinite(epsilon) and epsilon > 0) or variables < 1:
        raise ParameterError("epsilon must be positive, with one variable or more.", hint="e.g. 1.0 and 13")
    return 1 / math.expm1(epsilon / variables)


@dataclass(frozen=True)
class OrdinalSmoothing:
    """How a row's count is shared among the levels of an ordered column: ordinal smoothing.

    shares: (C, C) whole numbers; column k is where a row of level k is counted. They sum to `whole`.
    """

    shares: NDArray[np.int64]
    whole: int

    @property
    def top(self) -> int:
        """The most that a row adds to one level."""
        return int(self.shares.max())

    @classmethod
    def none(cls) -> OrdinalSmoothing:
        """Each row where it is; the shares are not written out."""
        return cls(np.ones((1, 1), np.int64), 1)

    @classmethod
    def neighbours(cls, size: int, ordered: int, sixteenths: int) -> OrdinalSmoothing:
        """`sixteenths`/16 of a row go to the next levels, half of it to each side; the first `ordered`
        levels are in order, what comes after (missing) stays where it is. At an end that half stays.
        """
        shares = np.zeros((size, size), np.int64)
        for k in range(size):
            shares[k, k] = 32
            for j in (k - 1, k + 1):
                if k < ordered and 0 <= j < ordered:
                    shares[j, k] += sixteenths
                    shares[k, k] -= sixteenths
        return cls(shares, 32)


@dataclass(frozen=True)
class Visit:
    """What one row can do to the laws of one variable.

    top: the most it adds to the weight of one category, in units of counts; mass: in all.
    categories: the fewest that are possible at any key.
    """

    top: int
    mass: int
    categories: int

    @property
    def unit(self) -> int:
        """The largest power of two that keeps the weights of 2**40 rows within 62 bits."""
        return int(2 ** max(0, _UNIT_BITS - (self.mass - 1).bit_length()))


def least_prior(visit: Visit, budget: Fraction, *, both: bool) -> tuple[int, int]:
    """(unit, a): the smallest whole a for which a visit costs no more than the budget.

    both: two keys change, as in a block under replace neighbours.
    """
    growth = _DECIMAL.subtract(_DECIMAL.exp(_as_decimal(budget)), Decimal(1))  # e^budget - 1
    unit = visit.unit
    while True:
        top = Decimal(unit * visit.top)
        if both:  # (1 + top/a)(1 + rest/a) <= e^budget, a quadratic in a
            rest = Decimal(unit * visit.mass) / Decimal(visit.categories)
            half = top + rest
            root = _DECIMAL.sqrt(half * half + 4 * growth * top * rest)
            wanted = (half + root) / (2 * growth)
        else:
            wanted = _DECIMAL.divide(top, growth)
        a = int(wanted.to_integral_value(ROUND_CEILING)) + 1  # one more than rounding can take away
        if a <= _LARGEST_A:
            return unit, a
        if unit == 1:
            raise ParameterError(
                "so small an epsilon leaves nothing of the data in the rows.",
                hint="a larger epsilon, fewer rows, or a method that noises once (PrivateSynthesizer)",
            )
        unit = max(1, unit // 1024)


def cost(visit: Visit, unit: int, a: int, *, both: bool) -> Fraction:
    """What a visit costs, rounded up."""
    if a <= 0:
        raise ParameterError("without a prior there is no promise.", hint="alpha above 0")
    spent = _DECIMAL.ln(1 + Decimal(unit * visit.top) / Decimal(a))
    if both:
        spent += _DECIMAL.ln(1 + Decimal(unit * visit.mass) / (Decimal(visit.categories) * a))
    return Fraction(spent) + Fraction(1, 10**40)


def _as_decimal(number: Fraction) -> Decimal:
    """Rounded down: a budget is never taken for more than it is."""
    return Decimal(number.numerator * 10**50 // number.denominator).scaleb(-50)


def total_cost(per_visit: list[Fraction], times: int) -> float:
    """The visits of one row or block, so many times, as a claim states it."""
    return up(sum(per_visit, Fraction(0)) * times)


def stated(epsilon: float, times: int) -> float:
    """An epsilon that was asked for and kept, so many times."""
    return up(exact(epsilon) * times)


# -- l-diversity ---------------------------------------------------------------------------------

_LAW = 2.0**56  # probabilities become whole numbers out of about this


def diverse_weights(
    counts: NDArray[np.int64], possible: NDArray[np.bool_], log_l: float
) -> NDArray[np.uint64]:
    """PeGS section 3.3 B: the smallest uniform prior that lifts the entropy of each law to log l.

    counts, possible: (laws, C). The law with prior alpha is the mixture (1 - t) counts/N + t uniform, t = C
    alpha / (N + C alpha), and entropy is concave, so it grows with t: bisected until nothing changes, and the
    upper end is taken. Laws that are diverse enough stay as they are; a law with too few categories is even.
    """
    n = counts.sum(axis=1, keepdims=True)
    even = possible / possible.sum(axis=1, keepdims=True)
    bare = np.where(n > 0, counts / np.maximum(n, 1), even)
    low, high = np.zeros(len(counts)), np.ones(len(counts))
    target = log_l + 1e-13  # above what summing logarithms can lose
    for _ in range(60):
        middle = (low + high) / 2
        enough = entropies(_mixed(bare, even, middle)) >= target
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    share = np.where(entropies(bare) >= target, 0.0, high)
    return np.rint(_mixed(bare, even, share) * _LAW).astype(np.uint64)


def _mixed(
    bare: NDArray[np.float64], even: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    return (1 - share[:, None]) * bare + share[:, None] * even


def entropies(laws: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entropy of each row, in nats.  laws: (laws, C), rows summing to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(laws > 0, laws * np.log(laws), 0.0)
    summed: NDArray[np.float64] = -terms.sum(axis=1)
    return summed
