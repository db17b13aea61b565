"""Independent columns: the marginals asked for, nothing else, and clear words about bad tables."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import samples
from sfumato.errors import ParameterError
from sfumato.samples._common import BLOCK, LevelLaw, choose
from sfumato.samples._independent import independent_rows
from sfumato.schema import Kind, Schema

FALSE_ALARM = 1e-6
PRIORS: dict[str, dict[Any, float]] = {
    "sex": {"female": 51, "male": 49},
    "age": {0: 2.0, 20: 3.0, 40: 3.0, 60: 2.0},
    "smoker": {True: 0.2, False: 0.7, None: 0.1},
    "dose": {0.5: 1, 1.0: 0, 2.0: 3},
    "day": {date(2011, 1, 1): 1, date(2012, 1, 1): 1},
}

weights = st.lists(st.sampled_from([0.0, 1e-9, 0.3, 1.0, 7.0, 1e6]), min_size=2, max_size=6)


@given(st.integers(0, 2**60))
@settings(max_examples=10, deadline=None)
def test_marginals_come_out(seed: int) -> None:
    n = 20_000
    frame = independent_rows(PRIORS, n, seed)[0].to_pandas()
    for name, prior in PRIORS.items():
        counts = [
            int(frame[name].isna().sum() if level is None else (frame[name] == level).sum())
            for level in prior
        ]
        assert sum(counts) == n
        expected = n * np.array(list(prior.values())) / sum(prior.values())
        assert all(c == 0 for c, e in zip(counts, expected, strict=True) if e == 0)
        kept = expected > 0
        # Ten examples x five columns share the false alarms.
        assert stats.chisquare(np.array(counts)[kept], expected[kept]).pvalue > FALSE_ALARM / 50


@given(st.integers(0, 2**60))
@settings(max_examples=10, deadline=None)
def test_columns_are_independent(seed: int) -> None:
    frame = independent_rows(PRIORS, 20_000, seed)[0].to_pandas()
    table = pd.crosstab(frame["sex"], frame["age"])
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM / 10


def test_the_schema_says_what_was_given() -> None:
    rows, schema = independent_rows(PRIORS, 10, 0)
    assert [c.type for c in schema] == ["text", "integer", "boolean", "real", "date"]
    assert schema["age"].levels == (0, 20, 40, 60) and schema["dose"].size == 3
    assert schema["smoker"].kind is Kind.FLAG and schema["smoker"].missing and not schema["sex"].missing
    assert all(c.description.startswith("Simulated. ") for c in schema)
    assert rows.schema.types == [pa.string(), pa.int64(), pa.bool_(), pa.float64(), pa.date32()]
    schema.require_public()
    assert Schema.from_toml(schema.to_toml()) == schema


def test_a_column_does_not_change_when_others_come() -> None:
    alone = independent_rows({"age": PRIORS["age"]}, 500, 4)[0]
    assert alone["age"].equals(independent_rows(PRIORS, 500, 4)[0]["age"])


def test_prefix_and_seed() -> None:
    long = independent_rows(PRIORS, BLOCK + 10, 1)[0]
    assert long.slice(0, 99).equals(independent_rows(PRIORS, 99, 1)[0])
    assert not long.slice(0, 99).equals(independent_rows(PRIORS, 99, 2)[0])


def test_one_level_is_enough() -> None:
    assert independent_rows({"x": {"only": 3}}, 4, 0)[0]["x"].to_pylist() == ["only"] * 4


@pytest.mark.parametrize(
    ("prior", "word"),
    [
        ({}, "no level"),
        ({None: 1.0}, "no level"),
        ({"secret": -1.0, "b": 2.0}, "1 weight not a number"),
        ({"secret": float("nan"), "b": float("inf")}, "2 weights"),
        ({"secret": "1"}, "1 weight"),
        ({"secret": True}, "1 weight"),
        ({"secret": 0, "b": 0}, "all 0"),
        ({"secret": 1e308, "b": 10**400}, "2 weights"),
        ({"secret": 1, 2: 1}, "all text"),
        ({True: 1, 2: 1}, "all text"),
        ({(1, 2): 1}, "all text"),
        ({date(2011, 1, 1): 1, datetime(2011, 1, 1): 1}, "all text"),
        ({float("nan"): 1.0}, "None for missing"),
        ([("secret", 1)], "map to weights"),
    ],
)
def test_bad_tables_are_refused_without_showing_a_level(prior: Any, word: str) -> None:
    with pytest.raises(ParameterError, match=word) as caught:
        independent_rows({"good": {"x": 1}, "bad": prior}, 5, 0)
    assert "'bad'" in str(caught.value) and "'good'" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_all_faults_come_at_once() -> None:
    with pytest.raises(ParameterError, match=r"2 columns.*'a'.*'b'"):
        independent_rows({"a": {}, "b": {"x": -1}, "c": {"x": 1}}, 5, 0)


@pytest.mark.parametrize("priors", [{}, None, {1: {"x": 1}}, {"": {"x": 1}}])
def test_priors_are_a_table_of_tables(priors: Any) -> None:
    with pytest.raises(ParameterError):
        independent_rows(priors, 5, 0)


@given(weights.filter(any), st.floats(0, 1, exclude_max=True))
def test_both_ways_of_drawing_agree_and_avoid_zeros(law: list[float], u: float) -> None:
    u = min(u, 1 - 2.0**-40)
    one = int(LevelLaw(law).draw(np.array([u]))[0])
    two = int(choose(np.array([u]), np.array([law]))[0])
    assert law[one] > 0 and law[two] > 0
    total = sum(law)
    if min(abs(np.cumsum(law) / total - u)) > 1e-12:
        assert one == two


@given(st.lists(weights.filter(any).map(lambda w: (w + [1.0] * 6)[:6]), min_size=1, max_size=80), st.data())
def test_a_group_draws_from_its_own_law(laws: list[list[float]], data: st.DataObject) -> None:
    group = data.draw(st.integers(0, len(laws) - 1))
    u = np.array([0.0, 0.25, 0.999, 1 - 2.0**-53])
    drawn = LevelLaw(laws).draw(u, np.full(4, group))
    assert ((drawn >= 0) & (drawn < 6)).all()
    assert all(laws[group][code] > 0 for code in drawn)


def test_public_functions_give_tables() -> None:
    assert samples.discharges(50).rows() == 50
    assert samples.members(50).rows() == 50
    assert samples.independent(PRIORS, 50).schema.names == tuple(PRIORS)
