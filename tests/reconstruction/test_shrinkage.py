"""LUDIA is not silently worse than the groups' means, and true values of some people calibrate it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from reconstruction import worlds

import sfumato as sf
from sfumato.reconstruction.baselines import MoorePenrose, gathered
from sfumato.reconstruction.ludia import LUDIA
from sfumato.reconstruction.problem import LinearProblem


def few_groups(seed: int = 0, groups: int = 8, columns: int = 12, people: int = 400):
    """Groups with levels of their own, that X does not explain, and whose X differ a little."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(groups), people)
    x = rng.normal(size=(len(g), columns)) + 0.2 * rng.normal(size=(groups, columns))[g]
    y = 0.3 * rng.normal(size=groups)[g] + 0.3 * x[:, 0] + 0.5 * rng.normal(size=len(g))
    full = {"g": [f"g{i}" for i in g], **{f"x{j}": x[:, j] for j in range(columns)}, "y": y}
    return sf.Table.from_arrow(pa.table(full)), y


def error(fitted, y) -> float:
    return float(np.abs(fitted.reconstruct().numbers()[:, 0] - y).mean())


@pytest.mark.parametrize("seed", range(2))
def test_few_groups_and_many_columns_end_near_the_means_and_say_so(seed) -> None:
    table, y = few_groups(seed)
    made, people = worlds.aggregates(table, "g"), table.drop(["y"])
    plain = error(MoorePenrose().fit(people, made), y)
    with pytest.warns(sf.SfumatoWarning, match="8 groups cannot tell 12 columns of X apart"):
        careful = LUDIA().fit(people, made)
    assert error(careful, y) <= 1.02 * plain
    assert careful.chosen["shrinkage"] == (0.0,)
    daring = LUDIA(shrinkage=1.0).fit(people, made)
    assert daring.chosen["shrinkage"] == (1.0,)
    assert error(daring, y) > 1.05 * plain  # what shrinking is for


def test_random_groups_are_believed() -> None:
    table, truth = worlds.people(np.random.default_rng(1), 2000, 40)
    made, people = worlds.aggregates(table, "g"), table.drop(["y", "h"])
    fitted = LUDIA().fit(people, made)
    assert fitted.chosen["shrinkage"][0] > 0.8
    assert error(fitted, truth["y"]) < 0.95 * error(MoorePenrose().fit(people, made), truth["y"])


def test_variances_within_and_between_groups_are_those_of_people() -> None:
    table, y = few_groups(groups=5, columns=3, people=30)
    made = worlds.aggregates(table, "g")
    _, grouping, moments = gathered(table.drop(["y"]), made, None, "indicator", False)
    problem = LinearProblem.of(moments, grouping)
    rows = table.to_arrow()
    x = np.column_stack([rows[f"x{j}"].to_numpy() for j in range(3)]).reshape(5, 30, 3)
    apart = (x - x.mean(axis=1, keepdims=True)).reshape(-1, 3)
    assert np.allclose(problem.within, apart.T @ apart / 150)
    assert np.allclose(problem.between, np.var(y.reshape(5, 30).mean(axis=1)))


def test_known_values_calibrate_slopes_and_intervals() -> None:
    table, y = few_groups()
    made, people = worlds.aggregates(table, "g"), table.drop(["y"])
    some = np.random.default_rng(1).permutation(len(y))[:200]
    known = np.full(len(y), np.nan)
    known[some] = y[some]
    place = table.columns.index("y")
    partly = table.to_arrow().set_column(place, "y", pa.array(known, from_pandas=True))
    fitted = LUDIA().fit(people, made, known=partly)
    rows = fitted.reconstruct(interval=0.9).to_arrow()
    got, low, high = (rows[n].to_numpy() for n in ("y", "y_low", "y_high"))
    off = np.abs(got - y)
    assert off.mean() <= 1.02 * error(MoorePenrose().fit(people, made), y)
    inside = np.delete((low <= y) & (y <= high), some)
    assert 0.85 <= inside.mean() <= 0.95
    assert (high - low).mean() / 2 <= 2.5 * off.mean()
    wide = fitted.uncertainty("constant").rule(0.9)
    assert fitted.uncertainty().sigma[0] < 0.2 * wide.inside[0]  # groups alone say far less


def test_logs_are_taken_of_known_values_and_slopes_may_grow() -> None:
    rng = np.random.default_rng(3)
    g = np.repeat(np.arange(30), 40)
    x = rng.normal(size=len(g)) + 0.5 * rng.normal(size=30)[g]
    cost = np.exp(3 + x + 0.1 * rng.normal(size=len(g)))
    table = sf.Table.from_arrow(pa.table({"g": g.astype(str), "x": x, "cost": cost}))
    made = worlds.aggregates(table, "g", values={"cost": "mean_log"})
    half = LUDIA(rank=1, iterations=2, sharing="even").fit(table.drop(["cost"]), made)
    fitted = LUDIA().fit(table.drop(["cost"]), made, known=table.to_arrow().slice(0, 400))
    right = np.abs(fitted.reconstruct().numbers()[:, 0] - np.log(cost)).mean()
    assert right < 0.1 < np.abs(half.reconstruct().numbers()[:, 0] - np.log(cost)).mean()


def test_known_values_that_will_not_do() -> None:
    table, _ = few_groups(groups=5, columns=3, people=30)
    made, people, rows = worlds.aggregates(table, "g"), table.drop(["y"]), table.to_arrow()
    with pytest.raises(sf.DataError, match=r"9 values are known .* at least 10"):
        LUDIA().fit(people, made, known=rows.slice(0, 9))
    with pytest.raises(sf.DataError, match=r"'y'.*'x1' are not there"):
        LUDIA().fit(people, made, known=rows.drop(["y", "x1"]))
    text = rows.set_column(rows.column_names.index("y"), "y", pa.array(["canary-7"] * 150))
    with pytest.raises(sf.DataError, match="not numbers") as caught:
        LUDIA().fit(people, made, known=text)
    assert "canary" not in str(caught.value)
    fitted = LUDIA().fit(people, made, known=rows.slice(0, 12))
    with pytest.raises(sf.ParameterError, match=r"12 known values are too few for intervals of 0\.99"):
        fitted.reconstruct(interval=0.99)
    with pytest.raises(sf.ParameterError, match="no values are known"):
        MoorePenrose().fit(people, made).uncertainty("known")
    for wrong in (-0.1, 21, True):
        with pytest.raises(sf.ParameterError, match="shrinkage"):
            LUDIA(shrinkage=wrong)
