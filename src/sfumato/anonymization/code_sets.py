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

from collections.abc import Iterator
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


@dataclass(frozen=True)
class Holders:
    """Who has the sets that are recoded, where equal sets are held once or somebody has several.

    n: (sets,), how many rows have each. whose: ((set, person) pairs), sorted by person, where persons are
    counted; None where rows are.
    """

    n: Ints
    whose: tuple[Ints, Ints] | None = None

    @classmethod
    def one_each(cls, sets: int) -> Holders:
        """Every set is one person's."""
        return cls(np.ones(sets, np.int64))

    def part(self, place: Ints, sets: Ints) -> Holders:
        """Of some sets. place: (all sets,), their new numbers; -1: not among them."""
        if self.whose is None:
            return Holders(self.n[sets])
        of, who = self.whose
        kept = place[of] >= 0
        return Holders(self.n[sets], (place[of[kept]], who[kept]))

    def count(self, node: Ints, of: Ints, nodes: int) -> Ints:
        """(nodes,): how many have a set with each node. node, of: pairs of a node and a set, each once."""
        if self.whose is None:
            return np.bincount(node, self.n[of], nodes).astype(np.int64)
        sets, who = self.whose
        order = np.argsort(sets, kind="stable")
        start = np.searchsorted(sets[order], np.arange(len(self.n) + 1))
        lengths = np.diff(start)[of]
        at = np.repeat(start[of] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        base = int(who.max(initial=0)) + 1
        pairs = np.unique(np.repeat(node, lengths) * base + who[order[at]])
        return np.bincount(pairs // base, minlength=nodes)

    @property
    def visits(self) -> tuple[Ints, Ints, Ints]:
        """As the kernel wants them: which sets are looked at, whose they are, how often they count."""
        if self.whose is None:
            return np.arange(len(self.n)), np.full(len(self.n), -1, np.int64), self.n
        return (*self.whose, np.ones(len(self.whose[0]), np.int64))

    @property
    def total(self) -> int:
        """How many there are in all."""
        return int(self.n.sum()) if self.whose is None else len(np.unique(self.whose[1]))


def recode_sets(
    person: Ints, code: Ints, classes: Ints, ladder: Ladder, k: int, m: int, holders: Holders | None = None
) -> CodeRecoding:
    """person, code: each pair once. classes: per person. Every subset of up to m then has k persons.

    holders: where a "person" is a set of codes that several rows or persons have.
    """
    node = np.full(len(code), DROPPED, np.int64)
    thresholds: dict[int, int] = {}
    for rows, group, own in _by_class(person, classes, holders):
        found, threshold = _one_class(own.person, code[rows], ladder, k, m, own.holders)
        node[rows] = found
        thresholds[group] = threshold
    kept = node != DROPPED
    level = np.zeros(len(ladder.loss), np.int64)
    for height in range(len(ladder.nodes)):
        level[ladder.nodes[height]] = height
    weight = np.ones(len(node)) if holders is None else holders.n[person].astype(float)
    return CodeRecoding(
        node,
        float((_losses(node, ladder) * weight).sum() / max(1, weight.sum())),
        int(weight[~kept].sum()),
        float(np.average(level[node[kept]], weights=weight[kept])) if kept.any() else 0.0,
        thresholds,
    )


def dropping_alone(
    person: Ints, code: Ints, classes: Ints, ladder: Ladder, k: int, m: int, holders: Holders | None = None
) -> float:
    """The share of codes that goes if none is generalized: what the search is held against."""
    node = ladder.nodes[0][code]
    lost = np.zeros(len(code), np.bool_)
    for rows, _, own in _by_class(person, classes, holders):
        lost[rows] = _settled(own.person, node[rows], ladder, k, m, own.holders) == DROPPED
    weight = np.ones(len(node)) if holders is None else holders.n[person].astype(float)
    return float(weight[lost].sum() / max(1, weight.sum()))


@dataclass(frozen=True)
class _Group:
    """The sets of a class, numbered from 0. person: per code."""

    person: Ints
    holders: Holders


def _by_class(
    person: Ints, classes: Ints, holders: Holders | None
) -> Iterator[tuple[NDArray[np.int64], int, _Group]]:
    """Class after class: its codes, its number, its sets."""
    holders = holders or Holders.one_each(len(classes))
    sets = np.argsort(classes, kind="stable")
    group = classes[person]
    order = np.argsort(group, kind="stable")
    edges = np.flatnonzero(np.diff(group[order], prepend=-2, append=-3))
    place = np.full(len(classes), -1, np.int64)
    whose = holders.whose
    ends = np.empty(0, np.int64)
    if whose is not None:  # by class, and by person in it, so that each class finds its own in one piece
        by = np.lexsort((whose[1], classes[whose[0]]))
        whose = whose[0][by], whose[1][by]
        ends = classes[whose[0]]
    for at in range(len(edges) - 1):
        report("generalizing codes", at, len(edges) - 1)
        rows = order[edges[at] : edges[at + 1]]
        number = int(group[rows[0]])
        low, high = np.searchsorted(classes, [number, number + 1], sorter=sets)
        mine = np.sort(sets[low:high])
        place[mine] = np.arange(len(mine))
        own = holders
        if whose is not None:
            part = slice(*np.searchsorted(ends, [number, number + 1]))
            own = Holders(holders.n, (whose[0][part], whose[1][part]))
        yield rows, number, _Group(place[person[rows]], own.part(place, mine))
        place[mine] = -1


def _losses(node: Ints, ladder: Ladder) -> NDArray[np.float64]:
    return np.where(node == DROPPED, 1.0, ladder.loss[node])


def _one_class(
    person: Ints, code: Ints, ladder: Ladder, k: int, m: int, holders: Holders
) -> tuple[Ints, int]:
    """The best of the thresholds tried, from the size of the class down to k."""
    size, weight = holders.total, holders.n[person]
    best, least = np.full(len(code), DROPPED, np.int64), float(weight.sum())
    chosen, worse, threshold = size, 0, float(size)
    while worse < 2:
        climbed = _climb(person, code, ladder, max(k, int(threshold)), holders)
        found = _settled(person, climbed, ladder, k, m, holders)
        loss = float((_losses(found, ladder) * weight).sum())
        if loss < least:
            best, least, chosen, worse = found, loss, max(k, int(threshold)), 0
        elif threshold < size / 4:
            worse += 1
        if threshold <= k:
            break
        threshold /= _STEP
    return best, chosen


def _climb(person: Ints, code: Ints, ladder: Ladder, threshold: int, holders: Holders) -> Ints:
    """The node of each code: the lowest that enough persons share among the codes not settled below it."""
    node = np.full(len(code), DROPPED, np.int64)
    left = np.arange(len(code))
    sets = len(holders.n)
    for height in range(len(ladder.nodes) - 1):  # the root tells nothing: it is as good as dropped
        names, here = np.unique(ladder.nodes[height][code[left]], return_inverse=True)
        pairs = np.unique(here * sets + person[left])
        enough = holders.count(pairs // sets, pairs % sets, len(names))[here] >= threshold
        node[left[enough]] = names[here[enough]]
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


def _settled(person: Ints, node: Ints, ladder: Ladder, k: int, m: int, holders: Holders) -> Ints:
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
        place = np.full(len(holders.n), -1, np.int64)
        place[owner[start[:-1]]] = np.arange(len(start) - 1)
        visit, who, weight = holders.part(place, owner[start[:-1]]).visits
        last = np.full(1 if holders.whose is None else len(table), -1, np.int64)
        kernels.support(start, items, m, base, table, counts, bits, visit, who, weight, last)
        price = 1.0 - ladder.loss[labels[items - 1]] + 1e-3
        kept = np.ones(len(items), np.bool_)
        if not kernels.take_away(start, items, m, base, table, counts, bits, k, price, kept):
            return out
        out[live[~kept[inverse]]] = DROPPED
