"""Tiny tables, and the slow and obvious ways to judge and solve them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.anonymization.problem import Problem, Sparse
from sfumato.anonymization.recoding import Recoding
from sfumato.hierarchy import Hierarchy


def random_hierarchy(rng: np.random.Generator, leaves: int, height: int) -> Hierarchy:
    """Levels merge at random; some merge nothing, so that chains with a single child occur."""
    node = np.arange(leaves)
    rows = [[f"0:{i}"] for i in range(leaves)]
    for level in range(1, height):
        if rng.random() < 0.75:
            groups = rng.integers(0, max(1, len(np.unique(node)) // 2) + 1, leaves)
            node = np.unique(groups[node], return_inverse=True)[1].reshape(-1)
        for i in range(leaves):
            rows[i].append(f"{level}:{node[i]}")
    return Hierarchy.of_rows([[*row, "*"] for row in rows])


def random_problem(
    seed: int, combinations: int, columns: int = 3, most: int = 3, sensitive: bool = False
) -> Problem:
    """Distinct combinations with a few rows each."""
    rng = np.random.default_rng(seed)
    hierarchies = tuple(random_hierarchy(rng, int(rng.integers(2, 7)), int(rng.integers(1, 4)))
                        for _ in range(columns))  # fmt: skip
    draws = np.stack([rng.integers(0, len(h.leaves), 4 * combinations) for h in hierarchies], axis=1)
    leaves = np.unique(draws, axis=0)
    leaves = leaves[rng.permutation(len(leaves))[:combinations]]
    leaves = leaves[np.lexsort(leaves.T[::-1])].astype(np.int32)
    n = rng.integers(1, most + 1, len(leaves))
    tables = {}
    if sensitive:
        counts = np.stack([rng.multinomial(rows, np.full(4, 0.25)) for rows in n])
        at = counts > 0
        start = np.append(0, np.cumsum(at.sum(axis=1)))
        tables = {"dx": Sparse("dx", 4, start, np.nonzero(at)[1].astype(np.int32), counts[at],
                               ("a", "b", "c", "d"))}  # fmt: skip
    weights = rng.integers(1, 4, columns).astype(float)
    names = tuple(f"c{j}" for j in range(columns))
    return Problem(names, hierarchies, leaves, n.astype(np.int64), tables, weights)


seeds = st.integers(0, 10**6)


def lowest(hierarchy: Hierarchy, leaves: NDArray[np.int32]) -> int:
    """The node of the lowest level on which all these leaves agree."""
    for level in range(hierarchy.height + 1):
        found = set(hierarchy.nodes[level][leaves].tolist())
        if len(found) == 1:
            return int(found.pop())
    raise AssertionError("there is a root")


def box_loss(problem: Problem, leaves: NDArray[np.int32]) -> float:
    """What a row loses that is released as the smallest box around these."""
    assert problem.weights is not None
    share = problem.weights / problem.weights.sum()
    nodes = [lowest(h, leaves[:, j]) for j, h in enumerate(problem.hierarchies)]
    return float(sum(w * h.loss[v] for w, h, v in zip(share, problem.hierarchies, nodes, strict=True)))


def partitions(items: list[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into parts of at least k."""
    if not items:
        yield []
        return
    head, rest = items[0], items[1:]
    for mask in product((False, True), repeat=len(rest)):
        mine = [head, *(r for r, m in zip(rest, mask, strict=True) if m)]
        if k <= len(mine) and (len(mine) < 2 * k or len(mine) == len(items)):
            for others in partitions([r for r, m in zip(rest, mask, strict=True) if not m], k):
                yield [mine, *others]


def optimum(problem: Problem, k: int) -> float:
    """The least loss of all partitions of the rows. No part needs 2k rows or more: half of it is as good."""
    rows = np.repeat(np.arange(problem.combinations), problem.n)
    cost: dict[tuple[int, ...], float] = {}
    best = np.inf
    for parts in partitions(list(range(len(rows))), k):
        total = 0.0
        for part in parts:
            key = tuple(rows[part])
            if key not in cost:
                cost[key] = len(part) * box_loss(problem, problem.leaves[rows[part]])
            total += cost[key]
        best = min(best, total)
    return best / len(rows)


def cheapest_box(problem: Problem, combination: int, k: int) -> float:
    """The least loss of all boxes above a combination that hold k rows."""
    assert problem.weights is not None
    share = problem.weights / problem.weights.sum()
    best = np.inf
    for levels in product(*(range(h.height + 1) for h in problem.hierarchies)):
        loss, inside = 0.0, np.ones(problem.combinations, bool)
        for j, (h, level) in enumerate(zip(problem.hierarchies, levels, strict=True)):
            nodes = h.nodes[level][problem.leaves[:, j]]
            inside &= nodes == nodes[combination]
            loss += share[j] * h.loss[nodes[combination]]
        if problem.n[inside].sum() >= k:
            best = min(best, loss)
    return best


def covers(recoding: Recoding) -> bool:
    """Whether every released node is above the leaf of its row."""
    problem = recoding.problem
    return all(
        (
            h.nodes[h.level_of[recoding.nodes[:, j]], problem.leaves[recoding.of, j]] == recoding.nodes[:, j]
        ).all()
        for j, h in enumerate(problem.hierarchies)
    )


def labels(recoding: Recoding) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The class of each combination and the nodes of each class, where combinations are whole."""
    assert len(recoding.of) == recoding.problem.combinations
    label, sizes = recoding.classes()
    nodes = np.zeros((len(sizes), len(recoding.problem.columns)), np.int32)
    nodes[label[label >= 0]] = recoding.nodes[label >= 0]
    return label, nodes
