"""What is sensitive: cells with too few people, and sums that one contributor dominates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Real = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Contributions:
    """What is in each cell: its sum, and the largest contributions, largest first (cells, top)."""

    total: Real
    largest: Real
    people: NDArray[np.int64]


@dataclass(frozen=True)
class MinimumCount:
    """A cell of 1 to m - 1 people is sensitive. A reader must be left with every number of people from 1 to m
    - 1.

    persons: count different persons, not rows. None: where the table says whose rows they are.

    >>> people, fast = sf.samples.members(300), sf.CellSuppression(effort="fast")
    >>> release = sf.tabulate(people, "region,race", sf.MinimumCount(3), method=fast)
    >>> counts = release.data.to_arrow()["count"].drop_null().to_pylist()
    >>> min(count for count in counts if count) >= 3
    True
    """

    m: int = 5
    persons: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.m, bool) or not isinstance(self.m, int) or self.m < 2:
            raise ParameterError("the smallest count is a whole number from 2 up.", hint="MinimumCount(5)")

    def counts(self, people: NDArray[np.int64]) -> Flags:
        """Which counts are sensitive."""
        return np.asarray((people > 0) & (people < self.m))


@dataclass(frozen=True)
class PPercent:
    """A sum from which some contributor can tell another's share to within p of it is sensitive.

    The second largest contributor subtracts its own: what is left, but for the rest, is the largest. q: how
    well everybody knew the rest before, as a share of it; 1 is not at all (the p% rule), less is the pq rule.
    coalition: so many of the next largest tell each other what is theirs, and subtract it together.

    >>> people = sf.samples.members(300)
    >>> release = sf.tabulate(
    ...     people, "region", method=sf.CellSuppression(effort="fast"), of="cost", sums=sf.PPercent(0.1)
    ... )
    >>> release.data.columns
    ('region', 'count', 'cost')
    """

    p: float = 0.15
    q: float = 1.0
    coalition: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.p < 10 or not 0 < self.q <= 1:
            raise ParameterError("p is a share above 0, q a share up to 1.", hint="PPercent(p=0.15, q=1)")
        if isinstance(self.coalition, bool) or self.coalition not in range(1, 6):
            raise ParameterError(
                "coalition is a whole number from 1 to 5.", hint="PPercent(p=0.15, coalition=2)"
            )

    def room(self, cells: Contributions) -> Real:
        """How far a reader must be left in doubt of each sum; not above 0 where it is not sensitive."""
        first = cells.largest[:, 0]
        rest = cells.total - first - cells.largest[:, 1 : 1 + self.coalition].sum(axis=1)
        return np.asarray(self.p * first - self.q * rest)


@dataclass(frozen=True)
class Dominance:
    """A sum of which the n largest contributors make up more than the share k is sensitive.

    >>> people = sf.samples.members(300)
    >>> release = sf.tabulate(
    ...     people, "region", method=sf.CellSuppression(effort="fast"), of="cost", sums=sf.Dominance(1, 0.8)
    ... )
    >>> release.data.columns
    ('region', 'count', 'cost')
    """

    n: int = 1
    k: float = 0.85

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1 or not 0 < self.k < 1:
            raise ParameterError(
                "n is a whole number from 1 up, k a share below 1.", hint="Dominance(1, 0.85)"
            )

    def room(self, cells: Contributions) -> Real:
        """How far a reader must be left in doubt of each sum; not above 0 where it is not sensitive."""
        return np.asarray(cells.largest[:, : self.n].sum(axis=1) / self.k - cells.total)


@dataclass(frozen=True)
class Homogeneity:
    """A group of whom the share `share` or more are in one category of a column is sensitive: whoever knows
    that somebody is in the group knows the category.

    Everybody in one category means zeros elsewhere, so zeros of this column may be withheld, too.

    >>> people = sf.samples.members(300)
    >>> release = sf.tabulate(
    ...     people,
    ...     "region,diabetes",
    ...     method=sf.CellSuppression(effort="fast"),
    ...     homogeneity=sf.Homogeneity("diabetes", share=0.99),
    ... )
    >>> release.guarantee.claims[0].title
    'hidden cells: counts of 1 to 4 cannot be reckoned back'
    """

    column: str
    share: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise ParameterError("homogeneity is of a column.", hint="Homogeneity('diagnosis')")
        if isinstance(self.share, bool) or not 0.5 < self.share <= 1:
            raise ParameterError("the share lies above one half, up to 1.", hint="Homogeneity('dx', 0.95)")

    def least(self, people: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
        """Down to which count a reader must be left in doubt; above the count where it is not sensitive."""
        edge = np.ceil(self.share * group - 1e-9).astype(np.int64)
        return np.where((people >= edge) & (people > 0), edge - 1, people + 1)
