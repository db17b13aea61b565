"""Rows as points: the quasi-identifiers and the response on one scale, so that distances mean something.

Numbers, dates and ordered levels are one coordinate each. A nominal column has a coordinate for every node
of its hierarchy below the root (without a hierarchy: for every level), so that the squared distance of two
values grows with the height at which they meet. Every column is then divided by its own spread: none
counts more than another for its unit. A missing cell stands at the mean, and an indicator sets it apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.counts import Codebook
from sfumato.errors import DataError, ParameterError, listed
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Column, Kind

Floats = NDArray[np.float64]
_MOST = 512  # coordinates; beyond that distances say little and take long


@dataclass(frozen=True, eq=False)
class Space:
    """Standardized rows. points: (rows, coordinates), the response (if any) in the last ones."""

    points: Floats
    columns: tuple[str, ...]
    response: int  # how many of the coordinates are the response's


def space(
    data: pa.Table,
    columns: Sequence[Column],
    response: Column | None,
    response_weight: float,
    hierarchies: Mapping[str, Hierarchy],
    weights: Floats | None = None,
) -> Space:
    """The points of distortion (4): |x - x'|^2 + w (y - y')^2, all columns standardized."""
    parts = [_standardized(_coordinates(c, data, hierarchies), weights) for c in columns]
    last = 0
    if response is not None:
        own = _standardized(_coordinates(response, data, hierarchies), weights) * np.sqrt(response_weight)
        parts.append(own)
        last = own.shape[1]
    width = sum(part.shape[1] for part in parts)
    if width > _MOST:
        wide = [repr(c.name) for c, part in zip(columns, parts, strict=False) if part.shape[1] > 64]
        raise ParameterError(
            f"the columns have {width} coordinates, {_MOST} at most can be clustered: see {listed(wide)}.",
            hint="coarsen columns of many levels first, or treat ordered ones as ordinal",
        )
    return Space(np.ascontiguousarray(np.hstack(parts)), tuple(c.name for c in columns), last)


def numbers(column: Column, array: pa.ChunkedArray) -> Floats:
    """A numeric or date column as floats, missing as NaN. Dates in days."""
    if column.kind is Kind.DATE:
        array = array.cast(pa.timestamp("us")).cast(pa.int64())
        return _floats(array) / 86_400e6
    return _floats(array)


def _floats(array: pa.ChunkedArray) -> Floats:
    values: Floats = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
    if np.isinf(values).any():
        raise DataError("a number is infinite, and has no distance to others.", hint="clean the column first")
    return values


def _coordinates(column: Column, data: pa.Table, hierarchies: Mapping[str, Hierarchy]) -> Floats:
    array = data.column(column.name)
    if column.kind in (Kind.NUMERIC, Kind.DATE):
        return _with_gaps(numbers(column, array))
    if column.kind in (Kind.TEXT, Kind.CODES):
        raise ParameterError(
            f"column '{column.name}' of kind {column.kind} has no distances.", hint="leave it out"
        )
    book = codebook(column, array)
    codes = book.encode(array.combine_chunks()).astype(np.int64)
    if column.kind in (Kind.ORDINAL, Kind.FLAG):
        return _with_gaps(np.where(codes == len(book.levels), np.nan, codes.astype(np.float64)))
    return _embedded(book, codes, hierarchies.get(column.name))


def codebook(column: Column, array: pa.ChunkedArray) -> Codebook:
    """The codes of a column: as declared, or else as found."""
    if column.declared:
        return Codebook.declared(column)
    return Codebook.of_values(column, pc.unique(array))


def _with_gaps(values: Floats) -> Floats:
    gaps = np.isnan(values)
    if not gaps.any():
        return values[:, None]
    values = values / unit(values)
    mean = values[~gaps].mean() if not gaps.all() else 0.0
    spread = (values[~gaps].std() if not gaps.all() else 0.0) or 1.0
    return np.stack([np.where(gaps, mean, values), gaps * spread], axis=1)


def _embedded(book: Codebook, codes: NDArray[np.int64], hierarchy: Hierarchy | None) -> Floats:
    """One coordinate per node below the root: |a - b|^2 is twice the height at which a and b meet."""
    if hierarchy is None:
        return np.eye(book.size)[codes]
    texts = [str(v) for v in book.levels.to_pylist()]
    absent = sum(t not in hierarchy.places for t in texts)
    if absent:
        raise DataError(
            f"column '{book.name}': {absent} of its {len(texts)} values are not in the hierarchy.",
            hint="add them to the hierarchy",
        )
    below = hierarchy.size - 1
    leaves = np.zeros((len(texts) + 1, below + 1))
    for place, text in enumerate(texts):
        leaves[place, hierarchy.nodes[:-1, hierarchy.places[text]]] = 1.0
    leaves[-1, below] = np.sqrt(hierarchy.height)  # missing meets the others at the root only
    used = leaves[: book.size].any(axis=0)
    return leaves[:, used][codes]


def unit(values: Floats) -> float:
    """A power of two that brings the largest value to about 1: squares of what is left neither over- nor
    underflow, and no digit changes. Missing values do not count."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return float(2.0 ** np.clip(np.frexp(largest)[1], -1022, 1023)) if largest > 0 else 1.0


def _standardized(values: Floats, weights: Floats | None) -> Floats:
    """Centred, with a total variance of 1; a constant column is 0."""
    values = values / unit(values)
    centred = values - np.average(values, axis=0, weights=weights)
    spread = float(np.average((centred**2).sum(axis=1), weights=weights))
    out: Floats = centred / np.sqrt(spread) if spread > 1e-24 else np.zeros_like(centred)
    return out
