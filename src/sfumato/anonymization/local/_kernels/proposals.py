"""New clusterings of pools that share no class, so that all can be judged at once and each taken or left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._compilation import compiled
from sfumato.anonymization.local._kernels.boxes import below, draw
from sfumato.anonymization.local._kernels.clusters import CLASSES, TINY, cluster, new_pool
from sfumato.anonymization.local._kernels.pools import PoolState, gather
from sfumato.anonymization.local.forest import HierarchyForest


@compiled
def propose(
    f: HierarchyForest, x: NDArray[np.int32], s: PoolState, near: NDArray[np.int32], k: int, most: int,
    tries: int,
    heat: float, rng: NDArray[np.uint64], label: NDArray[np.int64], pool_of: NDArray[np.int64],
    old: NDArray[np.float64], new: NDArray[np.float64],
) -> int:  # fmt: skip
    """Up to len(old) pools found in `tries`; how many.

    label: (combinations,), becomes the class each would be in; new classes get numbers from len(s.size) up.
    pool_of: (combinations,), which pool a combination is in, -1: none. old, new: (pools,), summed losses.
    Combinations stay whole: what is sensitive in a part of one is not known. Classes are asked to be at
    least as large as the smallest or the mean of the pool, as that was enough so far, or of k rows.
    """
    p = new_pool(x.shape[1], k)
    seen = np.full(len(x), -1, np.int32)
    chosen = np.empty(CLASSES, np.int64)
    taken = np.zeros(len(s.size), np.bool_)
    pools = 0
    fresh = len(s.size)
    for _ in range(tries):
        if pools == len(old):
            break
        classes, m, total = gather(s, near, p, chosen, 2 + below(rng, most - 1), seen, rng)
        before = 0.0
        smallest = total
        clash = classes < 2 and total < 2 * k
        for r in range(classes):
            c = chosen[r]
            clash = clash or taken[c]
            before += s.size[c] * s.loss[c]
            smallest = min(smallest, s.size[c])
        if clash or before < TINY:
            continue
        way = below(rng, 3) if classes > 1 else 1
        size = max(k, smallest)
        if way == 1:
            size = max(k, (k + smallest) // 2)
        elif way == 2:
            size = max(k, (smallest + total // classes) // 2)
        groups = cluster(f, x, p, m, total, size, True, rng)
        after = 0.0
        for g in range(groups):
            after += p.size[g] * p.loss[g]
        if after > before and draw(rng) / 4294967296.0 >= np.exp((before - after) / heat):
            continue
        if after > before - TINY and after < before + TINY and below(rng, 4):
            continue
        for r in range(classes):
            taken[chosen[r]] = True
        for i in range(m):
            for g in range(groups):
                if p.part[g, i]:
                    label[p.who[i]] = fresh + g
                    pool_of[p.who[i]] = pools
        fresh += groups
        old[pools] = before
        new[pools] = after
        pools += 1
    return pools
