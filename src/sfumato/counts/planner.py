"""Ask for all tables at once: cover the wanted sets of columns by few larger joints.

Each joint costs one pass of the rows, nearly whatever its width, as long as its cells stay in the
processor's cache; every wanted table is then a marginal of a joint, and marginals are cheap. All 78
pairs of 13 columns need 13 joints of four columns if the levels are few (the lines of a projective
plane), so finding a good cover is worth some thought, and the greedy one below comes close.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

CACHE_CELLS = 2**16  # two banks of 32-bit counters in half a megabyte: well inside a second-level cache

Set = frozenset[str]


def cover(
    sets: Sequence[Sequence[str]], sizes: Mapping[str, int], limit: int = CACHE_CELLS
) -> list[tuple[str, ...]]:
    """Joints such that every wanted set lies inside one of them.

    A joint grows beyond a wanted set only while it has at most `limit` cells; a wanted set that is
    larger by itself is its own joint. Long columns come last: marginals then sum over long runs.
    """
    columns = sorted({c for s in sets for c in s})
    asked = frozenset(frozenset(s) for s in sets)
    return list(_covered(asked, tuple((c, sizes[c]) for c in columns), limit))


@lru_cache(maxsize=16)  # the two files of an assessment are asked for the same tables
def _covered(
    sets: frozenset[Set], sized: tuple[tuple[str, int], ...], limit: int
) -> tuple[tuple[str, ...], ...]:
    sizes = dict(sized)
    wanted = _maximal(list(sets))
    largest = sorted(wanted, key=lambda s: (_cells(s, sizes), sorted(s)), reverse=True)
    open_ = dict.fromkeys(largest)
    holding: dict[str, set[Set]] = {}  # open sets by column: of hundreds of columns, few hold any one
    for s in open_:
        for column in s:
            holding.setdefault(column, set()).add(s)
    joints: list[Set] = []
    while open_:
        first = next(iter(open_))
        joint = _grown(first, holding, sizes, limit)
        joints.append(joint)
        for s in [first, *(s for s in _near(joint, holding) if s <= joint)]:
            open_.pop(s, None)
            for column in s:
                holding[column].discard(s)
    return tuple(tuple(sorted(j, key=lambda c: (sizes[c], c))) for j in _maximal(joints))


def _near(joint: Set, holding: Mapping[str, set[Set]]) -> set[Set]:
    """The open sets that share a column with a joint."""
    return {s for column in joint for s in holding.get(column, ())}


def _grown(joint: Set, holding: Mapping[str, set[Set]], sizes: Mapping[str, int], limit: int) -> Set:
    """Add the column that finishes the most open sets per factor of cells, while it fits."""
    single = [s for column in holding if (s := frozenset([column])) in holding[column]]
    while True:
        lacking = [s - joint for s in (*_near(joint, holding), *single)]
        gained = Counter(next(iter(rest)) for rest in lacking if len(rest) == 1)
        best: tuple[float, str] | None = None
        for column in sorted(gained):
            if _cells(joint | {column}, sizes) > limit:
                continue
            score = gained[column] / math.log2(1 + sizes[column])
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
    longer: list[Set] = []  # none lies in another of its own length
    for s in unique:
        if kept and len(kept[-1]) > len(s):
            longer = kept.copy()
        if not any(s <= k for k in longer):
            kept.append(s)
    return kept
