"""What is required of a pattern: a cell must be free to move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]

_NEAR = 1e-6


@dataclass(frozen=True)
class Requirement:
    """A cell must be free to move by an amount (negative: down), while given cells stay.

    either: up or down, whichever is cheaper; the amount is positive.
    """

    cell: int
    amount: float
    still: tuple[int, ...] = ()
    either: bool = False

    def met(self, up: float, down: float) -> bool:
        """Whether a movement that takes the cell so far is enough."""
        far = max(up, down) if self.either else up if self.amount > 0 else down
        return far >= abs(self.amount) - _NEAR

    def directions(self, up: Real, down: Real) -> list[float]:
        """The amounts by which the cell may move, of which one is enough. up, down: the room of all cells."""
        if not self.either:
            return [self.amount]
        much = abs(self.amount)
        rooms = ((much, up[self.cell]), (-much, down[self.cell]))
        return [way for way, room in rooms if room >= much - _NEAR] or [much]
