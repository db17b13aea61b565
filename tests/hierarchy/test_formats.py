"""Reading what was written gives the same; what is broken is refused, all faults at once, without a cell."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from posets import graphs, rows

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import (
    BoundColumn,
    Columns,
    DateOfBirth,
    Hierarchy,
    Matrix,
    PassThrough,
    PowerSet,
    Range,
    SparseCodes,
    Suppression,
    parse_columns,
    parse_levels,
    parse_posets,
    read_columns,
    read_levels,
    read_posets,
    write_columns,
    write_levels,
    write_posets,
)

cell_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
printable = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="￾￿"), max_size=6)


def renamed(table: list[list[str]], names: list[str]) -> list[list[str]]:
    """The same table with other texts; each old one gets one new one."""
    known: dict[str, str] = {}
    for row in table:
        for cell in row:
            if cell not in known:
                known[cell] = f"{names[len(known) % len(names)]}{len(known)}"
    return [[known[cell] for cell in row] for row in table]


# -- tables of levels ------------------------------------------------------------------------------


@given(rows(), st.lists(cell_text, min_size=1), st.sampled_from([";", ",", "\t", "|"]))
def test_levels_come_back(table: list[list[str]], names: list[str], separator: str) -> None:
    h = Hierarchy.of_rows(renamed(table, names))
    assert parse_levels(write_levels(h, separator=separator), separator=separator) == h


@given(rows())
def test_the_separator_is_found(table: list[list[str]]) -> None:
    h = Hierarchy.of_rows(table)
    if h.height:
        assert all(parse_levels(write_levels(h, separator=s)) == h for s in ";,\t|")


def test_all_adult_hierarchies_of_two_tools(data_dir: Path) -> None:
    arx = sorted((data_dir / "adult/hierarchies_arx").glob("*.csv"))
    other = sorted((data_dir / "adult/hierarchies_anjana").glob("*.csv"))
    assert len(arx) == len(other) == 9
    for path in (*arx, *other):
        h = read_levels(path)
        assert h.labels[-1] == ("*",)
        again = write_levels(h)
        assert parse_levels(again) == h
        if path in arx:
            assert again.split() == path.read_text(encoding="utf-8").split()
    assert read_levels(other[0]).rows()[0][1] == "[15, 20["


def test_a_broken_table_is_refused_with_all_faults_and_no_cell() -> None:
    text = "zebra;x;*\nzebra;x;*\nb;x;+\nc;y\n"
    with pytest.raises(DataError) as refused:
        parse_levels(text, name="age.csv")
    message = str(refused.value)
    assert message.startswith("age.csv is not a hierarchy: 1 row has not 3 cells like most (row 4)")
    assert "1 value occurs" in message and "2 roots" in message and "several parents" in message
    assert "zebra" not in message and "zebra" in refused.value.values
    with pytest.raises(DataError, match="not well-formed CSV"):
        parse_levels('a;"b"c;*\n', separator=";")


def test_a_name_is_a_value_or_a_node_over_others_and_never_both() -> None:
    """Released, such a cell could mean either; a value that stays alone on its way up keeps its name."""
    with pytest.raises(DataError) as refused:
        parse_levels("a;b;*\nb;b;*\nc;x;*\n*;x;*\nd;y;*\nd;y;*\n", name="dx.csv")
    message = str(refused.value)
    assert "2 values stand in a further column too" in message and "1 value occurs more than once" in message
    assert {"b", "*", "d"} <= set(refused.value.values)
    with pytest.raises(ParameterError, match="written as a node over other values"):
        Hierarchy((("a", "b"), ("b",)), np.array([[0, 1], [0, 0]], np.int32))
    assert parse_levels("a;a;*\nb;x;*\nc;x;*\n").leaves == ("a", "b", "c")


def test_an_empty_level_is_refused_and_an_empty_value_only_on_purpose() -> None:
    """Released, an empty level looks like a missing cell; a line without a value is a slip of the pen."""
    with pytest.raises(DataError, match="1 row has an empty level"):
        parse_levels("a;x;*\nb;;*\nc;x;*\n", name="age.csv")
    with pytest.raises(DataError, match="2 rows have an empty level"):
        Hierarchy.of_rows([["a", " ", "*"], ["b", " ", "*"]])
    with pytest.raises(DataError, match=r"age\.csv has a line without a value"):
        parse_levels("a;x;*\n;x;*\n", name="age.csv")
    empty = Hierarchy.of_rows([["a", "x", "*"], ["", "", "*"]])  # a text file may hold empty texts, too
    assert parse_levels(write_levels(empty)) == empty


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv cannot be read: No such file"):
        read_levels(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("Köln;*\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.csv is not utf-8-sig text"):
        read_levels(tmp_path / "latin.csv")
    assert read_levels(tmp_path / "latin.csv", encoding="latin-1").leaves == ("Köln",)
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbfa;*\nb;*\n")
    assert read_levels(tmp_path / "bom.csv").leaves == ("a", "b")


# -- Hierarchy.xml ---------------------------------------------------------------------------------

THESIS = """<?xml version="1.0"?>
<Hierarchies>
  <RangePoset Name="Age_range_poset" LowerBound="0" UpperBound="120" MaxDiff="25" />
  <SparseMatrixPoset Name="SparseMatrixPoset_ICD9" MatrixLatticeName="ICD9_Codes" Columns="39"/>
  <MatrixPoset Name="ICD9_Codes" RootNode="ID9000000">
    <Node ID="ID9000000" Name="*" Value="1" Parents="ID9000000"/>
    <Node ID="ID9000001" Name="008" Value="1" Parents="ID9000000"/>
    <Node ID="ID9000002" Name="031" Value="1" Parents="ID9000000"/>
  </MatrixPoset>
  <PowerPoset Name="Has_HIV" Bits="1"/>
  <DateOfBirthPoset Name="Age" BaseDate="20060101" AgeRanges="5,30,50,70,90"/>
  <PassThroughPoset Name="MyPassThroughPoset"/>
  <SuppressionPoset Name="MySuppressionPoset"/>
</Hierarchies>
"""
COLUMNS = """<TableDescription xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <Column Name="Age_Year" Hierarchy="Default" Poset="Age_range_poset" Weight="3.023" />
  <Column Name="Gender" Hierarchy="Default" Poset="MySuppressionPoset" Weight="988.823" />
  <Column Name="mrn" Hierarchy="Default" Poset="MyPassThroughPoset" Weight="0"/>
  <Column Name="total_chrg" Hierarchy="Default" Poset="MyPassThroughPoset" Weight="0"/>
  <Column Name="other_dx_code" Hierarchy="Default" Poset="SparseMatrixPoset_ICD9" Weight="2.566" />
</TableDescription>
"""


def test_the_posets_of_the_thesis(tmp_path: Path) -> None:
    (tmp_path / "Hierarchy.xml").write_text(THESIS, encoding="utf-8")
    (tmp_path / "Columns.xml").write_text(COLUMNS, encoding="utf-8")
    posets = read_posets(tmp_path / "Hierarchy.xml")
    assert posets["Default", "Age_range_poset"] == Range(0, 120, 25)
    born = posets["Default", "Age"]
    assert born == DateOfBirth(date(2006, 1, 1), (5, 30, 50, 70, 90), "by day")
    columns = read_columns(tmp_path / "Columns.xml")
    assert columns.weights["Gender"] == 988.823
    with pytest.raises(ParameterError) as refused:
        columns.bind(posets, {"mrn": "identifier"})
    assert "column 'mrn': a column with the role identifier cannot pass through" in refused.value.message
    assert "column 'total_chrg' passes through, and its role is not said" in refused.value.message
    kept = Columns(tuple(c for c in columns.columns if c.name != "mrn"))
    product = kept.product(posets, {"total_chrg": "sensitive"})
    rows_ = [(33, "F", 100, {"008": 2}), (40, "F", 900, {"031": 2})]
    (bound,) = product.lub(*map(product.node, rows_))
    assert product.labels(bound) == {
        "Age_Year": "[33, 40]",
        "Gender": "F",
        "total_chrg": "(as it was)",
        "other_dx_code": "008:*;031:*;*:2",
    }


@given(rows(), st.lists(printable, min_size=1))
def test_hierarchies_come_back_from_xml(table: list[list[str]], names: list[str]) -> None:
    h = Hierarchy.of_rows(renamed(table, names))
    again = parse_posets(write_posets({"h": h}))["Default", "h"]
    assert isinstance(again, Matrix) and again.levels() == h


@settings(max_examples=60)
@given(graphs(), st.lists(printable, min_size=1), st.booleans())
def test_graphs_come_back_from_xml(parents: dict[Hashable, Any], names: list[str], valued: bool) -> None:
    written = {node: f"{names[i % len(names)]}\t{i}" for i, node in enumerate(parents)}
    values = {node: i / 7 for i, node in enumerate(parents)} if valued else None
    matrix = Matrix.of(parents, names=written, values=values)
    assert parse_posets(write_posets({("space", "a<b&\"'"): matrix}))["space", "a<b&\"'"] == matrix


def test_other_posets_come_back_from_xml() -> None:
    codes = Matrix.of({"a": ["*"], "b": ["*"], "*": []})
    posets: dict[Any, Any] = {
        ("one", "range"): Range(0.5, 7.25, 3.0),
        ("one", "ages"): Range(0, 99, whole=True),
        ("two", "bits"): PowerSet(5),
        ("two", "born"): DateOfBirth(date(2020, 2, 29), (17, 64), "by year", oldest=110),
        ("two", "sparse"): SparseCodes(codes, 7),
        ("two", "codes"): codes,
        ("two", "flat"): Suppression(),
        ("two", "kept"): PassThrough("other"),
    }
    again = parse_posets(write_posets(posets))
    assert set(again) == set(posets)
    sparse, kept = again.pop(("two", "sparse")), again.pop(("two", "kept"))
    assert sparse.most == 7 and sparse.codes == codes and kept is None
    assert all(again[key] == posets[key] for key in again)


BAD_XML = {
    "laughs": '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><Hierarchies>&b;</Hierarchies>',
    "outside": '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]><H><P Name="&f;"/></H>',
    "type": '<!DOCTYPE x SYSTEM "http://example.org/x.dtd"><H/>',
    "deep": "<a>" * 50 + "</a>" * 50,
    "cut": "<Hierarchies><PowerPoset",
    "no text": "\ud800",
    "empty": "",
}


@pytest.mark.parametrize("which", BAD_XML)
@pytest.mark.parametrize("parse", [parse_posets, parse_columns])
def test_xml_is_not_trusted(which: str, parse: Any) -> None:
    with pytest.raises(DataError, match=r"Hierarchy|Columns"):
        parse(BAD_XML[which])


def test_a_document_type_is_refused_whatever_it_holds() -> None:
    """The rest of this file is in order."""
    text = THESIS.partition("\n")[2]
    assert parse_posets(text)
    with pytest.raises(DataError, match="it has a document type"):
        parse_posets(f'<!DOCTYPE Hierarchies SYSTEM "http://example.org/x.dtd">{text}')


def test_empty_cells_come_back() -> None:
    for table in ([[""]], [["", "*"], ["a", "*"]], [["", "", "*"], ["a", "b", "*"]]):
        h = Hierarchy.of_rows(table)
        assert parse_levels(write_levels(h), separator=";") == h


def test_a_document_type_in_other_encodings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.xml"
    path.write_bytes(BAD_XML["laughs"].encode("utf-16"))
    with pytest.raises(DataError):
        read_posets(path)


@settings(max_examples=300)
@given(st.data())
def test_broken_text_is_only_ever_refused(data: st.DataObject) -> None:
    """Cut, doubled, overwritten: an answer or a DataError, never anything else."""
    text = data.draw(st.sampled_from([THESIS, COLUMNS, "a;x;*\nb;y;*\n"]))
    for _ in range(data.draw(st.integers(1, 3))):
        at, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
        new = data.draw(st.sampled_from(['"', "<", ">", "0", "-1", "1e308", "nan", "*", ";", "\0", "é", ""]))
        text = text[:at] + new + data.draw(st.sampled_from([text[at:], text[end:], text[at:end] + text[at:]]))
    for parse in (parse_posets, parse_columns, parse_levels):
        with contextlib.suppress(DataError):
            parse(text)


def test_numbers_beyond_measure_are_refused() -> None:
    for element in (
        '<PowerPoset Name="p" Bits="1e12"/>',
        '<PowerPoset Name="p" Bits="1.5"/>',
        '<RangePoset Name="p" LowerBound="-inf" UpperBound="3"/>',
        '<DateOfBirthPoset Name="p" BaseDate="20060101" AgeRanges="5" Oldest="99999"/>',
    ):
        with pytest.raises(DataError, match="the poset of line 1"):
            parse_posets(f"<H>{element}</H>")
    nodes = "".join(f'<Node ID="{i}" Name="{i}" Parents="{i + 1}"/>' for i in range(70_000))
    with pytest.raises(DataError, match="70,001 nodes; at most 60,000"):
        parse_posets(f'<H><MatrixPoset Name="p">{nodes}<Node ID="70000" Name="*"/></MatrixPoset></H>')


def test_a_broken_file_of_posets_lists_all_faults() -> None:
    text = """<H>
      <RangePoset Name="r" LowerBound="9" UpperBound="zebra"/>
      <MatrixPoset Name="m" RootNode="q"><Node ID="a" Name="zebra" Parents="b"/>NODE</MatrixPoset>
      <PowerPoset Name="r2" Bits="0"/>
      <PowerPoset Bits="1"/>
      <TigerPoset Name="t"/>
      <SparseMatrixPoset Name="s" MatrixLatticeName="zebra"/>
      <DateOfBirthPoset Name="d" BaseDate="yesterday" AgeRanges="5"/>
    </H>""".replace("NODE", '<Node ID="b" Name="y" Parents="a"/>')
    with pytest.raises(DataError) as refused:
        parse_posets(text)
    message = refused.value.message
    for line in range(2, 9):
        assert f"line {line}" in message
    assert "zebra" not in message
    with pytest.raises(DataError, match=r"2 nodes lie on cycles"):
        parse_posets(text.replace(' RootNode="q"', ""))


def test_columns_come_back_and_are_checked() -> None:
    columns = Columns((BoundColumn("a", "p"), BoundColumn("b c", 'q"', "space", 0.25)))
    assert parse_columns(write_columns(columns)) == columns
    text = '<T><Column Name="a"/><Row/><Column Name="b" Poset="p" Weight="-1"/></T>'
    with pytest.raises(DataError) as refused:
        parse_columns(text)
    assert refused.value.message.count("line 1") == 3
    with pytest.raises(DataError, match="taken twice"):
        parse_columns('<T><Column Name="a" Poset="p"/><Column Name="a" Poset="p"/></T>')
    with pytest.raises(DataError, match="control character"):
        write_columns(Columns((BoundColumn("a\x00", "p"),)))
    with pytest.raises(ParameterError, match="a poset that is not there"):
        columns.bind({}, {})
