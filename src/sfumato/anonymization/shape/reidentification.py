"""How often the rows of a release made by clusters are found, exactly, given one draw of it.

The intruder of section 4.3 knows a person's quasi-identifiers, looks for the nearest released row and picks
one at random where several are equally near. Given the clusters, the rows of a cluster are exchangeable. So
the chance to pick the own row, averaged over which row is which (Rao and Blackwell), is the share of the
nearest rows that lie in the own cluster, divided by that cluster's rows: at most 1/k, whatever was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NEAR = 1e-9  # distances that differ by rounding are equal


@dataclass(frozen=True, eq=False)
class Nearest:
    """The released rows nearest to each person, by distinct points: the data have far fewer than rows.

    who: (rows,), the point of each person; where: (rows,), that of each released row; near: (people's points,
    released points), sparse, 1 where no released point is nearer; total: (people's points,), nearest rows.
    """

    who: Ints
    where: Ints
    near: Any
    total: Floats

    @classmethod
    def of(cls, original: Floats, released: Floats) -> Nearest:
        """original, released: (rows, coordinates) in one scale."""
        from scipy import sparse
        from scipy.spatial import cKDTree

        people, who = np.unique(original, axis=0, return_inverse=True)
        places, where = np.unique(released, axis=0, return_inverse=True)
        who, where = who.ravel(), where.ravel()
        tree = cKDTree(places)
        distance, _ = tree.query(people)
        found = tree.query_ball_point(people, distance * (1 + _NEAR) + _NEAR)
        start = np.append(0, np.cumsum([len(places_) for places_ in found]))
        columns = np.concatenate([np.asarray(places_, np.int64) for places_ in found])
        near = sparse.csr_matrix((np.ones(len(columns)), columns, start), shape=(len(people), len(places)))
        return cls(who, where, near, near @ np.bincount(where).astype(np.float64))

    def share(self, label: Ints) -> Floats:
        """(rows,): the share of the nearest released rows that lie in a row's own cluster."""
        from scipy import sparse

        shape = (self.near.shape[1], int(label.max()) + 1)
        there = sparse.coo_matrix((np.ones(len(label)), (self.where, label)), shape=shape).tocsr()
        own = np.asarray((self.near @ there).tocsr()[self.who, label]).ravel()
        share: Floats = own / self.total[self.who]
        return share

    def own(self) -> Floats:
        """(rows,): the chance that the row picked is the own one, if that is among the nearest."""
        there = np.asarray(self.near[self.who, self.where]).ravel()
        chance: Floats = there / self.total[self.who]
        return chance


def nearest_share(original: Floats, released: Floats, label: Ints) -> Floats:
    """(rows,): the share of the nearest released rows that lie in a row's own cluster.

    original, released: (rows, coordinates) in one scale; label: (rows,), the cluster of each released row,
    which is that of the original row of the same number.
    """
    return Nearest.of(original, released).share(label)


def reidentified(original: Floats, released: Floats, label: Ints) -> Floats:
    """(rows,): the chance that the intruder picks the own row of each person."""
    chance: Floats = nearest_share(original, released, label) / np.bincount(label)[label]
    return chance


def simulate(original: Floats, released: Floats, generator: np.random.Generator) -> NDArray[np.bool_]:
    """(rows,): one play of the attack with the true rows: whether each person's own row was picked."""
    picked: NDArray[np.bool_] = generator.random(len(original)) < Nearest.of(original, released).own()
    return picked
