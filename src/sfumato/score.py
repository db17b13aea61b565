"""A number that carries its meaning, so that it cannot be misread.

What judges a release returns these: the value with its interval, the range it can have, which way is
better, and for an attack what the intruder knew, what a plain guess reaches, and how the same attack
does on people who are not in the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sfumato.errors import ParameterError

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Score:
    """One judgement.

    name: short and unique within an assessment, such as "total variation, pairs".
    section: "utility", "risk" or "attack".
    low, high: the interval, at the stated confidence; None where the value is exact.
    range: the smallest and largest value there can be.
    better: which way is better for who publishes: utility higher or lower, risk lower.
    meaning: one sentence a reader without statistics understands.
    columns: what it is about; empty for the whole table.
    knowledge: for an attack, what the intruder knows.
    baseline, control: for an attack, the success of a plain guess, and on people not in the data.
    details: tables behind the number, as lists of plain records; they are internal.
    """

    name: str
    section: Literal["utility", "risk", "attack"]
    value: float
    range: tuple[float, float]
    better: Better
    meaning: str
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    columns: tuple[str, ...] = ()
    knowledge: str = ""
    baseline: float | None = None
    control: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _snapped(self.value, self.range))
        faults = []
        if not self.name or not self.meaning:
            faults.append("a score has a name and a meaning")
        if not math.isnan(self.value) and not self.range[0] <= self.value <= self.range[1]:
            faults.append("its value lies in its range")
        if (self.low is None) != (self.high is None) or (self.low is not None and self.confidence is None):
            faults.append("an interval has two ends and a confidence")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            faults.append("an interval runs from low to high")
        if self.section == "attack" and not self.knowledge:
            faults.append("an attack says what the intruder knows")
        if faults:
            raise ParameterError(f"score '{self.name}': {'; '.join(faults)}.", hint="see sfumato.score")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what is not a finite number, an open end of a range too, becomes null."""
        out = asdict(self)
        out["range"] = [_finite(end) for end in self.range]
        return {name: _finite(value) for name, value in out.items()}

    def __str__(self) -> str:
        interval = ""
        if self.low is not None and self.high is not None:
            interval = f" [{self.low:.4g}, {self.high:.4g}]"
        control = "" if self.control is None else f", control {self.control:.4g}"
        baseline = "" if self.baseline is None else f", baseline {self.baseline:.4g}"
        return f"{self.name}: {self.value:.4g}{interval}{control}{baseline} ({self.better} is better)"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{escape(str(self))}</b><br>{escape(self.meaning)}</p>"


def _snapped(value: float, span: tuple[float, float]) -> float:
    """The end of the range that the value misses only by the rounding of the sums behind it."""
    for end in span:
        if not span[0] <= value <= span[1] and math.isclose(value, end, rel_tol=1e-9, abs_tol=1e-9):
            return end
    return value


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
