"""Clusters that are varied: merged with their nearest until sensitive columns are diverse or close enough.

The authors leave the response alone: a cluster whose rows all cost the same gives that away to whoever
knows that a person is in it. A criterion on the clusters bounds what can be learnt there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymization.shape.cluster import RowClusters, distortion
from sfumato.criteria import Classes, Criterion, KAnonymity, TCloseness
from sfumato.criteria.classes import Spread
from sfumato.errors import DataError, ParameterError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def beyond_size(criterion: Criterion) -> tuple[Criterion, ...]:
    """What is asked besides k rows; what cannot be asked of clusters is refused."""
    rest = tuple(part for part in criterion.parts if not isinstance(part, KAnonymity))
    trees = any(isinstance(p, TCloseness) and p.distance == "hierarchical" for p in rest)
    if trees or not all(p.sensitive for p in rest) or len(rest) == len(criterion.parts):
        raise ParameterError(
            "clusters can be asked for k rows, and for the variety of sensitive columns.",
            hint="KAnonymity(5), or KAnonymity(5) & LDiversity(3, 'diagnosis')",
        )
    return rest


def widen(
    points: Floats, clusters: RowClusters, criteria: tuple[Criterion, ...], codes: Mapping[str, Ints]
) -> RowClusters:
    """Merge each cluster that does not satisfy the criteria with the one nearest to it, until all do."""
    label = clusters.label
    while True:
        sizes = np.bincount(label)
        tables = {
            name: Spread.of(label, code, np.ones(len(code), np.int64), len(sizes), int(code.max()) + 1)
            for name, code in codes.items()
        }
        classes = Classes(sizes, tables=tables)
        good = np.logical_and.reduce([c.satisfied(classes) for c in criteria])
        if good.all():
            return RowClusters(label, sizes, distortion(points, label))
        if len(sizes) == 1:
            asked = " and ".join(c.describe() for c in criteria)
            raise DataError(
                f"not even all rows together reach {asked}.", hint="ask for less, or coarsen the column"
            )
        label = joined(points, label, ~good)


def joined(points: Floats, label: Ints, poor: NDArray[np.bool_]) -> Ints:
    """Each poor cluster joined to its nearest one; chains become one cluster."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    sizes = np.bincount(label)
    means = np.stack([np.bincount(label, x) / sizes for x in points.T], axis=1)
    those = np.flatnonzero(poor)
    _, near = cKDTree(means).query(means[those], k=2)
    partner = np.where(near[:, 0] == those, near[:, 1], near[:, 0])  # means may coincide
    links = coo_matrix((np.ones(len(those)), (those, partner)), shape=(len(sizes), len(sizes)))
    _, joined = connected_components(links, directed=False)
    merged: Ints = joined.astype(np.int64)[label]
    return merged
