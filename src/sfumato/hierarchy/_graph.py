"""Nodes and their parents as someone wrote them down: checked, and put in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Graph:
    """The parents of each node; the top has none."""

    parents: Mapping[Hashable, Sequence[Hashable]]

    @cached_property
    def children(self) -> dict[Hashable, list[Hashable]]:
        """The children of each node that is one."""
        found: dict[Hashable, list[Hashable]] = {node: [] for node in self.parents}
        for node, above in self.parents.items():
            for p in dict.fromkeys(above):
                if p in found:
                    found[p].append(node)
        return found

    @cached_property
    def upwards(self) -> list[Hashable]:
        """Every node after all its children; nodes on a cycle, or above one, are left out."""
        waiting = {node: len(below) for node, below in self.children.items()}
        ready = [node for node, n in waiting.items() if n == 0]
        done = []
        while ready:
            node = ready.pop()
            done.append(node)
            for p in dict.fromkeys(self.parents[node]):
                if p in waiting:
                    waiting[p] -= 1
                    if waiting[p] == 0:
                        ready.append(p)
        return done

    def faults(self) -> tuple[list[str], list[str]]:
        """What is wrong, in numbers, and the names it is about."""
        if not self.parents:
            return ["it is empty"], []
        unknown = {p for above in self.parents.values() for p in above if p not in self.parents}
        roots = [node for node, above in self.parents.items() if not above]
        cyclic = self._on_cycles()
        faults, examples = [], []
        if unknown:
            faults.append(f"{len(unknown):,} parents are not nodes")
        if len(roots) != 1:
            faults.append(f"it has {len(roots):,} roots instead of one")
        if cyclic:
            faults.append(f"{len(cyclic):,} nodes lie on cycles")
        if faults:
            examples = [str(x) for x in (*unknown, *(roots if len(roots) != 1 else ()), *cyclic)]
        return faults, examples

    def _on_cycles(self) -> list[Hashable]:
        """What neither a walk up nor a walk down can put in order (between two cycles: also those)."""
        left = set(self.parents) - set(self.upwards)
        ways = {node: sum(p in left for p in dict.fromkeys(self.parents[node])) for node in left}
        above = [node for node, n in ways.items() if n == 0]
        while above:  # what lies above a cycle has no way up that stays in it
            node = above.pop()
            left.discard(node)
            for child in self.children[node]:
                if child in left:
                    ways[child] -= 1
                    if ways[child] == 0:
                        above.append(child)
        return [node for node in self.parents if node in left]

    def twice(self, written: Mapping[Hashable, str]) -> list[str]:
        """Texts that several leaves have."""
        counted = Counter(written[node] for node, below in self.children.items() if not below)
        return [text for text, n in counted.items() if n > 1]

    def order(self) -> list[Hashable]:
        """Nodes by (leaves below, longest way down, as given): leaves first, the top last."""
        place = {node: i for i, node in enumerate(self.parents)}
        below: dict[Hashable, int] = {}  # a set of leaves as the bits of a number
        rank: dict[Hashable, int] = {}
        leaves = 0
        for node in self.upwards:
            children = self.children[node]
            if not children:
                below[node], rank[node] = 1 << leaves, 0
                leaves += 1
                continue
            below[node] = 0
            for child in children:
                below[node] |= below[child]
            rank[node] = 1 + max(rank[child] for child in children)
        return sorted(self.parents, key=lambda v: (below[v].bit_count(), rank[v], place[v]))
