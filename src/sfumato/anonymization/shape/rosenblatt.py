"""Rosenblatt's second half: from uniform numbers to the empirical law of the quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymization.shape.draws import Draws
from sfumato.anonymization.shape.space import codebook, numbers, unit
from sfumato.schema import Column, Kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OrderedCode:
    """A quasi-identifier as an ordered code with a number for each code.

    Numeric and date columns are binned first, since one row per value would make the inverse point back at
    that row: by the schema's edges, else as many bins of about equally many rows as asked for, unless there
    are no more distinct values than that. codes: (rows,); score: (codes,), what a code means as a number, in
    any unit.
    """

    name: str
    codes: Ints
    score: Floats


def variable(column: Column, array: pa.ChunkedArray, bins: int) -> OrderedCode:
    """A column as the transformation needs it. Missing is the last code, beyond all others."""
    if column.kind in (Kind.NUMERIC, Kind.DATE):
        codes, score = _binned(column, numbers(column, array), bins)
    else:  # levels in the schema's order, or sorted
        book = codebook(column, array)
        codes, score = book.encode(array.combine_chunks()).astype(np.int64), np.arange(book.size, dtype=float)
    return OrderedCode(column.name, codes, score)


def _binned(column: Column, values: Floats, bins: int) -> tuple[Ints, Floats]:
    gaps = np.isnan(values)
    present = values[~gaps]
    if not len(present):
        return np.zeros(len(values), np.int64), np.zeros(1)
    distinct = np.unique(present)
    if column.edges is not None and column.kind is Kind.NUMERIC:
        inner = np.array([float(e) for e in column.edges[1:-1]])  # type: ignore[arg-type]
    elif len(distinct) <= bins:
        inner = distinct[1:]
    else:
        inner = np.unique(np.quantile(present, np.arange(1, bins) / bins))
    codes = np.searchsorted(inner, np.where(gaps, distinct[0], values), side="right")
    used, codes = np.unique(codes, return_inverse=True)
    totals = np.bincount(codes[~gaps], minlength=len(used))
    present = present / unit(present)
    sums = np.bincount(codes[~gaps], present, minlength=len(used))
    score = sums / np.maximum(totals, 1)
    if gaps.any():
        codes = np.where(gaps, len(used), codes)
        score = np.append(score, score.max() + (present.std() or 1.0))
    return codes.astype(np.int64), score


def donors(uniforms: Floats, variables: list[OrderedCode], weights: Floats, draws: Draws) -> Ints:
    """Eq. (9): for each row of uniforms, an original row whose quasi-identifiers it takes.

    Rows alike in all codes are one point of the empirical law; among them one is drawn by its weight.
    """
    from sfumato.anonymization.shape import _kernels

    codes = np.stack([v.codes for v in variables], axis=1)
    order = np.lexsort(codes.T[::-1])
    rows = np.ascontiguousarray(codes[order])
    cumulative = np.append(0.0, np.cumsum(weights[order]))
    at = np.empty(len(uniforms), np.int64)
    inside = np.clip(uniforms, np.finfo(float).tiny, 1.0)  # u = 0 would be below the first value
    _kernels.empirical_inverse(inside, rows, cumulative, at)
    ends = np.append(np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1, len(rows))
    end = ends[np.searchsorted(ends, at, side="right")]
    aim = cumulative[at] + draws.uniform("alike", len(at)) * (cumulative[end] - cumulative[at])
    picked = np.clip(np.searchsorted(cumulative, aim, side="right") - 1, at, end - 1)
    found: Ints = order[picked]
    return found
