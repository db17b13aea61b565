"""Neighbouring classes are pooled and clustered anew; annealing decides whether that stays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.anonymization.local._kernels.boxes import below, copy_box, draw
from sfumato.anonymization.local._kernels.clusters import CLASSES, TINY, Pool, cluster, new_pool
from sfumato.anonymization.local.forest import HierarchyForest


class PoolState(NamedTuple):
    """A partition under change. Pieces of a class are a list linked by `after`; -1 ends it.

    of, rows, after: (pieces,), the combination of a piece, its rows, the next piece of its class.
    size, loss, head: (classes,), rows of a class, L of its box, its first piece. box: (classes, columns).
    home: (combinations,), one of the classes that hold it.
    free_pieces, free_classes: stacks of unused places; tops: how many are on each.
    """

    of: NDArray[np.int64]
    rows: NDArray[np.int64]
    after: NDArray[np.int64]
    size: NDArray[np.int64]
    loss: NDArray[np.float64]
    head: NDArray[np.int64]
    box: NDArray[np.int32]
    home: NDArray[np.int64]
    free_pieces: NDArray[np.int64]
    free_classes: NDArray[np.int64]
    tops: NDArray[np.int64]


@compiled_lean
def place(s: PoolState, c: int, i: int, rows: int) -> None:
    """A new piece: `rows` of combination i in class c."""
    s.tops[0] -= 1
    e = s.free_pieces[s.tops[0]]
    s.of[e] = i
    s.rows[e] = rows
    s.after[e] = s.head[c]
    s.head[c] = e
    s.home[i] = c


@compiled_lean
def place_all(s: PoolState, label: NDArray[np.int64], of: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """All pieces of a partition."""
    for i in range(len(of)):
        place(s, label[i], of[i], rows[i])


@compiled_lean
def owners(s: PoolState, owner: NDArray[np.int64]) -> None:
    """owner: (pieces,), becomes the class of each piece."""
    for c in range(len(s.head)):
        e = s.head[c]
        while e >= 0:
            owner[e] = c
            e = s.after[e]


@compiled_lean
def gather(
    s: PoolState, near: NDArray[np.int32], p: Pool, chosen: NDArray[np.int64], wanted: int,
    seen: NDArray[np.int32], rng: NDArray[np.uint64],
) -> tuple[int, int, int]:  # fmt: skip
    """A random class and neighbours of it; how many classes, combinations and rows that is.

    seen: (combinations,), all -1, before and after.
    """
    classes = 0
    m = 0
    total = 0
    c = s.home[below(rng, len(s.home))]
    tries = 0
    while tries < 4 * wanted:
        tries += 1
        known = False
        for r in range(classes):
            if chosen[r] == c:
                known = True
        if not known:
            e = s.head[c]
            count = 0
            while e >= 0:
                count += 1
                e = s.after[e]
            if m + count > len(p.who):
                break
            chosen[classes] = c
            classes += 1
            e = s.head[c]
            while e >= 0:
                p.who[m] = s.of[e]
                p.left[m] = s.rows[e]
                total += s.rows[e]
                m += 1
                e = s.after[e]
            if classes == wanted:
                break
        i = p.who[below(rng, m)]
        j = near[i, below(rng, 1 + below(rng, near.shape[1]))]
        if j >= 0:
            c = s.home[j]
    # pieces of one combination come together again
    kept = 0
    for a in range(m):
        i = p.who[a]
        b = seen[i]
        if b >= 0:
            p.left[b] += p.left[a]
        else:
            seen[i] = kept
            p.who[kept] = i
            p.left[kept] = p.left[a]
            kept += 1
    for b in range(kept):
        seen[p.who[b]] = -1
    return classes, kept, total


@compiled_lean
def commit(s: PoolState, p: Pool, m: int, groups: int, chosen: NDArray[np.int64], classes: int) -> None:
    """The new classes take the place of the chosen ones."""
    for r in range(classes):
        c = chosen[r]
        e = s.head[c]
        while e >= 0:
            s.free_pieces[s.tops[0]] = e
            s.tops[0] += 1
            e = s.after[e]
        s.head[c] = -1
        s.size[c] = 0
        s.free_classes[s.tops[1]] = c
        s.tops[1] += 1
    for g in range(groups):
        if p.size[g] == 0:
            continue
        s.tops[1] -= 1
        c = s.free_classes[s.tops[1]]
        s.size[c] = p.size[g]
        s.loss[c] = p.loss[g]
        copy_box(s.box[c], p.box[g])
        s.head[c] = -1
        for i in range(m):
            if p.part[g, i]:
                place(s, c, p.who[i], p.part[g, i])


@compiled
def anneal(
    f: HierarchyForest, x: NDArray[np.int32], s: PoolState, near: NDArray[np.int32], k: int, most: int,
    moves: int,
    heat: float, rng: NDArray[np.uint64],
) -> float:  # fmt: skip
    """`moves` pools of 2 to `most` classes; by how much the loss (times rows) changed.

    Metropolis: a change by d >= 0 stays with probability exp(-d / heat).
    """
    p = new_pool(x.shape[1], k)
    seen = np.full(len(x), -1, np.int32)
    chosen = np.empty(CLASSES, np.int64)
    changed = 0.0
    for _ in range(moves):
        classes, m, total = gather(s, near, p, chosen, 2 + below(rng, most - 1), seen, rng)
        old = 0.0
        for r in range(classes):
            old += s.size[chosen[r]] * s.loss[chosen[r]]
        if (classes < 2 and total < 2 * k) or old < TINY or s.tops[0] < len(p.who) or s.tops[1] < CLASSES:
            continue
        groups = cluster(f, x, p, m, total, k, False, rng)
        new = 0.0
        for g in range(groups):
            new += p.size[g] * p.loss[g]
        if new <= old or draw(rng) / 4294967296.0 < np.exp((old - new) / heat):
            commit(s, p, m, groups, chosen, classes)
            changed += new - old
    return changed
