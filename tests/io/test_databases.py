"""One table of big ids, gaps, spellings and decimals on real databases: the same counts and pseudonyms.

Each database is filled by its own client, not by ours.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.counts import merged
from sfumato.errors import DataError, SfumatoError

COLUMNS = ("id", "code", "amount", "age")
ROWS: list[tuple[int | None, str | None, Decimal | None, int | None]] = [
    (2**53, "P1", Decimal("1234567890123.93"), 1),
    (2**53 + 1, "P1 ", Decimal("1234567890123.92"), None),
    (None, "p1", None, 1),
    (2**63 - 1, "é", Decimal("-0.01"), 1),
    (-(2**63) + 1, "e\u0301", Decimal("0.10"), 1),
    (2**53 + 1, None, Decimal("0.1"), 1),
    (2**53 + 2, "🙂", Decimal("7"), 1),
    (None, "", None, None),
]
ARROW = pa.table(
    {
        "id": pa.array([r[0] for r in ROWS], pa.int64()),
        "code": pa.array([r[1] for r in ROWS], pa.string()),
        "amount": pa.array([r[2] for r in ROWS], pa.decimal128(20, 2)),
        "age": pa.array([r[3] for r in ROWS], pa.int64()),
    }
)
SCHEMA = sf.Schema(
    (
        sf.Column("id", sf.Kind.NOMINAL, sf.Role.PERSON, "integer"),
        sf.Column("code", sf.Kind.NOMINAL, sf.Role.SENSITIVE),
        sf.Column("amount", sf.Kind.NUMERIC, type="decimal"),
        sf.Column("age", sf.Kind.NOMINAL, sf.Role.QUASI_IDENTIFIER, "integer"),
    )
)
_LAYOUT = "CREATE TABLE nasty (id BIGINT, code {text}, amount DECIMAL(20, 2), age BIGINT)"
Fill = Callable[[Path, Any], Iterator[Any]]


def _sqlite(folder: Path, fixture: Any) -> Iterator[Any]:
    connection = sqlite3.connect(folder / "nasty.db")
    connection.execute(_LAYOUT.format(text="TEXT COLLATE NOCASE"))
    cells = [(i, c, None if m is None else str(m), a) for i, c, m, a in ROWS]
    connection.executemany("INSERT INTO nasty VALUES (?, ?, ?, ?)", cells)
    connection.commit()
    connection.close()
    yield f"sqlite:///{folder}/nasty.db"


def _duckdb(folder: Path, fixture: Any) -> Iterator[Any]:
    import duckdb

    with duckdb.connect(str(folder / "nasty.duckdb")) as connection:
        connection.execute(_LAYOUT.format(text="VARCHAR"))
        connection.executemany("INSERT INTO nasty VALUES (?, ?, ?, ?)", ROWS)
    yield f"duckdb:///{folder}/nasty.duckdb"


def _postgres(folder: Path, fixture: Any) -> Iterator[Any]:
    import psycopg

    url = fixture("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS nasty")
        connection.execute(_LAYOUT.format(text="TEXT"))
        connection.cursor().executemany("INSERT INTO nasty VALUES (%s, %s, %s, %s)", ROWS)
        yield url
        connection.execute("DROP TABLE nasty")


def _mariadb(folder: Path, fixture: Any) -> Iterator[Any]:
    url = fixture("mariadb_url")
    import ibis

    connection = ibis.connect(url)
    connection.raw_sql("DROP TABLE IF EXISTS nasty").close()
    # The default collation: texts that differ in case, accents or blanks at the end are the same to it.
    text = "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    connection.raw_sql(_LAYOUT.format(text=text)).close()
    connection.con.cursor().executemany("INSERT INTO nasty VALUES (%s, %s, %s, %s)", ROWS)
    connection.con.commit()
    yield url
    connection.raw_sql("DROP TABLE nasty").close()
    connection.disconnect()


def _spark(folder: Path, fixture: Any) -> Iterator[Any]:
    yield fixture("spark").createDataFrame(ARROW).repartition(3)


ENGINES: dict[str, Fill] = {
    "sqlite": _sqlite, "duckdb": _duckdb, "postgres": _postgres, "mariadb": _mariadb, "spark": _spark,
}  # fmt: skip


@pytest.fixture(params=list(ENGINES))
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sf.Table]:
    """The table in one database, as a user would open it."""
    for given in ENGINES[request.param](tmp_path, request.getfixturevalue):
        if isinstance(given, str):
            yield sf.scan(given, schema=SCHEMA, table="nasty")
        else:
            yield sf.scan(given, schema=SCHEMA)


def sorted_rows(found: pa.Table) -> list[str]:
    return sorted(map(str, found.select(COLUMNS).to_pylist()))


def test_counts_codes_and_rows_are_the_same(table: sf.Table) -> None:
    known = sf.Table.from_arrow(ARROW, SCHEMA)
    assert sorted_rows(table.to_arrow()) == sorted_rows(known.to_arrow())
    sets = [(c,) for c in COLUMNS] + [("id", "code"), ("code", "age"), COLUMNS]
    mine, theirs = known.tabulate(sets), table.tabulate(sets)
    for columns in sets:
        assert mine[columns] == theirs[columns], columns
    assert merged(theirs[("id", "code")], "code") == merged(mine[("id", "code")], "code")


def test_pseudonyms_are_the_same(table: sf.Table) -> None:
    key = sf.Key.from_seed(3)
    known = sf.pseudonymize(sf.Table.from_arrow(ARROW, SCHEMA), key=key, columns=["id", "code"])
    found = sf.pseudonymize(table, key=key, columns=["id", "code"])
    assert sorted_rows(found.data.to_arrow()) == sorted_rows(known.data.to_arrow())
    names = found.data.to_arrow()
    assert len(set(names["id"].drop_null().to_pylist())) == 5  # one beyond 2^53 has two rows
    assert len(set(names["code"].drop_null().to_pylist())) == 4  # "P1 " is "P1", "" is nobody's


def test_persons_and_variety_are_the_same(table: sf.Table) -> None:
    hierarchies = {"age": sf.Hierarchy.of_rows([["1", "*"]])}
    claims = []
    for given in (sf.Table.from_arrow(ARROW, SCHEMA), table):
        with pytest.warns(
            sf.errors.SfumatoWarning, match="2 values of 'code' differ from another one only in case"
        ):
            asked = sf.KAnonymity(2) & sf.LDiversity(2, "code")
            claims.append(sf.anonymize(given, asked, hierarchies=hierarchies).guarantee.claims)
    assert claims[0] == claims[1]


def test_more_digits_than_a_real_holds_are_refused(tmp_path: Path) -> None:
    """SQLite keeps decimals as reals: beyond 15 digits two of them may be one."""
    for number, cells in enumerate((["90071992547409.93"], ["123456789012345678.12"], ["a lot"], ["1.505"])):
        connection = sqlite3.connect(tmp_path / f"{number}.db")
        connection.execute(_LAYOUT.format(text="TEXT"))
        connection.executemany("INSERT INTO nasty (amount) VALUES (?)", [(c,) for c in cells])
        connection.commit()
        connection.close()
        with pytest.raises(DataError, match="decimal column of SQLite") as raised:
            sf.scan(f"sqlite:///{tmp_path}/{number}.db", schema=SCHEMA, table="nasty").to_arrow()
        assert cells[0] not in str(raised.value)


def test_the_name_of_a_table_is_no_query(tmp_path: Path) -> None:
    """Whoever may make tables in a database would else say what is asked of it, in another's name."""
    name, file = "select 7 as a", tmp_path / "n"
    for scheme, connect in (("sqlite", sqlite3.connect), ("duckdb", duckdb.connect)):
        made: Any = connect(f"{file}.{scheme}")
        made.execute(f'CREATE TABLE "{name}" (a INTEGER)')
        made.execute(f'INSERT INTO "{name}" VALUES (1)')
        made.commit()
        made.close()
        for asked, found in ((name, 1), (f"{name} ", 7)):
            table = sf.scan(f"{scheme}:///{file}.{scheme}", table=asked)
            assert table.to_arrow()["a"].to_pylist() == [found]


@pytest.mark.parametrize("query", ["select 1; {copy}; select 2", "{copy}", "with t as (select 1) {copy}"])
def test_a_query_writes_nothing(tmp_path: Path, query: str) -> None:
    duckdb.connect(str(tmp_path / "n.ddb")).close()
    copy = f"COPY (SELECT 'alias sudo=...') TO '{tmp_path}/profile'"
    with pytest.raises(SfumatoError):
        sf.scan(f"duckdb:///{tmp_path}/n.ddb", table=query.format(copy=copy)).to_arrow()
    assert not (tmp_path / "profile").exists()
    sqlite3.connect(tmp_path / "n.db").close()
    with pytest.raises(SfumatoError):
        sf.scan(f"sqlite:///{tmp_path}/n.db", table=query.format(copy="delete from t"))


def test_text_that_is_no_utf8_is_refused_by_name(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "odd.db")
    connection.execute(_LAYOUT.format(text="TEXT"))
    connection.execute("INSERT INTO nasty (code) VALUES (CAST(x'e9' AS TEXT))")
    connection.commit()
    connection.close()
    table = sf.scan(f"sqlite:///{tmp_path}/odd.db", schema=SCHEMA, table="nasty")
    with pytest.raises(DataError, match="'code' holds bytes that are not UTF-8"):
        table.counts("code")
