"""A Bayesian network along the hierarchies (thesis, p. 31): exact answers about generalized rows.

Each column is a chain from the root down: every node depends on its parent and on the outcome. A generalized
cell is a chain of which the lower part was not seen, and what was not seen sums to one: nothing is imputed.

1. Columns are taken up in the order of their information about the outcome, while that helps on rows the
   network did not learn from.
2. Their chains are the hierarchies' levels: P(leaf | c) = prod P(node | parent, c).
3. Further links, as from race to ZIP code: a coarse level of one column may become a parent of another's
   chain, in the order of their information given the outcome, while that helps. A column that has such a
   parent is none itself, so that sums stay short and exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.measure import Floats
from sfumato.anonymization.outcome import MOST, OutcomeCounts
from sfumato.anonymization.problem import Problem
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.measures import mutual_information
from sfumato.seeds import Key

if TYPE_CHECKING:
    from sfumato.anonymization.degradation import LearningTarget, Model

_COARSE = 16  # nodes of the level that may be a parent


@dataclass(frozen=True)
class HierarchyNetwork:
    """How to learn the network; an estimator for `Degradation` and `ModelGuided`.

    prior: pseudo-rows that pull P(node | parent, c) towards P(node | parent).
    links: whether step 3 is done. check: share of the rows that decides what helps.

    >>> lost = sf.Degradation("diabetes", sf.HierarchyNetwork(prior=10.0))
    >>> lost.estimator.prior
    10.0
    """

    prior: float = 20.0
    links: bool = True
    check: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.prior <= 0 or not 0 < self.check < 1:
            raise ParameterError("prior must be positive, check between 0 and 1.", hint="HierarchyNetwork()")

    def learn(self, problem: Problem, target: LearningTarget, rows: NDArray[np.int64]) -> Model:
        """The network from some rows; numbers are learnt in at most ten parts of about equal frequency."""
        code, value = _parts(target, rows)
        found = OutcomeCounts(int(code.max()) + 1, target.found.of, code, rows)
        kept = Key.from_seed(self.seed).generator("network").binomial(rows, 1 - self.check)
        fit = OutcomeCounts(found.levels, found.of, found.code, kept)
        structure = _structure(problem, fit, rows - kept, self)
        return Network(problem.hierarchies, *_tables(problem, found, structure, self.prior), structure, value)


@dataclass(frozen=True)
class Structure:
    """used: columns that depend on the outcome. links: (parent, child) columns."""

    used: tuple[int, ...] = ()
    links: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Network:
    """log P(node | c) of each column, and of each link's child under each coarse node of the parent.

    alone: per column (nodes, outcomes). linked: per link (coarse nodes, nodes of the child, outcomes).
    coarse: per link's parent (nodes, coarse nodes, outcomes): P(coarse node | node, c).
    value: (outcomes,) numbers, or None where outcomes are classes.
    """

    hierarchies: tuple[Hierarchy, ...]
    prior: Floats
    alone: tuple[Floats, ...]
    linked: dict[tuple[int, int], Floats]
    coarse: dict[int, Floats]
    structure: Structure = field(default_factory=Structure)
    value: Floats | None = None

    def posterior(self, nodes: NDArray[np.int32]) -> Floats:
        """(rows, outcomes): P(c | released cells), exact."""
        log = np.tile(np.log(self.prior), (len(nodes), 1))
        children = {child for _, child in self.structure.links}
        for j in range(nodes.shape[1]):
            if j not in children:
                log += self.alone[j][nodes[:, j]]
        for parent in {p for p, _ in self.structure.links}:
            log += self._star(parent, nodes)
        log -= log.max(1, keepdims=True)
        p = np.exp(log)
        return np.asarray(p / p.sum(1, keepdims=True))

    def _star(self, parent: int, nodes: NDArray[np.int32]) -> Floats:
        """log sum_u P(u | parent's node, c) prod_children P(child's node | u, c), u the coarse nodes."""
        mine = [child for p, child in self.structure.links if p == parent]
        total = np.sum([self.linked[parent, c][:, nodes[:, c]] for c in mine], axis=0)  # (u, rows, c)
        top = total.max(axis=0)
        weight = self.coarse[parent][nodes[:, parent]].transpose(1, 0, 2)
        return np.asarray(top + np.log((weight * np.exp(total - top)).sum(0)))

    def predict(self, nodes: NDArray[np.int32]) -> Floats:
        """(rows, outcomes) probabilities, or (rows, 1) expected numbers."""
        unique, back = np.unique(nodes, axis=0, return_inverse=True)
        p = self.posterior(unique)
        out = p if self.value is None else (p @ self.value)[:, None]
        return np.asarray(out[back.ravel()])


def _parts(target: LearningTarget, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats | None]:
    """The outcome in at most ten parts, and the mean number of each."""
    code = target.found.code
    if target.value is None:
        return code, None
    total = np.bincount(code, rows, len(target.value)).astype(np.float64)
    order = np.argsort(target.value, kind="stable")
    middle = np.empty(len(order))
    middle[order] = np.cumsum(total[order]) - total[order] / 2
    part = np.minimum((middle * MOST / max(total.sum(), 1.0)).astype(np.int64), MOST - 1)
    seen = np.unique(part[total > 0])
    place = np.clip(np.searchsorted(seen, part), 0, len(seen) - 1)
    weight = np.bincount(place, total, len(seen))
    value = np.bincount(place, total * target.value, len(seen)) / np.maximum(weight, 1e-300)
    return place[code], np.asarray(value, np.float64)


# -- probabilities ---------------------------------------------------------------------------------


def _chain(hierarchy: Hierarchy, table: Floats, prior: float) -> Floats:
    """(nodes, ...): log P(node | c) = sum over the levels above of log P(node | parent, c).

    table: (nodes, ...) rows. Each step is pulled towards P(node | parent) over all outcomes, and that
    towards equal shares of the parent's children.
    """
    log = np.zeros(table.shape)
    overall = table.reshape(len(table), -1).sum(1)
    spread = (slice(None),) + (None,) * (table.ndim - 1)
    for level in range(hierarchy.height - 1, -1, -1):
        pairs = np.unique(np.stack([hierarchy.nodes[level], hierarchy.nodes[level + 1]]), axis=1)
        child, parent = pairs
        siblings = np.bincount(parent, minlength=hierarchy.size)[parent]
        base = (overall[child] + 1 / siblings) / (overall[parent] + 1)
        step = (table[child] + prior * base[spread]) / (table[parent] + prior)
        log[child] = log[parent] + np.log(step)
    return log


def _tables(
    problem: Problem, found: OutcomeCounts, structure: Structure, prior: float
) -> tuple[Floats, tuple[Floats, ...], dict[tuple[int, int], Floats], dict[int, Floats]]:
    rows = np.bincount(found.code, found.n, found.levels) + 1.0
    alone = []
    for j, h in enumerate(problem.hierarchies):
        table = found.by_node(problem, j).astype(np.float64)
        if j not in structure.used:  # does not depend on the outcome: the same for each
            table = np.repeat(table.sum(1, keepdims=True), found.levels, axis=1) / found.levels
        alone.append(_chain(h, table, prior))
    linked, coarse = {}, {}
    for parent, child in structure.links:
        level = _coarse_level(problem.hierarchies[parent])
        linked[parent, child] = np.stack(
            [
                _chain(problem.hierarchies[child], under.by_node(problem, child).astype(np.float64), prior)
                for under in _under(problem, found, parent, level)
            ]
        )
        coarse[parent] = _within(problem.hierarchies[parent], alone[parent], level)
    return rows / rows.sum(), tuple(alone), linked, coarse


def _coarse_level(hierarchy: Hierarchy) -> int:
    """The finest level with at most sixteen nodes."""
    return next(i for i, names in enumerate(hierarchy.labels) if len(names) <= _COARSE)


def _under(problem: Problem, found: OutcomeCounts, column: int, level: int) -> list[OutcomeCounts]:
    """The rows under each node of a level of a column."""
    h = problem.hierarchies[column]
    place = h.ancestors[level][problem.leaves[found.of, column]]
    return [
        OutcomeCounts(found.levels, found.of, found.code, np.where(place == u, found.n, 0))
        for u in range(len(h.labels[level]))
    ]


def _within(hierarchy: Hierarchy, log: Floats, level: int) -> Floats:
    """(nodes, coarse nodes, outcomes): P(coarse node | node, c); 1 for the one above the node."""
    first, last = int(hierarchy.offsets[level]), int(hierarchy.offsets[level + 1])
    out = np.zeros((hierarchy.size, last - first, log.shape[1]))
    for nodes in hierarchy.nodes:
        out[nodes, hierarchy.nodes[level] - first] = 1.0
    p = np.exp(log[first:last])
    for node in np.flatnonzero(hierarchy.level_of > level):
        out[node] *= p
        out[node] /= out[node].sum(0, keepdims=True)
    return out


# -- structure -------------------------------------------------------------------------------------


def _structure(
    problem: Problem, fit: OutcomeCounts, held: NDArray[np.int64], how: HierarchyNetwork
) -> Structure:
    """Steps 1 and 3: what lowers the mean -log P(outcome) on rows held back is kept."""

    def lost(structure: Structure) -> float:
        network = Network(
            problem.hierarchies, *_tables(problem, fit, structure, how.prior), structure=structure
        )
        p = network.posterior(problem.leaves)[fit.of, fit.code]
        return float(-(np.log(np.maximum(p, 1e-300)) * held).sum() / max(held.sum(), 1))

    bits = [
        mutual_information(fit.by_node(problem, j)[: len(h.leaves)], corrected=True) if fit.n.any() else 0.0
        for j, h in enumerate(problem.hierarchies)
    ]
    best = Structure()
    least = lost(best)
    for j in np.argsort(bits)[::-1]:
        more = Structure(tuple(sorted((*best.used, int(j)))))
        now = lost(more)
        if now < least:
            best, least = more, now
    if not how.links:
        return best
    for parent, child in _candidates(problem, fit, best):
        parents = {p for p, _ in best.links}
        children = {c for _, c in best.links}
        if parent in children or child in parents or child in children:
            continue
        more = Structure(best.used, (*best.links, (parent, child)))
        now = lost(more)
        if now < least:
            best, least = more, now
    return best


def _candidates(problem: Problem, fit: OutcomeCounts, structure: Structure) -> list[tuple[int, int]]:
    """Links to a column that is used, by the information of the two given the outcome; at most twelve."""
    found = []
    for child in structure.used:
        for parent, h in enumerate(problem.hierarchies):
            if parent != child and len(h.labels[_coarse_level(h)]) > 1:
                found.append((_given(problem, fit, parent, child), parent, child))
    return [(p, c) for bits, p, c in sorted(found, reverse=True)[:12] if bits > 0]


def _given(problem: Problem, fit: OutcomeCounts, parent: int, child: int) -> float:
    """I(coarse node of the parent; leaf of the child | outcome), corrected."""
    h, g = problem.hierarchies[parent], problem.hierarchies[child]
    u = h.ancestors[_coarse_level(h)][problem.leaves[fit.of, parent]].astype(np.int64)
    x = problem.leaves[fit.of, child].astype(np.int64)
    coarse, leaves = len(h.labels[_coarse_level(h)]), len(g.leaves)
    total = 0.0
    for c in range(fit.levels):
        mine = (fit.code == c) & (fit.n > 0)
        if mine.any():
            key = u[mine] * leaves + x[mine]
            table = np.bincount(key, fit.n[mine], coarse * leaves).reshape(coarse, leaves)
            total += table.sum() * mutual_information(table, corrected=True)
    return float(total / max(fit.n.sum(), 1))
