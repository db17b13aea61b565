"""Generalized values, read as they stand in files of any tool: '*', intervals, prefixes, sets.

A value is read as a `Span` of numbers (a date is its number of days or microseconds) or, over names, as
the set of leaves it stands for. Nothing here knows a column; `align` does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DAY = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
_END = rf"(?:{_DAY}|{_NUMBER}|[+-]?(?:inf|Inf|∞))"
_BRACKETS = re.compile(rf"^([\[\](])\s*({_END})?\s*(?:,|;|\.\.|–|—|-|\bto\b)\s*({_END})?\s*([\[\])])$")
_DASH = re.compile(rf"^({_END})\s*(?:-|–|—|\bto\b)\s*({_END})$")
_BELOW = re.compile(rf"^(<=|≤|<)\s*({_END})$")
_ABOVE = re.compile(rf"^(>=|≥|>)\s*({_END})$")
_PLUS = re.compile(rf"^({_END})\s*\+$")
_DIGITS = re.compile(r"^(\d+)(\*+)$")


@dataclass(frozen=True)
class Span:
    """The numbers from low to high; which ends belong to it."""

    low: float
    high: float
    with_low: bool = True
    with_high: bool = True

    @property
    def point(self) -> bool:
        """Whether it is one number."""
        return self.low == self.high

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which numbers lie in it."""
        above = values >= self.low if self.with_low else values > self.low
        below = values <= self.high if self.with_high else values < self.high
        return np.asarray(above & below)

    def wholes(self) -> tuple[float, float]:
        """The whole numbers in it as a half-open range [first, end)."""
        first = math.ceil(self.low) if math.isfinite(self.low) else self.low
        end = math.floor(self.high) + 1 if math.isfinite(self.high) else self.high
        if not self.with_low and first == self.low:
            first += 1
        if not self.with_high and end == self.high + 1:
            end -= 1
        return first, max(first, end)


def number(text: str, unit: str = "") -> float | None:
    """A number, or with a unit ('date', 'datetime') the number of days or microseconds since 1970."""
    text = text.strip()
    if text.lstrip("+-") in ("inf", "Inf", "∞"):
        return -math.inf if text.startswith("-") else math.inf
    if unit:
        return _instant(text, unit)
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value  # 'nan' is how some tools write a missing cell


def _instant(text: str, unit: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    days = float((moment.date() - date(1970, 1, 1)).days)
    if unit == "date":
        return days
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return days * 86_400e6 + seconds * 1e6 + moment.microsecond


def spans(texts: Sequence[str], unit: str = "") -> list[Span | None]:
    """What each text stands for on the number line; None where it is no number and no interval.

    '20-30' means both ends, except where another value of the column starts at 30: then the bands
    touch, and 30 belongs to the upper one.
    """
    starts = {number(m[1], unit) for t in texts if (m := _DASH.match(t.strip()) or _PLUS.match(t.strip()))}
    starts |= {number(m[2], unit) for t in texts if (m := _ABOVE.match(t.strip())) and m[1] != ">"}
    return [_span(t.strip(), unit, starts) for t in texts]


def _span(text: str, unit: str, starts: set[float | None]) -> Span | None:
    plain = number(text, unit)
    if plain is not None:
        return Span(plain, plain)
    if unit and (period := _calendar(text, unit)) is not None:
        return period
    if m := _BRACKETS.match(text):
        low = number(m[2], unit) if m[2] else -math.inf
        high = number(m[3], unit) if m[3] else math.inf
        return _ordered(low, high, m[1] == "[", m[4] == "]")
    if m := _BELOW.match(text):
        return _ordered(-math.inf, number(m[2], unit), False, m[1] != "<")
    if m := _ABOVE.match(text):
        return _ordered(number(m[2], unit), math.inf, m[1] != ">", False)
    if m := _PLUS.match(text):
        return _ordered(number(m[1], unit), math.inf, True, False)
    if m := _DASH.match(text):
        low, high = number(m[1], unit), number(m[2], unit)
        return _ordered(low, high, True, high not in starts or low == high)
    if not unit and (m := _DIGITS.match(text)):  # 3* is 30 to 39
        size = 10 ** len(m[2])
        return Span(int(m[1]) * size, (int(m[1]) + 1) * size, True, False)
    return None


def _ordered(low: float | None, high: float | None, with_low: bool, with_high: bool) -> Span | None:
    if low is None or high is None or low > high:
        return None
    return Span(low, high, with_low or low == high, with_high or low == high)


def _calendar(text: str, unit: str) -> Span | None:
    """A year ('2020') or a month ('2020-03'), masked days included ('2020-03-**')."""
    m = re.match(r"^(\d{4})(?:-(\d{2}))?(?:-\*+)*$", text)
    if not m or (m[2] and not 1 <= int(m[2]) <= 12) or not 1 <= int(m[1]) < 9999:
        return None
    year, month = int(m[1]), int(m[2] or 1)
    after = (year + (month == 12), month % 12 + 1) if m[2] else (year + 1, 1)
    low = number(f"{year:04d}-{month:02d}-01", unit)
    return _ordered(low, number(f"{after[0]:04d}-{after[1]:02d}-01", unit), True, False)


def is_everything(text: str) -> bool:
    """Stars and nothing else: suppressed."""
    return bool(text.strip()) and not text.strip().strip("*")


def members(text: str) -> list[str] | None:
    """The names in '{a, b}', or None where it is no set."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    parts = re.split(r"\s*[;,]\s*", text[1:-1].strip())
    return [p.strip().strip("'\"") for p in parts if p.strip()]


def masked(text: str, leaves: Sequence[str]) -> NDArray[np.bool_] | None:
    """The leaves a masked code such as '130**' or '13*' stands for; None where it has no star.

    Two stars or more stand for that many characters where leaves of that length exist; else stars at
    the end stand for any ending, and stars inside for one character each.
    """
    text = text.strip()
    stem = text.rstrip("*")
    if "*" not in text:
        return None
    pattern = re.compile("".join("." if c == "*" else re.escape(c) for c in text))
    same = np.array([bool(pattern.fullmatch(leaf)) for leaf in leaves], bool)
    if "*" in stem or (len(text) - len(stem) > 1 and same.any()):
        return same if same.any() else None
    start = np.array([leaf.startswith(stem) for leaf in leaves], bool)
    return start if start.any() else None
