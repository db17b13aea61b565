"""The simulated survey: its domain, and the dependence a cost model needs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.samples._common import BLOCK
from sfumato.samples._members import CONDITIONS, HEALTH, member_rows
from sfumato.schema import Role, Schema

N = 40_000


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return member_rows(N, 3)[0].to_pandas()


@given(st.integers(0, 10**9))
@settings(max_examples=5, deadline=None)
def test_every_cell_lies_in_its_public_domain(seed: int) -> None:
    rows, schema = member_rows(BLOCK, seed)
    schema.require_public([n for n in schema.names if n != "id"])
    arrow = {"text": pa.string(), "integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_()}
    assert rows.schema == pa.schema([(c.name, arrow[c.type]) for c in schema])
    for column in schema:
        values = rows[column.name]
        assert column.description.startswith("Simulated. ")
        assert column.missing or values.null_count == 0
        if column.levels is not None:
            assert pc.all(pc.is_in(values.drop_null(), pa.array(column.levels))).as_py(), column.name
        if column.edges is not None:
            assert column.edges[0] <= pc.min(values).as_py(), column.name  # type: ignore[operator]
            assert pc.max(values).as_py() <= column.edges[-1], column.name


def test_schema_round_trip_and_roles() -> None:
    schema = member_rows(1, 0)[1]
    assert Schema.from_toml(schema.to_toml()) == schema
    assert schema.of_role(Role.WEIGHT) == ("weight",) and schema.of_role(Role.IDENTIFIER) == ("id",)


def test_cost_has_two_parts(frame: pd.DataFrame) -> None:
    nothing = frame["cost"] == 0
    assert 0.15 < nothing.mean() < 0.35
    logs = np.log(frame["cost"][~nothing])
    assert abs(float(logs.skew())) < 0.5 and frame["cost"].skew() > 5  # log-normal-like, long tail


def test_cost_follows_health_age_and_insurance(frame: pd.DataFrame) -> None:
    ill = frame["health"].map({level: i for i, level in enumerate(HEALTH)})
    assert frame["cost"].corr(ill, method="spearman") > 0.2
    assert frame["cost"].corr(frame["age"], method="spearman") > 0.25
    nothing = (frame["cost"] == 0).groupby(frame["insurance"]).mean()
    assert nothing["uninsured"] > nothing["private"] + 0.15
    assert not ((frame["stays"] > 0) & (frame["cost"] == 0)).any()
    assert (frame["cost_self"] <= frame["cost"]).all()


def test_demographics_depend_on_each_other(frame: pd.DataFrame) -> None:
    assert not ((frame["age"] >= 65) & (frame["insurance"] == "uninsured")).any()
    assert frame["insurance"].eq("public").groupby(frame["age"] >= 65).mean()[True] > 0.4
    assert not ((frame["age"] < 22) & frame["education"].isin(["college", "post-graduate"])).any()
    by_schooling = frame.groupby("education", observed=True)["family_income"].median()
    assert by_schooling["post-graduate"] > 1.5 * by_schooling["less than high school"]
    for name in set(CONDITIONS) - {"asthma", "depression"}:
        assert frame.loc[frame[name], "age"].mean() > frame.loc[~frame[name], "age"].mean() + 5
    assert frame.loc[frame["hispanic"], "weight"].mean() < frame.loc[~frame["hispanic"], "weight"].mean()


def test_determinism_and_prefix() -> None:
    long = member_rows(BLOCK + 50, 9)[0]
    assert long.slice(0, 700).equals(member_rows(700, 9)[0])
    assert long.slice(0, BLOCK + 1).equals(member_rows(BLOCK + 1, 9)[0])
    assert not long.slice(0, 700).equals(member_rows(700, 10)[0])


@pytest.mark.parametrize("n", [0, -5, 2.0])
def test_the_number_of_rows_is_checked(n: int) -> None:
    with pytest.raises(ParameterError, match="n must be"):
        member_rows(n, 0)
