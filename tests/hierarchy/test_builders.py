"""Recipes: what they make of columns, and what they refuse."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, ParameterError
from sfumato.hierarchy import (
    Calendar,
    DateOfBirth,
    Hierarchy,
    Icd9,
    Icd10,
    Intervals,
    LevelTable,
    Prefixes,
    Suppression,
    ages,
    zip_codes,
)


def row(h: Hierarchy, value: object) -> list[str]:
    """A value and what is above it."""
    leaf = h.places[str(value)]
    return [h.label(int(n)) for n in h.nodes[:, leaf]]


# -- intervals -------------------------------------------------------------------------------------


def test_bands_as_arx_writes_them(data_dir: Path) -> None:
    """But for the file's own slips: it has 5 in 0-4 and so on; where it keeps to its names we agree."""
    from sfumato.hierarchy import read_levels

    given_ = read_levels(data_dir / "adult/hierarchies_arx/adult_hierarchy_age.csv")
    made = Intervals(widths=(5, 10, 20)).over(range(1, 101))
    agreeing = sum(a == b for a, b in zip(given_.rows(), made.rows(), strict=True))
    assert agreeing == 80 and {*given_.labels[1]} <= {*made.labels[1]} and given_.height == made.height


def test_ages_from_ninety_on_are_one() -> None:
    h = ages().over([0, 37, 89, 90, 104, None])
    assert row(h, 104) == ["104", "90+", "90+", "90+", "90+", "*"]
    assert row(h, 90)[1:] == row(h, 104)[1:]
    assert row(h, 89) == ["89", "89", "85-89", "80-89", "80-89", "*"]
    assert row(h, 37) == ["37", "37", "35-39", "30-39", "20-39", "*"]


def test_bottom_and_top_coding_with_edges() -> None:
    recipe = Intervals(edges=((18, 30, 45, 65), (18, 45, 65)), bottom=18, top=65)
    h = recipe.over([3, 18, 44, 45, 64, 65, 99])
    assert row(h, 3) == ["3", "<18", "<18", "*"] and row(h, 99) == ["99", "65+", "65+", "*"]
    assert row(h, 44) == ["44", "30-44", "18-44", "*"] and row(h, 64)[2] == "45-64"
    with pytest.raises(DataError, match="2 of 3 values are not numbers within the edges") as refused:
        Intervals(edges=((18, 65),)).over([17, 18, 65])
    assert set(refused.value.values) == {"17", "65"}


@given(
    st.lists(st.decimals(-1000, 1000, places=3) | st.integers(-50, 50) | st.floats(-9, 9), min_size=1),
    st.sampled_from([(0.1, 0.5), (3, 6, 12), (0.25,), (1, 10)]),
    st.sampled_from([0, -7.5, 0.05]),
)
def test_every_number_lies_in_its_bands(values: list[Any], widths: tuple[float, ...], low: float) -> None:
    h = Intervals(widths=widths, low=low).over(values)
    for value in values:
        for text, width in zip(row(h, value)[1:-1], widths, strict=True):
            exact, wide = Fraction(str(value)), Fraction(str(width))
            if text.startswith("["):
                start, end = map(Fraction, text[1:-1].split(", "))
            else:
                start, _, last = text.partition("-")  # type: ignore[assignment]
                start, end = Fraction(start), Fraction(last or start) + 1
            assert start <= exact < end and end - start == wide
            assert (start - Fraction(str(low))) % wide == 0


def test_binary_fractions_do_not_fall_out_of_their_band() -> None:
    assert row(Intervals(widths=(0.1,)).over([0.3, 0.29]), 0.3)[1] == "[0.3, 0.4)"
    assert row(Intervals(widths=(0.1,)).over(["0.7", Decimal("0.69")]), "0.7")[1] == "[0.7, 0.8)"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either widths or edges"),
        ({"widths": (5, 12)}, "multiple of the one before"),
        ({"widths": (0,)}, "above 0"),
        ({"edges": ((0, 5, 10), (0, 7, 10))}, "among those of the level below"),
        ({"edges": ((5, 5),)}, "ascending"),
        ({"widths": (5,), "bottom": 9, "top": 3}, "bottom must lie below top"),
        ({"widths": (float("nan"),)}, "must be numbers"),
        ({"widths": (5,), "edges": ((0, 1),)}, "either widths or edges"),
    ],
)
def test_intervals_check_themselves(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Intervals(**options)


def test_what_is_no_number_is_counted() -> None:
    with pytest.raises(DataError, match="3 of 4 values are not numbers") as refused:
        Intervals(widths=(5,)).over([1, "x", float("inf"), "1e999999999"])
    assert "1e9" not in str(refused.value)
    with pytest.raises(DataError, match="no values"):
        Intervals(widths=(5,)).over([None])


# -- prefixes --------------------------------------------------------------------------------------


def test_zip_codes_get_their_zeros_back() -> None:
    h = zip_codes().over([2139, "02138", 98052])
    assert row(h, 2139) == ["2139", "0213*", "021**", "02***", "0****", "*"]
    assert row(h, "02138")[1] == row(h, 2139)[1] and row(h, 98052)[2] == "980**"
    assert row(Prefixes((2,)).over(["10115", "80331"]), "10115") == ["10115", "10***", "*"]


def test_a_code_that_ends_early_shares_its_prefix() -> None:
    h = Prefixes((4, 3)).over(["001", "0010", "00101", "0019"])
    assert row(h, "001") == ["001", "001", "001*", "*"]
    assert row(h, "0010") == ["0010", "0010*", "001*", "*"]
    assert row(h, "00101")[1] == "0010*"


def test_icd_categories() -> None:
    h = Icd9().over(["427.89", "4280", "E800.1", "V10"])
    assert row(h, "427.89") == ["427.89", "4278*", "427*", "*"] and row(h, "E800.1")[2] == "E800*"
    assert row(h, "V10") == ["V10", "V10", "V10*", "*"]
    above = {"I48": ("I30-I52", "IX"), "E11": ("E10-E14", "IV")}
    h = Icd10(above=above).over(["I48.0", "I48.19", "E11.9"])
    assert row(h, "I48.19") == ["I48.19", "I481*", "I48*", "I30-I52", "IX", "*"]
    with pytest.raises(DataError, match="1 of 2 values are empty, or not in the table"):
        Icd10(above=above).over(["I48.0", "Z99"])


@given(st.lists(st.text("012E.", min_size=1, max_size=6), min_size=1, unique=True))
def test_prefixes_nest_whatever_the_codes(codes: list[str]) -> None:
    h = Prefixes((4, 3, 1)).over(codes)
    for code in codes:
        found = row(h, code)
        for text, kept in zip(found[1:-1], (4, 3, 1), strict=True):
            assert text.rstrip("*") == code[:kept]


def test_real_icd9_with_chapters(data_dir: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(data_dir / "icd9_hierarchy/icd9cm_hierarchy.parquet").to_pydict()
    above = dict(
        zip(table["three_digit"], zip(table["sub_chapter"], table["chapter"], strict=True), strict=True)
    )
    h = Icd9(above=above).over(table["code"])
    assert len(h.leaves) == len(table["code"]) == 17_561 and h.height == 5
    for code, category in list(zip(table["code"], table["three_digit"], strict=True))[::500]:
        assert row(h, code)[2] == f"{category}*"
        assert tuple(row(h, code)[3:5]) == above[category]


# -- calendar --------------------------------------------------------------------------------------


def test_a_calendar() -> None:
    h = Calendar().over([date(2019, 3, 14), date(2020, 12, 31)])
    assert row(h, date(2019, 3, 14)) == ["2019-03-14", "2019-03", "2019-Q1", "2019", "2010-2019", "*"]
    assert row(h, date(2020, 12, 31))[2] == "2020-Q4"
    moment = datetime(2019, 3, 14, 15, 9)
    assert row(Calendar(("day", "year", 5, 20)).over([moment]), moment)[1:-1] == [
        "2019-03-14", "2019", "2015-2019", "2000-2019",
    ]  # fmt: skip
    assert row(Calendar(("month",)).over(["2019-03-14"]), "2019-03-14")[1] == "2019-03"
    with pytest.raises(DataError, match="1 of 2 values are not dates"):
        Calendar().over(["2019-03-14", "14.3.2019"])


@pytest.mark.parametrize(
    "steps",
    [(), ("week",), ("year", "month"), (5, "year"), (5, 12), (1,), ("year", 10, 10), ("month", "month")],
)
def test_calendars_check_themselves(steps: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match="this is not a calendar"):
        Calendar(steps)


# -- dates of birth --------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    st.dates(date(1900, 1, 1), date(2006, 3, 1)),
    st.sampled_from([date(2006, 1, 1), date(2004, 2, 29), date(2006, 3, 1), date(2005, 12, 31)]),
    st.sampled_from(["by year", "by day"]),
)
def test_the_band_is_that_of_the_age(born: date, base: date, reckoned: Any) -> None:
    poset = DateOfBirth(base, (5, 30, 50, 70, 90), reckoned)
    if born > base:
        with pytest.raises(DataError, match="not a day of birth"):
            poset.node(born)
        return
    age = base.year - born.year
    if reckoned == "by day" and (base.month, base.day) < (born.month, born.day):
        age -= 1
    label = poset.label(poset.at(born, "band"))
    low, _, high = label.removeprefix("age ").replace("+", "-999").partition("-")
    assert int(low) <= age <= int(high)
    for other in (born - timedelta(1), born + timedelta(1)):
        if other <= base:  # the band has exactly the days of its ages
            inside = poset.at(born, "band").first <= other <= poset.at(born, "band").last
            assert inside == (poset.at(other, "band") == poset.at(born, "band"))


def test_no_date_is_invented() -> None:
    poset = DateOfBirth(date(2006, 1, 1), (5, 30, 50), "by day")
    a, b, c = map(poset.node, ("1975-01-01", "19750102", "1974-06-30"))
    assert {poset.label(n) for n in poset.lub(a)} == {"1975-01-01"}
    assert {poset.label(n) for n in poset.lub(a, b)} == {"1975-01"}  # ages 31 and 30: no band in common
    assert {poset.label(n) for n in poset.lub(a, c)} == {"age 31-50"}
    assert {poset.label(n) for n in poset.lub(b, c)} == {"*"}
    year = DateOfBirth(date(2006, 6, 1), (30, 50), "by day")
    early, late = year.node("1975-07-01"), year.node("1975-12-01")
    assert {year.label(n) for n in year.lub(early, late)} == {"1975", "age 0-30"}  # neither holds the other
    assert {year.label(n) for n in DateOfBirth(date(2006, 6, 1), (30, 50)).lub(early, late)} == {"1975"}


# -- the rest --------------------------------------------------------------------------------------


def test_a_table_of_levels_and_mere_suppression() -> None:
    table = LevelTable((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")))
    assert table.over(["a", "c", None]).leaves == ("a", "c")
    with pytest.raises(DataError, match="1 of 2 values are not in the hierarchy"):
        table.over(["a", "z"])
    assert Suppression().over([True, False, None]).rows() == [("True", "*"), ("False", "*")]
    assert Hierarchy.of_rows(table.rows).restricted(["b"]).rows() == [("b", "x", "*")]


def test_a_hierarchy_lists_all_its_faults_at_once() -> None:
    rows = [["a", "x", "*"], ["a", "x", "*"], ["b", "x", "*"], ["c", "y", "z"], ["d", "x", "z"], ["e"]]
    with pytest.raises(DataError) as refused:
        Hierarchy.of_rows(rows)
    for part in (
        "1 row has not 3 cells like most (row 6)",
        "1 value occurs",
        "2 roots",
        "1 node has several",
    ):
        assert part in refused.value.message
    with pytest.raises(DataError, match="it is empty"):
        Hierarchy.of_rows([])
    with pytest.raises(DataError, match="no cells"):
        Hierarchy.of_rows([[], []])
