"""A market whose truth is known: the shift removes the bias, and keeping the shape keeps it away."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.anonymization.shape.methods import Centroid, ClusterResample
from sfumato.criteria import KAnonymity
from sfumato.errors import DataError, ParameterError
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table
from sfumato.workloads.market import market_risk

SCHEMA = Schema(
    (
        Column(
            "age", Kind.ORDINAL, Role.QUASI_IDENTIFIER, type="integer", levels=tuple(range(6)), missing=False
        ),
        Column("sex", Kind.FLAG, Role.QUASI_IDENTIFIER, type="integer", levels=(0, 1), missing=False),
        Column("cost", Kind.NUMERIC, Role.SENSITIVE),
    )
)


def people(rows: int, lean: float, seed: int) -> Table:
    """People of a market: older where `lean` is higher; costs rise with age, not in a straight line."""
    draw = np.random.default_rng(seed)
    age = draw.binomial(5, lean, rows)
    sex = draw.integers(0, 2, rows)
    cost = 500 + 100.0 * age**2 + 150 * sex + draw.gamma(2, 100, rows)
    return Table.from_arrow(pa.table({"age": age, "sex": sex, "cost": cost}), SCHEMA)


EXISTING, NEW, PLAN = people(20_000, 0.4, 1), people(20_000, 0.7, 2), people(6_000, 0.4, 3)


def test_the_shift_removes_the_bias() -> None:
    asked = {"columns": ["age", "sex"], "cost": "cost", "actual": NEW, "repeats": 50}
    plain = market_risk(PLAN, EXISTING, NEW, method="none", **asked)
    for method in ("counts", "logistic"):
        moved = market_risk(PLAN, EXISTING, NEW, method=method, **asked)
        assert abs(moved.expected / NEW.to_arrow().column("cost").to_numpy().mean() - 1) < 0.03
        assert moved.similarity is not None and moved.similarity > 0.95 > 0.7 > plain.similarity
        assert moved.low < moved.expected < moved.high and moved.weights.effective < 6_000
    assert plain.expected < 0.75 * moved.expected
    assert plain.relative_bias is not None and abs(plain.relative_bias) < 3  # dummies fit every level


def test_the_model_that_is_too_stiff_needs_the_weights() -> None:
    asked = {"columns": ["age", "sex"], "cost": "cost", "actual": NEW, "repeats": 0, "coding": "numeric"}
    plain = market_risk(PLAN, EXISTING, NEW, method="none", **asked)
    moved = market_risk(PLAN, EXISTING, NEW, method="counts", **asked)
    assert abs(moved.relative_bias) < abs(plain.relative_bias) / 2  # type: ignore[arg-type]


def test_keeping_the_shape_keeps_the_answer_and_centroids_do_not() -> None:
    asked = {"columns": ["age", "sex"], "cost": "cost", "repeats": 0, "actual": NEW}
    k = KAnonymity(200)
    kept = market_risk(ClusterResample().release(PLAN, k).data, EXISTING, NEW, **asked)
    squeezed = market_risk(Centroid().release(PLAN, k).data, EXISTING, NEW, **asked)
    assert kept.similarity > squeezed.similarity + 0.1  # type: ignore[operator]


def test_all_that_is_found_has_an_interval() -> None:
    asked = {"columns": ["age", "sex"], "cost": "cost", "actual": NEW, "factor": 1.0}
    risk = market_risk(PLAN, EXISTING, NEW, repeats=60, **asked)
    for value, ends in ((risk.relative_bias, risk.bias_interval), (risk.r2, risk.r2_interval)):
        assert ends is not None and ends[0] <= value <= ends[1]
    low, high = risk.bias_interval  # type: ignore[misc]
    assert high - low < 5  # per cent: 6,000 members say it closely
    assert "to" in str(risk).split("bias")[1]
    plain = market_risk(PLAN, EXISTING, NEW, repeats=0, **asked)
    assert plain.bias_interval is None and plain.r2_interval is None and plain.r2 == risk.r2


def test_the_cost_of_living_multiplies() -> None:
    one = market_risk(PLAN, EXISTING, NEW, columns=["age"], cost="cost", repeats=0)
    dearer = market_risk(PLAN, EXISTING, NEW, columns=["age"], cost="cost", repeats=0, factor=1.1)
    assert dearer.expected == pytest.approx(1.1 * one.expected) and one.low == one.expected
    assert "a member" in str(one)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="factor"):
        market_risk(PLAN, EXISTING, NEW, columns=["age"], cost="cost", factor=0)
    with pytest.raises(ParameterError, match="repeats"):
        market_risk(PLAN, EXISTING, NEW, columns=["age"], cost="cost", repeats=-1)
    hole = Table.from_arrow(
        pa.table({"age": [1], "sex": [0], "cost": pa.array([None], pa.float64())}), SCHEMA
    )
    with pytest.raises(DataError, match="missing or infinite"):
        market_risk(hole, EXISTING, NEW, columns=["age"], cost="cost")


def test_what_has_no_sense_is_refused_without_showing_a_cell() -> None:
    from sfumato.workloads.transfer import transfer_weights

    words = Table.from_arrow(
        pa.table({"age": [1, 2], "sex": [0, 1], "cost": ["zebra", "horse"]}),
        Schema((*SCHEMA.select(["age", "sex"]), Column("cost", Kind.NOMINAL))),
    )
    with pytest.raises(ParameterError, match="'cost' holds no numbers") as refused:
        market_risk(words, EXISTING, NEW, columns=["age"], cost="cost", repeats=0)
    assert "zebra" not in str(refused.value)
    with pytest.raises(ParameterError, match="from itself"):
        market_risk(PLAN, EXISTING, NEW, columns=["age", "cost"], cost="cost", repeats=0)
    with pytest.raises(ParameterError, match="bins must be"):
        transfer_weights([PLAN, NEW], 0, ["age"], "cost", bins=0)
    assert "%" not in str(market_risk(PLAN, EXISTING, NEW, columns=["age"], cost="cost", repeats=0))
