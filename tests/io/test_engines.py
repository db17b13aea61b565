import builtins
import datetime as dt
import sqlite3
import sys
from importlib import metadata

import duckdb
import ibis
import narwhals as nw
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, MissingExtraError, ParameterError, SfumatoError
from sfumato.io import scan, to_native
from sfumato.io.engines import from_ibis, from_spark, from_url
from sfumato.io.frames import from_frame
from sfumato.sources import EngineSource

DATA = {
    "select": [1, 2, None, 2],
    "x y": ["a", "b", None, "b"],
    "day": [dt.date(2020, 1, d) for d in (1, 2, 3, 4)],
}


def rows(source, columns=None):
    names = list(columns or source.arrow_schema.names)
    return pa.Table.from_batches(list(source.batches(names))).to_pydict()


def counted(source, column):
    """Grouped in the engine, under the engine's own names; texts of SQLite are bytes there."""
    name = source.inner(column)
    grouped = source.frame.group_by(name).agg(nw.len().alias("how_many")).collect("pyarrow").to_native()
    values = [v.decode() if isinstance(v, bytes) else v for v in grouped[name].to_pylist()]
    return dict(zip(values, grouped["how_many"].to_pylist(), strict=True))


@pytest.fixture
def duck():
    connection = duckdb.connect(":memory:")
    yield connection
    connection.close()


# -- DuckDB ----------------------------------------------------------------------------------------


def test_duckdb_relation(duck):
    source = from_frame(duck.from_arrow(pa.table(DATA)))
    assert isinstance(source, EngineSource)
    assert source.flavour == "duckdb"
    assert source.arrow_schema.names == list(DATA)
    assert source.frame.collect_schema().names() == ["c0", "c1", "c2"]
    assert rows(source) == DATA
    assert rows(source, ["x y"]) == {"x y": DATA["x y"]}
    assert counted(source, "x y") == {"a": 1, "b": 2, None: 1}


def test_duckdb_comes_back_as_a_relation(duck):
    source = from_frame(duck.sql("SELECT 1 AS a, 'x' AS b"))
    out = to_native(pa.table(rows(source)), source)
    assert isinstance(out, duckdb.DuckDBPyRelation)
    assert out.fetchall() == [(1, "x")]


def test_duckdb_enum_is_a_domain(duck):
    duck.sql(
        "CREATE TYPE size AS ENUM ('s', 'm', 'l');"
        "CREATE TABLE t AS SELECT 'm'::size AS x, range AS i FROM range(30)"
    )
    assert scan(duck.table("t")).schema["x"].levels == ("s", "m", "l")


def test_connections_of_ours_fetch_no_extensions(tmp_path):
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.sql("CREATE TABLE t AS SELECT 1 AS a")
    ours = from_url(f"duckdb:///{path}", None).origin
    names = ("autoinstall_known_extensions", "autoload_known_extensions")
    assert [ours.sql(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in names] == [
        False,
        False,
    ]


def test_a_query_that_fails_later_quotes_no_cell(duck, tmp_path):
    relation = duck.sql("SELECT CAST(x AS INTEGER) AS a FROM (VALUES ('1'), ('SECRET')) t(x)")
    with pytest.raises(DataError, match=r"could not read its data \(ConversionException\)") as caught:
        scan(relation)
    assert "SECRET" not in str(caught.value)
    with sqlite3.connect(tmp_path / "loose.db") as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.execute("INSERT INTO t VALUES (1), ('SECRET')")
    connection.close()
    with pytest.raises(DataError, match="could not read its data") as caught:
        scan(f"sqlite:///{tmp_path}/loose.db")
    assert "SECRET" not in str(caught.value)


# -- Ibis ------------------------------------------------------------------------------------------


def test_ibis_table():
    source = from_frame(ibis.memtable(pa.table(DATA)))
    assert (source.flavour, source.arrow_schema.names) == ("ibis", list(DATA))
    assert rows(source) == DATA
    assert counted(source, "select") == {1: 1, 2: 2, None: 1}
    assert to_native(pa.table(DATA), source).to_pyarrow().to_pydict() == DATA


def test_ibis_names_that_differ_in_case_only_are_refused():
    with pytest.raises(DataError, match="'n', 'N'"):
        from_ibis(ibis.memtable(pa.table({"n": [1], "N": ["a"], "m": [1]})))


# -- Spark -----------------------------------------------------------------------------------------


def test_spark(spark):
    data = {"n": [1, 2, None, 2] * 10, "N": ["a", "b", None, "b"] * 10, "sex": ["m", "f"] * 20}
    table = scan(spark.createDataFrame(pa.table(data)))
    source = table.source
    assert (source.flavour, source.arrow_schema.names) == ("spark", ["n", "N", "sex"])
    assert rows(source, ["N", "n"]) == {"N": data["N"], "n": data["n"]}
    assert counted(source, "N") == {"a": 10, "b": 20, None: 10}
    assert table.schema["sex"].role == "quasi-identifier"
    out = to_native(pa.table({"n": [1], "N": ["x"]}), source)
    assert type(out).__module__.startswith("pyspark")
    assert out.columns == ["n", "N"]
    assert out.toArrow().to_pydict() == {"n": [1], "N": ["x"]}


def test_spark_names_that_repeat(spark):
    frame = spark.createDataFrame(pa.table({"a": [1], "b": [2]})).toDF("a", "a")
    with pytest.raises(DataError, match="repeat: 'a'"):
        from_spark(frame)


# -- databases -------------------------------------------------------------------------------------


@pytest.fixture
def sqlite_file(tmp_path):
    path = tmp_path / "with space.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE stays (id INTEGER, ward TEXT, cost REAL, day DATE)")
        cells = [(1, "a", 2.5, "2020-01-02"), (2, None, None, None), (3, "a", 1.0, "2020-01-03")]
        connection.executemany("INSERT INTO stays VALUES (?, ?, ?, ?)", cells)
        connection.execute("CREATE TABLE other (x INTEGER)")
    connection.close()
    return path


@pytest.fixture
def duckdb_file(tmp_path):
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.sql("CREATE TABLE stays AS SELECT i AS id, i % 2 AS ward FROM range(10) t(i)")
    return path


def test_sqlite(sqlite_file):
    url = "sqlite:///" + str(sqlite_file).replace(" ", "%20")
    source = from_url(url, "stays")
    assert source.arrow_schema.names == ["id", "ward", "cost", "day"]
    assert rows(source)["day"] == [dt.date(2020, 1, 2), None, dt.date(2020, 1, 3)]
    assert counted(source, "ward") == {"a": 2, None: 1}
    query = from_url(url, "SELECT ward AS w, cost FROM stays WHERE id < 3")
    assert rows(query) == {"w": ["a", None], "cost": [2.5, None]}


def test_which_table(sqlite_file, duckdb_file):
    with pytest.raises(ParameterError, match="2 tables: other, stays"):
        from_url(f"sqlite:///{sqlite_file}", None)
    with pytest.raises(DataError, match="no table 'none'") as caught:
        from_url(f"sqlite:///{sqlite_file}", "none")
    assert "other, stays" in caught.value.hint
    assert from_url(f"duckdb:///{duckdb_file}", None).arrow_schema.names == ["id", "ward"]
    with pytest.raises(DataError, match="no table 'none'"):
        from_url(f"duckdb:///{duckdb_file}", "none")
    with pytest.raises(DataError, match="query failed"):
        from_url(f"duckdb:///{duckdb_file}", "SELECT nothing FROM stays")
    with pytest.raises(DataError, match="query failed"):
        from_url(f"sqlite:///{sqlite_file}", "SELECT nothing FROM stays")


def test_scan_of_a_duckdb_file(duckdb_file, monkeypatch):
    monkeypatch.chdir(duckdb_file.parent)
    table = scan("duckdb:///d.duckdb", table="SELECT * FROM stays WHERE id < 6")
    assert table.rows() == 6
    assert table.counts("ward").n.tolist() == [3, 3]


def test_the_database_is_not_written_to(duckdb_file):
    with pytest.raises(SfumatoError):
        from_url(f"duckdb:///{duckdb_file}", "DELETE FROM stays")
    connection = from_url(f"duckdb:///{duckdb_file}", "stays").origin
    with pytest.raises(duckdb.Error):
        connection.sql("CREATE TABLE x AS SELECT 1")


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_missing_file_is_not_made(tmp_path, scheme):
    with pytest.raises(DataError, match=r"no .* file none\.db"):
        from_url(f"{scheme}:///{tmp_path}/none.db", "t")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_file_that_is_no_database(tmp_path, scheme):
    path = tmp_path / "text.db"
    path.write_text("no database at all\n" * 100)
    with pytest.raises(DataError, match=r"text\.db cannot be opened as a (SQLite|DuckDB) database") as caught:
        from_url(f"{scheme}:///{path}", "t")
    assert caught.value.hint


@pytest.mark.parametrize(
    "scheme, extra", [("trino", "trino"), ("postgresql", "postgres"), ("postgres", "postgres")]
)
def test_a_driver_that_is_not_installed_is_named(monkeypatch, scheme, extra):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "ibis.backends.postgres", raising=False)
    with pytest.raises(DataError, match="driver") as caught:
        from_url(f"{scheme}://me@127.0.0.1:1/db", "t")
    assert caught.value.hint == f'pip install "ibis-framework[{extra}]"'  # Ibis itself is there
    assert extra in metadata.metadata("ibis-framework").get_all("Provides-Extra")


def test_a_relation_whose_connection_is_closed():
    connection = duckdb.connect()
    relation = connection.sql("SELECT 1 AS a")
    connection.close()
    with pytest.raises(DataError, match="ConnectionException"):
        scan(relation)


@pytest.mark.parametrize("url", ["ftp://host/data.csv", "hdfs://name/x.parquet", "sftp://host/x"])
def test_other_addresses_are_not_read(url):
    with pytest.raises(DataError, match="addresses are not read"):
        scan(url)


def test_no_password_in_a_message():
    with pytest.raises(DataError, match="no connection to the postgresql database on 127") as caught:
        scan("postgresql://me:hunter2@127.0.0.1:1/db", table="t")
    assert "hunter2" not in str(caught.value)


def test_without_ibis(sqlite_file, duckdb_file, monkeypatch):
    genuine = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "ibis":
            raise ImportError(name)
        return genuine(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"sfumato\[ibis\]"):
        from_url(f"sqlite:///{sqlite_file}", "stays")
    assert from_url(f"duckdb:///{duckdb_file}", "stays").flavour == "duckdb"


def test_postgres(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS sfumato_scan_test")
        connection.execute('CREATE TABLE sfumato_scan_test (n integer, "N" text, day date)')
        connection.execute("INSERT INTO sfumato_scan_test VALUES (1, 'a', '2020-01-02'), (2, 'b', NULL)")
        connection.execute('ALTER TABLE sfumato_scan_test RENAME COLUMN "N" TO m')
        try:
            source = from_url(postgres_url, "sfumato_scan_test")
            assert rows(source) == {"n": [1, 2], "m": ["a", "b"], "day": [dt.date(2020, 1, 2), None]}
            assert counted(source, "m") == {"a": 1, "b": 1}
        finally:
            connection.execute("DROP TABLE sfumato_scan_test")


def test_whole_numbers_beyond_floats_stay_apart_beside_a_missing_one(tmp_path):
    """By way of pandas a missing cell makes floats of its column, and two patients one."""
    ids = [2**53, 2**53 + 1, None, -(2**63), 2**63 - 1]
    with sqlite3.connect(tmp_path / "big.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER, a INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, n) for n, i in enumerate(ids)])
    connection.close()
    table = scan(f"sqlite:///{tmp_path}/big.db")
    assert table.to_arrow()["id"].to_pylist() == ids
    assert table.codebooks(["id"])["id"].levels.to_pylist() == sorted(i for i in ids if i is not None)
    assert table.counts("id").total == 5 and len(table.counts("id").to_arrow()) == 5
    schema = table.schema.with_("id", role="identifier")
    given = sf.pseudonymize(table.with_schema(schema), columns=["id"]).data.to_arrow()["id"].to_pylist()
    assert len({g for g in given if g is not None}) == 4
