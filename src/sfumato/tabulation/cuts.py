"""What every pattern keeps (Fischetti and Salazar): cuts, which say that some of a few cells are withheld.

A requirement that a choice of cells leaves unfulfilled is looked at by the program behind `Movements.within`.
Where a cell does not get as far as required, a ray proves it: weighted by it, the relations say that all
cells with all the room that they have do less than is needed. Every pattern must make up for that:

    sum of weight * room * chosen >= amount.

What sensitive cells carry, as they are chosen in any case, is taken off first; and no cell counts for more
than what is left, as it is chosen whole. A cut holds for every pattern, so it is kept and used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.cells import Movements
from sfumato.tabulation.problem import HidingProblem
from sfumato.tabulation.requirement import Requirement

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

FEW, MANY = 30, 1000  # steps of a look: most cuts are found in few, a movement may take many
_NEAR = 1e-6
_FREE = 0.1  # what a cell costs that is chosen whole, beside others: movements keep to those
_GOLDEN = 0.6180339887498949


class ChosenCells:
    """A choice of cells, which may be by halves. withheld: what is chosen whole, or sensitive."""

    def __init__(self, cuts: Cuts, chosen: Real) -> None:
        self.chosen, self._cuts = chosen, cuts
        share = np.where(cuts.problem.sensitive, 1.0, chosen)
        self.withheld: Flags = share >= 1.0 - _NEAR
        self._share = np.tile(np.where(share > _NEAR, share, 0.0), 2)
        self.cost = np.where(self._share >= 1.0 - _NEAR, _FREE, 1.0) * cuts.turned
        self._rooms: dict[float, Real] = {}

    def room(self, asked: Requirement) -> Real:
        """How far cells may rise, then fall, for a requirement.

        A cell that is chosen by half may move by half of its room, or of the amount: more is hardly ever
        needed, and a cut that is found so is reckoned anew with all the room there is.
        """
        amount = abs(asked.amount)
        if amount not in self._rooms:
            part = np.minimum(self._cuts.whole, amount) * self._share
            self._rooms[amount] = np.where(self._share >= 1.0 - _NEAR, self._cuts.whole, part)
        room = self._rooms[amount]
        if asked.still:
            room = room.copy()
            room[[*asked.still, *(c + len(self.chosen) for c in asked.still)]] = 0.0
        return room

    def carries(self, asked: Requirement, moved: Real) -> bool:
        """Whether a movement fits."""
        cells = np.flatnonzero(moved)
        far = moved[cells]
        columns = np.where(far > 0, cells, cells + len(moved))
        fits = self.room(asked)[columns] >= np.abs(far) - _NEAR
        fits[cells == asked.cell] = True
        return bool(fits.all())


class Cuts:
    """All that were found, coefficients @ chosen >= 1, and the way to find more."""

    def __init__(self, problem: HidingProblem, ways: Movements) -> None:
        self.problem, self.ways = problem, ways
        n = problem.size
        self.found: list[tuple[Index, Real]] = []
        self._known: set[bytes] = set()
        self._matrix: csr_matrix | None = None
        self._nobody = np.zeros(n, bool)
        self.whole = np.concatenate([ways.up, ways.down])  # all the room there is
        self.turned = 1 + np.modf(np.arange(1, 2 * n + 1) * _GOLDEN)[0]

    # -- a choice --------------------------------------------------------------------------------

    def look(
        self, asked: Requirement, choice: ChosenCells, pivots: int = MANY
    ) -> tuple[Real | None, tuple[Index, Real] | None]:
        """A movement that fulfils a requirement under a choice, or a cut that the choice breaks; or neither.

        Of a cell that may move either way, each pattern keeps the cut of one of them, and so that of the
        larger coefficients.
        """
        ways, largest = self.ways, np.zeros(self.problem.size)
        for signed in asked.directions(ways.up, ways.down):
            moved, ray = ways.within(asked.cell, signed, choice.room(asked), choice.cost, pivots)
            if moved is not None or ray is None:
                return moved, None
            does = self.coefficients(asked, signed, ray)
            if does is None:
                return None, None
            largest = np.maximum(largest, does)
        cells = np.flatnonzero(largest)
        return None, (cells, largest[cells])

    def turn(self, random: np.random.Generator) -> None:
        """Let movements be short in another way from now on: another corner may be whole."""
        self.turned = random.uniform(1.0, 2.0, 2 * self.problem.size)

    def coefficients(self, asked: Requirement, signed: float, ray: Real) -> Real | None:
        """The cut that a ray gives, for one direction; None where it says nothing."""
        still = self._nobody
        if asked.still:
            still = still.copy()
            still[list(asked.still)] = True
        does, left = self.ways.does(ray, asked.cell, signed, self.problem.sensitive, still)
        if not left > _NEAR * abs(signed):
            return None
        return np.asarray(np.minimum(does / left, 1.0))

    # -- what was found --------------------------------------------------------------------------

    def keep(self, cuts: Iterable[tuple[Index, Real]]) -> list[tuple[Index, Real]]:
        """Note cuts; those that were not known."""
        new = []
        for cells, coefficients in cuts:
            name = cells.tobytes() + np.round(coefficients, 6).tobytes()
            if name not in self._known:
                self._known.add(name)
                new.append((cells, coefficients))
        if new:
            self.found += new
            self._matrix = None
        return new

    def matrix(self) -> csr_matrix:
        """All cuts, a row each."""
        if self._matrix is None:
            self._matrix = rows_of(self.found, self.problem.size)
        return self._matrix


def rows_of(cuts: Sequence[tuple[Index, Real]], size: int) -> csr_matrix:
    """Cuts as the rows of a matrix."""
    from scipy.sparse import csr_matrix

    start = np.concatenate([[0], np.cumsum([len(cells) for cells, _ in cuts])]).astype(np.int64)
    cells = np.concatenate([np.zeros(0, np.int64), *(c for c, _ in cuts)])
    values = np.concatenate([np.zeros(0), *(v for _, v in cuts)])
    return csr_matrix((values, cells, start), shape=(len(cuts), size))


def bridges(problem: HidingProblem, asking: Iterable[int]) -> tuple[csr_matrix, Real, Index]:
    """Cuts that need no program: rows over cells, the least sum of each, and which cell each is about (-1: a
    sensitive one).

    A cell that is the only one withheld of a sum is known. So the sums of a sensitive cell hold another one
    that is withheld; and of any other cell, too, in some cheapest pattern, as withholding it hides nothing.
    asking: cells that have to be hidden.
    """
    matrix, asked = problem.relations.matrix, set(asking)
    strict = problem.relations.least == problem.relations.most
    rows: list[tuple[Index, Real]] = []
    lonely: list[int] = []
    for row in np.flatnonzero(strict):
        cells = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        given = cells[problem.sensitive[cells]].tolist()
        others = np.sort(cells[~problem.sensitive[cells] & ~problem.kept[cells]]).astype(np.int64)
        if len(given) > 1 or (given and given[0] not in asked):
            continue
        for cell in [-1] if given else others.tolist():
            rows.append((others, np.where(others == cell, -1.0, 1.0)))
            lonely.append(cell)
    about = np.array(lonely, np.int64)
    return rows_of(rows, problem.size), np.where(about < 0, 1.0, 0.0), about
