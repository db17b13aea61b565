"""The released person who is most like a whole sequence. Typed, free of input and output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@compiled
def nearest(
    start: Ints,
    things: Ints,
    node_start: Ints,
    nodes: Ints,
    post_start: Ints,
    posts: Ints,
    weight: Floats,
    sizes: Ints,
    group: Ints,
    released_group: Ints,
    fits: NDArray[np.bool_],
    cost: float,
    best: Floats,
    shared: Ints,
) -> None:
    """best: per person the largest s(i, r) = sum of w over things both have - cost (things only one has).

    start, things: the things of person i are things[start[i] : start[i + 1]].  nodes: which released things
    stand for each.  posts: the released persons who have a released thing.  weight: of a released thing, w.
    sizes: things of each released person.  shared: how many things both have.
    """
    many = len(sizes)
    sums = np.zeros(many)
    both = np.zeros(many, np.int64)
    seen = np.full(many, -1, np.int64)
    touched = np.empty(many, np.int64)
    stamp = 0
    for i in range(len(start) - 1):
        n = 0
        for t in range(start[i], start[i + 1]):
            thing = things[t]
            stamp += 1
            for at in range(node_start[thing], node_start[thing + 1]):
                node = nodes[at]
                for p in range(post_start[node], post_start[node + 1]):
                    r = posts[p]
                    if seen[r] == stamp:
                        continue
                    seen[r] = stamp
                    if both[r] == 0:
                        touched[n] = r
                        n += 1
                    both[r] += 1
                    sums[r] += weight[node]
        own = start[i + 1] - start[i]
        top, most = -np.inf, 0
        for j in range(n):
            r = touched[j]
            if fits[group[i], released_group[r]]:
                value = sums[r] - cost * (own - both[r]) - cost * max(0, sizes[r] - both[r])
                if value > top:
                    top, most = value, both[r]
            sums[r] = 0.0
            both[r] = 0
        best[i], shared[i] = top, most
