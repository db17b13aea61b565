"""Bad input of every kind of file: by Python and by the command line one clear error, and nothing written."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from cli_support import CANARY, Sfumato, everything

import sfumato as sf

KINDS = ("csv.gz", "parquet", "arrow", "xlsx", "sav", "dta", "xpt", "db", "duckdb")
ROWS = pa.table({"sex": ["F", "M", CANARY] * 20, "age": [30 + i for i in range(60)]})
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::sfumato.errors.SfumatoWarning")


def put(path: Path, rows: pa.Table) -> str:
    """The rows in a file, and what a user would call it."""
    if path.suffix == ".db":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (sex TEXT, age INTEGER)")
            cells = zip(*rows.to_pydict().values(), strict=True)
            connection.executemany("INSERT INTO t VALUES (?, ?)", cells)
        connection.close()
        return f"sqlite:///{path}"
    if path.suffix == ".duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as connection:
            connection.register("given", rows)
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
        return f"duckdb:///{path}"
    sf.write(rows, path)
    return str(path)


def named(path: Path) -> str:
    return {".db": "sqlite:///", ".duckdb": "duckdb:///"}.get(path.suffix, "") + str(path)


def folder(path: Path) -> str:
    path.mkdir()
    return named(path)


def binary(path: Path) -> str:
    path.write_bytes(bytes(range(256)) * 20 + CANARY.encode())
    return named(path)


def cut_short(path: Path) -> str:
    name = put(path, ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 + 1])
    return name


def repeated(path: Path) -> str:
    twice = pa.table([ROWS["sex"], ROWS["sex"]], names=["sex", "sex"])
    if path.name.endswith(".parquet"):
        pq.write_table(twice, path)
    elif path.name.endswith(".arrow"):
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, twice.schema) as writer:
            writer.write_table(twice)
    elif path.name.endswith(".csv.gz"):
        path.write_bytes(gzip.compress(b"sex,sex \nF,M\nM,F\n"))
    elif path.name.endswith(".xlsx"):
        with xlsxwriter.Workbook(str(path)) as book:
            sheet = book.add_worksheet()
            for row, cells in enumerate((("sex", "sex "), ("F", "M"), ("M", "F"))):
                sheet.write_row(row, 0, cells)
    else:
        pytest.skip("such a file has each name once")
    return str(path)


FAULTS: dict[str, Callable[[Path], str]] = {
    "missing": named,
    "a folder": folder,
    "binary": binary,
    "cut short": cut_short,
    "no rows": lambda path: put(path, ROWS.slice(0, 0)),
    "names that repeat": repeated,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_file(fault: str, kind: str, tmp_path: Path, sfumato: Sfumato) -> None:
    data = FAULTS[fault](tmp_path / f"in.{kind}")
    before = everything(tmp_path)
    with pytest.raises(sf.SfumatoError) as caught:
        sf.write(sf.scan(data), tmp_path / "new.parquet")
    assert caught.value.hint and CANARY not in str(caught.value)
    answer = sfumato("convert", data, "new.parquet")
    assert answer.code == 2 and "Error: " in answer.err and "Hint: " in answer.err, answer.all
    assert "fault of its own" not in answer.err and "Traceback" not in answer.all and CANARY not in answer.all
    assert everything(tmp_path) == before


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_contradict_a_schema(kind: str, tmp_path: Path, sfumato: Sfumato) -> None:
    data = put(tmp_path / f"in.{kind}", ROWS)
    sex = '[columns.sex]\nkind = "nominal"\nrole = "quasi-identifier"\nlevels = ["F", "M"]\n'
    age = '[columns.age]\nkind = "numeric"\nrole = "identifier"\nedges = [0, 80]\nmissing = false\n'
    (tmp_path / "domain.toml").write_text(sex + age)
    (tmp_path / "ghost.toml").write_text(sex + age + '[columns.ghost]\nkind = "nominal"\n')
    before = everything(tmp_path)
    said = "'sex' (20 cells outside the declared domain)"
    with pytest.raises(sf.DataError) as caught:
        sf.write(sf.scan(data, tmp_path / "domain.toml"), tmp_path / "new.parquet")
    assert said in caught.value.message and "'age' (9 cells outside" in caught.value.message
    for schema, words in (("domain.toml", said), ("ghost.toml", "'ghost'")):
        for command in (("convert", data, "new.csv"), ("pseudonymize", data, "--out", "new")):
            answer = sfumato(*command, "--schema", schema)
            assert answer.code == 2 and words in answer.err.replace("\n", " "), answer.all
            assert CANARY not in answer.all
    assert everything(tmp_path) == before
