"""Classes below k merge with the class that costs least, the cheapest merger first."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.anonymization.local._kernels.boxes import join, joined, loss_of
from sfumato.anonymization.local._kernels.neighbours import (
    BoxTree,
    beside,
    joined_at_least,
    opened,
    planted_tree,
)
from sfumato.anonymization.local.forest import HierarchyForest

BUCKET = 6


@compiled_lean
def merger_at_least(low: float, na: int, la: float, least: int, most: float, k: int) -> float:
    """No merger of a with a class of a tree node is cheaper.

    low <= L(a v b) for each b in it, so a's rows lose at least A = low - L(a) more, and b's at least
    B = low - most. (na A + nb B) / min(k, na + nb) is a mixture of A and B up to na + nb = k, so least at
    one of the ends, and grows with nb from there on.
    """
    a = na * max(low - la, 0.0)
    b = max(low - most, 0.0)
    if na + least >= k:
        return (a + least * b) / k
    return min((a + least * b) / (na + least), (a + (k - na) * b) / k)


@compiled_lean
def cheapest(
    f: HierarchyForest, t: BoxTree, x: NDArray[np.int32], size: NDArray[np.int64], loss: NDArray[np.float64],
    dead: NDArray[np.bool_], stack: NDArray[np.int64], a: int, k: int,
) -> tuple[float, int]:  # fmt: skip
    """The class whose merger with a costs least: loss added / min(k, rows of both). -1: a is alone."""
    best = np.inf
    partner = -1
    na = size[a]
    la = loss[a]
    node = t.leaf[a]
    came = -1
    while node >= 0:
        top = beside(t, node, came, stack)
        while top:
            top -= 1
            v = stack[top]
            if t.alive[v] == 0:
                continue
            low = joined_at_least(f, x[a], t.box[v])
            if merger_at_least(low, na, la, t.least[v], t.most[v], k) >= best:
                continue
            if t.children[v]:
                top = opened(t, v, stack, top)
                continue
            for p in range(t.lo[v], t.hi[v]):
                y = t.order[p]
                if y == a or dead[y]:
                    continue
                d = joined(f, x[a], x[y])
                cost = (na * (d - la) + size[y] * (d - loss[y])) / min(k, na + size[y])
                if cost < best or (cost == best and y < partner):
                    best = cost
                    partner = y
        came = node
        node = t.up[node]
    return best, partner


@compiled_lean
def stamped(a: int, b: int) -> int:
    """The versions of two classes in one number; that of b wraps: at worst a cost is out of date."""
    return int(a * 65536 + b % 65536)


@compiled
def agglomerate(
    f: HierarchyForest,
    x: NDArray[np.int32],
    size: NDArray[np.int64],
    into: NDArray[np.int64],
    k: int,
    steps: int,
) -> int:
    """Merge until every class has k rows, or `steps` mergers are done; how many were.

    x: (items, columns), boxes; size: rows. Both are changed in place: a merged class lives on in one of the
    two places, and into[the other] says where. A live class has into[i] = i.
    """
    items = np.flatnonzero(into == np.arange(len(into)))
    loss = np.zeros(len(size), np.float64)
    for i in items:
        loss[i] = loss_of(f, x[i])
    dead = into != np.arange(len(into))
    version = np.zeros(len(size), np.int64)
    t = planted_tree(f, x, size, items, BUCKET)
    stack = np.empty(2 * len(items) + 2, np.int64)
    living = len(items)
    rebuild = living // 2
    heap = [(0.0, 0, 0, 0)]
    heap.pop()
    for item in items:
        a = int(item)
        if size[a] < k:
            cost, b = cheapest(f, t, x, size, loss, dead, stack, a, k)
            if b >= 0:
                heap.append((cost, a, b, 0))
    heapq.heapify(heap)
    done = 0
    while len(heap) and done < steps:
        cost, a, b, stamp = heapq.heappop(heap)
        if dead[a] or size[a] >= k or stamp // 65536 != version[a]:
            continue
        if dead[b] or stamp % 65536 != version[b] % 65536:
            cost, b = cheapest(f, t, x, size, loss, dead, stack, a, k)
            if b >= 0:
                heapq.heappush(heap, (cost, a, b, stamped(version[a], version[b])))
            continue
        done += 1
        join(f, x[a], x[b])
        size[a] += size[b]
        loss[a] = loss_of(f, x[a])
        version[a] += 1
        dead[b] = True
        into[b] = a
        living -= 1
        node = t.leaf[b]
        while node >= 0:
            t.alive[node] -= 1
            node = t.up[node]
        node = t.leaf[a]
        while node >= 0:
            join(f, t.box[node], x[a])
            t.most[node] = max(t.most[node], loss[a])
            node = t.up[node]
        if living < rebuild:
            t = planted_tree(f, x, size, np.flatnonzero(~dead), BUCKET)
            rebuild = living // 2
        if size[a] < k:
            cost, b = cheapest(f, t, x, size, loss, dead, stack, a, k)
            if b >= 0:
                heapq.heappush(heap, (cost, a, b, stamped(version[a], version[b])))
    return done
