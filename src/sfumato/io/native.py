"""Results back in the user's own kind of frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.counts.duck import OFFLINE
from sfumato.sources import Source, is_text

if TYPE_CHECKING:
    import pandas as pd


def to_native(table: pa.Table, source: Source, *, every_level: bool = True) -> Any:
    """The rows as the library of the source holds them: pandas for pandas, Spark for Spark.

    every_level: categories of the source that no longer occur stay listed. Not in a release: a value that
    was taken out of the rows must not be read off their type.

    A table that was read from a file or from a database comes back as an Arrow table, an Ibis table or
    a DuckDB relation in a connection of its own.
    """
    if source.flavour == "pandas":
        return _to_pandas(table, source.origin, every_level)
    if source.flavour == "polars":
        return _to_polars(table, source.origin, every_level)
    if source.flavour == "duckdb":
        import duckdb

        return duckdb.connect(":memory:", config=OFFLINE).from_arrow(table)
    if source.flavour == "ibis":
        import ibis

        return ibis.memtable(table)
    if source.flavour == "spark":
        return source.origin.sparkSession.createDataFrame(table)
    return table


def _to_pandas(table: pa.Table, original: Any, every_level: bool) -> pd.DataFrame:
    """Columns the user's frame has get the same family of dtype; new ones that of the frame's majority."""
    import pandas as pd

    dtypes = {str(name): dtype for name, dtype in original.dtypes.items()}
    for name in original.index.names:
        if name is not None:
            dtypes[str(name)] = original.index.get_level_values(name).dtype
    families = [type(dtype) for dtype in dtypes.values()]
    all_arrow = bool(families) and all(family is pd.ArrowDtype for family in families)
    columns = {
        name: _to_series(table[name], dtypes.get(name), all_arrow, every_level) for name in table.column_names
    }
    return pd.DataFrame(columns, columns=table.column_names)


def _to_series(column: pa.ChunkedArray, dtype: Any, all_arrow: bool, every_level: bool) -> Any:
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return _to_categorical(column, dtype, every_level)
    if isinstance(dtype, pd.ArrowDtype) or (dtype is None and all_arrow):
        if dtype is not None and _same_family(column.type, dtype.pyarrow_dtype):
            column = _cast_or_keep(column, dtype.pyarrow_dtype)
        return column.to_pandas(types_mapper=pd.ArrowDtype)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return pd.Series(column.to_pylist(), dtype=object)
    is_extension = isinstance(dtype, pd.api.extensions.ExtensionDtype)
    wanted = dtype
    if pa.types.is_integer(column.type) and column.null_count and not is_extension:
        wanted = dtype if dtype == "float64" else pd.Int64Dtype()  # numpy has no integer with gaps
    if wanted is None:
        return column.to_pandas()
    try:
        nullable = pd.Int64Dtype() if pa.types.is_integer(column.type) else None
        plain = column.to_pandas(types_mapper=lambda _: nullable) if nullable else column.to_pandas()
        if dtype.kind in "iufb" and not (
            pa.types.is_integer(column.type)
            or pa.types.is_floating(column.type)
            or pa.types.is_boolean(column.type)
        ):
            return plain  # generalized: the numbers have become text
        if dtype.kind in "iu" and pa.types.is_floating(column.type):
            return plain  # whole numbers have become fractions
        return plain.astype(wanted)
    except (TypeError, ValueError, OverflowError):
        return column.to_pandas()


def _same_family(a: pa.DataType, b: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, is_text, pa.types.is_temporal)
    return any(test(a) and test(b) for test in tests)


def _cast_or_keep(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    try:
        return column.cast(type_)
    except pa.ArrowInvalid:  # too large for the old width, or a time of day where days were
        return column


def _to_categorical(column: pa.ChunkedArray, dtype: pd.CategoricalDtype, every_level: bool) -> Any:
    """The user's categories in the user's order, where the values are among them."""
    import pandas as pd

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = column.to_pandas()
    found = pc.unique(column.drop_null()).to_pylist()
    if set(found) <= set(dtype.categories):
        kept = [c for c in dtype.categories if every_level or c in set(found)]
        return values.astype(pd.CategoricalDtype(kept, dtype.ordered) if not every_level else dtype)
    return values.astype(pd.CategoricalDtype(sorted(found, key=str)))


def _to_polars(table: pa.Table, original: Any, every_level: bool) -> Any:
    """Categories and enums come back as such."""
    import polars as pl

    frame: Any = pl.from_arrow(table)
    schema = original.collect_schema()
    for name, dtype in schema.items():
        if name not in frame.columns or frame.schema[name] == dtype:
            continue
        now = frame.schema[name]
        words = now == pl.String and dtype.base_type() in (pl.Categorical, pl.Enum)
        numbers = (now.is_integer() and dtype.is_integer()) or (now.is_float() and dtype.is_float())
        if words and not every_level and dtype.base_type() is pl.Enum:
            dtype = pl.Enum([c for c in dtype.categories if c in set(frame[name].drop_nulls())])
        if words or numbers:
            try:
                frame = frame.with_columns(frame[name].cast(dtype))
            except pl.exceptions.PolarsError:
                continue  # generalized values do not fit the old type: the new one stays
    return frame.lazy() if isinstance(original, pl.LazyFrame) else frame
