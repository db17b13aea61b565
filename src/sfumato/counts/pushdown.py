"""Counting where the data lives: one group-by per joint through narwhals, `mapInArrow` on Spark.

The engine groups raw values; the codebook then makes the keys canonical, and cells that an engine
kept apart (0.0 and -0.0, NaN and null) fall together. So engines may differ, and the counts do not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
from numpy.typing import NDArray

from sfumato._interrupts import interruptible
from sfumato.counts.accumulator import (
    DENSE_CELLS,
    Accumulator,
    Joint,
    cells_of,
    encode_batch,
    marginals,
    passes,
)
from sfumato.counts.codebook import Codebook, Codes
from sfumato.counts.planner import cover
from sfumato.counts.tables import Counts, checked_sets
from sfumato.counts.values import canonical, canonical_type, missing_values, shown_type, type_name
from sfumato.errors import DataError
from sfumato.schema import Column
from sfumato.sources import EngineSource, collected, engine_fault, engine_faults, executor_fault


def tabulate(
    source: EngineSource, sets: Iterable[Sequence[str]], books: Mapping[str, Codebook], weight: Column | None
) -> dict[Joint, Counts]:
    """Count many sets in the engine."""
    wanted = checked_sets(sets, tuple(books))
    small = [s for s in wanted if cells_of(s, books) <= DENSE_CELLS]
    large = [s for s in wanted if cells_of(s, books) > DENSE_CELLS]
    joints = cover(small, {name: book.size for name, book in books.items()})
    spark = source.flavour == "spark"
    if weight is not None and (large or not spark):  # Spark's executors look at the weights they add
        require_weights(source, weight)
    out: dict[Joint, Counts] = {}
    if spark:
        for part in passes(joints, books):
            dense = marginals(small, _spark_joints(source, part, books, weight))
            out |= {s: Counts.of_dense([books[c] for c in s], table) for s, table in dense}
    else:
        whole = {joint: grouped(source, joint, books, weight) for joint in joints}
        for columns in small:
            joint = min((j for j in joints if set(columns) <= set(j)), key=lambda j: whole[j].cells)
            out[columns] = whole[joint].project(*columns)
    out |= {columns: grouped(source, columns, books, weight) for columns in large}
    return {s: out[s] for s in wanted}


@engine_faults()
def distinct(source: EngineSource, columns: Sequence[str]) -> list[pa.Array]:
    """The values each column has, as the engine stores them."""
    if source.flavour == "spark":
        return _spark_distinct(source, columns)
    found = []
    for name in map(source.inner, columns):
        values = source.frame.select(name).group_by(name).agg(nw.len().alias("cell_total"))
        found.append(collect(values).column(0).combine_chunks())
    return found


@engine_faults()
def rows(source: EngineSource) -> int:
    """How many rows the engine has."""
    return int(collect(source.frame.select(nw.len())).column(0)[0].as_py())


@engine_faults()
def grouped(
    source: EngineSource, joint: Joint, books: Mapping[str, Codebook], weight: Column | None
) -> Counts:
    """One group-by; the weights are known to be sound."""
    keys = [key(source, books[c]).alias(f"k{i}") for i, c in enumerate(joint)]
    names = [f"k{i}" for i in range(len(joint))]
    if weight is None:
        frame, value = source.frame.select(keys), nw.len()
    else:
        weights = number(source, weight).alias("w")
        frame, value = source.frame.select([*keys, weights]), nw.col("w").sum()
    table = collect(frame.group_by(names).agg(value.alias("cell_total")))
    codes = [read_key(source, books[c], table.column(f"k{i}")) for i, c in enumerate(joint)]
    n = table.column("cell_total").to_numpy()
    return Counts.of_cells([books[c] for c in joint], np.stack(codes, axis=1), n)


def key(source: EngineSource, book: Codebook) -> nw.Expr:
    """The expression an engine groups by: the value itself, or for a binned column its bin."""
    column, value = book.column, nw.col(source.inner(book.name))
    edges = column.edges
    if edges is None or not _binned_there(source, book):
        return value
    # 0 below, 1 .. k the bins, k + 1 above; the last bin is closed; -1 missing.
    steps = [(value >= nw.lit(e)).cast(nw.Int32) for e in edges[:-1]] + [
        (value > nw.lit(edges[-1])).cast(nw.Int32)
    ]
    place = steps[0]
    for step in steps[1:]:
        place = place + step
    gap = _is_gap(source, column, value, canonical_type(column))
    return nw.when(gap).then(nw.lit(-1)).otherwise(place)


def _binned_there(source: EngineSource, book: Codebook) -> bool:
    """Whether the engine stores what the schema says; otherwise it groups the cells as they are."""
    stored = source.arrow_schema.field(book.name).type
    return book.column.edges is not None and type_name(stored) == book.column.type


def _is_gap(source: EngineSource, column: Column, value: nw.Expr, type_: pa.DataType) -> nw.Expr:
    """Every kind of missing: null, NaN (DuckDB and Spark hold it above every number), a missing code."""
    gap = value.is_null()
    if pa.types.is_floating(type_) and _knows_nan(source):
        gap = gap | value.is_nan()
    codes = [code for code in missing_values(column, type_).to_pylist() if code == code]
    return gap | value.is_in(codes) if codes else gap


def _knows_nan(source: EngineSource) -> bool:
    """SQLite and MySQL have no NaN, and Ibis refuses to ask them for it."""
    if source.flavour != "ibis":
        return True
    from ibis.expr import operations

    return bool(source.frame.to_native().get_backend().has_operation(operations.IsNan))


def number(source: EngineSource, column: Column) -> nw.Expr:
    """A column as float64 with one kind of missing. Text is refused: SQLite would read any word as zero."""
    stored = source.arrow_schema.field(column.name).type
    if type_name(stored) not in ("integer", "real", "decimal", "boolean"):
        raise DataError(
            f"column '{column.name}' is stored as {shown_type(stored)}, and the engine cannot sum that.",
            hint="cast it to a number in the engine",
        )
    value = nw.col(source.inner(column.name)).cast(nw.Float64)
    return nw.when(~_is_gap(source, column, value, pa.float64())).then(value)


def read_key(source: EngineSource, book: Codebook, values: pa.ChunkedArray) -> Codes:
    """What came back from the engine, as codes."""
    if not _binned_there(source, book):
        return book.encode(values)
    places = values.to_numpy().astype(np.int64)
    return book.narrow(book.bin_places(places - 1, places == -1))


@engine_faults()
def require_weights(source: EngineSource, weight: Column) -> None:
    """Weights must be there, finite and not negative."""
    value = nw.col("w")
    bad = value.is_null() | (value < 0) | (value > sys.float_info.max)
    frame = source.frame.select(number(source, weight).alias("w"))
    table = collect(frame.select(bad.cast(nw.Int64).sum()))
    refuse_weights(weight, int(table.column(0)[0].as_py() or 0))


def refuse_weights(weight: Column, bad: int) -> None:
    """The same words for every engine."""
    if bad:
        raise DataError(
            f"weight column '{weight.name}': {bad} missing, negative or infinite weight{'s' * (bad > 1)}.",
            hint="correct the weights, or leave those rows out",
        )


def batch_weights(weight: Column, array: pa.Array) -> NDArray[np.float64]:
    """A batch of weights, checked."""
    values = canonical(weight, array).cast(pa.float64(), safe=False)
    numbers: NDArray[np.float64] = values.fill_null(-1.0).to_numpy(zero_copy_only=False)
    refuse_weights(weight, int((~((numbers >= 0) & (numbers < np.inf))).sum()))
    return numbers


def collect(frame: nw.LazyFrame[Any]) -> pa.Table:
    """What a lazy frame holds, as Arrow."""
    try:
        with interruptible():
            exact = collected(frame.to_native())
            return frame.collect("pyarrow").to_arrow() if exact is None else exact
    except Exception as error:
        raise engine_fault(error) from None


# -- Spark ---------------------------------------------------------------------------------------


def _spark_joints(
    source: EngineSource, joints: Sequence[Joint], books: Mapping[str, Codebook], weight: Column | None
) -> dict[Joint, NDArray[Any]]:
    """Each executor fills the accumulator with its own rows; only non-zero cells travel."""
    used = [name for name in books if any(name in j for j in joints)]
    names = [*used, weight.name] if weight else used
    frame = source.frame.select([source.inner(c) for c in names]).to_native()
    run = _Executor([books[c] for c in used], list(joints), weight)
    cells = frame.mapInArrow(run, f"joint int, cell long, n {'double' if weight else 'long'}")
    try:
        table = cells.groupBy("joint", "cell").sum("n").toArrow()
    except Exception as error:
        raise executor_fault(error) from None
    joint, cell, n = (table.column(i).to_numpy() for i in range(3))
    out = {}
    for i, columns in enumerate(joints):
        flat = np.zeros(cells_of(columns, books), np.float64 if weight else np.int64)
        flat[cell[joint == i]] = n[joint == i]
        out[columns] = flat.reshape([books[c].size for c in columns])
    return out


def _spark_distinct(source: EngineSource, columns: Sequence[str]) -> list[pa.Array]:
    """One pass for all columns: each executor sends the values it met, as Arrow."""
    frame = source.frame.select([source.inner(c) for c in columns]).to_native()
    try:
        parts = frame.mapInArrow(_distinct_values, "position int, found binary").toArrow()
    except Exception as error:
        raise executor_fault(error) from None
    found: list[list[pa.Array]] = [[] for _ in columns]
    for position, values in zip(parts.column(0).to_pylist(), parts.column(1).to_pylist(), strict=True):
        found[position] += pa.ipc.open_stream(values).read_all().column(0).chunks
    types = [source.arrow_schema.field(c).type for c in columns]
    return [pa.concat_arrays(f) if f else pa.array([], t) for f, t in zip(found, types, strict=True)]


def _distinct_values(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found: dict[int, pa.Array] = {}
    for batch in batches:
        for i, array in enumerate(batch.columns):
            met = pc.unique(array)
            found[i] = pc.unique(pa.concat_arrays([found[i], met])) if i in found else met
    for i, values in found.items():
        table = pa.table({"found": values})
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        arrays = [pa.array([i], pa.int32()), pa.array([out.getvalue().to_pybytes()], pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, names=["position", "found"])


class _Executor:
    """What runs on an executor: batches of rows in, (joint, cell, n) out."""

    def __init__(self, books: list[Codebook], joints: list[Joint], weight: Column | None) -> None:
        self.books, self.joints, self.weight = books, joints, weight

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        accumulator = Accumulator(self.books, self.joints, self.weight is not None)
        with ThreadPoolExecutor(1) as pool:
            for batch in batches:
                weights = batch_weights(self.weight, batch.column(len(self.books))) if self.weight else None
                accumulator.add(encode_batch(batch, self.books), weights, pool)
        for i, flat in enumerate(accumulator.flat()):
            cell = np.flatnonzero(flat)
            arrays = [pa.array(np.full(len(cell), i, np.int32)), pa.array(cell), pa.array(flat[cell])]
            yield pa.RecordBatch.from_arrays(arrays, names=["joint", "cell", "n"])
