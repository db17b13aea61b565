"""Where rows come from: Arrow batches that can be read again, or an engine that groups by itself.

Every file format and every frame becomes one of these two, so nothing above needs to know which
library or file the user brought.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from sfumato.errors import DataError, SfumatoError

if TYPE_CHECKING:
    import narwhals as nw

BatchFlavour = Literal["pandas", "polars", "arrow", "file"]
EngineFlavour = Literal["duckdb", "ibis", "spark"]


@dataclass(frozen=True)
class BatchSource:
    """Rows as Arrow batches, opened anew for each reading: files and frames in memory.

    open: gives the named columns, in that order, as stored.
    rows: the number of rows, where it is known without reading them.
    origin: the object the user gave, so that a result can come back as the same kind.
    """

    arrow_schema: pa.Schema
    open: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    flavour: BatchFlavour = "file"
    rows: int | None = None
    origin: Any = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch."""
        return self.open(columns)


@dataclass(frozen=True)
class EngineSource:
    """A lazy table in an engine: counts are grouped where the data lives.

    frame: its columns are called c0, c1, ... in the order of `arrow_schema`, whose names are the
    user's: engines fold case, rename clashes, and reserve words, positions do none of that.
    """

    frame: nw.LazyFrame[Any]
    arrow_schema: pa.Schema
    flavour: EngineFlavour
    origin: Any = None

    def inner(self, column: str) -> str:
        """The engine's name of a column."""
        return f"c{self.arrow_schema.names.index(column)}"

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns, batch by batch, under the user's names."""
        native = self.frame.select([self.inner(c) for c in columns]).to_native()
        try:
            for batch in _native_batches(native, self.flavour):
                yield pa.RecordBatch.from_arrays(batch.columns, names=list(columns))
        except Exception as error:
            raise engine_fault(error) from None


def engine_fault(error: Exception) -> SfumatoError:
    """What an engine's failure may say: its kind. Its own words may quote the cell it stumbled over."""
    if isinstance(error, SfumatoError):
        return error
    return DataError(
        f"the engine could not read its data ({type(error).__name__}).",
        hint="ask it the same in its own client to see why",
    )


@contextmanager
def engine_faults() -> Iterator[None]:
    """Engines also fail while a query is put together: a decorator for what asks them."""
    try:
        yield
    except Exception as error:
        raise engine_fault(error) from None


def _native_batches(native: Any, flavour: EngineFlavour) -> Iterator[pa.RecordBatch]:
    if flavour == "spark":
        yield from native.toArrow().to_batches()
    elif flavour == "duckdb":
        yield from native.to_arrow_reader(65_536)
    else:
        yield from _ibis_batches(native)


def _ibis_batches(table: Any) -> Iterator[pa.RecordBatch]:
    if table.get_backend().name == "duckdb":  # Ibis 12 streams from DuckDB 2 by a method that is gone
        yield from table.to_pyarrow().to_batches()
    else:
        yield from table.to_pyarrow_batches(chunk_size=65_536)


Source = BatchSource | EngineSource
