"""Dates of birth: day, month, year, age band. Thesis: DateOfBirthPoset.

The thesis releases a date in the middle of what is known (the 15th; mid-June; the birthday of someone of
the band's middle age), which is a date nobody gave and may even fall into another band. Here a node *is*
its granularity, and is written as such: 1978-02-13, 1978-02, 1978, age 26-30, *.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy._values import placed
from sfumato.hierarchy.levels import ROOT, Hierarchy
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.poset import at_least_one

GRANULARITIES = ("day", "month", "year", "band", "all")


class Born(NamedTuple):
    """What is told: how finely, and the first and last day it may have been."""

    granularity: str
    first: date
    last: date


@dataclass(frozen=True)
class DateOfBirth:
    """Day < month < year < age band < *.

    base: the day ages are reckoned on; nobody is born after it. bands: the last age of each band (thesis:
    AgeRanges), as 5, 30, 50 for [0, 5], [6, 30], [31, 50]; older people share the band "51+".
    reckoned: "by year" takes the age a person reaches in the year of `base`, so that every year lies in one
    band and the five granularities are a chain. "by day" takes completed years on `base` itself; a year may
    then lie in two bands, and is under neither: two days of it that share the band have *two* least
    upper bounds, the year and the band.
    oldest: the greatest age there is; it bounds the days that shares are counted in.
    """

    base: date
    bands: tuple[int, ...]
    reckoned: Literal["by year", "by day"] = "by year"
    oldest: int = 130

    def __post_init__(self) -> None:
        faults = []
        object.__setattr__(self, "bands", tuple(self.bands))
        whole = all(isinstance(b, int) for b in self.bands)
        if not self.bands or not whole or list(self.bands) != sorted(set(self.bands)) or self.bands[0] < 0:
            faults.append("bands must be ages in ascending order")
        elif self.bands[-1] >= self.oldest:
            faults.append("oldest must be above the bands")
        if self.reckoned not in ("by year", "by day"):
            faults.append("reckoned must be 'by year' or 'by day'")
        if not isinstance(self.base, date) or not 0 < self.oldest < self.base.year - 1:
            faults.append("oldest is beyond the calendar")
        if faults:
            raise ParameterError(f"these are not dates of birth: {'; '.join(faults)}.")

    # -- days ------------------------------------------------------------------------------------

    @property
    def earliest(self) -> date:
        """The first day on which somebody may be born."""
        return self._band_days(self.oldest, self.oldest)[0]

    def age(self, born: date) -> int:
        """How old someone is, as reckoned."""
        years = self.base.year - born.year
        before = (self.base.month, self.base.day) < (born.month, born.day)
        return years - (self.reckoned == "by day" and before)

    def _band_days(self, youngest: int, oldest: int) -> tuple[date, date]:
        """The first and last day of birth of people of these ages."""
        if self.reckoned == "by year":
            last = date(self.base.year - youngest, 12, 31)
            return date(self.base.year - oldest, 1, 1), min(last, self.base)
        return _years_before(self.base, oldest + 1) + timedelta(1), _years_before(self.base, youngest)

    def _ages(self, age: int) -> tuple[int, int]:
        """The band of an age."""
        for start, end in zip((0, *(b + 1 for b in self.bands)), self.bands, strict=False):
            if age <= end:
                return start, end
        return self.bands[-1] + 1, self.oldest

    def at(self, day: date, granularity: str) -> Born:
        """What is told of a day at a granularity."""
        if granularity == "day":
            return Born(granularity, day, day)
        if granularity == "month":
            after = date(day.year + day.month // 12, day.month % 12 + 1, 1)
            return Born(granularity, day.replace(day=1), after - timedelta(1))
        if granularity == "year":
            return Born(granularity, date(day.year, 1, 1), date(day.year, 12, 31))
        if granularity == "band":
            return Born(granularity, *self._band_days(*self._ages(self.age(day))))
        return self.top

    # -- order -----------------------------------------------------------------------------------

    @property
    def top(self) -> Born:
        """Nothing is told."""
        return Born("all", self.earliest, self.base)

    @property
    def height(self) -> int:
        """Four steps."""
        return len(GRANULARITIES) - 1

    @property
    def domain(self) -> int:
        """How many days there are."""
        return self._days(self.top)

    def node(self, value: object) -> Born:
        """The leaf of a day: a date, or a text such as 1978-02-13 or 19780213."""
        day = as_day(value)
        if day is None or not self.earliest <= day <= self.base:
            raise DataError(
                "a value is not a day of birth between the oldest age and the base date.",
                hint="as 1978-02-13; nobody is born after the base date",
                values=[value],
            )
        return self.at(day, "day")

    def leq(self, a: Born, b: Born) -> bool:
        """Whether all days of a are days of b, and b is no finer."""
        coarser = GRANULARITIES.index(a.granularity) <= GRANULARITIES.index(b.granularity)
        if b.granularity == "all" or a == b:
            return True
        first, last = max(a.first, self.earliest), min(a.last, self.base)  # nobody is born outside
        return coarser and a.granularity != b.granularity and b.first <= first and last <= b.last

    def lub(self, *members: Born) -> frozenset[Born]:
        """The finest of what all members share; two where a year and a band cross."""
        at_least_one(members)
        day = min(max(members[0].first, self.earliest), self.base)
        above = [self.at(day, granularity) for granularity in GRANULARITIES]
        common = [b for b in above if all(self.leq(m, b) for m in members)]
        return frozenset(b for b in common if not any(o != b and self.leq(o, b) for o in common))

    def rank(self, node: Born) -> float:
        """How many steps above the day."""
        return float(GRANULARITIES.index(node.granularity))

    def share(self, node: Born) -> float:
        """The part of all days that a node leaves open."""
        return self._days(node) / self.domain

    def _days(self, node: Born) -> int:
        return (min(node.last, self.base) - max(node.first, self.earliest)).days + 1

    def label(self, node: Born) -> str:
        """As finely as it is known, and no finer."""
        if node.granularity == "band":
            start, end = self._ages(self.age(min(node.last, self.base)))
            return f"age {start}+" if end == self.oldest else f"age {start}-{end}"
        written = {"day": 10, "month": 7, "year": 4}.get(node.granularity)
        return ROOT if written is None else node.first.isoformat()[:written]

    def over(self, levels: Sequence[object]) -> Hierarchy | Matrix:
        """Over the days that occur: a hierarchy with levels "by year", a poset "by day"."""
        leaves = placed(levels, self.node, "not days of birth between the oldest age and the base date")
        if self.reckoned == "by year":
            return Hierarchy.of_rows(
                [
                    (text, *(self.label(self.at(leaf.first, g)) for g in GRANULARITIES[1:]))
                    for text, leaf in leaves.items()
                ]
            )
        inner = {self.at(leaf.first, g) for leaf in leaves.values() for g in GRANULARITIES[1:]}
        nodes = sorted(inner, key=lambda b: (GRANULARITIES.index(b.granularity), b.first))
        # Leaves are called by their text: a day may be written in several ways.
        parents: dict[Hashable, list[Hashable]] = {t: [*self._above(leaf)] for t, leaf in leaves.items()}
        parents.update({node: [b for b in self._above(node) if b in inner] for node in nodes})
        names: dict[Hashable, str] = {t: t for t in leaves}
        return Matrix.of(parents, names={**names, **{node: self.label(node) for node in nodes}})

    def _above(self, node: Born) -> list[Born]:
        candidates = [self.at(max(node.first, self.earliest), g) for g in GRANULARITIES]
        return [b for b in candidates if b != node and self.leq(node, b)]


def as_day(value: object) -> date | None:
    """The day a value is or spells (ISO, with or without dashes)."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return datetime.fromisoformat(str(value).strip()).date()
    except ValueError:
        return None


def _years_before(day: date, years: int) -> date:
    """The same day some years earlier; 29 February becomes the 28th where there is none."""
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return day.replace(year=day.year - years, day=28)
