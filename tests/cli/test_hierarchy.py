"""hierarchy build, check, show, convert."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import CANARY, Sfumato, everything

from sfumato.hierarchy import parse_levels, read_levels, read_posets


@pytest.mark.parametrize(
    ("column", "options", "row"),
    [
        ("age", ["--intervals", "5,10"], ("20", "20-24", "20-29", "*")),
        ("age", ["--intervals", "5,10", "--top", "60", "--bottom", "30"], ("20", "<30", "<30", "*")),
        ("age", ["--edges", "0,18,65,120", "--edges", "0,65,120"], ("20", "18-64", "0-64", "*")),
        ("age", ["--ages"], ("20", "20", "20-24", "20-29", "20-39", "*")),
        ("patient_id", ["--prefixes", "3,1"], ("P0000", "P00**", "P****", "*")),
        ("dx", ["--icd9"], ("D0", "D0", "D0", "*")),
        ("admitted", ["--calendar", "month,quarter,year,5"], (
            "2020-01-11", "2020-01", "2020-Q1", "2020", "2020-2024", "*")),
        ("sex", ["--suppress"], ("F", "*")),
    ],
)  # fmt: skip
def test_build(sfumato: Sfumato, visits: Path, column: str, options: list[str], row: tuple[str, ...]) -> None:
    answer = sfumato("hierarchy", "build", visits, column, *options, "--out", "h.csv")
    assert answer.code == 0, answer.err
    assert row in read_levels("h.csv").rows()
    assert CANARY not in answer.all and "as safe as the data" in answer.err
    assert sfumato("hierarchy", "check", "h.csv", visits, column).code == 0


def test_build_from_a_table_and_with_chapters(sfumato: Sfumato, visits: Path) -> None:
    Path("sex.csv").write_text("F;any;*\nM;any;*\nX;any;*\n")
    assert sfumato("hierarchy", "build", visits, "sex", "--levels", "sex.csv", "--out", "h.xml").code == 0
    (found,) = read_posets("h.xml").values()
    assert found.levels().rows() == [("F", "any", "*"), ("M", "any", "*")]
    Path("above.csv").write_text("P00;early;*\n")
    options = ["--prefixes", "3", "--above", "above.csv"]
    assert sfumato("hierarchy", "build", visits, "patient_id", *options, "--out", "p.csv").code == 0
    assert read_levels("p.csv").rows()[0] == ("P0000", "P00**", "early", "*")


def test_what_build_refuses(sfumato: Sfumato, visits: Path) -> None:
    before = everything(Path.cwd())
    for options, words in (
        ([], "none is given"),
        (["--ages", "--suppress"], "2 are given: --ages, --suppress"),
        (["--intervals", "5,7"], "multiple of the one before"),
        (["--intervals", "five"], "must be a list of numbers"),
        (["--intervals", "inf"], "must be numbers"),
        (["--prefixes", "inf"], "must be a list of whole numbers"),
        (["--prefixes", "2", "--width", "1000000000"], "width must lie between"),
        (["--ages", "--top", "nan"], "must be numbers"),
        (["--calendar", "month"], "column 'age': 60 of 60 values are not dates"),
        (["--suppress", "--above", "none.csv"], "none.csv cannot be read"),
    ):
        answer = sfumato("hierarchy", "build", visits, "age", *options, "--out", "h.csv")
        assert answer.code == 2 and words in answer.err.replace("\n", " "), (options, answer.err)
    answer = sfumato("hierarchy", "build", visits, "age", "--ages", "--out", "h.pdf")
    assert answer.code == 2 and ".csv or .xml" in answer.err
    assert everything(Path.cwd()) == before


def test_check_lists_all_faults_and_no_value(sfumato: Sfumato, visits: Path) -> None:
    Path("h.csv").write_text(f"{CANARY};x;*\n{CANARY};x;*\na;y\nb;y;+\n")
    answer = sfumato("hierarchy", "check", "h.csv", "--show-values")
    assert answer.code == 1 and CANARY not in answer.all
    for words in ("1 row has not 3 cells", "1 value occurs more than once", "2 roots"):
        assert words in " ".join(answer.out.split())
    Path("dx.csv").write_text("D0;*\nD1;*\nD2;*\n")
    answer = sfumato("hierarchy", "check", "dx.csv", visits, "dx", "--json")
    plain = json.loads(answer.out)
    assert answer.code == 1 and not plain["ok"] and CANARY not in answer.all
    assert plain["faults"] == ["column 'dx': 3 of 6 values are not in the hierarchy."]
    assert sfumato("hierarchy", "check", "none.csv").code == 2
    assert sfumato("hierarchy", "check", "dx.csv", visits, "no such column").code == 2
    assert sfumato("hierarchy", "check", "dx.csv", visits).code == 2


def test_check_remarks_on_names_that_mislead(sfumato: Sfumato) -> None:
    Path("age.csv").write_text("4;0-4;0-9;*\n5;0-4;0-9;*\n6;5-9;0-9;*\n")
    answer = sfumato("hierarchy", "check", "age.csv")
    assert answer.code == 0 and "level 1: 1 values lie outside the interval" in " ".join(answer.out.split())
    Path("same.csv").write_text("a;x;x;*\nb;x;x;*\nc;z;x;*\nd;y;y;*\n")
    answer = sfumato("hierarchy", "check", "same.csv")
    assert "1 names stand for groups of different size" in " ".join(answer.out.split())
    Path("both.csv").write_text("a;a;x;*\nb;a;x;*\nc;c;x;*\nd;d;y;*\n")
    answer = sfumato("hierarchy", "check", "both.csv")
    assert answer.code == 1 and "1 value stands in a further column too" in " ".join(answer.out.split())
    Path("step.csv").write_text("a;x;*\nb;y;*\n")
    assert "a step without effect" in sfumato("hierarchy", "check", "step.csv").out


def test_show_and_convert(sfumato: Sfumato) -> None:
    text = "a;x;*\nb;x;*\n[red];y;*\n"
    Path("h.csv").write_text(text)
    answer = sfumato("hierarchy", "show", "h.csv", "--limit", "1")
    assert "x  2 values" in answer.out and "4 more nodes" in answer.out
    assert json.loads(sfumato("hierarchy", "show", "h.csv", "--json").out)["levels"] == [3, 2, 1]
    assert sfumato("hierarchy", "convert", "h.csv", "h.xml").code == 0
    assert sfumato("hierarchy", "convert", "h.csv", "h.xml").code == 2  # it is there already
    assert sfumato("hierarchy", "convert", "h.xml", "again.csv").code == 0
    assert parse_levels(Path("again.csv").read_text()) == parse_levels(text)
    assert Path("again.csv").read_text() == text


def test_check_of_posets_against_data(sfumato: Sfumato, visits: Path) -> None:
    Path("h.xml").write_text(
        '<H><RangePoset Name="years" LowerBound="0" UpperBound="70"/><PassThroughPoset Name="kept"/>'
        '<DateOfBirthPoset Name="born" BaseDate="20210101" AgeRanges="5,10"/><PowerPoset Name="b" Bits="1"/>'
        '<MatrixPoset Name="m"><Node ID="r" Name="*"/><Node ID="f" Name="F" Parents="r"/></MatrixPoset></H>'
    )
    assert sfumato("hierarchy", "check", "h.xml").code == 0
    assert sfumato("hierarchy", "check", "h.xml", visits, "age").code == 2  # which one?
    answer = sfumato("hierarchy", "check", "h.xml", visits, "age", "--name", "years")
    assert answer.code == 1 and "column 'age': 9 of 60 values" in " ".join(answer.out.split())
    assert sfumato("hierarchy", "check", "h.xml", visits, "admitted", "--name", "born").code == 0
    assert sfumato("hierarchy", "check", "h.xml", visits, "age", "--name", "kept").code == 0
    answer = sfumato("hierarchy", "check", "h.xml", visits, "sex", "--name", "Default/m")
    assert answer.code == 1 and "1 of 2 values" in answer.out
    assert sfumato("hierarchy", "check", "h.xml", visits, "sex", "--name", "b").code == 1


def test_which_poset_is_meant(sfumato: Sfumato) -> None:
    node = '<Node ID="r" Name="*" Parents="r"/><Node ID="a" Name="a" Parents="r"/>'
    one, two = (f'<MatrixPoset Name="{name}">{node}</MatrixPoset>' for name in "pq")
    Path("h.xml").write_text(f"<H>{one}{two}<PowerPoset Name='b' Bits='2'/></H>")
    answer = sfumato("hierarchy", "show", "h.xml")
    assert answer.code == 2 and "'Default/p', 'Default/q'" in answer.err
    assert sfumato("hierarchy", "show", "h.xml", "--name", "q").code == 0
    assert sfumato("hierarchy", "show", "h.xml", "--name", "Default/p").code == 0
    Path("dag.xml").write_text(
        '<H><MatrixPoset Name="d"><Node ID="r" Name="*"/><Node ID="p" Name="p" Parents="r"/>'
        '<Node ID="q" Name="q" Parents="r"/><Node ID="a" Name="a" Parents="p q"/></MatrixPoset></H>'
    )
    assert "Default/d: 1 values, 4 nodes." in sfumato("hierarchy", "check", "dag.xml").out
    answer = sfumato("hierarchy", "convert", "dag.xml", "dag.csv")
    assert answer.code == 2 and "several parents" in answer.err and not Path("dag.csv").exists()
