"""What is published of a grown tree: where each code leads, and what each node says. All post-processing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.prediction.private_tree import PrivateTree
from sfumato.prediction.shrinkage import drawn

Floats = NDArray[np.float64]
Nodes = tuple[tuple[int, tuple[int, ...]], ...]


def linked(tree: PrivateTree, sizes: Sequence[int]) -> Nodes:
    """Of each inner node its feature, and for each code of it the node that comes next."""
    nodes = []
    for i, split in enumerate(tree.splits):
        left = set(split.left)
        following = tuple(2 * i + (1 if code in left else 2) for code in range(sizes[split.feature]))
        nodes.append((split.feature, following))
    return tuple(nodes)


def node_values(tree: PrivateTree, base: float) -> Floats:
    """The log-odds that each node adds to the base, root first.

    A node's rate is that of its noisy leaves, drawn towards its parent's, the more the less its rows stand
    out from the noise.
    """
    overall = 1 / (1 + math.exp(-base))
    counts, scale = tree.leaves.values, tree.leaves.scale
    rates = np.full(2 * len(tree.splits) + 1, overall)
    for i in range(1, len(rates)):
        level = (i + 1).bit_length() - 1
        span = len(counts) >> level
        first = (i + 1 - 2**level) * span
        rates[i] = drawn(counts[first : first + span], rates[(i - 1) // 2], scale)
    odds: Floats = np.log(rates / (1 - rates)) - base
    return odds


def ordered(tree: PrivateTree, values: Floats, directions: Sequence[str | None]) -> Floats:
    """Values that never fall along a feature that should rise (or the other way round).

    Two rows that differ in one such feature part at a split on it. There, all that is left of the split is
    kept below (above) the middle of its two sides, and all that is right above (below) it. Missing, which is
    right of every split, is kept so too.
    """
    if not any(directions):
        return values
    out = values.copy()
    low = np.full(len(values), -math.inf)
    high = np.full(len(values), math.inf)
    for i in range(len(values)):
        out[i] = min(max(out[i], low[i]), high[i])
        if i >= len(tree.splits):
            continue
        left, right = 2 * i + 1, 2 * i + 2
        low[[left, right]], high[[left, right]] = low[i], high[i]
        direction = directions[tree.splits[i].feature]
        if direction:
            middle = min(max((values[left] + values[right]) / 2, low[i]), high[i])
            below, above = (left, right) if direction == "increasing" else (right, left)
            high[below] = min(high[below], middle)
            low[above] = max(low[above], middle)
    return out
