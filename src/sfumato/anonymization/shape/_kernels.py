"""Inner loops of clustering and dithering, with the symbols of Wei, Ramamurthy and Varshney (2017)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled
from sfumato.anonymization.shape import _point_tree as point_tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW = 16  # points near a start that are kept at hand while its cluster grows


@compiled
def k_member(
    points: Floats, room: Ints, weight: Floats, k: int, start: int, from_centroid: bool
) -> tuple[Ints, Ints, Ints]:
    """Greedy k-member clustering with distortion (4): pieces of points, their cluster, how many rows.

    points: (m, d), distinct or not; room: (m,), rows at each point; weight: (m,), survey weight of a row.
    A cluster starts at the point furthest from the last start (from_centroid: from the last centroid), the
    first one at the point furthest from point `start`. It takes the row that adds the least distortion
    W w / (W + w) |x - mean|^2 until it has k. Equal distances: the lowest point number. Rows left over
    (fewer than k) join the cluster where they add least, in order of their number.
    """
    m, d = points.shape
    left = room.sum()
    clusters = left // k
    space, live = room.copy(), m
    tree = point_tree.planted(points, weight, np.arange(m))
    stack, bound = np.empty(128, np.int64), np.empty(128)
    alike = weight.min() == weight.max()  # else the nearest is not who adds least
    found, cost, middle, radius = np.empty(_FEW, np.int64), np.empty(_FEW), np.empty(d), 0.0
    means, mass = np.zeros((clusters, d)), np.zeros(clusters)
    size = m + clusters * 2 + k
    of, cluster, taken = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    pieces = 0
    target = points[start].copy()
    for c in range(clusters):
        if 2 * live < len(tree.ids):  # boxes of what is gone hold up the search
            tree = point_tree.planted(points, weight, np.flatnonzero(space))
        point = point_tree.furthest(tree, target, stack, bound)
        target[:] = points[point]
        need, few = k, 0
        while need > 0:
            if need < k:
                point = -1
                if alike:
                    share = weight[0] / (mass[c] + weight[0])
                    point = _among(points, space, means[c], share, found[:few], middle, radius)
                    if point < 0 and need > 1:
                        few = point_tree.nearest_few(tree, means[c], found, cost, stack, bound)
                        middle[:] = means[c]
                        radius = math.sqrt(cost[few - 1]) if few == len(found) else np.inf
                        point = _among(points, space, means[c], share, found[:few], middle, radius)
                if point < 0:
                    point = point_tree.nearest(tree, means[c], mass[c], stack, bound)
            take = min(need, space[point])
            if pieces == len(of):
                of, cluster, taken = _longer(of), _longer(cluster), _longer(taken)
            of[pieces], cluster[pieces], taken[pieces] = point, c, take
            pieces += 1
            grown = mass[c] + take * weight[point]
            for j in range(d):
                means[c, j] += (points[point, j] - means[c, j]) * (take * weight[point] / grown)
            mass[c] = grown
            need -= take
            space[point] -= take
            if space[point] == 0:
                live -= 1
                point_tree.take(tree, point)
        if from_centroid:
            target[:] = means[c]
    for point in range(m):
        for _ in range(space[point]):
            best, least = 0, np.inf
            for c in range(clusters):
                gap = 0.0
                for j in range(d):
                    gap += (points[point, j] - means[c, j]) ** 2
                gap *= mass[c] * weight[point] / (mass[c] + weight[point])
                if gap < least:
                    best, least = c, gap
            if pieces == len(of):
                of, cluster, taken = _longer(of), _longer(cluster), _longer(taken)
            of[pieces], cluster[pieces], taken[pieces] = point, best, 1
            pieces += 1
            mass[best] += weight[point]
            for j in range(d):
                means[best, j] += (points[point, j] - means[best, j]) * (weight[point] / mass[best])
    return of[:pieces], cluster[:pieces], taken[:pieces]


@compiled
def _among(
    points: Floats, space: Ints, to: Floats, share: float, found: Ints, middle: Floats, radius: float
) -> int:
    """The point of a list that adds least, |x - to|^2 share, if no other can add so little; else -1.

    found: all points there were within the radius of `middle`. A point outside is no nearer than the radius
    less the way from the middle.
    """
    best, least = -1, np.inf
    for point in found:
        if space[point]:
            gap = 0.0
            for j in range(len(to)):
                side = points[point, j] - to[j]
                gap += side * side
            gap *= share
            if gap < least or (gap == least and point < best):
                best, least = point, gap
    way = 0.0
    for j in range(len(to)):
        way += (to[j] - middle[j]) ** 2
    return best if math.sqrt(least / share) < (radius - math.sqrt(way)) * (1.0 - 1e-9) else -1


@compiled
def distinct(points: Floats) -> tuple[Ints, Ints]:
    """(points,): the number of each among the distinct ones, in order of arrival; and where each arrived."""
    n, d = points.shape
    size = 8
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int64)
    bits = np.empty(n * d, np.float64)
    number, arrival = np.empty(n, np.int64), np.empty(n, np.int64)
    found = 0
    for i in range(n):
        for j in range(d):
            bits[i * d + j] = points[i, j] + 0.0  # minus zero is zero
    words = bits.view(np.uint64)
    for i in range(n):
        mixed = np.uint64(0)
        for j in range(d):
            mixed = (mixed ^ words[i * d + j]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed & np.uint64(size - 1))
        while slots[slot] >= 0:
            other = arrival[slots[slot]]
            j = 0
            while j < d and words[other * d + j] == words[i * d + j]:
                j += 1
            if j == d:
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot], arrival[found] = found, i
            found += 1
        number[i] = slots[slot]
    return number, arrival[:found].copy()


@compiled
def _longer(array: Ints) -> Ints:
    out = np.empty(2 * len(array), np.int64)
    out[: len(array)] = array
    return out


@compiled
def mixture_uniforms(
    x: Floats, first: Ints, line: Ints, mean: Floats, root: Floats, log_share: Floats, out: Floats
) -> None:
    """Eqs. (12) to (14): u_ij = sum over clusters of p(l | x^(j-1)) Phi(z_lj), in the log domain.

    x: (n, d) dithered rows; out: (n, d). The clusters as a tree: those alike in the law of x_1 .. x_j are one
    node of level j; these are the nodes first[j] to first[j + 1]. Of a node: line: (nodes, d), the nodes
    above it, by level; mean: (nodes,), of x_j; root: (nodes, d), row j of the lower Cholesky factor of
    Lambda_l; log_share: (nodes,), of n_l / n summed. z = root^-1 (x - mean), solved forwards, gives every
    conditional at once:
    mu_lj = mean_lj + Lambda_j,<j Lambda_<j,<j^-1 (x - mean)_<j, with a plus where the paper prints a minus.
    """
    n, d = x.shape
    nodes = len(mean)
    z, before, after = np.empty(nodes), np.empty(nodes), np.empty(nodes)  # log densities of x_<j, x_<=j
    scale, log_scale = np.empty(nodes), np.empty(nodes)
    for j in range(d):
        for node in range(first[j], first[j + 1]):
            scale[node], log_scale[node] = 1.0 / root[node, j], math.log(root[node, j])
    for i in range(n):
        for j in range(d):
            top = -np.inf
            for node in range(first[j], first[j + 1]):
                before[node] = log_share[node]
                if j > 0:
                    before[node] += after[line[node, j - 1]]
                top = max(top, before[node])
            total, u = 0.0, 0.0
            for node in range(first[j], first[j + 1]):
                gap = before[node] - top
                if gap <= -45.0:  # e^-45 is below what a sum can hold
                    after[node] = -np.inf
                    continue
                share = math.exp(gap)
                value = x[i, j] - mean[node]
                for s in range(j):
                    value -= root[node, s] * z[line[node, s]]
                value *= scale[node]
                z[node] = value
                total += share
                u += share * 0.5 * math.erfc(-value * 0.7071067811865476)
                after[node] = before[node] - log_share[node] - 0.5 * value * value - log_scale[node]
            out[i, j] = u / total


@compiled
def empirical_inverse(u: Floats, rows: NDArray[np.int64], cumulative: Floats, out: Ints) -> None:
    """Eq. (9): walk the conditional inverse of the empirical law, variable by variable.

    u: (n, d) in (0, 1]; rows: (m, d), the original's codes, sorted; cumulative: (m + 1,), their weights
    summed, from 0; out: (n,), the row of `rows` that was reached. Rows that agree so far lie together, so
    F^-1(u | prefix) is the value where the running weight first reaches u times that of the prefix.
    """
    m, d = rows.shape
    for i in range(len(u)):
        low, high = 0, m
        for j in range(d):
            aim = cumulative[low] + u[i, j] * (cumulative[high] - cumulative[low])
            at = _first(cumulative, aim, low, high)
            value = rows[at, j]
            left, right = low, at  # the first row with this value
            while left < right:
                middle = (left + right) // 2
                if rows[middle, j] < value:
                    left = middle + 1
                else:
                    right = middle
            low = left
            left, right = at, high  # one past the last
            while left < right:
                middle = (left + right) // 2
                if rows[middle, j] <= value:
                    left = middle + 1
                else:
                    right = middle
            high = left
        out[i] = low


@compiled
def _first(cumulative: Floats, aim: float, low: int, high: int) -> int:
    """The first row in [low, high) whose running weight reaches the aim; the last one if rounding misses."""
    left, right = low, high - 1
    while left < right:
        middle = (left + right) // 2
        if cumulative[middle + 1] >= aim:
            right = middle
        else:
            left = middle + 1
    return left
