"""The loops of Greedy and Partition. Typed, free of I/O; imported only when something is searched.

f is a `flat.Flat`: all hierarchies of a table, and its combinations, in flat arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled
from sfumato.anonymization.greedy.flat import Flat

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@compiled
def join(f: Flat, j: int, node: int, leaf: int) -> int:
    """The least upper bound of a node and a leaf of column j: the first level on which both have one node."""
    leaves = f.leaf_at[j + 1] - f.leaf_at[j]
    at = f.path_at[j] + f.level[f.node_at[j] + node] * leaves
    other = f.rep[f.node_at[j] + node]
    while f.path[at + leaf] != f.path[at + other]:
        at += leaves
    return f.path[at + leaf]  # type: ignore[no-any-return]


@compiled
def price(f: Flat, j: int, node: int, row: Floats) -> None:
    """row[x] = Measure(LUB(node, x)) for every leaf x of column j.  row: (all leaves,)."""
    first = f.leaf_at[j]
    for leaf in range(f.leaf_at[j + 1] - first):
        row[first + leaf] = f.cost[f.node_at[j] + join(f, j, node, leaf)]


@compiled
def bound_of(f: Flat, members: Longs, nodes: Ints) -> None:
    """nodes[j] = the n-ary least upper bound of the original members in column j."""
    for j in range(f.cells.shape[1]):
        nodes[j] = f.cells[members[0], j] - f.leaf_at[j]
        for t in members[1:]:
            nodes[j] = join(f, j, nodes[j], f.cells[t, j] - f.leaf_at[j])


@compiled
def _among(t: int, members: Longs, count: int) -> bool:
    for i in range(count):  # noqa: SIM110
        if members[i] == t:
            return True
    return False


@compiled
def _same_set(a: Longs, s: int, b: Longs, t: int, count: int) -> bool:
    """Whether the first `count` of a with s are the same set as those of b with t."""
    if not (s == t or _among(s, b, count)):
        return False
    for i in range(count):  # noqa: SIM110
        if a[i] != t and not _among(a[i], b, count):
            return False
    return True


@compiled
def _is_there(t: int, b: int, measure: float, count: int, kept: int, members: Longs, top: Floats,
              top_set: Longs, top_row: Longs) -> bool:  # fmt: skip
    """Whether set b with t is among the `kept` best, as another set with another row."""
    for i in range(kept):
        if top[i] == measure and _same_set(members[top_set[i]], top_row[i], members[b], t, count):
            return True
    return False


@compiled
def _enter(t: int, b: int, measure: float, kept: int, n: Longs, top: Floats, top_set: Longs,
           top_row: Longs) -> None:  # fmt: skip
    """Set b with t takes its place among the `kept` best, the last of which is free."""
    i = kept - 1
    while i > 0 and (top[i - 1] > measure or (top[i - 1] == measure and n[top_row[i - 1]] < n[t])):
        top[i], top_set[i], top_row[i] = top[i - 1], top_set[i - 1], top_row[i - 1]
        i -= 1
    top[i], top_set[i], top_row[i] = measure, b, t


@compiled
def _take(k: int, found: int, n: Longs, gives: Flags, best: Longs, taken: Longs) -> None:
    """The rows that each member gives: all, or what is missing where it can spare some."""
    missing = k
    for i in range(found):
        taken[i] = min(n[best[i]], missing) if gives[best[i]] else n[best[i]]
        missing -= taken[i]


@compiled
def grow(f: Flat, seed: int, k: int, width: int, monotone: bool, n: Longs, gives: Flags, free: Flags,
         best: Longs, taken: Longs) -> tuple[int, float]:  # fmt: skip
    """Greedy (figure 11) for one row: add argmin_t Measure(LUB(items + t)) until k rows are there.

    Departs from print: a row that is in the set is not added again; rows that are alike come together
    (adding them changes no bound); and the `width` best sets are kept, not one (p. 79). At equal measure the
    combination with more rows goes first, then the earlier one.
    n: (combinations,), the rows each can give; gives: those of which only what is missing is taken.
    best, taken: (k,) room for the members and their rows. Returns how many members, 0 where k cannot be
    reached, and the measure of their bound.
    """
    columns = f.cells.shape[1]
    members, new_members = np.empty((width, k), np.int64), np.empty((width, k), np.int64)
    rows, new_rows = np.zeros(width, np.int64), np.empty(width, np.int64)
    nodes, new_nodes = np.empty((width, columns), np.int64), np.empty((width, columns), np.int64)
    prices = np.empty((width, f.leaf_at[columns]))
    priced = np.full((width, columns), -1, np.int64)
    top, top_set, top_row = np.empty(width), np.empty(width, np.int64), np.empty(width, np.int64)
    found, found_cost = 0, np.inf
    members[0, 0], rows[0] = seed, n[seed]
    here = 0.0
    for j in range(columns):
        nodes[0, j] = f.cells[seed, j] - f.leaf_at[j]
        here += f.cost[f.node_at[j] + nodes[0, j]]
    if rows[0] >= k:
        best[0], taken[0] = seed, n[seed]
        return 1, here
    open_sets, count = 1, 1
    while open_sets:
        kept = 0
        for b in range(open_sets):
            for j in range(columns):
                if priced[b, j] != nodes[b, j]:
                    price(f, j, nodes[b, j], prices[b])
                    priced[b, j] = nodes[b, j]
            row = prices[b]
            for t in range(len(n)):
                if not free[t]:
                    continue
                limit = top[kept - 1] if kept == width else np.inf
                if monotone and found_cost < limit:
                    limit = found_cost
                measure = 0.0
                for j in range(columns):
                    measure += row[f.cells[t, j]]
                    if measure > limit:
                        break
                if measure > limit or (measure == limit and kept == width and n[t] <= n[top_row[kept - 1]]):
                    continue
                if _among(t, members[b], count):
                    continue
                if _is_there(t, b, measure, count, kept, members, top, top_set, top_row):
                    continue
                if kept < width:
                    kept += 1
                _enter(t, b, measure, kept, n, top, top_set, top_row)
        still = 0
        for i in range(kept):
            b, t = top_set[i], top_row[i]
            total = rows[b] + n[t]
            if total >= k:
                if top[i] < found_cost:
                    found_cost, found = top[i], count + 1
                    best[:count] = members[b, :count]
                    best[count] = t
                continue
            new_members[still, :count] = members[b, :count]
            new_members[still, count] = t
            new_rows[still] = total
            for j in range(columns):
                new_nodes[still, j] = join(f, j, nodes[b, j], f.cells[t, j] - f.leaf_at[j])
            still += 1
        count += 1
        for i in range(still):
            members[i, :count] = new_members[i, :count]
            rows[i] = new_rows[i]
            nodes[i] = new_nodes[i]
        open_sets = still
    _take(k, found, n, gives, best, taken)
    return found, found_cost


@compiled
def grow_each(f: Flat, seeds: Longs, k: int, width: int, monotone: bool, free: Flags, nodes: Ints) -> None:
    """Literal Greedy: nodes[i] = LUB(items[seeds[i]]), each row's own set.  nodes: (seeds, columns)."""
    best = np.empty(k, np.int64)
    taken = np.empty(k, np.int64)
    gives = np.zeros(len(f.n), np.bool_)
    for i in range(len(seeds)):
        count, _ = grow(f, seeds[i], k, width, monotone, f.n, gives, free, best, taken)
        bound_of(f, best[:count], nodes[i])


@compiled
def covered(f: Flat, nodes: Ints, counts: Longs) -> None:
    """counts[i] = the original rows that pattern i covers.  nodes: (patterns, columns)."""
    columns = f.cells.shape[1]
    for i in range(len(nodes)):
        total = 0
        for t in range(len(f.n)):
            fits = True
            for j in range(columns):
                leaves = f.leaf_at[j + 1] - f.leaf_at[j]
                at = f.path_at[j] + f.level[f.node_at[j] + nodes[i, j]] * leaves
                if f.path[at + f.cells[t, j] - f.leaf_at[j]] != nodes[i, j]:
                    fits = False
                    break
            if fits:
                total += f.n[t]
        counts[i] = total


@compiled
def between(f: Flat, s: int, t: int, j: int) -> float:
    """Measure(LUB(s, t)) in column j, from the table of pairs where there is one."""
    x, y = f.cells[s, j] - f.leaf_at[j], f.cells[t, j] - f.leaf_at[j]
    leaves = f.leaf_at[j + 1] - f.leaf_at[j]
    if f.pair_at[j] >= 0:
        return f.pair[f.pair_at[j] + x * leaves + y]  # type: ignore[no-any-return]
    at = f.path_at[j]
    while f.path[at + x] != f.path[at + y]:
        at += leaves
    return f.cost[f.node_at[j] + f.path[at + x]]  # type: ignore[no-any-return]


@compiled
def farthest(f: Flat, part: Longs, seeds: Flags, most: Floats, order: Longs) -> tuple[int, int, float]:
    """Partition (p. 50): the pair with the largest 2 Measure(LUB(A, B)) - Measure(A) - Measure(B).

    part: combinations; seeds: which of them may be an end. most: (columns,), no pair costs more there;
    order: columns, those with the largest first. A pair is left as soon as it cannot win, and the search
    ends where no pair can. Returns places in `part`, -1 where there is no pair that differs.
    """
    columns = len(order)
    rest = np.zeros(columns + 1)
    for i in range(columns - 1, -1, -1):
        rest[i] = rest[i + 1] + most[order[i]]
    least = np.inf
    for i in range(len(part)):
        if seeds[i]:
            least = min(least, f.own[part[i]])
    limit = 2 * rest[0] - 2 * least
    best, first, second = 0.0, -1, -1
    for p in range(len(part)):
        if not seeds[p]:
            continue
        s = part[p]
        for q in range(p + 1, len(part)):
            if not seeds[q]:
                continue
            t = part[q]
            off = f.own[s] + f.own[t]
            measure = 0.0
            for i in range(columns):
                if 2 * (measure + rest[i]) - off <= best:
                    break
                measure += between(f, s, t, order[i])
            else:
                if 2 * measure - off > best:
                    best, first, second = 2 * measure - off, p, q
                    if best >= limit - 1e-12:
                        return first, second, best
    return first, second, best


@compiled
def divide(f: Flat, part: Longs, first: int, second: int, side: Flags) -> tuple[int, int]:
    """side[i] = whether part[i] is closer to the second end; a tie goes to the side with fewer rows so far.

    Returns the rows on both sides.
    """
    a, b = part[first], part[second]
    rows_a, rows_b = f.n[a], f.n[b]
    side[first], side[second] = False, True
    ties = np.empty(len(part), np.int64)
    tied = 0
    for i in range(len(part)):
        if i in (first, second):
            continue
        to_a, to_b = -f.own[a], -f.own[b]
        for j in range(f.cells.shape[1]):
            to_a += 2 * between(f, a, part[i], j)
            to_b += 2 * between(f, b, part[i], j)
        if to_a < to_b:
            side[i] = False
            rows_a += f.n[part[i]]
        elif to_b < to_a:
            side[i] = True
            rows_b += f.n[part[i]]
        else:
            ties[tied] = i
            tied += 1
    for i in ties[:tied]:
        side[i] = rows_b < rows_a
        if side[i]:
            rows_b += f.n[part[i]]
        else:
            rows_a += f.n[part[i]]
    return rows_a, rows_b
