"""Subsets of sets: how many persons share up to m items, and which to take away so that none is too rare.

Persons are laid end to end: items[start[p] : start[p + 1]] are the items of person p, different and
rising, from 1 up. A subset is known by its number in base `base` (items + 1), which no other subset of any
size has.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@numba.njit(cache=True)
def subsets(start: Ints, m: int) -> int:
    """How many subsets of up to m items all persons have together."""
    total = 0
    for p in range(len(start) - 1):
        n = start[p + 1] - start[p]
        c = 1
        for i in range(min(m, n)):
            c = c * (n - i) // (i + 1)
            total += c
    return total


@numba.njit(cache=True)
def _slot(key: int, table: Ints, bits: int) -> int:
    """The place of a number in a table of 2^bits places: where it stands, or where it would."""
    at: int = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(64 - bits))  # type: ignore[assignment]
    mask = len(table) - 1
    while table[at] != key and table[at] != 0:
        at = (at + 1) & mask
    return at


@numba.njit(cache=True)
def _next(place: Ints, size: int, n: int) -> bool:
    """The next `size` of n places, in order; whether there is one."""
    i = size - 1
    while i >= 0 and place[i] == n - size + i:
        i -= 1
    if i < 0:
        return False
    place[i] += 1
    for j in range(i + 1, size):
        place[j] = place[j - 1] + 1
    return True


@numba.njit(cache=True)
def support(
    start: Ints, items: Ints, m: int, base: int, table: Ints, counts: Counts, bits: int,
    visit: Ints, who: Ints, weight: Ints, last: Ints,
) -> None:  # fmt: skip
    """counts: how many persons have each subset of up to m items.  table: zeros, 2^bits places.

    visit: which sets are looked at, in this order. who: whose they are, rising, so that somebody with several
    sets counts once (last: -1s, 2^bits places); -1: nobody is named, and the set counts weight times.
    """
    place = np.empty(8, np.int64)
    for v in range(len(visit)):
        p = visit[v]
        first, n = start[p], start[p + 1] - start[p]
        for size in range(1, min(m, n) + 1):
            for i in range(size):
                place[i] = i
            more = True
            while more:
                key = 0
                for i in range(size):
                    key = key * base + items[first + place[i]]
                at = _slot(key, table, bits)
                table[at] = key
                if who[v] < 0:
                    counts[at] += weight[v]
                elif last[at] != who[v]:
                    counts[at] += 1
                    last[at] = who[v]
                more = _next(place, size, n)


@numba.njit(cache=True)
def take_away(
    start: Ints, items: Ints, m: int, base: int, table: Ints, counts: Counts, bits: int, k: int,
    price: NDArray[np.float64], kept: NDArray[np.bool_],
) -> int:  # fmt: skip
    """Per person, items are taken away until none of the rest stands in a subset of fewer than k persons.

    Greedy: the item that stands in most rare subsets for its price goes first.  price, kept: per item of each
    person. Gives back how many were taken.
    """
    taken = 0
    place = np.empty(8, np.int64)
    longest = 0
    for p in range(len(start) - 1):
        longest = max(longest, start[p + 1] - start[p])
    alive = np.empty(longest, np.int64)
    blame = np.empty(longest, np.int64)
    for p in range(len(start) - 1):
        first = start[p]
        n = 0
        for i in range(start[p + 1] - first):
            if kept[first + i]:
                alive[n] = i
                n += 1
        while n > 0:
            rare = False
            blame[:n] = 0
            for size in range(1, min(m, n) + 1):
                for i in range(size):
                    place[i] = i
                more = True
                while more:
                    key = 0
                    for i in range(size):
                        key = key * base + items[first + alive[place[i]]]
                    if counts[_slot(key, table, bits)] < k:
                        rare = True
                        for i in range(size):
                            blame[place[i]] += 1
                    more = _next(place, size, n)
            if not rare:
                break
            worst, most = 0, -1.0
            for i in range(n):
                value = blame[i] / price[first + alive[i]]
                if value > most:
                    worst, most = i, value
            kept[first + alive[worst]] = False
            taken += 1
            for i in range(worst, n - 1):
                alive[i] = alive[i + 1]
            n -= 1
    return taken
