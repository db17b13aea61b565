"""Values to codes: one answer for every way a value can be stored."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import plain

from sfumato.counts import Codebook, canonical, type_name
from sfumato.errors import DataError, SchemaError
from sfumato.io import scan
from sfumato.schema import Column, Kind

CANARY = "rare-disease-xyzzy"


def nominal(type_: str = "text", **more: Any) -> Column:
    return Column("c", Kind.NOMINAL, type=type_, **more)


_CELLS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=4),
    "integer": st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    "real": st.floats(allow_infinity=True, allow_nan=True),
    "boolean": st.booleans(),
    "date": st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    "datetime": st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    "decimal": st.decimals(-(10**6), 10**6, places=3, allow_nan=False),
}


@given(
    st.sampled_from(sorted(_CELLS)).flatmap(lambda t: st.tuples(st.just(t), st.lists(st.none() | _CELLS[t])))
)
def test_decode_of_encode_is_the_value(case: tuple[str, list[Any]]) -> None:
    type_, cells = case
    stored = pa.array(cells, {"text": pa.string(), "integer": pa.int64(), "real": pa.float64(),
                              "boolean": pa.bool_(), "date": pa.date32(), "datetime": pa.timestamp("us"),
                              "decimal": pa.decimal128(18, 3)}[type_])  # fmt: skip
    book = Codebook.of_values(nominal(type_), stored)
    codes = book.encode(stored)
    assert book.decode(codes).to_pylist() == [plain(c) for c in cells]
    assert np.array_equal(book.encode(stored.dictionary_encode()), codes)
    assert book.levels.null_count == 0 and len(book.levels) == book.size - 1


@given(
    st.lists(st.none() | st.integers(0, 200)),
    st.sampled_from(["uint8", "int16", "int32", "uint32", "int64", "uint64"]),
)
def test_every_integer_width_gives_the_same_codes(cells: list[int | None], width: str) -> None:
    column = nominal("integer", levels=tuple(range(0, 201)))
    book = Codebook.declared(column)
    stored = pa.array(cells, pa.type_for_alias(width))
    assert book.encode(stored).tolist() == [201 if c is None else c for c in cells]


@pytest.mark.parametrize("values", [
    pa.array([1.0, 2.0, float("nan")]),
    pa.array([1, 2, None]),
    pa.array([1, 2, None], pa.int8()),
    pa.array([Decimal("1.00"), Decimal("2.0"), None], pa.decimal128(5, 2)),
    pa.array([1, 2, None]).dictionary_encode(),
    pa.chunked_array([[1], [2, None]]),
])  # fmt: skip
def test_an_integer_is_an_integer_however_it_is_stored(values: Any) -> None:
    book = Codebook.declared(nominal("integer", levels=(1, 2)))
    assert book.encode(values).tolist() == [0, 1, 2]


def test_ids_beyond_53_bits_stay_apart() -> None:
    ids = pa.array([2**53, 2**53 + 1, 2**63 - 1, None])
    book = Codebook.of_values(nominal("integer"), ids)
    assert book.encode(ids).tolist() == [0, 1, 2, 3]


def test_ids_of_64_bits_without_a_sign_are_text_when_nobody_said_what_they_are() -> None:
    ids = pa.table({"id": pa.array([2**64 - 1, 2**63, 1, 2**63], pa.uint64())})
    for data in (ids, ids.to_pandas(), pl.from_arrow(ids)):
        found = scan(data).counts("id").to_arrow().to_pylist()
        assert {row["id"]: row["n"] for row in found} == {str(2**64 - 1): 1, str(2**63): 2, "1": 1}


@pytest.mark.parametrize("type_", [pa.float64(), pa.int64(), pa.decimal128(20, 2), pa.string()])
def test_a_whole_number_is_one_text_however_it_is_stored(type_: pa.DataType) -> None:
    ids = pa.array(["10000000000", "0", None, "-12345678901234"]).cast(type_)
    assert canonical(nominal(), ids).to_pylist() == ["10000000000", "0", None, "-12345678901234"]


def test_reals_as_text_keep_what_is_not_whole() -> None:
    cells = pa.array([0.5, -0.0, 1e300, float("inf"), float("nan")])
    assert canonical(nominal(), cells).to_pylist() == ["0.5", "0", "1e+300", "inf", None]


def test_decimals_of_38_digits_stay_apart_as_text() -> None:
    ids = pa.array([Decimal(10**37 + 1), Decimal(10**37 + 2)], pa.decimal128(38, 0))
    assert canonical(nominal(), ids).to_pylist() == [str(10**37 + 1), str(10**37 + 2)]


@pytest.mark.parametrize("stored", [
    pa.array(np.random.default_rng(0).permutation(200_000)),
    pa.array(np.random.default_rng(0).permutation(200_000) / 7),
    pa.array(np.random.default_rng(0).permutation(200_000), pa.int32()).cast(pa.date32()),
    pa.array(np.random.default_rng(0).permutation(200_000), pa.int64()).cast(pa.timestamp("us")),
    pa.array([f"{i:x}" for i in np.random.default_rng(0).permutation(200_000)]),
])  # fmt: skip
def test_many_levels(stored: pa.Array) -> None:
    book = Codebook.of_values(nominal(type_name(stored.type)), stored)
    part = pa.concat_arrays([stored[1000:3000], pa.nulls(1, stored.type)])
    assert book.decode(book.encode(part)).equals(canonical(book.column, part))
    few = Codebook(book.column, book.levels[:100_000], False)
    with pytest.raises(DataError, match="100000 cells outside"):
        few.encode(stored)


def test_instants_compare_in_utc() -> None:
    east = timezone(timedelta(hours=9))
    moment = datetime(2020, 1, 1, 12, tzinfo=UTC)
    column = nominal("instant")
    a = canonical(column, pa.array([moment], pa.timestamp("us", "UTC")))
    b = canonical(column, pa.array([moment.astimezone(east)], pa.timestamp("ns", "Asia/Tokyo")))
    assert a.equals(b)
    with pytest.raises(DataError):  # a wall-clock time has no zone to convert from
        canonical(column, pa.array([datetime(2020, 1, 1)], pa.timestamp("us")))


def test_missing_codes_are_missing() -> None:
    book = Codebook.declared(nominal("integer", levels=(1, 2), missing_codes=(-9, "?")))
    assert book.encode(pa.array([1, -9, None, 2])).tolist() == [0, 2, 2, 1]
    words = Codebook.of_values(nominal(missing_codes=("?",)), pa.array(["?", "a", None]))
    assert words.levels.to_pylist() == ["a"]


def test_an_unobserved_level_keeps_its_code() -> None:
    stored = pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int8()), ["a", "b", "c"])
    book = Codebook.declared(nominal(levels=("a", "b", "c")))
    assert (book.encode(stored).tolist(), book.size) == ([2, 0], 4)


def test_an_unused_category_outside_the_domain_is_nobodys_value() -> None:
    stored = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), ["a", CANARY])
    assert Codebook.declared(nominal(levels=("a",))).encode(stored).tolist() == [0, 1]


def test_a_full_int8_dictionary_has_room_for_missing() -> None:
    levels = tuple(f"{i:03}" for i in range(128))
    stored = pa.DictionaryArray.from_arrays(pa.array([127, None], pa.int8()), list(levels))
    assert Codebook.declared(nominal(levels=levels)).encode(stored).tolist() == [127, 128]


@pytest.mark.parametrize("stored", [pa.array(["a", CANARY]), pa.array(["a", CANARY]).dictionary_encode()])
def test_outside_the_domain_is_refused_without_the_value(stored: pa.Array) -> None:
    with pytest.raises(DataError, match="1 cell outside") as caught:
        Codebook.declared(nominal(levels=("a",))).encode(stored)
    assert CANARY not in str(caught.value) and caught.value.hint


def test_missing_where_none_may_be_is_refused() -> None:
    book = Codebook.declared(nominal(levels=("a",), missing=False))
    for stored in (pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()):
        with pytest.raises(DataError, match="1 missing cell"):
            book.encode(stored)
    plain_book = Codebook.declared(nominal("integer", levels=(0, 1), missing=False))
    with pytest.raises(DataError, match="1 missing cell"):
        plain_book.encode(pa.array([0, None], pa.uint8()))


def test_a_cell_of_another_type_is_refused_without_the_value() -> None:
    with pytest.raises(DataError) as caught:
        Codebook.declared(nominal("integer", levels=(1,))).encode(pa.array([CANARY]))
    assert CANARY not in str(caught.value) and caught.value.__cause__ is None


def test_levels_of_another_type_are_refused() -> None:
    with pytest.raises(SchemaError, match="not of type integer"):
        Codebook.declared(nominal("integer", levels=("a",)))


def test_levels_that_mean_the_same_are_refused() -> None:
    with pytest.raises(SchemaError, match="mean the same"):
        Codebook.declared(nominal("integer", levels=(1, 1.0)))


# -- bins ----------------------------------------------------------------------------------------


def numeric(**more: Any) -> Column:
    return Column("x", Kind.NUMERIC, **{"type": "real", "edges": (0.0, 1.0, 5.0), **more})


def test_bins_are_half_open_and_the_last_is_closed() -> None:
    book = Codebook.declared(numeric())
    cells = pa.array([0.0, -0.0, 0.999, 1.0, 4.999, 5.0, None, float("nan")])
    assert book.encode(cells).tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert book.levels.to_pylist() == ["[0, 1)", "[1, 5]"]


def test_outside_the_edges_is_refused_or_clamped() -> None:
    cells = pa.array([-1.0, 6.0, float("inf")])
    with pytest.raises(DataError, match="3 cells outside"):
        Codebook.declared(numeric()).encode(cells)
    assert Codebook.declared(numeric(clamp=True)).encode(cells).tolist() == [0, 1, 1]


def test_dates_are_binned_like_numbers() -> None:
    column = Column("d", Kind.DATE, type="date", edges=(date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)))
    book = Codebook.declared(column)
    assert book.encode(pa.array([date(2020, 12, 31), date(2021, 1, 1), None])).tolist() == [0, 1, 2]


@given(st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=False)),
       st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9, unique=True))  # fmt: skip
def test_bins_agree_with_the_obvious_loop(cells: list[float | None], edges: list[float]) -> None:
    edges = sorted(edges)
    book = Codebook.declared(numeric(edges=tuple(edges), clamp=True))

    def slow(cell: float | None) -> int:
        if plain(cell) is None:
            return len(edges) - 1
        inside = [i for i in range(len(edges) - 1) if edges[i] <= cell < edges[i + 1]]
        return inside[0] if inside else 0 if cell < edges[0] else len(edges) - 2

    assert book.encode(pa.array(cells, pa.float64())).tolist() == [slow(c) for c in cells]


# -- several codes in one cell -------------------------------------------------------------------


def test_cells_of_codes_are_sets() -> None:
    column = Column("dx", Kind.CODES, separator=";")
    stored = pa.array(["b;a", "a; b", "a;b;a", ";", None])
    assert canonical(column, stored).to_pylist() == ["a;b", "a;b", "a;b", None, None]
    assert canonical(column, pa.array([["b", "a"], [], None])).to_pylist() == ["a;b", None, None]


def test_a_gap_inside_a_list_is_no_code() -> None:
    column = Column("c", Kind.CODES)
    array = pa.array([["b", None, "a"], [None], [], None])
    assert canonical(column, array).to_pylist() == ["a;b", None, None, None]


def test_a_moment_too_far_away_is_refused_and_not_wrapped_around() -> None:
    with pytest.raises(DataError, match="not of type datetime"):
        canonical(nominal("datetime"), pa.array([2**62], pa.timestamp("s")))


@pytest.mark.parametrize("type_", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")])
def test_a_time_of_day_is_one_text_in_every_unit(type_: pa.DataType) -> None:
    assert canonical(nominal(), pa.array([time(1, 2)], type_)).to_pylist() == ["01:02:00.000000"]


@pytest.mark.parametrize("type_", [pa.float16(), pa.float32(), pa.float64()])
def test_minus_zero_is_zero_as_text_too(type_: pa.DataType) -> None:
    assert canonical(nominal(), pa.array([-0.0, 0.0], type_)).to_pylist() == ["0", "0"]


def test_bins_of_whole_numbers_are_exact_where_reals_are_not() -> None:
    big = 2**53
    column = Column("c", Kind.NUMERIC, type="integer", edges=(0.5, big + 1, big + 3))
    codes = Codebook.declared(column).encode(pa.array([1, big, big + 1, big + 2, big + 3, None]))
    assert codes.tolist() == [0, 0, 1, 1, 1, 2]
    for outside in (0, big + 4):
        with pytest.raises(DataError, match="1 cell outside"):
            Codebook.declared(column).encode(pa.array([outside]))
    unbounded = Column("c", Kind.NUMERIC, type="integer", edges=(-float("inf"), 0, float("inf")))
    ends = pa.array([-(2**63), -1, 0, 2**63 - 1])
    assert Codebook.declared(unbounded).encode(ends).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("value", [object(), 2**70, [1], {}, b"x", "zz"])
def test_a_value_that_no_cell_can_be_is_no_level(value: object) -> None:
    book = Codebook.declared(nominal("integer", levels=(1, 2)))
    with pytest.raises(SchemaError, match="no such level"):
        book.code_of(value)


def test_bytes_that_are_no_text_are_refused() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"]).buffers())
    for stored in (broken, pa.DictionaryArray.from_arrays(pa.array([0]), broken)):
        with pytest.raises(DataError, match="not UTF-8"):
            canonical(nominal(), stored)


def test_long_decimals_and_large_reals_as_text() -> None:
    digits = ["12345678901234567890123456781", "12345678901234567890123456782"]
    stored = pa.array([Decimal(d) for d in digits] + [Decimal("-0")], pa.decimal128(38, 0))
    assert canonical(nominal(), stored).to_pylist() == [*digits, "0"]
    assert canonical(nominal(), pa.array([1e10, -0.0, 0.5])).to_pylist() == ["10000000000", "0", "0.5"]
