"""How far a search may go: seconds on the clock, or units of work, which are the same on every machine.

With a limit of work and none of time the clock is not asked: however fast or busy the machine, the same
result comes out.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field

from sfumato.errors import ParameterError, SfumatoWarning

TIME, WORK, INTERRUPTED = "time limit", "work limit", "interrupted"  # why a search was stopped
clock = time.perf_counter


def limit_faults(time_limit: object, work_limit: object) -> list[str]:
    """What is wrong with the two limits."""
    faults = []
    seconds = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if time_limit is not None and not (seconds and math.isfinite(time_limit) and time_limit > 0):  # type: ignore[arg-type, operator]
        faults.append("time_limit must be a number of seconds above 0")
    units = isinstance(work_limit, int) and not isinstance(work_limit, bool)
    if work_limit is not None and not (units and work_limit >= 1):  # type: ignore[operator]
        faults.append("work_limit must be a whole number from 1 up")
    return faults


def refuse_limits(time_limit: object, work_limit: object) -> None:
    """Refuse limits that are none."""
    faults = limit_faults(time_limit, work_limit)
    if faults:
        raise ParameterError(f"{'; '.join(faults)}.", hint="time_limit=60, work_limit=10_000")


@dataclass(eq=False)
class SearchLimits:
    """What is left of both limits; None: no limit. stopped: why there is nothing left, "" while there is.

    spent: units of work so far.
    """

    time_limit: float | None = None
    work_limit: int | None = None
    spent: int = 0
    stopped: str = ""
    started: float = field(default_factory=lambda: clock())

    def take(self, units: int = 1) -> bool:
        """Whether so much more may be done; it is counted then. The first refusal is the end."""
        if self.stopped:
            return False
        if self.work_limit is not None and self.spent + units > self.work_limit:
            self.stopped = WORK
        elif self.time_limit is not None and self.seconds > self.time_limit:
            self.stopped = TIME
        else:
            self.spent += units
        return not self.stopped

    @property
    def left(self) -> float:
        """Units of work that may still be done."""
        return math.inf if self.work_limit is None else max(0, self.work_limit - self.spent)

    @property
    def seconds(self) -> float:
        """By the clock, since the search began."""
        return clock() - self.started

    @property
    def named(self) -> str:
        """The limit that was reached, in words."""
        return limit_named(self.stopped, self.time_limit, self.work_limit)

    def say(self, given: str) -> None:
        """Warn that the search was stopped, and what is given therefore; nothing if it came to its end."""
        if self.stopped:
            say_stopped(self.named, given)


def limit_named(stopped: str, time_limit: float | None, work_limit: int | None) -> str:
    """Why a search was stopped, in words."""
    if stopped == TIME:
        return f"its time limit of {time_limit:g} seconds"
    return f"its work limit of {work_limit}" if stopped == WORK else "an interrupt"


def say_stopped(why: str, given: str) -> None:
    """The warning of every search that was stopped."""
    warnings.warn(f"the search was stopped by {why}: {given}.", SfumatoWarning, stacklevel=4)
