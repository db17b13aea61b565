"""What no node of a lattice can be below, however many nodes there are: ruled-out nodes as clauses.

Guarantee: no node that suppresses few enough rows, and is better than the best that is known, costs less
           than `Clauses.solve` says.
Because:   a row in a class below k stays in one going down. So where a node w loses more rows than are
           allowed (or so many that they alone cost more than the best), every node below w does: a node
           worth having is above w in some column. That is a clause. A node costs at least the sum over
           columns of the mean cost of a cell on its level. The least such sum under all clauses is an
           integer program; fewer clauses only make it smaller.
Assumes:   the solver's arithmetic, to a millionth; that much is taken off.
Tested by: tests/anonymization/test_wide.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sfumato.anonymization.descent import Descent
from sfumato.anonymization.incumbent import Incumbent
from sfumato.anonymization.lattice import Lattice, Levels

SLACK = 1e-6  # of the largest cost there is: what the solver may be off by
_BRANCHES = 500  # nodes of the solver's own tree; a limit of time would not be the same everywhere


class OutOfWorkError(Exception):
    """No further node may be looked at."""


@dataclass(eq=False)
class Clauses:
    """Nodes worth having are above each of `below` in some column, and none of `known`."""

    lattice: Lattice
    below: list[Levels] = field(default_factory=list)
    known: list[Levels] = field(default_factory=list)

    def __post_init__(self) -> None:
        top, means = self.lattice.top, self.lattice.means
        self._first = np.cumsum([0, *top]).tolist()  # the place of a column's first step
        self._cost = np.array([means[j][t + 1] - means[j][t] for j in range(len(top)) for t in range(top[j])])

    def allows(self, levels: Levels) -> bool:
        """Whether no clause speaks against a node."""
        return all(any(a > b for a, b in zip(levels, w, strict=True)) for w in self.below)

    def hit(self, draw: Callable[[int], int]) -> Levels:
        """A node that no clause forbids, not the cheapest: each clause in turn gets its cheapest step."""
        means, top = self.lattice.means, self.lattice.top
        levels = list(self.lattice.bottom)
        count = len(self.below)
        start = draw(count) if count else 0
        for at in range(count):
            w = self.below[(start + at) % count]
            if any(a > b for a, b in zip(levels, w, strict=True)):
                continue
            ways = [j for j, level in enumerate(w) if level < top[j]]
            j = min(ways, key=lambda j: means[j][w[j] + 1] - means[j][levels[j]], default=-1)
            if j >= 0:
                levels[j] = w[j] + 1
        return tuple(levels)

    def solve(self) -> tuple[float, Levels | None]:
        """What no node worth having is below, and a node that costs so much; no node if there is none."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        lattice, bottom = self.lattice, self.lattice.bound(self.lattice.bottom)
        if not len(self._cost):
            return bottom, None if self.below or self.known else lattice.bottom
        matrix, least = self._program()
        largest = float(self._cost.sum()) or 1.0
        found = milp(
            self._cost / largest * 1e4,
            integrality=np.ones(len(self._cost)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, least, np.inf),
            options={"node_limit": _BRANCHES, "mip_rel_gap": 0.0},
        )
        if found.status == 2:
            return np.inf, None
        proven = found.mip_dual_bound
        proven = 0.0 if proven is None or not np.isfinite(proven) else float(proven)
        levels = None
        if found.x is not None:
            steps = np.rint(found.x)
            levels = tuple(
                int(steps[a:b].sum()) for a, b in zip(self._first[:-1], self._first[1:], strict=True)
            )
        return bottom + max(0.0, proven / 1e4 - SLACK) * largest, levels

    def _program(self) -> tuple[object, np.ndarray]:
        """One row per clause: at least one of its steps is taken. Steps of a column come in order."""
        from scipy.sparse import csr_array

        top, first = self.lattice.top, self._first
        row: list[int] = []
        column: list[int] = []
        value: list[float] = []
        least: list[float] = []

        def entry(at: int, sign: float) -> None:
            row.append(len(least))
            column.append(at)
            value.append(sign)

        for j, height in enumerate(top):
            for t in range(height - 1):
                entry(first[j] + t, 1.0)
                entry(first[j] + t + 1, -1.0)
                least.append(0.0)
        for w in self.below:
            for j, level in enumerate(w):
                if level < top[j]:
                    entry(first[j] + level, 1.0)
            least.append(1.0)
        for v in self.known:
            taken = 0
            for j, level in enumerate(v):
                if level < top[j]:
                    entry(first[j] + level, 1.0)
                if level > 0:
                    entry(first[j] + level - 1, -1.0)
                    taken += 1
            least.append(1.0 - taken)
        shape = (len(least), len(self._cost))
        return csr_array((value, (row, column)), shape=shape), np.array(least)


class RuledOut:
    """Finds, above a node that loses too many rows, one as general as possible that still does."""

    def __init__(self, descent: Descent, k: int, found: Incumbent) -> None:
        self._descent, self._lattice, self._k, self._found = descent, descent.lattice, k, found

    def _loses(self, descent: Descent, levels: Levels, cap: int, columns: list[int]) -> bool:
        if not self._found.look():
            raise OutOfWorkError
        return descent.reach(levels, self._k, cap, columns).lost > cap

    def above(self, levels: Levels, cap: int) -> Levels | None:
        """A maximal node above `levels` that loses more than `cap` rows; None if `levels` does not.

        Cheap steps are taken first, as many as leave too much lost: what the clause then asks for is dear.
        """
        top, means = self._lattice.top, self._lattice.means
        always: list[int] = [j for j in range(len(top)) if top[j] < self._height(j)]
        levels = self._without_cheap_steps(levels, cap)
        step = [means[j][v + 1] - means[j][v] if v < top[j] else 0.0 for j, v in enumerate(levels)]
        dearest = sorted((j for j in range(len(top)) if levels[j] < top[j]), key=lambda j: (-step[j], j))
        node = self._prefix(levels, cap, always, dearest)
        if node is None:
            return None
        kept = [j for j in dearest if node[j] < top[j]]
        part = self._descent.part(node, list(dict.fromkeys([*always, *kept])))
        for j in reversed(kept):
            node = self._raised(part, node, j, cap)
        return node

    def _without_cheap_steps(self, levels: Levels, cap: int) -> Levels:
        """The node with as many of the cheapest steps up as leave too much lost; found by halving."""
        top, means = self._lattice.top, self._lattice.means
        steps = []
        for j, level in enumerate(levels):
            dear = 0.0
            for t in range(level, top[j]):  # no step of a column comes before those below it
                dear = max(dear, means[j][t + 1] - means[j][t])
                steps.append((dear, j, t + 1))
        steps.sort()

        def raised(count: int) -> Levels:
            node = list(levels)
            for _, j, t in steps[:count]:
                node[j] = t
            return tuple(node)

        low, high = 0, len(steps)
        while low < high:
            middle = (low + high + 1) // 2
            if self._loses(self._descent, raised(middle), cap, self._descent.sequence):
                low = middle
            else:
                high = middle - 1
        return raised(low)

    def _height(self, j: int) -> int:
        return self._lattice.problem.hierarchies[j].height

    def _prefix(self, levels: Levels, cap: int, always: list[int], order: list[int]) -> Levels | None:
        """From the top, columns go down to the node's levels until too many rows are lost."""
        descent, top = self._descent, self._lattice.top
        node = list(top)
        state = descent.reach(top, self._k, cap, always)
        for j in order:
            if state.lost > cap:
                break
            if not self._found.look():
                raise OutOfWorkError
            node[j] = levels[j]
            state = descent.lowered(state, j, levels[j], self._k, cap)
        return tuple(node) if state.lost > cap else None

    def _raised(self, part: Descent, node: Levels, j: int, cap: int) -> Levels:
        """The node with column j as high as it can be."""
        top = self._lattice.top
        low, high = node[j], top[j]
        while low < high:
            middle = high if low == node[j] and high == top[j] else (low + high + 1) // 2
            trial = (*node[:j], middle, *node[j + 1 :])
            columns = [i for i in range(len(top)) if trial[i] < self._height(i)]
            if self._loses(part, trial, cap, columns):
                low = middle
            else:
                high = middle - 1
        return (*node[:j], low, *node[j + 1 :])
