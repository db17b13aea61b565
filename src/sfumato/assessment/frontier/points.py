"""Points of the risk-utility map, and which of them no other beats."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.assessment.frontier.axes import no_axis
from sfumato.assessment.frontier.grid import Trial
from sfumato.score import Score

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Point:
    """One method with one setting: the mean over its repeats, and how far a mean of repeats may be off.

    method: its place in the list of methods. front: no other point is better on one count and as good on
    the other. The interval tells how much the draws differ, not what another table would give.
    """

    name: str
    settings: Mapping[str, Any] = field(hash=False)
    method: int
    risk: Score
    utility: Score
    repeats: int
    seconds: float
    promises: tuple[str, ...] = ()
    front: bool = False

    @staticmethod
    def label_of(name: str, settings: Mapping[str, Any]) -> str:
        """The method and its settings in one line."""
        said = ", ".join(f"{k} = {f'{v:.6g}' if isinstance(v, float) else v}" for k, v in settings.items())
        return f"{name} ({said})" if said else name

    @property
    def label(self) -> str:
        """The method and its settings in one line."""
        return self.label_of(self.name, self.settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

        def number(score: Score) -> dict[str, float | None]:
            values = {"value": score.value, "low": score.low, "high": score.high}
            return {k: v if v is not None and math.isfinite(v) else None for k, v in values.items()}

        return {
            "name": self.name, "settings": {k: _plain(v) for k, v in self.settings.items()},
            "risk": number(self.risk), "utility": number(self.utility), "front": self.front,
            "repeats": self.repeats, "seconds": self.seconds, "promises": list(self.promises),
        }  # fmt: skip


def _plain(value: object) -> object:
    """A setting as JSON has it; an epsilon without end is told in words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    try:
        return json.loads(json.dumps(value, default=repr, allow_nan=False))
    except ValueError:
        return repr(value)


def point_of(name: str, settings: Mapping[str, Any], method: int, runs: Sequence[Trial]) -> Point:
    """The point of one method's runs."""
    risks = [run.risk for run in runs if run.risk is not None]
    utilities = [run.utility for run in runs if run.utility is not None]
    return Point(
        name, settings, method, _mean(risks), _mean(utilities), len(runs),
        sum(run.seconds for run in runs) / len(runs), runs[0].promises,
    )  # fmt: skip


def _mean(scores: Sequence[Score]) -> Score:
    """The mean with Student's interval, within the range of the score; one run has no interval of its own."""
    first, values = scores[0], [s.value for s in scores]
    mean = math.fsum(values) / len(values)
    if len(values) == 1 or not all(map(math.isfinite, values)):
        return replace(first, value=mean, low=None, high=None, confidence=None)
    from scipy.stats import t

    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * spread
    low, high = max(first.range[0], mean - reach), min(first.range[1], mean + reach)
    mean = min(max(mean, low), high)  # rounding must not carry it outside
    return replace(first, value=mean, low=low, high=high, confidence=CONFIDENCE)


def marked(points: Sequence[Point]) -> tuple[Point, ...]:
    """The same points, those on the Pareto front marked."""
    _require_direction(points)
    at = [(_cost(p.risk), _cost(p.utility)) for p in points]
    return tuple(replace(p, front=_unbeaten(mine, at)) for p, mine in zip(points, at, strict=True))


def _require_direction(points: Iterable[Point]) -> None:
    """Of functions that a user gave as measures; those with a name are known before (axes.py)."""
    vague = sorted({p.utility.name for p in points if p.utility.better == "neither"})
    vague += sorted({p.risk.name for p in points if p.risk.better != "lower"})
    if vague:
        raise no_axis(vague)


def _cost(score: Score) -> float:
    """Less is better; what is not a number is worst."""
    if math.isnan(score.value):
        return math.inf
    return score.value if score.better == "lower" else -score.value


def _unbeaten(mine: tuple[float, float], others: Sequence[tuple[float, float]]) -> bool:
    return math.isfinite(sum(mine)) and not any(
        a <= mine[0] and b <= mine[1] and (a, b) != mine for a, b in others
    )
