"""How good a pattern can be: a lower bound by cuts, and the best pattern of a small table (Fischetti and
Salazar).

The master program chooses cells at the least cost, so that all cuts (`cuts`) are kept that were found so far,
and less is paid than for the pattern that is known. Each requirement is then looked at under that choice; one
that is not fulfilled says another cut. First cells are chosen by halves, then whole.

A choice may cost no more than little above the bound. So few choices fit that the program is short: where
none is left, the bound rises; where one fulfils all requirements, it is taken. With a budget up to the
cost of the known pattern, the program would spend most of its time on choices that are not the best. Where
the bound meets the cost of the known pattern, that is the best; until then no pattern costs less than the
bound.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import progress
from sfumato.cells import programs
from sfumato.tabulation.cuts import ChosenCells, Cuts, bridges
from sfumato.tabulation.requirement import Requirement
from sfumato.tabulation.search import PatternSearch

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_NEAR = 1e-6
_BUSY = 5.0  # a second of the processor may take so long by the clock
_ABOVE, _STEP = 0.1, 1e-3  # of the way from the bound to the known cost, or of that: what a choice may cost


class _Farthest:
    """How far a cell gets with so much room, by HiGHS, where a look in its neighbourhood does not say."""

    def __init__(self, search: PatternSearch, cuts: Cuts) -> None:
        from scipy.sparse import hstack

        self.cuts, relations = cuts, search.problem.relations
        self.n = search.problem.size
        zero = np.zeros(relations.matrix.shape[0])
        self.highs = programs.solver()
        self.highs.setOptionValue("presolve", "off")
        free = np.full(2 * self.n, np.inf)
        both = hstack([relations.matrix, -relations.matrix])
        programs.load(self.highs, both, np.zeros(2 * self.n), np.zeros(2 * self.n), free, zero, zero)
        self.columns = np.arange(2 * self.n, dtype=np.int32)

    def cut(self, asked: Requirement, choice: ChosenCells) -> tuple[Index, Real] | None:
        """A cut that a choice breaks; None where it fulfils the requirement."""
        largest = np.zeros(self.n)
        for signed in asked.directions(self.cuts.ways.up, self.cuts.ways.down):
            ray = self._ray(asked, signed, choice.room(asked).copy())
            does = None if ray is None else self.cuts.coefficients(asked, signed, ray)
            if does is None:
                return None
            largest = np.maximum(largest, does)
        cells = np.flatnonzero(largest)
        return cells, largest[cells]

    def _ray(self, asked: Requirement, signed: float, room: Real) -> Real | None:
        n, amount = self.n, abs(signed)
        wanted, other = (asked.cell, asked.cell + n) if signed > 0 else (asked.cell + n, asked.cell)
        room[wanted], room[other] = amount, 0.0
        cost = np.zeros(2 * n)
        cost[wanted] = -1.0
        self.highs.changeColsCost(2 * n, self.columns, cost)
        self.highs.changeColsBounds(2 * n, self.columns, np.zeros(2 * n), room)
        if programs.solved(self.highs) != "optimal":
            return None
        solution = self.highs.getSolution()
        return None if solution.col_value[wanted] >= amount - 1e-5 else np.array(solution.row_dual)


class _Master:
    """Chooses cells at the least cost so that all cuts are kept, within a budget."""

    def __init__(self, search: PatternSearch, cuts: Cuts) -> None:
        from scipy.sparse import vstack

        problem = search.problem
        self.n = problem.size
        self.cost = np.where(problem.sensitive, 0.0, problem.cost)
        self.highs = programs.solver()
        bridged, least, _ = bridges(problem, {r.cell for r in search.requirements})
        known = cuts.matrix()
        matrix = vstack([self.cost.reshape(1, -1), bridged, known]).tocsr()
        low = np.concatenate([[-np.inf], least, np.ones(known.shape[0])])
        high = np.concatenate([[search.extra], np.full(len(low) - 1, np.inf)])
        programs.load(
            self.highs, matrix, self.cost, problem.sensitive.astype(np.float64),
            np.where(problem.kept, 0.0, 1.0), low, high,
        )  # fmt: skip
        self.highs.setOptionValue("mip_rel_gap", 0.0)
        fixed = problem.sensitive | problem.kept
        self.whole_costs = bool(np.array_equal(self.cost[~fixed], np.rint(self.cost[~fixed])))
        if self.whole_costs:  # the next better choice is cheaper by one
            self.highs.setOptionValue("mip_abs_gap", 0.99)
        self.whole = False

    def budget(self, bound: float, known: float) -> tuple[float, float]:
        """What a choice may cost now: little above the bound, and less than the known pattern; and what the
        cheapest choice costs at least where none is within that."""
        most = known - (1.0 if self.whole_costs else 1e-6 * max(known, 1.0))
        cost = bound + max(_ABOVE * (known - bound), 0.0 if self.whole_costs else _STEP * known)
        if not self.whole or cost >= most:
            return most, known
        cost = float(np.floor(cost + _NEAR)) if self.whole_costs else cost
        return cost, cost + 1.0 if self.whole_costs else cost

    def pay(self, budget: float) -> None:
        """Pay no more than this from now on."""
        self.highs.changeRowBounds(0, -np.inf, budget)

    def keep_whole(self) -> None:
        """From now on a cell is chosen or it is not."""
        import highspy

        self.whole = True
        kinds: Any = np.array([highspy.HighsVarType.kInteger] * self.n)
        self.highs.changeColsIntegrality(self.n, np.arange(self.n, dtype=np.int32), kinds)

    def add(self, cuts: Sequence[tuple[Index, Real]]) -> None:
        """Every choice keeps these, coefficients @ chosen >= 1."""
        for cells, coefficients in cuts:
            self.highs.addRow(1.0, np.inf, len(cells), cells.astype(np.int32), coefficients)

    def choose(self, seconds: float) -> tuple[Real | None, float]:
        """A choice that keeps all cuts, and a bound on what every such choice costs: inf where there is none
        within the budget."""
        clock = self.highs.getRunTime() + _BUSY * max(1.0, seconds)  # the solver knows the clock alone
        self.highs.setOptionValue("time_limit", clock)
        status = programs.solved(self.highs)
        if status in ("infeasible", "unbounded"):  # cells are from 0 to 1: nothing is unbounded
            return None, np.inf
        info = self.highs.getInfo()
        bound = info.mip_dual_bound if self.whole else info.objective_function_value
        if not self.whole and status != "optimal":
            return None, 0.0
        if self.whole_costs and np.isfinite(bound):
            bound = np.ceil(bound - 1e-4)
        return (programs.values(self.highs) if status == "optimal" else None), max(float(bound), 0.0)


def prove(search: PatternSearch, cuts: Cuts, seconds: float) -> float:
    """A lower bound on what is added to the sensitive cells; a better pattern is taken where one is found."""
    end = time.process_time() + seconds
    relations = search.problem.relations
    if not np.array_equal(relations.least, relations.most):
        return 0.0  # a ray says nothing of relations with room
    farthest, master = _Farthest(search, cuts), _Master(search, cuts)
    bound = 0.0
    while (left := end - time.process_time()) > 0:
        budget, above = master.budget(bound, search.extra)
        master.pay(budget)
        chosen, value = master.choose(left)
        bound = max(bound, min(value, above))
        if bound >= search.extra - _NEAR:
            return search.extra
        if np.isinf(value):
            continue
        if chosen is None:
            break
        progress.report("proving that it cannot be done with less", len(cuts.found))
        found = _broken(search, cuts, farthest, np.rint(chosen) if master.whole else chosen)
        if found:
            master.add(found)
        elif not master.whole:
            master.keep_whole()
        elif not _taken(search, chosen > 0.5):
            break
    return min(bound, search.extra)


def _taken(search: PatternSearch, withheld: NDArray[np.bool_]) -> bool:
    """Whether a pattern that fulfils every requirement was taken, and is cheaper."""
    before = search.extra
    search.adopt(withheld)
    return search.extra < before - _NEAR


def _broken(search: PatternSearch, cuts: Cuts, farthest: _Farthest, chosen: Real) -> list[tuple[Index, Real]]:
    """Cuts that a choice breaks: none where it fulfils every requirement."""
    choice = ChosenCells(cuts, chosen)
    found = []
    for number, asked in enumerate(search.requirements):
        if search.inside(number, choice.withheld) is not None:
            continue
        moved, cut = cuts.look(asked, choice)
        if moved is not None:
            search.remember(moved)
        elif cut is None:
            cut = farthest.cut(asked, choice)
        if cut is not None and chosen[cut[0]] @ cut[1] < 1 - 1e-6:
            found.append(cut)
    return cuts.keep(found)
