"""A pool of rows is clustered into classes: each grown from a seed, then spare rows relocated.

A pool keeps L(box v x) of the class that grows for each of its combinations. A wider box changes few columns,
and only those are looked up again; so a step costs a look at one number per combination, not one per cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.anonymization.local._kernels.boxes import below, copy_box, draw, join, joined, loss_of, lub
from sfumato.anonymization.local.forest import HierarchyForest

CLASSES = 48  # most classes a pool can be clustered into
PIECES = 640  # most combinations a pool can hold; more where k is large
TINY = 1e-12


class Pool(NamedTuple):
    """Room for one pool. who, left: (room,), combinations and the rows not yet in a class.

    leaf: (columns, room), the combinations' leaves. far: (room,), L(box v x) of the class that grows.
    live: (room,), where rows are left. mine: (room,), where a class has rows.
    part: (CLASSES, room), rows of each new class from each. size, loss, box: the new classes.
    behind: (room + 1, columns), least upper bounds of the last few of a class.
    before, between: (columns,), boxes.
    """

    who: NDArray[np.int64]
    left: NDArray[np.int64]
    leaf: NDArray[np.int32]
    far: NDArray[np.float64]
    live: NDArray[np.int64]
    mine: NDArray[np.int64]
    part: NDArray[np.int32]
    size: NDArray[np.int64]
    loss: NDArray[np.float64]
    box: NDArray[np.int32]
    behind: NDArray[np.int32]
    before: NDArray[np.int32]
    between: NDArray[np.int32]


@compiled
def new_pool(q: int, k: int) -> Pool:
    """An empty one, with room for a few classes of k rows."""
    room = max(PIECES, 8 * k)
    return Pool(
        np.empty(room, np.int64), np.empty(room, np.int64), np.empty((q, room), np.int32),
        np.empty(room, np.float64), np.empty(room, np.int64), np.empty(room, np.int64),
        np.zeros((CLASSES, room), np.int32), np.zeros(CLASSES, np.int64), np.zeros(CLASSES),
        np.zeros((CLASSES, q), np.int32), np.empty((room + 1, q), np.int32), np.empty(q, np.int32),
        np.empty(q, np.int32),
    )  # fmt: skip


@compiled_lean
def widen(f: HierarchyForest, p: Pool, j: int, old: int, new: int, count: int) -> None:
    """far follows the node of column j from `old` (-1: none yet) to `new`."""
    w = f.width[j]
    leaf = p.leaf[j]
    if w == 0:
        for e in range(count):
            i = p.live[e]
            p.far[i] += f.loss[f.base[j] + lub(f, j, new, leaf[i])]
            if old >= 0:
                p.far[i] -= f.loss[f.base[j] + lub(f, j, old, leaf[i])]
        return
    to = f.far[f.start[j] + new * w : f.start[j] + (new + 1) * w]
    if old < 0:
        for e in range(count):
            i = p.live[e]
            p.far[i] += to[leaf[i]]
        return
    was = f.far[f.start[j] + old * w : f.start[j] + (old + 1) * w]
    for e in range(count):
        i = p.live[e]
        p.far[i] += to[leaf[i]] - was[leaf[i]]


@compiled_lean
def absorb(f: HierarchyForest, x: NDArray[np.int32], p: Pool, g: int, i: int, take: int, count: int) -> None:
    """`take` rows of combination i join class g; its box and `far` follow."""
    p.part[g, i] += take
    p.left[i] -= take
    for j in range(x.shape[1]):
        old = p.box[g, j]
        new = lub(f, j, old, p.leaf[j, i])
        if new != old:
            p.box[g, j] = new
            widen(f, p, j, old, new, count)


@compiled_lean
def grow(
    f: HierarchyForest, x: NDArray[np.int32], p: Pool, m: int, total: int, g: int, k: int, whole: bool,
    rng: NDArray[np.uint64],
) -> int:  # fmt: skip
    """Class g grows from a seed by the combination that widens its box least, until it has k rows; its rows.

    whole: combinations are not split. Else a class takes no more rows than it needs; of a combination with
    2k rows or more a class of its own takes all but k - 1, which may be lent.
    """
    count = 0
    for i in range(m):
        if p.left[i]:
            p.live[count] = i
            p.far[i] = 0.0
            count += 1
    seed = p.live[below(rng, count)]
    way = below(rng, 3)
    noise = 0.3 if below(rng, 2) else 0.0
    take = p.left[seed]
    if take < total and not whole:
        take = min(take - k + 1, total - k) if take >= 2 * k else min(take, k)
    size = take
    p.part[g, :m] = 0
    p.part[g, seed] = take
    p.left[seed] -= take
    copy_box(p.box[g], x[p.who[seed]])
    now = loss_of(f, p.box[g])
    if size < k:
        for j in range(x.shape[1]):
            widen(f, p, j, -1, p.box[g, j], count)
    while size < k:
        best = np.inf
        found = -1
        for e in range(count):
            i = p.live[e]
            if p.left[i] == 0:
                continue
            d = p.far[i] - now
            if d <= TINY:
                take = p.left[i] if whole else min(p.left[i], k - size)
                absorb(f, x, p, g, i, take, count)
                size += take
                if size >= k:
                    break
                continue
            if way == 1:
                d /= min(p.left[i], k - size)
            elif way == 2:
                d /= min(p.left[i], k - size) + 1.0
            if noise > 0.0:
                d *= 1.0 + noise * (draw(rng) / 4294967296.0)
            if d < best:
                best = d
                found = i
        if size >= k or found < 0:
            break
        take = p.left[found] if whole else min(p.left[found], k - size)
        absorb(f, x, p, g, found, take, count)
        size += take
        now = loss_of(f, p.box[g])
    p.size[g] = size
    p.loss[g] = loss_of(f, p.box[g])
    return int(size)


@compiled_lean
def members(f: HierarchyForest, x: NDArray[np.int32], p: Pool, m: int, g: int) -> int:
    """The combinations of class g, in `mine`, and in behind[e] the box around those from e on; how many."""
    count = 0
    for i in range(m):
        if p.part[g, i] > 0:
            p.mine[count] = i
            count += 1
    copy_box(p.behind[count - 1], x[p.who[p.mine[count - 1]]])
    for e in range(count - 2, -1, -1):
        copy_box(p.behind[e], p.behind[e + 1])
        join(f, p.behind[e], x[p.who[p.mine[e]]])
    return count


@compiled_lean
def relocate(
    f: HierarchyForest, x: NDArray[np.int32], p: Pool, m: int, groups: int, g: int, k: int, whole: bool
) -> bool:
    """Rows that class g can spare go where they cost less; whether any did.

    `before` is the box around those looked at that stayed: with behind[e + 1] it makes the box without e.
    """
    moved = False
    count = members(f, x, p, m, g)
    seen = False
    for e in range(count):
        i = p.mine[e]
        y = x[p.who[i]]
        spare = p.size[g] - k
        if spare <= 0:
            break
        t = min(np.int64(p.part[g, i]), spare)
        found = -1
        if not whole or t == p.part[g, i]:
            less = p.loss[g]
            if t == p.part[g, i]:
                if seen:
                    copy_box(p.between, p.before)
                    if e + 1 < count:
                        join(f, p.between, p.behind[e + 1])
                else:
                    copy_box(p.between, p.behind[e + 1])
                less = loss_of(f, p.between)
            best = (p.size[g] - t) * (p.loss[g] - less) + t * p.loss[g] - 1e-9
            for h in range(groups):
                if h != g and t * p.loss[h] < best:
                    wide = joined(f, p.box[h], y)
                    cost = p.size[h] * (wide - p.loss[h]) + t * wide
                    if cost < best:
                        best = cost
                        found = h
            if found >= 0:
                moved = True
                if t == p.part[g, i]:
                    copy_box(p.box[g], p.between)
                    p.loss[g] = less
                p.part[g, i] -= t
                p.size[g] -= t
                p.part[found, i] += t
                p.size[found] += t
                join(f, p.box[found], y)
                p.loss[found] = loss_of(f, p.box[found])
        if p.part[g, i]:
            if seen:
                join(f, p.before, y)
            else:
                copy_box(p.before, y)
                seen = True
    return moved


@compiled_lean
def polish(
    f: HierarchyForest, x: NDArray[np.int32], p: Pool, m: int, groups: int, k: int, whole: bool
) -> None:
    """Rows that classes can spare go where they cost less, while that lowers the loss."""
    for _ in range(6):
        moved = False
        for g in range(groups):
            if p.size[g] > k and relocate(f, x, p, m, groups, g, k, whole):
                moved = True
        if not moved:
            break


@compiled_lean
def put(f: HierarchyForest, x: NDArray[np.int32], p: Pool, i: int, g: int) -> None:
    """All that is left of combination i goes to class g."""
    if p.size[g] == 0:
        copy_box(p.box[g], x[p.who[i]])
    join(f, p.box[g], x[p.who[i]])
    p.part[g, i] += p.left[i]
    p.size[g] += p.left[i]
    p.left[i] = 0
    p.loss[g] = loss_of(f, p.box[g])


@compiled_lean
def cluster(
    f: HierarchyForest, x: NDArray[np.int32], p: Pool, m: int, total: int, k: int, whole: bool,
    rng: NDArray[np.uint64],
) -> int:  # fmt: skip
    """Cluster a pool of m combinations and `total` rows into classes of at least k rows; how many."""
    groups = 0
    for i in range(m):
        for j in range(x.shape[1]):
            p.leaf[j, i] = x[p.who[i], j]
    while total >= 2 * k and groups < CLASSES - 1:
        total -= grow(f, x, p, m, total, groups, k, whole, rng)
        groups += 1
    if total >= k or (total > 0 and groups == 0):
        p.size[groups] = 0
        p.loss[groups] = 0.0
        p.part[groups, :m] = 0
        groups += 1
        for i in range(m):
            if p.left[i]:
                put(f, x, p, i, groups - 1)
    for i in range(m):
        if p.left[i]:  # too few are left for a class: each goes where it costs least
            found = 0
            best = np.inf
            for g in range(groups):
                wide = joined(f, p.box[g], x[p.who[i]])
                cost = p.size[g] * (wide - p.loss[g]) + p.left[i] * wide
                if cost < best:
                    best = cost
                    found = g
            put(f, x, p, i, found)
    polish(f, x, p, m, groups, k, whole)
    return groups
