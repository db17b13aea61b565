"""Rows as points: how near released rows come to given people.

The distance of two rows is the mean over columns: 0 or 1 for categories, the difference of ranks for
numbers and dates. A cell that cannot be read as the column's type (a generalized value, say) is at
distance 1 from every value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.assessment.attacks.intruder import in_threads
from sfumato.assessment.audit.intervals import portions
from sfumato.errors import DataError, listed
from sfumato.schema import Kind
from sfumato.table import Table

Floats = NDArray[np.float64]

_CELLS = 4_000_000  # distances in memory at once
_ROWS = 16_384  # released rows that people are compared with at once
_FAR = 6.0  # columns: rows farther than this weigh less than 1e-5 in the density, and are left out
_MISSING = 3.0  # the rank of a missing number: equal to itself, at distance 1 from all others
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
        """(rows, columns); a missing number is far from all ranks, a category not known is NaN."""
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
                ranks = np.where(np.isnan(numbers), _MISSING, below / max(2 * len(known), 1))
                # What no number can be made of differs from all, a missing cell included.
                unread = np.isnan(numbers) & ~values.is_null().to_numpy(zero_copy_only=False)
                out[:, i] = np.where(unread, np.inf, ranks)
            else:
                codes = pc.index_in(values.cast(pa.string()), value_set=levels).cast(pa.float64())
                out[:, i] = codes.to_numpy(zero_copy_only=False)  # null, not among the levels, is NaN
                out[values.is_null().to_numpy(zero_copy_only=False), i] = -1
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


def _gaps(
    people: NDArray[np.float32], rows: NDArray[np.float32], ranked: NDArray[np.bool_], j: int
) -> NDArray[np.float32]:
    """Distances in one column, (people, rows)."""
    a, b = people[:, None, j], rows[None, :, j]
    if not ranked[j]:
        return np.asarray(a != b, np.float32)
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b)
    return np.where(gap < 1.0, gap, np.float32(1.0))


def surroundings(
    people: NDArray[np.float32],
    rows: NDArray[np.float32],
    ranked: NDArray[np.bool_],
    *,
    fit: bool = True,
) -> Floats:
    """What the rows look like around each person, (people, features).

    Features: log numbers of rows within no, one and two columns' distance; minus the nearest distance; log
    of a kernel density; with `fit`, how common the person's values and pairs of values are; without, the
    log of a density eight times as sharp less that of the first: how much the rows pile up on the person
    where, by how many lie around, few would be expected.
    """
    n, width, total = len(people), len(ranked), len(rows)
    if not len(rows):
        raise DataError("a release has no rows.", hint="there is nothing to attack")
    from sfumato.assessment.attacks._kernels import surround

    whole = rows
    order = np.argsort(ranked, kind="stable")  # numbers last
    persons = np.ascontiguousarray(people[:, order])
    near, kernel, best = np.zeros((n, 3)), np.zeros((n, 2)), np.full(n, np.inf)
    for part in portions(len(rows), _ROWS, "distances"):
        block, rest = rows[:part], rows[part:]
        by_column = np.ascontiguousarray(block[:, order].T)

        def search(some: slice, by_column: NDArray[np.float32] = by_column) -> None:
            surround(persons[some], by_column, int(ranked.sum()), _FAR, near[some], kernel[some], best[some])

        in_threads(search, n)
        rows = rest
    columns = [np.log1p(near), -best[:, None] / width, np.log(kernel[:, :1] / total + 1e-12)]
    # Of rows that all lie far off, the nearest counts for all.
    smooth, sharp = (np.maximum(np.log(kernel[:, i] + 1e-300), -b * best) for i, b in enumerate((2, 16)))
    last = _commonness(people, whole, ranked) if fit else (sharp - smooth)[:, None]
    return np.concatenate([*columns, last], axis=1)


def _commonness(people: NDArray[np.float32], rows: NDArray[np.float32], ranked: NDArray[np.bool_]) -> Floats:
    """Mean log share of rows that agree with a person in a column, and in a pair of columns: (people, 2)."""
    n, width = len(people), len(ranked)
    singles, pairs = np.zeros((n, width)), np.zeros((n, width, width))
    step = max(1, _CELLS // max(n * width, 1))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        gaps = [_gaps(people, block, ranked, j) <= _NEAR_RANK for j in range(width)]
        agree = np.stack(gaps, axis=2).astype(np.float32)
        singles += agree.sum(axis=1)
        pairs += np.matmul(agree.transpose(0, 2, 1), agree)
    upper = np.triu_indices(width, 1)
    alone = np.log((singles + 0.5) / len(rows)).mean(axis=1)
    both = np.log((pairs[:, upper[0], upper[1]] + 0.5) / len(rows))
    return np.stack([alone, both.mean(axis=1) if width > 1 else np.zeros(n)], axis=1)
