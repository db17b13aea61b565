"""Growing one private tree, level by level: which split, chosen with noise; then how many rows, with noise.

Guarantee: what `share` of the purse the caller names for each level and for the leaves, no more.
Because:   1. the nodes of a level hold different rows, so that the draws of a level cost together what one
              costs (`FitBudget.disjoint`, its point 3 for persons whose rows lie in several nodes);
              which node a row is in follows from the row and from splits that were drawn before;
           2. a split is chosen by permute-and-flip on the whole-number scores of `impurity.py`: sensitivity
              D L, and monotone: added rows lower scores, whoever's they are. The candidates are public;
           3. a row is in one leaf and has one outcome: the counts of the leaves have sensitivity L.
           Depth, candidates and shares do not depend on the rows; no node stops early.
Assumes:   the grid is public.
Tested by: tests/prediction/test_impurity.py, tests/prediction/test_score_audit.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.features.grid import FeatureGrid
from sfumato.prediction.fit_budget import FitBudget
from sfumato.prediction.impurity import Impurity
from sfumato.privacy.noise import Noisy, laplace, noisy_max

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TreeSplit:
    """Rows whose code of a feature is among these go left."""

    feature: int
    left: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Candidates:
    """All splits of a grid, and which cells (of all features, one after another) each has on its left."""

    splits: tuple[TreeSplit, ...]
    inside: Ints
    offsets: Ints
    cells: int

    @classmethod
    def of(cls, grid: FeatureGrid, most: int) -> Candidates:
        """Between any two neighbouring bins of an ordered feature; each level of another against the rest.

        Missing comes after the last bin, so it can be told apart from all values too.
        """
        sizes = [int(a.groups(most)[-1]) + 1 for a in grid.axes]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        splits = []
        for j, (axis, size) in enumerate(zip(grid.axes, sizes, strict=True)):
            if axis.ordered:
                splits += [TreeSplit(j, tuple(range(i))) for i in range(1, size)]
            else:  # two levels have one split, not two
                splits += [TreeSplit(j, (i,)) for i in range(size if size > 2 else size - 1)]
        inside = np.zeros((len(splits), int(offsets[-1])), np.int64)
        for i, split in enumerate(splits):
            inside[i, offsets[split.feature] + np.array(split.left)] = 1
        return cls(tuple(splits), inside, offsets[:-1], int(offsets[-1]))


@dataclass(frozen=True, eq=False)
class PrivateTree:
    """A full binary tree: node i has the children 2 i + 1 and 2 i + 2.

    splits: of the inner nodes; leaves: their noisy counts by outcome, (leaves, 2), left to right.
    """

    splits: tuple[TreeSplit, ...]
    leaves: Noisy

    @property
    def depth(self) -> int:
        """How many splits lead to a leaf."""
        return len(self.leaves.values).bit_length() - 1


def grow(
    codes: Ints, outcome: Ints, candidates: Candidates, features: Sequence[int], impurity: Impurity,
    depth: int, purse: FitBudget, shares: tuple[Fraction, Fraction], max_rows: int,
) -> PrivateTree:  # fmt: skip
    """One tree on all rows.  codes: (features, rows), merged; features: those that it may split on.

    shares: of the purse's total, for each level and for the leaves.
    """
    allowed = np.flatnonzero(np.isin([s.feature for s in candidates.splits], list(features)))
    node = np.zeros(codes.shape[1], np.int64)  # within its level
    splits: list[TreeSplit] = []
    for level in range(depth):
        grants = purse.disjoint(shares[0], "one level of splits")
        counts = _histograms(codes, outcome, node, 2**level, candidates)
        right = np.ones((2**level, candidates.cells), bool)
        for place in range(2**level):
            left = candidates.inside[allowed] @ counts[place]
            whole = counts[place, : _first_size(candidates)].sum(axis=0)
            scores = impurity.score(left, whole)
            drawn = noisy_max(scores, impurity.sensitivity * max_rows, next(grants), monotone=True)
            chosen = int(allowed[drawn])
            splits.append(candidates.splits[chosen])
            right[place] = candidates.inside[chosen] == 0
        feature = np.array([s.feature for s in splits[-(2**level) :]])[node]
        cell = candidates.offsets[feature] + codes[feature, np.arange(codes.shape[1])]
        node = 2 * node + right[node, cell]
    leaves = np.bincount(2 * node + outcome, minlength=2 ** (depth + 1)).reshape(-1, 2)
    return PrivateTree(tuple(splits), laplace(leaves, max_rows, purse.share(shares[1], "leaves by outcome")))


def _first_size(candidates: Candidates) -> int:
    return int(candidates.offsets[1]) if len(candidates.offsets) > 1 else candidates.cells


def _histograms(codes: Ints, outcome: Ints, node: Ints, nodes: int, candidates: Candidates) -> Ints:
    """Rows of each node by cell and outcome, (nodes, cells, 2): each row is in one cell of each feature."""
    total = np.zeros(nodes * candidates.cells * 2, np.int64)
    base = node * candidates.cells
    for column, offset in zip(codes, candidates.offsets, strict=True):
        total += np.bincount(2 * (base + offset + column) + outcome, minlength=len(total))
    return total.reshape(nodes, candidates.cells, 2)
