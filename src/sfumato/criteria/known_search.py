"""What is asked of the search itself: that knowing how the classes were formed tells nothing more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import privacy
from sfumato.criteria.base import Criterion
from sfumato.criteria.classes import Classes
from sfumato.errors import ParameterError
from sfumato.privacy import Claim
from sfumato.privacy.known_search import BOTH, HIDES, PLACES, VALUES


@dataclass(frozen=True)
class KnownSearch(Criterion):
    """The release holds against an intruder who knows the search, too.

    hides: "values": who of a class has which sensitive value (asked beside l-diversity or (alpha, k)): every
        way to deal the values of a class out among its rows leads to the same release. "places": where
        within its released values a row lies: every way to place rows there leads to the same release.
        "both": any way to do both at once.
    Only a method that decides by what the release shows can hold it: `SimulatableRecoding`.

    >>> (sf.LDiversity(3, "health") & sf.KnownSearch("values")).describe()
    "distinct l-diversity of 'health' with l = 3 and a search that may be known, hiding values"
    """

    hides: str = BOTH

    def __post_init__(self) -> None:
        if self.hides not in HIDES:
            raise ParameterError(f"hides must be {' or '.join(HIDES)}.", hint="KnownSearch('values')")

    @property
    def values(self) -> bool:
        """Whether it hides who has which sensitive value."""
        return self.hides in (VALUES, BOTH)

    @property
    def places(self) -> bool:
        """Whether it hides where in its box a row lies."""
        return self.hides in (PLACES, BOTH)

    @property
    def k(self) -> int:
        """It asks nothing of sizes."""
        return 1

    @property
    def monotone(self) -> bool:
        """It asks nothing of a single class."""
        return True

    @property
    def leaves_out(self) -> bool:
        """A row that is released with * only would say that it lies in no class of the file."""
        return True

    def satisfied(self, classes: Classes) -> NDArray[np.bool_]:
        """(classes,): all; it is about how they were formed."""
        return np.ones(len(classes), bool)

    def claims(self, classes: Classes, columns: tuple[str, ...]) -> tuple[Claim, ...]:
        """What it hides, over these columns and the sensitive ones that were counted."""
        sensitive = tuple(classes.tables) if self.values else ()
        return (privacy.KnownSearch(columns, sensitive, self.hides),)

    def describe(self) -> str:
        """What is asked, in a few words."""
        what = "values and places" if self.hides == BOTH else self.hides
        return f"a search that may be known, hiding {what}"
