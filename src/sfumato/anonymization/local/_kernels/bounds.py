"""The cheapest box that holds a row and k rows in all: no release can do better for that row.

Guarantee: the mean over rows of m(r) is at most the loss of every recoding with k rows in each class and
           no row suppressed (a suppressed row loses at least as much).
Because:   r is released as a box (one node per column) above r. Every row of its class, so at least k rows,
           lies in that box. m(r) is the least loss of all boxes above r holding k rows, so r loses m(r) or
           more; rows add up. Criteria besides k only take recodings away.
           Where the search for m(r) is given up, d(r) stands in: the k-th smallest of L(r v y) over
           the rows y, r itself among them. A box above r with k rows holds a y with L(r v y) >= d(r), and
           is above r v y: so d(r) <= m(r).
Tested by: tests/anonymization/test_local_bounds.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled, compiled_lean
from sfumato.anonymization.local._kernels.boxes import joined, lub
from sfumato.anonymization.local._kernels.neighbours import BoxTree, beside, joined_at_least, opened
from sfumato.anonymization.local.forest import HierarchyForest

TINY = 1e-12


@compiled_lean
def collected(
    f: HierarchyForest, t: BoxTree, x: NDArray[np.int32], r: int, limit: float, found: NDArray[np.int64],
    cost: NDArray[np.float64], stack: NDArray[np.int64],
) -> int:  # fmt: skip
    """The items y with L(r v y) < limit, r among them; how many. -1: more than there is room for."""
    count = 0
    stack[0] = 0
    top = 1
    while top:
        top -= 1
        v = stack[top]
        if joined_at_least(f, x[r], t.box[v]) >= limit:
            continue
        if t.children[v]:
            top = opened(t, v, stack, top)
            continue
        for p in range(t.lo[v], t.hi[v]):
            y = t.order[p]
            d = joined(f, x[r], x[y])
            if d < limit:
                if count == len(found):
                    return -1
                found[count] = y
                cost[count] = d
                count += 1
    return count


@compiled
def kth(
    cost: NDArray[np.float64], found: NDArray[np.int64], n: NDArray[np.int64], count: int, k: int
) -> float:
    """d(r): the distance within which k rows lie; infinite if there are fewer."""
    rows = 0
    for at in np.argsort(cost[:count]):
        rows += n[found[at]]
        if rows >= k:
            return float(cost[at])
    return np.inf


@compiled
def cheapest_box(
    need: NDArray[np.float64], rows: NDArray[np.int64], order: NDArray[np.int64], best: float, k: int,
    low: float, lists: NDArray[np.int32], options: NDArray[np.float64], budget: int,
) -> tuple[float, bool]:  # fmt: skip
    """The least total of one loss per column such that k rows need no more in any column, below `best`.

    need: (candidates, columns + 1), what each candidate's column needs; the last: their sum. order: columns.
    low: no answer can be below it. lists: room, (columns + 1, candidates). options: room, (columns, 64).
    Depth first over the columns; a candidate is dropped once what it needs in the columns to come is too
    much. The flag: whether it was searched to the end within `budget` looks at candidates.
    """
    q = len(order)
    count = np.zeros(q + 1, np.int64)
    at = np.zeros(q, np.int64)
    many = np.zeros(q, np.int64)
    paid = np.zeros(q + 1, np.float64)
    rest = need[:, q]  # becomes what the columns still to come need
    count[0] = len(need)
    for i in range(len(need)):
        lists[0, i] = i
    depth = 0
    entering = True
    while depth >= 0:
        if depth == q:
            best = paid[q]
            if best <= low + TINY:
                return best, True
            depth -= 1
            entering = False
            continue
        j = order[depth]
        if entering:
            many[depth] = 0
            for e in range(count[depth]):
                value = need[lists[depth, e], j]
                rest[lists[depth, e]] -= value
                a = 0
                while a < many[depth] and options[depth, a] < value - TINY:
                    a += 1
                if a == many[depth] or options[depth, a] > value + TINY:
                    for b in range(many[depth], a, -1):
                        options[depth, b] = options[depth, b - 1]
                    options[depth, a] = value
                    many[depth] += 1
            at[depth] = -1
        at[depth] += 1
        a = at[depth]
        if a == many[depth] or paid[depth] + options[depth, a] >= best - TINY:
            for e in range(count[depth]):
                rest[lists[depth, e]] += need[lists[depth, e], j]
            depth -= 1
            entering = False
            continue
        value = options[depth, a]
        budget -= count[depth]
        if budget < 0:
            return best, False
        total = 0
        kept = 0
        for e in range(count[depth]):
            i = lists[depth, e]
            if need[i, j] <= value + TINY and paid[depth] + value + rest[i] < best - TINY:
                lists[depth + 1, kept] = i
                kept += 1
                total += rows[i]
        entering = False
        if total >= k:
            count[depth + 1] = kept
            paid[depth + 1] = paid[depth] + value
            depth += 1
            entering = True
    return best, True


@compiled
def cheapest_boxes(
    f: HierarchyForest, t: BoxTree, x: NDArray[np.int32], n: NDArray[np.int64], k: int,
    upper: NDArray[np.float64],
    least: NDArray[np.float64], start: int, stop: int, room: int, budget: int, order: NDArray[np.int64],
) -> int:  # fmt: skip
    """m(r), or d(r) where that was too much work, for the items at `start` to `stop` of the tree's order.

    upper: (items,), the loss of some box with k rows above each item; lowered for all in a box that is found.
    least: (items,), the answers. How many were searched to the end.
    """
    q = x.shape[1]
    found = np.empty(room, np.int64)
    cost = np.empty(room, np.float64)
    stack = np.empty(len(t.up) + 1, np.int64)
    lists = np.empty((q + 1, room), np.int32)
    options = np.empty((q, 64), np.float64)
    proven = 0
    for p in range(start, stop):
        r = t.order[p]
        least[r] = 0.0
        if n[r] >= k:
            proven += 1
            continue
        limit = upper[r]
        count = collected(f, t, x, r, limit - TINY, found, cost, stack)
        if count < 0:
            continue
        low = kth(cost, found, n, count, k)
        if low >= limit - TINY:  # fewer than k rows are nearer than the box that is known: it is the cheapest
            least[r] = limit
            proven += 1
            continue
        need = np.empty((count, q + 1), np.float64)
        rows = np.empty(count, np.int64)
        for i in range(count):
            y = found[i]
            rows[i] = n[y]
            need[i, q] = cost[i]
            for j in range(q):
                need[i, j] = f.loss[f.base[j] + lub(f, j, x[r, j], x[y, j])]
        best, ended = cheapest_box(need, rows, order, limit, k, low, lists, options, budget)
        least[r] = best if ended else low
        proven += ended
        upper[r] = min(upper[r], best)
    return proven


@compiled
def raise_pairs(
    f: HierarchyForest, t: BoxTree, x: NDArray[np.int32], n: NDArray[np.int64], y: NDArray[np.float64],
    high: NDArray[np.float64], start: int, stop: int,
) -> None:  # fmt: skip
    """For k = 2: y(r) becomes min over i of 2 L(r v i) - y(i), for the items at `start` to `stop`.

    y: (items,), prices: y(r) + y(i) <= 2 L(r v i) for any two rows, before and after. high: (tree nodes,),
    no item of a tree node has a larger y; raised along.
    Guarantee: the sum of y(r) over rows is at most the loss of every recoding with two rows in each class.
    Because:   a class C of c >= 2 rows is released as a box above r v i for any two of its rows, so
               y(r) + y(i) <= 2 L(C); summed over all its pairs that is (c - 1) sum y <= c (c - 1) L(C), so
               the class loses c L(C) >= sum y. Classes add up. y is kept at 1 or below, what a suppressed
               row loses. m is such a y: m(r) and m(i) are at most L(r v i). Each step keeps it one.
    """
    stack = np.empty(len(t.up) + 1, np.int64)
    for p in range(start, stop):
        r = t.order[p]
        if n[r] >= 2:
            continue  # alike rows: y = 0, as 2 y <= 2 L(r) = 0
        best = 1.0
        node = t.leaf[r]
        came = -1
        while node >= 0:
            top = beside(t, node, came, stack)
            while top:
                top -= 1
                v = stack[top]
                if 2 * joined_at_least(f, x[r], t.box[v]) - high[v] >= best:
                    continue
                if t.children[v]:
                    top = opened(t, v, stack, top)
                    continue
                for at in range(t.lo[v], t.hi[v]):
                    i = t.order[at]
                    if i != r:
                        best = min(best, 2 * joined(f, x[r], x[i]) - y[i])
            came = node
            node = t.up[node]
        if best > y[r]:
            y[r] = best
            node = t.leaf[r]
            while node >= 0:
                high[node] = max(high[node], best)
                node = t.up[node]


@compiled
def highest(t: BoxTree, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(tree nodes,): the largest y in each."""
    high = np.zeros(len(t.up), np.float64)
    for v in range(len(t.up)):
        for p in range(t.lo[v], t.hi[v]):
            high[v] = max(high[v], y[t.order[p]])
    return high
