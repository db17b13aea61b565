"""What is asked of a release, measured on counts. A criterion is what was asked; a claim what was reached."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.counts import Counts
from sfumato.errors import ParameterError


@dataclass(frozen=True)
class KAnonymity:
    """Every combination of the quasi-identifiers that occurs is shared by at least k rows."""

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ParameterError("k must be a whole number from 1 up.", hint="KAnonymity(5)")

    def measure(self, counts: Counts) -> int:
        """The k that was reached: the rows of the smallest class. An empty table has no class: 0."""
        return int(counts.n.min()) if counts.cells else 0

    def holds(self, counts: Counts) -> bool:
        """Whether what was asked was reached; an empty table breaks no promise."""
        return not counts.cells or self.measure(counts) >= self.k
