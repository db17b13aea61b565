"""A tree over boxes that finds the nearest of them without looking at all.

Each tree node keeps the least upper bound v of the boxes in it. Whatever box y lies in it, a column of
x v y is at least x's own node, and exactly lub(x, v) where v is not above x: that bounds every distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.anonymization.local._kernels.boxes import join, joined, loss_of, lub
from sfumato.anonymization.local.forest import HierarchyForest


class BoxTree(NamedTuple):
    """order: (items,), bucket by bucket. leaf: (items,), the tree node whose bucket holds an item.

    Per tree node: lo, hi: its stretch of `order`; up: its parent; child, children: the first and how many;
    box: (nodes, columns); alive: items left; least: no item has fewer rows; most: no item has a larger loss.
    """

    order: NDArray[np.int64]
    leaf: NDArray[np.int64]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    up: NDArray[np.int64]
    child: NDArray[np.int64]
    children: NDArray[np.int64]
    box: NDArray[np.int32]
    alive: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.float64]


@compiled_lean
def child_towards(f: HierarchyForest, j: int, top: int, node: int) -> int:
    """The child of `top` above `node`; `top` itself if they are the same."""
    base = f.base[j]
    while node != top and f.parent[base + node] != top:
        node = f.parent[base + node]
    return node


@compiled_lean
def split_column(
    f: HierarchyForest, x: NDArray[np.int32], items: NDArray[np.int64], box: NDArray[np.int32]
) -> int:
    """The column whose split into the children of its node lowers the mean loss most; -1: none can.

    Items that all are the node itself are not split: a mean of equal losses may be rounded below them.
    """
    best = 0.0
    found = -1
    for j in range(len(box)):
        top = box[j]
        if f.loss[f.base[j] + top] <= best:
            continue
        total = 0.0
        apart = False
        for i in items:
            node = child_towards(f, j, top, x[i, j])
            apart = apart or node != top
            total += f.loss[f.base[j] + node]
        gain = f.loss[f.base[j] + top] - total / len(items)
        if apart and gain > best:
            best = gain
            found = j
    if found < 0:  # levels that lose nothing may still part the items
        for j in range(len(box)):
            for i in items:
                if x[i, j] != x[items[0], j]:
                    return j
    return found


@compiled_lean
def apart(keys: NDArray[np.int64], rank: NDArray[np.int64]) -> int:
    """How many different keys there are, rank by rank."""
    found = 1
    for p in range(1, len(rank)):
        if keys[rank[p]] != keys[rank[p - 1]]:
            found += 1
    return found


@compiled
def longer(numbers: NDArray[np.int64], room: int, fill: int) -> NDArray[np.int64]:
    """The same with room for more at the end, each `fill`."""
    found = np.full(room, fill, np.int64)
    found[: len(numbers)] = numbers
    return found


@compiled
def planted_tree(
    f: HierarchyForest, x: NDArray[np.int32], size: NDArray[np.int64], items: NDArray[np.int64], bucket: int
) -> BoxTree:
    """A tree over the boxes x[items]; buckets of at most `bucket`, larger only if boxes are equal."""
    n = len(items)
    q = x.shape[1]
    order = items.copy()
    room = 64 + 3 * n // bucket  # more where it is needed: most trees take less than that
    lo = np.zeros(room, np.int64)
    hi = np.zeros(room, np.int64)
    up = np.full(room, -1, np.int64)
    child = np.full(room, -1, np.int64)
    children = np.zeros(room, np.int64)
    box = np.zeros((room, q), np.int32)
    alive = np.zeros(room, np.int64)
    least = np.zeros(room, np.int64)
    most = np.zeros(room, np.float64)
    leaf = np.full(x.shape[0], -1, np.int64)
    hi[0] = n
    used = 1
    todo = 0
    while todo < used:
        a, b = lo[todo], hi[todo]
        box[todo] = x[order[a]]
        least[todo] = size[order[a]]
        for p in range(a, b):
            i = order[p]
            join(f, box[todo], x[i])
            least[todo] = min(least[todo], size[i])
            most[todo] = max(most[todo], loss_of(f, x[i]))
        alive[todo] = b - a
        j = -1
        if b - a > bucket:
            j = split_column(f, x, order[a:b], box[todo])
        if j < 0:
            for p in range(a, b):
                leaf[order[p]] = todo
            todo += 1
            continue
        keys = np.empty(b - a, np.int64)
        for p in range(a, b):
            keys[p - a] = child_towards(f, j, box[todo, j], x[order[p], j])
        rank = np.argsort(keys, kind="mergesort")
        if used + b - a > room and used + apart(keys, rank) > room:
            room = 2 * room + apart(keys, rank)
            lo, hi, alive = longer(lo, room, 0), longer(hi, room, 0), longer(alive, room, 0)
            up, child = longer(up, room, -1), longer(child, room, -1)
            children, least = longer(children, room, 0), longer(least, room, 0)
            losses = np.zeros(room, np.float64)
            losses[: len(most)] = most
            most = losses
            wider = np.zeros((room, q), np.int32)
            wider[: len(box)] = box
            box = wider
        part = order[a:b].copy()
        child[todo] = used
        for p in range(b - a):
            order[a + p] = part[rank[p]]
            if p == 0 or keys[rank[p]] != keys[rank[p - 1]]:
                if p:
                    hi[used - 1] = a + p
                lo[used] = a + p
                up[used] = todo
                children[todo] += 1
                used += 1
        hi[used - 1] = b
        todo += 1
    return BoxTree(
        order, leaf, lo[:used].copy(), hi[:used].copy(), up[:used].copy(), child[:used].copy(),
        children[:used].copy(), box[:used].copy(), alive[:used].copy(), least[:used].copy(),
        most[:used].copy(),
    )  # fmt: skip


@compiled_lean
def joined_at_least(f: HierarchyForest, x: NDArray[np.int32], v: NDArray[np.int32]) -> float:
    """No y under v has L(x v y) below this: per column L of x where v is above x, else of lub(x, v)."""
    total = 0.0
    for j in range(len(x)):
        node = lub(f, j, x[j], v[j])
        total += f.loss[f.base[j] + (x[j] if node == v[j] else node)]
    return total


@compiled_lean
def opened(t: BoxTree, v: int, stack: NDArray[np.int64], top: int) -> int:
    """Put the children of a node on the stack; its new height."""
    for c in range(t.child[v], t.child[v] + t.children[v]):
        stack[top] = c
        top += 1
    return top


@compiled_lean
def beside(t: BoxTree, node: int, came: int, stack: NDArray[np.int64]) -> int:
    """A walk up the tree: on the empty stack, what is under a node besides the child one came from."""
    if t.children[node] == 0:
        stack[0] = node
        return 1
    top = 0
    for c in range(t.child[node], t.child[node] + t.children[node]):
        if c != came:
            stack[top] = c
            top += 1
    return top


@compiled_lean
def nearest_few(
    f: HierarchyForest, t: BoxTree, x: NDArray[np.int32], target: NDArray[np.int32], own: int, leaf: int,
    found: NDArray[np.int64], cost: NDArray[np.float64], stack: NDArray[np.int64], most: int,
) -> int:  # fmt: skip
    """The items nearest to `target` by the loss of the box around both, nearest first; how many.

    own: the item not to be found. leaf: the bucket to begin in. found, cost, stack: room. most: how many are
    looked at, those first that lie beside it in the tree; the nearest among them are given.
    """
    room = len(found)
    count = 0
    looked = 0
    node = leaf
    came = -1
    while node >= 0:
        top = beside(t, node, came, stack)
        while top:
            top -= 1
            v = stack[top]
            if t.alive[v] == 0:
                continue
            if count == room and joined_at_least(f, target, t.box[v]) >= cost[room - 1]:
                continue
            if t.children[v]:
                top = opened(t, v, stack, top)
                continue
            if looked >= most:
                return count
            looked += t.hi[v] - t.lo[v]
            for p in range(t.lo[v], t.hi[v]):
                y = t.order[p]
                if y == own:
                    continue
                d = joined(f, target, x[y])
                if count == room and d >= cost[room - 1]:
                    continue
                place = min(count, room - 1)
                while place > 0 and cost[place - 1] > d:
                    cost[place] = cost[place - 1]
                    found[place] = found[place - 1]
                    place -= 1
                cost[place] = d
                found[place] = y
                count = min(count + 1, room)
        came = node
        node = t.up[node]
    return count


@compiled
def nearest_of(
    f: HierarchyForest, t: BoxTree, x: NDArray[np.int32], items: NDArray[np.int64], few: int, most: int
) -> NDArray[np.int32]:
    """(items, few): the nearest of each, nearest first; -1 where there are not so many. most: as above."""
    near = np.full((len(items), few), -1, np.int32)
    found = np.empty(few, np.int64)
    cost = np.empty(few, np.float64)
    stack = np.empty(len(t.up) + 1, np.int64)
    for p in range(len(items)):
        i = items[p]
        count = nearest_few(f, t, x, x[i], i, t.leaf[i], found, cost, stack, most)
        for r in range(count):
            near[p, r] = found[r]
    return near


@compiled
def joined_with(
    f: HierarchyForest, x: NDArray[np.int32], items: NDArray[np.int64], near: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(items, few): the loss of the box around an item and each of its neighbours."""
    found = np.zeros(near.shape, np.float64)
    for p in range(len(items)):
        for r in range(near.shape[1]):
            if near[p, r] >= 0:
                found[p, r] = joined(f, x[items[p]], x[near[p, r]])
    return found
