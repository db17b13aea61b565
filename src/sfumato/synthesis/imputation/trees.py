"""Trees and forests, and the marginal: cells drawn from the donors that a leaf holds.

A leaf's donors are weighted by a Bayesian bootstrap (Reiter 2005; Caiola and Reiter 2010 for forests).
Numbers are drawn between a donor and its neighbour in the leaf, so that few are a person's own; values that
many have stay as frequent as they are.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.synthesis.imputation.draws import Draw, Floats, bootstrap_weights

_BOTH = ("numbers", "levels")
LEAST = 5  # donors of a leaf


def _counted(what: str, **numbers: object) -> None:
    wrong = [n for n, v in numbers.items() if isinstance(v, bool) or not isinstance(v, int) or v < 1]
    if wrong:
        raise ParameterError(
            f"{what}: {' and '.join(wrong)} must be a whole number, at least 1.", hint=f"{what}()"
        )


@dataclass(frozen=True)
class Marginal:
    """The column by itself, whatever it is given: the Bayesian bootstrap of Rubin (1981)."""

    smooth: bool = True

    kinds = _BOTH

    def learn(self, x: Floats, y: Floats, size: int | None, weights: Floats | None = None) -> LearnedLeaves:
        """One leaf."""
        donors = Donors.of(np.zeros(len(y), np.int64), y, weights)
        return LearnedLeaves((_Everyone(),), (donors,), self._between(size))

    def _between(self, size: int | None) -> bool:
        return self.smooth and size is None


@dataclass(frozen=True)
class Tree:
    """A classification or regression tree. least: the fewest donors of a leaf."""

    least: int = LEAST
    smooth: bool = True

    kinds = _BOTH

    def __post_init__(self) -> None:
        _counted("Tree", least=self.least)

    def learn(self, x: Floats, y: Floats, size: int | None, weights: Floats | None = None) -> LearnedLeaves:
        """Grow it, and keep every leaf's donors."""
        name = "DecisionTreeRegressor" if size is None else "DecisionTreeClassifier"
        grown = _sklearn("tree", name)(min_samples_leaf=self.least, random_state=0)
        return _with_donors([grown.fit(x, y, weights)], x, y, self.smooth and size is None, weights)


@dataclass(frozen=True)
class Forest:
    """Many trees on bootstrapped rows; each cell is drawn from a leaf of a tree picked by chance."""

    trees: int = 20
    least: int = LEAST
    smooth: bool = True

    kinds = _BOTH

    def __post_init__(self) -> None:
        _counted("Forest", trees=self.trees, least=self.least)

    def learn(self, x: Floats, y: Floats, size: int | None, weights: Floats | None = None) -> LearnedLeaves:
        """Grow the trees; a leaf's donors are all rows that fall into it."""
        name = "RandomForestRegressor" if size is None else "RandomForestClassifier"
        settings = {"min_samples_leaf": self.least, "max_features": "sqrt", "random_state": 0}
        grown = _sklearn("ensemble", name)(n_estimators=self.trees, **settings).fit(x, y, weights)
        return _with_donors(list(grown.estimators_), x, y, self.smooth and size is None, weights)


def _sklearn(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"sklearn.{module}"), name)


def _with_donors(
    trees: list[Any], x: Floats, y: Floats, between: bool, weights: Floats | None
) -> LearnedLeaves:
    donors = tuple(Donors.of(t.apply(x.astype(np.float32)).astype(np.int64), y, weights) for t in trees)
    return LearnedLeaves(tuple(trees), donors, between)


class TreeNodes(Protocol):
    """A grown tree of scikit-learn, from the inside."""

    node_count: int
    children_left: NDArray[np.int64]
    children_right: NDArray[np.int64]


def _pruned(
    tree: TreeNodes, leaf: NDArray[np.int64], persons: NDArray[np.int64], least: int
) -> NDArray[np.int64]:
    """For each node, the node that stands for it once every leaf has enough persons.

    Nodes are numbered from the top down, left before right, so all below a node follow it at once.
    """
    nodes = tree.node_count
    parent, end = np.zeros(nodes, np.int64), np.arange(1, nodes + 1)
    for node in range(nodes - 1, -1, -1):
        if tree.children_left[node] >= 0:
            below = [int(tree.children_left[node]), int(tree.children_right[node])]
            parent[below] = node
            end[node] = end[below[1]]
    kept = np.arange(nodes)
    while True:
        held = np.unique(np.stack([kept[leaf], persons]), axis=1)[0]
        counted = np.bincount(held, minlength=nodes)
        poor = np.flatnonzero((counted > 0) & (counted < least))
        poor = poor[poor > 0]
        if not len(poor):
            return kept
        for node in parent[poor]:
            kept[node : end[node]] = kept[node]


class _Everyone:
    """A tree that asks nothing."""

    def apply(self, x: Floats) -> NDArray[np.int64]:
        return np.zeros(len(x), np.int64)


@dataclass(frozen=True, eq=False)
class Donors:
    """Cells by leaf, in order within it.  first, last: (nodes,) where a leaf begins and ends.

    weights: (donors,), or None where all count alike.
    """

    y: Floats
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    weights: Floats | None = None

    @classmethod
    def of(cls, leaf: NDArray[np.int64], y: Floats, weights: Floats | None = None) -> Donors:
        """leaf: (rows,) the node that each row falls into."""
        order = np.lexsort((y, leaf))
        nodes = np.arange(leaf.max() + 1)
        first, last = (np.searchsorted(leaf[order], nodes, side) for side in ("left", "right"))
        return cls(y[order], first, last, None if weights is None else weights[order])

    def along(self, kept: NDArray[np.int64]) -> Donors:
        """With the leaves that nodes were put into.  kept: (nodes,) the node that stands for each."""
        known = np.minimum(kept, len(self.first) - 1)  # a node beyond the last leaf leads to none
        return replace(self, first=self.first[known], last=self.last[known])


@dataclass(frozen=True, eq=False)
class LearnedLeaves:
    """Trees with their donors. between: draw between neighbouring donors."""

    trees: tuple[Any, ...]
    donors: tuple[Donors, ...]
    between: bool

    def holding(
        self, least: int, persons: NDArray[np.int64], x: Floats, y: Floats, weights: Floats | None = None
    ) -> Self:
        """The same with leaves of at least so many persons, however many rows each has.

        A leaf of fewer becomes one with all that its parent leads to. persons: (rows,) whose row it is.
        """
        donors = []
        for tree in self.trees:
            leaf = tree.apply(x.astype(np.float32)).astype(np.int64)
            kept = (
                np.arange(leaf.max() + 1)
                if isinstance(tree, _Everyone)
                else _pruned(tree.tree_, leaf, persons, least)
            )
            donors.append(Donors.of(kept[leaf], y, weights).along(kept))
        return replace(self, donors=tuple(donors))

    def law(self, draw: Draw | None) -> LeafLaw:
        """Donors weighted alike, or by a Bayesian bootstrap."""
        upto = []
        for donors in self.donors:
            weights = np.ones(len(donors.y)) if draw is None else bootstrap_weights(draw, len(donors.y))
            weights = weights if donors.weights is None else weights * donors.weights
            upto.append(np.append(0.0, np.cumsum(weights)))
        return LeafLaw(self, tuple(upto))


@dataclass(frozen=True, eq=False)
class LeafLaw:
    """Leaves whose donors have weights.  upto: for each tree (donors + 1,) cumulative weights."""

    learned: LearnedLeaves
    upto: tuple[Floats, ...]

    def draw(self, x: Floats, draw: Draw) -> Floats:
        """For each row a tree, the leaf it falls into, and a donor of that leaf."""
        which = draw.integers(0, len(self.upto), len(x))
        u, side = draw.random(len(x)), draw.random(len(x))
        out = np.empty(len(x))
        for t, (tree, donors, upto) in enumerate(
            zip(self.learned.trees, self.learned.donors, self.upto, strict=True)
        ):
            mine = np.flatnonzero(which == t)
            if not len(mine):
                continue
            leaf = tree.apply(x[mine].astype(np.float32))
            first, last = donors.first[leaf], donors.last[leaf]
            wanted = upto[first] + u[mine] * (upto[last] - upto[first])
            found = np.clip(np.searchsorted(upto, wanted, "right") - 1, first, last - 1)
            out[mine] = donors.y[found]
            if self.learned.between:
                step = np.where(side[mine] < 0.5, -1, 1)
                next_ = donors.y[np.clip(found + step, first, last - 1)]
                out[mine] += np.abs(side[mine] - 0.5) * (next_ - out[mine])
        return out
