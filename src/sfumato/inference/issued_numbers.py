"""Whole numbers that were given out, not counted or measured: by length, spread, gaps and repetition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.inference.facts import Facts
from sfumato.inference.names import Reading

_FEW = 20  # values: a number of so few things names nobody
_MANY = 50
_FAR = 500_000  # numbers given out from 1 on
_PAIRS = 30  # of equal numbers, by chance


def never_twice(facts: Facts) -> bool:
    """Whole numbers that all differ, though so many from so short a range would repeat by chance.

    Of n numbers drawn evenly from R about n(n-1)/2R pairs are the same, and more if they are not even: where
    that is thirty or more, none happens with a chance below 1e-13, unless the numbers were given out.
    """
    if (
        not facts.is_whole_number
        or facts.distinct != facts.filled
        or facts.filled < _MANY * 2
        or facts.is_day
    ):
        return False
    return facts.filled * (facts.filled - 1) / 2 / (float(np.ptp(facts.numbers)) + 1) >= _PAIRS


def too_long_to_count(facts: Facts, reading: Reading) -> bool:
    """Nine digits or more, each row its own: no count or result has them, whatever the name says.

    Eleven, for money: nobody has so much, and all of them as much.
    """
    least = 11 if reading.first("money", "income") else 9
    return min(facts.widths) >= least and len(facts.widths) == 1


def too_many_to_count(facts: Facts) -> bool:
    """Six digits or more in every row, a hundred of them: 'n' is short for number, not for how many."""
    return facts.is_whole_number and min(facts.widths) >= 6 and facts.distinct >= 2 * _MANY


def in_blocks(facts: Facts) -> bool:
    """Many numbers in a few rows each, with gaps: no column that a table is sorted by but those of ids."""
    return facts.distinct >= 2 * _MANY and facts.share_distinct >= 0.1 and float(facts.counts.max()) <= _FEW


def given_out(facts: Facts, one_width: bool) -> bool:
    """1, 2, 3, ... without gaps, each about as often; or drawn from all numbers of as many digits."""
    numbers = np.sort(facts.numbers)
    if np.ptp(numbers) + 1 == facts.distinct:
        return float(facts.counts.std()) < float(facts.counts.mean())
    if numbers[-1] >= _FAR and numbers[0] >= 0 and not one_width:
        return _is_even(numbers, 0.0, float(numbers[-1]))  # no amounts are
    low = 10.0 ** (max(facts.widths) - 1)
    if not one_width or low < 1_000 or numbers[0] < low:
        return False
    return _is_even(numbers, low, 10 * low)


def _is_even(numbers: NDArray[np.float64], low: float, high: float) -> bool:
    """Whether sorted numbers spread evenly (Kolmogorov-Smirnov: one even column in a hundred fails)."""
    steps = np.arange(1, len(numbers) + 1) / len(numbers)
    gap = float(np.abs((numbers - low) / (high - low) - steps).max())
    return bool(gap < 1.63 / len(numbers) ** 0.5)


def like_numbers(facts: Facts) -> bool:
    """Whether values look like the numbers of something: not the small ones that count."""
    return not facts.is_number or facts.distinct >= 0.5 * facts.filled or min(facts.widths) >= 4
