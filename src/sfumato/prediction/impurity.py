"""The alpha-impurity of counts in whole numbers, so that its sensitivity and monotony can be proven.

S_alpha(n0, n1) = n (1 - p0^alpha - p1^alpha) / (alpha - 1), alpha > 1, is concave, homogeneous (twice the
rows have twice the impurity) and rises in both counts, by at most alpha / (alpha - 1) for one row. Computed
in floating point none of this is certain to the last digit. So S is replaced by the lowest of 257 planes
through the origin that touch it,

    S~(n0, n1) = min_k (a_k n0 + b_k n1),      a_k, b_k whole numbers from 0 to D,

in units of 2^-16. Whatever the planes are, this is exact in integers, and

1. a row more raises every plane by 0 to D, hence their minimum by 0 to D: the sensitivity is D, and S~ never
   falls when a row is added;
2. a split's score is -(S~(left) + S~(right)); a row is on one side of every split, so each score falls by 0
   to D when it is added, and no score rises: the scores are monotone, and permute-and-flip needs no factor 2.

D = 2^16 alpha / (alpha - 1), rounded up. S~ is above S by at most about n 2^-15: nothing beside the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Ints = NDArray[np.int64]

UNIT = 2**16
_PLANES = 257
SMALLEST_ALPHA, LARGEST_ALPHA = 1.01, 64.0
MOST_ROWS = 2**36  # public, and more than fit into memory: D times it is far from the end of 64 bits


@dataclass(frozen=True, eq=False)
class Impurity:
    """S~ for one alpha.  planes: (planes, 2), what a row of each outcome adds to each plane."""

    alpha: float
    planes: Ints

    def __post_init__(self) -> None:
        if self.planes.dtype != np.int64 or self.planes.ndim != 2 or not (self.planes >= 0).all():
            raise ParameterError("planes are whole numbers, none below 0.", hint="Impurity.of(2.0)")
        # Point 1 holds in whole numbers, and a sum that wraps around is none. Asked of what is public alone.
        if self.sensitivity * MOST_ROWS > 2**62:
            raise ParameterError("planes are too steep to be summed exactly.", hint="Impurity.of(2.0)")

    @classmethod
    def of(cls, alpha: float) -> Impurity:
        """The planes that touch S_alpha where p1 = 0, 1/256, ..., 1."""
        if not SMALLEST_ALPHA <= alpha <= LARGEST_ALPHA:
            raise ParameterError(
                f"alpha is from {SMALLEST_ALPHA:g} to {LARGEST_ALPHA:g}: at 1 one row could change the score "
                "without bound.",
                hint="alpha=2.0",
            )
        return _made(float(alpha))

    @property
    def sensitivity(self) -> int:
        """D: the most that one row adds, by point 1 above."""
        return int(self.planes.max())

    def of_counts(self, counts: Ints) -> Ints:
        """S~ of counts (..., 2) by outcome, in units of 2^-16."""
        lowest: Ints = (counts @ self.planes.T).min(axis=-1)
        return lowest

    def score(self, left: Ints, whole: Ints) -> Ints:
        """Of splits with these counts (..., 2) on the left of a node's (2,): the higher the purer."""
        worst: Ints = -(self.of_counts(left) + self.of_counts(whole - left))
        return worst


@lru_cache(maxsize=32)
def _made(alpha: float) -> Impurity:
    most = math.ceil(UNIT * alpha / (alpha - 1))
    planes = []
    for k in range(_PLANES):
        p = k / (_PLANES - 1)
        own = (1 - p**alpha - (1 - p) ** alpha) / (alpha - 1)
        slope = alpha * ((1 - p) ** (alpha - 1) - p ** (alpha - 1)) / (alpha - 1)
        # The gradient of n f(n1 / n): by outcome 0, f - p f'; by outcome 1, f + (1 - p) f'.
        pair = (own - p * slope, own + (1 - p) * slope)
        planes.append([min(max(round(UNIT * v), 0), most) for v in pair])
    return Impurity(alpha, np.array(planes, np.int64))
