"""The search for k^m-anonymity: codes climb their hierarchy until they are common, few are dropped.

Within each class of persons who look alike otherwise:

1. *Climb.* From the bottom up, a code is written as the first node above it that at least T persons of the
   class share among those not yet settled below. What is not settled under the root is dropped.
2. *Drop.* Every subset of up to m items of a person is counted; where fewer than k persons have it, the
   item that stands in most such subsets goes, until none is left. Dropping makes others rarer, so it is
   repeated to the end.
3. *T* is tried from large to small, and the one with the least loss stays: a small T keeps codes and drops
   many, a large T generalizes.

The loss of a code is the share of all codes that its node stands for (0 a code itself, 1 dropped). The
search is greedy and promises no optimum; what it claims is counted again by code of its own
(`release.code_sets`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.progress import report

Ints = NDArray[np.int64]
DROPPED = -1
_MOST_SUBSETS = 30_000_000
_MOST_OF_ONE = 1_500_000  # subsets of one person: who has more codes than that loses the rarest of them
_STEP = 1.6


@dataclass(frozen=True)
class Ladder:
    """How codes climb. nodes: (levels, codes) the node of each code on each level, the root last.

    loss: per node, 0 a code itself, 1 the root.
    """

    nodes: Ints
    loss: NDArray[np.float64]


@dataclass(frozen=True)
class CodeRecoding:
    """What each code of each person becomes. node: per (person, code) of the input, DROPPED where it goes.

    loss: the mean over all codes. thresholds: the T of each class. raised: the mean number of levels of
    the kept.
    """

    node: Ints
    loss: float
    dropped: int
    raised: float
    thresholds: dict[int, int]


def recode_sets(person: Ints, code: Ints, classes: Ints, ladder: Ladder, k: int, m: int) -> CodeRecoding:
    """person, code: each pair once. classes: per person. Every subset of up to m then has k persons."""
    node = np.full(len(code), DROPPED, np.int64)
    group = classes[person]
    order = np.argsort(group, kind="stable")
    edges = np.flatnonzero(np.diff(group[order], prepend=-2, append=-3))
    thresholds: dict[int, int] = {}
    for at in range(len(edges) - 1):
        report("generalizing codes", at, len(edges) - 1)
        rows = order[edges[at] : edges[at + 1]]
        size = int((classes == group[rows[0]]).sum())
        found, threshold = _one_class(person[rows], code[rows], ladder, k, m, size)
        node[rows] = found
        thresholds[int(group[rows[0]])] = threshold
    kept = node != DROPPED
    level = np.zeros(len(ladder.loss), np.int64)
    for height in range(len(ladder.nodes)):
        level[ladder.nodes[height]] = height
    return CodeRecoding(
        node,
        _loss(node, ladder) / max(1, len(node)),
        int((~kept).sum()),
        float(level[node[kept]].mean()) if kept.any() else 0.0,
        thresholds,
    )


def dropping_alone(person: Ints, code: Ints, classes: Ints, ladder: Ladder, k: int, m: int) -> float:
    """The share of codes that goes if none is generalized: what the search is held against."""
    node = ladder.nodes[0][code]
    lost = 0
    for group in np.unique(classes[person]):
        rows = np.flatnonzero(classes[person] == group)
        lost += int((_settled(person[rows], node[rows], ladder, k, m) == DROPPED).sum())
    return lost / max(1, len(code))


def _loss(node: Ints, ladder: Ladder) -> float:
    return float(np.where(node == DROPPED, 1.0, ladder.loss[node]).sum())


def _one_class(person: Ints, code: Ints, ladder: Ladder, k: int, m: int, size: int) -> tuple[Ints, int]:
    """The best of the thresholds tried, from the size of the class down to k."""
    best, least, chosen, worse = np.full(len(code), DROPPED, np.int64), float(len(code)), size, 0
    threshold = float(size)
    while worse < 2:
        climbed = _climb(person, code, ladder, max(k, int(threshold)))
        found = _settled(person, climbed, ladder, k, m)
        loss = _loss(found, ladder)
        if loss < least:
            best, least, chosen, worse = found, loss, max(k, int(threshold)), 0
        elif threshold < size / 4:
            worse += 1
        if threshold <= k:
            break
        threshold /= _STEP
    return best, chosen


def _climb(person: Ints, code: Ints, ladder: Ladder, threshold: int) -> Ints:
    """The node of each code: the lowest that enough persons share among the codes not settled below it."""
    node = np.full(len(code), DROPPED, np.int64)
    left = np.arange(len(code))
    for height in range(len(ladder.nodes) - 1):  # the root tells nothing: it is as good as dropped
        here = ladder.nodes[height][code[left]]
        pairs = np.unique(here * (person.max() + 1) + person[left])
        persons = np.bincount(pairs // (person.max() + 1), minlength=len(ladder.loss))
        enough = persons[here] >= threshold
        node[left[enough]] = here[enough]
        left = left[~enough]
        if not len(left):
            break
    return node


def _without_surplus(person: Ints, node: Ints, m: int) -> Ints:
    """Without the rarest nodes of who has too many to count the subsets: one person must not end a class."""
    out = node.copy()
    most = _most_items(m)
    live = np.flatnonzero(out != DROPPED)
    if not len(live) or np.bincount(person[live]).max() <= most:
        return out
    pairs, inverse = np.unique(np.stack([person[live], out[live]]), axis=1, return_inverse=True)
    owner, item = pairs
    shared = np.bincount(item)[item]
    order = np.lexsort((item, -shared, owner))
    start = np.flatnonzero(np.diff(owner[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
    surplus = np.zeros(len(owner), np.bool_)
    surplus[order[rank >= most]] = True
    out[live[surplus[inverse.reshape(-1)]]] = DROPPED
    return out


def _most_items(m: int) -> int:
    """The largest n with at most so many subsets of up to m."""
    n = m
    while sum(comb(n + 1, size) for size in range(1, m + 1)) <= _MOST_OF_ONE and n < _MOST_OF_ONE:
        n = max(n + 1, int(n * 1.05))
    while sum(comb(n, size) for size in range(1, m + 1)) > _MOST_OF_ONE:
        n -= 1
    return n


def _settled(person: Ints, node: Ints, ladder: Ladder, k: int, m: int) -> Ints:
    """The nodes without those in a subset of fewer than k persons; all dropped where that is too much."""
    from sfumato.anonymization import _set_kernels as kernels

    out = _without_surplus(person, node, m)
    while True:
        live = np.flatnonzero(out != DROPPED)
        if not len(live):
            return out
        labels, item = np.unique(out[live], return_inverse=True)
        base = len(labels) + 1
        pairs, inverse = np.unique(person[live] * base + item + 1, return_inverse=True)
        items, owner = pairs % base, pairs // base
        start = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner)).astype(np.int64)
        total = kernels.subsets(start, m)
        if total > _MOST_SUBSETS or float(base) ** m >= 2.0**62:
            return np.full_like(node, DROPPED)
        bits = max(4, int(np.ceil(np.log2(2 * total + 1))))
        table, counts = np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int32)
        kernels.support(start, items, m, base, table, counts, bits)
        price = 1.0 - ladder.loss[labels[items - 1]] + 1e-3
        kept = np.ones(len(items), np.bool_)
        if not kernels.take_away(start, items, m, base, table, counts, bits, k, price, kept):
            return out
        out[live[~kept[inverse]]] = DROPPED
