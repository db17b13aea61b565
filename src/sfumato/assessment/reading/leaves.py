"""Which values of the original a general one stands for: a star, an interval, a set, a masked code, a period.

What looks general and stands for none of them is a code by another name: '{k1}' among names, 2020 among ages.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.reading.notation import is_everything, masked, members, number, spans

_WEEK = re.compile(r"week of (\d{4}-\d{2}-\d{2})")
_QUARTER = re.compile(r"(\d{4})-Q([1-4])")
_GLANCE = 50  # values by which a column is known as one of days
_MOST_MASKED = 500  # values with stars inside that are looked up: each takes as long as there are leaves


class Leaves:
    """The values of a column of the original, ready to be looked up by what a released value says.

    unit: "date" where they are days; by the values if not given.
    """

    def __init__(self, leaves: Sequence[str], unit: str | None = None) -> None:
        self._leaves = leaves
        self._unit = _unit(leaves) if unit is None else unit
        self._masked = 0

    def general(self, label: str) -> bool:
        """Whether a value that is no leaf stands for some: for several, or for what several would be."""
        text = label.strip()
        if "*" not in text and members(text) is None and _period(text) is None:
            span = spans([text], self._unit)[0]
            if span is None or span.point:
                return False
        if "*" in text.rstrip("*"):
            self._masked += 1
        return self._masked <= _MOST_MASKED and bool(self.under(text))

    def under(self, label: str) -> list[int]:
        """The values that a released one stands for."""
        text = label.strip()
        if is_everything(text):
            return list(range(len(self._leaves)))
        if (names := members(text)) is not None:
            return [self._places[n] for n in names if n in self._places]
        if (period := _period(text)) is not None and self._unit:
            low, high = (number(day.isoformat(), self._unit) for day in period)
            return self._between(low or 0.0, high or 0.0)
        if text.endswith("*") and "*" not in text.rstrip("*"):
            return self._starting(text.rstrip("*"))
        if (fits := masked(text, self._leaves)) is not None:
            return np.flatnonzero(fits).tolist()
        span = spans([text], self._unit)[0]
        with np.errstate(invalid="ignore"):
            return [] if span is None else np.flatnonzero(span.holds(self._numbers)).tolist()

    @cached_property
    def _sorted(self) -> tuple[list[str], list[int]]:
        order = sorted(range(len(self._leaves)), key=self._leaves.__getitem__)
        return [self._leaves[i] for i in order], order

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        read = (number(leaf, self._unit) for leaf in self._leaves)
        return np.array([np.nan if v is None else v for v in read], np.float64)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {leaf: i for i, leaf in enumerate(self._leaves)}

    def _between(self, low: float, high: float) -> list[int]:
        with np.errstate(invalid="ignore"):
            return np.flatnonzero((self._numbers >= low) & (self._numbers < high)).tolist()

    def _starting(self, stem: str) -> list[int]:
        texts, order = self._sorted
        first, last = bisect_left(texts, stem), bisect_left(texts, stem + "\U0010ffff")
        return order[first:last]


def _unit(leaves: Sequence[str]) -> str:
    """Whether values are days: by some of them."""
    some = leaves[:: max(1, len(leaves) // _GLANCE)]
    days = sum(number(v) is None and number(v, "date") is not None for v in some)
    return "date" if some and 2 * days >= len(some) else ""


def _period(text: str) -> tuple[date, date] | None:
    """The first day of a week or quarter, and that after it."""
    if match := _WEEK.fullmatch(text):
        try:
            monday = date.fromisoformat(match[1])
        except ValueError:
            return None
        return monday, monday + timedelta(7)
    if match := _QUARTER.fullmatch(text):
        year, month = int(match[1]), 3 * int(match[2]) - 2
        if not 1 <= year < 9999:
            return None
        # Weeks belong to the quarter of their Monday: its last days may be the first of the next.
        end = date(year + (month == 10), (month + 2) % 12 + 1, 1)
        return date(year, month, 1), end + timedelta(6)
    return None
