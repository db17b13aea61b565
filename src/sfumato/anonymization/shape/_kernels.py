"""Inner loops of clustering and dithering, with the symbols of Wei, Ramamurthy and Varshney (2017)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    x = np.empty((d, m))  # columns of the points still there, packed to the left
    for j in range(d):
        for i in range(m):
            x[j, i] = points[i, j]
    w, space, ids = weight.copy(), room.copy(), np.arange(m)
    live = m
    distance = np.empty(m)
    means, mass = np.zeros((clusters, d)), np.zeros(clusters)
    size = m + clusters * 2 + k
    of, cluster, taken = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    pieces = 0
    target = points[start].copy()
    for c in range(clusters):
        place = _furthest(x, target, live, ids, distance)
        for j in range(d):
            target[j] = x[j, place]
        need = k
        while need > 0:
            if need < k:
                place = _nearest(x, means[c], mass[c], w, live, ids, distance)
            take = min(need, space[place])
            if pieces == len(of):
                of, cluster, taken = _longer(of), _longer(cluster), _longer(taken)
            of[pieces], cluster[pieces], taken[pieces] = ids[place], c, take
            pieces += 1
            grown = mass[c] + take * w[place]
            for j in range(d):
                means[c, j] += (x[j, place] - means[c, j]) * (take * w[place] / grown)
            mass[c] = grown
            need -= take
            space[place] -= take
            if space[place] == 0:
                live -= 1
                for j in range(d):
                    x[j, place] = x[j, live]
                w[place], space[place], ids[place] = w[live], space[live], ids[live]
        if from_centroid:
            target[:] = means[c]
    rest = np.sort(ids[:live])
    for point in rest:
        spare = 0
        for i in range(live):
            if ids[i] == point:
                spare = space[i]
        for _ in range(spare):
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
def _longer(array: Ints) -> Ints:
    out = np.empty(2 * len(array), np.int64)
    out[: len(array)] = array
    return out


@compiled
def _distances(x: Floats, to: Floats, live: int, distance: Floats) -> None:
    """Squared distances of the first `live` columns of x to a point. Column by column: it vectorizes."""
    distance[:live] = 0.0
    for j in range(len(to)):
        column, value = x[j], to[j]
        for i in range(live):
            gap = column[i] - value
            distance[i] += gap * gap


@compiled
def _furthest(x: Floats, to: Floats, live: int, ids: Ints, distance: Floats) -> int:
    _distances(x, to, live, distance)
    best, most = 0, -1.0
    for i in range(live):
        if distance[i] > most or (distance[i] == most and ids[i] < ids[best]):
            best, most = i, distance[i]
    return best


@compiled
def _nearest(x: Floats, to: Floats, mass: float, w: Floats, live: int, ids: Ints, distance: Floats) -> int:
    _distances(x, to, live, distance)
    best, least = 0, np.inf
    for i in range(live):
        added = distance[i] * (w[i] / (mass + w[i]))
        if added < least or (added == least and ids[i] < ids[best]):
            best, least = i, added
    return best


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
