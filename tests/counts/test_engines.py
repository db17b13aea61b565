"""One nasty table, every engine, equal counts.

The table has whatever makes engines disagree: nulls, NaN, minus zero, empty strings, unicode, dates,
instants with a zone, decimals, integers beyond 53 bits, categories nobody has, and two columns whose
names differ in case only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import oracles
import pyarrow as pa
import pytest

from sfumato.counts import accumulator
from sfumato.errors import DataError
from sfumato.io import scan
from sfumato.io.frames import from_frame
from sfumato.schema import Column, Kind, Schema
from sfumato.sources import executor_fault
from sfumato.table import Table

NAMES = ("n", "N", "x", "s", "d", "flag", "m", "t", "id", "w")
LEAP, OLD, NEW = date(2020, 2, 29), date(1899, 12, 31), date(2100, 1, 1)
SUMMER = datetime(2020, 3, 29, 1, 30, tzinfo=UTC)  # within an hour of a change of clocks
BEFORE_1970 = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
CELLS = [
    (2**53 + 1, "", 0.0, "é", LEAP, True, Decimal("1.50"), SUMMER, 0, 1.0),
    (2**53, "é", -0.0, "e\u0301", None, None, Decimal("1.5"), None, 1, 0.5),
    (None, None, float("nan"), "", OLD, False, None, BEFORE_1970, 2, 2.0),
    (2**53 + 1, "", None, None, LEAP, True, Decimal("0"), SUMMER, 0, 1.0),
    (-1, " ", 1e300, "🙂", NEW, False, Decimal("-0.00"), None, 1, 3.0),
    (2**63 - 1, "null", 5.0, "NaN", None, True, Decimal("9"), BEFORE_1970, 2, 0.0),
    (-1, " ", 5.0, "🙂", NEW, False, Decimal("9.00"), SUMMER, 0, 1.0),
]
ROWS: list[dict[str, Any]] = [dict(zip(NAMES, cells, strict=True)) for cells in CELLS]
TYPES = {
    "n": pa.int64(), "N": pa.string(), "x": pa.float64(), "s": pa.string(), "d": pa.date32(),
    "flag": pa.bool_(), "m": pa.decimal128(10, 2), "t": pa.timestamp("us", "UTC"),
    "id": pa.int32(), "w": pa.float64(),
}  # fmt: skip
NASTY = pa.table({name: pa.array([r[name] for r in ROWS], TYPES[name]) for name in NAMES})


def _pandas(table: pa.Table, spark: Any) -> Any:
    import pandas as pd

    frame = table.to_pandas()  # decimals as objects, dates as objects, the ids with a gap as Int64
    frame["n"] = pd.array([r["n"] for r in ROWS], pd.Int64Dtype()) if len(table) == len(ROWS) else frame["n"]
    frame["N"] = frame["N"].astype("category").cat.add_categories(["nobody"])
    return frame


def _polars(table: pa.Table, spark: Any) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _duckdb(table: pa.Table, spark: Any) -> Any:
    import duckdb

    return duckdb.connect(config=pushdown_config()).from_arrow(table)


def pushdown_config() -> dict[str, str]:
    from sfumato.counts.duck import OFFLINE

    return dict(OFFLINE)


def _ibis(table: pa.Table, spark: Any) -> Any:
    import ibis

    connection = ibis.polars.connect()  # a backend that tells n from N
    connection.create_table("nasty", table)
    return connection.table("nasty")


def _ibis_duckdb(table: pa.Table, spark: Any) -> Any:
    import ibis

    connection = ibis.duckdb.connect(**pushdown_config())
    renamed = table.rename_columns(
        [f"N{i}" if name == "N" else name for i, name in enumerate(table.column_names)]
    )
    connection.create_table("nasty", renamed)
    return connection.table("nasty")


def _spark(table: pa.Table, spark: Any) -> Any:
    return spark().createDataFrame(table).repartition(3)


ENGINES: dict[str, Callable[[pa.Table, Any], Any]] = {
    "arrow": lambda table, spark: table,
    "pandas": _pandas,
    "polars": _polars,
    "duckdb": _duckdb,
    "ibis-polars": _ibis,
    "ibis-duckdb": _ibis_duckdb,
    "spark": _spark,
}


@pytest.fixture(params=list(ENGINES))
def nasty(request: pytest.FixtureRequest) -> Table:
    """The nasty table in one engine, under the names it has in Arrow."""
    native = ENGINES[request.param](NASTY, lambda: request.getfixturevalue("spark"))
    source = from_frame(native)
    assert source is not None
    kinds = {"integer": Kind.NUMERIC, "real": Kind.NUMERIC, "decimal": Kind.NUMERIC, "boolean": Kind.FLAG,
             "date": Kind.DATE, "instant": Kind.DATE, "text": Kind.NOMINAL}  # fmt: skip
    types = ("integer", "text", "real", "text", "date", "boolean", "decimal", "instant", "integer", "real")
    own = source.arrow_schema.names  # DuckDB renames one of n and N: positions stay
    return Table(source, Schema(tuple(Column(o, kinds[t], type=t) for o, t in zip(own, types, strict=True))))


def expected(columns: tuple[str, ...]) -> dict[tuple[Any, ...], int]:
    return oracles.counts([[r[c] for c in columns] for r in ROWS])


SETS = [(c,) for c in NAMES[:-1]] + list(combinations(NAMES[:-1], 2)) + [("n", "N", "x"), NAMES[:-1]]


def test_equal_counts(nasty: Table) -> None:
    own = dict(zip(NAMES, nasty.columns, strict=True))
    counted = nasty.tabulate([tuple(own[c] for c in s) for s in SETS])
    for columns, got in zip(SETS, counted.values(), strict=True):
        assert oracles.as_dict(got) == expected(columns), columns
        assert got.n.dtype == np.int64
    assert nasty.rows() == len(ROWS)


def test_equal_codes(nasty: Table) -> None:
    """The same codebooks too, so that counts of two engines can be added."""
    reference = Table.from_arrow(NASTY, Schema(tuple(
        Column(n, c.kind, type=c.type) for n, c in zip(NAMES, nasty.schema, strict=True)
    )))  # fmt: skip
    for ours, own in zip(NAMES, nasty.columns, strict=True):
        a, b = reference.codebooks([ours])[ours], nasty.codebooks([own])[own]
        assert a.levels.equals(b.levels), ours
    assert nasty.to_arrow().num_rows == len(ROWS)


def test_equal_weighted_counts_and_bins(nasty: Table) -> None:
    own = dict(zip(NAMES, nasty.columns, strict=True))
    schema = nasty.schema.with_(own["x"], edges=(0.0, 5.0, 10.0), clamp=True)
    schema = schema.with_(own["d"], edges=(date(1890, 1, 1), date(2020, 1, 1), date(2100, 1, 1)))
    binned = nasty.with_schema(schema)
    counted = binned.counts(own["x"], own["d"])
    got = {tuple(c): n for c, n in zip(counted.codes.tolist(), counted.n.tolist(), strict=True)}

    def x_bin(x: float | None) -> int:
        return 2 if x is None or math.isnan(x) else 0 if x < 5 else 1

    def d_bin(d: date | None) -> int:
        return 2 if d is None else 0 if d < date(2020, 1, 1) else 1

    assert got == oracles.counts([(x_bin(r["x"]), d_bin(r["d"])) for r in ROWS])
    weighted = nasty.counts(own["id"], weight=own["w"])
    assert dict(oracles.as_dict(weighted)) == {
        (k,): sum(r["w"] for r in ROWS if r["id"] == k) for k in range(3)
    }


def test_equal_sums_and_cross_products(nasty: Table) -> None:
    own = dict(zip(NAMES, nasty.columns, strict=True))
    complete = [r for r in ROWS if r["x"] is not None and not math.isnan(r["x"]) and r["m"] is not None]
    x = np.array([[1.0, float(r["m"]), r["w"]] for r in ROWS if r["m"] is not None])
    products = nasty.cross_products([own["m"], own["w"]])
    assert np.allclose(products.matrix, x.T @ x) and (products.rows, products.dropped) == (6, 1)
    sums = nasty.sums(own["id"], of=[own["x"], own["m"]])
    assert sums.dropped == len(ROWS) - len(complete)
    for (level,), size in oracles.as_dict(sums.groups).items():
        assert size == sum(r["id"] == level for r in complete)
        total = sums.totals[sums.groups.codes[:, 0].tolist().index(sums.groups.codebooks[0].code_of(level))]
        assert np.allclose(
            total, [sum(float(r[c]) for r in complete if r["id"] == level) for c in ("x", "m")]
        )
    weighted = nasty.sums(own["id"], of=[own["m"]], weight=own["w"])
    kept = [r for r in ROWS if r["m"] is not None]
    assert np.isclose(weighted.totals.sum(), sum(float(r["m"]) * r["w"] for r in kept))


def test_outside_the_domain_is_refused_without_the_value(nasty: Table) -> None:
    own = dict(zip(NAMES, nasty.columns, strict=True))
    column = Column(own["s"], Kind.NOMINAL, levels=("", "é", "e\u0301", "NaN"))
    with pytest.raises(DataError, match="outside the declared domain") as caught:
        nasty.with_schema(Schema((column,))).counts(own["s"])
    assert "🙂" not in str(caught.value) and caught.value.hint


def test_bad_weights_are_refused(nasty: Table) -> None:
    own = dict(zip(NAMES, nasty.columns, strict=True))
    with pytest.raises(DataError, match="missing, negative or infinite weight"):
        nasty.counts(own["id"], weight=own["n"])


def test_spark_counts_on_its_executors(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The accumulator runs in the executors' own processes, not in the driver; also in several passes."""
    import os

    monkeypatch.setattr(accumulator, "_PASS_CELLS", 4_000)
    rng = np.random.default_rng(5)
    rows = pa.table({f"v{i}": rng.integers(0, 4 + i, 20_000).astype(np.int32) for i in range(6)})
    source = from_frame(spark.createDataFrame(rows).repartition(4))
    assert source is not None
    sets = list(combinations(rows.column_names, 2))
    schema = Schema(tuple(Column(c, Kind.NOMINAL, type="integer") for c in rows.column_names))
    assert Table(source, schema).tabulate(sets) == Table.from_arrow(rows, schema).tabulate(sets)

    def process(batches: Any) -> Any:
        for _ in batches:
            yield pa.RecordBatch.from_arrays([pa.array([os.getpid()])], names=["pid"])

    pids = {r.pid for r in source.frame.to_native().mapInArrow(process, "pid long").distinct().collect()}
    assert os.getpid() not in pids and "local-cluster" in spark.sparkContext.master


def test_an_executors_error_reaches_the_user_in_our_words() -> None:
    long = (
        "Job aborted\n  sfumato.errors.DataError: column 'a': 2 cells outside. Hint: extend it\n at java..."
    )
    error = executor_fault(RuntimeError(long))
    assert isinstance(error, DataError) and (error.message, error.hint) == (
        "column 'a': 2 cells outside.",
        "extend it",
    )
    other = RuntimeError("something else")
    assert "something else" not in str(executor_fault(other))


def test_an_engines_own_words_are_not_repeated() -> None:
    """DuckDB quotes the cell it cannot convert."""
    import duckdb

    relation = duckdb.connect(config=pushdown_config()).sql(
        "select a::int as a from (values ('1'), ('canary')) t(a)"
    )
    source = from_frame(relation)
    assert source is not None
    table = Table(source, Schema((Column("a", Kind.NOMINAL, type="integer"),)))
    for call in (lambda: table.counts("a"), lambda: table.to_arrow(), lambda: table.cross_products(["a"])):
        with pytest.raises(DataError, match="ConversionException") as caught:
            call()
        assert "canary" not in str(caught.value) and caught.value.__cause__ is None


def _sqlite(table: pa.Table, spark: Any) -> Any:
    import ibis

    connection = ibis.sqlite.connect()
    connection.create_table("t", table)
    return connection.table("t")


@pytest.mark.parametrize("engine", [lambda table, spark: table, _duckdb, _sqlite, _ibis])
@pytest.mark.parametrize(
    ("cells", "type_", "codes"),
    [
        (["1", "7", "-9", None], "integer", (-9,)),  # stored as text
        ([1.0, 7.0, -9.0, None], "integer", (-9,)),  # stored as reals
        ([1.0, 7.0, -9.0, None], "real", (-9, "?")),  # codes of two types
        ([1, 7, -9, None], "integer", ("-9", "?")),
    ],
)
def test_equal_bins_however_stored(engine: Any, cells: list[Any], type_: str, codes: tuple[Any, ...]) -> None:
    column = Column("x", Kind.NUMERIC, type=type_, edges=(0, 5, 10), missing_codes=codes)
    table = scan(engine(pa.table({"x": cells}), None), schema=Schema((column,)))
    assert oracles.as_dict(table.counts("x")) == {("[0, 5)",): 1, ("[5, 10]",): 1, (None,): 2}
    if isinstance(cells[0], float):
        assert (table.cross_products(["x"]).rows, table.cross_products(["x"]).dropped) == (2, 2)


@pytest.mark.parametrize("engine", [lambda table, spark: table, _duckdb, _sqlite, _ibis])
@pytest.mark.parametrize("weights", [[1.0, float("nan")], [1.0, float("inf")], [1.0, 999.0], ["1", "SECRET"]])
def test_bad_weights_are_refused_everywhere(engine: Any, weights: list[Any]) -> None:
    schema = Schema((Column("x", Kind.NOMINAL), Column("w", Kind.NUMERIC, missing_codes=(999,))))
    table = scan(engine(pa.table({"x": ["a", "b"], "w": weights}), None), schema=schema)
    with pytest.raises(DataError, match="column 'w'") as caught:
        table.counts("x", weight="w")
    assert caught.value.hint and "SECRET" not in str(caught.value)
