"""The model card: figures that are right, and a test set whose rows are paid for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from score_tables import MIXED, mixed
from sklearn.metrics import roc_auc_score

from sfumato.errors import BudgetError, ParameterError, SchemaError
from sfumato.prediction.additive import AdditiveScore
from sfumato.prediction.artefact import load, write
from sfumato.prediction.card import evaluated
from sfumato.prediction.models import ReleasedModel
from sfumato.prediction.score_counts import BINS, EDGES
from sfumato.privacy import Budget, Ledger, PureDP
from sfumato.privacy.base import Unit
from sfumato.privacy.signatures import SigningKey
from sfumato.table import Table


@pytest.fixture(scope="module")
def model() -> ReleasedModel:
    return AdditiveScore(8.0).fit(mixed(1500), "sick").released()


def test_public_figures_are_those_of_the_rows(model: ReleasedModel) -> None:
    test = mixed(900, 2)
    told = evaluated(model, test, "sick", epsilon=None, subgroups=["ward", "smoker"]).card["evaluation"]
    rows = test.to_arrow().to_pylist()
    truth = np.array([r.pop("sick") for r in rows])
    binned = np.digitize([s.probability for s in model.score(rows)], EDGES[1:-1])
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
    private = Table(test.source, MIXED.with_("ward", provenance=None))
    for table, groups in ((private, ["ward"]), (test, ["sick"]), (test, ["ward", "ward"]), (test, ["none"])):
        with pytest.raises(SchemaError):
            evaluated(model, table, "sick", epsilon=1.0, subgroups=groups)


def test_a_promise_to_others_than_the_model_s_is_refused_before_anything_is_spent(
    model: ReleasedModel,
) -> None:
    ledger = Ledger.in_memory(Budget(epsilon=2.0, unit=Unit.person(3)))
    with pytest.raises(ParameterError, match="max_rows_per_person"):
        evaluated(model, mixed(50), "sick", epsilon=1.0, ledger=ledger, max_rows_per_person=3)
    assert ledger.spent == 0


def test_a_public_test_set_is_an_assumption(model: ReleasedModel) -> None:
    told = evaluated(model, mixed(50), "sick", epsilon=None)
    said = "The test set of the model card is public, and shares no person with the data"
    assert said in told.guarantee.claims[0].assumptions
    assert said not in evaluated(model, mixed(50), "sick", epsilon=1.0).guarantee.claims[0].assumptions


def test_outcomes_must_be_the_model_s_and_public(model: ReleasedModel) -> None:
    test, ledger = mixed(50), Ledger.in_memory(2.0)
    assert model.card["classes"] == [False, True]
    turned = Table(test.source, MIXED.with_("sick", levels=(True, False)))
    private = Table(test.source, MIXED.with_("sick", provenance=None))
    for table in (turned, private):
        with pytest.raises(SchemaError, match="'sick'"):
            evaluated(model, table, "sick", epsilon=1.0, ledger=ledger)
    with pytest.raises(SchemaError, match="scored last"):
        evaluated(model, turned, "sick", epsilon=None)
    assert ledger.spent == 0
