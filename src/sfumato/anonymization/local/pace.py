"""How far a search may go: by moves, which repeat exactly, and by CPU seconds, which a machine sets."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Pace:
    """moves: to be made in all. seconds: of CPU time of this thread; whichever comes first ends the search.
    hot: how hot the annealing begins, as a share of the mean loss of a class.

    While time is ample, how hot the annealing is depends on moves alone, and a seed repeats the result.
    """

    moves: int
    seconds: float
    hot: float = 0.004
    done: int = 0
    hurried: bool = False
    interrupted: bool = False
    started: float = field(default_factory=time.thread_time)

    @property
    def spent(self) -> float:
        """CPU seconds so far."""
        return time.thread_time() - self.started

    def fraction(self) -> float:
        """How much of the search is over, 0 to 1."""
        if self.interrupted:
            return 1.0
        by_moves = min(1.0, self.done / max(self.moves, 1))
        by_time = self.spent / self.seconds
        if by_time > by_moves and (by_time >= 1 or by_time > 0.25):
            self.hurried = True
        return min(1.0, max(by_moves, by_time if self.hurried else 0.0))
