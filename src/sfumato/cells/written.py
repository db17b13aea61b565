"""Counts as people write them: what each tells by itself.

A number, with or without marks between thousands; a range (1-4); a bound (<5, fewer than 5, 5+). Anything
else is a withheld cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

Real = NDArray[np.float64]

_GAP = "[.,'’ \u00a0\u202f]"
_COUNT = rf"(\d{{1,3}}(?:{_GAP}\d{{3}})+|\d+)(?:[.,]0{{1,2}})?"
_NUMBER = re.compile(rf"([+-]?){_COUNT}")
_RANGE = re.compile(rf"{_COUNT}\s*(?:-|–|—|\.\.\.?|to|bis|à)\s*{_COUNT}", re.IGNORECASE)
_BELOW = re.compile(rf"(<=|<|≤|less than|fewer than|under|up to|at most)\s*{_COUNT}", re.IGNORECASE)
_ABOVE = re.compile(rf"(>=|>|≥|more than|over|at least)\s*{_COUNT}", re.IGNORECASE)
_MORE = re.compile(rf"{_COUNT}\s*(?:\+|or more)", re.IGNORECASE)
_FEWER = re.compile(rf"{_COUNT}\s*or (?:fewer|less)", re.IGNORECASE)
_STRICT = ("<", "less than", "fewer than", "under", ">", "more than", "over")


def told_bounds(values: Sequence[object], column: str) -> tuple[Real, Real]:
    """The smallest and the largest count that each value tells; 0 and inf where it is withheld."""
    low, high = np.zeros(len(values)), np.full(len(values), np.inf)
    for i, value in enumerate(values):
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not math.isnan(value):
                low[i] = high[i] = float(value)
        elif value is not None:
            low[i], high[i] = _told(str(value).strip())
    negative = int((low < 0).sum())
    if negative:
        what = "1 count is" if negative == 1 else f"{negative} counts are"
        raise DataError(f"column '{column}': {what} negative.", hint="counts are from 0 up")
    crossed = int((low > high).sum())
    if crossed:
        raise DataError(f"column '{column}': {crossed} ranges end before they begin.", hint="as in 1-4")
    odd = int((np.isfinite(high) & (low == high) & (low != np.rint(low))).sum())
    if odd:
        raise DataError(f"column '{column}': {odd} counts are not whole.", hint="give counts")
    return low, high


def _told(text: str) -> tuple[float, float]:
    if found := _NUMBER.fullmatch(text):
        number = _whole(found[2]) * (-1 if found[1] == "-" else 1)
        return number, number
    if found := _RANGE.fullmatch(text):
        return _whole(found[1]), _whole(found[2])
    if found := _BELOW.fullmatch(text):
        return 0.0, _whole(found[2]) - (found[1].lower() in _STRICT)
    if found := _ABOVE.fullmatch(text):
        return _whole(found[2]) + (found[1].lower() in _STRICT), np.inf
    if found := _MORE.fullmatch(text):
        return _whole(found[1]), np.inf
    if found := _FEWER.fullmatch(text):
        return 0.0, _whole(found[1])
    return 0.0, np.inf


def _whole(text: str) -> float:
    return float(re.sub(_GAP, "", text))
