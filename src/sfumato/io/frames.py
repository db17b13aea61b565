"""Frames in memory as sources: pandas, polars, Arrow, and what narwhals wraps.

Libraries are told by the module of the object's class, so that none is imported that the user has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError, SfumatoWarning, listed
from sfumato.io.engines import from_duckdb, from_ibis, from_spark
from sfumato.io.file_checks import require_names
from sfumato.sources import BatchFlavour, BatchSource, Source

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow.dataset

_BATCH = 262_144


def from_frame(data: object) -> Source | None:
    """A source over any frame that is known; None for anything else."""
    data = _unwrapped(data)
    root, name = type(data).__module__.partition(".")[0], type(data).__name__
    readers: dict[tuple[str, str], Callable[[Any], Source]] = {
        ("pandas", "DataFrame"): from_pandas,
        ("polars", "DataFrame"): from_polars,
        ("polars", "LazyFrame"): from_lazy_polars,
        ("pyarrow", "Table"): lambda table: in_memory(table, "arrow", table),
        ("pyarrow", "RecordBatch"): lambda batch: in_memory(pa.Table.from_batches([batch]), "arrow", batch),
        ("pyarrow", "RecordBatchReader"): _refuse_reader,
        ("_duckdb", "DuckDBPyRelation"): from_duckdb,
        ("duckdb", "DuckDBPyRelation"): from_duckdb,
        ("ibis", "Table"): from_ibis,
        ("pyspark", "DataFrame"): from_spark,
    }
    if (root, name) in readers:
        return readers[root, name](data)
    if root == "pyarrow" and name.endswith("Dataset"):
        return from_dataset(data)
    if hasattr(data, "__arrow_c_stream__"):  # any other library that speaks Arrow's exchange protocol
        try:
            return in_memory(pa.table(data), "arrow", data)
        except (pa.ArrowException, TypeError, ValueError):  # one column, such as a Series, is no table
            return None
    return None


def _unwrapped(data: object) -> Any:
    if type(data).__module__.partition(".")[0] != "narwhals":
        return data
    import narwhals as nw

    return nw.to_native(data, pass_through=True)


def _refuse_reader(data: object) -> Source:
    raise DataError(
        "a RecordBatchReader can be read only once, and a table is read several times.",
        hint="give reader.read_all(), or the dataset behind it",
    )


def in_memory(table: pa.Table, flavour: BatchFlavour, origin: object) -> BatchSource:
    """A source over an Arrow table."""

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from table.select(list(columns)).to_batches(max_chunksize=_BATCH)

    require_names(table.schema.names)
    return BatchSource(table.schema, open_, flavour, table.num_rows, origin)


# -- pandas ----------------------------------------------------------------------------------------


def from_pandas(frame: pd.DataFrame) -> BatchSource:
    """A pandas frame. A named index becomes columns, an unnamed one is left out."""
    import pandas as pd

    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError("the frame has column names of several levels.", hint="join them to one level first")
    original = frame
    named = [name for name in frame.index.names if name is not None]
    if named:
        import warnings

        warnings.warn(
            f"the index is read as column{'s' * (len(named) > 1)} {listed([repr(n) for n in named])}; "
            "reset_index(drop=True) leaves it out.",
            SfumatoWarning,
            stacklevel=4,
        )
        require_names([*named, *frame.columns])
        frame = frame.reset_index(named)
    require_names(["" if pd.api.types.is_scalar(n) and pd.isna(n) else str(n) for n in frame.columns])
    arrays, faults = [], []
    for position, name in enumerate(frame.columns):
        try:
            arrays.append(_pandas_array(frame.iloc[:, position]))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # their messages quote cells
            faults.append(f"'{name}' ({frame.dtypes.iloc[position]})")
    if faults:
        raise DataError(
            f"{len(faults)} column{'s' * (len(faults) > 1)} with values of mixed or unknown types: "
            f"{listed(faults)}.",
            hint="make each column one type, for example frame[name].astype(str)",
        )
    table = pa.table(arrays, names=[str(name) for name in frame.columns])
    return in_memory(table, "pandas", original)


def _pandas_array(series: pd.Series[Any]) -> pa.Array:
    """One column. Whole numbers in a float column with gaps are what pandas makes of integers with gaps."""
    array = pa.array(series, from_pandas=True)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        raise TypeError("no Arrow type")
    if pa.types.is_date(array.type) and any(isinstance(cell, datetime) for cell in series):
        raise TypeError("days and moments: Arrow would cut the moments off at midnight")
    if str(series.dtype) == "float64" and array.null_count and array.null_count < len(array):
        whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**53))
        if pc.all(whole).as_py():
            array = array.cast(pa.int64())
    return array


# -- polars, Arrow datasets ------------------------------------------------------------------------


def from_polars(frame: pl.DataFrame) -> BatchSource:
    """A polars frame, without a copy."""
    return in_memory(_polars_table(frame), "polars", frame)


def from_lazy_polars(frame: pl.LazyFrame) -> BatchSource:
    """A lazy polars frame: each reading runs its query for the columns asked for."""
    schema = _collected(frame.head(0)).schema
    require_names(schema.names)

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        table = _collected(frame.select(list(columns)))
        yield from table.cast(pa.schema([schema.field(c) for c in columns])).to_batches(max_chunksize=_BATCH)

    return BatchSource(schema, open_, "polars", None, frame)


def _collected(frame: pl.LazyFrame) -> pa.Table:
    try:
        return _polars_table(frame.collect(engine="streaming"))
    except Exception as error:  # of polars, or of a function in the query: the message may quote a cell
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"the lazy polars query failed ({type(error).__name__}).", hint="collect it to see what is wrong"
        ) from None


def _polars_table(frame: pl.DataFrame) -> pa.Table:
    try:
        table = frame.to_arrow()
    except pa.ArrowException:
        unknown = [f"'{name}' ({dtype})" for name, dtype in frame.schema.items() if "Int128" in str(dtype)]
        raise DataError(
            f"Arrow has no type for {listed(unknown) or 'a column of the frame'}.",
            hint="cast such columns to a type that Arrow has",
        ) from None
    return table.cast(table.schema.remove_metadata())


def from_dataset(dataset: pyarrow.dataset.Dataset) -> BatchSource:
    """An Arrow dataset, read in the order of its files."""
    require_names(dataset.schema.names)

    def open_(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([dataset.schema.field(c) for c in columns])
        try:
            for batch in dataset.scanner(columns=list(columns), batch_size=_BATCH).to_batches():
                if batch.num_rows:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=wanted)
        except (pa.ArrowException, OSError) as error:  # its words may quote a cell
            raise DataError(
                f"the Arrow dataset could not be read to its end ({type(error).__name__}).",
                hint="its files may be damaged, or of other types than its schema says",
            ) from None

    return BatchSource(dataset.schema, open_, "arrow", None, dataset)
