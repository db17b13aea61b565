"""Persons drawn by Spark's executors, each a whole batch of them with all their records.

The batches are those of one machine, so the tables are the same, row for row. Keys number the rows of a table
through all batches: a first round counts the rows of each batch, and only these numbers come home; then each
table is drawn under its numbers where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.counts import canonical_type
from sfumato.io.spark import engine, struct
from sfumato.schema import Schema
from sfumato.seeds import Key
from sfumato.sources import EngineSource, executor_fault
from sfumato.synthesis.people.generation import Generator
from sfumato.table import Table

if TYPE_CHECKING:
    import pyspark.sql

_COUNTED = "batch int, place int, rows long"


@dataclass(frozen=True)
class _Batch:
    """Runs on an executor: how a batch of persons is drawn. key: its bytes."""

    generator: Generator
    key: bytes
    persons: int
    step: int

    def tables(self, number: int, first: dict[str, int], name: str | None = None) -> dict[str, pa.Table]:
        many = min(self.step, self.persons - number * self.step)
        return self.generator.tables(many, Key.from_bytes(self.key).derive("batch", number), first, name)


@dataclass(frozen=True)
class _Count:
    """The numbers of batches in, how many rows of each table they have out."""

    batch: _Batch
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                drawn = self.batch.tables(number, dict.fromkeys(self.names, 0))
                rows = [drawn[name].num_rows for name in self.names]
                yield pa.RecordBatch.from_pydict({
                    "batch": pa.array([number] * len(rows), pa.int32()),
                    "place": pa.array(range(len(rows)), pa.int32()), "rows": pa.array(rows, pa.int64()),
                })  # fmt: skip


@dataclass(frozen=True)
class _Draw:
    """The numbers of batches in, the rows of one table out. first: by batch, the first number by table."""

    batch: _Batch
    name: str
    schema: Schema
    first: list[dict[str, int]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrow = pa.schema([pa.field(f"c{i}", canonical_type(c)) for i, c in enumerate(self.schema)])
        for numbers in batches:
            for number in numbers.column(0).to_pylist():
                drawn = self.batch.tables(number, self.first[number], self.name)[self.name]
                rows = drawn.select(self.schema.names)
                yield from rows.rename_columns(arrow.names).cast(arrow).to_batches()


@dataclass(frozen=True, eq=False)
class ExecutorBatches:
    """Persons in batches, drawn where the data live."""

    session: pyspark.sql.SparkSession
    origin: object
    batch: _Batch
    first: list[dict[str, int]]

    @classmethod
    def of(
        cls, generator: Generator, persons: int, step: int, key: Key, where: EngineSource
    ) -> ExecutorBatches:
        """The rows of every batch are counted now. where: whose session draws them."""
        session = where.frame.to_native().sparkSession
        batch = _Batch(
            replace(generator, structure=generator.structure.without_rows()), key.to_bytes(), persons, step
        )
        names = tuple(b.name for b in generator.structure.branches)
        number = -(-persons // step)
        frame = session.range(0, number, 1, number)
        try:
            found = frame.mapInArrow(_Count(batch, names), _COUNTED).toArrow()
        except Exception as error:
            raise executor_fault(error) from None
        rows = np.zeros((number + 1, len(names)), np.int64)
        rows[found["batch"].to_numpy() + 1, found["place"].to_numpy()] = found["rows"].to_numpy()
        first = [dict(zip(names, line, strict=True)) for line in rows.cumsum(axis=0).tolist()]
        return cls(session, where.origin, batch, first)

    def table(self, name: str, schema: Schema) -> Table:
        """One table as a Spark table: drawn by whoever reads it."""
        number = len(self.first) - 1
        frame = self.session.range(0, number, 1, number)
        drawn = frame.mapInArrow(_Draw(self.batch, name, schema, self.first), struct(schema))
        return engine(drawn, schema, self.origin)
