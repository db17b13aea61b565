"""Simulated people with groups, and the slow, obvious versions of the algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.reconstruction.aggregate import Aggregates
from sfumato.table import Table

Real = NDArray[np.float64]


def people(
    rng: np.random.Generator, n: int = 400, groups: int = 8, areas: int = 3, noise: float = 0.3
) -> tuple[Table, dict[str, Any]]:
    """Two numbers, a category, two groupings that cross each other, and y; the first grouping is uneven."""
    g = np.minimum((groups * rng.random(n) ** 1.7).astype(int), groups - 1)
    g[:groups] = np.arange(groups)
    h = rng.integers(0, areas, n)
    h[:areas] = np.arange(areas)
    x = rng.normal(size=(n, 2))
    c = rng.integers(0, 3, n)
    y = 4.0 + x @ [1.0, -0.7] + np.array([0.0, 1.0, -0.5])[c] + noise * rng.normal(size=n)
    columns = {
        "g": [f"g{i}" for i in g], "h": [f"h{i}" for i in h], "a": x[:, 0], "b": x[:, 1],
        "c": [f"c{i}" for i in c], "y": y,
    }  # fmt: skip
    return Table.from_arrow(pa.table(columns)), {"g": g, "h": h, "x": x, "c": c, "y": y}


def means(group: NDArray[Any], y: Real) -> Real:
    out: Real = np.bincount(group, y) / np.bincount(group)
    return out


def matrix(*groups: NDArray[Any]) -> Real:
    """A: a row of 1/n for each group of each partition."""
    rows = []
    for group in groups:
        for k in np.unique(group):
            rows.append((group == k) / (group == k).sum())
    return np.array(rows)


def aggregates(table: Table, *levels: str, values: Any = "y") -> Aggregates:
    found = [Aggregates.compute(table, level, values) for level in levels]
    out = found[0]
    for more in found[1:]:
        out = out + more
    return out


# -- Algorithm 2 in its Kronecker form, with the full U --------------------------------------------------


def kronecker_u(x: Real, a: Real, pi: Real, vx: Real) -> Real:
    n, r = len(x), vx.shape[1]
    left = np.kron(vx.T @ vx, np.eye(n)) + np.kron(np.eye(r), a.T @ a)
    right = (x @ vx + a.T @ pi).T.reshape(-1)  # vec stacks columns
    out: Real = np.linalg.lstsq(left, right, rcond=None)[0].reshape(r, n).T
    return out


def kronecker_pi(a: Real, s: Real, u: Real, vy: Real) -> Real:
    p, r = len(a), u.shape[1]
    w = np.linalg.pinv(a @ a.T)
    left = np.kron(np.eye(r), np.eye(p)) + np.kron(vy.T @ vy, w)
    right = (w @ s @ vy + a @ u).T.reshape(-1)
    out: Real = np.linalg.solve(left, right).reshape(r, p).T
    return out


def plain_vx(x: Real, u: Real) -> Real:
    out: Real = (np.linalg.pinv(u.T @ u) @ u.T @ x).T
    return out


def plain_vy(a: Real, s: Real, pi: Real) -> Real:
    w = np.linalg.pinv(a @ a.T)
    out: Real = (np.linalg.pinv(pi.T @ w @ pi) @ pi.T @ w @ s).T
    return out


def plain_objective(x: Real, a: Real, s: Real, u: Real, pi: Real, vx: Real, vy: Real) -> float:
    w = np.linalg.pinv(a @ a.T)
    miss = s - pi @ vy.T
    return float(((x - u @ vx.T) ** 2).sum() + np.trace(miss.T @ w @ miss) + ((a @ u - pi) ** 2).sum())
