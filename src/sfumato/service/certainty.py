"""How sure a score is, and what the service does where noise outweighs it: answer, round, or abstain.

A model that was fitted with intervals says between which probabilities the fit without noise would have been.
All of it is arithmetic on what was released, and free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.prediction.models import ReleasedModel

ACTIONS = ("answer", "round", "abstain")
_COARSE = 1  # decimals of a score that is not sure


@dataclass(frozen=True)
class Certainty:
    """What is said of a score's interval.

    level: of the interval. widest: an interval wider than this is not sure. action: what becomes of the score
        then: it is answered all the same, rounded to one decimal, or left out.
    """

    level: float = 0.9
    widest: float = 0.2
    action: str = "answer"

    @property
    def faults(self) -> list[str]:
        """What is wrong with it."""
        found = []
        if not 0.5 <= self.level <= 0.999:
            found.append("an interval has a level of .5 to .999")
        if not 0 < self.widest < 1:
            found.append("an interval is too wide from a width between 0 and 1 on")
        if self.action not in ACTIONS:
            found.append(f"a score that is not sure is one of {', '.join(ACTIONS)}")
        return found

    def told(self, model: ReleasedModel, row: dict[str, Any], risk: float) -> tuple[float | None, Interval]:
        """The score as it is said, and its interval; only of a model that has intervals."""
        low, high = model.interval(row, self.level)  # type: ignore[attr-defined]
        if high - low <= self.widest or self.action == "answer":
            return risk, (low, high)
        return (round(risk, _COARSE) if self.action == "round" else None), (low, high)


ALWAYS = Certainty()
Interval = tuple[float, float]


def outwards(interval: Interval, decimals: int | None) -> list[float]:
    """An interval with no more decimals than wanted: never narrower than it was."""
    if decimals is None:
        return list(interval)
    scale = 10**decimals
    low, high = math.floor(interval[0] * scale) / scale, math.ceil(interval[1] * scale) / scale
    return [round(low, decimals), round(high, decimals)]


def has_intervals(model: object) -> bool:
    """Whether a model can say how sure it is."""
    return bool(getattr(model, "has_intervals", False))
