"""Drawn rows of several files as numbers and codes that mean the same, read in one pass each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.reading.same_values import same_text
from sfumato.schema import Kind
from sfumato.table import Table

Matrix = tuple[NDArray[Any], NDArray[Any]]
Ranges = dict[str, tuple[float, float]]

_ORDERED = {Kind.NUMERIC, Kind.DATE}


def as_matrices(
    files: Sequence[Table], names: Sequence[str], rows: Sequence[NDArray[np.int64]]
) -> list[Matrix]:
    """The chosen rows of each file: numbers scaled to the first file's range, and codes; one row per column.

    A column is numbers where every file holds it as numbers, or dates, of one type; else codes.
    """
    measured = [n for n in names if _measured(files, n)]
    ranges: Ranges = {}
    cells = [
        _read(f, names, chosen, measured, ranges if i == 0 else None)
        for i, (f, chosen) in enumerate(zip(files, rows, strict=True))
    ]
    numbers: list[list[NDArray[np.float32]]] = [[] for _ in files]
    codes: list[list[NDArray[np.uint32]]] = [[] for _ in files]
    widest = 0
    for name in names:
        columns = [c.column(name).combine_chunks() for c in cells]
        if name in measured:
            low, high = ranges.get(name, (0.0, 1.0))
            for out, column in zip(numbers, columns, strict=True):
                out.append(
                    ((_numbers(column) - low) / (high - low if high > low else 1.0)).astype(np.float32)
                )
            continue
        text = same_text(columns)
        every = pc.unique(pa.concat_arrays(text)).drop_null()
        widest = max(widest, len(every))
        for coded, column in zip(codes, text, strict=True):
            places = pc.index_in(column, value_set=every).fill_null(len(every))
            coded.append(places.to_numpy(zero_copy_only=False).astype(np.uint32))
    narrow = np.uint16 if widest < 2**16 else np.uint32
    return [
        (_stacked(x, len(chosen), np.float32), _stacked(c, len(chosen), narrow))
        for x, c, chosen in zip(numbers, codes, rows, strict=True)
    ]


def _measured(files: Sequence[Table], name: str) -> bool:
    columns = [f.schema[name] for f in files]
    return all(c.kind in _ORDERED for c in columns) and len({c.type for c in columns}) == 1


def _read(
    file: Table,
    names: Sequence[str],
    chosen: NDArray[np.int64],
    measured: Sequence[str],
    ranges: Ranges | None,
) -> pa.Table:
    """The chosen rows, by number; in one pass: an engine may give rows in another order the next time."""
    kept, seen = [], 0
    for batch in file.batches(names):
        first, last = np.searchsorted(chosen, [seen, seen + batch.num_rows])
        kept.append(batch.take(pa.array(chosen[first:last] - seen)))
        seen += batch.num_rows
        if ranges is not None:
            for name in measured:
                _widen(ranges, name, _numbers(batch.column(name)))
    return pa.Table.from_batches(kept)


def _widen(ranges: Ranges, name: str, numbers: NDArray[np.float64]) -> None:
    finite = numbers[np.isfinite(numbers)]
    if len(finite):
        low, high = ranges.get(name, (np.inf, -np.inf))
        ranges[name] = min(low, float(finite.min())), max(high, float(finite.max()))


def _numbers(cells: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_date32(cells.type):
        cells = cells.cast(pa.int32())
    elif pa.types.is_timestamp(cells.type):
        cells = cells.cast(pa.int64())
    out: NDArray[np.float64] = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return out


def _stacked(columns: list[Any], rows: int, kind: Any) -> NDArray[Any]:
    return np.stack(columns).astype(kind) if columns else np.empty((0, rows), kind)
