"""How success is counted: rates with finite-sample intervals, against a control and a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.assessment.gains import bounds, difference
from sfumato.errors import DataError, ParameterError
from sfumato.score import Better, Score

Floats = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95


class NothingToAttack(DataError):
    """There is nobody, or nothing, to attack: the one refusal of an attack that speaks for the release.

    Every other refusal leaves open what the attack would reach.
    """


def mean_interval(outcomes: Floats, confidence: float = CONFIDENCE) -> Interval:
    """A finite-sample interval of a mean of outcomes in [0, 1], assuming that people are independent."""
    _check(confidence)
    whole = bool(((outcomes == 0) | (outcomes == 1)).all())
    total = float(outcomes.sum())
    return bounds(round(total) if whole else total, len(outcomes), (1 - confidence) / 2, whole=whole)


def excess(attack: Interval, control: Interval, value: float, against: float) -> dict[str, float]:
    """(attack - control) / (1 - control): what the release adds, out of what could be added (Anonymeter's).

    The interval is conservative: each end from the unfavourable ends of both, which must then each be
    taken at half the error rate.
    """

    def ratio(a: float, c: float) -> float:
        return max(-1.0, (a - c) / (1 - c)) if c < 1 else 0.0

    return {
        "value": ratio(value, against),
        "low": ratio(attack[0], control[1]),
        "high": ratio(attack[1], control[0]),
    }


def rate(
    name: str,
    outcomes: Floats | NDArray[np.bool_],
    *,
    meaning: str,
    knowledge: str,
    columns: Sequence[str] = (),
    baseline: float | None = None,
    control: Floats | NDArray[np.bool_] | None = None,
    confidence: float = CONFIDENCE,
    better: Better = "lower",
    details: Mapping[str, object] | None = None,
) -> Score:
    """A score from the outcome of each attack, 0 to 1, and of the same attack on the control."""
    _check(confidence)
    values = np.asarray(outcomes, np.float64)
    low, high = mean_interval(values, confidence)
    value = float(values.mean())
    more: dict[str, Any] = {
        "people": len(values),
        "fractions": _fractions(values, control),
        **(details or {}),
    }
    against = None
    if control is not None:
        others = np.asarray(control, np.float64)
        against = float(others.mean())
        ends = mean_interval(others, confidence)
        more["control"] = {"value": against, "low": ends[0], "high": ends[1], "people": len(others)}
        more["above_control"] = _above(value, (low, high), against, ends)
    if baseline is not None:
        more["above_baseline"] = _above(value, (low, high), baseline, (baseline, baseline))
    return Score(
        name=name,
        section="attack",
        value=value,
        range=(0.0, 1.0),
        better=better,
        meaning=meaning,
        low=min(low, value),
        high=max(high, value),
        confidence=confidence,
        columns=tuple(columns),
        knowledge=knowledge,
        baseline=baseline,
        control=against,
        details=more,
    )


def _above(value: float, ends: Interval, against: float, other: Interval) -> dict[str, float]:
    """The plain difference to control or guess, with its interval."""
    low, high = difference(value, ends, against, other)
    return {"value": value - against, "low": low, "high": high}


def _fractions(values: Floats, control: Floats | NDArray[np.bool_] | None) -> bool:
    """Whether ties made outcomes fractions: their sum is then no count."""
    groups = [values] if control is None else [values, np.asarray(control, np.float64)]
    return not all(bool(((g == 0) | (g == 1)).all()) for g in groups)


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ParameterError("confidence lies between 0 and 1.", hint="confidence=0.95")
