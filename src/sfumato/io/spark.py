"""Spark's executors at work: rows made and written where they are. The driver gets names and numbers only.

Executors write part files into a folder that they and the driver share, each beside its place and then
renamed: a task that Spark runs twice writes the same bytes twice. Whoever asked for the folder renames it
when all parts are there (`atomic_directory`), so a reader sees all of it or nothing.
"""

from __future__ import annotations

import copy
import os
import pickle
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import narwhals as nw
import numpy as np
import pyarrow as pa

from sfumato.counts import canonical, canonical_type
from sfumato.errors import DataError, MissingExtraError, OutputError, ParameterError
from sfumato.io.output import write
from sfumato.schema import Column, Schema
from sfumato.sources import BatchSource, EngineSource, Pieces, Source, executor_fault
from sfumato.table import Table

if TYPE_CHECKING:
    import pyspark.sql
    from pyspark.sql.types import StructType

PIECE = 262_144
"""Rows of a part at least: so many for any number of executors, that the files are the same for any."""


def is_spark(source: Source | None) -> TypeGuard[EngineSource]:
    """Whether rows live in Spark."""
    return isinstance(source, EngineSource) and source.flavour == "spark"


def engine(frame: pyspark.sql.DataFrame, schema: Schema, origin: object = None) -> Table:
    """A Spark frame whose columns are called c0, c1, ... as a table of this schema."""
    arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in schema])
    return Table(EngineSource(nw.from_native(frame).lazy(), arrow, "spark", origin or frame), schema)


def struct(schema: Schema) -> StructType:
    """Spark's types of canonical columns, called c0, c1, ..."""
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = [pa.field(f"c{i}", canonical_type(c)) for i, c in enumerate(schema)]
    return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)


# -- rows made there -----------------------------------------------------------------------------


def spread(table: Table, where: EngineSource) -> Table:
    """The same rows in the same order, made by the executors; a table that comes in one piece as it is."""
    source = table.source
    if not isinstance(source, BatchSource) or source.pieces is None or source.rows is None:
        return table
    size = max(1, PIECE // source.pieces.step) * source.pieces.step
    number = max(1, -(-source.rows // size))
    session = where.frame.to_native().sparkSession
    make = _Maker(
        source.pieces, size, source.rows, [source.arrow_schema.names.index(n) for n in table.columns]
    )
    frame = session.range(0, number, 1, number).mapInArrow(make, struct(table.schema))
    return engine(frame, table.schema, where.origin)


@dataclass(frozen=True)
class _Maker:
    """Runs on an executor: the numbers of pieces in, their rows out."""

    pieces: Pieces
    size: int
    rows: int
    columns: list[int]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = [f"c{i}" for i in range(len(self.columns))]
        for batch in batches:
            for piece in batch.column(0).to_pylist():
                first = piece * self.size
                for part in self.pieces.make(first, min(self.size, self.rows - first)):
                    yield pa.RecordBatch.from_arrays([part.column(i) for i in self.columns], names=names)


# -- rows written there --------------------------------------------------------------------------


def write_parts(table: Table, folder: Path, watch: object = None) -> list[Any]:
    """Have the executors write a Spark table into a folder, a Parquet file for each partition, in order.

    watch: looks at every batch (`watch.look(batch)`); a copy of it goes with each part.
    Gives back the copies as they came home, in the order of the parts.
    """
    source = table.source
    assert is_spark(source)
    frame = source.frame.select([source.inner(n) for n in table.columns]).to_native()
    writer = _Writer(list(table.schema), str(folder.resolve()), watch)
    try:
        found = frame.mapInArrow(writer, "part int, bytes long, seen binary").toArrow().sort_by("part")
    except Exception as error:
        raise executor_fault(error) from None
    for part, size in zip(found["part"].to_pylist(), found["bytes"].to_pylist(), strict=True):
        path = folder / _name(part)
        if not path.is_file() or path.stat().st_size != size:
            raise OutputError(
                "the executors wrote files that are not in the folder.",
                hint="write to a disk that the driver and all executors share under one path",
            )
    for stray in set(folder.iterdir()) - {folder / _name(p) for p in found["part"].to_pylist()}:
        raise OutputError(f"'{stray.name}' is not of this run.", hint="choose an empty folder")
    if not found.num_rows:
        arrow = pa.schema([pa.field(c.name, canonical_type(c)) for c in table.schema])
        write(arrow.empty_table(), folder / _name(0))
    return [pickle.loads(seen) for seen in found["seen"].to_pylist()]


def _name(part: int) -> str:
    return f"part-{part:05d}.parquet"


@dataclass(frozen=True)
class _Writer:
    """Runs on an executor: the rows of a partition in, a line about the file out."""

    columns: list[Column]
    folder: str
    watch: Any

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        watch = copy.deepcopy(self.watch)
        rows = self._canonical(batches, watch)
        first = next(rows, None)
        if first is None:
            return
        path = Path(self.folder) / _name(context.partitionId())
        write(chain([first], rows), path, overwrite=True)
        line = {
            "part": np.array([context.partitionId()], np.int32),
            "bytes": np.array([path.stat().st_size], np.int64),
            "seen": pa.array([pickle.dumps(watch)], pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(line)

    def _canonical(self, batches: Iterable[pa.RecordBatch], watch: Any) -> Iterator[pa.RecordBatch]:
        fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in self.columns])
        for batch in batches:
            if not batch.num_rows:
                continue
            arrays = [canonical(c, batch.column(i)) for i, c in enumerate(self.columns)]
            made = pa.RecordBatch.from_arrays(arrays, schema=fields)
            if watch is not None:
                watch.look(made)
            yield made


# -- a session -----------------------------------------------------------------------------------


@contextmanager
def parquet_on_spark(data: str, master: str) -> Iterator[Any]:
    """Parquet files as a Spark frame, in a session of its own that ends with the block.

    Parquet only: it says which type a cell is, so that Spark and Sfumato read the same.
    """
    if not data.lower().endswith((".parquet", ".pq", ".parquet/")):
        raise ParameterError("on Spark the input is Parquet.", hint="sf.write(sf.scan(data), 'data.parquet')")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("running on Spark", "spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors on this machine: the same Python
    with tempfile.TemporaryDirectory(prefix="sfumato-spark-") as home:
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": f"{home}/warehouse",
            "spark.log.level": "ERROR",
        }
        if master.startswith("local"):  # nobody else is to talk to it, and nothing stays behind
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            os.environ.setdefault("SPARK_WORKER_DIR", f"{home}/work")
            settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        builder = SparkSession.builder.master(master).appName("sfumato")
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise DataError(
                f"Spark could not be started ({type(error).__name__}).",
                hint="it needs Java 17, and a master such as local-cluster[2,1,1024] or spark://host:7077",
            ) from None
        try:
            yield session.read.parquet(data)
        finally:
            session.stop()
