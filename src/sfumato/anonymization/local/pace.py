"""How far a search may go: by moves, which repeat exactly, and by the clock, which a machine sets."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

from sfumato.anonymization import limits


@dataclass
class Pace:
    """moves: to be made in all. allowed: how many of them may be, None: all; fewer where work is limited.
    seconds: on the clock, None: as long as it takes; whichever comes first ends the search.
    hot: how hot the annealing begins, as a share of the mean loss of a class.
    end: when even the start is cut short, by the clock; None: never.

    While time is ample, how hot the annealing is depends on moves alone, and a seed repeats the result.
    """

    moves: int
    seconds: float | None = None
    hot: float = 0.004
    allowed: int | None = None
    end: float | None = None
    done: int = 0
    hurried: bool = False
    late: bool = False
    interrupted: bool = False
    started: float = field(default_factory=lambda: limits.clock())
    busy: float = field(default_factory=time.process_time)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return limits.clock() - self.started

    @property
    def planned(self) -> int:
        """The moves there is work for."""
        return self.moves if self.allowed is None else min(self.moves, self.allowed)

    @property
    def stopped(self) -> str:
        """Which limit kept the search from all of its moves; "" none."""
        if self.late or (self.hurried and self.done < self.planned):
            return limits.TIME
        return limits.WORK if self.planned < self.moves else ""

    def first(self, share: float) -> Pace:
        """The pace of a first part of the search, which has so much of the moves and of the seconds."""
        seconds = None if self.seconds is None else share * self.seconds
        allowed = None if self.allowed is None else int(share * self.allowed)
        return replace(self, moves=int(share * self.moves), seconds=seconds, allowed=allowed)

    def after(self, first: Pace) -> None:
        """What the first part came to."""
        self.done, self.hurried, self.late = first.done, first.hurried, first.late
        self.interrupted = first.interrupted

    def fraction(self) -> float:
        """How much of the search is over, 0 to 1."""
        if self.interrupted or self.done >= self.planned or self.is_late():
            return 1.0
        by_moves = self.done / self.planned
        if self.seconds is None:
            return by_moves
        by_time = self.spent / self.seconds if self.seconds > 0 else math.inf
        if by_time > by_moves and (by_time >= 1 or by_time > 0.25):
            self.hurried = True
        return min(1.0, max(by_moves, by_time if self.hurried else 0.0))

    def start_is_over(self, share: float, *, of_work: bool = False) -> bool:
        """Whether a part of the start has had its share of the seconds, or the start must end altogether.

        of_work: where no limit was given these are seconds of work: a start is made on a busy machine, too.
        """
        by_work = of_work and self.end is None
        spent = time.process_time() - self.busy if by_work else self.spent
        if self.seconds is not None and spent > share * self.seconds:
            self.hurried = True
            return True
        return self.is_late()

    def is_late(self) -> bool:
        """Whether the start must end too, as good as it is."""
        self.late = self.late or (self.end is not None and limits.clock() > self.end)
        return self.late

    def next_moves(self, most: int) -> int:
        """How many moves to make at once: `most`, or what the work limit leaves."""
        return most if self.allowed is None else max(1, min(most, self.allowed - self.done))
