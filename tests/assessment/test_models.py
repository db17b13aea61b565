"""Models on both files: the same on the same file, refuted by noise, and bad input refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.assessment.reading.alignment import Pair, align
from sfumato.assessment.reading.frames import frames
from sfumato.assessment.utility.learners import propensity, train_on_released
from sfumato.assessment.utility.models import mixing, regression
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.score import Score
from sfumato.table import Table


def table(schema: Schema | None = None, **columns: Any) -> Table:
    return Table.from_arrow(pa.table(columns), schema)


def people(rows: int, seed: int | None = None, effect: float = 1.0) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    age, sex = generator.integers(20, 80, rows), generator.choice(["f", "m"], rows)
    charge = 100 + effect * (3.0 * age + 20 * (sex == "m")) + generator.normal(0, 20, rows)
    died = generator.random(rows) < 1 / (1 + np.exp(-effect * (age - 50) / 10))
    return {"age": age, "sex": sex, "charge": charge, "died": died}


def bands(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "age": [f"[{a // 5 * 5}, {a // 5 * 5 + 5})" for a in data["age"]]}


def values(scores: list[Score]) -> list[float]:
    return [s.value for s in scores]


@pytest.fixture(scope="module")
def same() -> Pair:
    data = table(**people(1500, seed=1))
    return align(data, data)


LINEAR = "charge ~ as.numeric(age) + sex"
LOGISTIC = "I(charge > 250) ~ age + sex"


def test_regressions_on_the_same_file_are_the_same(same: Pair) -> None:
    assert values(regression(same, LINEAR)) == [1, 0, 1]
    assert values(regression(same, LOGISTIC, model="logistic")) == [1, 0, 1]


def test_coefficients_are_those_of_the_data() -> None:
    data = people(3000)
    scores = regression(align(table(**data), table(**bands(data))), LINEAR)
    found = {r["coefficient"]: r for r in scores[0].details["coefficients"]}
    design = np.column_stack([np.ones(3000), data["sex"] == "m", data["age"]]).astype(float)
    oracle, *_ = np.linalg.lstsq(design, data["charge"], rcond=None)
    names = ["Intercept", "sex[T.m]", "as_numeric(age)"]
    assert [found[n]["before"] for n in names] == pytest.approx(oracle.tolist())
    # the middle of a band leaves the slope unbiased: six standard errors (below 1e-6)
    slope = found["as_numeric(age)"]
    assert abs(slope["after"] - 3.0) < 6 * slope["error_after"]


def test_a_logistic_outcome_is_the_true_one(same: Pair) -> None:
    records = regression(same, "died ~ age", model="logistic")[0].details["coefficients"]
    assert next(r for r in records if r["coefficient"] == "age")["before"] > 0.05


def test_noise_has_other_coefficients() -> None:
    pair = align(table(**people(1500)), table(**people(1500, effect=0.0)))
    utility, _, overlap = regression(pair, LINEAR)
    assert utility.value < 1e-6 and overlap.value < 0.4


def test_levels_a_release_lost_count_as_no_overlap() -> None:
    data = people(600, seed=3)
    data["ward"] = ["a", "b", "c"] * 200
    fewer = {**data, "ward": ["a", "b", "b"] * 200}
    scores = regression(align(table(**data), table(**fewer)), "charge ~ age + ward")
    assert scores[0].details["absent"] == ["ward[T.c]"]
    assert "1 coefficients cannot be estimated" in scores[2].meaning and scores[2].value <= 0.75


def test_weighted_regression_agrees_with_repeated_rows() -> None:
    data = people(400, seed=4)
    weights = np.array([1.0, 3.0] * 200)
    schema = Schema(
        (
            Column("age", Kind.NUMERIC, type="integer"), Column("sex", Kind.NOMINAL),
            Column("charge", Kind.NUMERIC), Column("died", Kind.FLAG, type="boolean"),
            Column("w", Kind.NUMERIC, Role.WEIGHT),
        )
    )  # fmt: skip
    repeated = {k: np.repeat(np.asarray(v), weights.astype(int)) for k, v in data.items()}
    pair = align(table(schema, **data, w=weights), table(**repeated), weight="w")
    for formula, model in ((LINEAR, "linear"), ("died ~ age", "logistic")):
        for r in regression(pair, formula, model=model)[0].details["coefficients"]:  # type: ignore[arg-type]
            assert r["before"] == pytest.approx(r["after"], rel=1e-5)


@pytest.mark.parametrize(
    ("formula", "model"),
    [
        ("charge", "linear"),
        ("charge ~ nothing", "linear"),
        ("nothing ~ nowhere", "linear"),
        ("sex ~ age", "linear"),
        ("charge ~ age", "logistic"),
        ("charge ~ age +", "linear"),
        ("charge ~ age", "cubic"),
    ],
)
def test_bad_formulas_are_refused(same: Pair, formula: str, model: Any) -> None:
    with pytest.raises(ParameterError):
        regression(same, formula, model=model)


def test_outcomes_without_variety_are_refused(same: Pair) -> None:
    with pytest.raises(DataError):
        regression(same, "I(charge > 1e9) ~ age", model="logistic")


def test_models_learnt_from_the_release_are_tested_on_real_people(same: Pair) -> None:
    holdout = table(**people(1500))
    for target in ("died", "charge"):
        value, lost = train_on_released(same, target, holdout, resamples=30)
        assert lost.value == lost.low == lost.high == 0
        assert value.low is not None and value.low < value.value and value.value > 0.65
    data = people(1500)
    data["died"] = ~data["died"]
    wrong = align(same.original, table(**data))
    value, lost = train_on_released(wrong, "died", holdout, resamples=30)
    # labels turned around turn the area around, from about 0.8: its standard error is below 0.02
    assert value.value < 0.35 and lost.low is not None and lost.low > 0.3


def test_any_estimator_and_generalized_training_data() -> None:
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.svm import LinearSVC

    data = people(800, seed=5)
    pair = align(table(**data), table(**bands(data)))
    holdout = table(**people(800, seed=6))
    assert (
        train_on_released(pair, "died", holdout, estimator=LogisticRegression(), resamples=10)[0].value > 0.75
    )
    assert train_on_released(pair, "died", holdout, estimator=LinearSVC(), resamples=10)[0].value > 0.6
    assert (
        train_on_released(pair, "charge", holdout, estimator=LinearRegression(), resamples=10)[0].value > 0.8
    )
    assert train_on_released(pair, "sex", holdout, resamples=10)[0].value > 0.4


def test_bad_targets_and_tests_are_refused(same: Pair) -> None:
    holdout = table(**people(100))
    with pytest.raises(ParameterError):
        train_on_released(same, "ward", holdout)
    with pytest.raises(DataError, match="lacks"):
        train_on_released(same, "died", holdout.drop(["sex"]))
    one = {**people(100), "died": [True] * 100}
    with pytest.raises(DataError, match="always the same"):
        train_on_released(align(same.original, table(**one)), "died", holdout)


def test_a_level_of_one_person_and_a_test_without_variety() -> None:
    data = table(t=["rare", *["a"] * 10_500], x=np.arange(10_501) % 2)
    pair = align(data, data)
    assert len(train_on_released(pair, "t", data, resamples=2)) == 2
    with pytest.raises(DataError, match="in the test the target is always the same"):
        train_on_released(pair, "t", table(t=["a"] * 20, x=np.arange(20.0)))


def test_propensity_is_at_its_null_for_the_same_law() -> None:
    data = people(1000)
    assert values(propensity(align(table(**data), table(**data)), permutations=5))[0] == pytest.approx(0)
    fresh = align(table(**people(1000)), table(**people(1000)))
    banded = align(table(**people(1000)), table(**bands(people(1000))))
    for pair in (fresh, banded):
        pmse, ratio, _ = propensity(pair, permutations=30)
        null = np.array(pmse.details["null"])
        # the observed value is one more draw of the null: by Student's t with 29 degrees below 1e-7
        assert abs(pmse.value - null.mean()) < 8 * null.std() and 0.2 < ratio.value < 3


@pytest.mark.parametrize("model", ["tree", "logistic"])
def test_propensity_sees_another_law(model: Any) -> None:
    pair = align(table(**people(800)), table(**people(800, effect=0.0)))
    _, ratio, p = propensity(pair, model=model, permutations=20)
    assert ratio.value > 3 and p.value == pytest.approx(1 / 21)
    assert p.low == 0 and p.high is not None and p.high < 0.2


def test_an_open_end_is_the_largest_value_of_the_original() -> None:
    own, after = pa.table({"x": [0.0, 1.0, 100.0]}), pa.table({"x": [">50", "0", "1"]})
    _, middle = frames(align(Table.from_arrow(own), Table.from_arrow(after)))
    assert middle["x"].tolist() == [75.0, 0.0, 1.0]


def test_one_clock_whatever_the_file_has_it_in() -> None:
    days = np.arange("2020-01-01", "2020-07-01", dtype="datetime64[D]")
    data = {"cost": np.arange(len(days)) ** 1.5}
    original = table(day=pa.array(days), **data)
    for unit in ("s", "ms", "us", "ns"):
        again = table(day=pa.array(days.astype("datetime64[s]")).cast(pa.timestamp(unit)), **data)
        assert values(regression(align(original, again), "cost ~ day")) == [1, 0, 1]


def test_named_nodes_and_sets_of_numbers_are_read_as_what_they_cover() -> None:
    original = table(age=np.arange(20, 60))
    named = table(age=["young"] * 20 + ["old"] * 19 + ["{30, 31}"])
    tree = {"age": {"young": list(range(20, 40)), "old": list(range(40, 60))}}
    _, after = frames(align(original, named, hierarchies=tree))
    assert after["age"].tolist() == pytest.approx([29.5] * 20 + [49.5] * 19 + [30.5], abs=1)  # of a bin


def test_a_fit_without_a_finite_solution_is_doubted() -> None:
    x = np.arange(200) / 200
    told = regression(align(*[table(y=x > 0.5, x=x)] * 2), "y ~ x", model="logistic")
    assert all("did not converge" in s.meaning for s in told)
    twice = regression(align(*[table(y=x**2, x=x, z=2 * x)] * 2), "y ~ x + z")
    assert all("repeat each other" in s.meaning for s in twice)


def test_frames_complete_what_was_generalized() -> None:
    before = table(age=[20, 25, 30, 39] * 50, zip=["13001", "13002", "14001", "14002"] * 50)
    after = table(age=["[20, 30)", "*", "35", None] * 50, zip=["130**", "*", "14001", None] * 50)
    pair = align(before, after)
    _, middle = frames(pair)
    assert middle["age"][:3].tolist()[0] == 24.5 and np.isnan(middle["age"][1]) and middle["age"][2] == 35
    _, drawn = frames(pair, drawn=True)
    assert set(drawn["age"][::4]) <= set(range(20, 30)) and len(set(drawn["age"][::4])) > 3
    assert drawn["age"][1::4].between(20, 40).all() and drawn["age"][3::4].isna().all()
    assert set(drawn["zip"][::4]) == {"13001", "13002"} and drawn["zip"][3::4].isna().all()
    small, _ = frames(pair, most_rows=30, seed=2)
    assert len(small) == 30


def test_mixing_of_a_known_chain() -> None:
    generator = np.random.default_rng()
    trace = np.zeros(20_000)
    for i in range(1, len(trace)):
        trace[i] = 0.5 * trace[i - 1] + generator.normal()
    score = mixing({"x": trace}, lag=2)[0]
    assert score.value == pytest.approx(0.25, abs=0.06)  # the standard error is about 0.01
    assert score.details["effective"] == pytest.approx(20_000 / 3, rel=0.25)
    assert math.isnan(mixing({"still": np.ones(99)})[0].value)
    with pytest.raises(ParameterError):
        mixing({"x": [1.0, 2.0, 3.0]}, lag=5)
    with pytest.raises(ParameterError):
        mixing({})
