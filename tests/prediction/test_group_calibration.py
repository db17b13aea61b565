"""Calibration held in groups: paid, in order, and silent about levels that are too small."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from declared import PUBLIC
from private_tables import grant
from score_tables import mixed

from sfumato.errors import ParameterError
from sfumato.prediction.group_calibration import shifts
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.privacy import Ledger
from sfumato.schema import Column, Kind, Schema
from sfumato.table import Table


def test_a_group_that_is_off_is_moved_back() -> None:
    """8,000 rows, noise of a tenth of epsilon 10: moves are right to 0.1 but once in more than a million."""
    random = np.random.default_rng(0)
    group, score = random.integers(0, 2, 8000), random.normal(size=8000)
    truth = score + np.where(group == 1, 0.5, -0.5)
    outcome = (random.random(8000) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    (found,) = shifts([group], [2], score, outcome, 1, grant(epsilon=1.0))
    assert found.enough.all() and found.moves[0] < -0.2 and found.moves[1] > 0.2
    assert np.abs(found.moves).max() < 0.7


def test_a_row_changes_the_sums_by_at_most_one_in_each_group() -> None:
    """u + u(1 - u) <= 1, and both terms are rounded to 2^-10 by half a step at most."""
    p = np.linspace(0, 1, 2001)
    for y in (0, 1):
        steps = np.abs(np.rint((y - p) * 2**10)) + np.rint(p * (1 - p) * 2**10)
        assert steps.max() <= 2**10 + 1


def small_group() -> Table:
    random = np.random.default_rng(1)
    n = 3000
    x, ward = random.random(n), np.where(np.arange(n) < 3, "rare", "usual")
    cells = {"x": x, "ward": ward, "sick": random.random(n) < x}
    schema = Schema(
        (
            Column("x", Kind.NUMERIC, edges=(0.0, 1.0), missing=False, provenance=PUBLIC),
            Column("ward", Kind.NOMINAL, levels=("rare", "usual"), missing=False, provenance=PUBLIC),
            Column("sick", Kind.FLAG, type="boolean", levels=(False, True), missing=False, provenance=PUBLIC),
        )
    )
    return Table.from_arrow(pa.table(cells), schema)


def test_a_group_too_small_to_say_is_marked_by_noised_counts() -> None:
    """Three rows against noise of deviation 14: past three deviations once in 140 fits."""
    marked = []
    for _ in range(5):
        ledger = Ledger.in_memory(1.0)
        model = PrivateLogistic(1.0, groups=["ward"]).fit(small_group(), "sick", ledger=ledger)
        assert ledger.spent == 1.0
        marked.append(model.released().card["groups"]["ward"]["too_small_to_say"])
    assert any(rare for rare, _ in marked) and not all(usual for _, usual in marked)


def test_groups_must_be_features_with_levels() -> None:
    ledger = Ledger.in_memory(1.0)
    for wrong in (["dose"], ["nobody"], ["ward", "ward"], "ward"):
        with pytest.raises(ParameterError):
            PrivateLogistic(1.0, groups=wrong).fit(mixed(100), "sick", ledger=ledger)
    assert ledger.spent == 0


def test_a_declared_order_is_kept_where_groups_are_moved() -> None:
    """The data say the opposite, so that a group's moves would turn the order round: whatever is drawn."""
    random = np.random.default_rng(2)
    stage = random.integers(0, 4, 2000)
    cells = {"stage": np.array(list("abcd"))[stage], "sick": random.random(2000) < 0.8 - 0.2 * stage}
    columns = (
        Column("stage", Kind.ORDINAL, levels=tuple("abcd"), missing=False, provenance=PUBLIC),
        Column("sick", Kind.FLAG, type="boolean", levels=(False, True), missing=False, provenance=PUBLIC),
    )
    table = Table.from_arrow(pa.table(cells), Schema(columns))
    for direction, sign in (("increasing", 1), ("decreasing", -1)):
        model = PrivateLogistic(5.0, groups=["stage"], monotone={"stage": direction}).fit(table, "sick")
        assert (np.diff(model.released().weights[0]) * sign >= 0).all()
