"""Small problems for the greedy searches, and the slow, obvious versions of what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from sfumato.anonymization.problem import Problem, Sparse
from sfumato.anonymization.recoding import Recoding
from sfumato.hierarchy import Hierarchy


def tree(leaves: int, fan: Sequence[int], name: str = "v") -> Hierarchy:
    """Leaves in order, pooled `fan` at a time on each level, then the root."""
    rows = []
    for x in range(leaves):
        row, width = [f"{name}{x}"], 1
        for level, f in enumerate(fan):
            width *= f
            row.append(f"{name}{level}:{x // width}")
        rows.append([*row, "*"])
    return Hierarchy.of_rows(rows)


def problem(
    hierarchies: Sequence[Hierarchy],
    leaves: np.ndarray,
    n: np.ndarray,
    sensitive: dict[str, np.ndarray] | None = None,
    **more: object,
) -> Problem:
    """leaves may repeat: alike rows are added up. sensitive: (rows of leaves,), one code each."""
    unique, back = np.unique(leaves, axis=0, return_inverse=True)
    back = back.ravel()
    tables = {}
    for name, code in (sensitive or {}).items():
        levels = int(code.max()) + 1
        table = np.zeros((len(unique), levels), np.int64)
        np.add.at(table, (back, code), n)
        of, found = np.nonzero(table)
        start = np.searchsorted(of, np.arange(len(unique) + 1))
        names = tuple(f"y{i}" for i in range(levels))
        tables[name] = Sparse(name, levels, start, found.astype(np.int32), table[of, found], names)
    columns = tuple(f"c{j}" for j in range(len(hierarchies)))
    rows = np.bincount(back, n, len(unique)).astype(np.int64)
    return Problem(columns, tuple(hierarchies), unique.astype(np.int32), rows, tables, **more)


def drawn(seed: int, rows: int, columns: int = 3, levels: int = 3, most: int = 1, **more: object) -> Problem:
    """A table of independent cells, with an outcome 'y' that follows the first column."""
    rng = np.random.default_rng(seed)
    shapes = [(8, (2, 2)), (5, (3,)), (4, ()), (9, (3,)), (2, ()), (6, (2,))]
    hs = [tree(*shapes[j % len(shapes)], name=f"c{j}_") for j in range(columns)]
    leaves = np.stack([rng.integers(0, len(h.leaves), rows) for h in hs], axis=1)
    y = (leaves[:, 0] + rng.integers(0, 4, rows)) * levels // (len(hs[0].leaves) + 3)
    return problem(hs, leaves, rng.integers(1, most + 1, rows), {"y": y}, **more)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any small table; now and then with weights and columns that may not be touched."""
    seed = draw(st.integers(0, 2**32 - 1))
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    found = drawn(seed, rows, columns, draw(st.integers(2, 4)), draw(st.integers(1, 4)))
    top = [draw(st.sampled_from([h.height, h.height, h.height - 1, 0])) for h in found.hierarchies]
    weights = [draw(st.sampled_from([1.0, 1.0, 0.0, 3.5])) for _ in found.hierarchies]
    return Problem(
        found.columns, found.hierarchies, found.leaves, found.n, found.sensitive,
        np.array(weights), np.array(top, np.int32),
    )  # fmt: skip


# -- oracles ---------------------------------------------------------------------------------------


def bound(p: Problem, members: Sequence[int]) -> tuple[int, ...]:
    """The n-ary least upper bound: the first level on which all members agree."""
    out = []
    for j, h in enumerate(p.hierarchies):
        for row in h.nodes:
            found = {int(row[p.leaves[t, j]]) for t in members}
            if len(found) == 1:
                out.append(found.pop())
                break
    return tuple(out)


def measure(costs: Sequence[np.ndarray], nodes: Sequence[int]) -> float:
    total = 0.0
    for cost, node in zip(costs, nodes, strict=True):
        total += cost[node]
    return total


def greedy_set(p: Problem, costs: Sequence[np.ndarray], seed: int, k: int) -> list[int]:
    """The printed algorithm on combinations; at equal measure more rows first, then the earlier one."""
    members = [seed]
    while p.n[members].sum() < k:
        rest = [t for t in range(p.combinations) if t not in members]
        members.append(min(rest, key=lambda t: (measure(costs, bound(p, [*members, t])), -p.n[t], t)))
    return members


def covers(p: Problem, nodes: Sequence[int], t: int) -> bool:
    return all(
        node in h.nodes[:, p.leaves[t, j]]
        for j, (h, node) in enumerate(zip(p.hierarchies, nodes, strict=True))
    )


def partitions(items: Sequence[int]) -> list[list[list[int]]]:
    """Every way to part a few items."""
    if not items:
        return [[]]
    out = []
    first, *rest = items
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            left = [x for x in rest if x not in others]
            out.extend([[first, *others], *more] for more in partitions(left))
    return out


def best_classes(p: Problem, costs: Sequence[np.ndarray], k: int) -> float:
    """The least summed measure over all ways to part the rows into classes of at least k (n = 1 each)."""
    assert (p.n == 1).all()
    return min(
        sum(len(c) * measure(costs, bound(p, c)) for c in parts)
        for parts in partitions(range(p.combinations))
        if all(len(c) >= k for c in parts)
    )


def holds_by_hand(found: Recoding, asks: Callable[[int, list[np.ndarray]], bool]) -> bool:
    """Whether each class satisfies `asks(rows, tables of outcomes)`, counted row by row."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for i in np.flatnonzero(~found.suppressed):
        groups.setdefault(tuple(found.nodes[i]), []).append(int(i))
    for pieces in groups.values():
        tables = []
        for sparse in found.problem.sensitive.values():
            table = np.zeros(sparse.levels)
            for i in pieces:
                a, b = sparse.start[found.of[i]], sparse.start[found.of[i] + 1]
                np.add.at(table, sparse.code[a:b], sparse.n[a:b])
            tables.append(table)
        if not asks(int(found.n[pieces].sum()), tables):
            return False
    return True
