"""What stands in the files that are written."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import OutputError
from sfumato.io import file_checks, formulas, output, parquet, scan
from sfumato.schema import Column, Kind, Schema

SMALL = pa.table({"a": [1, 2, None], "b": ["x", None, "z"]})
SUFFIXES = output.suffixes()


def pieces(table: pa.Table, cuts: list[int]) -> list[pa.RecordBatch]:
    ends = sorted({min(c, table.num_rows) for c in cuts} | {table.num_rows})
    starts = [0, *ends[:-1]]
    return [b for s, e in zip(starts, ends, strict=True) for b in table.slice(s, e - s).to_batches()]


@given(st.lists(st.integers(0, 500), max_size=6), st.sampled_from([".parquet", ".csv", ".csv.gz", ".arrow"]))
def test_bytes_do_not_depend_on_batches(tmp_path_factory: pytest.TempPathFactory, cuts, suffix) -> None:
    folder = tmp_path_factory.mktemp("o")
    table = pa.table(
        {
            "n": pa.array([None if i % 7 == 0 else i for i in range(500)]),
            "t": ["abc"[i % 3] for i in range(500)],
        }
    )
    encoded = table.set_column(1, "t", table["t"].dictionary_encode())
    chunk, output.CHUNK_ROWS = output.CHUNK_ROWS, 128  # several row groups
    try:
        output.write(table, folder / f"1{suffix}")
        output.write(pieces(encoded, cuts) or encoded, folder / f"2{suffix}")
    finally:
        output.CHUNK_ROWS = chunk
    assert (folder / f"1{suffix}").read_bytes() == (folder / f"2{suffix}").read_bytes()


def test_parquet_holds_the_data_the_schema_and_nothing_else(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = pa.Table.from_pandas(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]))
    schema = Schema((Column("a", Kind.NUMERIC, type="integer", reason="seen in 4321 rows"),))
    output.write(table.select(["a"]), tmp_path / "t.parquet", schema)
    content = (tmp_path / "t.parquet").read_bytes()
    metadata = pq.read_schema(tmp_path / "t.parquet").metadata
    assert set(metadata) == {file_checks.SCHEMA_KEY}
    for leak in (b"pandas", b"4321", str(tmp_path).encode()):
        assert leak not in content
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert file.schema_arrow.field("a").metadata is None or b"sfumato" not in str(file.schema_arrow).encode()


def test_row_groups_are_of_fixed_size(tmp_path: Path) -> None:
    rows = 2 * output.CHUNK_ROWS + 5
    table = pa.table({"a": pa.nulls(rows, pa.int8())})
    output.write(table.to_batches(max_chunksize=1000), tmp_path / "t.parquet")
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert [metadata.row_group(i).num_rows for i in range(3)] == [output.CHUNK_ROWS, output.CHUNK_ROWS, 5]


def test_csv_is_plain_utf8_with_iso_dates(tmp_path: Path) -> None:
    at = dt.datetime(2020, 1, 2, 3, 4, 5)
    table = pa.table(
        {
            "text": ["é", 'say "x"', "a;b", "two\nlines", "", None],
            "real": [0.1, float("nan"), None, -1.5, 1e-7, 3.0],
            "day": pa.array([dt.date(1900, 2, 3)] * 6),
            "at": pa.array([at, None] * 3, pa.timestamp("us")),
            "instant": pa.array([at] * 6, pa.timestamp("us", "Europe/Zurich")),
            "flag": [True, False, None] * 2,
        }
    )
    output.write(table, tmp_path / "t.csv", delimiter=";")
    text = (tmp_path / "t.csv").read_bytes().decode("utf-8")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";"))
    assert [row[0] for row in rows] == ["text", "é", 'say "x"', "a;b", "two\nlines", "", ""]
    assert [row[1] for row in rows[1:]] == ["0.1", "", "", "-1.5", "1e-7", "3"]
    assert rows[1][2:] == ["1900-02-03", "2020-01-02T03:04:05", "2020-01-02T03:04:05Z", "true"]
    output.write(table, tmp_path / "t.csv.gz", delimiter=";")
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()).decode() == text


def test_a_single_column_keeps_its_empty_rows(tmp_path: Path) -> None:
    output.write(pa.table({"a": [1, None, 3]}), tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="") as file:
        assert [row["a"] for row in csv.DictReader(file)] == ["1", "", "3"]


def test_formulas_are_escaped_when_asked_and_numbers_are_not(tmp_path: Path) -> None:
    words = ["=1+1", "+x", "-x", "@x", "\tx", "-9", "+3.5", "-1e5", "a=b", None]
    table = pa.table({"=t": words, "n": list(range(-5, 5))})
    output.write(table, tmp_path / "as_is.csv")
    output.write(table, tmp_path / "safe.csv", escape_formulas=True)

    def cells(name: str) -> list[list[str]]:
        with open(tmp_path / name, newline="") as file:
            return list(csv.reader(file))

    assert [r[0] for r in cells("as_is.csv")] == ["=t", *words[:-1], ""]
    escaped = ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "-9", "+3.5", "-1e5", "a=b", ""]
    assert [r[0] for r in cells("safe.csv")] == ["'=t", *escaped]
    assert [r[1] for r in cells("safe.csv")][1] == "-5"


class TableLike:
    """What a Sfumato table shows of itself."""

    schema = Schema((Column("a", Kind.NUMERIC, type="integer"), Column("b", Kind.NOMINAL)))

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        self._batches = batches

    def batches(self) -> Any:
        return iter(self._batches)


@pytest.mark.parametrize("rows", [0, 3])
def test_tables_are_written_with_their_own_schema(tmp_path: Path, rows: int) -> None:
    output.write(TableLike(SMALL.slice(0, rows).to_batches() if rows else []), tmp_path / "t.parquet")
    source, hint = parquet.read([tmp_path / "t.parquet"])
    assert source.rows == rows and hint == TableLike.schema


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_takes_every_kind_of_data_and_no_rows(tmp_path: Path, suffix: str) -> None:
    source, _ = parquet.read([output.write(SMALL, tmp_path / "in.parquet")])
    kinds = [SMALL, SMALL.to_batches()[0], SMALL.to_reader(), source, SMALL.slice(0, 0)]
    for i, data in enumerate(kinds):
        path = output.write(data, tmp_path / f"t{i}{suffix}")
        assert path.stat().st_size > 0


def test_frames_are_written_as_they_are_with_a_schema_from_its_file(tmp_path: Path) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    cells = {"a": [1, 2], "b": ["x", None]}
    label = Column("a", Kind.NOMINAL, type="integer", labels={"1": "one"})
    (tmp_path / "s.toml").write_text(Schema((label, Column("b", Kind.NOMINAL))).to_toml())
    relation = duckdb.sql("SELECT * FROM (VALUES (1, 'x'), (2, NULL)) t(a, b)")
    for i, frame in enumerate((pd.DataFrame(cells), pl.DataFrame(cells), pl.LazyFrame(cells), relation)):
        output.write(frame, tmp_path / f"{i}.parquet", tmp_path / "s.toml")
        source, known = parquet.read([tmp_path / f"{i}.parquet"])
        assert pa.Table.from_batches(source.batches(["a", "b"])).to_pydict() == cells
        assert known is not None and known["a"].labels == {"1": "one"}


def test_marked_text_is_read_back_as_it_was() -> None:
    texts = ["=1+1", "'=1+1", "''@x", "-9", "'-9", "it's", "'", "", None, "+x", "\tx", "a=b"]
    once = formulas.marked(pa.array(texts))
    assert not any(t and t[0] in "=+@\t" and t != "+3" for t in once.to_pylist())
    assert formulas.unmarked(once).to_pylist() == texts


def test_a_transport_file_refuses_numbers_it_would_turn_into_others(tmp_path: Path) -> None:
    for number in (1e300, -1e75, 1e-100):
        with pytest.raises(OutputError, match="cannot hold"):
            output.write(pa.table({"x": [1.0, number]}), tmp_path / "x.xpt")
    output.write(pa.table({"x": [4e74, -1e-78, 0.0]}), tmp_path / "x.xpt")
    assert scan(tmp_path / "x.xpt").to_arrow()["x"].to_pylist() == pytest.approx(
        [4e74, -1e-78, 0.0], rel=1e-12, abs=0
    )


def test_a_sheet_that_would_lose_its_last_rows_is_refused(tmp_path: Path) -> None:
    for last in ({"a": None, "b": None}, {"a": "  ", "b": float("nan")}):
        rows = pa.Table.from_pylist([{"a": "x", "b": 1.0}, last])
        with pytest.raises(OutputError, match="last 1 rows are empty"):
            output.write(rows, tmp_path / "a.xlsx")
    middle = pa.Table.from_pylist([{"a": "x", "b": 1.5}, {"a": None, "b": None}, {"a": "y", "b": None}])
    output.write(middle, tmp_path / "a.xlsx")
    assert scan(tmp_path / "a.xlsx").rows() == 3


def test_a_link_to_nothing_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    (tmp_path / "folder").symlink_to(tmp_path / "nowhere")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="a link to a place"):
            output.write(pa.table({"a": [1]}), tmp_path / "link.csv", overwrite=overwrite)
        with (
            pytest.raises(OutputError, match="a link to a place"),
            output.atomic_directory(tmp_path / "folder", overwrite),
        ):
            pass
    assert not (tmp_path / "elsewhere.csv").exists() and not (tmp_path / "nowhere").exists()
