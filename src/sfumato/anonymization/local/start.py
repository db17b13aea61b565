"""The start of a local search: small classes merge, the cheapest first, until the criterion is satisfied."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.local.forest import HierarchyForest
from sfumato.anonymization.local.pace import Pace
from sfumato.anonymization.local.query import ClassQuery, Judge
from sfumato.progress import report

BLOCK = 500  # combinations of a section that merge among themselves first: a search in few is quicker
LEAST = 50  # times k rows that they have at least, or so
STEPS = 50_000  # mergers between two reports
CHOICES = 8  # near classes that are tried where two have to be put together to be judged
MORE = 64  # where two can be judged by adding up; twice as many in each round
PAIRS = 2_000_000  # judged at once
SHARE = 0.4  # of the seconds for improving, after which no class is widened that need not be
Labels = NDArray[np.int64]


def agglomerated(
    f: HierarchyForest, leaves: NDArray[np.int32], n: NDArray[np.int64], k: int, pace: Pace, *, section: bool
) -> Labels:
    """(combinations,): the class of each; every class has k rows, if there are so many.

    In a section of a large table those merge first that lie in one part of the tree. Stopped by Ctrl-C or a
    time limit it puts the small classes that remain together as they lie in the tree.
    """
    from sfumato.anonymization.local._kernels import agglomeration as kernels

    x, size, into = leaves.copy(), n.copy(), np.arange(len(n))
    done = 0
    try:
        for part in parts_of(f, leaves, n, max(BLOCK, LEAST * k)) if section else ():
            if pace.is_late():
                break
            if len(part) == len(n) or size[part].sum() < k:
                continue
            own, rows, among = x[part], size[part], np.arange(len(part))
            kernels.agglomerate(f, own, rows, among, k, len(part))
            x[part], size[part], into[part] = own, rows, part[among]
            report("merging small classes", done := done + len(part), len(n))
        while not pace.is_late():
            live = into == np.arange(len(n))
            if (size[live] >= k).all() or kernels.agglomerate(f, x, size, into, k, STEPS) < STEPS:
                return _numbered(into)
            report("merging small classes", int(len(n) - live.sum()), len(n))
    except KeyboardInterrupt:
        pace.interrupted = True
    live = np.flatnonzero(into == np.arange(len(n)))
    small = live[size[live] < k]
    if small.size:
        rest = live if size[small].sum() < k else small
        for part in _in_order(f, x, size, rest, k):
            into[part] = part[0]
    return _numbered(into)


def _in_order(
    f: HierarchyForest, x: NDArray[np.int32], size: NDArray[np.int64], items: Labels, k: int
) -> list[Labels]:
    """Items in the order of a tree, cut as soon as there are k rows; the last have what is left as well."""
    from sfumato.anonymization.local._kernels import neighbours as kernels

    order = kernels.planted_tree(f, x, size, items, 2).order
    rows = np.cumsum(size[order])
    ends = [0]
    while ends[-1] < len(order):
        before = rows[ends[-1] - 1] if ends[-1] else 0
        ends.append(int(np.searchsorted(rows, before + k)) + 1)
    if rows[-1] - (rows[ends[-2] - 1] if ends[-2] else 0) < k and len(ends) > 2:
        del ends[-2]
    ends[-1] = len(order)
    return [order[a:b] for a, b in pairwise(ends)]


def parts_of(f: HierarchyForest, leaves: NDArray[np.int32], n: NDArray[np.int64], most: int) -> list[Labels]:
    """The combinations in parts of about so many at most: what lies together in the tree."""
    from sfumato.anonymization.local._kernels import neighbours as kernels

    if len(n) <= most:
        return [np.arange(len(n))]
    tree = kernels.planted_tree(f, leaves, n, np.arange(len(n)), most)
    ends = np.sort(tree.hi[tree.children == 0])
    cuts = [0]
    for end, following in zip(ends, [*ends[1:], np.iinfo(np.int64).max], strict=True):
        if following - cuts[-1] > most:
            cuts.append(int(end))
    return [np.sort(tree.order[a:b]) for a, b in pairwise(cuts)]


def gathered(parts: list[Labels], n: NDArray[np.int64], k: int) -> list[Labels]:
    """The parts, those with fewer than k rows together with the ones before them."""
    found: list[Labels] = []
    for part in parts:
        if found and (n[part].sum() < k or n[found[-1]].sum() < k):
            found[-1] = np.sort(np.concatenate([found[-1], part]))
        else:
            found.append(part)
    return found


def _roots(into: Labels) -> Labels:
    while not (into[into] == into).all():
        into = into[into]
    return into


def _numbered(into: Labels) -> Labels:
    return np.unique(_roots(into), return_inverse=True)[1].reshape(-1).astype(np.int64)


def boxes(f: HierarchyForest, leaves: NDArray[np.int32], label: Labels) -> NDArray[np.int32]:
    """(classes, columns): the least upper bound of each class."""
    from sfumato.anonymization.local._kernels import boxes as kernels

    return kernels.boxes(f, np.ascontiguousarray(leaves), label, int(label.max(initial=-1)) + 1)


def losses(f: HierarchyForest, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
    """(classes,): what a row of each loses."""
    q = nodes.shape[1]
    found: NDArray[np.float64] = f.loss[f.base[:q][None, :] + nodes].sum(axis=1)
    return found


def widened(
    f: HierarchyForest,
    leaves: NDArray[np.int32],
    n: NDArray[np.int64],
    label: Labels,
    ask: ClassQuery,
    pace: Pace,
    found: Labels | None = None,
) -> Labels:
    """Classes that do not satisfy merge with the nearest that makes them satisfy, until all do.

    One that finds none near may wait and look farther in the next round, or merge with the nearest there is.
    For t-closeness it should wait: what is near lacks the same, and merging makes it wider and no better. For
    different values it should not: it takes few to satisfy many. Both are tried, and the better is taken.
    Ends at once on Ctrl-C or when time is up, with the unsatisfied in one class.

    found: classes that all satisfy, from elsewhere: they are given back unless less is lost.
    """
    least = np.inf if found is None else _loss(f, leaves, n, found)
    try:
        for patient in (True, False):
            if pace.interrupted or (not patient and ask.judge(label) is None):
                break
            over = pace.is_late if found is None else partial(pace.start_is_over, SHARE)
            made = _widened(f, leaves, n, label, ask, over, patient=patient, most=least)
            if made is None:
                break
            if (lost := _loss(f, leaves, n, made)) < least:
                found, least = made, lost
    except KeyboardInterrupt:
        pace.interrupted = True
    if found is not None:
        return found
    bad = ~ask(label, boxes(f, leaves, label))
    label = np.unique(np.where(bad[label], -1, label), return_inverse=True)[1].reshape(-1).astype(np.int64)
    return label if ask(label, boxes(f, leaves, label)).all() else np.zeros(len(label), np.int64)


def _loss(f: HierarchyForest, leaves: NDArray[np.int32], n: NDArray[np.int64], label: Labels) -> float:
    """What all rows lose."""
    return float((n * losses(f, boxes(f, leaves, label))[label]).sum())


def _widened(
    f: HierarchyForest,
    leaves: NDArray[np.int32],
    n: NDArray[np.int64],
    label: Labels,
    ask: ClassQuery,
    over: Callable[[], bool],
    *,
    patient: bool,
    most: float,
) -> Labels | None:
    """Ends when all satisfy, with one class, or unfinished when more than `most` is lost: it never falls.

    None: time was up before.
    """
    few = MORE if patient else CHOICES
    while True:
        nodes = boxes(f, leaves, label)
        bad = np.flatnonzero(~ask(label, nodes))
        report("widening classes", len(nodes) - len(bad), len(nodes))
        if not bad.size or len(nodes) == 1 or _loss(f, leaves, n, label) >= most:
            return label
        if over():
            return None
        judge = ask.judge(label)
        reach = CHOICES if judge is None else max(CHOICES, min(few, PAIRS // len(bad)))
        size = np.bincount(label, n, len(nodes)).astype(np.int64)
        near, added = _choices(f, nodes, size, bad, min(reach, len(nodes) - 1))
        if judge is None:
            pairs = _found_by_asking(f, leaves, label, nodes, ask, bad, near)
        else:
            pairs = _found(judge, bad, near, added)
        if judge is None or not patient or not len(pairs):
            open_ = np.ones(len(nodes), bool)
            open_[pairs.ravel()] = False
            pairs = np.concatenate([pairs, _disjoint(bad, near[:, 0], open_)])
        merged = np.arange(len(nodes))
        merged[pairs[:, 0]] = pairs[:, 1]
        label = np.unique(merged[label], return_inverse=True)[1].reshape(-1).astype(np.int64)
        few = 2 * few if patient else few


def _found(judge: Judge, bad: Labels, near: Labels, added: NDArray[np.float64]) -> Labels:
    """(pairs, 2): those that satisfy together, the cheapest first, no class in two of them."""
    row, rank = np.nonzero(near >= 0)
    ok = judge(bad[row], near[row, rank])
    row, rank = row[ok], rank[ok]
    order = np.argsort(added[row, rank], kind="stable")
    a, b = bad[row[order]], near[row[order], rank[order]]
    return _disjoint(a, b, np.ones(int(max(bad.max(), near.max())) + 1, bool))


def _found_by_asking(
    f: HierarchyForest,
    leaves: NDArray[np.int32],
    label: Labels,
    nodes: NDArray[np.int32],
    ask: ClassQuery,
    bad: Labels,
    near: Labels,
) -> Labels:
    """The same where two classes must be put together to be judged: all of one rank at a time."""
    open_ = np.ones(len(nodes), bool)
    merged = np.arange(len(nodes))
    found = [np.empty((0, 2), np.int64)]
    for rank in range(near.shape[1]):
        pairs = _disjoint(bad, near[:, rank], open_)
        if not len(pairs):
            continue
        trial = merged.copy()
        trial[pairs[:, 0]] = trial[pairs[:, 1]]
        new = np.unique(trial[label], return_inverse=True)[1].reshape(-1)
        ok = ask(new, boxes(f, leaves, new))
        place = np.empty(len(nodes), np.int64)
        place[label] = new
        kept = pairs[ok[place[pairs[:, 0]]]]
        merged[kept[:, 0]] = kept[:, 1]
        open_[kept.ravel()] = False
        found.append(kept)
    return np.concatenate(found)


def _choices(
    f: HierarchyForest, nodes: NDArray[np.int32], size: Labels, bad: Labels, few: int
) -> tuple[Labels, NDArray[np.float64]]:
    """(bad classes, few): the classes whose merger adds least loss, cheapest first; -1: no more. And the loss
    that each adds."""
    from sfumato.anonymization.local._kernels import neighbours as kernels

    tree = kernels.planted_tree(f, nodes, size, np.arange(len(nodes)), 6)
    near = kernels.nearest_of(f, tree, nodes, bad, few, len(nodes)).astype(np.int64)
    own = losses(f, nodes)
    joint = kernels.joined_with(f, nodes, bad, near)
    mine, theirs = size[bad][:, None], size[near]
    added = mine * (joint - own[bad][:, None]) + theirs * (joint - own[near])
    added[near < 0] = np.inf
    order = np.argsort(added, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(added, order, axis=1)


def _disjoint(first: Labels, second: Labels, open_: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(pairs, 2): in order, no class in two of them, only of classes that are open."""
    used = ~open_
    pairs = []
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if b >= 0 and not used[a] and not used[b]:
            used[a] = used[b] = True
            pairs.append((a, b))
    return np.array(pairs, np.int64).reshape(-1, 2)
