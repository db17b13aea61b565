"""Cells as real numbers and back. NaN is missing; days and microseconds since 1970 stand for times."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical, canonical_type
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Column, Kind
from sfumato.table import Table

Floats: TypeAlias = NDArray[np.float64]


def numbers(cells: pa.Array | pa.ChunkedArray, column: Column | None = None, where: str = "") -> Floats:
    """Numbers, and flags (0 and 1), as floats; by a column of kind date also days and microseconds.

    column: what the cells mean; None if they are numbers in canonical form. where: as errors call them.
    """
    array = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    # Real numbers are as they should be already: NaN is what stands for missing here, too.
    plain = column is None or (column.kind is Kind.NUMERIC and not column.missing_codes)
    ready = plain and array.type == pa.float64()
    if not ready:
        if column is not None:
            array = canonical(column, array)
        if column is not None and column.kind is Kind.DATE:
            array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
        try:
            array = array.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):  # its words quote a cell
            place = where or (f"column '{column.name}'" if column is not None else "a column")
            raise DataError(f"{place} holds cells that are not numbers.", hint="name a number") from None
    found: Floats = array.to_numpy(zero_copy_only=False)
    return found


def require_finite(found: Floats, where: str) -> Floats:
    """The same numbers; infinite ones are refused."""
    endless = int(np.isinf(found).sum())
    if endless:
        raise DataError(f"{where} holds {endless} infinite values.", hint="correct them")
    return found


def complete_numbers(table: Table, name: str) -> Floats:
    """A column of all rows; missing and infinite cells are refused."""
    table.schema.require([name])
    column = table.schema[name]
    if column.kind is Kind.DATE or column.type == "text":
        raise ParameterError(f"column '{name}' holds no numbers.", hint="name a numeric column")
    parts = [numbers(batch.column(0)) for batch in table.batches([name])]
    found = np.concatenate([np.empty(0), *parts])
    if not np.isfinite(found).all():
        raise DataError(f"column '{name}' has missing or infinite cells.", hint="leave those rows out first")
    return found


def values(column: Column, found: Floats) -> pa.Array:
    """Numbers as cells of the column's type, NaN as null: what `numbers` reads back the same.

    Whole types are rounded; decimals keep their nine digits.
    """
    wanted, gaps = canonical_type(column), np.isnan(found)
    mask = gaps if gaps.any() else None
    plain = np.where(gaps, 0.0, found)
    if pa.types.is_floating(wanted):
        return pa.array(plain, wanted, mask=mask)
    if pa.types.is_decimal(wanted):
        return pa.array(plain, mask=mask).cast(wanted, safe=False)
    whole = np.rint(plain).astype(np.int32 if pa.types.is_date32(wanted) else np.int64)
    return pa.array(whole, mask=mask).cast(wanted)
