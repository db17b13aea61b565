"""Sums and cross-products from the same layer as the counts: X'X, sums by group, group sizes.

Rows with a missing value in any of the summed columns are left out of all of them, and their
number is reported, so that every figure of one result is about the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import pushdown
from sfumato.counts.codebook import Codebook
from sfumato.counts.tables import Counts, flat_keys
from sfumato.counts.values import canonical
from sfumato.errors import ParameterError
from sfumato.schema import Column, Kind
from sfumato.sources import EngineSource, engine_faults

Real = NDArray[np.float64]
_MERGE = 2**17  # groups that may wait before they are merged: every batch of a file brings its own


@dataclass(frozen=True, eq=False)
class CrossProducts:
    """X'WX of a matrix whose first column is 1: sizes, sums and products of the named columns.

    columns: the names behind the constant.  matrix: (1 + columns, 1 + columns).
    rows: complete rows, which are in.  dropped: incomplete rows, which are not.
    """

    columns: tuple[str, ...]
    matrix: Real
    rows: int
    dropped: int


@dataclass(frozen=True, eq=False)
class Sums:
    """Per group: how many complete rows, and the sums of the named columns.

    groups: the group of each row of `totals` and its size.  totals: (groups, columns).
    """

    columns: tuple[str, ...]
    groups: Counts
    totals: Real
    dropped: int

    @property
    def means(self) -> Real:
        """Totals over sizes: what agencies publish."""
        out: Real = self.totals / self.groups.n[:, None]
        return out


def require_numeric(columns: Sequence[Column]) -> None:
    """Only quantities can be summed."""
    wrong = [
        repr(c.name)
        for c in columns
        if c.kind is not Kind.NUMERIC and c.type not in ("integer", "real", "decimal")
    ]
    if wrong:
        raise ParameterError(f"not numeric: {', '.join(wrong)}.", hint="sum numeric columns only")


def _complete(batch: pa.RecordBatch, columns: Sequence[Column]) -> tuple[Real, NDArray[np.bool_]]:
    """The columns as a matrix (rows, columns), and which rows have them all."""
    arrays = [canonical(c, batch.column(i)).cast(pa.float64(), safe=False) for i, c in enumerate(columns)]
    x = np.stack([a.fill_null(0.0).to_numpy(zero_copy_only=False) for a in arrays], axis=1)
    gaps = np.zeros(batch.num_rows, bool)
    for a in arrays:
        if a.null_count:
            gaps |= a.is_null().to_numpy(zero_copy_only=False)
    return x, ~gaps


def cross_products_of_batches(
    batches: Iterable[pa.RecordBatch], columns: Sequence[Column], weight: Column | None
) -> CrossProducts:
    """Batches hold the columns, then the weight."""
    matrix = np.zeros((1 + len(columns), 1 + len(columns)))
    rows = dropped = 0
    for batch in batches:
        x, ok = _complete(batch, columns)
        one = np.column_stack([np.ones(len(x)), x])[ok]
        w = pushdown.batch_weights(weight, batch.column(len(columns)))[ok, None] if weight else 1.0
        matrix += one.T @ (one * w)
        rows += int(ok.sum())
        dropped += int((~ok).sum())
    return CrossProducts(tuple(c.name for c in columns), matrix, rows, dropped)


@engine_faults()
def cross_products_of_engine(
    source: EngineSource, columns: Sequence[Column], weight: Column | None
) -> CrossProducts:
    """One aggregation in the engine."""
    frame, rows, dropped = _complete_frame(source, columns, weight)
    names = ["one", *[f"x{i}" for i in range(len(columns))]]
    pairs = [(i, j) for i in range(len(names)) for j in range(i, len(names))]
    products = [(nw.col(names[i]) * nw.col(names[j]) * nw.col("w")).alias(f"p{i}_{j}") for i, j in pairs]
    table = pushdown.collect(frame.select(products).select(nw.all().sum()))
    matrix = np.zeros((len(names), len(names)))
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = table.column(f"p{i}_{j}")[0].as_py() or 0.0
    return CrossProducts(tuple(c.name for c in columns), matrix, rows, dropped)


def sums_of_batches(
    batches: Iterable[pa.RecordBatch],
    columns: Sequence[Column],
    books: Sequence[Codebook],
    weight: Column | None,
) -> Sums:
    """Batches hold the summed columns, the group columns, then the weight. Memory follows the groups."""
    p = len(columns)
    cells: list[NDArray[Any]] = [np.empty((0, len(books)), np.uint32)]
    values: list[Real] = [np.empty((0, 1 + p))]
    waiting = dropped = 0
    for batch in batches:
        x, ok = _complete(batch, columns)
        codes = np.stack([b.encode(batch.column(p + i)) for i, b in enumerate(books)], axis=1)[ok]
        w = (
            pushdown.batch_weights(weight, batch.column(p + len(books)))[ok]
            if weight
            else np.ones(int(ok.sum()))
        )
        cell, value = _group(codes, np.column_stack([w, x[ok] * w[:, None]]), books)
        cells.append(cell)
        values.append(value)
        waiting += len(cell)
        dropped += int((~ok).sum())
        if waiting > max(len(cells[0]), _MERGE):
            cell, value = _group(np.concatenate(cells), np.concatenate(values), books)
            cells, values, waiting = [cell], [value], 0
    cell, value = _group(np.concatenate(cells), np.concatenate(values), books)
    return _sums(columns, books, cell, value, weight, dropped)


@engine_faults()
def sums_of_engine(
    source: EngineSource, columns: Sequence[Column], books: Sequence[Codebook], weight: Column | None
) -> Sums:
    """One group-by in the engine."""
    keys = [pushdown.key(source, b).alias(f"k{i}") for i, b in enumerate(books)]
    frame, _, dropped = _complete_frame(source, columns, weight, keys)
    names = [f"k{i}" for i in range(len(books))]
    totals = [nw.col("w").sum().alias("t")]
    totals += [(nw.col(f"wx{i}")).sum().alias(f"t{i}") for i in range(len(columns))]
    weighted = [(nw.col(f"x{i}") * nw.col("w")).alias(f"wx{i}") for i in range(len(columns))]
    table = pushdown.collect(frame.with_columns(weighted).group_by(names).agg(totals))
    codes = np.stack(
        [pushdown.read_key(source, b, table.column(f"k{i}")) for i, b in enumerate(books)], axis=1
    )
    wanted = ["t", *[f"t{i}" for i in range(len(columns))]]
    values = np.column_stack([table.column(n).to_numpy().astype(np.float64) for n in wanted])
    return _sums(columns, books, *_group(codes, values, books), weight, dropped)


def _complete_frame(
    source: EngineSource, columns: Sequence[Column], weight: Column | None, keys: Sequence[nw.Expr] = ()
) -> tuple[nw.LazyFrame[Any], int, int]:
    """The complete rows as columns one, x0, x1, ..., w and the keys; how many there are, and are not."""
    if weight is not None:
        pushdown.require_weights(source, weight)
    w = pushdown.number(source, weight) if weight else nw.lit(1.0)
    selected = [pushdown.number(source, c).alias(f"x{i}") for i, c in enumerate(columns)]
    frame = source.frame.select([*keys, *selected, w.alias("w"), nw.lit(1.0).alias("one")])
    complete = frame
    for i in range(len(columns)):
        complete = complete.filter(~nw.col(f"x{i}").is_null())
    rows = int(pushdown.collect(complete.select(nw.len())).column(0)[0].as_py())
    return complete, rows, pushdown.rows(source) - rows


def _group(codes: NDArray[Any], values: Real, books: Sequence[Codebook]) -> tuple[NDArray[Any], Real]:
    """Rows of the same group summed, groups sorted."""
    keys = flat_keys(codes, [b.size for b in books])
    if keys is None:
        raise ParameterError("too many groups to number.", hint="group by fewer columns")
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=np.uint64(2**64 - 1)))
    if not len(first):
        return codes, values
    return codes[order[first]], np.add.reduceat(values[order], first, axis=0)


def _sums(
    columns: Sequence[Column], books: Sequence[Codebook], codes: NDArray[Any], values: Real,
    weight: Column | None, dropped: int,
) -> Sums:  # fmt: skip
    sizes = values[:, 0] if weight else np.rint(values[:, 0]).astype(np.int64)
    groups = Counts(tuple(books), codes.astype(np.uint32), sizes)
    return Sums(tuple(c.name for c in columns), groups, values[:, 1:], dropped)
