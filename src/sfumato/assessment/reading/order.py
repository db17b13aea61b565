"""The order in which people read levels: ages and bands by number, months by the calendar, grades by degree.

It serves pictures only: nothing is counted by it. Where no order is plain, the levels stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.assessment.reading import notation

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# What is said alike stands in one place; all levels of a column must be on one scale.
_SCALES = tuple(
    tuple(tuple(step.split("|")) for step in scale.split(" < "))
    for scale in (
        "none|no|absent|never < minimal|trace|very mild < mild|slight|light|minor < moderate|medium "
        "< severe|heavy|major|strong|marked < very severe|extreme|critical",
        "very low|lowest < low|lower|below normal < middle|medium|mid|moderate|normal|norm|average "
        "< high|higher|above normal|elevated < very high|highest",
        "never|not at all < almost never|rarely|seldom < sometimes|occasionally < often|frequently|usually "
        "< almost always < always",
        "very poor|very bad < poor|bad < fair < good < very good < excellent",
        "strongly disagree < disagree < neither|neutral|undecided < agree < strongly agree",
        "very small|xs < small|s < medium|m < large|l < very large|xl",
        "newborn|neonate < infant|baby < toddler < child|children < adolescent|teenager|teen < young adult "
        "< adult < middle-aged|middle aged < senior|elderly|older adult|old",
        "underweight < normal|normal weight|healthy|healthy weight < overweight < obese",
        "decreased|down|falling < unchanged|steady|stable|same < increased|up|rising",
        "i < ii < iii < iv < v < vi < vii < viii < ix < x",
    )
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Words beside a number that say which side of it is meant, or its unit: "under 18", "65 and over", "3rd".
_BEFORE = re.compile(r"\b(under|below|less than|fewer than|younger than|before)\b|^\s*<(?!=)")
_AFTER = re.compile(r"\b(over|above|more|older|after|plus)\b|\+|>")
_BESIDE = re.compile(
    r"\b(under|below|less than|fewer than|younger than|before|up to|over|above|more than|or more|or older"
    r"|and older|and over|and above|or over|after|plus|years?|yrs?|y|months?|weeks?|days?|hours?|old|to|and"
    r"|or|from|at least|at most)\b|(?<=\d)(st|nd|rd|th|y)\b|[^\w]|_"
)
_LAST = 2  # levels without a number, such as "unknown", that may stand behind those with one


def in_order(levels: Sequence[str]) -> list[int]:
    """The places of the levels in the order they are read in."""
    texts = [" ".join(level.split()).lower() for level in levels]
    keys = _spans(texts) or _calendar(texts) or _degrees(texts) or _numbers(texts)
    places = range(len(texts))
    return sorted(places, key=lambda i: (keys[i], i)) if keys else list(places)


_Keys = list[tuple[float, ...]] | None
_END: tuple[float, ...] = (float("inf"),) * 3


def _spans(texts: Sequence[str]) -> _Keys:
    """Numbers and intervals in any notation; '*' stands for all of them, and last."""
    found = notation.spans(texts)
    stars = [notation.is_everything(t) for t in texts]
    if not any(found) or not all(s is not None or star for s, star in zip(found, stars, strict=True)):
        return None
    return [(s.low, s.high, float(not s.with_low)) if s is not None else _END for s in found]


def _calendar(texts: Sequence[str]) -> _Keys:
    for names in (_MONTHS, _DAYS):
        places = [next((i for i, n in enumerate(names) if _short(t, n)), None) for t in texts]
        if len(texts) > 1 and all(p is not None for p in places):
            return [(float(p or 0),) for p in places]
    return None


def _short(text: str, name: str) -> bool:
    """Whether a text is a name of the calendar, or its beginning."""
    return len(text.rstrip(".")) >= 3 and name.startswith(text.rstrip("."))


def _degrees(texts: Sequence[str]) -> _Keys:
    for scale in _SCALES:
        place = {word: i for i, step in enumerate(scale) for word in step}
        known = [place.get(t) for t in texts]
        if len(texts) > 1 and all(p is not None for p in known):
            return [(float(p or 0),) for p in known]
    return None


def _numbers(texts: Sequence[str]) -> _Keys:
    """Numbers with the same words around them: 'under 18', '18 to 64', '65 and over'; 'Q1', 'Q2'."""
    with_one = [t for t in texts if _NUMBER.search(t)]
    around = {_NUMBER.sub("", _BESIDE.sub("", t)) for t in with_one}
    if len(with_one) < 3 or len(texts) - len(with_one) > _LAST or len(around) != 1:
        return None
    return [_key(t) if _NUMBER.search(t) else _END for t in texts]


def _key(text: str) -> tuple[float, ...]:
    numbers = [float(n) for n in _NUMBER.findall(text)]
    side = -1.0 if _BEFORE.search(text) else 1.0 if _AFTER.search(text) else 0.0
    return numbers[0], side, numbers[-1]
