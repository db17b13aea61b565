"""A tree over points from which points are taken away: the nearest and the furthest without looking at all.

A kd-tree whose nodes keep the box around their points. No point of a node is nearer than its box, none
further than the box's far corner, and rounding keeps that order (subtraction, squares and sums are monotone,
and are made in the same order). So what is found is what a look at every point finds, ties included.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BUCKET = 128  # points of a leaf, at most
_NONE = 2**62  # above every id
_SLACK = 1.0 - 1e-12  # w / (W + w) is monotone in w but for its rounding


class PointTree(NamedTuple):
    """A heap of nodes: the children of i are 2 i + 1 and 2 i + 2; the last half of them are leaves.

    x: (d, points), w: (points,), ids: (points,), leaf by leaf. first: (nodes,), where a node's points begin;
    those of a leaf that are still there come first. alive: (nodes,), how many are there. least: (nodes,), no
    weight is smaller. low, high: (nodes, d), the box. gap: room for
    the distances of one leaf. at: (ids,), the place of an id. leaf: (points,), the leaf of a place.
    """

    x: Floats
    w: Floats
    ids: Ints
    first: Ints
    alive: Ints
    least: Floats
    low: Floats
    high: Floats
    gap: Floats
    at: Ints
    leaf: Ints


@compiled
def planted(points: Floats, weight: Floats, ids: Ints) -> PointTree:
    """A tree over the points with these ids; points and weights are those of all ids."""
    n, d = len(ids), points.shape[1]
    depth = 0
    while (n >> depth) > _BUCKET:
        depth += 1
    nodes = (1 << (depth + 1)) - 1
    first, alive = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    least = np.empty(nodes)
    low, high = np.empty((nodes, d)), np.empty((nodes, d))
    order = ids.copy()
    alive[0] = n
    for node in range(nodes):
        a, b = first[node], first[node] + alive[node]
        least[node] = weight[order[a]]
        for j in range(d):
            low[node, j] = high[node, j] = points[order[a], j]
        for p in range(a + 1, b):
            least[node] = min(least[node], weight[order[p]])
            for j in range(d):
                low[node, j] = min(low[node, j], points[order[p], j])
                high[node, j] = max(high[node, j], points[order[p], j])
        if 2 * node + 2 < nodes:
            axis = int(np.argmax(high[node] - low[node]))
            middle = (a + b) // 2
            _halve(points, axis, order, a, b, middle)
            first[2 * node + 1], alive[2 * node + 1] = a, middle - a
            first[2 * node + 2], alive[2 * node + 2] = middle, b - middle
    x, at, leaf = np.empty((d, n)), np.full(len(points), -1, np.int64), np.empty(n, np.int64)
    for p in range(n):
        at[order[p]] = p
        for j in range(d):
            x[j, p] = points[order[p], j]
    for node in range(nodes // 2, nodes):
        leaf[first[node] : first[node] + alive[node]] = node
    gap = np.empty(2 * _BUCKET)
    return PointTree(x, weight[order], order, first, alive, least, low, high, gap, at, leaf)


@compiled
def _halve(points: Floats, axis: int, order: Ints, a: int, b: int, middle: int) -> None:
    """Quickselect: what comes before `middle` is not above what comes after, in one coordinate."""
    low, high = a, b - 1
    while low < high:
        pivot = points[order[(low + high) // 2], axis]
        i, j = low, high
        while i <= j:
            while points[order[i], axis] < pivot:
                i += 1
            while points[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@compiled
def take(t: PointTree, point: int) -> None:
    """Take a point away, by its id: the last of its leaf moves into its place."""
    place = t.at[point]
    leaf = t.leaf[place]
    last = t.first[leaf] + t.alive[leaf] - 1
    t.x[:, place] = t.x[:, last]
    t.w[place], t.ids[place] = t.w[last], t.ids[last]
    t.at[t.ids[place]] = place
    node = leaf
    while True:
        t.alive[node] -= 1
        if node == 0:
            return
        node = (node - 1) // 2


@compiled
def nearest(t: PointTree, to: Floats, mass: float, stack: Ints, bound: Floats) -> int:
    """The point that adds least, |x - to|^2 w / (mass + w); ties: the lowest id.

    stack, bound: room for as many nodes as the tree is deep.
    """
    leaves = len(t.first) // 2
    best, least = _NONE, np.inf
    lightest = t.least[0] / (mass + t.least[0])
    stack[0], bound[0] = 0, 0.0
    top = 1
    while top:
        top -= 1
        node = stack[top]
        if bound[top] * _SLACK > least:
            continue
        while node < leaves:
            one, other = 2 * node + 1, 2 * node + 2
            near, far = _at_least(t, one, to, mass, lightest), _at_least(t, other, to, mass, lightest)
            if far < near:
                one, other, near, far = other, one, far, near
            if far * _SLACK <= least:
                stack[top], bound[top] = other, far
                top += 1
            if near * _SLACK > least:
                break
            node = one
        if node < leaves:
            continue
        a, count = t.first[node], t.alive[node]
        _distances(t, a, count, to)
        for i in range(count):
            if t.gap[i] * lightest * _SLACK > least:
                continue
            p = a + i
            gap = t.gap[i] * t.w[p] / (mass + t.w[p])
            if gap < least or (gap == least and t.ids[p] < best):
                best, least = t.ids[p], gap
    if best == _NONE:
        raise ValueError("a coordinate is not a number")
    return best


@compiled
def nearest_few(t: PointTree, to: Floats, found: Ints, cost: Floats, stack: Ints, bound: Floats) -> int:
    """The points nearest to a place, by squared distance, nearest first; how many. found, cost: room."""
    leaves, room, count = len(t.first) // 2, len(found), 0
    least = np.inf  # of the last in the list, once it is full
    stack[0], bound[0] = 0, 0.0
    top = 1
    while top:
        top -= 1
        node = stack[top]
        if bound[top] >= least:
            continue
        while node < leaves:
            one, other = 2 * node + 1, 2 * node + 2
            near, far = _at_least(t, one, to, 0.0, 1.0), _at_least(t, other, to, 0.0, 1.0)
            if far < near:
                one, other, near, far = other, one, far, near
            if far < least:
                stack[top], bound[top] = other, far
                top += 1
            if near >= least:
                break
            node = one
        if node < leaves:
            continue
        a, some = t.first[node], t.alive[node]
        _distances(t, a, some, to)
        for i in range(some):
            gap = t.gap[i]
            if gap >= least:
                continue
            place = min(count, room - 1)
            while place > 0 and cost[place - 1] > gap:
                cost[place], found[place] = cost[place - 1], found[place - 1]
                place -= 1
            cost[place], found[place] = gap, t.ids[a + i]
            count = min(count + 1, room)
            if count == room:
                least = cost[room - 1]
    return count


@compiled
def _distances(t: PointTree, a: int, count: int, to: Floats) -> None:
    """Squared, of the points of a leaf, into t.gap. Column by column: it vectorizes."""
    gap = t.gap[:count]
    gap[:] = 0.0
    for j in range(len(to)):
        column, value = t.x[j, a : a + count], to[j]
        for i in range(count):
            side = column[i] - value
            gap[i] += side * side


@compiled
def _at_least(t: PointTree, node: int, to: Floats, mass: float, lightest: float) -> float:
    """No point of the node adds less. lightest: w / (mass + w) of the smallest weight of all."""
    if t.alive[node] == 0:
        return np.inf
    gap = 0.0
    for j in range(len(to)):
        side = max(t.low[node, j] - to[j], to[j] - t.high[node, j], 0.0)
        gap += side * side
    share: float = t.least[node] / (mass + t.least[node]) if t.least[node] != t.least[0] else lightest
    return gap * share


@compiled
def furthest(t: PointTree, to: Floats, stack: Ints, bound: Floats) -> int:
    """The point furthest away; ties: the lowest id."""
    leaves = len(t.first) // 2
    best, most = _NONE, -1.0
    stack[0], bound[0] = 0, np.inf
    top = 1
    while top:
        top -= 1
        node = stack[top]
        if bound[top] < most:
            continue
        while node < leaves:
            one, other = 2 * node + 1, 2 * node + 2
            far, near = _at_most(t, one, to), _at_most(t, other, to)
            if far < near:
                one, other, near, far = other, one, far, near
            if near >= most:
                stack[top], bound[top] = other, near
                top += 1
            if far < most:
                break
            node = one
        if node < leaves:
            continue
        a, count = t.first[node], t.alive[node]
        _distances(t, a, count, to)
        for i in range(count):
            p, gap = a + i, t.gap[i]
            if gap > most or (gap == most and t.ids[p] < best):
                best, most = t.ids[p], gap
    if best == _NONE:
        raise ValueError("a coordinate is not a number")
    return best


@compiled
def _at_most(t: PointTree, node: int, to: Floats) -> float:
    """No point of the node is further away, squared; -inf: there is none."""
    if t.alive[node] == 0:
        return -np.inf
    gap = 0.0
    for j in range(len(to)):
        side = max(to[j] - t.low[node, j], t.high[node, j] - to[j])
        gap += side * side
    return gap
