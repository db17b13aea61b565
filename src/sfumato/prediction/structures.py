"""Growing a tree: Algorithm 4 (alpha-Tree) and Algorithm 5 (0-DiffStructure), and what grew.

Both recurse in the same way and differ in one decision: which test, if any, splits a node. A tree is a
list of nodes, a node before its children, so that it is written, walked and drawn without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.prediction.variables import Codes, KernelLayout, TreeVariable
from sfumato.progress import report

if TYPE_CHECKING:
    from types import ModuleType

Labels: TypeAlias = NDArray[np.uint8]
LEAF = -1
_REMEMBERED = 6  # layers whose nodes keep what every variable offered: more is never drawn


@dataclass(frozen=True)
class SplitCandidate:
    """What one variable offers at a node: its best test, the gain, and the range over the 8 cases."""

    variable: int
    test: int
    gain: float
    kappa: float = 0.0
    lambda_: float = 0.0


@dataclass(frozen=True)
class Node:
    """positives of size rows; a split sends rows that pass the variable's test right, the others left."""

    positives: int
    size: int
    depth: int = 0
    variable: int = LEAF
    test: int = LEAF
    left: int = LEAF
    right: int = LEAF
    candidates: tuple[SplitCandidate, ...] = ()

    @property
    def chance(self) -> float:
        """E[Y | S], the share of positive rows."""
        return self.positives / self.size

    @property
    def is_leaf(self) -> bool:
        """Whether it splits no further."""
        return self.variable == LEAF


@dataclass(frozen=True)
class GrownTree:
    """Nodes in the order a reader meets them: a node, all of its left side, all of its right side."""

    nodes: tuple[Node, ...]
    variables: tuple[TreeVariable, ...]
    alpha: float

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes that split no further."""
        return tuple(n for n in self.nodes if n.is_leaf)

    @property
    def depth(self) -> int:
        """Splits on the longest way from the root to a leaf."""
        return max(n.depth for n in self.nodes)

    @property
    def structure(self) -> tuple[tuple[int, int], ...]:
        """The list of splitting variables and tests: equal for equal decision rules."""
        return tuple((n.variable, n.test) for n in self.nodes)

    def words(self, node: Node, *, negated: bool = False) -> str:
        """The test of a node in words."""
        return self.variables[node.variable].words(node.test, negated=negated)

    def leaf_of(self, codes: Codes) -> NDArray[np.int64]:
        """The leaf of each row, as its place among the nodes.  codes: (variables, rows)."""
        from sfumato.prediction import _kernels

        layout = KernelLayout.of(self.variables)
        columns = [[getattr(n, f) for n in self.nodes] for f in ("variable", "test", "left", "right")]
        out = np.empty(codes.shape[1], np.int64)
        variable, test, left, right = (np.array(c, np.int64) for c in columns)
        _kernels.leaves(codes, variable, test, left, right, layout.cuts, layout.ordered, out)
        return out

    def chances(self, codes: Codes) -> NDArray[np.float64]:
        """The share of positive rows in the leaf of each row."""
        return np.array([n.chance for n in self.nodes])[self.leaf_of(codes)]

    def to_list(self) -> list[dict[str, Any]]:
        """The nodes for JSON."""
        names = ("positives", "size", "variable", "test", "left", "right")
        return [{name: getattr(n, name) for name in (names[:2] if n.is_leaf else names)} for n in self.nodes]

    @classmethod
    def from_list(
        cls, entries: Sequence[Any], variables: tuple[TreeVariable, ...], alpha: float
    ) -> GrownTree:
        """Read back what `to_list` wrote, checked: every node once, children behind their parent."""
        depths, nodes = {0: 0}, []
        wrong = not entries
        for place, entry in enumerate(entries):
            try:
                fields = {k: int(v) for k, v in entry.items() if type(v) is int}
                node = Node(**fields, depth=depths.pop(place))  # type: ignore[arg-type]
                wrong |= len(fields) != len(entry) or not 0 <= node.positives <= node.size or not node.size
                if not node.is_leaf:
                    wrong |= not (0 <= node.variable < len(variables) and place < node.left < node.right)
                    wrong |= not 0 <= node.test < variables[node.variable].tests
                    depths |= {node.left: node.depth + 1, node.right: node.depth + 1}
                nodes.append(node)
            except (AttributeError, TypeError, KeyError, IndexError):
                wrong = True
            if wrong:
                break
        if wrong or depths:
            raise DataError("a tree in the file cannot be read.", hint="the file was changed: make it anew")
        return cls(tuple(nodes), variables, alpha)


def distinct(trees: Sequence[GrownTree]) -> tuple[GrownTree, ...]:
    """The trees whose structure no earlier tree has."""
    return tuple({t.structure: t for t in reversed(trees)}.values())[::-1]


@dataclass(frozen=True)
class Stopping:
    """When a node is not split although a test was found."""

    max_depth: int | None = None
    min_split: int = 2
    min_leaf: int = 1
    min_gain: float = 0.0

    def __post_init__(self) -> None:
        def whole(value: object, least: int) -> bool:
            kind = isinstance(value, int | np.integer) and not isinstance(value, bool)
            return kind and int(value) >= least  # type: ignore[call-overload]

        faults = []
        if self.max_depth is not None and not whole(self.max_depth, 0):
            faults.append("max_depth is a whole number, 0 or more, or None")
        if not whole(self.min_split, 2):
            faults.append("min_split is a whole number, 2 or more")
        if not whole(self.min_leaf, 1):
            faults.append("min_leaf is a whole number, 1 or more")
        if not isinstance(self.min_gain, int | float | np.number) or not self.min_gain >= 0:
            faults.append("min_gain is a number, 0 or more")
        if faults:
            raise ParameterError(f"{'; '.join(faults)}.", hint="see the parameters")


Choose: TypeAlias = Callable[[NDArray[np.int64]], "tuple[SplitCandidate | None, tuple[SplitCandidate, ...]]"]


def alpha_tree(
    codes: Codes, y: Labels, variables: tuple[TreeVariable, ...], alpha: float, stopping: Stopping
) -> GrownTree:
    """Algorithm 4: split on the variable of the largest alpha-gain, until a stopping rule holds."""
    layout = KernelLayout.of(variables)

    def choose(rows: NDArray[np.int64]) -> tuple[SplitCandidate | None, tuple[SplitCandidate, ...]]:
        offers = _offers(codes, y, rows, layout, alpha, stopping.min_leaf)[0]
        best = max(offers, key=lambda c: c.gain, default=None)  # the first of equals
        return (best if best is not None and best.gain > stopping.min_gain else None), offers

    return _grown(codes, y, variables, alpha, layout, stopping, choose)


def zero_diff_structure(
    codes: Codes, y: Labels, variables: tuple[TreeVariable, ...], alpha: float, stopping: Stopping
) -> GrownTree:
    """Algorithm 5: split where one variable's least gain over the 8 cases is not below any other's largest.

    Read as the chapter's figures have it: a variable stands for its best test on the data; cases that cannot
    happen are left out; pure nodes stop. A test that sends all rows one way splits nothing and stops too.

    Guarantee: none. The chapter calls the structure 0-differentially private because no single row would
               change a split that was found. But whether one is found depends on the data: see `DPaT`.
    Tested by: tests/prediction/test_dpat_audit.py
    """
    layout = KernelLayout.of(variables)

    def choose(rows: NDArray[np.int64]) -> tuple[SplitCandidate | None, tuple[SplitCandidate, ...]]:
        from sfumato.prediction import _kernels

        plain, tables = _offers(codes, y, rows, layout, alpha, 0)
        offers = tuple(
            SplitCandidate(c.variable, c.test, c.gain, *_kernels.gain_range(t[0], t[1], t[2], t[3], alpha))
            for c, t in zip(plain, tables.tolist(), strict=True)
        )
        if not offers:
            return None, ()
        winner = max(range(len(offers)), key=lambda i: offers[i].kappa)
        best, table = offers[winner], tables[winner]
        admissible = all(best.kappa >= c.lambda_ for i, c in enumerate(offers) if i != winner)
        least = max(stopping.min_leaf, 1)
        splits = table[0] + table[1] >= least and table[2] + table[3] >= least
        return (best if admissible and splits and best.gain > stopping.min_gain else None), offers

    return _grown(codes, y, variables, alpha, layout, stopping, choose)


def _offers(
    codes: Codes, y: Labels, rows: NDArray[np.int64], layout: KernelLayout, alpha: float, min_leaf: int
) -> tuple[tuple[SplitCandidate, ...], NDArray[np.int64]]:
    """The best test of every variable that has one, and their contingency tables."""
    from sfumato.prediction import _kernels

    count = len(codes)
    test, gain, table = np.empty(count, np.int64), np.empty(count), np.zeros((count, 4), np.int64)
    _kernels.candidates(
        codes, y, rows, layout.cuts, layout.ordered, layout.missing, alpha, min_leaf, test, gain, table
    )
    found = np.flatnonzero(test >= 0)
    return tuple(SplitCandidate(int(v), int(test[v]), float(gain[v])) for v in found), table[found]


def _grown(
    codes: Codes, y: Labels, variables: tuple[TreeVariable, ...], alpha: float, layout: KernelLayout,
    stopping: Stopping, choose: Choose,
) -> GrownTree:  # fmt: skip
    """The recursion of both algorithms, as a pile of nodes still to be looked at."""
    from sfumato.prediction import _kernels

    if not len(y):
        raise DataError("a tree needs at least one row.", hint="fit it on more data")
    nodes: list[dict[str, Any]] = []
    settled = 0
    pile: list[tuple[NDArray[np.int64], int, int, str]] = [(np.arange(len(y)), 0, LEAF, "")]
    while pile:
        rows, depth, parent, side = pile.pop()
        if side:
            nodes[parent][side] = len(nodes)
        positives = int(y[rows].sum())
        node: dict[str, Any] = {"positives": positives, "size": len(rows), "depth": depth}
        nodes.append(node)
        deep = stopping.max_depth is not None and depth >= stopping.max_depth
        best = None
        if not (deep or positives in (0, len(rows)) or len(rows) < stopping.min_split):
            best, offers = choose(rows)
            node["candidates"] = offers if depth <= _REMEMBERED else ()
        if best is None:
            settled += len(rows)
            report(f"growing a tree, alpha = {alpha:g}", settled, len(y))
            continue
        node["variable"], node["test"] = best.variable, best.test
        v = best.variable
        goes = _sent(_kernels, codes[v], rows, best.test, int(layout.cuts[v]), bool(layout.ordered[v]))
        here = len(nodes) - 1
        pile.append((rows[goes], depth + 1, here, "right"))
        pile.append((rows[~goes], depth + 1, here, "left"))
    return GrownTree(tuple(Node(**n) for n in nodes), variables, alpha)


def _sent(
    kernels: ModuleType,
    column: NDArray[np.int32],
    rows: NDArray[np.int64],
    test: int,
    cuts: int,
    ordered: bool,
) -> NDArray[np.bool_]:
    """Which rows pass a test: `passes` for each of the codes there are."""
    answers = [kernels.passes(code, test, cuts, ordered) for code in range(cuts + 2)]
    return np.asarray(answers, np.bool_)[column[rows]]
