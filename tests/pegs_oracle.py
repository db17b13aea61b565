"""PeGS by enumeration: the slow, obvious version, in floating point, from the paper's text alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pyarrow as pa
from declared import PUBLIC
from numpy.typing import NDArray
from scipy import stats

from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table

State = tuple[int, ...]
FALSE_ALARM = 1e-6


def tiny(rows: Sequence[State], sizes: Sequence[int], **more: object) -> Table:
    """A table of columns v0, v1, ... with levels 0, 1, ..., all public."""
    columns = tuple(
        Column(
            f"v{i}", Kind.ORDINAL, type="integer", levels=tuple(range(s)), missing=False, provenance=PUBLIC
        )
        for i, s in enumerate(sizes)
    )
    cells = np.array(rows, np.int64).reshape(-1, len(sizes))
    return Table.from_arrow(pa.table({f"v{i}": cells[:, i] for i in range(len(sizes))}), Schema(columns))


def law_of(
    rows: Sequence[State],
    sizes: Sequence[int],
    parents: Mapping[int, Sequence[int]],
    alpha: float,
    *,
    sweeps: int = 1,
    block: int | None = None,
    allowed: Callable[[State], bool] = lambda _: True,
    spread: float = 0.0,
) -> dict[tuple[State, ...], float]:
    """The exact law of a released row (block None) or of a block of B rows, for uniform seeds."""

    def conditional(i: int, x: State, visited: frozenset[tuple[int, State]]) -> NDArray[np.float64]:
        key = tuple(x[p] for p in parents[i])
        n = np.zeros(sizes[i])
        if (i, key) not in visited:
            for row in rows:
                if tuple(row[p] for p in parents[i]) == key:
                    n[row[i]] += 1 - spread
                    for j in (row[i] - 1, row[i] + 1):
                        n[j if 0 <= j < sizes[i] else row[i]] += spread / 2
        p = n + alpha
        for j in range(sizes[i]):
            if not allowed((*x[:i], j, *x[i + 1 :])):
                p[j] = 0
        return p / p.sum()

    rows = [r for r in rows if allowed(r)]
    seeds = [s for s in product(*map(range, sizes)) if allowed(s)]
    none: frozenset[tuple[int, State]] = frozenset()
    now: dict[tuple[State, frozenset[tuple[int, State]], tuple[State, ...]], float]
    now = {(s, none, ()): 1 / len(seeds) for s in seeds}
    for _ in range(block or 1):
        for _ in range(sweeps):
            for i in range(len(sizes)):
                after: dict[tuple[State, frozenset[tuple[int, State]], tuple[State, ...]], float]
                after = defaultdict(float)
                for (x, visited, out), mass in now.items():
                    key = tuple(x[p] for p in parents[i])
                    marked = visited | {(i, key)} if block is not None else visited
                    for j, p in enumerate(conditional(i, x, visited)):
                        if p > 0:
                            after[(*x[:i], j, *x[i + 1 :]), marked, out] += mass * p
                now = after
        merged: dict[tuple[State, frozenset[tuple[int, State]], tuple[State, ...]], float] = defaultdict(
            float
        )
        for (x, visited, out), mass in now.items():
            merged[x, visited, (*out, x)] += mass
        now = merged
    law: dict[tuple[State, ...], float] = defaultdict(float)
    for (_, _, out), mass in now.items():
        law[out] += mass
    return dict(law)


def misfit(codes: NDArray[np.integer], law: Mapping[tuple[State, ...], float]) -> float:
    """The p-value of Pearson's chi-square of blocks of rows against a law; 0 for what cannot be.

    codes: (columns, rows), whole blocks one after the other. Outcomes of small expectation are pooled.
    """
    size = len(next(iter(law)))
    columns, rows = codes.shape
    blocks = rows // size
    flat = codes.T.reshape(blocks, size * columns)
    found, n = np.unique(flat, axis=0, return_counts=True)
    outcomes = {tuple(np.concatenate(o)): p for o, p in law.items()}
    seen = {tuple(int(v) for v in row): int(k) for row, k in zip(found, n, strict=True)}
    if any(outcomes.get(o, 0) == 0 for o in seen):
        return 0.0
    ordered = sorted(outcomes.items(), key=lambda item: item[1])
    observed, expected, pooled = [], [], [0.0, 0.0]
    for outcome, p in ordered:
        pooled[0] += seen.get(outcome, 0)
        pooled[1] += p * blocks
        if pooled[1] >= 10:
            observed.append(pooled[0])
            expected.append(pooled[1])
            pooled = [0.0, 0.0]
    observed[-1] += pooled[0]
    expected[-1] += pooled[1]
    statistic = float(((np.array(observed) - expected) ** 2 / np.array(expected)).sum())
    return float(stats.chi2.sf(statistic, len(observed) - 1))
