"""Where rows come from: Arrow batches that can be read again, or an engine that groups by itself.

Every file format and every frame becomes one of these two, so nothing above needs to know which
library or file the user brought.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.ipc

from sfumato._interrupts import each_interruptible
from sfumato.errors import DataError, OutputError, SfumatoError

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import ibis
    import narwhals as nw
    import pandas as pd
    import polars as pl
    import pyarrow.dataset
    import pyspark.sql

BatchFlavour = Literal["pandas", "polars", "arrow", "file"]
EngineFlavour = Literal["duckdb", "ibis", "spark"]


class ArrowStream(Protocol):
    """A frame of any other library that speaks Arrow's exchange protocol."""

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        """Its rows, as Arrow batches."""
        ...


# A frame of any library, which `sfumato.scan` reads.
FrameLike: TypeAlias = (
    "pd.DataFrame | pl.DataFrame | pl.LazyFrame | pa.Table | pa.RecordBatch | pyarrow.dataset.Dataset"
    " | duckdb.DuckDBPyRelation | ibis.Table | pyspark.sql.DataFrame | nw.DataFrame[Any] | nw.LazyFrame[Any]"
    " | ArrowStream"
)
# All that it reads: a path, a pattern, an address, or several paths; or a frame.
DataLike: TypeAlias = "str | Path | Sequence[str | Path] | FrameLike"


@dataclass(frozen=True)
class Pieces:
    """Rows that any process can make, without those before: drawn ones, which depend on their number alone.

    make: rows first, first + 1, ... as stored; it is sent to other processes, and holds what it needs.
    step: a piece begins at a whole multiple of so many rows.
    """

    make: Callable[[int, int], Iterator[pa.RecordBatch]]
    step: int = 1


@dataclass(frozen=True)
class BatchSource:
    """Rows as Arrow batches, opened anew for each reading: files and frames in memory.

    open: gives the named columns, in that order, as stored.
    rows: the number of rows, where it is known without reading them.
    origin: the object the user gave, so that a result can come back as the same kind.
    pieces: how other processes can make the same rows, where they can.
    require_same: refuses rows that are no more those that were opened; None where they cannot change.
    """

    arrow_schema: pa.Schema
    open: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    flavour: BatchFlavour = "file"
    rows: int | None = None
    origin: Any = field(default=None, repr=False)  # a frame's own repr shows cells
    pieces: Pieces | None = field(default=None, repr=False)
    require_same: Callable[[], None] | None = field(default=None, repr=False)
    _counted: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch."""
        if self.require_same is None or not columns:
            return self.open(columns)
        return self._same(columns, self.require_same)

    def _same(self, columns: Sequence[str], require: Callable[[], None]) -> Iterator[pa.RecordBatch]:
        """Batches of what was opened, before and behind them; who reads to the end has counted the rows."""
        require()
        rows = 0
        for batch in self.open(columns):
            rows += batch.num_rows
            yield batch
        require()
        self._counted[:] = [rows]

    def known_rows(self) -> int | None:
        """The number of rows, where nobody has to read for it: said at the start, or counted by a reading."""
        if self.rows is not None or not self._counted or self.require_same is None:
            return self.rows
        self.require_same()
        return self._counted[0]


@dataclass(frozen=True)
class EngineSource:
    """A lazy table in an engine: counts are grouped where the data lives.

    frame: its columns are called c0, c1, ... in the order of `arrow_schema`, whose names are the
    user's: engines fold case, rename clashes, and reserve words, positions do none of that.
    """

    frame: nw.LazyFrame[Any] = field(repr=False)  # its repr would run the query, and show cells
    arrow_schema: pa.Schema
    flavour: EngineFlavour
    origin: Any = field(default=None, repr=False)

    def inner(self, column: str) -> str:
        """The engine's name of a column."""
        return f"c{self.arrow_schema.names.index(column)}"

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch, under the user's names."""
        native = self.frame.select([self.inner(c) for c in columns]).to_native()
        try:
            for batch in each_interruptible(_native_batches(native, self.flavour)):
                arrays = [
                    _as_text(array) if is_text(self.arrow_schema.field(name).type) else array
                    for name, array in zip(columns, batch.columns, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
        except Exception as error:
            raise executor_fault(error) from None


def _as_text(array: pa.Array) -> pa.Array:
    """Text that an engine was asked for as bytes, so that it tells all texts apart; others as they are."""
    return array.cast(pa.string()) if pa.types.is_binary(array.type) else array


def engine_fault(error: Exception) -> SfumatoError:
    """What an engine's failure may say: its kind. Its own words may quote the cell it stumbled over."""
    if isinstance(error, SfumatoError):
        return error
    return DataError(
        f"the engine could not read its data ({type(error).__name__}).",
        hint="ask it the same in its own client to see why",
    )


def executor_fault(error: Exception) -> Exception:
    """What an executor of Spark raised, out of Spark's long report; anything else by its kind."""
    text = str(error)
    if "No module named 'sfumato'" in text:
        return DataError(
            "Spark's executors do not have Sfumato.",
            hint="install it in the Python that PYSPARK_PYTHON names",
        )
    for kind in (DataError, OutputError):
        mark = f"sfumato.errors.{kind.__name__}: "
        for line in text.splitlines():
            if mark in line:
                message, _, hint = line.split(mark, 1)[1].partition(" Hint: ")
                return kind(message, hint=hint)
    return engine_fault(error)


@contextmanager
def engine_faults() -> Iterator[None]:
    """Engines also fail while a query is put together: a decorator for what asks them."""
    try:
        yield
    except Exception as error:
        raise engine_fault(error) from None


def _native_batches(native: Any, flavour: EngineFlavour) -> Iterator[pa.RecordBatch]:
    if flavour == "spark":
        yield from _spark_batches(native)
    elif flavour == "duckdb":
        yield from native.to_arrow_reader(65_536)
    else:
        yield from _ibis_batches(native)


def _spark_batches(frame: pyspark.sql.DataFrame) -> Iterator[pa.RecordBatch]:
    """Partition after partition, in their order: all rows at once may be more than the driver can hold."""
    for row in frame.mapInArrow(_packed, "rows binary").toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row[0])


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, batch.schema) as writer:
            writer.write_batch(batch)
        cell = pa.array([out.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([cell], names=["rows"])


_ARROW_BACKENDS = {"duckdb", "polars", "datafusion"}  # of Ibis; others bring their rows by way of pandas


def _ibis_batches(table: ibis.Table) -> Iterator[pa.RecordBatch]:
    if table.get_backend().name == "duckdb":  # Ibis 12 streams from DuckDB 2 by a method that is gone
        yield from table.to_pyarrow().to_batches()
    elif table.get_backend().name in _ARROW_BACKENDS:
        yield from table.to_pyarrow_batches(chunk_size=65_536)
    else:
        yield from _exact_batches(table)


def _exact_batches(table: ibis.Table) -> Iterator[pa.RecordBatch]:
    """Whole numbers and decimals travel as text: pandas makes floats of them beside a missing cell.

    Beyond 2^53 two of those would become one, and two persons with them.
    """
    wanted = table.schema().to_pyarrow()
    loose = table.get_backend().name == "sqlite"
    quoted = {f.name for f in wanted if loose and pa.types.is_decimal(f.type)}
    risky = {f.name for f in wanted if _exact(f.type)}
    spelt = {n: _quoted(table[n]) if n in quoted else table[n].cast("string") for n in risky}
    for batch in (table.mutate(**spelt) if spelt else table).to_pyarrow_batches(chunk_size=65_536):
        arrays = []
        for array, told in zip(batch.columns, wanted, strict=True):
            found = _unquoted(array, told.type) if told.name in quoted else array
            arrays.append(found.cast(told.type) if told.name in risky else found)
        yield pa.RecordBatch.from_arrays(arrays, names=wanted.names)


def _quoted(cells: ibis.Column) -> ibis.Column:
    """A decimal of SQLite in all its digits: a real or a whole number there, of which CAST shows 15."""
    import ibis

    @ibis.udf.scalar.builtin(name="quote", signature=((cells.type(),), "string"))
    def quote(cell): ...  # type: ignore[no-untyped-def]

    return quote(cells)


def _unquoted(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Back from SQLite's notation. A real tells decimals of up to 15 digits apart; others are refused.

    So are longer whole numbers in a column with decimals: they may be what is left of such a real.
    """

    def cell(text: str | None) -> Decimal | None:
        if text is None or text == "NULL":
            return None
        whole = text.lstrip("-").isdigit()
        found = Decimal(text) if whole else Decimal(repr(float(text)))  # no number at all is an error
        if not found.is_finite() or (len(found.as_tuple().digits) > 15 and not (whole and not type_.scale)):
            raise ValueError
        return found

    try:
        return pa.array([cell(t) for t in array.to_pylist()], pa.decimal256(76, 38)).cast(type_)
    except (ValueError, pa.ArrowInvalid):
        raise DataError(
            "a decimal column of SQLite holds what is no decimal of its type, or one of more than 15 digits, "
            "which SQLite keeps as a rounded real.",
            hint="keep such numbers as text, or as whole numbers of the smallest unit",
        ) from None


def _exact(type_: pa.DataType) -> bool:
    """Whether pandas could not hold its values beside a missing one."""
    return bool(pa.types.is_decimal(type_) or pa.types.is_int64(type_) or pa.types.is_uint64(type_))


def collected(native: Any) -> pa.Table | None:
    """The result of an Ibis query, every whole number as it is; None for what needs no such care."""
    if type(native).__module__.partition(".")[0] != "ibis" or native.get_backend().name in _ARROW_BACKENDS:
        return None
    batches = list(_exact_batches(native))
    return pa.Table.from_batches(batches) if batches else native.schema().to_pyarrow().empty_table()


def is_text(type_: pa.DataType) -> bool:
    """Whether cells are text, in any of Arrow's layouts."""
    return bool(
        pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_)
    )


Source = BatchSource | EngineSource
