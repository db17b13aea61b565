"""Levels in pictures stand in the order people read them in."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.assessment.reading.order import in_order

READ = [
    ["[0, 9)", "[9, 20)", "[20, 30)", "[100, 110)"],
    ["[0-10)", "[10-20)", "[90-100)", "[100-110)"],
    ["1", "2", "10", "21"],
    ["0-4", "5-9", "10-14", "65+"],
    ["under 18", "18 to 44", "45 to 64", "65 and over"],
    ["<30", "30", ">30"],
    ["9th", "10th", "11th", "12th", "unknown"],
    ["Q1", "Q2", "Q3", "Q4"],
    ["week 2", "week 11", "week 101"],
    ["Jan", "Feb", "Mar", "Oct", "Dec"],
    ["monday", "Tuesday", "friday", "Sunday"],
    ["none", "Mild", "moderate", "severe"],
    ["low", "Normal", "high"],
    ["Poor", "Fair", "Good", "Very good", "Excellent"],
    ["5", "10", "*"],
]


@pytest.mark.parametrize("levels", READ, ids=lambda levels: levels[0])
def test_what_has_a_plain_order_is_put_in_it(levels: list[str]) -> None:
    scrambled = sorted(levels, reverse=True)
    assert [scrambled[i] for i in in_order(scrambled)] == levels
    alphabetical = sorted(levels)
    assert [alphabetical[i] for i in in_order(alphabetical)] == levels


@pytest.mark.parametrize(
    "levels", [["250.1", "E909", "V57"], ["Asian", "Caucasian", "Other"], ["A2", "B1", "C3"], ["may", "nay"]]
)
def test_names_and_codes_stay_as_they_are(levels: list[str]) -> None:
    assert in_order(levels) == list(range(len(levels)))


@given(st.lists(st.text(max_size=12) | st.from_regex(r"\A[\[(]?-?\d{1,3}[-, ]\d{0,3}[\])+]?\Z"), max_size=12))
def test_every_level_keeps_one_place(levels: list[str]) -> None:
    assert sorted(in_order(levels)) == list(range(len(levels)))


def test_the_pictures_of_an_assessment_have_that_order_and_the_right_counts() -> None:
    ages = ["[5, 10)"] * 30 + ["[20, 30)"] * 20 + ["[100, 110)"] * 10
    frame = pa.table({"age": ages, "grade": (["low", "high", "middle"] * 20)})
    found = sf.assess(frame, frame, quasi_identifiers=["age", "grade"], effort="quick")
    shares = next(f for _, f in found.figures if f.title == "How often each value occurs")
    values = [(v["level"], v["share"]) for v in shares.panels[0]["data"]["values"] if v["of"] == "original"]
    assert [v for v, _ in values] == ["[5, 10)", "[20, 30)", "[100, 110)"]
    assert [s for _, s in values] == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=1e-5)
    assert [v["level"] for v in shares.panels[1]["data"]["values"]][:3] == ["low", "middle", "high"]
    mosaic = next(f for _, f in found.figures if f.title.startswith("Who is there"))
    assert mosaic.table is not None
    original = [row for row in mosaic.table.rows if row[0] == "original"]
    counts = {row[1:3]: row[3] for row in original}
    assert counts.get(("[5, 10)", "low"), counts.get(("low", "[5, 10)"))) == 10


def test_a_declared_order_wins() -> None:
    levels = ("high", "low", "middle")
    schema = sf.Schema((sf.Column("grade", sf.Kind.ORDINAL, levels=levels),))
    frame = pa.table({"grade": ["low", "high", "middle", "middle"] * 10})
    found = sf.assess(frame, frame, schema=schema, effort="quick")
    shares = next(f for _, f in found.figures if f.title == "How often each value occurs")
    assert [v["level"] for v in shares.panels[0]["data"]["values"]][:3] == list(levels)
