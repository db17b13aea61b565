"""Two files on one scale: what generalized values stand for, by hand, and what is refused."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.assessment.reading.alignment import MAX_LEVELS, Pair, align
from sfumato.assessment.reading.bins import bin_names
from sfumato.assessment.reading.notation import Span, spans
from sfumato.assessment.reading.scales import pooled
from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table


def table(schema: Schema | None = None, **columns: Any) -> Table:
    return Table.from_arrow(pa.table(columns), schema)


def row(pair: Pair, column: str, value: str) -> list[float]:
    """How one released value is spread."""
    return pair.spread[column][pair.nodes[column].code_of(value)].tolist()


AGES = Schema((Column("age", Kind.NUMERIC, type="integer", edges=(20, 25, 30, 40, 50)),))


@pytest.mark.parametrize(
    ("value", "over"),
    [
        ("[20, 30)", [5, 5, 0, 0]),
        ("[20, 30[", [5, 5, 0, 0]),
        ("[20-30[", [5, 5, 0, 0]),
        ("[20, 30]", [5, 5, 1, 0]),
        ("(20, 30]", [4, 5, 1, 0]),
        ("20-29", [5, 5, 0, 0]),
        ("20–29", [5, 5, 0, 0]),
        ("22 - 26", [3, 2, 0, 0]),
        ("<30", [5, 5, 0, 0]),
        ("<=30", [5, 5, 1, 0]),
        (">=40", [0, 0, 0, 11]),
        (">39", [0, 0, 0, 11]),
        ("45+", [0, 0, 0, 6]),
        ("3*", [0, 0, 10, 0]),
        ("*", [5, 5, 10, 11]),
        ("27", [0, 1, 0, 0]),
        ("{21, 28, 29}", [1, 2, 0, 0]),
        ("young", [1, 1, 0, 0]),
    ],
)
def test_numbers_are_spread_over_the_whole_numbers_they_cover(value: str, over: list[int]) -> None:
    pair = align(
        table(AGES, age=[20, 27, 33, 50]), table(age=[value, "21"]), hierarchies={"age": {"young": [22, 26]}}
    )
    exact = [float(Fraction(n, sum(over))) for n in over]
    assert row(pair, "age", value) == pytest.approx(exact, abs=1e-15)


def test_leaves_of_a_node_beyond_the_range_are_left_out() -> None:
    tree = {"age": {"old": [45, 49, 60, 70], "ancient": [90, 95]}}
    pair = align(table(AGES, age=[20, 50]), table(age=["old", "30"]), hierarchies=tree)
    assert row(pair, "age", "old") == [0, 0, 0, 1]
    beyond = align(table(AGES, age=[20, 50]), table(age=["ancient", "60"]), hierarchies=tree)
    assert row(beyond, "age", "ancient") == row(beyond, "age", "60") == [0, 0, 0, 0, 1]


def test_touching_bands_share_no_end() -> None:
    pair = align(table(AGES, age=[20, 50]), table(age=["20-30", "30-40"]))
    assert row(pair, "age", "20-30") == [0.5, 0.5, 0, 0]
    assert row(pair, "age", "30-40") == pytest.approx([0, 0, 10 / 11, 1 / 11])


@pytest.mark.parametrize(("above", "with_high"), [("30+", False), (">=30", False), (">30", True)])
def test_a_band_leaves_its_end_to_an_open_one_that_starts_there(above: str, with_high: bool) -> None:
    assert spans(["20-30", above])[0] == Span(20, 30, True, with_high)


def test_reals_are_spread_by_length() -> None:
    schema = Schema((Column("bmi", Kind.NUMERIC, edges=(10.0, 20.0, 25.0, 45.0)),))
    pair = align(table(schema, bmi=[10.0, 45.0]), table(bmi=["[15, 35)", ">25"]))
    assert row(pair, "bmi", "[15, 35)") == [0.25, 0.25, 0.5]
    assert row(pair, "bmi", ">25") == [0, 0, 1]


@pytest.mark.parametrize(
    ("value", "over"),
    [
        ("130**", [1, 1, 0, 0]),
        ("13*", [1, 1, 0, 0]),
        ("1485*", [0, 0, 1, 1]),
        ("*****", [1, 1, 1, 1]),
        ("{13053, 14853}", [1, 0, 0, 1]),
        ("north", [0, 1, 1, 1]),
        ("13068", [0, 1, 0, 0]),
    ],
)
def test_names_are_spread_over_their_leaves(value: str, over: list[int]) -> None:
    zips = ["13053", "13068", "14850", "14853"]
    pair = align(
        table(zip=zips), table(zip=[value]), hierarchies={"zip": {"north": ["13068", "14850", "14853"]}}
    )
    assert row(pair, "zip", value) == pytest.approx([n / sum(over) for n in over])


def test_bands_of_bands_and_dates() -> None:
    bands = align(table(age=["20-24", "25-29", "30-39"]), table(age=["20-29", "25-34"]))
    assert row(bands, "age", "20-29") == [0.5, 0.5, 0]
    assert row(bands, "age", "25-34") == [0, 0.5, 0.5]
    days = [dt.date(2020, 1, 1), dt.date(2020, 2, 1), dt.date(2020, 3, 1), dt.date(2021, 3, 1)]
    pair = align(table(day=days), table(day=["2020", "2020-02", "[2020-01-01, 2020-02-01]", "2020-02-01"]))
    assert row(pair, "day", "2020") == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert row(pair, "day", "2020-02") == row(pair, "day", "2020-02-01") == [0, 1, 0, 0]
    assert row(pair, "day", "[2020-01-01, 2020-02-01]") == [0.5, 0.5, 0, 0]


@pytest.mark.parametrize(
    ("value", "over"),
    [("30+", [0, 1, 1]), ("15-44", [1, 1, 0]), ("45-74", [0, 1, 1]), ("95-99", [0, 0, 1]), ("99", [0, 0, 1])],
)
def test_a_leaf_with_an_open_end_gets_its_part(value: str, over: list[int]) -> None:
    found = align(table(band=["0-29", "30-59", "60+"]), table(band=[value, "0-29"]))
    assert row(found, "band", value) == pytest.approx([o / sum(over) for o in over])
    alone = align(table(band=["60+", "60+"]), table(band=["70-79", "70-79"]))
    assert row(alone, "band", "70-79") == [1]
    schema = Schema((Column("age", Kind.NUMERIC, type="integer", edges=(0, 50, 65, np.inf)),))
    declared = align(table(schema, age=[5, 64, 94]), table(age=["50+", "5"]))
    assert row(declared, "age", "50+") == pytest.approx([0, 15 / 45, 30 / 45])


def test_a_level_that_looks_generalized_is_a_level() -> None:
    pair = align(table(grade=["*", "**", "a"]), table(grade=["*", "a"]))
    assert row(pair, "grade", "*") == [1, 0, 0]


def test_joint_tables_are_spread_axis_by_axis() -> None:
    pair = align(
        table(AGES.__class__((*AGES.columns, Column("sex", Kind.NOMINAL))), age=[20, 30], sex=["f", "m"]),
        table(age=["[20, 30)", "30", "*"], sex=["f", "*", "m"]),
    )
    before, after = pair.tabulate([("age", "sex")])["age", "sex"]
    np.testing.assert_array_equal(before, [[1, 0], [0, 0], [0, 1], [0, 0]])
    f, half, rest = np.array([1.0, 0]), np.array([0.5, 0.5]), np.array([0, 1.0])
    expected = np.outer([0.5, 0.5, 0, 0], f) + np.outer([0, 0, 1, 0], half)
    expected += np.outer(np.array([5, 5, 10, 11]) / 31, rest)
    np.testing.assert_allclose(after, expected)
    original, released = pair.codes()
    assert original.books == tuple(pair.leaves.values()) and released.books == tuple(pair.nodes.values())


@given(st.lists(st.integers(-50, 200), min_size=1, max_size=60), st.lists(st.integers(-60, 210), min_size=1))
def test_rows_of_the_spread_sum_to_one_and_rows_stay(values: list[int], after: list[int]) -> None:
    texts = [f"[{v}, {v + abs(v) % 9 + 1})" if v % 3 else str(v) for v in after]
    for released in (table(x=after), table(x=[*texts, "*", None])):
        pair = align(table(x=values), released, bins=5)
        np.testing.assert_allclose(pair.spread["x"].sum(axis=1), 1)
        before, other = pair.tabulate([("x",)])["x",]
        assert before.sum() == len(values)
        assert other.sum() == pytest.approx(released.rows())


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80), st.integers(2, 9))
def test_a_file_is_like_itself_whatever_its_numbers(values: list[float], bins: int) -> None:
    same = table(x=pa.array(values, pa.float64()))
    before, after = align(same, same, bins=bins).tabulate([("x",)])["x",]
    np.testing.assert_array_equal(before, after)


def test_quantile_bins_keep_a_heavy_value_apart() -> None:
    pair = align(table(gain=[0] * 900 + list(range(1, 101))), table(gain=[0, 5]), bins=4)
    before, _ = pair.tabulate([("gain",)])["gain",]
    assert before[0] == 900
    assert pair.cut == {"gain"}


def test_values_the_original_does_not_have() -> None:
    pair = align(
        table(sex=["f", "m"], age=[20, 30], code=[1, 2]),
        table(sex=["x", "f"], age=["unknown", "95"], code=["1", "two"]),
    )
    assert pair.leaves["sex"].levels.to_pylist() == ["f", "m", "x"]
    assert any("not in the original" in n for n in pair.notes)
    age = pair.tabulate([("age",)])["age",][1]
    assert age[-1] == 1 and age[-2] == 1  # no number: missing; above the range: a bin of its own
    # few whole numbers are kept as they are; what is no number is missing
    assert pair.tabulate([("code",)])["code",][1].tolist() == [1, 0, 1]
    named = Schema((Column("code", Kind.NOMINAL, type="integer"),))
    pair = align(table(named, code=[1, 2]), table(code=["1", "two"]))
    assert pair.leaves["code"].levels.to_pylist() == ["1", "2", "two"]
    assert pair.tabulate([("code",)])["code",][0].tolist() == [1, 1, 0]


@pytest.mark.parametrize("kind", [int, float])
def test_the_largest_value_stays_inside_where_the_release_goes_beyond(kind: type) -> None:
    own = [kind(v) for v in range(20, 60)]
    pair = align(table(age=own), table(age=["*", ">=50", "60+"]), bins=4)
    before, after = pair.tabulate([("age",)])[("age",)]
    assert before[-1] == 0 and after[-1] == 1  # nobody is beyond the range, one record is
    assert row(pair, "age", "*")[-2] > 0


@pytest.mark.parametrize("shift", [1, -1, 0.5, 10])
def test_released_values_between_those_of_the_original_are_others(shift: float) -> None:
    own = np.array([10, 20, 30])
    pair = align(table(x=own), table(x=own + shift))
    before, after = pair.tabulate([("x",)])[("x",)]
    assert np.minimum(before, after).sum() == (2 if shift == 10 else 0)
    mixed = align(table(x=own), table(x=[str(v) for v in own + shift] + ["[10, 20]"]))
    spread = dict(zip(mixed.leaves["x"].levels.to_pylist(), row(mixed, "x", "[10, 20]"), strict=True))
    assert sorted(v for v in spread.values() if v) == [0.5, 0.5]


def test_missing_is_the_last_level_where_there_is_any() -> None:
    pair = align(table(a=["x", None], b=["u", "v"]), table(a=["x", "x"], b=["u", "u"]))
    assert (pair.leaves["a"].size, pair.leaves["b"].size) == (2, 2)
    assert pair.tabulate([("a",)])["a",][0].tolist() == [1, 1]
    gone = align(table(a=pa.array([None, None], pa.string())), table(a=["x", None]))
    assert gone.tabulate([("a",)])["a",][0].tolist() == [0, 2]
    left = align(table(a=["x", "y"]), table(a=pa.array([None, None])))
    assert left.tabulate([("a",)])["a",][1].tolist() == [0, 0, 2]
    number = align(table(a=[1, 2]), table(a=pa.array([None, None])))
    assert number.tabulate([("a",)])["a",][1].tolist() == [0, 0, 2]
    none = align(table(a=pa.array([None, None], pa.int64())), table(a=pa.array([1, None])))
    assert none.tabulate([("a",)])["a",][0].sum() == 2


def test_nan_written_as_text_is_missing_and_no_number() -> None:
    pair = align(table(age=[20.0, 21.5, 30.0]), table(age=["[20, 22)", "nan", "NaN", "30"]), bins=2)
    after = pair.tabulate([("age",)])[("age",)][1]
    assert pair.leaves["age"].missing and after[-1] == 2


def test_types_that_differ_and_mean_the_same() -> None:
    pair = align(
        table(a=[1, 2, 3], b=[True, False, True], c=["1", "2", "2"]),
        table(a=[1.0, 2.0, 2.5], b=["True", "false", "1"], c=[1, 2, 2]),
    )
    assert pair.tabulate([("a",)])["a",][1].tolist() == [1, 1, 1, 0]  # 2.5 is not 2
    assert [t.tolist() for t in pair.tabulate([("b",)])["b",]] == [[1, 2], [1, 2]]
    assert [t.tolist() for t in pair.tabulate([("c",)])["c",]] == [[1, 2], [1, 2]]


def test_weights_count_both_files() -> None:
    schema = Schema((Column("sex", Kind.NOMINAL), Column("w", Kind.NUMERIC, Role.WEIGHT)))
    original, released = table(schema, sex=["f", "m"], w=[3.0, 1.0]), table(sex=["f", "m"])
    pair = align(original, released, weight="w")
    assert [t.tolist() for t in pair.tabulate([("sex",)])["sex",]] == [[3, 1], [1, 1]]
    both = align(original, original, weight="w").tabulate([("sex",)])["sex",]
    assert [t.tolist() for t in both] == [[3, 1], [3, 1]]
    with pytest.raises(ParameterError):
        align(original, released, weight="v")


def test_a_weight_of_two_values_and_one_that_was_hidden() -> None:
    original = table(x=["a", "b", "b"], w=[1, 2, 2])
    (before, after) = align(original, original, weight="w").tabulate([("x",)])["x",]
    assert before.tolist() == after.tolist() == [1, 4]
    hidden = align(original, table(x=["a", "b"], w=["*", "*"]), weight="w")
    assert hidden.tabulate([("x",)])["x",][1].tolist() == [1, 1] and hidden.released_weight is None


def test_many_released_numbers_where_the_original_has_none_are_not_held() -> None:
    n = MAX_LEVELS + 1
    schema = Schema((Column("x", Kind.NUMERIC, type="real"), Column("s", Kind.NOMINAL)))
    original = table(schema, x=pa.array([None] * n, pa.float64()), s=["a"] * n)
    assert align(original, table(x=np.arange(n) / 7, s=["a"] * n)).columns == ("s",)


def test_columns_that_differ() -> None:
    pair = align(table(a=["x"], b=["y"]), table(a=["x"], c=["z"]))
    assert pair.columns == ("a",)
    assert len(pair.notes) == 2
    with pytest.raises(ParameterError, match="'b'"):
        align(table(a=["x"], b=["y"]), table(a=["x"]), columns=["a", "b"])
    with pytest.raises(DataError, match="no column in common"):
        align(table(a=["x"]), table(b=["x"]))


def test_an_empty_file_is_refused() -> None:
    empty = table(a=pa.array([], pa.string()))
    with pytest.raises(DataError, match="released file has no rows"):
        align(table(a=["x"]), empty)
    with pytest.raises(DataError, match="original has no rows"):
        align(empty, table(a=["x"]))


def test_an_identifier_is_left_out_or_refused() -> None:
    rows = MAX_LEVELS + 1
    data = table(id=[f"p{i}" for i in range(rows)], sex=["f"] * rows)
    pair = align(data, data)
    assert pair.columns == ("sex",) and any("identifier" in n for n in pair.notes)
    with pytest.raises(DataError, match="more than") as caught:
        align(data, data, columns=["id", "sex"])
    assert "p1" not in str(caught.value)
    role = Schema((Column("id", Kind.NOMINAL, Role.IDENTIFIER), Column("sex", Kind.NOMINAL)))
    assert align(table(role, id=["a"], sex=["f"]), table(id=["a"], sex=["f"])).columns == ("sex",)


def test_no_cell_value_in_any_message() -> None:
    secret = "Zaphod"
    data = table(a=[secret, "b"] * MAX_LEVELS, b=[f"{secret}{i}" for i in range(2 * MAX_LEVELS)])
    pair = align(data, table(a=[secret + "x"], b=[secret]))
    assert not any(secret in n for n in pair.notes)
    for wrong in ({"bins": 1}, {"columns": ["a", "a"]}, {"columns": ["b"]}):
        with pytest.raises(SfumatoError) as caught:
            align(data, data, **wrong)  # type: ignore[arg-type]
        assert secret not in str(caught.value)


def test_tables_too_large_are_refused_with_what_to_do() -> None:
    levels = [str(i) for i in range(1000)]
    data = table(a=levels, b=levels, c=levels)
    pair = align(data, data)
    assert pair.feasible(("a", "b")) and not pair.feasible(("a", "b", "c"))
    with pytest.raises(ParameterError, match="cells"):
        pair.tabulate([("a", "b", "c")])
    with pytest.raises(ParameterError, match="'z'"):
        pair.tabulate([("a", "z")])


def test_streaming_gives_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    data = table(**{c: [str(v) for v in generator.integers(0, 4, 200)] for c in "abcd"})
    pair = align(data, data.select("dcba"))
    sets = [("a", "b"), ("c", "a", "d"), ("b", "d")]
    whole = pair.tabulate(sets)
    monkeypatch.setattr("sfumato.assessment.reading.alignment._GROUP_CELLS", 20)
    monkeypatch.setattr("sfumato.assessment.reading.alignment._CODE_BYTES", 0)
    fresh = align(data, data.select("dcba"))
    for columns, tables in fresh.stream(sets):
        np.testing.assert_array_equal(tables, whole[columns])


def test_spans_read_what_people_write() -> None:
    assert spans(["-5 - 5", "[-inf, 3)", "≥2.5", "1e3", "x", "9-3"]) == [
        Span(-5, 5), Span(float("-inf"), 3, True, False), Span(2.5, float("inf"), True, False),
        Span(1000, 1000), None, None,
    ]  # fmt: skip


def test_widened_bins_have_short_names() -> None:
    """A bin that is no longer the last ends just above a number, and is named by that number."""
    column = Column("x", Kind.NUMERIC, type="real", edges=(0.0, 5.0, 9.3))
    before = table(Schema((column,)), x=[1.0, 6.0, 9.3])
    pair = align(before, table(x=[1.0, 9.3, 12.5]))
    assert pair.leaves["x"].levels.to_pylist() == ["[0, 5)", "[5, 9.3]", "(9.3, inf]"]
    assert pair.tabulate([("x",)])[("x",)][1].tolist() == [1, 1, 1]  # 9.3 stays where it was
    close = np.array([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)])
    assert len(set(bin_names(close))) == 2  # too close for few digits: all of them are shown


def test_days_in_bins_of_days_take_no_room() -> None:
    import tracemalloc

    days = [dt.date(1950, 1, 1) + dt.timedelta(i) for i in range(1200)]
    schema = Schema((Column("born", Kind.DATE),))
    years = sorted({str(d.year) for d in days})
    tree = {y: [d for d in days if str(d.year) == y] for y in years}
    tracemalloc.start()
    pair = align(table(schema, born=days), table(born=years), hierarchies={"born": tree}, bins=MAX_LEVELS)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2e8  # a square of the bins for each day of a year would be 4 GB
    assert row(pair, "born", "1951").count(1 / 365) == 365


def test_people_outside_cut_numbers_as_the_original_does() -> None:
    """Bins of the original's quantiles hold as many originals by construction, but not as many others."""
    rng = np.random.default_rng(0)
    first, second, third = (sf.scan(pa.table({"x": rng.normal(size=300)})) for _ in range(3))
    one, other = align(first, third, people=second), align(second, third, people=first)
    assert one.leaves["x"].column.edges == other.leaves["x"].column.edges
    assert align(first, third).leaves["x"].column.edges != one.leaves["x"].column.edges


def test_pooled_counts_are_those_of_both_files() -> None:
    first, second = ([1, 1, 2, None], [2, 5])
    one, two, both = (
        sf.scan(pa.table({"x": pa.array(v, pa.int64())})).one_way(["x"])["x"]
        for v in (first, second, [*first, *second])
    )
    found = pooled(one, two)
    assert found.codebooks[0].levels.to_pylist() == both.codebooks[0].levels.to_pylist() == [1, 2, 5]
    assert found.n.tolist() == both.n.tolist() and found.codes.tolist() == both.codes.tolist()
