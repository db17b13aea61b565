"""Rows as points: how near released rows come to given people.

The distance of two rows is the mean over columns: 0 or 1 for categories, the difference of ranks for
numbers and dates. A cell that cannot be read as the column's type (a generalized value, say) is at
distance 1 from every value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import DataError, listed
from sfumato.schema import Kind
from sfumato.table import Table

Floats = NDArray[np.float64]

_CELLS = 4_000_000  # distances in memory at once
_NEAR_RANK = 0.05  # ranks this near count as the same value


@dataclass(frozen=True, eq=False)
class Coder:
    """The columns of a population as numbers: codes for categories, ranks in [0, 1] for numbers."""

    columns: tuple[str, ...]
    ranked: NDArray[np.bool_]
    levels: tuple[pa.Array, ...]

    @classmethod
    def of(cls, tables: Sequence[Table], columns: Sequence[str]) -> Coder:
        """From what some tables of people hold together; the first says which columns are numbers."""
        names = tuple(columns)
        for table in tables:
            table.schema.require(names)
        if not names or not all(table.rows() for table in tables):
            raise DataError("there are no rows or no columns to compare.", hint="give tables with rows")
        held = [table.select(names).to_arrow() for table in tables]
        kinds = [tables[0].schema[n].kind for n in names]
        ranked = np.array([k in (Kind.NUMERIC, Kind.DATE) for k in kinds])
        levels = []
        for name, numeric in zip(names, ranked, strict=True):
            parts = [pc.drop_null(rows[name].combine_chunks()) for rows in held]
            if numeric:
                levels.append(pa.array(np.sort(np.concatenate([_numbers(p) for p in parts]))))
            else:
                levels.append(pc.unique(pa.concat_arrays([p.cast(pa.string()) for p in parts])))
        return cls(names, ranked, tuple(levels))

    def encode(self, table: Table | pa.Table) -> NDArray[np.float32]:
        """(rows, columns); NaN for a missing number, codes below 0 for categories not known."""
        lacking = [repr(n) for n in self.columns if n not in _names(table)]
        if lacking:
            raise DataError(
                f"{len(lacking)} column{'s' * (len(lacking) > 1)} missing in a table that is compared: "
                f"{listed(lacking)}.",
                hint="name the columns that all tables share",
            )
        rows = table.select(list(self.columns))
        rows = rows.to_arrow() if isinstance(rows, Table) else rows
        out = np.empty((rows.num_rows, len(self.columns)), np.float32)
        for i, name in enumerate(self.columns):
            values = rows[name].combine_chunks()
            levels = self.levels[i]
            if self.ranked[i]:
                numbers = _numbers(values)
                known = levels.to_numpy()
                below = np.searchsorted(known, numbers) + np.searchsorted(known, numbers, side="right")
                ranks = np.where(np.isnan(numbers), np.nan, below / max(2 * len(known), 1))
                # What no number can be made of differs from all, a missing cell included.
                unread = np.isnan(numbers) & ~values.is_null().to_numpy(zero_copy_only=False)
                out[:, i] = np.where(unread, np.inf, ranks)
            else:
                codes = pc.index_in(values.cast(pa.string()), value_set=levels).fill_null(-1)
                out[:, i] = codes.to_numpy(zero_copy_only=False)
                out[values.is_null().to_numpy(zero_copy_only=False), i] = -2
        return out


def _names(table: Table | pa.Table) -> Sequence[str]:
    return table.columns if isinstance(table, Table) else table.column_names


def _numbers(values: pa.Array) -> Floats:
    """Numbers and dates as floats; what cannot be read is NaN."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.timestamp("us")).cast(pa.int64())
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        fits = pc.match_substring_regex(values, r"^\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*$")
        values = pc.utf8_trim_whitespace(pc.if_else(fits, values, None))
    floats = values.cast(pa.float64(), safe=False).fill_null(float("nan"))
    return np.asarray(floats.to_numpy(zero_copy_only=False), np.float64)


def _gaps(people: Any, rows: Any, ranked: NDArray[np.bool_], j: int) -> NDArray[np.float32]:
    """Distances in one column, (people, rows)."""
    a, b = people[:, None, j], rows[None, :, j]
    if not ranked[j]:
        # A category that the population does not have (-1) is no person's.
        return np.asarray((a != b) | (b == -1), np.float32)
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b)
    gap = np.where(np.isnan(gap), np.where(np.isnan(a) & np.isnan(b), 0.0, 1.0), gap)
    return np.asarray(np.minimum(gap, 1.0), np.float32)


def surroundings(
    people: NDArray[np.float32],
    rows: NDArray[np.float32],
    ranked: NDArray[np.bool_],
    *,
    fit: bool = True,
) -> Floats:
    """What the rows look like around each person, (people, features).

    Features: log numbers of rows within no, one and two columns' distance; minus the nearest distance; log
    of a kernel density; and, with `fit`, how common the person's values and pairs of values are.
    """
    n, width = len(people), len(ranked)
    if not len(rows):
        raise DataError("a release has no rows.", hint="there is nothing to attack")
    near, kernel, best = np.zeros((n, 3)), np.zeros(n), np.full(n, np.inf)
    singles, pairs = np.zeros((n, width)), np.zeros((n, width, width))
    step = max(1, _CELLS // max(n * (width if fit else 1), 1))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        total = np.zeros((n, len(block)), np.float32)
        agree = np.empty((n, len(block), width if fit else 0), np.float32)
        for j in range(width):
            gap = _gaps(people, block, ranked, j)
            total += gap
            if fit:
                agree[:, :, j] = gap <= _NEAR_RANK
        for i, radius in enumerate((1e-6, 1.0 + 1e-6, 2.0 + 1e-6)):
            near[:, i] += (total <= radius).sum(axis=1)
        kernel += np.exp(-2.0 * total).sum(axis=1)
        best = np.minimum(best, total.min(axis=1))
        if fit:
            singles += agree.sum(axis=1)
            pairs += np.matmul(agree.transpose(0, 2, 1), agree)
    columns = [np.log1p(near), -best[:, None] / width, np.log(kernel / len(rows) + 1e-12)[:, None]]
    if fit:
        upper = np.triu_indices(width, 1)
        columns.append(np.log((singles + 0.5) / len(rows)).mean(axis=1)[:, None])
        both = np.log((pairs[:, upper[0], upper[1]] + 0.5) / len(rows))
        columns.append(both.mean(axis=1)[:, None] if width > 1 else np.zeros((n, 1)))
    return np.concatenate(columns, axis=1)
