"""Where a table begins: titles, comments, units, separators at the ends; nothing skipped without a word."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, ParameterError, SfumatoWarning
from sfumato.io import csv
from sfumato.io.dialect import Dialect
from sfumato.io.layout import is_unit

BODY = "id,age\n1,34\n2,41\n"


def put(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read(path: Path | list[Path], **options: object) -> pa.Table:
    source, _ = csv.read(path, **options)
    return pa.Table.from_batches(source.batches(source.arrow_schema.names), schema=source.arrow_schema)


def said(path: Path, **options: object) -> tuple[pa.Table, list[str]]:
    """The table, and what was said about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return read(path, **options), [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("above", "line"),
    [
        ("# from the ward\n", 2),
        ("# from the ward, 2020\n# second\n\n", 4),
        ("Report of 2020\n", 2),
        ("Report\n\n", 3),
        ("Report of 2020,\n,\n", 3),
        ("Visits of the year\nWard 3 and 4\n", 3),
        ('"A title\nover two lines"\n', 3),
        ("\n\nReport of 2020\n", 4),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_lines_above_the_names_are_skipped_and_said(tmp_path, above, line, ends):
    path = put(tmp_path, (above + BODY).replace("\n", ends))
    table, words = said(path)
    assert table.to_pydict() == {"id": [1, 2], "age": [34, 41]}
    assert len(words) == 1 and f"the names are taken from line {line}" in words[0]
    assert f"names on line {line} ({line - 1} line" in str(csv.read(path, header=line)[0].origin)
    assert said(path, header=line) == (table, [])


def test_a_colon_makes_a_title_of_two_cells(tmp_path):
    table, words = said(put(tmp_path, "Period:;2020\nBy:;Ward 3\n\nid;age;sex\n1;34;f\n2;41;m\n"))
    assert table.column_names == ["id", "age", "sex"] and "line 4" in words[0]


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("Report\nname,town\nBob,Ulm\nAnn,Bonn\n", "names below a title", "header=2"),
        ("Report,2020\nid,age\n1,34\n2,41\n3,50\n", "line 2 holds words", "header=2"),
        ("# a, b\nname,town\nBob,Ulm\nAnn,Bonn\n", "comment, or the names", "header=2"),
        ("# list\nname\nBob\nAnn\n", "comment, or the names", "header=2"),
        ("My list\n\nname\nBob\nAnn\n", "title, or the name", "header=3"),
        ("Report of 2020\n1,34,5\n2,41,6\n", "line 1 looks like a title", "header=0"),
        ("# a\n1,34\n2,41\n", "1 cell, all lines below have 2", "header="),
        ("a\n1,\n2,\n", "ends with a separator", "separator=','"),
        ("q1,q2\nHow old?,How tall?\n34,170\n41,180\n", "line 2 holds words", "units=True"),
        ("ratio,age,weight\n1,years,kg\n0.5,34,70\n0.7,41,80\n", "line 2 holds words", "units=True"),
        ("name,age\nBob,years\nAnn,34\nEve,41\n", "line 2 holds words", "units=False"),
        ("a,b,c\n1,2\n3,4,5\n6,7,8\n", "1 row has not 3 cells", "header=N"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(tmp_path, text, says, hint):
    with pytest.raises(DataError, match=says) as caught:
        read(put(tmp_path, text))
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#chrom,pos\nchr1,100\nchr2,200\n", ["#chrom", "pos"]),
        ("# of visits\n3\n4\n", ["# of visits"]),
        ("name,age\nBob,unknown\nAnn,34\nEve,33\n", ["name", "age"]),
        ("a,b\nNA,1\n2,3\n4,5\n", ["a", "b"]),
        ("name,town\nyears,kg\nBob,Ulm\nAnn,Bonn\n", ["name", "town"]),
        ("id,sex,score\n1,m,x\n2,f,3\n3,m,4\n", ["id", "sex", "score"]),
        ("sex,cigarettes\nm,n\nf,3\nm,4\n", ["sex", "cigarettes"]),
        ("test,value,unit\nNa,140,mmol/l\nK,4,mmol/l\n", ["test", "value", "unit"]),
    ],
)
def test_ordinary_files_are_left_alone(tmp_path, text, names):
    path = put(tmp_path, text)
    table, words = said(path)
    assert table.column_names == names and words == []
    assert table.num_rows == text.count("\n") - 1


def test_a_row_of_units_is_skipped_and_said(tmp_path):
    path = put(tmp_path, "id,age,weight,sex\n,years,[kg],\n1,34,70.5,f\n2,41,80,m\n")
    table, words = said(path)
    assert table.to_pydict() == {"id": [1, 2], "age": [34, 41], "weight": [70.5, 80.0], "sex": ["f", "m"]}
    assert len(words) == 1 and "(line 2) is skipped: it holds units" in words[0]
    data, words = said(path, units=False)
    assert data.num_rows == 3 and data["age"].to_pylist() == ["years", "34", "41"] and words == []
    assert "row of units" in str(csv.read(path, units=True)[0].origin)


def test_title_and_units_and_empty_lines_together(tmp_path):
    text = "# export\n\nid;size;seen\n\n;cm;dd.mm.yyyy\n\n1;170,5;31.12.2020\n\n2;180;01.02.2021\n"
    table, words = said(put(tmp_path, text))
    assert table["size"].to_pylist() == [170.5, 180.0] and table.num_rows == 2 and len(words) == 2
    assert str(table["seen"].type) == "date32[day]"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_what_is_skipped_does_not_depend_on_how_lines_are_written(tmp_path, encoding, ends):
    text = 'Größe und Alter\n\n"id\nnumber",size\n,cm\n1,170\n2,180\n'.replace("\n", ends)
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode(encoding))
    table, words = said(path)
    assert table.column_names[1] == "size" and table["size"].to_pylist() == [170, 180] and len(words) == 2


def test_the_caller_may_say_that_a_row_holds_explanations(tmp_path):
    path = put(tmp_path, "q1,q2\nHow old?,How tall?\n34,170\n41,180\n")
    assert read(path, units=True).to_pydict() == {"q1": [34, 41], "q2": [170, 180]}
    assert read(path, header=2).column_names == ["How old?", "How tall?"]


@pytest.mark.parametrize(
    "text", ["id,age,\n1,34,\n2,41,\n", "id,age\n1,34,\n2,41,\n", "id,age,\n1,34\n2,41\n",
             "id,age,,,\n1,34,,,\n2,41,,,\n"]
)  # fmt: skip
def test_a_separator_at_the_end_of_each_line(tmp_path, text):
    assert read(put(tmp_path, text)).to_pydict() == {"id": [1, 2], "age": [34, 41]}


def test_a_cell_behind_the_last_name_is_a_fault_wherever_it_stands(tmp_path):
    rows = "".join(f"{i},{i % 90},\n" for i in range(400_000))
    path = put(tmp_path, f"id,age,\n{rows}1,2,3\n")
    assert Dialect.detect(path).closing == 1  # not seen in the head
    with pytest.raises(DataError, match="1 cell stands behind the last named column"):
        read(path)


def test_files_of_one_table_begin_alike(tmp_path):
    plain = put(tmp_path, BODY, "a.csv")
    titled = put(tmp_path, "# one\n" + BODY, "b.csv")
    units = put(tmp_path, "id,age\n,years\n1,34\n2,41\n", "c.csv")
    for pair in ([plain, titled], [plain, units]):
        with pytest.raises(DataError, match="1 of 2 files begin in another way"):
            read(pair)
    with pytest.warns(SfumatoWarning, match="units"), pytest.raises(DataError, match="another way"):
        read([units, plain])  # the first row of the second one would be lost
    both = [titled, put(tmp_path, "# two\n" + BODY, "d.csv")]
    with pytest.warns(SfumatoWarning, match="skipped"):
        assert read(both).num_rows == 4


def test_header_zero_and_faults_of_the_options(tmp_path):
    path = put(tmp_path, "# a comment\n1;34\n2;41\n")
    with pytest.warns(SfumatoWarning, match="the first line is skipped"):
        assert read(path, header=0).to_pydict() == {"column_1": [1, 2], "column_2": [34, 41]}
    with pytest.raises(ParameterError, match="no row of cells begins on line 9"):
        read(path, header=9)
    with pytest.raises(ParameterError, match="no units below"):
        read(path, header=0, units=True)
    for wrong in ({"header": -1}, {"header": "x"}, {"units": "kg"}):
        with pytest.raises(ParameterError):
            read(path, **wrong)


@pytest.mark.parametrize(
    "unit", ["mg/dl", "(years)", "[°C]", "10^9/l", "kg/m2", "kg/m²", "%", "mmHg", "Jahre"]
)
def test_units(unit):
    assert is_unit(unit)


@pytest.mark.parametrize("word", ["Bob", "How old?", "diabetes", "", "m or f", "unknown"])
def test_no_units(word):
    assert not is_unit(word)


@settings(max_examples=40, deadline=None)
@given(
    title=st.text("abc XYZ.-", min_size=3, max_size=20).filter(lambda t: " " in t.strip() and t.strip()),
    blank=st.integers(0, 2),
    rows=st.lists(st.tuples(st.integers(0, 99), st.sampled_from("fm")), min_size=2, max_size=8),
)
def test_a_title_never_changes_the_rows(tmp_path_factory, title, blank, rows):
    body = "age;sex\n" + "".join(f"{age};{sex}\n" for age, sex in rows)
    path = put(tmp_path_factory.mktemp("t"), f"{title.strip()}\n{chr(10) * blank}{body}")
    table, words = said(path)
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows
    assert len(words) == 1
