"""How good a pattern can be: a lower bound by cuts, and the best pattern of a small table (Fischetti and
Salazar).

The master program chooses cells; each requirement is looked at by a linear program in which a cell may move
only as far as it was chosen. Where a cell does not get as far as required, the program's prices say which
cells would have to be chosen: a cut, sum of min(price * room, amount) * chosen >= amount, that every pattern
keeps.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from sfumato import progress
from sfumato.cells import programs
from sfumato.tabulation.search import PatternSearch, Requirement

Real = NDArray[np.float64]

_NEAR = 1e-6


class _Rooms:
    """How far a cell gets when each cell may move only so far: the program whose prices make cuts."""

    def __init__(self, search: PatternSearch) -> None:
        from scipy.sparse import hstack

        problem = search.problem
        n = problem.size
        most = float(max((abs(r.amount) for r in search.requirements), default=1.0))
        self.up = np.minimum(search.up, most * 50)
        self.down = np.minimum(search.down, most * 50)
        self.n = n
        relations = problem.relations
        sums = relations.matrix @ problem.values
        strict = relations.least == relations.most
        least = np.where(strict, 0.0, np.minimum(relations.least - sums, 0.0))
        top = np.where(strict, 0.0, np.maximum(relations.most - sums, 0.0))
        self.highs = programs.solver()
        self.highs.setOptionValue("presolve", "off")
        programs.load(
            self.highs, hstack([relations.matrix, -relations.matrix]), np.zeros(2 * n), np.zeros(2 * n),
            np.concatenate([self.up, self.down]), least, top,
        )  # fmt: skip
        self.columns = np.arange(2 * n, dtype=np.int32)

    def cut(self, asked: Requirement, chosen: Real) -> tuple[Real, float] | None:
        """A cut that the choice breaks, as (coefficients, at least), or None."""
        n, amount = self.n, abs(asked.amount)
        share = chosen.copy()
        share[asked.cell] = 1.0
        if asked.fixed is not None:
            share[asked.fixed] = 0.0
        room = np.concatenate([self.up * share, self.down * share])
        wanted = asked.cell if asked.amount > 0 else asked.cell + n
        other = asked.cell + n if asked.amount > 0 else asked.cell
        room[wanted], room[other] = amount, 0.0
        cost = np.zeros(2 * n)
        cost[wanted] = -1.0
        self.highs.changeColsCost(2 * n, self.columns, cost)
        self.highs.changeColsBounds(2 * n, self.columns, np.zeros(2 * n), room)
        if programs.solved(self.highs) != "optimal":
            return None
        solution = self.highs.getSolution()
        if solution.col_value[wanted] >= amount - 1e-5:
            return None
        prices = np.maximum(-np.array(solution.col_dual), 0.0)
        full = np.concatenate([self.up, self.down]) * prices
        full[[wanted, other]] = 0.0
        coefficients = np.minimum(full[:n] + full[n:], amount)
        coefficients[coefficients < 1e-7 * amount] = 0.0
        if asked.fixed is not None:
            coefficients[asked.fixed] = 0.0
        return coefficients / amount, 1.0


def prove(search: PatternSearch, seconds: float) -> float:
    """A lower bound on what is added to the sensitive cells; a better pattern is taken where one is found."""
    problem = search.problem
    end = time.process_time() + seconds
    rooms = _Rooms(search)
    cost = np.where(problem.sensitive, 0.0, problem.cost)
    fixed = problem.sensitive | problem.kept
    cuts: list[tuple[Real, float]] = []
    bound = 0.0
    whole = False
    while time.process_time() < end:
        chosen, value, closed = _master(cost, problem.sensitive, problem.kept, cuts, whole, end)
        if chosen is None:
            break
        bound = max(bound, _rounded(value, cost[~fixed]))
        progress.report("proving that it cannot be done with less", len(cuts))
        if bound >= search.extra - _NEAR:
            return search.extra
        if whole:
            chosen = np.rint(chosen)
        found = [c for r in search.requirements if (c := rooms.cut(r, chosen)) is not None]
        found = [c for c in found if c[0] @ chosen < c[1] - 1e-6]
        if found:
            cuts += found
        elif whole:
            if closed:
                search.adopt(chosen > 0.5)
            return min(bound, search.extra)
        else:
            whole = True
    return min(bound, search.extra)


def _rounded(value: float, costs: Real) -> float:
    """Costs that are whole numbers add up to whole numbers."""
    return float(np.ceil(value - 1e-4)) if np.array_equal(costs, np.rint(costs)) else value


def _master(
    cost: Real,
    sensitive: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    cuts: list[tuple[Real, float]],
    whole: bool,
    end: float,
) -> tuple[Real | None, float, bool]:
    """Choose cells that keep all cuts: the choice, a bound on its cost, and whether it is the best one."""
    from scipy.sparse import csr_matrix

    n = len(cost)
    highs = programs.solver()
    matrix = csr_matrix(np.array([c for c, _ in cuts]).reshape(len(cuts), n))
    least = np.array([b for _, b in cuts])
    low, high = sensitive.astype(np.float64), np.where(kept, 0.0, 1.0)
    programs.load(
        highs, matrix, cost, low, high, least, np.full(len(cuts), np.inf), np.ones(n, bool) if whole else None
    )
    highs.setOptionValue("time_limit", max(1.0, end - time.process_time()))
    highs.setOptionValue("mip_rel_gap", 0.0)
    status = programs.solved(highs)
    if status == "optimal":
        return programs.values(highs), float(highs.getObjectiveValue()), True
    if whole and status == "stopped":
        info = highs.getInfo()
        return None, float(info.mip_dual_bound), False
    return None, 0.0, False
