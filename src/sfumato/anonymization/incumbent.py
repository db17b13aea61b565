"""The best node so far, those as good, how many were looked at, and when to stop."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field

from sfumato.anonymization.lattice import Levels
from sfumato.anonymization.limits import SearchLimits
from sfumato.progress import report

TIE = 1e-10  # scores closer than this are the same: costs are added up in different orders


@dataclass(eq=False)
class Incumbent:
    """Shared by all threads of a search.

    open: the lowest bound among nodes that were not looked into because the search was stopped.
    """

    limits: SearchLimits = field(default_factory=SearchLimits)
    nodes: int | None = None
    best: float = math.inf
    ties: list[Levels] = field(default_factory=list)
    checked: int = 0
    open: float = math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def offer(self, levels: Levels, score: float) -> None:
        """A node that does what was asked, and its score."""
        with self._lock:
            if score < self.best - TIE:
                self.best, self.ties = score, [levels]
            elif score <= self.best + TIE and levels not in self.ties:
                self.ties.append(levels)
                self.best = min(self.best, score)

    def hopeless(self, bound: float) -> bool:
        """Whether nothing from this bound up can be as good as the best."""
        return bound > self.best + TIE

    @property
    def stopped(self) -> str:
        """Why no further node is looked at; "" while some are."""
        return self.limits.stopped

    def look(self, *, always: bool = False) -> bool:
        """Count a node that is looked at; False when it is time to stop. always: whatever the limits say."""
        if always:
            self.limits.spent += 1
        elif not self.limits.take():
            return False
        self.checked += 1
        if not self.checked & 63:
            report("searching the lattice", self.checked, self.nodes)
        return True

    def stop(self, why: str) -> None:
        """No further node is looked at."""
        self.limits.stopped = self.limits.stopped or why

    def leave(self, bound: float) -> None:
        """A node that is not looked into any more."""
        if not self.hopeless(bound):
            self.open = min(self.open, bound)

    @property
    def bound(self) -> float:
        """What no node can be below: the best itself when all was looked at."""
        return min(self.best, self.open)

    def choice(self) -> Levels:
        """Of those that are as good, the one with the fewest steps; then the first in order."""
        return min(self.ties, key=lambda levels: (sum(levels), levels))
