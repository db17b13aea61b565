"""k, l, t and delta; three intruders; copies and the closest record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import risk_oracles as oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato import samples
from sfumato.assessment import risk
from sfumato.assessment.risk import _kernels
from sfumato.assessment.risk.distance import WARNING
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Kind, Role
from sfumato.table import Table

pairs = st.lists(
    st.tuples(st.sampled_from("xy"), st.sampled_from("pq"), st.one_of(st.none(), st.integers(0, 6))),
    min_size=1,
    max_size=30,
)


def by_name(scores: list[Any]) -> dict[str, Any]:
    return {s.name: s for s in scores}


# -- l and t -------------------------------------------------------------------------------------


@example([("y", "p", None), ("y", "p", None), ("y", "p", 1), ("y", "p", 1), ("y", "p", 2)], 0.5)
@settings(max_examples=80)
@given(pairs, st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_l_and_t_agree_with_the_oracle(rows: list[tuple[Any, ...]], c: float) -> None:
    keys, values = [r[:2] for r in rows], [r[2] for r in rows]
    table = oracle.table(
        rows, ("a", "b", "s"), s=Kind.NUMERIC if any(v is not None for v in values) else Kind.NOMINAL
    )
    found = by_name(risk.diversity(table, ["a", "b"], ["s"], c=c))
    assert found["distinct l, s"].value == min(len(k) for k in oracle.by_class(keys, values))
    assert found["entropy l, s"].value == pytest.approx(oracle.entropy_l(keys, values))
    assert found[f"recursive l, c = {c:g}, s"].value == oracle.recursive_l(keys, values, c)
    assert found["t, equal distance, s"].value == pytest.approx(
        oracle.t(keys, values, ordered=False), abs=1e-12
    )
    if "t, ordered distance, s" in found:
        assert found["t, ordered distance, s"].value == pytest.approx(
            oracle.t(keys, values, ordered=True), abs=1e-12
        )


def test_the_salary_example_of_t_closeness() -> None:
    # Li, Li and Venkatasubramanian (2007): salaries 3..11 thousand; {3, 4, 5} at 0.375, {6, 8, 11} at 0.167.
    rows = [(g, s) for s, g in zip(range(3, 12), "aaabcbccb", strict=True)]
    table = oracle.table(rows, ("g", "salary"), salary=Kind.NUMERIC)
    from sfumato.assessment.risk.diversity import far_ordered, sensitive_values

    far = far_ordered(sensitive_values(table, ["g"], "salary"))
    assert far[:2].tolist() == pytest.approx([0.375, 1 / 6])


def test_an_ordinal_column_keeps_its_declared_order() -> None:
    rows = [("x", "low"), ("x", "low"), ("y", "high"), ("y", "middle")]
    table = oracle.table(rows, ("g", "s"))
    ordinal = table.with_schema(table.schema.with_("s", kind=Kind.ORDINAL, levels=("low", "middle", "high")))
    # whole: 1/2, 3/4, 1; class x: 1, 1, 1 -> (1/2 + 1/4) / 2
    assert by_name(risk.diversity(ordinal, ["g"], ["s"]))["t, ordered distance, s"].value == pytest.approx(
        0.375
    )
    assert "t, ordered distance, s" not in by_name(risk.diversity(table, ["g"], ["s"]))


def test_persons_count_once_per_value() -> None:
    rows = [("x", "flu", "p"), ("x", "flu", "p"), ("x", "hiv", "p"), ("x", "flu", "q")]
    table = oracle.table(rows, ("g", "s", "person"))
    found = by_name(risk.diversity(table, ["g"], ["s"], person="person"))
    assert found["entropy l, s"].value == pytest.approx(
        math.exp(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)))
    )


def test_alpha_beta_and_delta_by_hand() -> None:
    """Two classes of four: u is half of the file, three quarters of the first class; v occurs there only."""
    rows = [("x", s) for s in "uuuv"] + [("y", s) for s in "uwww"]
    found = by_name(risk.diversity(oracle.table(rows, ("a", "s")), ["a"], ["s"]))
    assert found["alpha, s"].value == 0.75 and found["alpha, s"].details["k"] == 4
    assert found["beta, basic, s"].value == pytest.approx(1.0)  # w: 3/4 against 3/8; v: 1/4 against 1/8
    assert found["beta, enhanced, s"].value == pytest.approx(1.0)
    # u in the first: .75 / .5 - 1 = .5 <= log 2; w: 1 > log(8 / 3); v: 1 <= log 8.
    assert found["beta, enhanced, s"].details == {"holds": False, "values of classes beyond their bound": 1}
    assert found["delta disclosure, s"].value == pytest.approx(math.log(2))
    assert found["delta disclosure, s"].details["classes that lack a value"] == 2


def test_a_file_of_one_class_or_one_value_tells_nothing_more() -> None:
    for rows in ([("x", "u"), ("x", "v"), ("x", "v")], [("x", "u"), ("y", "u")], [("x", "u")]):
        found = by_name(risk.diversity(oracle.table(rows, ("a", "s")), ["a"], ["s"]))
        for name in ("beta, basic, s", "beta, enhanced, s", "delta disclosure, s"):
            assert found[name].value == pytest.approx(0, abs=1e-12), name


# -- intruders and presence ----------------------------------------------------------------------


def test_intruders_by_hand() -> None:
    sample = oracle.table([("x",), ("x",), ("y",), ("z",)], ("a",))
    population = oracle.table([("x",)] * 4 + [("y",)] * 10 + [("z",)] + [("w",)] * 5, ("a",))
    found = risk.classes(sample, ["a"])
    scores = by_name(risk.intruders(found, population=population, threshold=0.25))
    assert scores["prosecutor risk, highest"].value == 1
    assert scores["prosecutor risk, average"].value == pytest.approx(3 / 4)
    assert scores["journalist risk, highest"].value == 1
    assert scores["journalist risk, above 0.25"].value == 0.25
    assert scores["marketer risk"].value == pytest.approx((2 / 4 + 1 / 10 + 1) / 4)
    (delta,) = risk.presence(found, population)
    assert delta.value == 1 and delta.details["lowest"] == 0 and delta.baseline == 4 / 20
    smaller = risk.classes(oracle.table([("x",), ("y",)], ("a",)), ["a"])
    assert risk.presence(smaller, population)[0].value == 0.25


def test_a_population_that_lacks_classes_is_not_flattering() -> None:
    found = risk.classes(oracle.table([("x",), ("q",)], ("a",)), ["a"])
    population = oracle.table([("x",)] * 4, ("a",))
    assert by_name(risk.intruders(found, population=population))["journalist risk, highest"].value == 1
    assert risk.presence(found, population)[0].value == 1
    # A population with fewer than the file: the file is the better count.
    three = risk.classes(oracle.table([("x",)] * 3, ("a",)), ["a"])
    scores = by_name(risk.intruders(three, population=oracle.table([("x",)], ("a",))))
    assert scores["journalist risk, highest"].value == pytest.approx(1 / 3)


def test_bad_input() -> None:
    found = risk.classes(oracle.table([("x",), ("y",)], ("a",)), ["a"])
    population = oracle.table([("x",)], ("a",))
    with pytest.raises(ParameterError, match="threshold"):
        risk.intruders(found, threshold=0)
    with pytest.raises(ParameterError, match="its own size"):
        risk.intruders(found, population=population, population_size=9)
    with pytest.raises(ParameterError, match="one of them"):
        risk.population_uniqueness(found)
    with pytest.raises(ParameterError, match="smaller"):
        risk.population_uniqueness(found, population_size=1)
    with pytest.raises(ParameterError, match="fraction"):
        risk.population_uniqueness(found, sampling_fraction=0)
    with pytest.raises(ParameterError, match="decide"):
        risk.diversity(population, ["a"], ["a"])
    with pytest.raises(ParameterError, match="row by row"):
        risk.presence(risk.classes(population, ["a"], missing="any"), population)


# -- copies --------------------------------------------------------------------------------------


def test_copies_by_hand() -> None:
    names = ("a", "b")
    original = oracle.table([("x", 1), ("x", 1), ("y", 2), ("z", 3)], names)
    released = oracle.table([("x", 1), ("y", 2), ("y", 9), ("q", 3)], names)
    control = oracle.table([("x", 1), ("q", 9)], names)
    found = by_name(risk.copies(original, released, control=control, quasi_identifiers=["a"]))
    whole = found["equal to an original on all columns"]
    assert (whole.value, whole.control) == (0.5, 0.5)
    assert whole.details["control"]["low"] == pytest.approx(0.0126, abs=1e-4)
    assert found["equal to a unique original on all columns"].value == 0.25
    assert found["purely artificial records"].value == 0.5
    assert found["equal to an original on the quasi-identifiers"].value == 0.75
    assert found["equal to a unique original on the quasi-identifiers"].value == 0.5


@given(pairs, pairs)
def test_copies_agree_with_the_oracle(first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]) -> None:
    original, released = (
        oracle.table([(*r, 1) for r in rows], ("a", "b", "s", "one")) for rows in (first, second)
    )
    if original.schema["s"].type != released.schema["s"].type:
        return  # all missing in one of them: an empty text column
    found = by_name(risk.copies(original, released))
    assert found["equal to an original on all columns"].value == sum(r in first for r in second) / len(second)
    assert found["equal to a unique original on all columns"].value == pytest.approx(
        sum(first.count(r) == 1 for r in second) / len(second)
    )


def test_the_same_file_is_copied_and_names_are_no_columns() -> None:
    table = samples.discharges(500, seed=1)
    found = by_name(risk.copies(table, table))
    assert found["equal to an original on all columns"].value == 1
    assert found["purely artificial records"].value == 0
    assert not {"person", "id"} & set(found["purely artificial records"].columns)
    with pytest.raises(DataError, match="share no column"):
        risk.copies(oracle.table([("x",)], ("a",)), oracle.table([("x",)], ("b",)))
    empty = Table.from_arrow(pa.table({"a": pa.array([], pa.string())}))
    for judge in (risk.copies, risk.closest):
        with pytest.raises(DataError, match="no rows"):
            judge(oracle.table([("x",)], ("a",)), empty)


# -- closest -------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_nearest_agrees_with_the_obvious(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = [
        np.where(rng.random((n, 2)) < 0.2, np.nan, rng.random((n, 2)) * 3).astype(np.float32) for n in (6, 9)
    ]
    codes = [rng.integers(0, 3, (n, 3)).astype(np.uint16) for n in (6, 9)]

    def distance(i: int, j: int) -> float:
        total = float((codes[0][i] != codes[1][j]).sum())
        for x, y in zip(numbers[0][i], numbers[1][j], strict=True):
            gaps = int(np.isnan(x)) + int(np.isnan(y))
            total += float(gaps == 1) if gaps else min(1.0, abs(float(x) - float(y)))
        return total

    expected = [min(distance(i, j) for j in range(9)) for i in range(6)]
    assert _kernels.nearest(numbers[0].T, codes[0].T, numbers[1].T, codes[1].T) == pytest.approx(
        expected, abs=1e-5
    )


def test_a_copy_lies_closer_and_fresh_people_do_not() -> None:
    columns = [*samples.DISCHARGE_VARIABLES, "age_years", "born", "charge_usd"]
    original, control, fresh = (samples.discharges(1_500, seed=s) for s in (1, 2, 3))
    copied = by_name(risk.closest(original, original, control=control, columns=columns))
    share = copied["closer to the original than to the control"]
    assert share.value > 0.95 and share.low is not None and share.low > 0.9 and share.baseline == 0.5
    assert WARNING in share.meaning
    middle = copied["distance to the closest original, median"]
    assert middle.value == 0 and middle.control is not None and middle.control > 0.1
    # One in a million false alarms, if the samples' seeds were drawn anew.
    apart = risk.closest(original, fresh, control=control, columns=columns, confidence=1 - 1e-6)[0]
    assert apart.low is not None and apart.high is not None and apart.low <= 0.5 <= apart.high
    assert risk.closest(original, fresh, columns=columns)[0].control is None


def test_ties_decide_nothing() -> None:
    original, control = (oracle.table([(v,) for v in values], ("a",)) for values in ("xy", "xz"))
    share = risk.closest(original, oracle.table([("x",), ("y",), ("y",), ("z",)], ("a",)), control=control)[0]
    assert share.value == pytest.approx(2 / 3) and share.details["ties left out"] == 1
    same = risk.closest(original, original, control=original)[0]
    assert (same.value, same.low, same.high) == (0.5, 0.0, 1.0)


def test_missing_is_near_missing_only() -> None:
    gap, value = oracle.table([(None,)], ("a",)), oracle.table([("x",)], ("a",))
    assert risk.closest(gap, value)[0].value == 1
    assert risk.closest(gap, gap)[0].value == 0


def test_exact_interval() -> None:
    assert risk.exact_interval(0, 10) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert risk.exact_interval(10, 10) == (pytest.approx(0.025**0.1), 1.0)
    assert risk.exact_interval(0, 0) == (0.0, 1.0)
    low, high = risk.exact_interval(3, 10)
    from scipy.stats import binom

    assert binom.sf(2, 10, low) == pytest.approx(0.025) and binom.cdf(3, 10, high) == pytest.approx(0.025)


# -- all of it -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"person": "person"}, {"missing": "any"}, {"sampling_fraction": 0.1}, {"population": True}],
)
def test_all_scores_have_names_of_their_own(options: dict[str, Any]) -> None:
    table = samples.discharges(400, seed=4)
    if options.get("population"):
        options = {"population": samples.discharges(2_000, seed=4)}
    scores = risk.risks(table, ["age", "sex", "zip", "race"], sensitive=["mdc", "charge_usd"], **options)
    names = [s.name for s in scores]
    assert len(set(names)) == len(names) and {s.section for s in scores} == {"risk"}
    import json

    json.dumps([s.to_dict() for s in scores])
    assert table.schema.of_role(Role.PERSON) == ("person",)


def test_files_and_engines_agree(tmp_path: Any) -> None:
    import duckdb
    import pyarrow.parquet as pq

    import sfumato as sf

    table = samples.discharges(600, seed=5)
    rows = table.to_arrow()
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    known, sensitive = ["age", "sex", "zip", "born"], ["mdc", "sev"]
    expected = risk.risks(table, known, sensitive=sensitive, missing="any", sampling_fraction=0.1)
    expected += risk.closest(table, table, columns=known, rows=50)
    with duckdb.connect() as connection:
        for data in (tmp_path / "rows.parquet", connection.from_arrow(rows)):
            other = sf.scan(data, schema=table.schema)
            found = risk.risks(other, known, sensitive=sensitive, missing="any", sampling_fraction=0.1)
            found += risk.closest(table, other, columns=known, rows=50)
            assert [(s.name, s.value) for s in found] == [(s.name, s.value) for s in expected]


def test_persons_of_several_classes_keep_the_fraction() -> None:
    table = samples.discharges(800, seed=6)
    found = risk.classes(table, ["age", "sex", "mdc"], person="person")
    assert found.total > found.population
    score = risk.population_uniqueness(found, population_size=found.population + 10)[0]
    assert 0.9 < score.details["sampling fraction"] < 1
    assert 0 < score.value < 1


def test_numbers_are_equal_beside_a_suppressed_cell() -> None:
    """One '*' makes a column text, and pandas writes 500.0; where both are text '007' is not '7'."""
    numbers = Table.from_arrow(pa.table({"x": [500.0, 1.5, 3.0]}))
    texts = Table.from_arrow(pa.table({"x": ["500.0", "1.5", "*"]}))
    assert risk.copies(numbers, texts, columns=["x"])[0].value == pytest.approx(2 / 3)
    codes = [Table.from_arrow(pa.table({"x": [x]})) for x in ("007", "7")]
    assert risk.copies(*codes, columns=["x"])[0].value == 0
    flags = [Table.from_arrow(pa.table({"x": x})) for x in ([True, False], ["True", "*"])]
    assert risk.copies(*flags, columns=["x"])[0].value == 0.5


def test_a_sorted_control_is_drawn_from_as_a_whole() -> None:
    rng = np.random.default_rng(3)
    x = np.sort(rng.gamma(0.5, 1, 4_000))
    files = [Table.from_arrow(pa.table({"x": v})) for v in (rng.gamma(0.5, 1, 4_000), rng.gamma(0.5, 1, 400))]
    (_, near) = risk.closest(*files, control=Table.from_arrow(pa.table({"x": x})), rows=400)
    assert near.control is not None and near.value / 3 < near.control < 3 * near.value


def test_a_median_of_few_is_open() -> None:
    few = Table.from_arrow(pa.table({"x": [0.2, 0.4, 0.6, 0.8, 0.9]}))
    score = risk.closest(Table.from_arrow(pa.table({"x": np.linspace(0, 1, 50)})), few)[0]
    assert (score.low, score.high) == (0.0, 1.0)  # five lie on one side of it more often than 1 in 20
