"""A search for lattices too large to be walked through: from the top down, better the longer it runs.

Greedy walks and beams go down from the most general node, always through nodes that suppress few enough rows.
Then columns of the best are raised, and others lowered instead. In turns with that, nodes that rule out all
below them are collected as clauses, and what is left by them is a bound (`clauses.py`); rows that are far
from all others give another (`loners.py`). It ends when the bound meets the best, or at a limit.
"""

from __future__ import annotations

import math

from sfumato.anonymization.clauses import Clauses, OutOfWorkError, RuledOut
from sfumato.anonymization.descent import Descent, SplitClasses
from sfumato.anonymization.incumbent import TIE, Incumbent
from sfumato.anonymization.lattice import Lattice, Levels
from sfumato.anonymization.limits import INTERRUPTED
from sfumato.anonymization.loners import CHUNK, Loners

PRICES = (0.0, 1.0, 4.0)  # what a suppressed row costs a walk beyond its loss: it may be needed later
_WORSE = 2  # steps a walk goes on that make things worse
_HELD = 50_000_000  # combinations in the classes of all nodes of a beam
_REMEMBERED = 2_000_000  # nodes whose figures are kept
_NARROW, _WIDEST = 4, 64  # nodes of a beam at each height, at first and in the end
_LONELY = 300_000  # combinations up to which lonely rows are looked for: each is held against all others


class TopDown:
    """The state of one search."""

    def __init__(self, lattice: Lattice, limit: int, found: Incumbent) -> None:
        self.lattice, self.limit, self.found, self.k = lattice, limit, found, lattice.k
        self.rows = max(lattice.problem.rows, 1)
        self.descent = Descent.of(lattice)
        self.clauses = Clauses(lattice)
        self.bound = lattice.bound(lattice.bottom)
        self._ruled_out = RuledOut(self.descent, self.k, found)
        self._figures: dict[Levels, tuple[int, float]] = {}
        self._loners: Loners | None = None
        self._looks = self._at_loners = 0  # spent on the bound, and of these on lonely rows
        self._solved = 0  # clauses from which on the program is solved again
        self._random = 1

    # -- going down ------------------------------------------------------------------------------

    def top(self) -> SplitClasses:
        """The most general node, whatever the limits say."""
        self.found.look(always=True)
        state = self.descent.whole(self.k, self.rows)
        self._offer(state.levels, state.suppressed, state.total)
        return state

    def _offer(self, levels: Levels, suppressed: int, total: float) -> None:
        if suppressed <= self.limit:
            self.found.offer(levels, total / self.rows)

    def _steps(self, state: SplitClasses) -> list[tuple[int, float, int]]:
        """(rows suppressed, cost, column) of each step down that suppresses few enough rows."""
        steps = []
        for j, level in enumerate(state.levels):
            if not level:
                continue
            lower = (*state.levels[:j], level - 1, *state.levels[j + 1 :])
            figures = self._figures.get(lower)
            if figures is None:
                if not self.found.look():
                    raise OutOfWorkError
                figures = self.descent.tried(state, j, self.k, self.limit)
                if len(self._figures) < _REMEMBERED:
                    self._figures[lower] = figures
                self._offer(lower, *figures)
            if figures[0] <= self.limit:
                steps.append((*figures, j))
        return steps

    def walk(self, state: SplitClasses, price: float, kept: frozenset[int] = frozenset()) -> None:
        """Down by the step that costs least, until none is allowed or things only become worse.

        kept: columns that stay on their level.
        """
        least, worse = math.inf, 0
        while worse <= _WORSE:
            steps = [s for s in self._steps(state) if s[2] not in kept]
            if not steps:
                return
            suppressed, total, j = min(steps, key=lambda s: (s[1] + price * s[0], s[2]))
            state = self.descent.down(state, j, self.k, self.limit, suppressed, total)
            worse = 0 if total < least - TIE else worse + 1
            least = min(least, total)

    def beam(self, top: SplitClasses, width: int, price: float) -> None:
        """The best nodes of each height go on, side by side."""
        width = max(1, min(width, _HELD // max(len(self.descent.n), 1)))
        states, worse, least = [top], 0, math.inf
        while states and worse <= _WORSE:
            steps: dict[Levels, tuple[float, int, int, int, float]] = {}
            for at, state in enumerate(states):
                for suppressed, total, j in self._steps(state):
                    lower = (*state.levels[:j], state.levels[j] - 1, *state.levels[j + 1 :])
                    steps.setdefault(lower, (total + price * suppressed, at, j, suppressed, total))
            chosen = sorted(steps.values())[:width]
            states = [
                self.descent.down(states[at], j, self.k, self.limit, suppressed, total)
                for _, at, j, suppressed, total in chosen
            ]
            best = min((total for *_, total in chosen), default=math.inf)
            worse = 0 if best < least - TIE else worse + 1
            least = min(least, best)

    # -- from the best on ------------------------------------------------------------------------

    def _reached(self, levels: Levels) -> SplitClasses:
        if not self.found.look():
            raise OutOfWorkError
        state = self.descent.reach(levels, self.k, self.limit)
        self._offer(levels, state.suppressed, state.total)
        return state

    def exchange(self) -> bool:
        """Each column of the best one level up, and others down instead; whether that was better."""
        before, levels = self.found.best, self.found.choice()
        for i, level in enumerate(levels):
            if level == self.lattice.top[i]:
                continue
            raised = (*levels[:i], level + 1, *levels[i + 1 :])
            state = self._reached(raised)
            if state.suppressed <= self.limit:
                self.walk(state, 0.0, frozenset({i}))
            if self.found.best < before - TIE:
                return True
        return False

    def _draw(self, below: int) -> int:
        """A number from 0 to below - 1, the same in every run (a linear congruence)."""
        self._random = (self._random * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._random >> 33) * below >> 31

    def shake(self) -> None:
        """Some columns of the best up at random, and a walk down from there."""
        levels = list(self.found.ties[self._draw(len(self.found.ties))])
        for _ in range(2 + self._draw(4)):
            j = self._draw(len(levels))
            levels[j] = min(levels[j] + 1 + self._draw(2), self.lattice.top[j])
        state = self._reached(tuple(levels))
        if state.suppressed <= self.limit:
            self.walk(state, PRICES[self._draw(len(PRICES))])

    # -- the bound -------------------------------------------------------------------------------

    @property
    def _cap(self) -> int:
        """Rows that may be lost at most by a node that is allowed, and no worse than the best."""
        lattice = self.lattice
        cheapest = sum(
            float(cost[h.nodes[0]].max())
            for cost, h in zip(lattice.costs, lattice.problem.hierarchies, strict=True)
        )
        own = lattice.lost - cheapest
        if own <= 0 or not math.isfinite(self.found.best):
            return self.limit
        spare = self.found.best - lattice.bound(lattice.bottom)
        return min(self.limit, math.floor(spare * self.rows / own + 1e-6))

    def prove(self) -> None:
        """Raise the bound a little: by lonely rows until there are enough of them, then by clauses.

        In turns where so many rows may be lost that looking at them all would take long.
        """
        before = self.found.checked
        if self._loners is None and len(self.descent.n) <= _LONELY:
            self._loners = Loners(self.lattice)
        cap = self._cap
        lonely = self._loners is not None and not self._loners.done(cap)
        if lonely and (10 * cap <= self.rows or 2 * self._at_loners <= self._looks):
            for _ in range(CHUNK):
                if not self.found.look():
                    raise OutOfWorkError
            assert self._loners is not None
            self._loners.look()
            self._at_loners += CHUNK
            self.bound = max(self.bound, min(self._loners.prove(cap), self.found.best))
        else:
            self._rule_out()
        self._looks += max(1, self.found.checked - before)

    def _rule_out(self) -> None:
        """Take the cheapest node that no clause forbids; rule it out, or learn what it really costs.

        The program is solved when there are a fifth more clauses than before; else a node that is not the
        cheapest has to do: solving is what takes long where there are many clauses and few rows.
        """
        said = len(self.clauses.below) + len(self.clauses.known)
        levels: Levels | None
        if said >= self._solved:
            proven, levels = self.clauses.solve()
            self.bound = max(self.bound, min(proven, self.found.best))
            self._solved = max(said + 1, said * 6 // 5)
        else:
            levels = self.clauses.hit(self._draw)
        if levels is not None and not self.proven:
            self._clash(levels)

    def _clash(self, levels: Levels) -> None:
        """Clauses against a node, and against what is left when it gives way, until one is allowed."""
        cap = self._cap
        means = self.lattice.means
        while True:
            above = self._ruled_out.above(levels, cap)
            if above is None:
                break
            self.clauses.below.append(above)
            ways = [j for j, w in enumerate(above) if w < self.lattice.top[j]]
            if not ways:
                return
            j = min(ways, key=lambda j: means[j][above[j] + 1] - means[j][levels[j]])
            levels = (*levels[:j], above[j] + 1, *levels[j + 1 :])
        state = self._reached(levels)
        self.clauses.known.append(levels)
        if state.suppressed <= self.limit:
            self.walk(state, 0.0)

    @property
    def proven(self) -> bool:
        """Whether nothing better can be left."""
        return self.bound >= self.found.best - TIE

    def run(self) -> None:
        """All of it, in turns. The bound gets a third of the looks; two thirds once the beams begin."""
        state = self.top()
        for price in PRICES:
            self.walk(state, price)
        width = _NARROW
        stuck = False
        while not self.proven:
            share = 1 / 3 if width == _NARROW else 2 / 3
            while self._looks < share * self.found.checked and not self.proven:
                self.prove()
            if self.proven:
                return
            if not self.found.ties:
                self.prove()
            elif not stuck:
                stuck = not self.exchange()
            elif width <= _WIDEST:
                for price in PRICES:
                    self.beam(state, width, price)
                width, stuck = 2 * width, False
            else:
                before = self.found.best
                self.shake()
                stuck = self.found.best >= before - TIE


def search_top_down(lattice: Lattice, limit: int, found: Incumbent) -> None:
    """Look for the cheapest node with at most `limit` rows in classes below k, until stopped or proven."""
    search = TopDown(lattice, limit, found)
    try:
        search.run()
    except OutOfWorkError:
        pass
    except KeyboardInterrupt:
        found.stop(INTERRUPTED)
    found.leave(search.bound)
