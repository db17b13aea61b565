"""What an output checker allows: how many people a number must be about, and who may dominate it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.errors import ParameterError
from sfumato.tabulation import Dominance, PPercent


@dataclass(frozen=True)
class OutputLimits:
    """The rules of a safe setting. They are the same for every output of an analysis.

    threshold: a number about fewer people is withheld.  freedom: residual degrees of freedom that a model
    must have at least.  dominance, percent: sums and means that a few contributors make up.  zeros: zeros are
    withheld, too, as they say what nobody of a group has.  missing: people whose value is missing count as a
    small group.  base: of rounding.

    >>> sf.checked.OutputLimits(threshold=5).zeros
    True
    """

    threshold: int = 10
    freedom: int = 10
    dominance: Dominance = field(default_factory=lambda: Dominance(2, 0.9))
    percent: PPercent = field(default_factory=lambda: PPercent(0.1))
    zeros: bool = True
    missing: bool = False
    base: int = 5

    def __post_init__(self) -> None:
        faults = []
        for name, least in (("threshold", 2), ("freedom", 1), ("base", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                faults.append(f"{name} is a whole number from {least} up")
        if not isinstance(self.dominance, Dominance) or not isinstance(self.percent, PPercent):
            faults.append("dominance is sf.Dominance(...), percent sf.PPercent(...)")
        for name in ("zeros", "missing"):
            if not isinstance(getattr(self, name), bool):
                faults.append(f"{name} is true or false")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="OutputLimits(threshold=10)")
