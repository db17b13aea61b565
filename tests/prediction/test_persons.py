"""A promise that rests on the rows of a person is not given for a table that shows otherwise."""

from __future__ import annotations

import pyarrow as pa
import pytest
from score_tables import MIXED, mixed

from sfumato.errors import DataError
from sfumato.prediction.additive import AdditiveScore
from sfumato.prediction.card import evaluated
from sfumato.prediction.forest import AlphaForest
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.privacy import Budget, Ledger
from sfumato.privacy.base import Unit
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

WHO = Column("who", Kind.NOMINAL, type="integer", role=Role.PERSON)


def of_persons(rows: int, each: int) -> Table:
    cells = mixed(rows).to_arrow().append_column("who", pa.array([i // each for i in range(rows)]))
    return Table.from_arrow(cells, Schema((*MIXED, WHO)))


@pytest.mark.parametrize("kind", [PrivateLogistic, AdditiveScore, AlphaForest])
def test_persons_with_more_rows_are_refused_before_anything_is_spent(kind: type) -> None:
    for most in (1, 2):
        budget = Budget(epsilon=30.0, unit=Unit.person(most)) if most > 1 else Budget(epsilon=30.0)
        ledger = Ledger.in_memory(budget)
        with pytest.raises(DataError, match="100 persons of 'who'"):
            kind(20.0, max_rows_per_person=most, anyway=True).fit(of_persons(300, 3), "sick", ledger=ledger)
        assert ledger.spent == 0
    kind(20.0, max_rows_per_person=3, anyway=True).fit(of_persons(300, 3), "sick")


def test_those_of_a_test_set_too() -> None:
    model = AdditiveScore(20.0, anyway=True).fit(of_persons(300, 1), "sick").released()
    with pytest.raises(DataError, match="'who'"):
        evaluated(model, of_persons(30, 3), "sick", epsilon=1.0)
    evaluated(model, of_persons(30, 1), "sick", epsilon=1.0)
