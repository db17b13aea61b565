"""The budget of one fit, and what is bought with it: noisy tables, noisy scores, a choice.

Everything the synthesizer learns of the data comes through the four functions of `Purse`; all else is
arithmetic on their answers. The proof of the whole is therefore the proof of this file.

Guarantee: rho-zCDP (hence (epsilon, delta)), or pure epsilon if there is no delta; one row, or one person
           with at most L rows, added or removed.
Because:   1. t is a table of counts; a person adds at most L to its cells, all of it perhaps to one. H takes
              the mean out along every axis. One row adds to H t a vector of squared length
              p = prod (1 - 1/K_j), the same for every row; L rows at most L times that vector's length
              (triangle inequality). The mechanism adds iid discrete Gaussian noise to the whole
              numbers prod(K) H t, whose sensitivity is L sqrt(prod K_j (K_j - 1)): rho = sensitivity^2
              / (2 scale^2), by OpenDP's own map. That noise, divided by prod(K), has
              sigma^2 = L^2 p / (2 rho): cheaper by the factor p than noise on t itself. Centring the answer
              again, H(H t + z) = H(t + z), is arithmetic.
           2. A score is ||t - m||_1 for a table m of whole numbers that is known already. A row changes one
              cell of t by one, so each score by at most 1, and P scores by at most sqrt(P) in L2; L rows by L
              times that. m is rounded to whole numbers so that this holds in the computer as well.
           3. With pure epsilon, discrete Laplace noise is added to t itself (centring does not shrink the L1
              sensitivity, which is L), and pairs are chosen one by one by permute-and-flip on the scores.
           4. The amounts for later steps are chosen after seeing earlier answers. The total is
              fixed beforehand, each amount is fixed before its own draw, and the ledger refuses what does
              not fit. Such a filter is sound for pure epsilon and for zCDP, also when amounts and
              mechanisms are chosen adaptively: the losses of the draws that were made add up to at most
              the total on every path. An amount that is not used is lost, never added elsewhere.
           5. Rows that break a declared constraint are dropped one by one, and rows beyond L of a person by
              coins of that person's own rows, so neighbours stay neighbours.
           6. Where rows count by weight, weights are clamped to [0, W] and rounded to whole numbers of parts,
              U of which are W, 0 if missing: each row by itself, so neighbours stay neighbours. t
              and m are then in parts. A row adds at most U to one cell of t, so that it changes H t, a score
              and the number of rows by at most U times what is said above: every sensitivity is multiplied
              by U. Answers are divided by U afterwards; the noise is that of a row of weight W.
           7. A variable of several columns (a code and its group) is a column whose levels are the
              combinations that can be; a row has one of them. Its coarser levels, and pairs of classes of
              states, are tables in which a row again has one cell, so point 1 holds for each. Which
              combinations can be, and the levels, follow from the public domain; which states form a class
              follows from answers that were paid for (resolution.py), as amounts do in point 4.
           8. Nothing else of the data gets out: a file, a note, the number of rows, even the types of a frame
              are functions of the answers. (Types of the data's own frame list the values that occur.)
Assumes:   the domains, constraints, L, W, the target and a declared number of rows are public; every row lies
           in the domains and says whose it is. A table with other rows is refused before anything is spent,
           and that refusal is not covered: it is for who holds the data.
Tested by: tests/synthesis/test_private_audit.py, tests/synthesis/test_private_tape.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.privacy.grants import UNIT, Grant
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.noise import gaussian, laplace, noisy_max
from sfumato.privacy.rounding import down, sqrt_up
from sfumato.synthesis.private.layout import Floats, Ints


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy whole numbers as they were drawn, and what they mean. It may be published.

    columns: places of the columns; none for the number of rows and for scores.
    values: prod(K) H t + noise, or t + noise; factor: prod(K), or 1; times U where rows count by weight.
    sigma: the standard deviation of the noise of each cell of values / factor.
    amount: the rho or epsilon it cost.
    """

    columns: tuple[int, ...]
    values: Ints
    factor: int
    sigma: float
    law: str
    amount: float

    @property
    def residual(self) -> Floats:
        """H(t + z): the table without its means, as far as the noise lets it be seen."""
        return centred(self.values / self.factor)

    @property
    def variance(self) -> float:
        """The variance of each cell of `residual`: centring takes the share 1 - p of the noise away."""
        return self.sigma**2 * kept_share(self.values.shape)


def centred(table: Floats) -> Floats:
    """H t: the mean taken out along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def scaled_and_centred(table: Ints) -> Ints:
    """prod(K) H t in whole numbers."""
    for axis, levels in enumerate(table.shape):
        table = table * levels - table.sum(axis=axis, keepdims=True)
    return table


def kept_share(shape: Sequence[int]) -> float:
    """p = prod (1 - 1/K): squared L2 sensitivity of H t, and the share of noise that centring keeps."""
    return math.prod(1 - 1 / levels for levels in shape)


class Purse:
    """The total of one fit, spent in amounts that may depend on earlier answers.

    max_rows: L, the most rows a person can have. unit: U, what a row counts at most.
    """

    def __init__(self, grant: Grant, max_rows: int, unit: int = 1) -> None:
        self.pure = grant.epsilon is not None
        self.max_rows = max_rows
        self.unit = unit
        self._most = max_rows * unit  # what one person adds at most
        self._total = grant.loss
        self._ledger = Ledger.within(grant)

    @property
    def total(self) -> float:
        """All that may be spent."""
        return float(self._total)

    def left(self, draws: int) -> float:
        """What is left for so many further draws, one unit kept back for the rounding of each."""
        return max(self._ledger.left - draws / UNIT, 0.0)

    def amount(self, part: float) -> float:
        """A part of the total in whole units of the ledger, rounded down, at least one unit."""
        units = max(int(Fraction(part) * UNIT), 1)
        return down(Fraction(units, UNIT))

    def table(self, counts: Ints, columns: tuple[int, ...], amount: float, purpose: str) -> Measurement:
        """A table of counts, each row in one cell: points 1 and 3 above."""
        if self.pure:
            return self._numbers(counts, columns, self._most, amount, purpose)
        squared = math.prod(levels * (levels - 1) for levels in counts.shape) * self._most**2
        factor = math.prod(counts.shape) * self.unit
        noisy = gaussian(scaled_and_centred(counts), sqrt_up(Fraction(squared)), self._grant(amount, purpose))
        return Measurement(columns, noisy.values, factor, noisy.sigma / factor, noisy.law, amount)

    def scores(self, scores: Ints, amount: float, purpose: str) -> Measurement:
        """Whole numbers of which a row changes each by at most 1, or U: points 2 and 6 above."""
        if self.pure:
            return self._numbers(scores, (), self._most * len(scores), amount, purpose)
        squared = Fraction(len(scores) * self._most**2)
        noisy = gaussian(scores, sqrt_up(squared), self._grant(amount, purpose))
        return Measurement((), noisy.values, self.unit, noisy.sigma / self.unit, noisy.law, amount)

    def sums(
        self, values: Ints, taxi: int, squared: int, columns: tuple[int, ...], amount: float, purpose: str
    ) -> Measurement:
        """Whole numbers that a person moves by at most `taxi` in L1, and the root of `squared` in L2.

        Rounding, and the price, are those of `scores`; who calls says why the two bounds hold.
        """
        if self.pure:
            return self._numbers(values, columns, taxi * self.unit, amount, purpose)
        bound = sqrt_up(Fraction(squared * self.unit**2))
        noisy = gaussian(values, bound, self._grant(amount, purpose))
        return Measurement(columns, noisy.values, self.unit, noisy.sigma / self.unit, noisy.law, amount)

    def choice(self, scores: Ints, amount: float, purpose: str) -> int:
        """The place of a score that is probably among the highest; a row changes each by at most 1, or U."""
        return noisy_max(scores, self._most, self._grant(amount, purpose))

    def _numbers(
        self, values: Ints, columns: tuple[int, ...], sensitivity: int, amount: float, purpose: str
    ) -> Measurement:
        noisy = laplace(values, sensitivity, self._grant(amount, purpose))
        return Measurement(columns, noisy.values, self.unit, noisy.sigma / self.unit, noisy.law, amount)

    def _grant(self, amount: float, purpose: str) -> Grant:
        if self.pure:
            return self._ledger.grant(epsilon=amount, purpose=purpose)
        return self._ledger.grant(rho=amount, purpose=purpose)
