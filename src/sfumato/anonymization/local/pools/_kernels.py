"""Neighbouring classes are pooled and clustered anew; annealing decides whether that stays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._compiled import compiled
from sfumato.anonymization.local._kernels import below, draw, join, joined, loss_of
from sfumato.anonymization.local.forest import Forest

CLASSES = 48  # most classes a pool can be clustered into
PIECES = 640  # most combinations a pool can hold; more where k is large
TINY = 1e-12


class State(NamedTuple):
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


class Pool(NamedTuple):
    """Room for one pool. who, left: (room,), combinations and the rows not yet in a class.

    part: (CLASSES, room), rows of each new class from each. size, loss, box: the new classes.
    """

    who: NDArray[np.int64]
    left: NDArray[np.int64]
    part: NDArray[np.int32]
    size: NDArray[np.int64]
    loss: NDArray[np.float64]
    box: NDArray[np.int32]


@compiled
def place(s: State, c: int, i: int, rows: int) -> None:
    """A new piece: `rows` of combination i in class c."""
    s.tops[0] -= 1
    e = s.free_pieces[s.tops[0]]
    s.of[e] = i
    s.rows[e] = rows
    s.after[e] = s.head[c]
    s.head[c] = e
    s.home[i] = c


@compiled
def place_all(s: State, label: NDArray[np.int64], of: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """All pieces of a partition."""
    for i in range(len(of)):
        place(s, label[i], of[i], rows[i])


@compiled
def owners(s: State, owner: NDArray[np.int64]) -> None:
    """owner: (pieces,), becomes the class of each piece."""
    for c in range(len(s.head)):
        e = s.head[c]
        while e >= 0:
            owner[e] = c
            e = s.after[e]


@compiled
def grow(
    f: Forest, x: NDArray[np.int32], p: Pool, m: int, total: int, g: int, k: int, whole: bool,
    rng: NDArray[np.uint64],
) -> int:  # fmt: skip
    """Class g grows from a seed by the combination that widens its box least, until it has k rows; its rows.

    whole: combinations are not split. Else a class takes no more rows than it needs; of a combination with
    2k rows or more a class of its own takes all but k - 1, which may be lent.
    """
    seed = below(rng, m)
    while p.left[seed] == 0:
        seed = seed + 1 if seed + 1 < m else 0
    way = below(rng, 3)
    noise = 0.3 if below(rng, 2) else 0.0
    box = p.box[g]
    box[:] = x[p.who[seed]]
    take = p.left[seed]
    if take < total and not whole:
        take = min(take - k + 1, total - k) if take >= 2 * k else min(take, k)
    p.part[g, seed] = take
    p.left[seed] -= take
    size = take
    now = loss_of(f, box)
    while size < k:
        best = np.inf
        found = -1
        for i in range(m):
            if p.left[i] == 0:
                continue
            d = joined(f, box, x[p.who[i]]) - now
            if d <= TINY:
                take = p.left[i] if whole else min(p.left[i], k - size)
                join(f, box, x[p.who[i]])
                p.part[g, i] += take
                p.left[i] -= take
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
        join(f, box, x[p.who[found]])
        p.part[g, found] += take
        p.left[found] -= take
        size += take
        now = loss_of(f, box)
    p.size[g] = size
    p.loss[g] = loss_of(f, box)
    return int(size)


@compiled
def without(
    f: Forest, x: NDArray[np.int32], p: Pool, m: int, g: int, i: int, box: NDArray[np.int32]
) -> float:
    """The loss of class g's box when combination i has left it; `box` becomes that box."""
    first = True
    for e in range(m):
        if e != i and p.part[g, e] > 0:
            if first:
                box[:] = x[p.who[e]]
                first = False
            else:
                join(f, box, x[p.who[e]])
    return loss_of(f, box)


@compiled
def polish(
    f: Forest, x: NDArray[np.int32], p: Pool, m: int, groups: int, k: int, whole: bool,
    room: NDArray[np.int32],
) -> None:  # fmt: skip
    """Rows that a class can spare go where they cost less, while that lowers the loss."""
    for _ in range(6):
        moved = False
        for g in range(groups):
            if p.size[g] <= k:
                continue
            for i in range(m):
                spare = p.size[g] - k
                if spare <= 0:
                    break
                if p.part[g, i] == 0 or (whole and p.part[g, i] > spare):
                    continue
                t = min(np.int64(p.part[g, i]), spare)
                less = p.loss[g]
                if t == p.part[g, i]:
                    less = without(f, x, p, m, g, i, room)
                gain = (p.size[g] - t) * (p.loss[g] - less) + t * p.loss[g]
                best = gain - 1e-9
                found = -1
                for h in range(groups):
                    if h != g:
                        wide = joined(f, p.box[h], x[p.who[i]])
                        cost = p.size[h] * (wide - p.loss[h]) + t * wide
                        if cost < best:
                            best = cost
                            found = h
                if found >= 0:
                    moved = True
                    if t == p.part[g, i]:
                        p.box[g] = room
                        p.loss[g] = less
                    p.part[g, i] -= t
                    p.size[g] -= t
                    p.part[found, i] += t
                    p.size[found] += t
                    join(f, p.box[found], x[p.who[i]])
                    p.loss[found] = loss_of(f, p.box[found])
        if not moved:
            break


@compiled
def put(f: Forest, x: NDArray[np.int32], p: Pool, i: int, g: int) -> None:
    """All that is left of combination i goes to class g."""
    if p.size[g] == 0:
        p.box[g] = x[p.who[i]]
    join(f, p.box[g], x[p.who[i]])
    p.part[g, i] += p.left[i]
    p.size[g] += p.left[i]
    p.left[i] = 0
    p.loss[g] = loss_of(f, p.box[g])


@compiled
def cluster(
    f: Forest, x: NDArray[np.int32], p: Pool, m: int, total: int, k: int, whole: bool,
    rng: NDArray[np.uint64], room: NDArray[np.int32],
) -> int:  # fmt: skip
    """Cluster a pool of m combinations and `total` rows into classes of at least k rows; how many."""
    groups = 0
    p.part[:, :m] = 0
    while total >= 2 * k and groups < CLASSES - 1:
        total -= grow(f, x, p, m, total, groups, k, whole, rng)
        groups += 1
    if total >= k or (total > 0 and groups == 0):
        p.size[groups] = 0
        p.loss[groups] = 0.0
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
    polish(f, x, p, m, groups, k, whole, room)
    return groups


@compiled
def gather(
    s: State, near: NDArray[np.int32], p: Pool, chosen: NDArray[np.int64], wanted: int,
    rng: NDArray[np.uint64],
) -> tuple[int, int, int]:  # fmt: skip
    """A random class and neighbours of it; how many classes, combinations and rows that is."""
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
        for b in range(kept):
            if p.who[b] == p.who[a]:
                p.left[b] += p.left[a]
                break
        else:
            p.who[kept] = p.who[a]
            p.left[kept] = p.left[a]
            kept += 1
    return classes, kept, total


@compiled
def commit(s: State, p: Pool, m: int, groups: int, chosen: NDArray[np.int64], classes: int) -> None:
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
        s.box[c] = p.box[g]
        s.head[c] = -1
        for i in range(m):
            if p.part[g, i]:
                place(s, c, p.who[i], p.part[g, i])


@compiled
def new_pool(q: int, k: int) -> Pool:
    """An empty one, with room for a few classes of k rows."""
    room = max(PIECES, 8 * k)
    return Pool(
        np.empty(room, np.int64), np.empty(room, np.int64), np.zeros((CLASSES, room), np.int32),
        np.zeros(CLASSES, np.int64), np.zeros(CLASSES), np.zeros((CLASSES, q), np.int32),
    )  # fmt: skip


@compiled
def anneal(
    f: Forest, x: NDArray[np.int32], s: State, near: NDArray[np.int32], k: int, most: int, moves: int,
    heat: float, rng: NDArray[np.uint64],
) -> float:  # fmt: skip
    """`moves` pools of 2 to `most` classes; by how much the loss (times rows) changed.

    Metropolis: a change by d >= 0 stays with probability exp(-d / heat).
    """
    p = new_pool(x.shape[1], k)
    room = np.zeros(x.shape[1], np.int32)
    chosen = np.empty(CLASSES, np.int64)
    changed = 0.0
    for _ in range(moves):
        classes, m, total = gather(s, near, p, chosen, 2 + below(rng, most - 1), rng)
        old = 0.0
        for r in range(classes):
            old += s.size[chosen[r]] * s.loss[chosen[r]]
        if (classes < 2 and total < 2 * k) or old < TINY or s.tops[0] < len(p.who) or s.tops[1] < CLASSES:
            continue
        groups = cluster(f, x, p, m, total, k, False, rng, room)
        new = 0.0
        for g in range(groups):
            new += p.size[g] * p.loss[g]
        if new <= old or draw(rng) / 4294967296.0 < np.exp((old - new) / heat):
            commit(s, p, m, groups, chosen, classes)
            changed += new - old
    return changed
