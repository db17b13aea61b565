"""The start of a local search: small classes merge, the cheapest first, until the criterion is satisfied."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.local.asking import Asked
from sfumato.anonymization.local.forest import Forest
from sfumato.anonymization.local.pace import Pace
from sfumato.progress import report

STEPS = 50_000  # mergers between two reports
CHOICES = 8  # near classes that are tried before two are merged that do not satisfy together
Labels = NDArray[np.int64]


def agglomerated(f: Forest, leaves: NDArray[np.int32], n: NDArray[np.int64], k: int, pace: Pace) -> Labels:
    """(combinations,): the class of each; every class has k rows, if there are so many.

    Stopped by Ctrl-C it leaves the small classes that remain in one.
    """
    from sfumato.anonymization.local.agglomeration import _kernels as kernels

    x, size, into = leaves.copy(), n.copy(), np.arange(len(n))
    try:
        while kernels.agglomerate(f, x, size, into, k, STEPS) == STEPS:
            report("merging small classes", int((into != np.arange(len(n))).sum()), len(n))
    except KeyboardInterrupt:
        pace.interrupted = True
        live = np.flatnonzero(into == np.arange(len(n)))
        small = live[size[live] < k]
        if small.size:
            rest = live if n[np.isin(_roots(into), small)].sum() < k else small
            into[rest] = rest[0]
    return _numbered(into)


def _roots(into: Labels) -> Labels:
    while not (into[into] == into).all():
        into = into[into]
    return into


def _numbered(into: Labels) -> Labels:
    return np.unique(_roots(into), return_inverse=True)[1].reshape(-1).astype(np.int64)


def boxes(f: Forest, leaves: NDArray[np.int32], label: Labels) -> NDArray[np.int32]:
    """(classes, columns): the least upper bound of each class."""
    from sfumato.anonymization.local import _kernels as kernels

    return kernels.boxes(f, np.ascontiguousarray(leaves), label, int(label.max(initial=-1)) + 1)


def losses(f: Forest, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
    """(classes,): what a row of each loses."""
    q = nodes.shape[1]
    found: NDArray[np.float64] = f.loss[f.base[:q][None, :] + nodes].sum(axis=1)
    return found


def widened(
    f: Forest, leaves: NDArray[np.int32], n: NDArray[np.int64], label: Labels, ask: Asked, pace: Pace
) -> Labels:
    """Classes that do not satisfy merge with a near one, with one that makes them satisfy if there is any.

    Ends with all satisfied, or with one class; at once on Ctrl-C, with the unsatisfied in one.
    """
    try:
        return _widened(f, leaves, n, label, ask)
    except KeyboardInterrupt:
        pace.interrupted = True
    bad = ~ask(label, boxes(f, leaves, label))
    label = np.unique(np.where(bad[label], -1, label), return_inverse=True)[1].reshape(-1).astype(np.int64)
    return label if ask(label, boxes(f, leaves, label)).all() else np.zeros(len(label), np.int64)


def _widened(f: Forest, leaves: NDArray[np.int32], n: NDArray[np.int64], label: Labels, ask: Asked) -> Labels:
    while True:
        nodes = boxes(f, leaves, label)
        bad = np.flatnonzero(~ask(label, nodes))
        report("widening classes", len(nodes) - len(bad), len(nodes))
        if not bad.size or len(nodes) == 1:
            return label
        near = _choices(f, nodes, np.bincount(label, n, len(nodes)).astype(np.int64), bad)
        merged = np.arange(len(nodes))
        open_ = np.ones(len(nodes), bool)
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
        pairs = _disjoint(bad, near[:, 0], open_)
        merged[pairs[:, 0]] = pairs[:, 1]
        label = np.unique(merged[label], return_inverse=True)[1].reshape(-1).astype(np.int64)


def _choices(f: Forest, nodes: NDArray[np.int32], size: Labels, bad: Labels) -> Labels:
    """(bad classes, choices): the classes whose merger adds least loss, cheapest first; -1: no more."""
    from sfumato.anonymization.local.neighbours import _kernels as kernels

    tree = kernels.planted_tree(f, nodes, size, np.arange(len(nodes)), 6)
    near = kernels.nearest_of(f, tree, nodes, bad, min(CHOICES, len(nodes) - 1)).astype(np.int64)
    own = losses(f, nodes)
    joint = kernels.joined_with(f, nodes, bad, near)
    mine, theirs = size[bad][:, None], size[near]
    added = mine * (joint - own[bad][:, None]) + theirs * (joint - own[near])
    added[near < 0] = np.inf
    order = np.argsort(added, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)


def _disjoint(first: Labels, second: Labels, open_: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(pairs, 2): in order, no class in two of them, only of classes that are open."""
    used = ~open_
    pairs = []
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if b >= 0 and not used[a] and not used[b]:
            used[a] = used[b] = True
            pairs.append((a, b))
    return np.array(pairs, np.int64).reshape(-1, 2)
