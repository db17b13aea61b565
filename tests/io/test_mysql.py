"""MariaDB and MySQL through Ibis: values stay apart that the server takes for equal.

The server's part needs the fixture `mariadb_url`, and is skipped without it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.io import engines, scan
from sfumato.sources import BatchSource, EngineSource

FOLDED = ["f", "F", "f ", "é", "e"]


def test_rows_of_a_server_that_folds_case_are_counted_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite can be told to do what SQL Server does by itself."""
    pytest.importorskip("ibis", reason="needs the extra ibis")
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE t (sex TEXT COLLATE NOCASE)")
        connection.executemany("INSERT INTO t VALUES (?)", [("f",), ("F",), ("f",)])
    address = f"sqlite:///{tmp_path}/x.db"
    assert sorted(scan(address).counts("sex").n.tolist()) == [1, 2]  # grouped there, as bytes
    monkeypatch.setattr(engines, "_FOLDING", {"sqlite"})
    table = scan(address)
    assert isinstance(table.source, BatchSource) and table.rows() == 3
    assert sorted(table.counts("sex").n.tolist()) == [1, 2]


@pytest.fixture
def url(mariadb_url: str) -> Iterator[str]:
    """A table of the server, dropped afterwards."""
    address = mariadb_url
    import ibis

    connection = ibis.connect(address)
    connection.raw_sql("DROP TABLE IF EXISTS sfumato_visits").close()
    connection.raw_sql(
        "CREATE TABLE sfumato_visits (id BIGINT, sex VARCHAR(8) CHARACTER SET utf8mb4, cost DECIMAL(12, 2), "
        "seen DATE)"
    ).close()
    for k, sex in enumerate(FOLDED):
        row = f"({9007199254740993 + k}, '{sex}', {k}.25, '2020-12-{k + 1:02d}')"
        connection.raw_sql(f"INSERT INTO sfumato_visits VALUES {row}").close()
    connection.raw_sql("INSERT INTO sfumato_visits VALUES (NULL, NULL, NULL, NULL)").close()
    connection.raw_sql("COMMIT").close()
    yield address
    connection.raw_sql("DROP TABLE sfumato_visits").close()


def test_mysql(url: str) -> None:
    table = scan(url, table="sfumato_visits")
    assert isinstance(table.source, EngineSource)
    rows = table.to_arrow().to_pydict()
    assert rows["id"] == [*(9007199254740993 + k for k in range(5)), None]
    assert rows["sex"] == [*FOLDED, None] and str(rows["cost"][1]).startswith("1.25")
    assert table.counts("sex").cells == 6 and table.counts("id").cells == 6
    part = scan(url, table="SELECT sex FROM sfumato_visits WHERE cost > 1")
    assert part.rows() == 4
