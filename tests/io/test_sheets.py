"""Sheets as people keep them: titles, merged cells, units, remarks; .ods beside .xlsx."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest

from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.io import excel

xlsxwriter = pytest.importorskip("xlsxwriter", reason="needs the extra excel")
pytest.importorskip("fastexcel", reason="needs the extra excel")

_ODS = (
    '<?xml version="1.0" encoding="UTF-8"?><office:document-content '
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
    '<table:table table:name="data">{rows}</table:table></office:spreadsheet></office:body>'
    "</office:document-content>"
)


def xlsx(folder: Path, rows: list[list[Any]], merged: tuple[str, ...] = ()) -> Path:
    """A workbook; None is an empty cell. merged: ranges whose first cell keeps its value."""
    path = folder / "data.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("data")
    for range_ in merged:
        sheet.merge_range(range_, "")
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if cell is not None:
                sheet.write(i, j, cell)
    book.close()
    return path


def ods(folder: Path, rows: list[list[Any]], spans: dict[tuple[int, int], int] | None = None) -> Path:
    """An OpenDocument workbook. spans: over how many rows the cell at a place goes."""
    text = ""
    for i, row in enumerate(rows):
        text += "<table:table-row>"
        for j, cell in enumerate(row):
            span = f' table:number-rows-spanned="{spans[i, j]}"' if spans and (i, j) in spans else ""
            if cell is None:
                text += "<table:table-cell/>"
            elif isinstance(cell, str):
                inner = f"<text:p>{escape(cell)}</text:p>"
                text += f'<table:table-cell{span} office:value-type="string">{inner}</table:table-cell>'
            else:
                text += f'<table:table-cell{span} office:value-type="float" office:value="{cell}"/>'
        text += "</table:table-row>"
    path = folder / "data.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", _ODS.format(rows=text))
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
    return path


def read(path: Path, **options: Any) -> pa.Table:
    source, _ = excel.read(path, **options)
    return pa.Table.from_batches(source.batches(source.arrow_schema.names), schema=source.arrow_schema)


TITLED = [["Visits of 2020", None, None], [None] * 3, ["id", "age", "sex"], [1, 34, "f"], [2, 41, "m"]]
PLAIN = {"id": [1, 2], "age": [34, 41], "sex": ["f", "m"]}


@pytest.mark.parametrize("write", [xlsx, ods])
def test_a_title_above_the_names(tmp_path, write):
    path = write(tmp_path, TITLED)
    with pytest.warns(SfumatoWarning, match="the first 2 rows are skipped .* names are taken from row 3"):
        assert read(path).to_pydict() == PLAIN
    assert read(path, header=3).to_pydict() == PLAIN
    with pytest.raises(DataError, match="row 3 holds words"):
        read(path, header=1)


def test_a_merged_title_is_a_title(tmp_path):
    with pytest.warns(SfumatoWarning, match="row 3"):
        assert read(xlsx(tmp_path, TITLED, ("A1:C1",))).to_pydict() == PLAIN


def test_merged_cells_in_the_table_are_refused(tmp_path):
    rows = [["ward", "age", "sex"], ["North", 34, "f"], [None, 41, "m"], ["South", 50, "f"]]
    with pytest.raises(DataError, match=r"merged cells in its table \(row 2\)"):
        read(xlsx(tmp_path, rows, ("A2:A3",)))
    with pytest.raises(DataError, match=r"merged cells in its table \(row 2\)"):
        read(ods(tmp_path, rows, {(1, 0): 2}))


def test_names_in_two_rows_are_refused_or_chosen(tmp_path):
    rows = [["who", None, "pressure", None], ["id", "age", "low", "high"], [1, 34, 80, 120], [2, 41, 85, 130]]
    path = xlsx(tmp_path, rows, ("A1:B1", "C1:D1"))
    with pytest.raises(DataError, match="row 2 holds words"):
        read(path)
    assert read(path, header=2).column_names == ["id", "age", "low", "high"]


@pytest.mark.parametrize("write", [xlsx, ods])
def test_a_row_of_units(tmp_path, write):
    rows = [["id", "age", "weight"], [None, "years", "kg"], [1, 34, 70.5], [2, 41, 80]]
    path = write(tmp_path, rows)
    with pytest.warns(SfumatoWarning, match=r"\(row 2\) is skipped: it holds units"):
        table = read(path)
    assert table.to_pydict() == {"id": [1, 2], "age": [34, 41], "weight": [70.5, 80.0]}
    assert read(path, units=False).num_rows == 3
    assert "row of units" in str(excel.read(path, units=True)[0].origin)


def test_title_empty_rows_and_units_together(tmp_path):
    rows = [[None] * 4, [None, "Visits of 2020"], [None, "id", "age"], [None] * 3, [None, None, "years"],
            [None, 1, 34], [None, 2, 41]]  # fmt: skip
    with pytest.warns(SfumatoWarning) as caught:
        assert read(xlsx(tmp_path, rows)).to_pydict() == {"id": [1, 2], "age": [34, 41]}
    assert [w for w in caught if "row 3" in str(w.message)] and len(caught) == 2


def test_no_names(tmp_path):
    path = xlsx(tmp_path, [[1, 34], [2, 41]])
    with pytest.raises(DataError, match="no column names") as caught:
        read(path)
    assert "header=0" in (caught.value.hint or "")
    assert read(path, header=0).to_pydict() == {"column_1": [1, 2], "column_2": [34, 41]}
    with pytest.raises(ParameterError, match="no units"):
        read(path, header=0, units=True)
    with pytest.raises(ParameterError, match="no row of cells begins on row 9"):
        read(path, header=9)
    with pytest.raises(ParameterError, match="header"):
        read(path, header=-1)


def test_a_remark_below_the_table_is_said(tmp_path):
    path = xlsx(tmp_path, [*TITLED[2:], [None] * 3, ["Source: the ward", None, None]])
    with pytest.warns(SfumatoWarning, match="at most 1 filled cell"):
        assert read(path)["id"].to_pylist()[-1] == "Source: the ward"


def test_one_column_with_a_title(tmp_path):
    path = xlsx(tmp_path, [["My list"], [None], ["age"], [34], [41]])
    with pytest.raises(DataError, match="a title, or the name"):
        read(path)
    assert read(path, header=3).to_pydict() == {"age": [34, 41]}


def test_what_was_skipped_is_described(tmp_path):
    from sfumato.description import describe
    from sfumato.io import scan

    path = xlsx(tmp_path, TITLED)
    found = describe(scan(path, header=3))
    assert found.dialect == "names on row 3 (2 rows above skipped)" and found.dialect in str(found)
