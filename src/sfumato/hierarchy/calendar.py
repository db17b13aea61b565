"""Dates and instants in months, quarters, years and bands of years."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from sfumato.errors import ParameterError
from sfumato.hierarchy._values import placed
from sfumato.hierarchy.births import as_day
from sfumato.hierarchy.levels import ROOT, Hierarchy

_PERIODS = ("day", "month", "quarter", "year")


@dataclass(frozen=True)
class Calendar:
    """Days by period, from short to long.

    steps: some of "day" (for instants), "month", "quarter", "year", then numbers of years, each a multiple
    of the one before (bands start at years they divide). Weeks do not nest in months and are not offered.
    Written 2019-03-14, 2019-03, 2019-Q1, 2019, 2010-2019.
    """

    steps: tuple[str | int, ...] = ("month", "quarter", "year", 10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        order = [_PERIODS.index(s) if s in _PERIODS else -1 for s in self.steps if isinstance(s, str)]
        years = [s for s in self.steps if not isinstance(s, str)]
        faults = []
        if not self.steps or -1 in order:
            faults.append("steps must be day, month, quarter, year, or numbers of years")
        if any(isinstance(a, int) and isinstance(b, str) for a, b in pairwise(self.steps)) or any(
            a >= b for a, b in pairwise(order)
        ):
            faults.append("steps must go from short to long")
        if any(not isinstance(y, int) or isinstance(y, bool) or y < 2 for y in years):
            faults.append("numbers of years must be 2 or more")
        elif any(b % a or a == b for a, b in pairwise(years)):
            faults.append("each number of years must be a multiple of the one before")
        if faults:
            raise ParameterError(
                f"this is not a calendar: {'; '.join(faults)}.", hint="as ('month', 'year', 10)"
            )

    def over(self, levels: Sequence[object]) -> Hierarchy:
        """The hierarchy of a column with these dates (or texts such as 2019-03-14)."""
        days = placed(levels, as_day, "not dates")
        rows = [(text, *(_period(day, s) for s in self.steps), ROOT) for text, day in days.items()]
        return Hierarchy.of_rows(rows, name="the column")


def _period(day: date, step: str | int) -> str:
    if isinstance(step, int):
        start = day.year // step * step
        return f"{start:04d}-{start + step - 1:04d}"
    if step == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[step]]
