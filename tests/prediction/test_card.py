"""The model card: figures that are right, and a test set whose rows are paid for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from score_tables import MIXED, mixed
from sklearn.metrics import roc_auc_score

from sfumato.errors import BudgetError, SchemaError
from sfumato.prediction.additive import AdditiveScore
from sfumato.prediction.artefact import load, write
from sfumato.prediction.card import BINS, evaluated
from sfumato.prediction.models import ReleasedModel
from sfumato.prediction.signing import SigningKey
from sfumato.privacy import Ledger, PureDP
from sfumato.table import Table


@pytest.fixture(scope="module")
def model() -> ReleasedModel:
    return AdditiveScore(8.0).fit(mixed(1500), "sick").released()


def test_public_figures_are_those_of_the_rows(model: ReleasedModel) -> None:
    test = mixed(900, 2)
    told = evaluated(model, test, "sick", epsilon=None, subgroups=["ward", "smoker"]).card["evaluation"]
    rows = test.to_arrow().to_pylist()
    truth = np.array([r.pop("sick") for r in rows])
    binned = np.minimum((np.array([s.probability for s in model.score(rows)]) * BINS).astype(int), BINS - 1)
    assert told["auroc"] == pytest.approx(roc_auc_score(truth, binned))
    assert told["rate"] == pytest.approx(truth.mean()) and told["rows"] == 900
    assert [c["rows"] for c in told["calibration"]] == [(binned == i).sum() for i in range(BINS)]
    in_a = np.array([r["ward"] == "a" for r in rows])
    own = next(g for g in told["subgroups"] if (g["column"], g["level"]) == ("ward", "a"))
    assert own["rows"] == in_a.sum() and own["auroc"] == pytest.approx(
        roc_auc_score(truth[in_a], binned[in_a])
    )
    assert len(told["subgroups"]) == 4 + 3


def test_a_private_test_set_costs_and_the_guarantee_says_so(model: ReleasedModel, tmp_path: Path) -> None:
    ledger = Ledger.in_memory(2.0)
    test = mixed(900, 2)
    both = evaluated(model, test, "sick", epsilon=1.5, subgroups=["ward"], ledger=ledger)
    assert ledger.spent == 1.5
    assert both.guarantee.claims[0].epsilon == 9.5  # type: ignore[attr-defined]
    assert both.card["evaluation"]["noise_scale"] == pytest.approx(2 / 1.5)
    apart = evaluated(model, test, "sick", epsilon=1.5, disjoint="even days train, odd days test")
    assert isinstance(apart.guarantee.claims[0], PureDP) and apart.guarantee.claims[0].epsilon == 8.0
    key = SigningKey.fresh()
    write(both, tmp_path / "m.sfm", key)
    assert load(tmp_path / "m.sfm").card == both.card
    with pytest.raises(BudgetError):
        evaluated(model, test, "sick", epsilon=1.5, ledger=ledger)


def test_subgroups_must_be_public(model: ReleasedModel) -> None:
    test = mixed(50)
    private = Table(test.source, MIXED.with_("ward", confirmed=False))
    for table, groups in ((private, ["ward"]), (test, ["sick"]), (test, ["ward", "ward"]), (test, ["none"])):
        with pytest.raises(SchemaError):
            evaluated(model, table, "sick", epsilon=1.0, subgroups=groups)
