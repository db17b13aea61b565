"""How success is counted: rates with finite-sample intervals, against a control and a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.score import Better, Score

Floats = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95


class NothingToAttack(DataError):
    """There is nobody, or nothing, to attack: the one refusal of an attack that speaks for the release.

    Every other refusal leaves open what the attack would reach.
    """


def clopper_pearson(successes: float, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval of a binomial rate: it covers at least as often as it says, for any n."""
    _check(confidence)
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = 0.0 if successes <= 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes >= trials else float(beta.isf(tail, successes + 1, trials - successes))
    return low, high


def mean_interval(outcomes: Floats, confidence: float = CONFIDENCE) -> Interval:
    """A finite-sample interval of a mean of outcomes in [0, 1], assuming that people are independent.

    Because: where every outcome is 0 or 1 it is Clopper and Pearson's. Where ties make outcomes
    fractions, the tails of their sum are at most e times the binomial's (Bentkus 2004, Annals of
    Probability 32), so the sum is rounded outwards and the error rate divided by e.
    """
    total = float(outcomes.sum())
    if bool(((outcomes == 0) | (outcomes == 1)).all()):
        return clopper_pearson(round(total), len(outcomes), confidence)
    strict = 1 - (1 - confidence) / math.e
    low = clopper_pearson(math.floor(total + 1e-9), len(outcomes), strict)[0]
    high = clopper_pearson(min(math.ceil(total - 1e-9), len(outcomes)), len(outcomes), strict)[1]
    return low, high


def excess(attack: Interval, control: Interval, value: float, against: float) -> dict[str, float]:
    """(attack - control) / (1 - control): what the release adds, out of what could be added.

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
    both = 1 - (1 - confidence) / 2
    more: dict[str, Any] = {"people": len(values), **(details or {})}
    against = None
    if control is not None:
        others = np.asarray(control, np.float64)
        against = float(others.mean())
        ends = mean_interval(others, confidence)
        more["control"] = {"value": against, "low": ends[0], "high": ends[1], "people": len(others)}
        more["above_control"] = excess(
            mean_interval(values, both), mean_interval(others, both), value, against
        )
    if baseline is not None:
        more["above_baseline"] = excess((low, high), (baseline, baseline), value, baseline)
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


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ParameterError("confidence lies between 0 and 1.", hint="confidence=0.95")
