"""Persons whose rows live in Spark, counted by its executors: what comes home are counts.

A row becomes numbers where it is, learns from a join whose it is, and goes to the executor of its person's
group, with all rows of that person. There it is counted; the driver gets levels and bins of columns that
nobody has declared, then one array of counts for each table and task, and adds them up. Rows that are equal
in everything else stand in the order of Spark's partitions, as they do where one machine reads them.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import pyarrow as pa

from sfumato.counts import canonical, canonical_type
from sfumato.io.spark import is_spark
from sfumato.progress import report
from sfumato.schema.column import Column
from sfumato.sources import executor_fault
from sfumato.synthesis.people.axes import Ints
from sfumato.synthesis.people.executor_keys import ExecutorKeys, as_text
from sfumato.synthesis.people.found_axes import AxesFound
from sfumato.synthesis.people.records import Axes, PackedRows, RowForm, arranged, forms_of, require_few
from sfumato.synthesis.people.tallies import PersonQuestion, Tally

if TYPE_CHECKING:
    import pyspark.sql

    from sfumato.synthesis.people.structure import Branch, TableTree

_PERSONS, _PARTS = 50_000, 4_096  # persons of a group; tasks at most
_PLACES = 2**40  # rows of a partition, at most
_PACKED = "up string, key string, parent string, place long, cells binary"


class ExecutorPersons:
    """All persons of tables in Spark.  bounds: the most rows of a parent that count."""

    def __init__(self, structure: TableTree, bounds: Mapping[str, int]) -> None:
        self._structure, self._bounds, self._keys = structure, bounds, ExecutorKeys(structure.database)
        self._keys.require()
        self.axes: Axes = {}
        for branch in structure.branches:
            self.axes[branch.name] = self._found(branch).axes(branch)
            require_few(branch, self.axes[branch.name])
        self._forms = forms_of(structure, self.axes)
        self._rows = self._gathered()

    def count(self, question: PersonQuestion[Tally]) -> Tally:
        """What it is of all persons together."""
        found = question(arranged(self._forms, {n: _as_texts(f.none()) for n, f in self._forms.items()},
                                  self._bounds))  # fmt: skip
        ask = _Ask(question, self._forms, dict(self._bounds))
        try:
            for done, row in enumerate(self._rows.mapInArrow(ask, "found binary").toLocalIterator(True)):
                report("counting persons", done, done + 1)
                found = found.plus(pickle.loads(row[0]))
        except Exception as error:
            raise executor_fault(error) from None
        return found

    def _found(self, branch: Branch) -> AxesFound:
        """Levels and bins that nobody has declared."""
        found = AxesFound.of(branch)
        if not found.columns:
            return found
        table = self._structure.database[branch.name]
        source, columns = table.source, [table.schema[n] for n in found.columns]
        assert is_spark(source)
        frame = source.frame.select([source.inner(c.name) for c in columns]).to_native()
        try:
            for row in frame.mapInArrow(_Look(branch, columns), "found binary").toLocalIterator(True):
                found.include(pickle.loads(row[0]))
        except Exception as error:
            raise executor_fault(error) from None
        return found

    def _gathered(self) -> pyspark.sql.DataFrame:
        """The rows of all tables, all of a person in one partition, group after group."""
        from pyspark.sql import functions as f

        database, tables = self._structure.database, []
        for number, (name, form) in enumerate(self._forms.items()):
            table, route = database[name], database.route(name)
            source = table.source
            assert is_spark(source) and route is not None
            names = list(dict.fromkeys([*form.columns, route[0]]))
            frame = source.frame.select([source.inner(n) for n in names]).to_native()
            packed = frame.mapInArrow(_Pack(form, [table.schema[n] for n in names], route[0]), _PACKED)
            rows = self._keys.with_person(packed, name).withColumn("number", f.lit(number))
            tables.append(rows.select("person", "number", "key", "parent", "place", "cells"))
        session = tables[0].sparkSession
        persons = database[self._structure.root.name].rows()
        groups = max(-(-persons // _PERSONS), min(session.sparkContext.defaultParallelism, persons), 1)
        every = reduce(lambda a, b: a.union(b), tables)
        every = every.withColumn("group", f.pmod(f.xxhash64("person"), f.lit(groups)))
        spread = every.repartition(min(groups, _PARTS), "group")
        return spread.sortWithinPartitions("group", "number", "place").select(
            "group", "number", "key", "parent", "cells"
        )


@dataclass(frozen=True)
class _Look:
    """Runs on an executor: columns in, what levels and numbers they have out."""

    branch: Branch
    columns: list[Column]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = AxesFound.of(self.branch).read(_canonical(batches, self.columns))
        yield pa.RecordBatch.from_pydict({"found": pa.array([pickle.dumps(found)], pa.binary())})


@dataclass(frozen=True)
class _Pack:
    """Runs on an executor: rows of a table in, the same as numbers out.  up: by what they reach a person."""

    form: RowForm
    columns: list[Column]
    up: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        place = context.partitionId() * _PLACES
        described = next(c for c in self.columns if c.name == self.up)
        for batch in _canonical(batches, self.columns):
            rows = _as_texts(self.form.packed(batch))
            none = pa.nulls(batch.num_rows, pa.string())
            yield pa.RecordBatch.from_pydict({
                "up": as_text(described, batch.column(self.up)),
                "key": none if rows.key is None else rows.key,
                "parent": none if rows.parent is None else rows.parent,
                "place": np.arange(place, place + batch.num_rows), "cells": _bytes_of(rows.cells),
            })  # fmt: skip
            place += batch.num_rows


@dataclass(frozen=True)
class _Ask(Generic[Tally]):
    """Runs on an executor: the rows of persons in, group after group; the answer for all of them out."""

    question: PersonQuestion[Tally]
    forms: Mapping[str, RowForm]
    bounds: Mapping[str, int]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: Tally | None = None
        for parts in self._groups(batches):
            packed = {
                n: PackedRows.together(parts[at]) if at in parts else _as_texts(form.none())
                for at, (n, form) in enumerate(self.forms.items())
            }
            answer = self.question(arranged(self.forms, packed, self.bounds))
            found = answer if found is None else found.plus(answer)
        if found is not None:
            yield pa.RecordBatch.from_pydict({"found": pa.array([pickle.dumps(found)], pa.binary())})

    def _groups(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[int, list[PackedRows]]]:
        forms = list(self.forms.values())
        at, parts = None, dict[int, list[PackedRows]]()
        for batch in batches:
            groups, numbers = (batch.column(i).to_numpy(zero_copy_only=False) for i in range(2))
            ends = np.flatnonzero((np.diff(groups) != 0) | (np.diff(numbers) != 0)) + 1
            for first, last in zip([0, *ends], [*ends, batch.num_rows], strict=True):
                if first == last:
                    continue
                if at is not None and groups[first] != at:
                    yield parts
                    parts = {}
                at, number = groups[first], int(numbers[first])
                some, form = batch.slice(first, last - first), forms[number]
                key = None if form.key is None else some.column(2).cast(pa.string())
                parent = None if form.branch.link is None else some.column(3).cast(pa.string())
                rows = PackedRows(key, parent, _cells_of(some.column(4), form.cells))
                parts.setdefault(number, []).append(rows)
        if parts:
            yield parts


def _canonical(batches: Iterable[pa.RecordBatch], columns: list[Column]) -> Iterator[pa.RecordBatch]:
    fields = pa.schema([pa.field(c.name, canonical_type(c)) for c in columns])
    for batch in batches:
        arrays = [canonical(c, batch.column(i)) for i, c in enumerate(columns)]
        yield pa.RecordBatch.from_arrays(arrays, schema=fields)


def _as_texts(rows: PackedRows) -> PackedRows:
    """The same with ids as text."""
    key, parent = (None if i is None else i.cast(pa.string()) for i in (rows.key, rows.parent))
    return PackedRows(key, parent, rows.cells)


def _bytes_of(cells: Ints) -> pa.Array:
    """The numbers of each row as bytes."""
    rows, many = cells.shape
    ends = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(8 * many))
    return pa.Array.from_buffers(pa.binary(), rows, [None, ends, pa.py_buffer(np.ascontiguousarray(cells))])


def _cells_of(packed: pa.Array, many: int) -> Ints:
    """And back."""
    return np.frombuffer(b"".join(packed.to_pylist()), np.int64).reshape(-1, many)
