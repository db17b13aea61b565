"""Whose row it is, and whether keys hold, asked of Spark's executors: ids are joined there.

Ids travel among executors in their one form, as text: numbers and texts are never keys of one link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.counts import canonical
from sfumato.database import Database, Link, key_ids
from sfumato.io.spark import is_spark
from sfumato.schema.column import Column
from sfumato.sources import executor_fault
from sfumato.table import Table

if TYPE_CHECKING:
    import pyspark.sql


@dataclass(frozen=True)
class _Ids:
    """Runs on an executor: columns of keys in, their canonical ids out.  places: which column each is of."""

    columns: list[Column]
    places: list[int]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = [as_text(c, batch.column(i)) for i, c in enumerate(self.columns)]
            arrays = [ids[place] for place in self.places]
            yield pa.RecordBatch.from_arrays(arrays, names=[f"i{i}" for i in range(len(arrays))])


def as_text(column: Column, values: pa.Array) -> pa.Array:
    """Canonical ids as text."""
    return key_ids(column, canonical(column, values)).cast(pa.string())


def id_frame(table: Table, columns: Sequence[str]) -> pyspark.sql.DataFrame:
    """The ids of some columns, called i0, i1, ..."""
    source = table.source
    assert is_spark(source)
    names = list(dict.fromkeys(columns))  # a key may be the person's column, too: Spark sends no name twice
    frame: pyspark.sql.DataFrame = source.frame.select([source.inner(n) for n in names]).to_native()
    run = _Ids([table.schema[n] for n in names], [names.index(n) for n in columns])
    return frame.mapInArrow(run, ", ".join(f"i{i} string" for i in range(len(columns))))


class ExecutorKeys:
    """The keys of a database whose tables of persons live in Spark."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._persons: dict[str, pyspark.sql.DataFrame] = {}

    def require(self) -> None:
        """That keys hold. Where they do not, they are read here, to say in full what is wrong."""
        if not self._hold():
            self._database.check()

    def with_person(self, frame: pyspark.sql.DataFrame, name: str) -> pyspark.sql.DataFrame:
        """Rows of a table and, as `person`, whose they are: by what the column `up` points to."""
        route = self._database.route(name)
        assert route is not None
        if not isinstance(route[1], Link):
            return frame.withColumnRenamed("up", "person")
        above = self._persons_of(route[1].parent).withColumnRenamed("key", "up")
        return frame.join(above, "up", "left").drop("up")

    def _persons_of(self, name: str) -> pyspark.sql.DataFrame:
        """The keys of a table and the person of each."""
        if name not in self._persons:
            route, key = self._database.route(name), self._database.keys[name]
            assert route is not None
            ids = id_frame(self._database[name], [key, route[0]]).toDF("key", "up")
            self._persons[name] = self.with_person(ids, name)
        return self._persons[name]

    def _hold(self) -> bool:
        database = self._database
        named = [n for n in database.tables if database.route(n) is not None]
        if database.references or set(database.tables) - set(named) - database.apart:
            return False
        if not all(is_spark(t.source) for t in database.tables.values()):
            return False
        faults: list[Any] = []
        for name, key in database.keys.items():
            ids = id_frame(database[name], [key])
            faults += [ids.filter("i0 is null"), ids.filter("i0 is not null").groupBy("i0").count()]
            faults[-1] = faults[-1].filter("count > 1")
        for link in database.links:
            own = id_frame(database[link.child], [link.column]).filter("i0 is not null")
            faults.append(own.join(id_frame(database[link.parent], [link.key]), "i0", "left_anti"))
        for name in named:
            column, way = database.route(name) or ("", None)
            faults.append(id_frame(database[name], [column]).filter("i0 is null"))
            for link in database.parents(name):
                if link is way or link.parent not in named:
                    continue
                ids = id_frame(database[name], [link.column, column]).toDF("key", "up")
                other = self._persons_of(link.parent).withColumnRenamed("person", "other")
                faults.append(self.with_person(ids, name).join(other, "key").filter("person <> other"))
        from pyspark.sql.functions import lit

        found = reduce(lambda a, b: a.union(b), [f.select(lit(1)) for f in faults])
        try:
            return bool(found.isEmpty())
        except Exception as error:
            raise executor_fault(error) from None


@dataclass(frozen=True)
class _Empty:
    """Runs on an executor: a column of keys in, how many rows and how many without an id out."""

    column: Column

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            empty = as_text(self.column, batch.column(0)).null_count
            yield pa.RecordBatch.from_pydict({"n": [batch.num_rows], "empty": [empty]})


def empty_share(table: Table, column: str) -> float:
    """The share of rows without an id."""
    source = table.source
    assert is_spark(source)
    frame = source.frame.select([source.inner(column)]).to_native()
    try:
        found = frame.mapInArrow(_Empty(table.schema[column]), "n long, empty long").toArrow()
    except Exception as error:
        raise executor_fault(error) from None
    rows, empty = (sum(found[n].to_pylist()) for n in ("n", "empty"))
    return float(empty / max(rows, 1))
