"""Who a model was fitted on: counted in the bins that later rows fall into, noised and paid for."""

from __future__ import annotations

from typing import Any

import pytest
from private_tables import grant
from score_tables import mixed

from sfumato.features.grid import FeatureGrid
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.prediction.population import bins_of, counted, told
from sfumato.privacy import PureDP


def test_fitted_rows_are_where_asked_ones_would_be() -> None:
    """At a vast epsilon there is no noise: the counts are those of the same rows asked one by one."""
    table = mixed(600)
    grid = FeatureGrid.of(table.schema, target="sick", steps=128)
    features = tuple(axis.feature(axis.bins) for axis in grid.axes)
    card = {"population": counted(features, grid.encode(table), 1, grant(epsilon=1000.0))}
    found = told(card, features)
    assert found is not None
    rows = table.to_arrow().to_pylist()
    for bins in bins_of(features):
        asked = [0] * bins.size
        for row in rows:
            asked[bins.place(row[bins.feature])] += 1
        assert found[2][bins.feature] == asked and len(bins.names) == bins.size <= 12


def test_it_is_a_part_of_epsilon_and_off_unless_asked_for() -> None:
    plain = PrivateLogistic(2.0).fit(mixed(300), "sick").released()
    assert "population" not in plain.card and told(plain.card, plain.features) is None
    with_it = PrivateLogistic(2.0, population=True).fit(mixed(300), "sick").released()
    (claim,) = (c for c in with_it.guarantee if isinstance(c, PureDP))
    features = len(with_it.features)
    assert claim.epsilon == 2.0 and with_it.card["population"]["noise_scale"] == pytest.approx(
        features / 0.1, rel=1e-6
    )


@pytest.mark.parametrize(
    "wrong",
    [{}, {"counts": []}, {"noise_scale": -1}, {"counts": {"no": [1]}}, {"epsilon": True}, {"counts": None}],
)
def test_a_card_of_anybody_is_not_believed(wrong: dict[str, Any]) -> None:
    model = PrivateLogistic(2.0, population=True).fit(mixed(300), "sick").released()
    kept = model.card["population"]
    changed = {**kept, **wrong} if wrong else 3
    assert told({"population": changed}, model.features) is None
    short = {**kept, "counts": {n: c[:-1] for n, c in kept["counts"].items()}}
    assert told({"population": short}, model.features) is None
