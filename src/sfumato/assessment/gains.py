"""What an attack gains: its success on the people in the data, less its success on people who are not.

The gain is the plain difference of two shares. Its bounds come from the exact bounds of each share, squared
and added (Zou and Donner 2008): the two groups are independent, and do not err to the same side at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.assessment.audit.intervals import share_high, share_low
from sfumato.score import Score

_NO_ROOM = 0.99  # a control so often right leaves an attack nothing to gain


@dataclass(frozen=True)
class Gain:
    """value, and bounds that are each wrong with a chance of at most the error that was asked for.

    against: "control", "guess" or "nothing". room: whether the control leaves anything to gain.
    """

    value: float
    low: float
    high: float
    against: str
    room: bool


def bounds(total: float, trials: int, error: float, *, whole: bool) -> tuple[float, float]:
    """Below and above the mean of independent outcomes in [0, 1], each wrong with a chance of `error`.

    Because: where every outcome is 0 or 1 (`whole`) they are Clopper and Pearson's. Where ties make outcomes
    fractions, the tails of their sum are at most e times the binomial's (Bentkus 2004, Annals of Probability
    32): the sum is rounded outwards and the error divided by e.
    """
    if trials < 1:
        return 0.0, 1.0
    strict = error if whole else error / math.e
    low = math.floor(total + 1e-9)
    high = min(trials, math.ceil(total - 1e-9))
    return float(share_low(low, trials, strict)), float(share_high(high, trials, strict))


def difference(
    value: float, ends: tuple[float, float], against: float, other: tuple[float, float]
) -> tuple[float, float]:
    """The bounds of value - against, from those of each."""
    low = value - against - math.hypot(value - ends[0], other[1] - against)
    high = value - against + math.hypot(ends[1] - value, against - other[0])
    return max(-1.0, low), min(1.0, high)


def gain(score: Score, error: float) -> Gain:
    """What an attack's score says beyond the control; beyond a plain guess, where there was no control."""
    against = "control" if score.control is not None else "guess" if score.baseline is not None else "nothing"
    reference = score.control if score.control is not None else score.baseline
    point = 0.0 if reference is None or math.isnan(reference) else reference
    people, value = score.details.get("people"), score.value
    if score.low is None or score.high is None:
        ends = (value, value)
    elif isinstance(people, int) and people > 0:
        ends = _share(value, people, score, error)
    else:  # not a share of independent people: as it was stated
        ends = (score.low, score.high)
    low, high = difference(value, ends, point, _reference_bounds(score, point, error))
    return Gain(value - point, low, high, against, point < _NO_ROOM)


def _share(value: float, trials: int, score: Score, error: float) -> tuple[float, float]:
    whole = not score.details.get("fractions")
    return bounds(round(value * trials) if whole else value * trials, trials, error, whole=whole)


def _reference_bounds(score: Score, point: float, error: float) -> tuple[float, float]:
    """A control is a sample of people; a guess is computed."""
    control = score.details.get("control")
    people = control.get("people") if isinstance(control, Mapping) else None
    if score.control is None or not isinstance(people, int):
        return point, point
    return _share(point, people, score, error)
