"""The search for a pattern: which cells to withhold, so that every sensitive one is hidden at the least cost.

Each requirement (a cell must be free to move so far up, or down) holds one witness: a movement whose cells
are all withheld. The pattern is the union of the witnesses, so that what no witness uses is published.

- *start*: requirement by requirement, the cheapest movement; what is withheld already costs nothing.
- *passes*: all of that again, with cells cheaper that many movements used before: they meet there.
- *moves*: take some cells out of the pattern, drop the witnesses that used them, or all of a neighbourhood,
  find others, keep the result if it is not dearer. Witnesses that were found once are remembered and tried
  first.

The costs of a movement are those of withholding its cells, whole or not at all. A linear program sees them
per unit of movement; it is run again with the costs divided by what moved, which favours few cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import progress
from sfumato.cells import Movement, Movements
from sfumato.seeds import Key
from sfumato.tabulation.problem import HidingProblem

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEAR = 1e-6
_FREE = (1e-3, 0.03)  # what a withheld cell costs: little, so that movements stay short and are found soon
_BARRED = 1e3
_REMEMBERED = 16  # witnesses for each requirement
_FAVOUR = 0.25  # how much cheaper popular cells are: (1 + users) to minus this
_REGIONS = 0.5  # of the moves: a whole neighbourhood is routed anew
_REGION = (5, 40)  # requirements in it
_IDLE_MOVES = 30  # for each cell that hides others, in a row without a gain


@dataclass(frozen=True)
class Requirement:
    """A cell must be free to move by an amount (negative: down), without a given cell if there is one."""

    cell: int
    amount: float
    fixed: int | None = None


class PatternSearch:
    """A pattern that fulfils all requirements so far, getting cheaper."""

    def __init__(self, problem: HidingProblem, *, seed: int = 0) -> None:
        self.problem = problem
        self.random = Key.from_seed(seed).generator("suppression")
        n = problem.size
        most = np.full(n, np.inf) if problem.most is None else problem.most
        self.up = np.where(problem.kept, 0.0, np.maximum(most - problem.values, 0.0))
        self.down = np.where(problem.kept, 0.0, np.maximum(problem.values - problem.least, 0.0))
        self.fixed_in = problem.sensitive.copy()
        self.users: list[set[int]] = [set() for _ in range(n)]
        self._used = np.zeros(n, bool)
        self.extra = 0.0
        self.requirements: list[Requirement] = []
        self.witness: list[Movement | None] = []
        self._remembered: list[dict[bytes, Movement]] = []
        self._asking: dict[int, list[int]] = {}
        self.ways = Movements(problem.relations, self.up, self.down, problem.whole, problem.values)
        self._popular = np.zeros(n)
        self._bias = np.ones(n)
        self._shared = np.ones(n)
        self._passing = True  # until a pass gains nothing
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
    def for_contributors(self) -> float:
        """What cells cost that are withheld only to hide others from people who are alone in a cell."""
        alone = {i for i, r in enumerate(self.requirements) if r.fixed is not None}
        cells = [c for c in np.flatnonzero(self._used) if not self.fixed_in[c] and self.users[c] <= alone]
        return float(self.problem.cost[cells].sum())

    @property
    def programs(self) -> int:
        """How many programs were solved."""
        return self.ways.solved

    def require(self, requirement: Requirement) -> int:
        """Add a requirement, which has no witness yet."""
        number = len(self.requirements)
        self.requirements.append(requirement)
        self.witness.append(None)
        self._remembered.append({})
        self._asking.setdefault(requirement.cell, []).append(number)
        return number

    def movements(self) -> Iterator[Movement]:
        """All that were found and are remembered, each once: hints for whoever checks the pattern."""
        seen: set[int] = set()
        for number, witness in enumerate(self.witness):
            for movement in (witness, *self._remembered[number].values()):
                if movement is not None and id(movement) not in seen:
                    seen.add(id(movement))
                    yield movement

    def _set(self, number: int, movement: Movement) -> None:
        self.witness[number] = movement
        for cell in movement.cells.tolist():
            users = self.users[cell]
            if not users and not self.fixed_in[cell]:
                self.extra += self.problem.cost[cell]
                self._used[cell] = True
            users.add(number)

    def _drop(self, number: int) -> None:
        movement = self.witness[number]
        self.witness[number] = None
        for cell in () if movement is None else movement.cells.tolist():
            users = self.users[cell]
            users.discard(number)
            if not users and not self.fixed_in[cell]:
                self.extra -= self.problem.cost[cell]
                self._used[cell] = False

    # -- witnesses -------------------------------------------------------------------------------

    def _remember(self, moved: Real) -> None:
        """Note a change with every requirement that it fulfils.

        One in fractions is no witness of whole people: it is noted only where nothing else is known.
        """
        movement = self.ways.movement(moved)
        fine = movement.whole or not self.ways.whole
        cells = movement.cells
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
                if known and not fine:
                    continue
                known[cells.tobytes()] = movement
                if len(known) > _REMEMBERED:
                    del known[next(iter(known))]

    def _prices(self, barred: Sequence[int]) -> Real:
        prices = np.where(self.withheld, 0.0, self.problem.cost * self._bias)
        prices[list(barred)] = _BARRED * (1 + self.problem.cost.max(initial=1.0))
        return prices

    def _known(self, number: int, prices: Real) -> tuple[float, Movement | None]:
        """The cheapest movement that is remembered; of two that cost the same, one in whole numbers."""
        best: tuple[float, Movement | None] = (np.inf, None)
        for movement in self._remembered[number].values():
            price = float(prices[movement.cells].sum())
            if price < best[0] or (price == best[0] and best[1] and movement.whole and not best[1].whole):
                best = price, movement
        return best

    def _find(self, number: int, barred: Sequence[int], again: int) -> None:
        """Look for cheap movements for a requirement, and remember them."""
        asked = self.requirements[number]
        prices = self._prices(barred)
        noise = 1 + 0.2 * self.random.random(len(prices))
        free = float(np.exp(self.random.uniform(*np.log(_FREE))))
        weights = np.maximum(prices * noise, free * self.problem.cost.min(initial=1.0))
        ways, amount = self.ways, abs(asked.amount)
        capacity = np.maximum(np.minimum(amount, ways.down), 1e-9)
        costs = weights / amount, weights / capacity
        moved = ways.cheapest(asked.cell, asked.amount, *costs, fixed=asked.fixed, nearby=True)
        if moved is None and not self._remembered[number]:
            moved = ways.cheapest(asked.cell, asked.amount, *costs, fixed=asked.fixed)
        if moved is None:
            return
        self._remember(moved)
        price = prices[moved != 0].sum()
        for _ in range(again):
            if price == 0:
                break
            closer = weights / (np.abs(moved) + 0.1 * amount)
            moved = ways.cheapest(asked.cell, asked.amount, closer, closer, fixed=asked.fixed, nearby=True)
            if moved is None:
                break
            self._remember(moved)
            now = prices[moved != 0].sum()
            if now >= price:
                break
            price = now

    def _route(self, numbers: Iterable[int], barred: Sequence[int], again: int, limit: float) -> bool:
        """Give each requirement a witness; False as soon as the pattern costs more than the limit."""
        prices = self._prices(barred)
        waiting = []
        for number in numbers:
            price, movement = self._known(number, prices)
            if movement is not None and price == 0:
                self._set(number, movement)
            else:
                waiting.append((price, number))
        barrier = _BARRED * (1 + self.problem.cost.max(initial=1.0))
        for _, number in sorted(waiting, reverse=True):
            prices = self._prices(barred)
            price, movement = self._known(number, prices)
            if price > 0:
                self._find(number, barred, again)
                price, movement = self._known(number, prices)
            if movement is None or price >= barrier:
                return False
            self._set(number, movement)
            if self.extra > limit + _NEAR:
                return False
        return True

    # -- search ----------------------------------------------------------------------------------

    def start(self) -> None:
        """A witness for every requirement that has none; `impossible` notes what cannot be fulfilled."""
        waiting = [i for i, w in enumerate(self.witness) if w is None]
        order = self.random.permutation(len(waiting))
        ordered = sorted((waiting[i] for i in order), key=lambda i: -abs(self.requirements[i].amount))
        for done, number in enumerate(ordered):
            if not self._route([number], (), 2, np.inf):
                self.impossible.append(self.requirements[number])
            progress.report("hiding sensitive cells", done + 1, len(ordered))

    def adopt(self, withheld: Flags) -> None:
        """Take another pattern that fulfils all requirements, each of which looks for a witness in it."""
        saved = list(self.witness)
        before = self.extra
        for number in range(len(self.witness)):
            self._drop(number)
        outside = np.flatnonzero(~(withheld | self.fixed_in))
        if not self._route(range(len(self.witness)), outside.tolist(), 2, before):
            self.take(saved)

    def improve(self, going_on: Callable[[], bool]) -> None:
        """Make the pattern cheaper for as long as it may: whole passes first, then place by place."""
        while self._passing and going_on():
            best, cost = list(self.witness), self.extra
            self._passing = self._pass(going_on) and self.extra < cost - _NEAR
            if not self._passing:
                self.take(best)
            progress.report("withholding fewer cells", int(self.extra))
        idle = 0
        while going_on() and idle < _IDLE_MOVES * (1 + int(self._used.sum())):
            before = self.extra
            self._move()
            idle = 0 if self.extra < before - _NEAR else idle + 1
            progress.report("withholding fewer cells", int(self.extra))

    def _pass(self, going_on: Callable[[], bool]) -> bool:
        """Route every requirement anew. What many movements used before is cheaper: they meet there again."""
        self._popular *= 0.5
        self._popular += [len(users) for users in self.users]
        self._bias = self._shared = (1 + self._popular) ** -_FAVOUR
        numbers = np.array([i for i, w in enumerate(self.witness) if w is not None])
        for number in numbers:
            self._drop(number)
            self._remembered[number].clear()
        order = self.random.permutation(numbers)
        for number in sorted(order.tolist(), key=lambda i: -abs(self.requirements[i].amount)):
            if not going_on() or not self._route([number], (), 2, np.inf):
                return False
        return True

    def take(self, witnesses: Sequence[Movement | None]) -> None:
        """Give all requirements these witnesses."""
        for number, movement in enumerate(witnesses):
            self._drop(number)
            if movement is not None:
                self._set(number, movement)

    def _move(self) -> None:
        """Take a few cells, or a neighbourhood, out of the pattern; route what used it anew, no dearer.

        In a neighbourhood cells are cheaper or dearer by chance, the same for all: the movements meet.
        """
        cells = np.flatnonzero(self._used)
        if not len(cells):
            return
        region = self.random.random() < _REGIONS
        numbers, chosen = self._region(cells) if region else self._cells_out(cells)
        if region:
            self._bias = self._shared * self.random.uniform(0.6, 1.0, len(self._bias))
        before, saved = self.extra, [(i, self.witness[i]) for i in numbers]
        for i in numbers:
            self._drop(i)
        barred = chosen if self.random.random() < (0.3 if region else 0.7) else []
        if self._route(numbers, barred, int(self.random.integers(0, 3)), before):
            return
        for i, movement in saved:
            self._drop(i)
            if movement is not None:
                self._set(i, movement)

    def _cells_out(self, cells: Index) -> tuple[list[int], list[int]]:
        """A few cells near each other, and the requirements that use them."""
        drawn = self.random.choice(cells, 3)  # what few witnesses use is the easiest to do without
        chosen = [int(min(drawn, key=lambda c: len(self.users[c])))]
        for _ in range(0 if self.random.random() < 0.6 else int(self.random.integers(1, 4))):
            beside = self._beside(self.users[chosen[int(self.random.integers(len(chosen)))]])
            if beside is not None and beside not in chosen:
                chosen.append(beside)
        return sorted(set().union(*(self.users[c] for c in chosen))), chosen

    def _region(self, cells: Index) -> tuple[list[int], list[int]]:
        """A cell, and the requirements around it: those that use it, or a cell that one of them uses."""
        first = int(self.random.choice(cells))
        numbers = set(self.users[first])
        wanted = int(self.random.integers(*_REGION))
        for _ in range(30):
            if len(numbers) >= wanted:
                break
            beside = self._beside(numbers)
            numbers |= set() if beside is None else self.users[beside]
        return sorted(numbers), [first]

    def _beside(self, numbers: set[int]) -> int | None:
        """A cell that is withheld for one of these requirements."""
        witness = self.witness[sorted(numbers)[int(self.random.integers(len(numbers)))]]
        cells = [] if witness is None else [c for c in witness.cells.tolist() if not self.fixed_in[c]]
        return cells[int(self.random.integers(len(cells)))] if cells else None


def until(seconds: float, programs: int | None, search: PatternSearch) -> Callable[[], bool]:
    """Whether there is still time: processor seconds from now, or programs in all."""
    end = time.process_time() + seconds

    def going_on() -> bool:
        return time.process_time() < end and (programs is None or search.programs < programs)

    return going_on
