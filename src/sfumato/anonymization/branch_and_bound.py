"""Branch and bound by roll-up: for criteria of size, with any share of rows suppressed.

Every node but the bottom has one parent: itself with the last raised column one level lower. Walking that
tree depth first, a node's groups come from its parent's. All nodes below in the tree are generalizations,
so their bound is no lower: where it passes the best score, the whole subtree is left.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sfumato.anonymization.incumbent import Incumbent
from sfumato.anonymization.lattice import Lattice, Levels, NodeGroups, Room
from sfumato.anonymization.limits import INTERRUPTED


def branch(lattice: Lattice, limit: int, found: Incumbent, threads: int = 1) -> None:
    """Look for the cheapest node with at most `limit` rows in classes below k. Ends early when stopped."""
    room = Room()
    base = lattice.base()
    walk = _Walk(lattice, limit, found)
    bottom, bound = lattice.bottom, lattice.bound(lattice.bottom)
    found.look(always=True)
    walk.judge(base, bottom)
    _top(walk, base, room)
    if threads == 1:
        _dive(walk, base, room)
        walk.into(base, bottom, bound, 0, room)
        return
    _dive(walk, base, room)
    with ThreadPoolExecutor(threads) as pool:
        rooms = [Room() for _ in lattice.top]
        tasks = [
            pool.submit(walk.child, base, bottom, bound, j, rooms[j])
            for j in walk.order
            if lattice.top[j] > 0
        ]
        try:
            for task in tasks:
                task.result()
        except KeyboardInterrupt:
            found.stop(INTERRUPTED)
            found.leave(bound)


def _top(walk: _Walk, groups: NodeGroups, room: Room) -> None:
    """The most general node, whatever the limits say: if any node does what is asked, it does."""
    levels = walk.lattice.bottom
    for j in walk.order:
        while levels[j] < walk.lattice.top[j]:
            groups = walk.lattice.up(groups, levels, j, room)
            levels = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
    walk.found.look(always=True)
    walk.judge(groups, levels)


def _dive(walk: _Walk, groups: NodeGroups, room: Room) -> None:
    """A good node early: always the step up that scores best, until no step can be better."""
    lattice, found = walk.lattice, walk.found
    levels = lattice.bottom
    while True:
        steps = []
        for j, level in enumerate(levels):
            if level >= lattice.top[j]:
                continue
            higher = (*levels[:j], level + 1, *levels[j + 1 :])
            if found.hopeless(lattice.bound(higher)):
                continue
            if not found.look():
                return
            above = lattice.up(groups, levels, j, room)
            walk.judge(above, higher)
            over = max(0, above.small - walk.limit)
            steps.append((over, above.total, higher, above))
        if not steps:
            return
        _, _, levels, groups = min(steps, key=lambda step: step[:3])


class _Walk:
    """Columns with many values come first: raising them early leaves few groups for the rest."""

    def __init__(self, lattice: Lattice, limit: int, found: Incumbent) -> None:
        self.lattice, self.limit, self.found = lattice, limit, found
        hierarchies = lattice.problem.hierarchies
        self.order = sorted(range(len(lattice.top)), key=lambda j: (-len(hierarchies[j].leaves), j))
        self.rank = {j: r for r, j in enumerate(self.order)}
        self.rows = max(lattice.problem.rows, 1)

    def worth(self, small: int, total: float) -> bool:
        """Whether a node that suppresses so many rows and costs so much may be among the best."""
        return small <= self.limit and not self.found.hopeless(total / self.rows)

    def judge(self, groups: NodeGroups, levels: Levels) -> None:
        """Offer a node that suppresses few enough; once, whoever comes by."""
        if self.worth(groups.small, groups.total):
            self.found.offer(levels, groups.total / self.rows)

    def into(self, groups: NodeGroups, levels: Levels, bound: float, last: int, room: Room) -> None:
        """All children of a node. last: the rank of the column that was raised last."""
        for j in self.order[last:]:
            if levels[j] < self.lattice.top[j]:
                self.child(groups, levels, bound, j, room)

    def child(self, groups: NodeGroups, levels: Levels, bound: float, j: int, room: Room) -> None:
        """One child and all below it in the tree."""
        means, found = self.lattice.means[j], self.found
        higher = bound + means[levels[j] + 1] - means[levels[j]]
        if found.hopeless(higher):
            return
        try:
            if found.stopped or not found.look():
                found.leave(higher)
                return
            above = self.lattice.up(groups, levels, j, room, self.worth)
            raised = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
            self.judge(above, raised)
            self.into(above, raised, higher, self.rank[j], room)
        except KeyboardInterrupt:
            found.stop(INTERRUPTED)
            found.leave(higher)
