"""Least upper bounds and losses of boxes: one node per column, holding all rows whose leaves lie below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.anonymization.local.forest import HierarchyForest


@compiled_lean
def lub(f: HierarchyForest, j: int, a: int, b: int) -> int:
    """The lowest node of column j above a and b. Parents have larger numbers: the smaller one climbs."""
    if a == b:
        return int(a)
    w = f.width[j]
    if w > 0:
        return int(f.table[f.start[j] + a * w + b])
    base = f.base[j]
    a = int(a)
    b = int(b)
    while a != b:
        if a < b:
            a = int(f.parent[base + a])
        else:
            b = int(f.parent[base + b])
    return a


@compiled_lean
def copy_box(to: NDArray[np.int32], x: NDArray[np.int32]) -> None:
    """`to` becomes x."""
    for j in range(len(x)):
        to[j] = x[j]


@compiled_lean
def loss_of(f: HierarchyForest, x: NDArray[np.int32]) -> float:
    """L(x): what a row loses that is released as box x; the weighted mean over the columns."""
    total = 0.0
    for j in range(len(x)):
        total += f.loss[f.base[j] + x[j]]
    return total


@compiled_lean
def joined(f: HierarchyForest, x: NDArray[np.int32], y: NDArray[np.int32]) -> float:
    """L(x v y), the loss of the smallest box around two."""
    total = 0.0
    for j in range(len(x)):
        w = f.width[j]
        if w > 0:
            total += f.far[f.start[j] + np.int64(x[j]) * w + y[j]]
        else:
            total += f.loss[f.base[j] + lub(f, j, x[j], y[j])]
    return total


@compiled_lean
def join(f: HierarchyForest, x: NDArray[np.int32], y: NDArray[np.int32]) -> bool:
    """x becomes x v y; whether that changed it."""
    changed = False
    for j in range(len(x)):
        node = lub(f, j, x[j], y[j])
        if node != x[j]:
            x[j] = node
            changed = True
    return changed


@compiled_lean
def draw(state: NDArray[np.uint64]) -> int:
    """The next of 2**32 numbers (xorshift64*). It steers the search; no promise rests on it."""
    s = state[0]
    s ^= s >> np.uint64(12)
    s ^= s << np.uint64(25)
    s ^= s >> np.uint64(27)
    state[0] = s
    return int((s * np.uint64(2685821657736338717)) >> np.uint64(32))


@compiled_lean
def below(state: NDArray[np.uint64], m: int) -> int:
    """A number from 0 to m - 1."""
    return (draw(state) * m) >> 32


@compiled
def boxes(
    f: HierarchyForest, leaves: NDArray[np.int32], label: NDArray[np.int64], classes: int
) -> NDArray[np.int32]:
    """(classes, columns): the least upper bound of the items of each; label -1: of none."""
    found = np.full((classes, leaves.shape[1]), -1, np.int32)
    for i in range(len(label)):
        c = label[i]
        if c >= 0:
            if found[c, 0] < 0:
                found[c] = leaves[i]
            else:
                join(f, found[c], leaves[i])
    return found
