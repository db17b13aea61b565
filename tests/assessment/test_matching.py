"""Columns are understood by their values: renamed, recased, recoded, on another scale; and no further."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.assessment.reading.matching import match_columns, understood
from sfumato.assessment.reading.units import numbers_in
from sfumato.table import Table

ROWS = 3_000


def frame(seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], ROWS, p=[0.52, 0.48])
    return {
        "age": rng.integers(18, 95, ROWS),
        "sex": sex,
        "marital-status": rng.choice(["married", "single", "widowed"], ROWS, p=[0.5, 0.35, 0.15]),
        "pregnant": np.where((sex == "female") & (rng.random(ROWS) < 0.3), "yes", "no"),
        "height_cm": rng.normal(170, 10, ROWS).round(1),
        "stay": rng.poisson(4, ROWS),
    }


def scan(columns: dict[str, object]) -> Table:
    return sf.scan(pa.table(columns))


@pytest.fixture(scope="module")
def original() -> Table:
    return scan(frame(1))


def test_the_same_columns_need_no_reading(original: Table) -> None:
    assert match_columns(original, scan(frame(2))) == []


def test_other_names_are_read_by_values(original: Table) -> None:
    new = {f"v{i}": values for i, values in enumerate(frame(2).values())}
    found = {m.released: m.original for m in match_columns(original, scan(new))}
    assert found == {f"v{i}": name for i, name in enumerate(frame(2))}


def test_other_spellings_are_read(original: Table) -> None:
    columns = frame(2)
    columns["Marital_Status"] = [f" {v.upper()}" for v in columns.pop("marital-status")]  # type: ignore[attr-defined]
    released = scan(columns)
    (match,) = match_columns(original, released)
    assert (match.released, match.original) == ("Marital_Status", "marital-status")
    assert set(understood(released, [match]).column("marital-status").to_pylist()) == {
        "married", "single", "widowed",
    }  # fmt: skip


def test_codes_are_read_by_what_stands_beside_them(original: Table) -> None:
    """Two sexes about as frequent: who is pregnant tells which is which."""
    columns = frame(2)
    columns["sex"] = np.where(columns["sex"] == "female", 1, 2)  # type: ignore[comparison-overlap]
    released = scan(columns)
    (match,) = match_columns(original, released)
    assert match.original == "sex"
    read = understood(released, [match]).column("sex").to_pylist()
    assert read == list(frame(2)["sex"])  # type: ignore[call-overload]


def test_another_scale_is_read(original: Table) -> None:
    columns = frame(2)
    columns["height_in"] = np.round(columns.pop("height_cm") / 2.54, 2)  # type: ignore[operator]
    (match,) = match_columns(original, scan(columns))
    assert match.original == "height_cm" and match.scale is not None
    assert match.scale[1] == pytest.approx(2.54, rel=0.05)


@pytest.mark.parametrize("unit", ["{} years", "Age: {}", "{},0 Jahre", "{}y/o"])
def test_numbers_with_something_around_them_are_read(original: Table, unit: str) -> None:
    columns = frame(2)
    columns["age"] = [unit.format(v) for v in columns["age"]]  # type: ignore[attr-defined]
    released = scan(columns)
    (match,) = match_columns(original, released)
    assert match.original == "age" and not match.moved
    assert [float(v) for v in understood(released, [match]).column("age").to_pylist()] == list(
        frame(2)["age"]
    )  # type: ignore[call-overload]
    (back,) = match_columns(released, scan(frame(2)))  # and where the original is the one that writes so
    assert understood(scan(frame(2)), [back]).column("age").to_pylist() == columns["age"]


def test_numbers_around_which_differs_are_none() -> None:
    assert numbers_in({"34 years": 0.5, "3 months": 0.5}) == {}
    assert numbers_in({"34": 0.5, "35": 0.5}) == numbers_in({"2020-01-02": 0.5, "2020-02-02": 0.5}) == {}
    assert numbers_in({"EUR 1,200": 0.5, "EUR 900": 0.5}) == {"EUR 1,200": 1200, "EUR 900": 900}
    assert numbers_in({"$1,234.56": 0.5, "$845.10": 0.5}) == {"$1,234.56": 1234.56, "$845.10": 845.1}
    assert numbers_in({"1.234,56 EUR": 0.5, "845,10 EUR": 0.5}) == {
        "1.234,56 EUR": 1234.56,
        "845,10 EUR": 845.1,
    }
    assert numbers_in({"34,5 kg": 0.5, "-2 kg": 0.5}) == {"34,5 kg": 34.5, "-2 kg": -2}
    assert numbers_in({}) == numbers_in({"unknown": 1.0}) == {}


def test_general_values_are_no_codes(original: Table) -> None:
    columns = frame(2)
    columns["age"] = [f"[{v // 10 * 10}, {v // 10 * 10 + 10})" for v in columns["age"]]  # type: ignore[attr-defined]
    columns["marital-status"] = ["*"] * ROWS
    assert match_columns(original, scan(columns)) == []


def test_nodes_of_a_hierarchy_are_no_codes(original: Table) -> None:
    columns = frame(2)
    columns["marital-status"] = np.where(columns["marital-status"] == "married", "together", "alone")  # type: ignore[comparison-overlap]
    assert match_columns(original, scan(columns)) == []


def test_a_new_column_is_not_taken_for_a_dropped_one(original: Table) -> None:
    columns = frame(2)
    del columns["sex"]
    columns["score"] = np.random.default_rng(0).normal(size=ROWS)
    assert match_columns(original, scan(columns)) == []


def test_a_wrong_column_is_not_read_as_a_bent_one() -> None:
    """Numbers and dates drawn evenly, as a synthesizer may: what is lost must be seen, not explained away."""
    rng = np.random.default_rng(5)
    age = np.clip(np.round(rng.normal(50, 12, 2_000)), 0, 99)
    day = np.datetime64("2020-01-01") + np.round(rng.exponential(30, 2_000)).astype("timedelta64[D]")
    cost = np.round(rng.lognormal(7, 1, 2_000), 2)
    true = pa.table({"age": age, "day": day.astype("datetime64[s]"), "cost": cost})
    even = pa.table(
        {
            "age": rng.integers(0, 100, 2_000).astype(float),
            "day": (np.datetime64("2020-01-01") + rng.integers(0, 365, 2_000)).astype("datetime64[s]"),
            "cost": np.round(rng.uniform(0, 60_000, 2_000), 2),
        }
    )
    found = sf.assess(true, even, effort="quick", quasi_identifiers=["age"])
    assert found["total variation, columns"].value > 0.3
    assert not any("are read as" in note for note in found.notes)
    bent = even.set_column(0, "age", pa.array(np.exp(age / 20)))
    understood = sf.assess(true, bent, effort="quick", quasi_identifiers=["age"])
    assert any("'age' its values are read as" in note for note in understood.notes)


def test_values_that_changed_places_are_undone_for_intruders_and_lost_to_users() -> None:
    rng = np.random.default_rng(1)

    def people(share: float) -> pa.Table:
        return pa.table(
            {
                "age": rng.integers(20, 80, 1_500),
                "sex": rng.choice(["F", "M"], 1_500),
                "smoker": rng.choice(["yes", "no"], 1_500, p=[share, 1 - share]),
                "cost": rng.integers(1, 50, 1_500),
            }
        )

    original, turned, control = people(0.2), people(0.8), people(0.2)
    turned = turned.set_column(3, "cost", pa.array(1_000 - 20 * original["cost"].to_numpy()[::-1]))
    found = sf.assess(original, turned, control=control, effort="quick", thresholds={"utility": 0.9})
    assert found.thresholds[0].outcome == "not met"
    assert found["total variation, columns"].value > 0.3
    assert sum("by intruders only" in note for note in found.notes) == 2
