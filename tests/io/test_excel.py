"""Sheets are read as a person sees them: text stays text, days are days, a bad header is refused."""

from __future__ import annotations

import datetime as dt
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.errors import DataError, OutputError, SfumatoWarning
from sfumato.io import excel, output, scan, write

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")


def make(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = xlsxwriter.Workbook(str(path))
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if isinstance(cell, dt.date):
                    sheet.write_datetime(i, j, cell, day)
                elif isinstance(cell, str) and cell.startswith("="):
                    sheet.write_formula(i, j, cell, None, "#DIV/0!")
                elif cell is not None:
                    sheet.write(i, j, cell)
    book.close()
    return path


def table(path: Path, **options: Any) -> pa.Table:
    source, hint = excel.read(path, **options)
    assert hint is None
    read = pa.Table.from_batches(source.batches(source.arrow_schema.names), schema=source.arrow_schema)
    assert source.rows == read.num_rows
    return read


def test_types_are_what_all_cells_agree_on(tmp_path: Path) -> None:
    at = dt.datetime(2020, 5, 17, 8, 30)
    rows = [
        ["zip", "age", "weight", "born", "seen", "ill", "mixed", "blank"],
        ["01234", 40, 70.5, dt.date(1980, 1, 2), at, True, 7, None],
        ["00001", 41, 80, dt.date(1981, 1, 2), dt.datetime(2020, 5, 17), False, "x", None],
        [None, None, None, None, None, None, None, None],
        ["99999", 43, 81, dt.date(1899, 12, 31), at, True, 8, None],
    ]
    read = table(make(tmp_path / "t.xlsx", {"data": rows}))
    types = [pa.string(), pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.bool_(), pa.string()]
    assert read.schema.types[:7] == types
    assert read["zip"].to_pylist() == ["01234", "00001", None, "99999"]
    assert read["born"].to_pylist()[0] == dt.date(1980, 1, 2)
    assert read["seen"].to_pylist()[0] == at
    assert read["mixed"].to_pylist() == ["7", "x", None, "8"]


def test_sheets_by_name_by_position_and_the_first_with_a_warning(tmp_path: Path) -> None:
    path = make(tmp_path / "t.xlsx", {"one": [["a"], [1]], "two": [["b"], [2]]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table(path, sheet="two").column_names == ["b"]
        assert table(path, sheet=0).column_names == ["a"]
    with pytest.warns(SfumatoWarning, match="'one', 'two'"):
        assert table(path).column_names == ["a"]
    for wrong in ("three", 2):
        with pytest.raises(DataError, match="no sheet"):
            excel.read(path, sheet=wrong)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "is empty"),
        ([[1, 2], [77, 4]], "no column names"),
        ([["a", " a ", "b"], [1, 2, 3]], "names repeat: 'a'"),
        ([["a", None, "b"], [1, 77, 3]], "column B has values but no name"),
    ],
)
def test_a_bad_header_is_refused_without_quoting_cells(tmp_path: Path, rows: Any, words: str) -> None:
    path = make(tmp_path / "t.xlsx", {"data": rows})
    with pytest.raises(DataError, match=words) as caught:
        excel.read(path)
    assert "77" not in str(caught.value)


def test_an_empty_column_without_a_name_is_left_out_and_a_header_alone_is_no_row(tmp_path: Path) -> None:
    path = make(tmp_path / "t.xlsx", {"data": [["a", None, "b"], [1, None, 3]]})
    assert table(path).to_pydict() == {"a": [1], "b": [3]}
    assert table(make(tmp_path / "u.xlsx", {"data": [["a", "b"]]})).num_rows == 0


def test_formula_errors_are_missing_and_counted(tmp_path: Path) -> None:
    path = make(tmp_path / "t.xlsx", {"data": [["a"], [1], ["=1/0"], [3]]})
    with pytest.warns(SfumatoWarning, match=r"'a' \(1\)"):
        assert table(path)["a"].to_pylist() == [1, None, 3]


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 cut short"])
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(DataError, match="not an Excel file"):
        excel.read(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="no file"):
        excel.read(tmp_path / "other.xlsx")


def test_an_unknown_column_is_named(tmp_path: Path) -> None:
    source, _ = excel.read(make(tmp_path / "t.xlsx", {"data": [["a"], [1]]}))
    with pytest.raises(DataError, match="'b'"):
        source.batches(["b"])


def test_what_is_written_is_read_back_and_text_is_never_a_formula(tmp_path: Path) -> None:
    data = pa.table(
        {
            "text": ["=1+1", "007", None, "http://x.org"],
            "n": [1, -2, None, 4],
            "real": [0.1, float("nan"), None, 2.0],
            "day": [dt.date(2020, 1, 2), None, dt.date(1980, 5, 6), dt.date(2000, 2, 29)],
            "flag": [True, False, None, True],
        }
    )
    output.write(data, tmp_path / "t.xlsx")
    first = (tmp_path / "t.xlsx").read_bytes()
    back = table(tmp_path / "t.xlsx").to_pydict()
    assert back == data.to_pydict() | {"real": [0.1, None, None, 2.0]}
    output.write(iter(data.to_batches(max_chunksize=1)), tmp_path / "t.xlsx", overwrite=True)
    assert (tmp_path / "t.xlsx").read_bytes() == first


def test_what_a_cell_cannot_hold_is_text_or_refused(tmp_path: Path) -> None:
    data = pa.table({"id": [12345678901234567], "born": [dt.date(1899, 3, 4)]})
    output.write(data, tmp_path / "t.xlsx")
    assert table(tmp_path / "t.xlsx").to_pydict() == {"id": ["12345678901234567"], "born": ["1899-03-04"]}
    for wrong, words in (
        (pa.table({"a": ["x" * 40_000]}), "longer than a cell"),
        (pa.table({"a": [float("inf")]}), "infinite"),
        (pa.table({"a": [[1]]}), "cannot hold"),
        (pa.table({"a": pa.nulls(1_048_576, pa.int8())}), "at most 1048575 rows"),
    ):
        with pytest.raises(OutputError, match=words):
            output.write(wrong, tmp_path / "wrong.xlsx")
    assert [p.name for p in tmp_path.iterdir()] == ["t.xlsx"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux lists the open files")
def test_a_sheet_that_is_refused_leaves_no_file_open(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as error:  # the error holds on to everything that was going on
        output.write(pa.table({"a": ["x" * 40_000]}), tmp_path / "wrong.xlsx")
    held = [os.readlink(f) for f in Path("/proc/self/fd").iterdir() if f.is_symlink()]
    assert not [name for name in held if str(tmp_path) in name], error


def _book(path: Path, sheet: bytes, stated: int | None = None) -> Path:
    """A workbook by hand, whose sheet may state another size than it has."""
    write(pa.table({"a": ["x"]}), path)
    with zipfile.ZipFile(path) as good:
        parts = {n: good.read(n) for n in good.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in parts.items():
            out.writestr(name, sheet if name.endswith("sheet1.xml") else content)
    if stated is not None:
        raw = path.read_bytes()
        path.write_bytes(raw.replace(len(sheet).to_bytes(4, "little"), stated.to_bytes(4, "little")))
    return path


def _sheet(rows: bytes) -> bytes:
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return b'<?xml version="1.0"?><worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (space, rows)


@pytest.mark.parametrize("stated", [None, 1000])
def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: int | None
) -> None:
    row = b'<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
    bomb = _book(tmp_path / "bomb.xlsx", _sheet(row + b" " * (80 * 2**20)), stated)
    assert bomb.stat().st_size < 2**20
    monkeypatch.setattr("fastexcel.read_excel", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(DataError, match="was not opened"):
        scan(bomb)


def test_two_cells_at_the_corners_of_a_sheet_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = b'<row r="%d"><c r="%s%d"><v>1</v></c></row>'
    far = _book(tmp_path / "far.xlsx", _sheet(cell % (1, b"A", 1) + cell % (1048576, b"XFD", 1048576)))
    monkeypatch.setattr("fastexcel.read_excel", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(DataError, match="too far apart"):
        scan(far)
