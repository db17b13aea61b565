"""How often the rows of a release made by clusters are found, exactly, given one draw of it.

The intruder of section 4.3 knows a person's quasi-identifiers, looks for the nearest released row and picks
one at random where several are equally near. Given the clusters, the rows of a cluster are exchangeable. So
the chance to pick the own row, averaged over which row is which (Rao and Blackwell), is the share of the
nearest rows that lie in the own cluster, divided by that cluster's rows: at most 1/k, whatever was drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NEAR = 1e-9  # distances that differ by rounding are equal


def nearest_share(original: Floats, released: Floats, label: Ints) -> Floats:
    """(rows,): the share of the nearest released rows that lie in a row's own cluster.

    original, released: (rows, coordinates) in one scale; label: (rows,), the cluster of each released row,
    which is that of the original row of the same number.
    """
    from scipy import sparse
    from scipy.spatial import cKDTree

    people, who = np.unique(original, axis=0, return_inverse=True)
    places, where = np.unique(released, axis=0, return_inverse=True)
    who, where = who.ravel(), where.ravel()
    clusters = int(label.max()) + 1
    there = sparse.coo_matrix((np.ones(len(label)), (where, label)), shape=(len(places), clusters)).tocsr()
    tree = cKDTree(places)
    distance, _ = tree.query(people)
    near = tree.query_ball_point(people, distance * (1 + _NEAR) + _NEAR)
    found = np.repeat(np.arange(len(people)), [len(n) for n in near])
    chosen = sparse.coo_matrix(
        (np.ones(len(found)), (found, np.concatenate([np.asarray(n, np.int64) for n in near]))),
        shape=(len(people), len(places)),
    ).tocsr()
    matches = (chosen @ there).tocsr()  # (people, clusters): nearest rows by cluster
    total = np.asarray(matches.sum(axis=1)).ravel()
    own = np.asarray(matches[who, label]).ravel()
    share: Floats = own / total[who]
    return share


def reidentified(original: Floats, released: Floats, label: Ints) -> Floats:
    """(rows,): the chance that the intruder picks the own row of each person."""
    chance: Floats = nearest_share(original, released, label) / np.bincount(label)[label]
    return chance


def simulate(original: Floats, released: Floats, generator: np.random.Generator) -> NDArray[np.bool_]:
    """(rows,): one play of the attack with the true rows: whether each person's own row was picked."""
    from scipy.spatial import cKDTree

    people, who = np.unique(original, axis=0, return_inverse=True)
    places, where = np.unique(released, axis=0, return_inverse=True)
    who, where = who.ravel(), where.ravel()
    rows = np.argsort(where, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(where)))
    distance, _ = cKDTree(places).query(people)
    near = cKDTree(places).query_ball_point(people, distance * (1 + _NEAR) + _NEAR)
    lists = [np.concatenate([rows[starts[p] : starts[p + 1]] for p in place]) for place in near]
    sizes = np.array([len(found) for found in lists])
    first = np.append(0, np.cumsum(sizes))[:-1]
    pick = first[who] + (generator.random(len(who)) * sizes[who]).astype(np.int64)
    picked: NDArray[np.bool_] = np.concatenate(lists)[pick] == np.arange(len(who))
    return picked
