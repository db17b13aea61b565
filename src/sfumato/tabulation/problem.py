"""What a pattern of withheld cells has to do, without any data: cells, relations, what must not be told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import Published, Relations, Target

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HidingProblem:
    """True cells, and which of them must be hidden how well.

    least: what a reader knows of a cell that is withheld: it is not below this.
    sensitive: cells that are withheld in any case, and of which a reader must be left with [low, high].
    cost: what it costs to withhold a cell.  kept: cells that must be published.
    alone: cells with one contributor.  whole: all are whole numbers.
    most: what a reader knows of a withheld cell, too: it is not above this.
    people: how many there are in each cell, where coalitions of several are asked about.
    aside: of the sensitive cells those that are withheld in any case though anybody may know them.
    """

    relations: Relations
    values: Real
    least: Real
    sensitive: Flags
    low: Real
    high: Real
    cost: Real
    kept: Flags
    alone: Flags
    whole: bool = True
    most: Real | None = None
    people: Index | None = None
    aside: Flags | None = None

    @property
    def asked(self) -> Flags:
        """The cells of which a reader must be left with more than the truth."""
        return self.sensitive if self.aside is None else self.sensitive & ~self.aside

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.values)

    def published(self, withheld: Flags) -> Published:
        """What a reader is told when these cells are withheld."""
        low = np.where(withheld, self.least, self.values)
        high = np.where(withheld, np.inf if self.most is None else self.most, self.values)
        return Published(self.relations, low, high, np.full(self.size, self.whole))

    def known_to(self, coalition: int) -> dict[int, int]:
        """Cells whose people are all in some coalition of so many, and how many they are."""
        if coalition == 1 or self.people is None:
            return dict.fromkeys(np.flatnonzero(self.alone).tolist(), 1)
        few = np.flatnonzero((self.people >= 1) & (self.people <= coalition))
        return {int(c): int(self.people[c]) for c in few}

    def targets(self) -> list[Target]:
        """What must not be narrowed."""
        cells = np.flatnonzero(self.asked)
        return [Target(int(c), float(self.low[c]), float(self.high[c])) for c in cells]


@dataclass(frozen=True, eq=False)
class Merged:
    """A problem in which cells that are always equal are one. of: the cell here of each one there."""

    problem: HidingProblem
    of: Index

    def spread(self, withheld: Flags) -> Flags:
        """A pattern of the merged cells, for all of them."""
        return withheld[self.of]

    def change(self, cells: Index, step: Real) -> tuple[Index, Real]:
        """A change of the merged cells, for all of them."""
        moved = np.zeros(self.problem.size)
        moved[cells] = step
        spread = moved[self.of]
        found = np.flatnonzero(spread)
        return found, spread[found]


def merge(problem: HidingProblem) -> Merged:
    """Make one cell of a total and its only part: withholding one without the other hides nothing."""
    matrix = problem.relations.matrix
    length = np.diff(matrix.indptr)
    equal = (problem.relations.least == 0) & (problem.relations.most == 0)
    parent = np.arange(problem.size)
    for row in np.flatnonzero((length == 2) & equal):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        a, b = matrix.indices[span]
        if matrix.data[span].sum() == 0:
            first, second = _root(parent, int(a)), _root(parent, int(b))
            parent[max(first, second)] = min(first, second)
    roots = np.array([_root(parent, i) for i in range(problem.size)], np.int64)
    heads, of = np.unique(roots, return_inverse=True)
    return Merged(_reduced(problem, heads, of), of)


def _root(parent: Index, cell: int) -> int:
    while parent[cell] != cell:
        parent[cell] = parent[parent[cell]]
        cell = int(parent[cell])
    return cell


def _reduced(problem: HidingProblem, heads: Index, of: Index) -> HidingProblem:
    from scipy.sparse import csr_matrix

    n = len(heads)
    fold = csr_matrix((np.ones(len(of)), (np.arange(len(of)), of)), shape=(len(of), n))
    matrix = (problem.relations.matrix @ fold).tocsr()
    matrix.data[np.abs(matrix.data) < 1e-12] = 0.0
    matrix.eliminate_zeros()
    rows = np.flatnonzero(np.diff(matrix.indptr))

    def any_of(flags: Flags) -> Flags:
        return np.bincount(of, flags, n) > 0

    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    asked = problem.sensitive
    np.minimum.at(low, of[asked], problem.low[asked])
    np.maximum.at(high, of[asked], problem.high[asked])
    least = np.full(n, -np.inf)
    np.maximum.at(least, of, problem.least)
    most = np.full(n, np.inf)
    if problem.most is not None:
        np.minimum.at(most, of, problem.most)
    return replace(
        problem,
        most=most,
        relations=Relations(matrix[rows], problem.relations.least[rows], problem.relations.most[rows]),
        values=problem.values[heads],
        least=least,
        sensitive=any_of(asked),
        low=low,
        high=high,
        cost=np.bincount(of, problem.cost, n).astype(np.float64),
        kept=any_of(problem.kept),
        alone=any_of(problem.alone),
        people=None,
        aside=None,
    )
