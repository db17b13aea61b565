"""Rows made more general by Spark's executors: the driver searched on counts, and sends what each becomes.

What travels to them is what the combinations become, once for each executor; no row comes back. Rows leave
in an order drawn anew: each gets a word of 64 bits from the release's key, and parts are put in the order of
these words. Words belong to places in partitions, so the order hangs on the key and on how the table lies.

Where rows that are alike go to different classes, their ranks are needed: executors count such rows of each
partition first, and the driver adds up who comes before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.counts import canonical, canonical_type
from sfumato.io.spark import PIECE, engine, is_spark, struct
from sfumato.schema import Column, Schema
from sfumato.seeds import Key
from sfumato.sources import executor_fault
from sfumato.table import Table

if TYPE_CHECKING:
    import pyspark.sql

    from sfumato.anonymization.writer import Writer

Ints = NDArray[np.int64]
_WORD = "word_of_the_row"


def generalized(table: Table, writer: Writer, schema: Schema, rows: int, order: Key) -> Table:
    """The released rows as a table on Spark. rows: how many there are. order: of the rows."""
    from pyspark.sql.types import LongType

    source = table.source
    assert is_spark(source)
    names = list(schema.names)
    wanted = writer.reads(names)
    columns = [table.schema[n] for n in wanted]
    frame = source.frame.select([source.inner(n) for n in wanted]).to_native()
    slim = replace(writer, settled=writer.settled.for_writing())
    sent = frame.sparkSession.sparkContext.broadcast((slim, _before(frame, slim, columns)))
    make = _Generalizer(sent, columns, list(schema), order.to_bytes())
    made = frame.mapInArrow(make, struct(schema).add(_WORD, LongType(), False))
    parts = max(1, -(-rows // PIECE))
    ordered = made.repartition(parts, _WORD).sortWithinPartitions(_WORD).drop(_WORD)
    return engine(ordered, schema, source.origin)


def _before(
    frame: pyspark.sql.DataFrame, writer: Writer, columns: list[Column]
) -> dict[int, tuple[Ints, Ints]]:
    """By partition, the combinations that part and how many of their rows lie in the partitions before."""
    if not len(writer.turn):
        return {}
    count = _Ranks(frame.sparkSession.sparkContext.broadcast(writer), columns)
    try:
        found = frame.mapInArrow(count, "part int, combination long, n long").toArrow().sort_by("part")
    except Exception as error:
        raise executor_fault(error) from None
    part, combination, n = (found[name].to_numpy() for name in ("part", "combination", "n"))
    total = np.zeros(len(writer.first), np.int64)
    before = {}
    for p in np.unique(part):
        mine = combination[part == p]
        before[int(p)] = (mine, total[mine])
        total[mine] += n[part == p]
    return before


def _canonical(columns: list[Column], batch: pa.RecordBatch) -> pa.RecordBatch:
    fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in columns])
    arrays = [canonical(c, batch.column(i)) for i, c in enumerate(columns)]
    return pa.RecordBatch.from_arrays(arrays, schema=fields)


@dataclass(frozen=True, repr=False)
class _Generalizer:
    """Runs on an executor: the rows of a partition in, released rows out, each with its word."""

    sent: Any
    columns: list[Column]
    released: list[Column]
    key: bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        part = context.partitionId()
        writer, before = self.sent.value
        key = Key.from_bytes(self.key)
        seen = np.zeros(len(writer.first), np.int64)
        if part in before:
            seen[before[part][0]] = before[part][1]
        fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in self.released])
        names, at = [c.name for c in self.released], 0
        inner = [*(f"c{i}" for i in range(len(names))), _WORD]
        for batch in batches:
            if not batch.num_rows:
                continue
            made = writer.written(_canonical(self.columns, batch), names, fields, seen)
            words = np.atleast_1d(key.words(part, at, made.num_rows)).view(np.int64)
            at += made.num_rows
            yield pa.RecordBatch.from_arrays([*made.columns, pa.array(words)], names=inner)


@dataclass(frozen=True, repr=False)
class _Ranks:
    """Runs on an executor: the rows of a partition in, how many of each parted combination there are out."""

    sent: Any
    columns: list[Column]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        writer = self.sent.value
        n = np.zeros(len(writer.first), np.int64)
        for batch in batches:
            if batch.num_rows:
                found = writer.combinations(_canonical(self.columns, batch))
                n += np.bincount(found[writer.start[found] >= 0], minlength=len(n))
        there = np.flatnonzero(n)
        yield pa.RecordBatch.from_pydict(
            {
                "part": np.full(len(there), context.partitionId(), np.int32),
                "combination": there,
                "n": n[there],
            }
        )
