"""How likely a row is by chance: a tree of the columns that hang together most (Chow and Liu 1968).

log p(row) = sum over columns c of log p(x_c | x_parent(c)). The tree is fitted to originals and controls
together, so that it prefers neither. A row does not count for itself, and rare pairs are drawn towards the
column's own shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SHRINK = 5.0  # people at whose number a pair counts as much as its columns apart
_MOST_ROWS = 50_000  # that the tree is chosen by
_MOST_COLUMNS = 40
_DENSE = 8  # possible keys for each row up to which they are counted in a table


@dataclass(frozen=True, eq=False)
class RowTree:
    """Parents of the columns (-1 for the first), and what was counted."""

    order: tuple[int, ...]
    parents: tuple[int, ...]
    codes: Ints
    weights: Ints
    sizes: tuple[int, ...]

    @classmethod
    def fit(cls, codes: Ints, weights: Ints, sizes: Sequence[int]) -> RowTree:
        """codes: (rows, columns), each row standing for `weights` people."""
        some = codes[:_MOST_ROWS] if len(codes) <= _MOST_ROWS else codes[:: len(codes) // _MOST_ROWS]
        w = weights[:_MOST_ROWS] if len(codes) <= _MOST_ROWS else weights[:: len(codes) // _MOST_ROWS]
        alone = [_entropy(some[:, c], w) for c in range(codes.shape[1])]
        entropies, levels = np.array([e for e, _ in alone]), [n for _, n in alone]
        columns = np.argsort(-entropies, kind="stable")[:_MOST_COLUMNS]
        tied = np.full((codes.shape[1],) * 2, -1.0)
        for i, a in enumerate(columns):
            for b in columns[i + 1 :]:
                joint, cells = _entropy(some[:, a] * sizes[b] + some[:, b], w)
                spare = (cells - levels[a] - levels[b] + 1) / (2 * w.sum())
                tied[a, b] = tied[b, a] = entropies[a] + entropies[b] - joint - spare
        inside, parents = [int(columns[0])], [-1]
        rest = [int(c) for c in columns[1:]]
        while rest:
            part = tied[np.ix_(inside, rest)]
            at = np.unravel_index(int(part.argmax()), part.shape)
            parents.append(inside[at[0]])
            inside.append(rest.pop(int(at[1])))
        return cls(tuple(inside), tuple(parents), codes, weights, tuple(sizes))

    def log_probability(self, codes: Ints, *less: float) -> list[Floats]:
        """Of rows; less: how many of those counted do not count for a row: itself, and whom it was met in.

        Several of them ask for an answer each.
        """
        out = [np.zeros(len(codes)) for _ in less]
        total = float(self.weights.sum())
        counts = {c: np.bincount(self.codes[:, c], self.weights, self.sizes[c]) for c in self.order}
        for column, parent in zip(self.order, self.parents, strict=True):
            alone = counts[column][codes[:, column]]
            shares = [np.maximum(alone - many, 0.5) / total for many in less]
            if parent < 0:
                for each, share in zip(out, shares, strict=True):
                    each += np.log(share)
                continue
            above, both = counts[parent][codes[:, parent]], _pair_counts(self, parent, column, codes)
            for each, share, many in zip(out, shares, less, strict=True):
                pairs = np.maximum(both - many, 0.0) + _SHRINK * share
                each += np.log(pairs / (np.maximum(above - many, 0.0) + _SHRINK))
        return out


def _pair_counts(tree: RowTree, a: int, b: int, codes: Ints) -> Floats:
    keys = tree.codes[:, a] * tree.sizes[b] + tree.codes[:, b]
    wanted = codes[:, a] * tree.sizes[b] + codes[:, b]
    values, counts = _counted(keys, tree.weights)
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[at] == wanted, counts[at], 0.0)


def _entropy(keys: Ints, weights: Ints) -> tuple[float, int]:
    """In nats, and how many different keys there are."""
    values, counts = _counted(keys, weights)
    shares = counts / weights.sum()
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum()), len(values)


def _counted(keys: Ints, weights: Ints) -> tuple[Ints, Floats]:
    """The different keys, in their order, and how many people have each."""
    if len(keys) and keys.max() < _DENSE * len(keys):  # a table of all possible keys spares the sort
        there = np.flatnonzero(np.bincount(keys))
        return there.astype(np.int64), np.bincount(keys, weights)[there].astype(np.float64)
    if len(keys) and weights.min() == weights.max() == 1:  # to sort takes less time than to tell who is where
        ordered = np.sort(keys)
        first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        return ordered[first], np.diff(first, append=len(keys)).astype(np.float64)
    values, inverse = np.unique(keys, return_inverse=True)
    return values, np.bincount(inverse, weights).astype(np.float64)
