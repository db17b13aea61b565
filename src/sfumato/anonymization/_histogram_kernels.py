"""What is in the classes of a node, rolled up, and held against what is asked. Typed, free of I/O.

A histogram is sparse: the codes that occur in class g and how often lie from start[g] to start[g + 1].
Symbols as in the papers: n_s rows of value s in a class, p_s its share there, q_s its share in the
whole table.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

SLACK = 1e-9  # as in the criteria: sums of logarithms and shares are rounded


@compiled
def gather(
    into: NDArray[np.int32],
    groups: int,
    start: NDArray[np.int64],
    code: NDArray[np.int32],
    n: NDArray[np.int64],
    count: NDArray[np.int64],
    out_start: NDArray[np.int64],
    out_code: NDArray[np.int32],
    out_n: NDArray[np.int64],
) -> int:
    """Histograms of items, added up by the group into[i] of each (-1: none); the cells they have.

    count: (levels,), room, all 0 before and after. out_start: (groups + 1,). Counting sort, then each group
    by itself: nothing is hashed.
    """
    place = np.zeros(groups + 1, np.int64)
    for i in range(len(into)):
        if into[i] >= 0:
            place[into[i] + 1] += start[i + 1] - start[i]
    for g in range(groups):
        place[g + 1] += place[g]
    codes = np.empty(place[groups], np.int32)
    rows = np.empty(place[groups], np.int64)
    ends = place[:-1].copy()
    for i in range(len(into)):
        g = into[i]
        if g >= 0:
            p = ends[g]
            for e in range(start[i], start[i + 1]):
                codes[p] = code[e]
                rows[p] = n[e]
                p += 1
            ends[g] = p
    at = 0
    for g in range(groups):
        out_start[g] = at
        for p in range(place[g], place[g + 1]):
            s = codes[p]
            if count[s] == 0:
                out_code[at] = s
                at += 1
            count[s] += rows[p]
        for p in range(out_start[g], at):
            out_n[p] = count[out_code[p]]
            count[out_code[p]] = 0
    out_start[groups] = at
    return at


@compiled
def gather_pairs(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    start: NDArray[np.int64],
    code: NDArray[np.int32],
    n: NDArray[np.int64],
    count: NDArray[np.int64],
    out_start: NDArray[np.int64],
    out_code: NDArray[np.int32],
    out_n: NDArray[np.int64],
) -> int:
    """The histograms of classes a[i] and b[i] as one, for each i; the cells they have. Room as above."""
    at = 0
    for i in range(len(a)):
        out_start[i] = at
        for c in (a[i], b[i]):
            for p in range(start[c], start[c + 1]):
                if count[code[p]] == 0:
                    out_code[at] = code[p]
                    at += 1
                count[code[p]] += n[p]
        for p in range(out_start[i], at):
            out_n[p] = count[out_code[p]]
            count[out_code[p]] = 0
    out_start[len(a)] = at
    return at


@compiled
def distinct(
    start: NDArray[np.int64], code: NDArray[np.int32], nobody: int, least: int, good: NDArray[np.bool_]
) -> None:
    """At least so many codes; `nobody` counts only where it is alone. good: lowered in place."""
    for g in range(len(good)):
        if good[g]:
            found = start[g + 1] - start[g]
            if nobody >= 0 and 1 < found < least + 1:
                for p in range(start[g], start[g + 1]):
                    if code[p] == nobody:
                        found -= 1
            good[g] = found >= least


@compiled
def entropic(
    start: NDArray[np.int64],
    n: NDArray[np.int64],
    rows: NDArray[np.int64],
    least: float,
    good: NDArray[np.bool_],
) -> None:
    """-sum p_s log p_s >= least."""
    for g in range(len(good)):
        if good[g]:
            found = 0.0
            for p in range(start[g], start[g + 1]):
                share = n[p] / rows[g]
                found -= share * math.log(share)
            good[g] = found >= least - SLACK


@compiled
def recursive(
    start: NDArray[np.int64], n: NDArray[np.int64], c: float, l: int, good: NDArray[np.bool_]  # noqa: E741
) -> None:  # fmt: skip
    """The largest n_s is below c times the sum from the l-th largest on."""
    for g in range(len(good)):
        if good[g]:
            ranked = np.sort(n[start[g] : start[g + 1]])
            tail = 0
            for p in range(len(ranked) - l + 1):
                tail += ranked[p]
            good[g] = ranked[-1] < c * tail


@compiled
def mixed(
    start: NDArray[np.int64],
    n: NDArray[np.int64],
    rows: NDArray[np.int64],
    alpha: float,
    good: NDArray[np.bool_],
) -> None:
    """No n_s above alpha times the rows."""
    for g in range(len(good)):
        if good[g]:
            most = alpha * rows[g] + SLACK
            for p in range(start[g], start[g + 1]):
                if n[p] > most:
                    good[g] = False
                    break


@compiled
def equal_close(
    start: NDArray[np.int64],
    code: NDArray[np.int32],
    n: NDArray[np.int64],
    rows: NDArray[np.int64],
    q: NDArray[np.float64],
    t: float,
    good: NDArray[np.bool_],
) -> None:
    """sum of max(0, p_s - q_s) <= t."""
    for g in range(len(good)):
        if good[g]:
            far = 0.0
            for p in range(start[g], start[g + 1]):
                far += max(0.0, n[p] / rows[g] - q[code[p]])
            good[g] = far <= t + SLACK


@compiled
def ordered_close(
    start: NDArray[np.int64],
    code: NDArray[np.int32],
    n: NDArray[np.int64],
    rows: NDArray[np.int64],
    rank: NDArray[np.int64],
    q: NDArray[np.float64],
    t: float,
    good: NDArray[np.bool_],
) -> None:
    """sum_i |sum_{j <= i} (p_j - q_j)| / (m - 1) <= t. rank: (levels,), among the m that occur; q: (m,)."""
    m = len(q)
    if m < 2:
        return
    share = np.zeros(m)
    for g in range(len(good)):
        if good[g]:
            for p in range(start[g], start[g + 1]):
                share[rank[code[p]]] = n[p] / rows[g]
            far = 0.0
            sum_ = 0.0
            for i in range(m - 1):
                sum_ += share[i] - q[i]
                far += abs(sum_)
            for p in range(start[g], start[g + 1]):
                share[rank[code[p]]] = 0.0
            good[g] = far / (m - 1) <= t + SLACK


@compiled
def tree_close(
    start: NDArray[np.int64],
    code: NDArray[np.int32],
    n: NDArray[np.int64],
    rows: NDArray[np.int64],
    above: NDArray[np.int32],
    q: NDArray[np.float64],
    first: NDArray[np.int64],
    t: float,
    good: NDArray[np.bool_],
) -> None:
    """sum over levels and nodes v of |p_v - q_v| / (2 height) <= t.

    above: (height, levels), the node of each code; q: (nodes of all levels,), level i's from first[i]. A node
    without rows of the class adds q_v, and all q_v of a level add up to 1.
    """
    height = len(above)
    most = (t + SLACK) * 2 * max(height, 1)
    share = np.zeros(len(q))
    for g in range(len(good)):
        if good[g]:
            far = 0.0
            one = 1.0 / rows[g]
            for level in range(height):
                far += 1.0
                base = first[level]
                for p in range(start[g], start[g + 1]):
                    share[base + above[level, code[p]]] += n[p] * one
                for p in range(start[g], start[g + 1]):
                    v = base + above[level, code[p]]
                    if share[v] > 0.0:
                        far += abs(share[v] - q[v]) - q[v]
                        share[v] = 0.0
                if far > most:  # no level lowers it
                    break
            good[g] = far <= most


@compiled
def weighed(
    n: NDArray[np.int64], cost: NDArray[np.float64], good: NDArray[np.bool_], lost: float
) -> tuple[int, float]:
    """The rows of groups that are not good, and what all rows cost, `lost` for each of those."""
    small = 0
    total = 0.0
    for g in range(len(n)):
        if good[g]:
            total += n[g] * cost[g]
        else:
            small += n[g]
            total += n[g] * lost
    return small, total
