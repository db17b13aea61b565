"""A promise to persons is about at most L rows of each, and one about rows is not given for persons."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from score_tables import MIXED, mixed

from sfumato.errors import DataError
from sfumato.prediction.additive import AdditiveScore
from sfumato.prediction.card import JudgedRows, evaluated
from sfumato.prediction.comparison import compare_scores
from sfumato.prediction.forest import AlphaForest
from sfumato.prediction.logistic import PrivateLogistic
from sfumato.prediction.persons import rows_that_count
from sfumato.privacy import Budget, Ledger
from sfumato.privacy.base import Unit
from sfumato.schema import Column, Kind, Role, Schema
from sfumato.table import Table

WHO = Column("who", Kind.NOMINAL, type="integer", role=Role.PERSON)


def of_persons(rows: int, each: int) -> Table:
    cells = mixed(rows).to_arrow().append_column("who", pa.array([i // each for i in range(rows)]))
    return Table.from_arrow(cells, Schema((*MIXED, WHO)))


@pytest.mark.parametrize("kind", [PrivateLogistic, AdditiveScore, AlphaForest])
def test_persons_with_several_rows_are_refused_where_the_promise_is_about_rows(kind: type) -> None:
    ledger = Ledger.in_memory(Budget(epsilon=30.0))
    with pytest.raises(DataError, match="100 persons of 'who'"):
        kind(20.0, anyway=True).fit(of_persons(300, 3), "sick", ledger=ledger)
    assert ledger.spent == 0


@pytest.mark.parametrize("kind", [PrivateLogistic, AdditiveScore, AlphaForest])
def test_of_each_person_as_many_rows_count_as_were_declared(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    learn = kind._learn
    monkeypatch.setattr(kind, "_learn", lambda self, t, *rest: seen.append(t) or learn(self, t, *rest))
    for most, rows in ((2, 200), (3, 300), (9, 300)):
        ledger = Ledger.in_memory(Budget(epsilon=30.0, unit=Unit.person(most)))
        model = kind(20.0, max_rows_per_person=most, anyway=True)
        model.fit(of_persons(300, 3), "sick", ledger=ledger)
        assert len(seen[-1].outcome) == rows and ledger.spent == 20.0
        assert "No person has more than" not in model.guarantee_.to_json()


def test_rows_that_do_not_say_whose_they_are_are_refused() -> None:
    table = of_persons(30, 3).to_arrow()
    nobody = pa.array([None, *range(29)], pa.int64())
    table = table.set_column(table.column_names.index("who"), "who", nobody)
    with pytest.raises(DataError, match="1 rows do not say whose"):
        rows_that_count(Table.from_arrow(table, Schema((*MIXED, WHO))), 2)


def test_a_person_more_changes_no_other() -> None:
    """Whoever else is there, of everybody at most L rows stay, and all rows of those who have fewer."""
    for each in (1, 2, 5):
        kept = rows_that_count(of_persons(60, each), 2).to_arrow()["who"].to_pylist()
        assert sorted(kept) == sorted(w for w in range(60 // each) for _ in range(min(each, 2)))


def test_the_rows_of_a_test_set_too() -> None:
    model = AdditiveScore(20.0, anyway=True).fit(of_persons(300, 1), "sick").released()
    with pytest.raises(DataError, match="'who'"):
        evaluated(model, of_persons(30, 3), "sick", epsilon=1.0)
    evaluated(model, of_persons(30, 1), "sick", epsilon=1.0)
    judged = JudgedRows.of(
        of_persons(30, 3), "sick", model.features, private=True, max_rows_per_person=2
    )  # fmt: skip
    assert len(judged.outcome) == 20
    twice = compare_scores(
        [replace(model, name=n) for n in ("one", "other")], of_persons(300, 3), "sick", epsilon=50.0,
        max_rows_per_person=2,
    )  # fmt: skip
    assert len(twice.scores) == 2
