"""From columns to numbers, codes and matrices, and back: laws of the room `features`."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import canonical
from sfumato.features.columns import telling
from sfumato.features.design import Design, one_hot
from sfumato.features.numbers import complete_numbers, numbers, require_finite, values
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

CANARY = "Zaphod"
DAYS = st.dates(dt.date(1600, 1, 1), dt.date(2400, 1, 1))
TIMES = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
CELLS = {
    "real": (Kind.NUMERIC, st.floats(allow_nan=False, allow_infinity=False)),
    "integer": (Kind.NUMERIC, st.integers(-(2**53), 2**53)),
    "decimal": (Kind.NUMERIC, st.decimals(-(10**5), 10**5, places=2)),
    "date": (Kind.DATE, DAYS),
    "datetime": (Kind.DATE, TIMES),
}


@pytest.mark.parametrize("type_", list(CELLS))
@settings(max_examples=30)
@given(data=st.data())
def test_numbers_come_back_as_the_cells_they_were(type_: str, data: st.DataObject) -> None:
    kind, cell = CELLS[type_]
    column = Column("x", kind, type=type_)
    cells = canonical(column, pa.array(data.draw(st.lists(st.none() | cell, max_size=8))))
    found = numbers(cells, column)
    assert found.dtype == np.float64
    assert np.isnan(found).tolist() == [v is None for v in cells.to_pylist()]
    back = values(column, found)
    assert back.type == cells.type
    if type_ == "decimal":  # nine digits of what a float holds
        read = back.to_pylist()
        assert [v if v is None else round(v, 2) for v in read] == cells.to_pylist()
    else:
        assert back.to_pylist() == cells.to_pylist()


def test_what_stands_for_missing_is_missing() -> None:
    column = Column("x", Kind.NUMERIC, type="real", missing_codes=(999,))
    assert numbers(pa.array([1.0, 999.0, None, math.nan]), column).tolist()[0] == 1.0
    assert np.isnan(numbers(pa.array([999.0, None, math.nan]), column)).all()
    assert np.isnan(numbers(pa.array([999.0, None, math.nan]))).tolist() == [False, True, True]


def test_a_time_is_a_number_only_where_the_column_says_so() -> None:
    days = pa.array([dt.date(1970, 1, 2)])
    assert numbers(days, Column("day", Kind.DATE, type="date")).tolist() == [1.0]
    with pytest.raises(sf.DataError, match="not numbers"):
        numbers(days)


def test_chunks_and_flags_are_read() -> None:
    assert numbers(pa.chunked_array([[True], [False, None]])).tolist()[:2] == [1.0, 0.0]
    assert numbers(pa.chunked_array([[], []], pa.decimal128(5, 2))).tolist() == []
    assert numbers(pa.array([Decimal("1.25")])).tolist() == [1.25]


def test_no_refusal_quotes_a_cell() -> None:
    with pytest.raises(sf.DataError, match="known: 'x' holds cells that are not numbers") as refused:
        numbers(pa.array(["1", CANARY]), where="known: 'x'")
    assert CANARY not in str(refused.value) and refused.value.__suppress_context__
    with pytest.raises(sf.DataError, match="'x' holds 2 infinite values"):
        require_finite(np.array([1.0, math.inf, -math.inf]), "'x'")
    table = Table.from_arrow(pa.table({"x": [1.0, None], "name": [CANARY, "b"]}))
    with pytest.raises(sf.DataError, match="missing or infinite"):
        complete_numbers(table, "x")
    with pytest.raises(sf.ParameterError, match="holds no numbers"):
        complete_numbers(table, "name")


def test_columns_that_name_people_say_nothing() -> None:
    roles = [Role.IDENTIFIER, Role.PERSON, Role.WEIGHT, Role.QUASI_IDENTIFIER, Role.SENSITIVE]
    schema = Schema(tuple(Column(f"c{i}", Kind.NUMERIC, role) for i, role in enumerate(roles)))
    assert [c.name for c in telling(schema)] == ["c3", "c4"]
    assert [c.name for c in telling(schema, {"c4"})] == ["c3"]


def test_codes_become_columns_of_zero_and_one() -> None:
    codes = np.array([[0, 2], [1, 0]])
    assert one_hot(codes, (2, 3)).tolist() == [[1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
    assert one_hot(codes, (2, 3), first=1).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert one_hot(np.empty((4, 0), np.int64), ()).shape == (4, 0)


def test_a_design_of_people_has_a_column_a_level_and_says_what_is_missing() -> None:
    rows = pa.table({"age": [30.0, None], "sex": ["f", "m"], "id": ["a", "b"]})
    schema = Schema(
        (
            Column("age", Kind.NUMERIC),
            Column("sex", Kind.NOMINAL),
            Column("id", Kind.NOMINAL, Role.IDENTIFIER),
        )
    )
    design = Design.of_people(Table.from_arrow(rows, schema), None, ())
    assert design.columns == ("age", "sex")
    assert design.names == ("1", "age", "sex[0]", "sex[1]", "sex[2]")  # missing is a level, had or not
    x, gaps = design.matrix(rows)
    assert x.tolist() == [[1, 0, 1, 0, 0], [1, 0, 0, 1, 0]]  # 30 is the middle of what is known
    assert gaps.tolist() == [[False], [True]]
    measured, same = design.measured(rows)
    assert measured.tolist() == x[:, 1:2].tolist() and same.tolist() == gaps.tolist()
    assert design.codes(rows).tolist() == [[0], [1]]
    with pytest.raises(sf.DataError, match="a number of X is missing"):
        design.complete(rows)


def test_a_design_of_what_was_seen_compares_with_the_first_level() -> None:
    columns = [Column("stay", Kind.NUMERIC), Column("ward", Kind.NOMINAL)]
    design = Design.of_seen(pa.table({"ward": ["b", "a", "c"], "stay": [1.0, 2.0, 3.0]}), columns)
    assert design.names == ("1", "stay", "ward[1]", "ward[2]")
    others = pa.table({"ward": ["c", "z", None, "a"], "stay": [5.0, 6.0, 7.0, 8.0]})
    assert design.complete(others).tolist() == [[1, 5, 0, 1], [1, 6, 0, 0], [1, 7, 0, 0], [1, 8, 0, 0]]
    gaps = Design.of_seen(pa.table({"ward": ["b", None], "stay": [1.0, 2.0]}), columns)
    assert gaps.names == ("1", "stay", "ward[1]")  # missing is a level where somebody has it
    assert gaps.complete(others)[:, 2].tolist() == [0, 0, 1, 0]
