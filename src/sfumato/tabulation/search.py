"""The search for a pattern: which cells to withhold, so that every sensitive one is hidden at the least cost.

Each requirement (a cell must be free to move so far up, or down) holds one witness: a movement whose cells
are all withheld. The pattern is the union of the witnesses, so that what no witness uses is published.

- *start*: requirement by requirement, the cheapest movement; what is withheld already costs nothing.
- *improve*: take some cells out of the pattern, drop the witnesses that used them, find others, keep the
  result if it is not dearer. Witnesses that were found once are remembered and tried first.

The costs of a movement are those of withholding its cells, whole or not at all. A linear program sees them
per unit of movement; it is run again with the costs divided by what moved, which favours few cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import progress
from sfumato.cells import Movements, Relations
from sfumato.seeds import Key
from sfumato.tabulation.problem import HidingProblem

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEAR = 1e-6
_FREE = 1e-4  # a withheld cell costs a little, so that movements stay short
_BARRED = 1e3
_REMEMBERED = 16  # witnesses for each requirement
_MOVES_IN_A_PART = 25
_SMALL = 1500  # cells from which on parts of a table are searched by themselves


@dataclass(frozen=True)
class Requirement:
    """A cell must be free to move by an amount (negative: down), without a given cell if there is one."""

    cell: int
    amount: float
    fixed: int | None = None


@dataclass(eq=False)
class _Part:
    """Cells in which movements are looked for. place: their number there, or -1."""

    cells: Index
    place: Index
    ways: Movements


class PatternSearch:
    """A pattern that fulfils all requirements so far, getting cheaper."""

    def __init__(self, problem: HidingProblem, *, seed: int = 0) -> None:
        self.problem = problem
        self.random = Key.from_seed(seed).generator("suppression")
        n = problem.size
        self.up = np.where(problem.kept, 0.0, np.inf)
        self.down = np.where(problem.kept, 0.0, np.maximum(problem.values - problem.least, 0.0))
        self.fixed_in = problem.sensitive.copy()
        self.users: list[set[int]] = [set() for _ in range(n)]
        self._used = np.zeros(n, bool)
        self.extra = 0.0
        self.requirements: list[Requirement] = []
        self.witness: list[Index | None] = []
        self._remembered: list[dict[bytes, Index]] = []
        self._asking: dict[int, list[int]] = {}
        self._everything = self._part(np.arange(n))
        self._work = 0
        self.impossible: list[Requirement] = []
        for cell in np.flatnonzero(problem.sensitive):
            up, down = problem.high[cell] - problem.values[cell], problem.values[cell] - problem.low[cell]
            if up > _NEAR:
                self.require(Requirement(int(cell), float(up)))
            if down > _NEAR:
                self.require(Requirement(int(cell), -float(down)))

    # -- state -----------------------------------------------------------------------------------

    @property
    def withheld(self) -> Flags:
        """The pattern."""
        return self.fixed_in | self._used

    @property
    def programs(self) -> int:
        """How many programs were solved."""
        return self._work + self._everything.ways.solved

    def require(self, requirement: Requirement) -> int:
        """Add a requirement, which has no witness yet."""
        number = len(self.requirements)
        self.requirements.append(requirement)
        self.witness.append(None)
        self._remembered.append({})
        self._asking.setdefault(requirement.cell, []).append(number)
        return number

    def _set(self, number: int, cells: Index) -> None:
        self.witness[number] = cells
        for cell in cells.tolist():
            users = self.users[cell]
            if not users and not self.fixed_in[cell]:
                self.extra += self.problem.cost[cell]
                self._used[cell] = True
            users.add(number)

    def _drop(self, number: int) -> None:
        cells = self.witness[number]
        self.witness[number] = None
        for cell in () if cells is None else cells.tolist():
            users = self.users[cell]
            users.discard(number)
            if not users and not self.fixed_in[cell]:
                self.extra -= self.problem.cost[cell]
                self._used[cell] = False

    def _part(self, cells: Index) -> _Part:
        whole = self.problem.relations
        matrix = whole.matrix[:, cells]
        rows = np.flatnonzero(np.diff(matrix.indptr))
        told = whole.matrix[rows] @ self.problem.values - matrix[rows] @ self.problem.values[cells]
        relations = Relations(matrix[rows], whole.least[rows] - told, whole.most[rows] - told)
        strict = whole.least[rows] == whole.most[rows]
        relations.most[strict] = relations.least[strict]
        place = np.full(self.problem.size, -1)
        place[cells] = np.arange(len(cells))
        ways = Movements(
            relations, self.up[cells], self.down[cells], self.problem.whole, self.problem.values[cells]
        )
        return _Part(cells, place, ways)

    # -- witnesses -------------------------------------------------------------------------------

    def _remember(self, part: _Part, moved: Real) -> None:
        """Note a change with every requirement that it fulfils."""
        movement = part.ways.movement(moved)
        cells = part.cells[movement.cells]
        inside = None
        for cell, up, down in zip(cells.tolist(), *movement.reach(), strict=True):
            for number in self._asking.get(cell, ()):
                asked = self.requirements[number]
                if (up if asked.amount > 0 else down) < abs(asked.amount) - _NEAR:
                    continue
                if asked.fixed is not None:
                    inside = inside or set(cells.tolist())
                    if asked.fixed in inside:
                        continue
                known = self._remembered[number]
                known[cells.tobytes()] = cells
                if len(known) > _REMEMBERED:
                    del known[next(iter(known))]

    def _prices(self, barred: Sequence[int]) -> Real:
        prices = np.where(self.withheld, 0.0, self.problem.cost)
        prices[list(barred)] = _BARRED * (1 + self.problem.cost.max(initial=1.0))
        return prices

    def _known(self, number: int, prices: Real) -> tuple[float, Index | None]:
        best: tuple[float, Index | None] = (np.inf, None)
        for cells in self._remembered[number].values():
            price = float(prices[cells].sum())
            if price < best[0]:
                best = price, cells
        return best

    def _find(self, number: int, part: _Part, barred: Sequence[int], again: int) -> bool:
        """Look for cheap movements for a requirement, and remember them; whether there is any."""
        asked = self.requirements[number]
        prices = self._prices(barred)[part.cells]
        noise = 1 + 0.2 * self.random.random(len(prices))
        weights = np.maximum(prices * noise, _FREE * self.problem.cost[part.cells].min(initial=1.0))
        ways, amount = part.ways, abs(asked.amount)
        cell = int(part.place[asked.cell])
        fixed = None if asked.fixed is None else int(part.place[asked.fixed])
        fixed = None if fixed == -1 else fixed
        capacity = np.maximum(np.minimum(amount, ways.down), 1e-9)
        moved = ways.cheapest(cell, asked.amount, weights / amount, weights / capacity, fixed=fixed)
        if moved is None:
            return False
        self._remember(part, moved)
        price = prices[moved != 0].sum()
        for _ in range(again):
            if price == 0:
                break
            closer = weights / (np.abs(moved) + 0.1 * amount)
            moved = ways.cheapest(cell, asked.amount, closer, closer, fixed=fixed)
            if moved is None:
                break
            self._remember(part, moved)
            now = prices[moved != 0].sum()
            if now >= price:
                break
            price = now
        return True

    def _route(
        self, numbers: Iterable[int], part: _Part, barred: Sequence[int], again: int, limit: float
    ) -> bool:
        """Give each requirement a witness; False as soon as the pattern costs more than the limit."""
        prices = self._prices(barred)
        waiting = []
        for number in numbers:
            price, cells = self._known(number, prices)
            if cells is not None and price == 0:
                self._set(number, cells)
            else:
                waiting.append((price, number))
        barrier = _BARRED * (1 + self.problem.cost.max(initial=1.0))
        for _, number in sorted(waiting, reverse=True):
            prices = self._prices(barred)
            price, cells = self._known(number, prices)
            if price > 0:
                asked = self.requirements[number].cell
                where = part if part.place[asked] >= 0 else self._everything
                self._find(number, where, barred, again)
                price, cells = self._known(number, prices)
            if cells is None or price >= barrier or self.extra + price > limit + _NEAR:
                return False
            self._set(number, cells)
        return True

    # -- search ----------------------------------------------------------------------------------

    def start(self) -> None:
        """A witness for every requirement that has none; `impossible` notes what cannot be fulfilled."""
        waiting = [i for i, w in enumerate(self.witness) if w is None]
        order = self.random.permutation(len(waiting))
        ordered = sorted((waiting[i] for i in order), key=lambda i: -abs(self.requirements[i].amount))
        for done, number in enumerate(ordered):
            if not self._route([number], self._everything, (), 2, np.inf):
                self.impossible.append(self.requirements[number])
            progress.report("hiding sensitive cells", done + 1, len(ordered))

    def adopt(self, withheld: Flags) -> None:
        """Take another pattern that fulfils all requirements, each of which looks for a witness in it."""
        saved = list(self.witness)
        before = self.extra
        for number in range(len(self.witness)):
            self._drop(number)
        outside = np.flatnonzero(~(withheld | self.fixed_in))
        if not self._route(range(len(self.witness)), self._everything, outside.tolist(), 2, before):
            for number, cells in enumerate(saved):
                self._drop(number)
                if cells is not None:
                    self._set(number, cells)

    def improve(self, going_on: Callable[[], bool]) -> None:
        """Make the pattern cheaper for as long as it may."""
        moves = 0
        part = self._everything
        while going_on():
            if self.problem.size > _SMALL and moves % _MOVES_IN_A_PART == 0:
                if part is not self._everything:
                    self._work += part.ways.solved
                part = self._some_part()
            self._move(part)
            moves += 1

    def _some_part(self) -> _Part:
        """The cells of some places of one axis, with its totals: a fraction of the table."""
        axes = [p for p in self.problem.places if len(np.unique(p)) > 8]
        if not axes:
            return self._everything
        axis = axes[self.random.integers(len(axes))]
        places, sizes = np.unique(axis, return_counts=True)
        share = min(1.0, _SMALL / 2 / self.problem.size)
        chosen = self.random.random(len(places)) < share
        chosen |= sizes > 2 * np.median(sizes)  # totals, which relations pass through
        return self._part(np.flatnonzero(chosen[np.searchsorted(places, axis)]))

    def _move(self, part: _Part) -> bool:
        cells = np.flatnonzero(self._used & (part.place >= 0))
        if not len(cells):
            return False
        drawn = self.random.choice(cells, 3)  # what few witnesses use is the easiest to do without
        chosen = [int(min(drawn, key=lambda c: len(self.users[c])))]
        for _ in range(0 if self.random.random() < 0.6 else int(self.random.integers(1, 4))):
            users = sorted(self.users[chosen[int(self.random.integers(len(chosen)))]])
            witness = self.witness[users[int(self.random.integers(len(users)))]]
            assert witness is not None
            beside = [c for c in witness.tolist() if not self.fixed_in[c] and c not in chosen]
            if beside:
                chosen.append(beside[int(self.random.integers(len(beside)))])
        numbers = sorted(set().union(*(self.users[c] for c in chosen)))
        before, saved = self.extra, [(i, self.witness[i]) for i in numbers]
        for i in numbers:
            self._drop(i)
        barred = chosen if self.random.random() < 0.7 else []
        if self._route(numbers, part, barred, int(self.random.integers(0, 3)), before):
            return True
        for i, cells_of in saved:
            self._drop(i)
            if cells_of is not None:
                self._set(i, cells_of)
        return False


def until(seconds: float, programs: int | None, search: PatternSearch) -> Callable[[], bool]:
    """Whether there is still time: processor seconds from now, or programs in all."""
    end = time.process_time() + seconds

    def going_on() -> bool:
        return time.process_time() < end and (programs is None or search.programs < programs)

    return going_on
