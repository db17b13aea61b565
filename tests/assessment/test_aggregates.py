"""The publisher's side of aggregates: any reconstruction, held against truth, group mean and control."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError

GROUPS = np.repeat(["a", "b", "c", "d"], [200, 200, 200, 2])


def table(values: np.ndarray, name: str = "y") -> sf.Table:
    return sf.Table.from_arrow(pa.table({"g": GROUPS[: len(values)], name: values}))


def test_who_is_guessed_too_well_and_who_is_too_few() -> None:
    """Group a is reconstructed exactly, the others by their means; d has two people."""
    rng = np.random.default_rng(0)
    y = rng.uniform(10, 1000, len(GROUPS))
    mean = {g: y[g == GROUPS].mean() for g in "abcd"}
    guess = np.where(GROUPS == "a", y, np.array([mean[g] for g in GROUPS]))
    found = sf.assess_aggregates(table(y), table(guess), by="g", value="y")
    rows = {r["g"]: r for r in found.groups.to_pylist()}
    assert {g: rows[g]["why"] for g in "abcd"} == {
        "a": "guessed too well",
        "b": "",
        "c": "",
        "d": "too few people",
    }
    assert (
        rows["b"]["success"]
        == rows["b"]["group_mean"]
        == np.mean(np.abs(y - mean["b"])[GROUPS == "b"] <= 0.1 * y[GROUPS == "b"])
    )
    assert found.coarsen.num_rows == 2 and not found.met
    assert found["aggregates, groups to coarsen"].value == 0.5
    assert found["aggregates, error against the group mean"].value < 1


def test_what_holds_for_people_outside_the_data_is_no_fault_of_the_aggregates() -> None:
    rng = np.random.default_rng(1)
    y = rng.uniform(10, 1000, 600)
    inside, outside = (table(y), table(y)), (table(y), table(y))
    assert not sf.assess_aggregates(*inside, by="g", value="y").met
    controlled = sf.assess_aggregates(*inside, by="g", value="y", control=outside)
    assert controlled.met
    assert controlled["aggregates, guessed closely"].control == 1.0


def test_small_groups_do_not_raise_a_false_alarm() -> None:
    """A guess no better than the group mean is flagged with a chance below 0.05 over all groups."""
    rng = np.random.default_rng()
    flagged = 0
    for _ in range(40):
        g = rng.integers(0, 30, 300).astype(str)
        y = rng.normal(size=300)
        truth = sf.Table.from_arrow(pa.table({"g": g, "y": y}))
        guess = sf.Table.from_arrow(pa.table({"y": rng.normal(size=300)}))
        found = sf.assess_aggregates(truth, guess, by="g", value="y", relative=False)
        flagged += "guessed too well" in found.groups["why"].to_pylist()
    assert flagged <= 15  # at a chance of 0.05 each, more than 15 of 40 come once in 1e9 runs


def test_ludia_on_a_strong_predictor_is_seen() -> None:
    """Charges that follow the stay almost exactly: the group mean says little, LUDIA nearly all."""
    rng = np.random.default_rng(2)
    g = rng.integers(0, 40, 4000)
    los = rng.gamma(3.0, 2.0, 4000) + rng.gamma(2.0, 1.0, 40)[g]
    y = 1000.0 + 500.0 * los + 20.0 * rng.normal(size=4000)
    full = sf.Table.from_arrow(pa.table({"g": g.astype(str), "los": los, "y": y}))
    made = sf.Aggregates.compute(full, "g", "y")
    fitted = sf.EcologicalRegression(correction=True).fit(full.drop(["y"]), made)
    found = sf.assess_aggregates(full, fitted.reconstruct().data, by="g", value="y", fewest=1)
    score = found["aggregates, guessed closely"]
    assert score.value > 0.95 and score.baseline < 0.4
    assert found.coarsen.num_rows > 35


def test_bad_input_is_refused() -> None:
    y = np.arange(1.0, 11.0)
    with pytest.raises(DataError, match="has 5 rows, the people are 10"):
        sf.assess_aggregates(table(y), table(y[:5]), by="g", value="y")
    with pytest.raises(ParameterError, match="tolerance is positive; max_risk is a share"):
        sf.assess_aggregates(table(y), table(y), by="g", value="y", tolerance=0, max_risk=2)


def test_who_is_not_guessed_is_still_one_of_the_group() -> None:
    y = np.arange(1.0, 603.0)
    found = sf.assess_aggregates(table(y), table(np.where(GROUPS == "d", np.nan, y)), by="g", value="y")
    rows = {r["g"]: r for r in found.groups.to_pylist()}
    assert (rows["d"]["people"], rows["d"]["success"], rows["d"]["why"]) == (2, 0.0, "too few people")
    assert found["aggregates, guessed closely"].value == pytest.approx(600 / 602)


def test_columns_without_numbers_are_refused_without_a_cell() -> None:
    y = np.arange(1.0, 5.0)
    with pytest.raises(DataError, match="missing for everybody"):
        sf.assess_aggregates(table(np.full(4, np.nan)), table(y), by="g", value="y")
    with pytest.raises(DataError) as caught:
        sf.assess_aggregates(table(np.array(["1", "hidden", "3", "4"])), table(y), by="g", value="y")
    assert "hidden" not in str(caught.value)
