"""A criterion: every class holds at least a share of all rows. In text: at-least-share(0.05)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import privacy
from sfumato.criteria import Classes, Criterion, CriterionForm
from sfumato.criteria.text import number
from sfumato.errors import ParameterError


@dataclass(frozen=True)
class AtLeastShare(Criterion):
    """No class is smaller than a share of the file; what is claimed of it is k-anonymity."""

    share: float
    k = 1  # no class can be too small before the file is known

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ParameterError("share must be above 0 and at most 1.", hint="at-least-share(0.05)")

    @property
    def monotone(self) -> bool:
        """Two classes that are large enough make one that is."""
        return True

    @property
    def closed(self) -> bool:
        """Further rows may make the file grow, and the share of another class shrink."""
        return False

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): which are large enough."""
        large: NDArray[np.bool_] = classes.sizes >= self.share * classes.sizes.sum()
        return large

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[privacy.Claim, ...]:
        """What the classes reach."""
        return (privacy.KAnonymity(int(min(classes.sizes, default=1)), columns),)

    def describe(self) -> str:
        """What is asked, in a few words."""
        return f"at least {self.share:g} of all rows in every class"


AT_LEAST_SHARE = CriterionForm("at-least-share(0.05)", AtLeastShare, {"share": number}, {})
