"""Another start of a local search: one class that is cut in two again and again, while both sides satisfy.

Where criteria look into the classes, merging small classes may have to go very far before anything satisfies.
From the top everything satisfies from the beginning: a search that is out of time gives what it has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.local.forest import HierarchyForest
from sfumato.anonymization.local.pace import Pace
from sfumato.anonymization.local.query import ClassQuery
from sfumato.anonymization.local.start import boxes, losses
from sfumato.hierarchy import Hierarchy
from sfumato.progress import report

Labels = NDArray[np.int64]
Cut = tuple[float, int, int, int]  # what is lost then, column, level, and the node there that is cut off
_SHARE = 0.3  # of the seconds for improving that cutting may take
_EVEN = 3  # cuts of each column and level that are looked at: the most even ones


def cut_down(
    f: HierarchyForest, hierarchies: Sequence[Hierarchy], leaves: NDArray[np.int32], n: NDArray[np.int64],
    k: int, ask: ClassQuery, pace: Pace,
) -> Labels:  # fmt: skip
    """(combinations,): the class of each. All of them together must satisfy.

    In each round every class tries its next cut, the one that loses least first; all are judged at once. Ends
    early on Ctrl-C or when its time is up, with wider classes.
    """
    found = [np.zeros(len(n), np.int64)]
    try:
        _cut_down(f, hierarchies, leaves, n, k, ask, pace, found)
    except KeyboardInterrupt:
        pace.interrupted = True
    return found[-1]


def _cut_down(
    f: HierarchyForest, hierarchies: Sequence[Hierarchy], leaves: NDArray[np.int32], n: NDArray[np.int64],
    k: int, ask: ClassQuery, pace: Pace, found: list[Labels],
) -> None:  # fmt: skip
    """found: the last is how far it came."""

    def over() -> bool:
        return pace.start_is_over(_SHARE, of_work=True)

    def cuts(mine: Labels) -> list[Cut]:
        return [] if over() else _cuts(f, hierarchies, leaves, n, mine, k)

    label = found[-1]
    members = [np.arange(len(n))]
    queues = [cuts(members[0])]
    while (trying := [c for c, queue in enumerate(queues) if queue]) and not over():
        report("cutting classes", len(queues) - len(trying), len(queues))
        trial = label.copy()
        for at, c in enumerate(trying):
            _, j, level, node = queues[c].pop(0)
            mine = members[c]
            trial[mine[hierarchies[j].ancestors[level][leaves[mine, j]] == node]] = len(members) + at
        ok = ask(trial, boxes(f, leaves, trial))
        for at, c in enumerate(trying):
            new = len(members) + at
            if not (ok[c] and ok[new]):
                trial[members[c]] = c
        made = np.unique(trial[trial >= len(members)])
        for c in np.unique(label[trial >= len(members)]):
            members[c] = members[c][trial[members[c]] == c]
            queues[c] = cuts(members[c])
        number = np.arange(len(members) + len(trying))
        number[made] = len(members) + np.arange(len(made))
        order = np.argsort(trial, kind="stable")
        edges = np.searchsorted(trial[order], [made, made + 1])
        for first, last in edges.T:
            members.append(order[first:last])
            queues.append(cuts(members[-1]))
        found[-1] = label = number[trial]


def _cuts(
    f: HierarchyForest, hierarchies: Sequence[Hierarchy], leaves: NDArray[np.int32], n: NDArray[np.int64],
    mine: Labels, k: int,
) -> list[Cut]:  # fmt: skip
    """The cuts of a class that leave k rows on either side, the one that loses least first."""
    from sfumato.anonymization.local._kernels import boxes as kernels

    own, rows = np.ascontiguousarray(leaves[mine]), n[mine]
    total = int(rows.sum())
    if total < 2 * k:
        return []
    box = kernels.boxes(f, own, np.zeros(len(mine), np.int64), 1)[0]
    found: list[Cut] = []
    for j, h in enumerate(hierarchies):
        for level in range(int(h.level_of[box[j]])):
            of = h.ancestors[level][own[:, j]]
            sizes = np.bincount(of, rows)
            fair = np.flatnonzero((sizes >= k) & (sizes <= total - k))
            for node in fair[np.argsort(np.abs(2 * sizes[fair] - total), kind="stable")][:_EVEN]:
                side = (of == node).astype(np.int64)
                lost = losses(f, kernels.boxes(f, own, side, 2))
                off = float(sizes[node])
                found.append(((total - off) * lost[0] + off * lost[1], j, level, int(node)))
    return sorted(found)
