"""Ask for all tables at once: cover the wanted sets of columns by few larger joints.

Each joint costs one pass of the rows, nearly whatever its width, as long as its cells stay in the
processor's cache; every wanted table is then a marginal of a joint, and marginals are cheap. All 78
pairs of 13 columns need 13 joints of four columns if the levels are few (the lines of a projective
plane), so finding a good cover is worth some thought, and the greedy one below comes close.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

CACHE_CELLS = 2**16  # two banks of 32-bit counters in half a megabyte: well inside a second-level cache

Set = frozenset[str]


def cover(
    sets: Sequence[Sequence[str]], sizes: Mapping[str, int], limit: int = CACHE_CELLS
) -> list[tuple[str, ...]]:
    """Joints such that every wanted set lies inside one of them.

    A joint grows beyond a wanted set only while it has at most `limit` cells; a wanted set that is
    larger by itself is its own joint. Long columns come last: marginals then sum over long runs.
    """
    open_ = _maximal([frozenset(s) for s in sets])
    joints: list[Set] = []
    while open_:
        joint = max(open_, key=lambda s: (_cells(s, sizes), sorted(s)))
        joint = _grown(joint, open_, sizes, limit)
        joints.append(joint)
        open_ = [s for s in open_ if not s <= joint]
    return [tuple(sorted(j, key=lambda c: (sizes[c], c))) for j in _maximal(joints)]


def _grown(joint: Set, open_: Sequence[Set], sizes: Mapping[str, int], limit: int) -> Set:
    """Add the column that finishes the most open sets per factor of cells, while it fits."""
    columns = sorted({c for s in open_ for c in s})
    while True:
        best: tuple[float, str] | None = None
        for column in columns:
            if column in joint or _cells(joint | {column}, sizes) > limit:
                continue
            bigger = joint | {column}
            gained = sum(1 for s in open_ if s <= bigger and not s <= joint)
            if not gained:
                continue
            score = gained / math.log2(1 + sizes[column])
            if best is None or score > best[0]:
                best = (score, column)
        if best is None:
            return joint
        joint = joint | {best[1]}


def _cells(columns: Set, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[c] for c in columns)


def _maximal(sets: Sequence[Set]) -> list[Set]:
    """Without those contained in another, in a fixed order."""
    unique = sorted(set(sets), key=lambda s: (-len(s), sorted(s)))
    kept: list[Set] = []
    for s in unique:
        if not any(s <= k for k in kept):
            kept.append(s)
    return kept
