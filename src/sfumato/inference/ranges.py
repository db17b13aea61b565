"""Numbers that say by their range and their decimals what they are: years, ages, coordinates, money."""

from __future__ import annotations

import re

import numpy as np

from sfumato.inference.facts import Facts
from sfumato.sources import is_text

_YEAR = re.compile(r"(?<!\d)(1[89]|20)\d\d")
_DAY = re.compile(
    r"(0?[1-9]|[12]\d|3[01])[-/. ]{1,2}(0?[1-9]|[12]\d|3[01]|[^\W\d_]{3,10}\.?)"
    r"[-/. ,]{1,2}(\d{2}|[12]\d{3})\.?"
)
_SPREAD = 12  # years: ages of a population lie further apart than pulses do


def years_back(facts: Facts) -> bool:
    """Whether days span more than forty years: births rather than events."""
    if facts.compact_day:
        texts = [t.zfill(8) for t in facts.texts]
        at = slice(0, 4) if all(t[:2] in ("18", "19", "20") for t in texts) else slice(4, 8)
        found = [int(t[at]) for t in texts]
    else:
        found = [int(hit.group()) for t in facts.texts if (hit := _YEAR.search(t))]
    return bool(found) and max(found) - min(found) > 40


def written_days(facts: Facts) -> bool:
    """Text that looks like days in a form that is not read as one: 07-Mar-22, 7.3.22."""
    if not is_text(facts.levels.type) or facts.distinct < 3:
        return False
    some = facts.texts[:300]
    return sum(_DAY.fullmatch(t.strip()) is not None for t in some) >= 0.95 * len(some)


def like_birth_years(facts: Facts) -> bool:
    """Whole numbers that are years, and span more than forty of them."""
    numbers = facts.numbers
    if not facts.is_whole_number or facts.distinct < 20:
        return False
    return bool(numbers.min() >= 1880 and numbers.max() <= 2035 and np.ptp(numbers) >= 40)


def like_coordinates(facts: Facts) -> bool:
    """Four decimals or more, close together and away from nought, in the range of degrees."""
    numbers = facts.numbers
    if facts.is_whole_number or len(numbers) < 50 or np.abs(numbers).max() > 180:
        return False
    some = numbers[:: max(1, len(numbers) // 500)]
    exact = (np.abs(some * 1_000 - np.round(some * 1_000)) > 1e-6).mean()
    return bool(exact > 0.8 and np.ptp(numbers) < 15 and np.abs(numbers).min() > 5)


def like_money(facts: Facts) -> bool:
    """Two decimals, no negative ones, a long tail above."""
    numbers = facts.numbers
    if facts.is_whole_number or len(numbers) < 100 or numbers.min() < 0 or numbers.max() < 1_000:
        return False
    some = numbers[:: max(1, len(numbers) // 2_000)]
    if np.abs(some * 100 - np.round(some * 100)).max() > 1e-4:
        return False
    tenths = (np.abs(some * 10 - np.round(some * 10)) < 1e-6).mean()
    mean = float((numbers * facts.counts).sum() / facts.filled)
    return bool(tenths < 0.5) and mean > 1.15 * facts.median()


def like_ages(facts: Facts) -> bool:
    """Whole numbers from youth to old age, most of them."""
    if not facts.is_whole_number or facts.distinct < 40:
        return False
    numbers, weights = facts.numbers, facts.counts
    low, high = float(numbers.min()), float(numbers.max())
    mean = np.average(numbers, weights=weights)
    spread = float(np.average((numbers - mean) ** 2, weights=weights)) ** 0.5
    return low >= 0 and 60 <= high <= 110 and high - low >= 45 and spread > _SPREAD


def like_weeks(facts: Facts) -> bool:
    """Six digits: a year and a week or a month of it."""
    numbers = facts.numbers
    if not facts.is_whole_number or facts.distinct < 2 or numbers.min() < 190_000 or numbers.max() > 205_000:
        return False
    parts = numbers % 100
    return bool(parts.min() >= 1 and parts.max() <= 53 and np.ptp(numbers // 100) <= facts.distinct / 2)


def like_years(facts: Facts) -> bool:
    """Whole numbers that are all years of the last decades: of an event, or a birth."""
    if not facts.is_whole_number or facts.distinct < 2:
        return False
    low, high = float(facts.numbers.min()), float(facts.numbers.max())
    near = 1 + high - low <= 4 * facts.distinct  # 1950 and 2020 alone may be codes
    return low >= 1920 and high <= 2035 and near
