"""Data held against a schema, and a schema proposed from data."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from declared import PUBLIC
from described import CANARY, cells, shown, table_of
from hypothesis import given
from hypothesis import strategies as st

from sfumato.description import changes, check, describe, scan_as, update
from sfumato.errors import DataError, SchemaError
from sfumato.io import scan
from sfumato.schema import Column, Draw, Kind, Role, Schema
from sfumato.table import Table

# -- check -----------------------------------------------------------------------------------------


def differing(columns: dict[str, Any], *described: Column) -> dict[str, str]:
    """What `check` says, by column."""
    found = check(table_of(columns), Schema(described), name="claims.toml")
    return {d.column: d.what + " (note)" * d.note for d in found.items}


def test_data_that_fits_has_no_differences() -> None:
    sex = Column("sex", Kind.NOMINAL, levels=("F", "M"))
    found = check(table_of({"sex": ["F", "M", None]}), Schema((sex,)))
    assert found.ok and not found.items
    found.raise_if_any()


def test_all_differences_are_found_at_once_and_no_value_is_said() -> None:
    columns = {
        "dx": ["a", CANARY, CANARY],
        "age": [5, 50, 500],
        "sex": ["F", None, "M"],
        "when": [CANARY, "2", "3"],
        "new": ["x", "y", "z"],
    }
    schema = Schema(
        (
            Column("dx", Kind.NOMINAL, levels=("a", "b")),
            Column("age", Kind.NUMERIC, type="integer", edges=(10, 100)),
            Column("sex", Kind.NOMINAL, missing=False),
            Column("when", Kind.NUMERIC, type="integer"),
            Column("gone", Kind.NOMINAL),
        )
    )
    found = check(table_of(columns), schema, name="claims.toml")
    assert {d.column: d.what for d in found.differences} == {
        "dx": "1 unlisted level in 2 cells",
        "age": "2 cells outside the edges",
        "sex": "1 missing cell, but missing = false",
        "when": "1 cell that cannot be read as integer",
        "gone": "not in the data",
        "new": "not in the schema",
    }
    assert [d.what for d in found.notes] == ["1 of 2 levels not observed"]
    assert not found.ok
    with pytest.raises(SchemaError, match=r"^6 columns differ from claims.toml: ") as raised:
        found.raise_if_any()
    assert "sfumato schema update claims.toml" in raised.value.hint
    text = str(raised.value) + str(found) + repr(found) + shown(found) + json.dumps(found.to_dict())
    assert CANARY not in text
    assert found.values == {"dx": (CANARY, "b"), "age": (5, 500)}


def test_single_codes_of_a_cell_are_compared() -> None:
    codes = Column("dx", Kind.CODES, levels=("a", "b"))
    assert differing({"dx": ["a;b", "b;c;d", "c", None]}, codes) == {"dx": "2 unlisted codes in 3 cells"}


def test_clamped_cells_and_repeated_identifiers_are_notes() -> None:
    said = differing(
        {"age": [5, 500], "id": ["x", "x"], "p": ["y", None], "t": ["free", "text"]},
        Column("age", Kind.NUMERIC, type="integer", edges=(0, 100), clamp=True),
        Column("id", Kind.NOMINAL, Role.IDENTIFIER),
        Column("p", Kind.NOMINAL, Role.PERSON),
        Column("t", Kind.TEXT),
    )
    assert said == {
        "age": "1 cell outside the edges, clamped (note)",
        "id": "an identifier of which 1 value repeats (note)",
        "p": "1 row of no person (note)",
        "t": "free text: left out when the data is scanned (note)",
    }


def test_weights_must_be_there_and_not_negative() -> None:
    weight = Column("w", Kind.NUMERIC, Role.WEIGHT, type="real")
    assert differing({"w": [1.0, -1.0, None]}, weight) == {"w": "2 missing or negative weights"}


def test_dates_outside_the_edges_are_counted() -> None:
    day = Column("day", Kind.DATE, type="date", edges=(date(2020, 1, 1), date(2021, 1, 1)))
    days = [date(2020, 5, 1), date(2021, 1, 1), date(2021, 1, 2)]
    assert differing({"day": days}, day) == {"day": "1 cell outside the edges"}


def test_numbers_are_compared_as_what_the_schema_says_they_are() -> None:
    assert differing({"k": [1, 2]}, Column("k", Kind.NOMINAL, type="text", levels=("1", "2"))) == {}
    mixed = Column("k", Kind.NOMINAL, type="integer", levels=(1, "x"))
    assert differing({"k": [1, 1]}, mixed) == {
        "k": "its declared levels are not all of type integer, each once"
    }


def test_every_column_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text(f"a,b\n1,{CANARY}\n{CANARY},2\n{CANARY},3\n")
    schema = Schema(tuple(Column(n, Kind.NUMERIC, type="integer") for n in "ab"))
    said = {d.column: d.what for d in check(scan_as(path, schema), schema).items}
    assert said == {
        "a": "2 cells that cannot be read as integer",
        "b": "1 cell that cannot be read as integer",
    }
    with pytest.raises(DataError, match=r"2 columns .* 'a' \(integer\), 'b' \(integer\)") as raised:
        describe(scan_as(path, schema))
    assert CANARY not in str(raised.value)


def test_a_text_file_is_checked_with_the_types_of_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text(f"zip,age,year\n01234,7,2020\n99999,{CANARY},2021\n00501,9,2022\n")
    schema = Schema(
        (
            Column("zip", Kind.NOMINAL, levels=("01234", "99999")),
            Column("age", Kind.NUMERIC, type="integer"),
            Column("year", Kind.NOMINAL, levels=("2020", "2021", "2022")),
        )
    )
    found = check(scan_as(path, schema), schema)
    assert {d.column: d.what for d in found.items} == {
        "zip": "1 unlisted level in 1 cell",
        "age": "1 cell that cannot be read as integer",
    }


def test_rows_that_cannot_be_read_are_bad_input_not_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(DataError):
        check(scan_as(path, None), Schema((Column("a", Kind.NOMINAL),)))


# -- update ----------------------------------------------------------------------------------------


def proposed(values: Any, column: Column, **more: Any) -> Column:
    return update(Schema((column,)), table_of({column.name: values}, column), **more)[column.name]


def test_levels_are_filled_unconfirmed_with_a_reason() -> None:
    found = proposed(["b", "a", None, "b"], Column("x", Kind.NOMINAL, reason="words"))
    assert found.levels == ("a", "b") and found.origin == "read off the data"
    assert found.reason == "words; levels read off the data"


def test_what_names_people_gets_no_levels() -> None:
    for role in (Role.IDENTIFIER, Role.PERSON):
        assert proposed(["a", "b"], Column("x", Kind.NOMINAL, role)).levels is None
    assert proposed(["a", "b"], Column("x", Kind.TEXT)).levels is None


def test_too_many_levels_are_not_written() -> None:
    found = proposed([str(i) for i in range(1_001)], Column("x", Kind.NOMINAL))
    assert found.levels is None and "1,001 levels are more than 1,000" in found.reason


@pytest.mark.parametrize(
    ("values", "type_", "edges"),
    [
        ([3, 5, 4], "integer", (3, 4, 5, 6)),
        ([-2, -1], "integer", (-2, -1, 0)),
        (list(range(0, 1000)), "integer", (0, 99, 200, 300, 400, 500, 600, 700, 800, 900, 1000)),
        ([1.5] * 5, "real", (1.5, 2.5)),
        ([Decimal("1.5"), Decimal("2.25")], "decimal", (Decimal("1.5"), Decimal("2.3"))),
        ([12.34, 98.76], "real", (12.0, 99.0)),
        ([float("inf"), float("nan"), 2.0, 3.0], "real", (2.0, 3.0)),
    ],
)
def test_edges_are_round_and_hold_every_number(values: list[Any], type_: str, edges: tuple[Any, ...]) -> None:
    found = proposed(values, Column("x", Kind.NUMERIC, type=type_)).edges
    assert found is not None
    assert (found[0], found[-1]) == (edges[0], edges[-1])
    if type_ == "integer":
        assert found == edges


@given(st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=30))
def test_suggested_edges_refuse_none_of_the_numbers(values: list[float]) -> None:
    column = proposed(values, Column("x", Kind.NUMERIC, type="real"))
    assert column.edges is not None
    assert table_of({"x": values}, column).counts("x").total == len(values)


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=30))
def test_suggested_edges_refuse_none_of_the_whole_numbers(values: list[int]) -> None:
    column = proposed(values, Column("x", Kind.NUMERIC, type="integer"))
    assert table_of({"x": values}, column).counts("x").total == len(values)


@given(st.lists(st.dates(date(1900, 1, 1), date(2090, 1, 1)), min_size=1, max_size=20))
def test_suggested_calendar_holds_every_day(values: list[date]) -> None:
    column = proposed(values, Column("x", Kind.DATE, type="date"))
    assert column.edges is not None
    assert table_of({"x": values}, column).counts("x").total == len(values)


def test_a_date_that_stands_for_missing_is_suspected() -> None:
    found = proposed([date(2020, 1, 1), date(9999, 12, 31)], Column("x", Kind.DATE, type="date"))
    assert found.edges is None and "missing code" in found.reason


def test_instants_get_edges_with_a_zone() -> None:
    values = pa.array([datetime(2020, 5, 1, 12, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    found = proposed(values, Column("x", Kind.DATE, type="instant"))
    assert found.edges == (datetime(2020, 5, 1, tzinfo=UTC), datetime(2020, 6, 1, tzinfo=UTC))


def test_what_was_declared_is_not_changed_unasked() -> None:
    declared = Column("x", Kind.NOMINAL, levels=("a",), missing=False, provenance=PUBLIC)
    assert proposed(["a", "b", None], declared) == declared
    bins = Column("x", Kind.NUMERIC, type="integer", edges=(0, 10), provenance=PUBLIC)
    assert proposed([5, 50], bins) == bins


def test_extending_is_said_and_read_off_the_data() -> None:
    declared = Column("x", Kind.NOMINAL, levels=("z", "a"), missing=False, provenance=PUBLIC)
    found = proposed(["a", "b", None], declared, extend=True)
    assert found.levels == ("z", "a", "b") and found.missing and not found.public
    assert "extended" in found.reason
    said = changes(Schema((declared,)), Schema((found,)))
    assert [c.what for c in said] == ["1 level added, may be missing, now read off the data"]
    assert proposed(["a"], declared, extend=True) == declared


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20), st.integers(-50, 50))
def test_extended_edges_hold_every_number(values: list[int], low: int) -> None:
    declared = Column("x", Kind.NUMERIC, type="integer", edges=(low, low + 7), provenance=PUBLIC)
    found = proposed(values, declared, extend=True)
    assert table_of({"x": values}, found).counts("x").total == len(values)
    assert found.public == all(low <= v <= low + 7 for v in values)


def test_an_update_adds_new_columns_and_keeps_absent_ones() -> None:
    schema = Schema((Column("gone", Kind.NOMINAL), Column("a", Kind.NOMINAL, levels=("1", "2"))))
    table = table_of({"a": ["1", "2"], "n": [1, 30]})
    found = update(schema, table)
    assert found.names == ("gone", "a", "n")
    assert found["n"].draw is Draw.INTEGER
    assert [c.column for c in changes(schema, found)] == ["n"]


@given(cells)
def test_data_passes_the_check_of_its_own_proposal(rows: list[tuple[Any, ...]]) -> None:
    columns = {n: pa.array([r[i] for r in rows], pa.string()) for i, n in enumerate("wxyz")}
    table = Table.from_arrow(pa.table(columns))
    schema = update(None, table)
    again = Schema.from_toml(schema.to_toml())
    assert again == schema
    assert check(table, again).ok
    assert update(again, table) == again


def test_free_text_is_written_down_as_such(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    words = "the patient came in on foot and said that the pain was worse than it had been before"
    path.write_text("k,remark\n" + "".join(f"{i % 3},{words} {i}\n" for i in range(40)))
    schema = update(None, scan_as(path, None))
    assert schema["remark"].kind is Kind.TEXT and schema["remark"].levels is None
    with pytest.warns(match="free text dropped"):
        assert scan(path, schema).columns == ("k",)
