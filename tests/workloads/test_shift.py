"""Weights that turn one population into another: exact where counts say all, recovered where a model must."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato.errors import DataError, ParameterError
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table
from sfumato.workloads.shift import effective_size, fit_weighted, shift_weights
from sfumato.workloads.transfer import transfer_weights


def people(sex: list[str] | np.ndarray, age: list[int] | np.ndarray, y: np.ndarray | None = None) -> Table:
    columns = {"sex": pa.array(list(sex)), "age": pa.array(np.asarray(age, np.int64))}
    schema = [Column("sex", Kind.NOMINAL), Column("age", Kind.ORDINAL, type="integer")]
    if y is not None:
        columns["y"] = pa.array(np.asarray(y, np.float64))
        schema.append(Column("y", Kind.NUMERIC))
    return Table.from_arrow(pa.table(columns), Schema(tuple(schema)))


OLD = people("ffmmmmmm", [1, 2, 1, 1, 2, 2, 2, 2])
NEW = people("fffm", [1, 1, 2, 2])


def test_counts_give_the_ratio_of_the_laws() -> None:
    found = shift_weights(OLD, OLD, NEW, ["sex", "age"])
    # (f,1): (2/4)/(1/8) = 4; (f,2): (1/4)/(1/8) = 2; (m,1): 0; (m,2): (1/4)/(4/8) = 1/2
    assert np.allclose(found.values, [4, 2, 0, 0, 0.5, 0.5, 0.5, 0.5])
    assert found.effective == pytest.approx(8**2 / (16 + 4 + 4 * 0.25)) and found.outside == 0


def test_weighted_rows_are_distributed_as_the_new_population() -> None:
    draw = np.random.default_rng(0)
    old = people(draw.choice(["f", "m"], 4_000), draw.integers(0, 5, 4_000))
    new = people(draw.choice(["f", "m"], 900, p=[0.8, 0.2]), draw.binomial(4, 0.3, 900))
    weights = shift_weights(old, old, new, ["sex", "age"]).values
    for name in ("sex", "age"):
        before = old.to_arrow().column(name).to_numpy(zero_copy_only=False)
        after = new.to_arrow().column(name).to_numpy(zero_copy_only=False)
        for value in np.unique(after):
            assert np.average(before == value, weights=weights) == pytest.approx(np.mean(after == value))


def test_only_some_of_the_old_population_at_hand() -> None:
    enrolled = people("fmm", [1, 2, 2])
    found = shift_weights(enrolled, OLD, NEW, ["sex", "age"])
    assert np.allclose(found.values, np.array([4, 0.5, 0.5]) / (5 / 3))


def test_survey_weights_count_as_rows() -> None:
    twice = people("ffmmmmmmff", [1, 2, 1, 1, 2, 2, 2, 2, 1, 2])
    by_rows = shift_weights(OLD, twice, NEW, ["sex", "age"])
    by_weight = shift_weights(OLD, OLD, NEW, ["sex", "age"], old_weight=[2, 2, 1, 1, 1, 1, 1, 1])
    assert np.allclose(by_rows.values, by_weight.values)


def test_logistic_recovers_a_shift_it_can_describe() -> None:
    draw = np.random.default_rng(1)
    age = draw.integers(0, 6, 40_000)
    chosen = draw.random(40_000) < 1 / (1 + np.exp(-(0.5 * age - 1.5)))  # odds exp(0.5 age - 1.5)
    sex = np.repeat("f", 40_000)
    old, new = people(sex, age), people(sex[chosen], age[chosen])
    # new(x) / old(x) is proportional to P(chosen | age)
    found = shift_weights(old, old, new, ["age"], method="logistic").values
    truth = 1 / (1 + np.exp(-(0.5 * age - 1.5)))
    assert np.abs(found / found.mean() - truth / truth.mean()).max() < 0.1


def test_clipping_is_counted_and_helps_the_effective_size() -> None:
    free = shift_weights(OLD, OLD, NEW, ["sex", "age"])
    cut = shift_weights(OLD, OLD, NEW, ["sex", "age"], clip=2.0)
    assert cut.clipped == 1 and cut.effective > free.effective and cut.values.mean() == pytest.approx(1)
    assert "1 clipped" in repr(cut)


def test_what_cannot_be_reached_is_said() -> None:
    found = shift_weights(OLD, OLD, people("fx", [1, 9]), ["sex", "age"])
    assert found.outside == 0.5
    with pytest.raises(DataError, match="no row at hand"):
        shift_weights(OLD, OLD, people("x", [9]), ["sex", "age"])
    with pytest.raises(ParameterError, match="clip"):
        shift_weights(OLD, OLD, NEW, ["sex"], clip=0)
    with pytest.raises(ParameterError, match="counts or logistic"):
        shift_weights(OLD, OLD, NEW, ["sex"], method="magic")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no rows"):
        shift_weights(OLD, OLD, people([], []), ["sex"])
    with pytest.raises(DataError, match="new_weight"):
        shift_weights(OLD, OLD, NEW, ["sex"], new_weight=[1, 2])


def test_any_estimator_that_takes_weights_is_fitted_with_them() -> None:
    x, y, w = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 1e-9])
    assert fit_weighted(LinearRegression(), x, y, w).coef_[0] == pytest.approx(1, abs=1e-6)
    assert fit_weighted(make_pipeline(StandardScaler(), LinearRegression()), x, y, w).predict([[2.0]])[
        0
    ] == pytest.approx(2, abs=1e-6)
    with pytest.raises(ParameterError, match="KNeighborsRegressor takes no sample weights"):
        fit_weighted(KNeighborsRegressor(), x, y, w)
    assert effective_size(np.array([1.0, 1.0, 0.0])) == 2


def test_transfer_weights_make_all_tasks_look_like_one() -> None:
    draw = np.random.default_rng(2)
    age = [draw.integers(0, 3, 3_000), draw.integers(0, 3, 5_000)]
    y = [draw.binomial(3, 0.3 + 0.1 * a) for a in (age[0], age[1] * 0.5)]
    tasks = [people(np.repeat("f", len(a)), a, b) for a, b in zip(age, y, strict=True)]
    weights = transfer_weights(tasks, 0, ["sex", "age"], "y").values
    together, outcome = np.concatenate(age), np.concatenate(y)
    for a in range(3):
        for b in range(4):
            share = np.average((together == a) & (outcome == b), weights=weights)
            assert share == pytest.approx(np.mean((age[0] == a) & (y[0] == b)), abs=1e-9)


def test_transfer_to_other_people_adds_their_shift() -> None:
    draw = np.random.default_rng(3)
    tasks = [
        people(np.repeat("f", 2_000), draw.integers(0, 3, 2_000), draw.normal(size=2_000)) for _ in range(2)
    ]
    target = people(np.repeat("f", 10), [0] * 5 + [1] * 5)
    weights = transfer_weights(tasks, 1, ["age"], "y", target=target, method="logistic").values
    age = np.concatenate([t.to_arrow().column("age").to_numpy() for t in tasks])
    assert (weights[age == 2] == 0).all()
    assert np.average(age == 0, weights=weights) == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ParameterError, match="two tasks"):
        transfer_weights(tasks[:1], 0, ["age"], "y")


def test_estimators_within_estimators_get_the_weights() -> None:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.arange(40.0)[:, None]
    even = np.arange(40) % 2 == 0
    y = np.where(even, x[:, 0], 100.0 - x[:, 0])
    weights = even.astype(float)  # the others do not count: the slope is 1
    inner = Ridge(alpha=1e-9)
    pipeline = make_pipeline(StandardScaler(), inner)
    for estimator in (
        inner,
        pipeline,
        GridSearchCV(inner, {"alpha": [1e-9, 1e-8]}, cv=2),
        GridSearchCV(pipeline, {"ridge__alpha": [1e-9, 1e-8]}, cv=2),
        TransformedTargetRegressor(inner),
        make_pipeline(StandardScaler(), TransformedTargetRegressor(inner)),
    ):
        assert fit_weighted(estimator, x, y, weights).predict([[50.0]]) == pytest.approx(50, abs=1e-3)
    for deaf in (KNeighborsRegressor(), GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1]})):
        with pytest.raises(ParameterError, match="takes no sample weights"):
            fit_weighted(deaf, x, y, weights)
