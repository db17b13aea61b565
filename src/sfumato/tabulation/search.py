"""The search for a pattern: which cells to withhold, so that every sensitive one is hidden at the least cost.

Each requirement (a cell must be free to move so far up, or down) holds one witness: a movement whose cells
are all withheld. The pattern is the union of the witnesses, so that what no witness uses is published.

- *start*: requirement by requirement, the cheapest movement; what is withheld already costs nothing.
- *moves*: take some cells out of the pattern, drop the witnesses that used them, or all of a neighbourhood,
  find others, keep the result if it is not dearer. Witnesses that were found once are remembered and tried
  first.
- *windows* (`windows`): all cells of a neighbourhood are chosen anew, by a program in whole numbers.

The costs of a movement are those of withholding its cells, whole or not at all. A linear program sees them
per unit of movement; it is run again with the costs divided by what moved, which favours few cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato import progress
from sfumato.cells import Movement, Movements
from sfumato.seeds import Key
from sfumato.tabulation.problem import HidingProblem
from sfumato.tabulation.requirement import Requirement

Real = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

_NEAR = 1e-6
_FREE = (1e-3, 0.03)  # what a withheld cell costs: little, so that movements stay short and are found soon
_BARRED = 1e3
_REMEMBERED = 16  # witnesses for each requirement
_REGIONS = 0.5  # of the moves: a whole neighbourhood is routed anew
_REGION = (5, 40)  # requirements in it


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
        self.used = np.zeros(n, bool)
        self.extra = 0.0
        self.requirements: list[Requirement] = []
        self.witness: list[Movement | None] = []
        self._remembered: list[dict[bytes, Movement]] = []
        self._asking: dict[int, list[int]] = {}
        self.ways = Movements(problem.relations, self.up, self.down, problem.whole, problem.values)
        self._bias = np.ones(n)
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
        return self.fixed_in | self.used

    @property
    def for_contributors(self) -> float:
        """What cells cost that are withheld only to hide others from people who are alone in a cell."""
        alone = {i for i, r in enumerate(self.requirements) if r.still}
        cells = [c for c in np.flatnonzero(self.used) if not self.fixed_in[c] and self.users[c] <= alone]
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

    def inside(self, number: int, withheld: Flags) -> Movement | None:
        """A movement that fulfils a requirement and is remembered, all of whose cells are withheld."""
        known = self._remembered[number]
        witness = self.witness[number]
        if witness is not None and withheld[witness.cells].all():
            return witness
        fitting = [m for m in known.values() if withheld[m.cells].all()]
        return next((m for m in fitting if m.whole), fitting[0] if fitting else None)

    def exchange(self, witnesses: Mapping[int, Movement]) -> None:
        """Give some requirements other witnesses."""
        for number, movement in witnesses.items():
            self._drop(number)
            self._set(number, movement)

    def _set(self, number: int, movement: Movement) -> None:
        self.witness[number] = movement
        for cell in movement.cells.tolist():
            users = self.users[cell]
            if not users and not self.fixed_in[cell]:
                self.extra += self.problem.cost[cell]
                self.used[cell] = True
            users.add(number)

    def _drop(self, number: int) -> None:
        movement = self.witness[number]
        self.witness[number] = None
        for cell in () if movement is None else movement.cells.tolist():
            users = self.users[cell]
            users.discard(number)
            if not users and not self.fixed_in[cell]:
                self.extra -= self.problem.cost[cell]
                self.used[cell] = False

    # -- witnesses -------------------------------------------------------------------------------

    def remember(self, moved: Real) -> None:
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
                if not asked.met(up, down):
                    continue
                if asked.still:
                    inside = inside or set(cells.tolist())
                    if not inside.isdisjoint(asked.still):
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
        signed = asked.amount
        if (
            asked.either
            and ways.down[asked.cell] >= amount - _NEAR
            and (ways.up[asked.cell] < amount - _NEAR or self.random.random() < 0.5)
        ):
            signed = -amount
        moved = ways.cheapest(asked.cell, signed, *costs, still=asked.still, nearby=True)
        if moved is None and not self._remembered[number]:
            moved = ways.cheapest(asked.cell, signed, *costs, still=asked.still)
            if moved is None and asked.either:
                signed = -signed
                moved = ways.cheapest(asked.cell, signed, *costs, still=asked.still)
        if moved is None:
            return
        self.remember(moved)
        price = prices[moved != 0].sum()
        for _ in range(again):
            if price == 0:
                break
            closer = weights / (np.abs(moved) + 0.1 * amount)
            moved = ways.cheapest(asked.cell, signed, closer, closer, still=asked.still, nearby=True)
            if moved is None:
                break
            self.remember(moved)
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

    def take(self, witnesses: Sequence[Movement | None]) -> None:
        """Give all requirements these witnesses."""
        for number, movement in enumerate(witnesses):
            self._drop(number)
            if movement is not None:
                self._set(number, movement)

    def move(self) -> None:
        """Take a few cells, or a neighbourhood, out of the pattern; route what used it anew, no dearer.

        In a neighbourhood cells are cheaper or dearer by chance, the same for all: the movements meet.
        """
        cells = np.flatnonzero(self.used)
        if not len(cells):
            return
        region = self.random.random() < _REGIONS
        numbers, chosen = self._region(cells) if region else self._cells_out(cells)
        if region:
            self._bias = self.random.uniform(0.6, 1.0, len(self._bias))
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
