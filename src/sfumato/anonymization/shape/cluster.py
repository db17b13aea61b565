"""k-member clustering: as many clusters as there can be with k rows each, rows alike within them.

The greedy algorithm of Byun et al. with the squared Euclidean distortion of Wei et al. (4). What they leave
open is a parameter here. Exact, it looks at all rows for every row: fine to tens of thousands. Beyond that
the rows are first cut into blocks by medians (a kd-tree whose leaves hold a multiple of k rows), and each
block is clustered by itself. The greedy choice leaves scattered rows for the last clusters of each block, so
the worst clusters of all blocks are then pooled and clustered again. What is left of the cost in distortion
is measured against the exact algorithm on a sample.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, ParameterError
from sfumato.methods.parameters import Parameter
from sfumato.methods.shapes import Either, Number, Text
from sfumato.progress import report
from sfumato.seeds import Key

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SAMPLE, _MOST_SAMPLED = 10_000, 40_000  # rows on which blocks are compared with the exact algorithm
_POOLS = 4  # times the worst clusters of all blocks are clustered again
_LOOKED_AT = 4_096  # rows by which it is decided which coordinate varies most
_PER_BLOCK, _LARGEST = 400, 64_000  # clusters a block should have at least, unless it grows beyond reason


@dataclass(frozen=True)
class Clustering:
    """What k-member clustering leaves open. response_weight is w of (4); all columns are standardized.

    >>> alike = sf.Clustering(response_weight=2.0, ties="random")
    >>> sf.ClusterResample(response="cost", clustering=alike).clustering.response_weight
    2.0
    """

    response_weight: Annotated[
        float, Parameter(Number("How much the response counts beside the quasi-identifiers.", 0))
    ] = 1.0
    block: Annotated[
        int | None,
        Parameter(
            Either(
                (Number("", 2, whole=True), Text("", ("all",))),
                "a whole number from 2 up, or 'all'",
                "Rows clustered together, more where k is large; 'all' (None in Python) is exact, and slow.",
            ),
            read=lambda value, folder: None if value == "all" else value,
            write=lambda value: "all" if value is None else value,
        ),
    ] = 12_000
    furthest_from: Annotated[
        Literal["start", "centroid"],
        Parameter(
            Text("What the next cluster starts furthest from, of the last one.", ("start", "centroid"))
        ),
    ] = "start"
    ties: Annotated[
        Literal["first", "random"],
        Parameter(Text("Among rows equally far: the first, or a random one.", ("first", "random"))),
    ] = "first"

    def __post_init__(self) -> None:
        faults = []
        if not (np.isfinite(self.response_weight) and self.response_weight >= 0):
            faults.append("response_weight must be a number from 0 up")
        if self.block is not None and self.block < 2:
            faults.append("block must be at least 2 rows, or None")
        if self.furthest_from not in ("start", "centroid"):
            faults.append("furthest_from must be start or centroid")
        if self.ties not in ("first", "random"):
            faults.append("ties must be first or random")
        if faults:
            raise ParameterError(f"clustering: {'; '.join(faults)}.", hint="Clustering(block=12000)")


@dataclass(frozen=True, eq=False)
class RowClusters:
    """Which cluster each row is in. label: (rows,), 0, 1, ...; sizes: (clusters,); distortion: summed (4)."""

    label: Ints
    sizes: Ints
    distortion: float


def k_member(
    points: Floats,
    k: int,
    how: Clustering | None = None,
    *,
    weights: Floats | None = None,
    generator: np.random.Generator | None = None,
) -> RowClusters:
    """Clusters of at least k rows: floor(rows / k) of them."""
    how = how or Clustering()
    rows = len(points)
    if k < 1 or rows < k:
        raise DataError(f"{rows:,} rows cannot form a cluster of {k}.", hint="a smaller k, or more rows")
    order = np.arange(rows)
    if how.ties == "random":
        order = (generator or Key.from_seed(0).generator("ties")).permutation(rows)
    block = rows if how.block is None else max(how.block, min(_PER_BLOCK * k, _LARGEST))
    blocks = _blocks(points, order, k, block)
    label = np.empty(rows, np.int64)
    first, done = 0, 0
    with ThreadPoolExecutor(2) as pool:
        parts = pool.map(lambda rows_: _clustered(points, rows_, k, how, weights), blocks)
        for rows_, part in zip(blocks, parts, strict=True):
            label[rows_] = part + first
            first += len(rows_) // k
            done += len(rows_)
            report("clustering", done, rows)
    each = _distortions(points, label, weights)
    for _ in range(_POOLS if len(blocks) > 1 else 0):
        if not _pooled(points, label, each, k, block, how, weights):
            break
    return RowClusters(label, np.bincount(label, minlength=first), float(each.sum()))


def distortion(points: Floats, label: Ints, weights: Floats | None = None) -> float:
    """The sum over rows of (4): squared distance to the (weighted) mean of the own cluster."""
    return float(_distortions(points, label, weights).sum())


def _distortions(points: Floats, label: Ints, weights: Floats | None) -> Floats:
    """(clusters,): the distortion of each."""
    mass = weights if weights is not None else np.ones(len(points))
    total = np.bincount(label, mass)
    out = np.zeros(len(total))
    for column in points.T:
        mean = np.bincount(label, mass * column) / np.where(total > 0, total, 1)
        out += np.bincount(label, mass * (column - mean[label]) ** 2, len(out))
    return out


def _pooled(
    points: Floats, label: Ints, each: Floats, k: int, block: int, how: Clustering, weights: Floats | None
) -> bool:
    """Cluster the rows of the worst clusters anew, as many as a block holds; whether that was better.

    each: (clusters,), their distortions.
    """
    worst = np.argsort(-each, kind="stable")
    pool = worst[: max(2, int(np.searchsorted(np.cumsum(np.bincount(label)[worst]), block)))]
    chosen = np.zeros(len(each), np.bool_)
    chosen[pool] = True
    rows = np.flatnonzero(chosen[label])
    fresh = _clustered(points, rows, k, how, weights)
    if fresh.max() + 1 != len(pool):
        return False
    found = _distortions(points[rows], fresh, None if weights is None else weights[rows])
    if found.sum() >= each[pool].sum():
        return False
    label[rows], each[pool] = pool[fresh], found
    return True


def against_exact(
    points: Floats,
    k: int,
    how: Clustering,
    generator: np.random.Generator,
    weights: Floats | None = None,
) -> float | None:
    """How many times the exact distortion the blocks have, on a sample of rows.

    None if they are exact, or if k is so large (above 50) that a sample of enough clusters would take long.
    """
    if how.block is None or len(points) <= max(how.block, min(_PER_BLOCK * k, _LARGEST)):
        return None
    size = min(len(points), max(_SAMPLE, 2 * _PER_BLOCK * k))  # fewer clusters would not stand for the whole
    if size > _MOST_SAMPLED:
        return None
    rows = np.sort(generator.choice(len(points), size, replace=False))
    some, own = points[rows], None if weights is None else weights[rows]
    exact = k_member(some, k, replace(how, block=None, ties="first"), weights=own).distortion
    cut = k_member(some, k, replace(how, block=len(some) // 2, ties="first"), weights=own).distortion
    return cut / exact if exact > 0 else None


def _blocks(points: Floats, order: Ints, k: int, size: int) -> list[Ints]:
    """Cut at the median of the coordinate that varies most, at a multiple of k, until none is too large."""
    waiting, done = [(order, np.ascontiguousarray(points[order].T))], []
    while waiting:
        rows, columns = waiting.pop()
        half = len(rows) // 2 // k * k
        if len(rows) <= size or not half:  # or two halves of k rows there cannot be
            done.append(rows)
            continue
        low = _lower(columns, half)
        waiting += [(rows[~low], columns[:, ~low]), (rows[low], columns[:, low])]
    return done


def _lower(columns: Floats, count: int) -> NDArray[np.bool_]:
    """(rows,): the lowest `count` rows by the coordinate that varies most; those at the cut by the next one.

    columns: (d, rows).
    """
    some = columns[:, :: 1 + columns.shape[1] // _LOOKED_AT]
    value = columns[np.argmax(some.var(axis=1))]
    middle = np.partition(value, count)[count]
    low, tied = value < middle, np.flatnonzero(value == middle)
    rest = count - int(low.sum())
    if len(tied) == len(value):  # they are all alike
        low[:rest] = True
    elif rest:
        low[tied[_lower(columns[:, tied], rest)]] = True
    return np.asarray(low, np.bool_)


def _clustered(points: Floats, rows: Ints, k: int, how: Clustering, weights: Floats | None) -> Ints:
    """The clusters of one block, from 0. Rows at the same point are clustered as one, with multiplicity."""
    from sfumato.anonymization.shape import _kernels

    here = points[rows]
    mass = np.ones(len(rows)) if weights is None else weights[rows]
    # Points in the order of their first rows, so that ties go to the first row; rows of different weight are
    # not alike.
    number, arrival = _kernels.distinct(here if weights is None else np.column_stack([here, mass]))
    of, cluster, taken = _kernels.k_member(
        here[arrival], np.bincount(number), mass[arrival], k, 0, how.furthest_from == "centroid"
    )
    by_row = np.argsort(number, kind="stable")
    in_order = np.argsort(of, kind="stable")  # pieces of a point one after the other, as its rows lie
    out = np.empty(len(rows), np.int64)
    out[by_row] = np.repeat(cluster[in_order], taken[in_order])
    return out
