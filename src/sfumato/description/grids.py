"""Public marks that numbers and days are counted between before anything is known of them; edges from counts.

A grid is no function of the data. Of numbers it is 1 to 9 times each power of ten, with both signs and zero;
of days the first of each year. Finer ones are the user's, who must not have looked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.schema import Column, Kind

_LOWEST, _HIGHEST = -2, 8  # powers of ten
_YEARS = range(1900, 2101)


def grid_of(column: Column, given: Sequence[float] | None) -> list[Any]:
    """The marks of a column, increasing."""
    if column.kind is Kind.DATE:
        days = [date(y, 1, 1) for y in _YEARS]
        if column.type == "date":
            return days
        zone = UTC if column.type == "instant" else None
        return [datetime.combine(d, time(), zone) for d in days]
    if given is not None:
        marks = [float(m) for m in given]
    else:
        lowest = 0 if column.type == "integer" else _LOWEST
        up = [float(f"{d}e{k}") for k in range(lowest, _HIGHEST + 1) for d in range(1, 10)]
        marks = [*(-m for m in reversed(up)), 0.0, *up]
    if column.type == "integer":
        return sorted({math.floor(m) for m in marks})
    return [Decimal(str(m)) for m in marks] if column.type == "decimal" else marks


def check_grid(given: Sequence[float] | None) -> None:
    """A grid of the user's: finite numbers that increase."""
    if given is None:
        return
    numbers = all(isinstance(m, int | float) and not isinstance(m, bool) and math.isfinite(m) for m in given)
    if not numbers or len(given) < 2 or any(a >= b for a, b in pairwise(given)):
        raise ParameterError("a grid is two or more finite numbers that increase.", hint="grid=[0, 50, 100]")


def places(column: Column, marks: Sequence[Any], array: pa.Array) -> NDArray[np.int64]:
    """The cell of each value: 0 below the first mark, i from mark i - 1 on; -1 for missing ones."""
    if column.kind is Kind.DATE:
        own = pa.array(list(marks), array.type)
        whole = pa.int32() if column.type == "date" else pa.int64()
        edges, values = own.cast(whole).to_numpy(), array.cast(whole)
    else:
        edges, values = np.array([float(m) for m in marks]), array.cast(pa.float64(), safe=False)
    gaps = values.is_null().to_numpy(zero_copy_only=False)
    found = np.searchsorted(edges, values.fill_null(0).to_numpy(zero_copy_only=False), side="right")
    return np.where(gaps, -1, found).astype(np.int64)


def edges_from(marks: Sequence[Any], noisy: NDArray[np.int64], scale: float, bins: int) -> tuple[Any, ...]:
    """Bounds and inner edges from noisy counts of the cells: arithmetic on what was published.

    Cells that noise alone could have filled (one time in 2,000 for all of them) count as empty. The bounds
    enclose the others; inner edges are the marks at which the shares 1 / bins, 2 / bins, ... are passed.
    """
    counts = np.where(noisy > scale * math.log(1000 * len(noisy)), noisy, 0)
    if not counts.any():
        return (marks[0], marks[-1])
    filled = np.flatnonzero(counts)
    low = max(int(filled[0]) - 1, 0)
    high = min(max(int(filled[-1]), low + 1), len(marks) - 1)
    low = min(low, high - 1)
    passed = np.cumsum(counts) / counts.sum()
    inner = {int(np.searchsorted(passed, j / bins)) for j in range(1, bins)}
    return tuple(marks[i] for i in sorted({low, high, *(i for i in inner if low < i < high)}))
